"""``mlrank datasets init``."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.options import Force, TestFile

__all__ = ["init"]


def init(
    data: Annotated[Path, typer.Argument(metavar="FILE", help="The file of the training part, or of all rows.")],
    test: TestFile = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: NAME.yaml here; - prints it."),
    ] = None,
    force: Force = False,
) -> None:
    """Look at a file and write a configuration that trains three methods on it, with a comment on every guess.

    Labels are guessed (columns of two values at the end or the start of a table, or a column of lists), and so are ids,
    categories and texts.

    Examples:

    * `mlrank datasets init mine.csv`
    * `mlrank datasets init train.csv --test test.csv --out mine.yaml`
    * `mlrank datasets init mine.parquet --out -`
    """
    from mlrank.datasets.formats.text import file_stem
    from mlrank.datasets.starter import starter_config
    from mlrank.errors import UserError
    from mlrank.records.atomic import write_atomic

    target = out or Path(f"{file_stem(data)[0]}.yaml")
    if str(target) != "-" and target.exists() and not force:
        raise UserError("is there already; give --force to replace it, or another name as --out", target)
    text = starter_config(data, test)
    if str(target) == "-":
        print(text, end="")
        return
    write_atomic(target, text.encode())
    print("".join(line for line in text.splitlines(keepends=True) if line.startswith("#")), end="")
    print(f"written to {target}: mlrank train {target}")
