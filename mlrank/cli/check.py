"""``mlrank datasets check``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlrank.cli.options import (
    Decimal,
    FeatureFile,
    FoldColumn,
    GroupColumn,
    Header,
    IdColumn,
    IgnoreColumns,
    Impute,
    InputFormat,
    Json,
    LabelColumns,
    LabelFile,
    NameOrPath,
    OneHot,
    Positive,
    Separator,
    TestFile,
    TextColumns,
    Thousands,
    ZeroBased,
    column_options,
    parsed_columns,
    parsed_labels,
)

if TYPE_CHECKING:
    from mlrank.datasets import Dataset
    from mlrank.datasets.doctor import Checkup

__all__ = ["check"]

# The bar chart shows the most frequent labels; all are in --json.
SHOWN_LABELS = 20
SHOWN_PLACES = 3
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def check(
    data: NameOrPath,
    test: TestFile = None,
    labels: LabelFile = None,
    features: FeatureFile = None,
    label_columns: LabelColumns = None,
    ignore_columns: IgnoreColumns = None,
    id_column: IdColumn = None,
    group_column: GroupColumn = None,
    fold_column: FoldColumn = None,
    text_columns: TextColumns = None,
    one_hot: OneHot = None,
    positive: Positive = None,
    header: Header = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    data_format: InputFormat = None,
    old_format: Annotated[str | None, typer.Option("--format", hidden=True)] = None,
    zero_based: ZeroBased = None,
    impute: Impute = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report with a heat map.")] = None,
    as_json: Json = False,
) -> None:
    """Look for what would spoil an experiment: leaks, duplicates, empty rows and labels, constant features, shift.

    Exit code 1 if there is an error (a file that cannot be read right is one), 0 if there are warnings at most.

    Examples:

    * `mlrank datasets check scene`
    * `mlrank datasets check train.svm --test test.svm --html report.html`
    * `mlrank datasets check mine.csv --label-columns -6 --json`
    * `mlrank datasets check mine.csv --labels "tags:;" --id-column name --one-hot all`
    """
    from mlrank.datasets.doctor import examine, unreadable
    from mlrank.datasets.formats.base import LoadOptions
    from mlrank.datasets.loading import find_source, load_source
    from mlrank.errors import UserError

    options: LoadOptions = {
        "test": test,
        "labels": parsed_labels(labels),
        "features": features,
        "label_columns": parsed_columns(label_columns),
    }
    options |= column_options(
        ignore_columns,
        id_column,
        group_column,
        fold_column,
        text_columns,
        one_hot,
        positive,
        header,
        separator,
        decimal,
        thousands,
    )
    options |= {"format": data_format or old_format, "zero_based": zero_based, "impute": impute}
    try:
        source = find_source(data, **options)
        dataset = load_source(source)
    except UserError as error:
        if not as_json:
            raise
        _print(unreadable(data, error), as_json)
        raise typer.Exit(1) from error
    checkup = examine(dataset, source)
    if html is not None:
        _write(html, checkup, dataset)
    _print(checkup, as_json)
    if checkup.failed:
        raise typer.Exit(1)


def _write(path: Path, checkup: "Checkup", dataset: "Dataset") -> None:
    from mlrank.datasets.doctor.page import page
    from mlrank.records.atomic import write_atomic

    write_atomic(path, page(checkup, dataset).encode())


def _print(checkup: "Checkup", as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(checkup.plain(), indent=2))
        return
    from rich.markup import escape
    from rich.table import Table

    from mlrank.cli.grids import print_as_wide
    from mlrank.cli.terminal import new_console
    from mlrank.errors import escaped

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for key, value in checkup.facts.items():
        if key != "label_frequencies" and value is not None:
            text = f"{value:.4g}" if isinstance(value, float) else escaped(str(value))
            grid.add_row(key.replace("_", " "), escape(text))
    print_as_wide(grid, _chart(checkup.facts["label_frequencies"], checkup.facts["n_samples"]))
    console = new_console()
    for finding in checkup.findings:
        console.print(f"[{_STYLES[finding.level]}]{finding.level}[/]  {escape(finding.message)}", highlight=False)
        for place in finding.places[:SHOWN_PLACES]:
            console.print(f"    {escape(place)}", highlight=False, soft_wrap=True)
        if finding.places and finding.count > SHOWN_PLACES:
            console.print(f"    and {finding.count - SHOWN_PLACES} more", highlight=False)
    levels = [finding.level for finding in checkup.findings]
    counts = (f"{(n := levels.count(level))} {level}{'' if n == 1 else 's'}" for level in ("error", "warning"))
    console.print(", ".join(counts), highlight=False)


def _chart(frequencies: list[dict[str, Any]], n_samples: int) -> Any:
    """Return the label frequencies as bars, drawn in eighths of a character."""
    from rich.table import Table
    from rich.text import Text

    from mlrank.errors import escaped

    table = Table(title="label frequencies", title_justify="left", box=None, show_header=False, padding=(0, 1))
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=30)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    most = max(row["positives"] for row in frequencies) or 1
    for row in frequencies[:SHOWN_LABELS]:
        share = f"{100 * row['positives'] / n_samples:.1f} %"
        table.add_row(Text(escaped(row["label"])), str(row["positives"]), share, _bar(row["positives"] / most, 30))
    if len(frequencies) > SHOWN_LABELS:
        table.add_row(f"... {len(frequencies) - SHOWN_LABELS} more")
    return table


def _bar(share: float, width: int) -> str:
    """Return a bar of so many characters for the share 1; what is more than nothing shows."""
    eighths = max(round(8 * width * share), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
