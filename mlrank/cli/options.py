"""Options that several commands share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.completion import complete_dataset, complete_format, complete_metric, complete_published, format_keys

__all__ = [
    "STANDARD",
    "Backend",
    "Decimal",
    "DryRun",
    "FeatureFile",
    "FoldColumn",
    "Force",
    "GroupColumn",
    "Header",
    "IdColumn",
    "IgnoreColumns",
    "Impute",
    "InputFormat",
    "Jobs",
    "Json",
    "LabelColumns",
    "LabelFile",
    "LogLevel",
    "Methods",
    "Metrics",
    "NameOrPath",
    "OneHot",
    "Positive",
    "Quiet",
    "Results",
    "ResultsFolders",
    "RetryFailed",
    "RunOrModel",
    "Scheduler",
    "Separator",
    "TestFile",
    "TextColumns",
    "Thousands",
    "With",
    "ZeroBased",
    "check_backend",
    "column_options",
    "parsed_columns",
    "parsed_labels",
    "printed",
    "spooled",
    "worker_count",
]

# Stands for stdin and stdout.
STANDARD = Path("-")

# One vocabulary: a format that is read is --from, a format that is written or printed is --format.

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder that holds the results folders.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0: one for each core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]

LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="LEVEL", help="What log.jsonl records: debug (every fit), info, error.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Repeat failed fits.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Fit nothing: show the fits, their time and memory.")]
NameOrPath = Annotated[
    str,
    typer.Argument(
        metavar="NAME|PATH",
        help="A catalogue name, or the file of the training part.",
        autocompletion=complete_dataset,
    ),
]
RunOrModel = Annotated[
    Path,
    typer.Argument(
        metavar="RUN|MODEL", help="Results folder of an experiment, such as results/NAME; or a .model file."
    ),
]
Backend = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="loky: processes on this machine; dask: a cluster.")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDR", help="Dask scheduler: tcp://HOST:PORT, or its file.")
]

ResultsFolders = Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Results folders of experiments.")]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="NAME",
        help="A metric; repeatable. Default: those of the config. Their names are below.",
        autocompletion=complete_metric,
    ),
]
With = Annotated[
    str | None,
    typer.Option(
        "--with",
        metavar="benchmark[:A,B]",
        help="Add published results on the same rows: of all methods, or of those named, by name or solver.",
        autocompletion=complete_published,
    ),
]
Methods = Annotated[list[str] | None, typer.Option("--method", metavar="NAME", help="Only this method; repeatable.")]

InputFormat = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="KEY",
        help=f"Format of the data that are read: {', '.join(format_keys())}. Default: by the ending.",
        autocompletion=complete_format,
    ),
]
TestFile = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="File of the test part.")]
LabelFile = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE|COLUMN",
        help="Label names, Mulan XML, or a table of labels; 'tags:;' is the column tags, which lists labels between ;.",
    ),
]
FeatureFile = Annotated[Path | None, typer.Option("--features", metavar="FILE", help="Feature names.")]
LabelColumns = Annotated[
    str | None,
    typer.Option("--label-columns", metavar="N|NAMES", help="Labels: first n columns, last n (-n), or a,b or y_*."),
]
IgnoreColumns = Annotated[
    list[str] | None,
    typer.Option("--ignore-columns", metavar="NAME", help="A column that is neither; x_* names several; repeatable."),
]
IdColumn = Annotated[str | None, typer.Option("--id-column", metavar="NAME", help="The column that names the rows.")]
GroupColumn = Annotated[
    str | None, typer.Option("--group-column", metavar="NAME", help="Rows of one value stay together in every split.")
]
FoldColumn = Annotated[str | None, typer.Option("--fold-column", metavar="NAME", help="The fold of each row.")]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text-column", metavar="NAME", help="A column of text, as counts of its terms; repeatable."),
]
OneHot = Annotated[
    list[str] | None,
    typer.Option("--one-hot", metavar="NAME", help="A column of categories, or 'all'; repeatable."),
]
Positive = Annotated[
    list[str] | None,
    typer.Option("--positive", metavar="WORD", help="A word that means that a row has a label; repeatable."),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line of text names the columns.")
]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="TEXT", help="What stands between cells. Default: as the text tells."),
]
Decimal = Annotated[str | None, typer.Option("--decimal", metavar="TEXT", help="What stands before fractions.")]
Thousands = Annotated[str | None, typer.Option("--thousands", metavar="TEXT", help="What stands between thousands.")]
ZeroBased = Annotated[
    bool | None, typer.Option("--zero-based/--one-based", help="Whether feature numbers of LIBSVM files start at 0.")
]
Impute = Annotated[
    str | None, typer.Option("--impute", metavar="HOW", help="Fill missing features: mean, median or zero.")
]


def parsed_columns(text: str | None) -> int | list[str] | None:
    """Return the value of --label-columns: a count, or names between commas.

    >>> [parsed_columns(text) for text in (None, "6", "-6", "a,b")]
    [None, 6, -6, ['a', 'b']]
    """
    if text is None:
        return None
    return int(text) if text.removeprefix("-").isdigit() else text.split(",")


def parsed_labels(text: str | None) -> object:
    """Return the value of --labels: a path, or `column:separator` as a mapping.

    >>> parsed_labels("names.txt"), parsed_labels("tags:;"), parsed_labels("tags")
    ('names.txt', {'column': 'tags', 'separator': ';'}, {'column': 'tags', 'separator': None})
    """
    column, colon, separator = (text or "").rpartition(":")
    if text is None or Path(text).exists() or "/" in text or "\\" in text or (colon and len(separator) > 2):
        return text
    if not colon:
        # No label file is without an ending; a column of lists needs no separator.
        return text if Path(text).suffix else {"column": text, "separator": None}
    return {"column": column, "separator": separator or None}


def column_options(
    ignore_columns: list[str] | None = None,
    id_column: str | None = None,
    group_column: str | None = None,
    fold_column: str | None = None,
    text_columns: list[str] | None = None,
    one_hot: list[str] | None = None,
    positive: list[str] | None = None,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> dict[str, object]:
    """Return the options about columns as arguments of `load_dataset`."""
    return {
        "ignore_columns": ignore_columns or None,
        "id_column": id_column,
        "group_column": group_column,
        "fold_column": fold_column,
        "text_columns": text_columns or None,
        "one_hot": True if one_hot == ["all"] else one_hot or None,
        "positive": positive or None,
        "header": header,
        "separator": {"tab": "\t", "\\t": "\t"}.get(separator or "", separator),
        "decimal": decimal,
        "thousands": thousands,
    }


@contextmanager
def spooled(data: Path, data_format: str | None) -> Iterator[Path]:
    """Give the path of the data; of - that of a copy of stdin, which is removed at the end."""
    if data != STANDARD:
        yield data
        return
    import shutil
    import tempfile

    from mlrank.datasets.formats import find_format

    ending = find_format(data_format or "csv").endings[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"stdin{ending}"
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield path


@contextmanager
def printed(out: Path, out_format: str | None) -> Iterator[Path]:
    """Give the path to write to; of - that of a file that goes to stdout at the end."""
    from mlrank.errors import UserError, unknown_name

    if out != STANDARD:
        if out_format is not None:
            raise UserError("--format goes with --out -; the ending of a file says its format", out)
        yield out
        return
    import shutil
    import tempfile

    endings = {"csv": ".csv", "json": ".json", "libsvm": ".svm"}
    if (out_format or "csv") not in endings:
        raise UserError(unknown_name("format to print", out_format, endings))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"stdout{endings[out_format or 'csv']}"
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def check_backend(backend: str | None, scheduler: str | None) -> None:
    """Raise a UserError unless the two options go together; a scheduler means dask."""
    from mlrank.errors import UserError, unknown_name

    if backend not in (None, "loky", "dask"):
        raise UserError(unknown_name("backend", backend, ("loky", "dask")))
    if backend == "dask" and scheduler is None:
        raise UserError("--backend dask needs --scheduler, an address such as tcp://HOST:8786 or a scheduler file")
    if backend == "loky" and scheduler is not None:
        raise UserError("--scheduler goes with --backend dask")


def worker_count(jobs: int) -> int:
    """Return the number of workers: as asked, at most one for each core that this process may use."""
    if jobs < 0:
        raise typer.BadParameter(f"--jobs must be 0 or more, found {jobs}")
    if jobs == 1:  # whatever the cores: there is nothing to load that counts them
        return 1
    from joblib import cpu_count

    cores: int = cpu_count()
    return min(jobs or cores, cores)
