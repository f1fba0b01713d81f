"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Jobs", "Json", "Quiet", "Results", "worker_count"]

Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder that holds the results folders.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Worker processes; 0 = one for each core.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the records as JSON instead of tables.")]


def worker_count(jobs: int) -> int:
    """Return the number of workers: as asked, at most one for each core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 0:
        raise typer.BadParameter(f"--jobs must be 0 or more, found {jobs}")
    return min(jobs or cores, cores)
