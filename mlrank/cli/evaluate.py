"""``mlrank evaluate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.options import (
    Decimal,
    Header,
    Impute,
    InputFormat,
    Json,
    LabelColumns,
    LabelFile,
    Metrics,
    Positive,
    RunOrModel,
    Separator,
    Thousands,
    ZeroBased,
    column_options,
    parsed_columns,
    parsed_labels,
)

if TYPE_CHECKING:
    from mlrank.datasets.formats.base import LoadOptions
    from mlrank.models.file import StoredModel
    from mlrank.records import RunFolder, RunRecord

__all__ = ["evaluate"]


def evaluate(
    run: RunOrModel,
    metric: Metrics = None,
    every: Annotated[bool, typer.Option("--all", help="Show every metric of a run; of a model all are shown.")] = False,
    data: Annotated[
        str | None, typer.Option("--data", metavar="NAME|PATH", help="Labeled data to evaluate a MODEL on.")
    ] = None,
    part: Annotated[
        str | None,
        typer.Option("--part", metavar="PART", help="all, train or test, for data with a split. Default: test."),
    ] = None,
    labels: LabelFile = None,
    label_columns: LabelColumns = None,
    positive: Positive = None,
    header: Header = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    data_format: InputFormat = None,
    zero_based: ZeroBased = None,
    impute: Impute = None,
    as_json: Json = False,
) -> None:
    """Compute the metrics of finished runs again from their stored scores, or evaluate a stored model on labeled data.

    Nothing is fitted. A stored value of a run that differs from the one computed now is an error: its files were
    changed, or another version of mlrank wrote them. Label columns, words of labels and filled values are those of the
    model unless options say otherwise.

    Examples:

    * `mlrank evaluate results/quickstart`
    * `mlrank evaluate results/quickstart -m lrap -m coverage`
    * `mlrank evaluate results/quickstart/runs/yeast/official/Rank-SVM.model --data yeast`
    * `mlrank evaluate my.model --data new.csv`
    """
    from mlrank.errors import UserError, unknown_name
    from mlrank.metrics import METRICS

    for name in metric or ():
        if name not in METRICS:
            raise UserError(unknown_name("metric", name, METRICS))
    about: LoadOptions = {
        "labels": parsed_labels(labels),
        "label_columns": parsed_columns(label_columns),
        "format": data_format,
    }
    about |= column_options(positive=positive, header=header, separator=separator)
    about |= {"decimal": decimal, "thousands": thousands}
    about |= {"zero_based": zero_based, "impute": impute}
    if run.is_file():
        from mlrank.models.file import load_model

        model = load_model(run)
        if data is None:
            raise UserError("a model is evaluated on data: name them with --data NAME or PATH", run)
        _judge(model, data, part, about, metric, as_json)
        return
    if run.suffix == ".model":
        raise UserError("there is no such model file", run)
    if data is not None or part is not None or any(value is not None for value in about.values()):
        raise UserError("--data and its options are for a .model file; a run has its data stored", run)
    _check_run(run, metric or (list(METRICS) if every else None), as_json)


def _check_run(run: Path, metrics: list[str] | None, as_json: bool) -> None:
    from mlrank.cli.show import show_run
    from mlrank.records import RunFolder
    from mlrank.tables import FinishedExperiment, build_tables

    folder = RunFolder.open(run)
    records = folder.runs()
    metrics = folder.read_config()["metrics"] if metrics is None else metrics
    for record in records:
        if record.done:
            _recompute(folder, record)
    raise typer.Exit(show_run(FinishedExperiment(folder, records, build_tables(records, metrics)), as_json))


def _recompute(folder: "RunFolder", record: "RunRecord") -> None:
    from mlrank.errors import UserError
    from mlrank.records.predictions import stored_predictions

    predictions = stored_predictions(folder.run_arrays(record), record.dataset.n_labels)
    for name, found in predictions.evaluate().items():
        if name not in record.metrics:  # of an older version
            continue
        stored = record.value(name)
        value = None if found.value != found.value else float(found.value)
        same = stored == value if stored is None or value is None else abs(stored - value) <= 1e-12
        if not same:
            raise UserError(f"{record.label}: {name} is {value}, the stored record says {stored}", folder.path)


def _judge(
    model: "StoredModel", data: str, part: str | None, about: "LoadOptions", metrics: list[str] | None, as_json: bool
) -> None:
    from mlrank.cli.grids import print_grids
    from mlrank.errors import UserError
    from mlrank.prediction import judge
    from mlrank.records import dump_json
    from mlrank.tables import grid_of_metrics

    judged = judge(model, data, part=part, **about)
    if lacking := [name for name in metrics or () if name not in judged.metrics]:
        able = ", ".join(judged.metrics)
        raise UserError(f"{lacking[0]} needs all scores, which are too many for these labels; there are {able}")
    shown = {name: judged.metrics[name] for name in metrics or judged.metrics}
    if not as_json:
        print_grids([grid_of_metrics(shown, judged.title, judged.notes)], "rich")
        return
    values = {name: measured._asdict() for name, measured in shown.items()}
    plain = {"title": judged.title, "n_rows": judged.n_rows, "notes": judged.notes, "metrics": values}
    print(dump_json(plain), end="")
