"""``mlrank train``."""

from pathlib import Path
from typing import Annotated

import typer

from mlrank.cli.options import (
    Backend,
    DryRun,
    Jobs,
    Json,
    LogLevel,
    Quiet,
    Results,
    RetryFailed,
    Scheduler,
    check_backend,
    worker_count,
)

__all__ = ["train"]


def train(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="YAML file of the experiment, or the name of an example: quickstart."),
    ],
    retry_failed: RetryFailed = False,
    dry_run: DryRun = False,
    log_level: LogLevel = "info",
    results: Results = Path("results"),
    jobs: Jobs = 0,
    backend: Backend = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the experiment of a YAML file, or an example, and print its tables.

    Fits that are in the results folder are not repeated, so an interrupted run continues where it stopped.

    Examples:

    * `mlrank train quickstart`
    * `mlrank train my.yaml --dry-run`
    * `mlrank train my.yaml --retry-failed`
    * `mlrank train my.yaml --backend dask --scheduler tcp://head:8786`
    * `mlrank train my.yaml --results /data/results --jobs 1`
    """
    from mlrank.cli.forecast import show_forecast
    from mlrank.cli.progress import run_with_progress
    from mlrank.cli.show import show_run
    from mlrank.config import load_config

    check_backend(backend, scheduler)
    experiment = load_config(config)
    if dry_run:
        show_forecast(experiment, results, worker_count(jobs), as_json)
        return
    finished = run_with_progress(
        experiment,
        results,
        worker_count(jobs),
        quiet,
        scheduler=scheduler,
        retry_failed=retry_failed,
        log_level=log_level,
    )
    raise typer.Exit(show_run(finished, as_json))
