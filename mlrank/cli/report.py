"""``mlrank report``: one page on an experiment."""

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.options import Metrics

if TYPE_CHECKING:
    from mlrank.records import RunFolder
    from mlrank.report import Progress

__all__ = ["page_so_far", "progress_of", "report"]

# Between two looks at a run.
WATCH_SECONDS = 3.0


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Results folder of an experiment.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: report.html in the results folder.")
    ] = None,
    metric: Metrics = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Rewrite the file while the run goes on, or wait for it; the open page follows."),
    ] = False,
) -> None:
    """Write one HTML file on an experiment that needs no network and no other file, under 2 MB.

    It has tables that sort by a click, comparisons in sentences, every figure that can be drawn, chosen settings,
    certificates, failures with their tracebacks, the environment and the configuration.

    Examples:

    * `mlrank report results/quickstart`
    * `mlrank report results/quickstart --metric f1_macro --metric coverage`
    * `mlrank report results/quickstart --out quickstart.html`
    * `mlrank report results/quickstart --watch` (progress, the table so far and failures, until all runs are done)
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
    if watch:
        _watch(run, out, metric)
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


def _watch(run: Path, out: Path | None, metrics: list[str] | None) -> None:
    """Rewrite the page when something was stored or work stopped, until all planned runs are done or an interrupt."""
    from mlrank.records import RunFolder
    from mlrank.records.atomic import write_atomic

    _await(run)
    folder = RunFolder.open(run)
    path, seen = out or folder.path / "report.html", None
    try:
        while True:
            so_far = progress_of(folder)
            if so_far.planned is not None and so_far.runs >= so_far.planned:
                return
            if so_far[:4] != seen:
                write_atomic(path, page_so_far(folder, so_far, metrics).encode())
                if seen is None:
                    print(
                        f"written to {path}, and again while the run goes on; Ctrl-C ends this, not the run", flush=True
                    )
                seen = so_far[:4]
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        if not folder.runs():  # no page but that of the progress
            raise typer.Exit(0) from None


def _await(run: Path) -> None:
    """Return when a run has begun: who follows one may be there before it."""
    from mlrank.records import RunFolder

    if RunFolder.is_awaited(run):
        print(f"{run}: no run has begun there; waiting for one, Ctrl-C ends this", flush=True)
    try:
        while RunFolder.is_awaited(run):
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def progress_of(folder: "RunFolder") -> "Progress":
    """Return how far the run of a folder is."""
    from mlrank.records import held_keys
    from mlrank.report import Progress

    at_work = bool(held_keys(folder.path / "claims"))
    keys, runs, trials = folder.planned_keys(), folder.runs(), folder.journal.read()
    known = set(keys or ())
    done = len(runs) if keys is None else sum(record.key in known for record in runs)
    failures = Counter(trial.reason for trial in trials.values() if trial.error)
    planned = None if keys is None else len(keys)
    return Progress(done, planned, len(trials), at_work, dict(failures), time.strftime("%Y-%m-%d %H:%M:%S"))


def page_so_far(folder: "RunFolder", so_far: "Progress", metrics: list[str] | None) -> str:
    """Return the page of a run that goes on."""
    from mlrank import __version__
    from mlrank.plots import Material
    from mlrank.report import ReportInput, render_report

    config, records = folder.read_config(), folder.runs()
    shown = metrics or list(config["metrics"])
    given = Material(records, shown, [], folder.run_arrays, lambda record: folder.names(record).labels)
    text = (folder.path / "config.yaml").read_text(encoding="utf-8")
    return render_report(ReportInput(config["name"], records, so_far.planned, text, given, __version__, shown, so_far))


def _n_planned(folder: "RunFolder") -> int | None:
    keys = folder.planned_keys()
    return None if keys is None else len(keys)
