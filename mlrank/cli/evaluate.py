"""``mlrank evaluate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlrank.cli.options import Json

if TYPE_CHECKING:
    from mlrank.results import RunFolder

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Results folder of an experiment, such as results/NAME.")],
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Metric to show; repeat for more. Default: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute every metric of a finished run again, from the scores and label sets it stored.

    Nothing is fitted. A stored value that differs from the one computed now is an error: the files were changed, or
    another version of mlrank wrote them.

    Examples:

    * `mlrank evaluate results/quickstart`
    * `mlrank evaluate results/quickstart -m lrap -m coverage`
    """
    from mlrank.cli.show import show_run
    from mlrank.errors import UserError, unknown_name
    from mlrank.metrics import METRICS
    from mlrank.results import RunFolder

    for name in metric or ():
        if name not in METRICS:
            raise UserError(unknown_name("metric", name, METRICS))
    folder = RunFolder.open(run)
    for record in folder.runs():
        if record["status"] == "done":
            _recompute(folder, record)
    raise typer.Exit(show_run(folder, tuple(metric or METRICS), as_json))


def _recompute(folder: "RunFolder", record: dict[str, Any]) -> None:
    from mlrank.errors import UserError
    from mlrank.metrics import evaluate as compute

    arrays = folder.run_arrays(record)
    for name, found in compute(arrays["Y_true"], arrays["scores"], arrays["Y_pred"], arrays.get("known")).items():
        stored = record["metrics"][name]["value"]
        value = None if found.value != found.value else float(found.value)
        if (stored is None) != (value is None) or (value is not None and abs(stored - value) > 1e-12):
            where = f"{record['dataset']['name']} / {record['split']} / {record['method']}"
            raise UserError(f"{where}: {name} is {value}, the stored record says {stored}", folder.path)
