"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.completion import complete_dataset

__all__ = [
    "Backend",
    "DryRun",
    "FeatureFile",
    "Force",
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
    "Quiet",
    "Results",
    "ResultsFolders",
    "RetryFailed",
    "RunOrModel",
    "Scheduler",
    "TestFile",
    "ZeroBased",
    "check_backend",
    "parsed_columns",
    "worker_count",
]

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
    typer.Option("--metric", "-m", metavar="NAME", help="A metric; repeatable. Default: those of the config."),
]
Methods = Annotated[list[str] | None, typer.Option("--method", metavar="NAME", help="Only this method; repeatable.")]

InputFormat = Annotated[
    str | None, typer.Option("--from", metavar="KEY", help="Format of the data that are read. Default: by the ending.")
]
TestFile = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="File of the test part.")]
LabelFile = Annotated[Path | None, typer.Option("--labels", metavar="FILE", help="Label names, or Mulan XML.")]
FeatureFile = Annotated[Path | None, typer.Option("--features", metavar="FILE", help="Feature names.")]
LabelColumns = Annotated[
    str | None,
    typer.Option("--label-columns", metavar="N|NAMES", help="Labels: first n columns, last n (-n), or a,b,c."),
]
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
    from joblib import cpu_count

    if jobs < 0:
        raise typer.BadParameter(f"--jobs must be 0 or more, found {jobs}")
    cores: int = cpu_count()
    return min(jobs or cores, cores)
