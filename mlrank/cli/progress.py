"""Running an experiment with a progress bar."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.results import RunFolder

__all__ = ["run_with_progress"]


def run_with_progress(
    config: "ExperimentConfig",
    results: Path,
    jobs: int,
    quiet: bool,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
) -> "RunFolder":
    """Run `config` and show how far it is, on stderr; an interrupt says what is kept and exits with 130."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from mlrank.experiment import run
    from mlrank.search import cluster_pool, local_pool

    pool = local_pool(jobs) if scheduler is None else cluster_pool(scheduler)
    console = Console(stderr=True, quiet=quiet)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}"),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        reporter = _Reporter(progress, console)
        try:
            return run(config, results, pool, reporter.notify, retry_failed=retry_failed)
        except KeyboardInterrupt:
            progress.stop()
            reporter.tell_interrupted()
            raise typer.Exit(130) from None


class _Reporter:
    """Turns events into a bar, or, where there is no terminal, into a line for each finished run."""

    def __init__(self, progress: Any, console: Any) -> None:
        self.progress, self.console = progress, console
        self.task = progress.add_task("starting", total=None, failed="")
        self.total, self.done, self.failed = 0, 0, 0

    def notify(self, event: Mapping[str, Any]) -> None:
        if event["kind"] == "plan":
            self._plan(event)
            return
        if event["kind"] == "best":
            return
        record = event["record"]
        self.done += 1
        self.failed += record["error"] is not None
        if event["kind"] == "run" and not self.console.is_terminal:
            self._print_run(record)
        failed = f"[red]{self.failed} failed" if self.failed else ""
        what = "searching" if event["kind"] == "trial" else "fitting"
        self.progress.update(self.task, completed=self.done, description=what, failed=failed)

    def _plan(self, event: Mapping[str, Any]) -> None:
        self.total, self.done = event["total"], event["done"]
        self.progress.update(self.task, total=self.total, completed=self.done)
        if self.done or not self.console.is_terminal:
            kept = f", {self.done} of them already done" if self.done else ""
            self.console.print(f"{self.total} fits{kept}", highlight=False)

    def _print_run(self, record: Mapping[str, Any]) -> None:
        where = f"{record['dataset']['name']} / {record['split']} / {record['method']}"
        self.console.print(f"{self.done}/{self.total} {record['status']}: {where}", highlight=False, soft_wrap=True)

    def tell_interrupted(self) -> None:
        done = f"{self.done} of {self.total} fits are done and kept"
        print(f"mlrank: interrupted; {done}, the same command goes on from there", file=sys.stderr)
