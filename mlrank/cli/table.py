"""``mlrank table``: the tables of experiments that have run."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.grids import arranged, print_grids
from mlrank.cli.options import Metrics, ResultsFolders, With

if TYPE_CHECKING:
    from mlrank.cli.folders import Stored

__all__ = ["LayoutName", "SideName", "TableFormat", "table"]


class TableFormat(StrEnum):
    """How tables are printed."""

    rich = "rich"
    md = "md"
    latex = "latex"
    csv = "csv"
    html = "html"
    json = "json"
    parquet = "parquet"


class LayoutName(StrEnum):
    """Whose layout tables have."""

    paper = "paper"


class SideName(StrEnum):
    """What tables, their rows and their columns are for."""

    dataset = "dataset"
    method = "method"
    metric = "metric"


def table(
    results: ResultsFolders,
    published: With = None,
    metric: Metrics = None,
    runtime: Annotated[
        bool, typer.Option("--runtime", help="Show times and memory; of metrics those that are named.")
    ] = False,
    by: Annotated[SideName | None, typer.Option("--by", help="One table for each of these (default: dataset).")] = None,
    rows: Annotated[SideName | None, typer.Option("--rows", help="What the rows are (default: method).")] = None,
    cols: Annotated[SideName | None, typer.Option("--cols", help="What the columns are (default: metric).")] = None,
    layout: Annotated[
        LayoutName | None,
        typer.Option("--layout", help="paper: rows, columns, names and digits of the paper's own table, of recipes."),
    ] = None,
    tidy: Annotated[
        bool,
        typer.Option("--tidy", help="One row for each data set, split, method and metric: csv, json, or parquet."),
    ] = False,
    format: Annotated[
        TableFormat | None,
        typer.Option("--format", "-f", help="How to print. Default: rich; with --tidy that of the file, or csv."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the --tidy table to a file.")
    ] = None,
    decimals: Annotated[
        int | None, typer.Option(min=0, max=16, help="Digits after the point (not in CSV, JSON); default: 4.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B", help="Only these: metrics, and settings, fit, certificate."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="A,B", help="Only these methods, in this order.")
    ] = None,
    marks: Annotated[bool, typer.Option("--marks", help="Mark what is shown to be worse than the best.")] = False,
    against: Annotated[
        str | None, typer.Option("--against", metavar="METHOD", help="Mark what is shown to differ from this method.")
    ] = None,
    ranks: Annotated[bool, typer.Option("--ranks", help="Add the mean rank of each method.")] = False,
    caption: Annotated[str | None, typer.Option("--caption", metavar="TEXT", help="Title of the table.")] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="NAME", help="LaTeX: what \\ref refers to, such as tab:results.")
    ] = None,
    no_notes: Annotated[bool, typer.Option("--no-notes", help="Leave out the notes below the table.")] = False,
    narrow: Annotated[
        bool, typer.Option("--narrow", help="LaTeX: fit one of two columns of a page, or a slide.")
    ] = False,
    siunitx: Annotated[
        bool, typer.Option("--siunitx", help="LaTeX: align numbers at their points, by that package.")
    ] = False,
    wide: Annotated[bool, typer.Option("--wide", help="LaTeX: span both columns of a page (table*).")] = False,
) -> None:
    """Print tables of stored results; nothing is computed again.

    Metrics are means over the splits, costs such as fit_seconds medians with quartiles. The best value is bold, the
    second underlined. † marks fits that stopped before their tolerance, * thresholds that use the true labels of the
    test rows, ‡ fits that use the features of the test rows. Experiments on the same data share a table; the notes
    below it say what makes rows hard to compare. `display_names` in the configuration says what tables call methods,
    metrics and data sets: `display_names: {f1_macro: Macro-F1, HLap: "Rank-HLapSVM (ours)"}`.

    Examples:

    * `mlrank table results/imageclef`
    * `mlrank table results/imageclef --metric f1_macro --metric hamming_loss`
    * `mlrank table results/imageclef --format latex > table.tex`
    * `mlrank table results/one results/two --cols dataset --metric f1_macro --ranks --no-notes --format latex`
    * `mlrank table results/scene --columns f1_macro,auc_macro --methods A,B --caption Scene --label tab:scene -f latex`
    * `mlrank table results/one results/two --cols dataset` (one table for each metric: methods by data sets)
    * `mlrank table results/one results/two --by method`
    * `mlrank table results/mine --with benchmark:rank_svm,ml_knn` (beside published results on the same rows)
    * `mlrank table results/repeated-folds --against Rank-SVM --decimals 3 --format latex`
    * `mlrank table results/imageclef --runtime`
    * `mlrank table results/scene results/yeast --layout paper` (one column each, as in the paper's table)
    * `mlrank table results/one results/two --format csv > all.csv`
    * `mlrank table results/one results/two --tidy --out all.parquet` (for pandas, R, spreadsheets)
    """
    from mlrank.cli.folders import read_folders, with_published
    from mlrank.errors import UserError
    from mlrank.tables import GridLayout, build_tables, render
    from mlrank.tables.paper import BESIDE, PaperOptions, for_paper

    stored = with_published(read_folders(results), published)
    for note in stored.notes:
        print(f"mlrank: {note}", file=sys.stderr)
    given = {"--metric": metric, "--runtime": runtime, "--by": by, "--rows": rows, "--cols": cols, "--layout": layout}
    shape = {
        "--columns": columns,
        "--methods": methods,
        "--marks": marks,
        "--against": against,
        "--ranks": ranks,
        "--caption": caption,
    }
    shape |= {"--label": label, "--no-notes": no_notes, "--wide": wide, "--siunitx": siunitx, "--narrow": narrow}
    shaped = [name for name, value in shape.items() if value]
    others = [name for name, value in given.items() if value] + shaped
    if tidy:
        _write_tidy(stored, metric, others, format, decimals, out)
        return
    if out is not None:
        raise UserError("--out goes with --tidy; other tables are printed: mlrank table RUN --format csv > FILE")
    format = format or TableFormat.rich
    for name in ("--label", "--wide", "--narrow", "--siunitx"):
        if shape[name] and format is not TableFormat.latex:
            raise UserError(f"{name} goes with --format latex, found {format.value}")
    if format is TableFormat.parquet:
        raise UserError("parquet is a format of --tidy tables")
    if layout is not None:
        _print_as_in_paper(stored, [name for name in others if name != "--layout"], format, decimals)
        return
    decimals = 4 if decimals is None else decimals
    named_columns = _names(columns)
    named = [name for name in named_columns or () if name not in BESIDE]
    chosen = list(
        dict.fromkeys([*(metric or named or ([] if runtime else stored.metrics)), *(_COSTS if runtime else ())])
    )
    if format in (TableFormat.csv, TableFormat.json):
        if by or rows or cols or shaped:
            arranging = ", ".join(shaped) or "--by, --rows and --cols"
            raise UserError(f"{arranging}: for readers alone, {format.value} has one form")
        tables = build_tables(stored.records, chosen)
        print(render(tables, format.value, decimals), end="")
        return
    grid_layout = GridLayout.of(by, rows, cols)
    if ranks and grid_layout.by == "method":
        raise UserError("--ranks compares methods, and --by method gives each a table of its own")
    options = PaperOptions(
        named_columns if cols in (None, SideName.metric) and rows is not SideName.metric else None,
        _names(methods),
        stored.titles,
        ranks,
        not no_notes,
        caption,
        label,
        wide,
        siunitx,
        narrow,
    )
    grids = arranged(stored, chosen, grid_layout, decimals, marks, against)
    print_grids([for_paper(grid, options) for grid in grids], format.value)


def _names(text: str | None) -> tuple[str, ...] | None:
    """Return names between commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _print_as_in_paper(stored: "Stored", given: Sequence[str], format: TableFormat, decimals: int | None) -> None:
    from mlrank.errors import UserError
    from mlrank.recipes import paper_grids

    for name in [*given, *(["--decimals"] if decimals is not None else [])]:
        raise UserError(f"--layout paper has rows, columns and digits of its own, found it together with {name}")
    if format in (TableFormat.csv, TableFormat.json):
        raise UserError(f"--layout paper arranges tables for readers; {format.value} has one form")
    print_grids(paper_grids(stored.records, stored.origins), format.value)


def _write_tidy(
    stored: "Stored",
    metrics: Sequence[str] | None,
    others: Sequence[str],
    format: TableFormat | None,
    decimals: int | None,
    out: Path | None,
) -> None:
    from mlrank.errors import UserError
    from mlrank.records.atomic import write_atomic
    from mlrank.tables import tidy_bytes, tidy_format, tidy_frame

    for name in [*others, *(["--decimals"] if decimals is not None else [])]:
        if name != "--metric":
            raise UserError(f"--tidy tables have one form, found --tidy together with {name}")
    fmt = tidy_format(format and format.value, out)
    content = tidy_bytes(tidy_frame(stored.records, metrics), fmt)
    if out is None:
        print(content.decode(), end="")
    else:
        write_atomic(out, content)
        print(f"written to {out}")


_COSTS = ("fit_seconds", "predict_seconds", "peak_memory")
