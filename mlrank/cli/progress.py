"""Running an experiment and telling how far it is: a bar on a terminal, plain lines elsewhere, a log in its folder."""

import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.results import RunFolder

__all__ = ["run_with_progress"]

# Seconds between two plain lines.
LINE_SECONDS = 10.0
# What a fit takes, be it a trial's or a run's.
TIMED = ("fit", "threshold", "predict")


def run_with_progress(
    config: "ExperimentConfig",
    results: Path,
    jobs: int,
    quiet: bool,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
    log_level: str = "info",
) -> "RunFolder":
    """Run `config` and show how far it is, on stderr; an interrupt, and SIGTERM, says what is kept."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mlrank.experiment import run
    from mlrank.search import cluster_pool

    pool = jobs if scheduler is None else cluster_pool(scheduler)
    console = Console(stderr=True, quiet=quiet)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("fits"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[failed]}"),
    )
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as progress:
        reporter = _Reporter(progress, console, jobs)
        try:
            return run(config, results, pool, reporter.notify, retry_failed=retry_failed, log_level=log_level)
        except (KeyboardInterrupt, SystemExit) as stopped:
            progress.stop()
            reporter.tell_interrupted()
            if isinstance(stopped, SystemExit):  # the signal to terminate
                raise
            raise typer.Exit(130) from None


class _Reporter:
    """Turns events into a bar and the best of each method, or, where there is no terminal, into a line now and then."""

    def __init__(self, progress: Any, console: Any, jobs: int) -> None:
        self.progress, self.console, self.jobs = progress, console, jobs
        self.task = progress.add_task("starting", total=None, failed="", left="")
        self.total, self.done, self.failed = 0, 0, 0
        self.left: Counter[tuple[str, str]] = Counter()
        self.seconds: dict[tuple[str, str], list[float]] = {}
        self.told = time.monotonic()

    def notify(self, event: Mapping[str, Any]) -> None:
        {"plan": self._plan, "best": self._best, "trial": self._fit, "run": self._fit}[event["kind"]](event)

    def _plan(self, event: Mapping[str, Any]) -> None:
        self.total, self.done = event["total"], event["done"]
        for run in event["missing"]:
            self.left[_alike(run)] += run["fits"]
        self.jobs = event.get("jobs", self.jobs)
        self.progress.update(self.task, total=self.total, completed=self.done)
        if self.done or not self.console.is_terminal:
            kept = f", {self.done} of them already done" if self.done else ""
            self._line(f"{self.total} fit{'s'[: self.total != 1]}{kept}")
        for method, names in event.get("idle", {}).items():
            self._line(f"{method}: {', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect on its fits")
        if event.get("jobs_wanted", self.jobs) > self.jobs:
            self._line(f"{self.jobs} of {event['jobs_wanted']} workers: more would not fit into memory")

    def _best(self, event: Mapping[str, Any]) -> None:
        if self.console.is_terminal:
            settings = ", ".join(f"{name}={value}" for name, value in event["settings"].items())
            self._line(f"{_label(event)}: best so far {event['metric']} {event['value']:.4f} with {settings}")

    def _fit(self, event: Mapping[str, Any]) -> None:
        record, alike = event["record"], _alike(event)
        self.done += 1
        self.failed += record["error"] is not None
        self.left[alike] -= 1
        times = record.get("time", {})
        if "fit" in times:
            self.seconds.setdefault(alike, []).append(sum(times.get(part, 0.0) for part in TIMED))
        failed = f"[red]{self.failed} failed" if self.failed else ""
        what = "searching" if event["kind"] == "trial" else "fitting"
        left = self._time_left()
        self.progress.update(self.task, completed=self.done, description=what, failed=failed, left=left)
        if self.console.is_terminal:
            return
        if event["kind"] == "run":
            after = f", {left}" if left and self.done < self.total else ""
            self._line(f"{self.done}/{self.total} {record['status']}: {_label(event)}{after}")
        elif time.monotonic() - self.told > LINE_SECONDS:
            failures = f", {self.failed} failed" if self.failed else ""
            self._line(f"{self.done}/{self.total} fits{failures}, {left or 'time left not known yet'}")

    def _time_left(self) -> str:
        """Return the time left by the mean of each method's fits so far, of all fits for one that has none yet."""
        if not self.seconds:
            return ""
        overall = fmean(second for found in self.seconds.values() for second in found)
        means = {alike: fmean(found) for alike, found in self.seconds.items()}
        expected = sum(means.get(alike, overall) * count for alike, count in self.left.items() if count > 0)
        seconds = round(expected / max(1, self.jobs))
        return f"about {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"

    def _line(self, text: str) -> None:
        self.told = time.monotonic()
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def tell_interrupted(self) -> None:
        done = f"; {self.done} of {self.total} fits are done and kept" if self.total else " before the first fit"
        print(f"mlrank: interrupted{done}, the same command goes on from there", file=sys.stderr)


def _alike(run: Mapping[str, Any]) -> tuple[str, str]:
    """Return data set and method of a run: fits on other splits take alike."""
    return run["dataset"], run["method"]


def _label(run: Mapping[str, Any]) -> str:
    from mlrank.results import run_label

    return run_label(run["dataset"], run["split"], run["method"])
