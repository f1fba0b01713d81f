"""``mlrank report``: one page on an experiment."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.options import Metrics

if TYPE_CHECKING:
    from mlrank.records import RunFolder

__all__ = ["report"]


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Results folder of an experiment.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: report.html in the results folder.")
    ] = None,
    metric: Metrics = None,
) -> None:
    """Write one HTML file on an experiment that needs no network and no other file, under 2 MB.

    It has tables that sort by a click, comparisons in sentences, every figure that can be drawn, chosen settings,
    certificates, failures with their tracebacks, the environment and the configuration.

    Examples:

    * `mlrank report results/quickstart`
    * `mlrank report results/quickstart --metric f1_macro --metric coverage`
    * `mlrank report results/quickstart --out quickstart.html`
    """
    from mlrank import __version__
    from mlrank.cli.folders import read_folders
    from mlrank.cli.plot import material_of
    from mlrank.errors import UserError, unknown_name
    from mlrank.metrics import METRICS
    from mlrank.records.atomic import write_atomic
    from mlrank.report import ReportInput, render_report

    for asked in metric or ():
        if asked not in METRICS:
            raise UserError(unknown_name("metric", asked, METRICS))
    stored = read_folders([run])
    ((name, folder),) = stored.folders.items()
    made = ReportInput(
        name=name,
        records=stored.records,
        n_planned=_n_planned(folder),
        config=(folder.path / "config.yaml").read_text(encoding="utf-8"),
        material=material_of(stored, metric, None),
        version=__version__,
        metrics=metric or stored.metrics,
    )
    path = out or folder.path / "report.html"
    write_atomic(path, render_report(made).encode())
    print(f"written to {path}")


def _n_planned(folder: "RunFolder") -> int | None:
    keys = folder.planned_keys()
    return None if keys is None else len(keys)
