"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.completion import complete_dataset

__all__ = [
    "Backend",
    "DryRun",
    "Jobs",
    "Json",
    "LogLevel",
    "NameOrPath",
    "Quiet",
    "Results",
    "RetryFailed",
    "Scheduler",
    "check_backend",
    "worker_count",
]

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder that holds the results folders.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0 = one for each core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the records as JSON instead of tables.")]

LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="LEVEL", help="What log.jsonl gets: debug (every fit), info, error.")
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Make failed fits again.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell which fits there are and what they take.")]
NameOrPath = Annotated[
    str,
    typer.Argument(
        metavar="NAME|PATH",
        help="A catalogue name, or the training part's file.",
        autocompletion=complete_dataset,
    ),
]
Backend = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="loky: processes on this machine; dask: a cluster.")
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDR", help="Of a Dask cluster: tcp://HOST:PORT, or a file.")
]


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
