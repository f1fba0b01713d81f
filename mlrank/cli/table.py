"""``mlrank table``: the tables of experiments that have run."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["TableFormat", "table"]


class TableFormat(StrEnum):
    """How tables are printed."""

    rich = "rich"
    md = "md"
    latex = "latex"
    csv = "csv"


def table(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Results folders of experiments.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A metric to show; may be repeated. Default: those of the config."),
    ] = None,
    format: Annotated[TableFormat, typer.Option("--format", "-f", help="How to print.")] = TableFormat.rich,
    decimals: Annotated[int, typer.Option(min=0, max=16, help="Digits after the point (not in CSV).")] = 4,
) -> None:
    """Print one table per dataset from what is in results folders; nothing is computed anew.

    Examples:

        mlrank table results/imageclef

        mlrank table results/imageclef --metric f1_macro --metric hamming_loss

        mlrank table results/imageclef --format latex > table.tex

        mlrank table results/one results/two --format csv > all.csv
    """
    from mlrank.errors import UserError
    from mlrank.results import RunFolder
    from mlrank.tables import build_tables, render, to_rich

    folders = [RunFolder.open(path) for path in results]
    shown = [metric or folder.read_config()["metrics"] for folder in folders]
    if format == TableFormat.csv:  # one header needs the same columns in every table
        shown = [list(dict.fromkeys(name for names in shown for name in names))] * len(folders)
    tables = []
    for folder, names in zip(folders, shown, strict=True):
        records = folder.runs()
        if not records:
            raise UserError("no run of this experiment is finished yet", folder.path)
        tables += build_tables(records, names)
    if format != TableFormat.rich:
        typer.echo(render(tables, format.value, decimals), nl=False)
        return
    from rich.console import Console

    for place, built in enumerate(tables):
        Console().print(*([""] if place else []), to_rich(built, decimals), sep="\n")
