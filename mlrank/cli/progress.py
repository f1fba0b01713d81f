"""Running an experiment and showing how far it is: a bar on a terminal, plain lines elsewhere, a log in its folder."""

import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlrank.cli.timeleft import TimeLeft

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.experiment import Event
    from mlrank.experiment.events import BestEvent, PlanEvent, RunEvent, RunName, TrialEvent
    from mlrank.tables import FinishedExperiment

__all__ = ["run_with_progress"]

# Seconds between two plain lines at least; failures and the last fit are reported at once.
LINE_SECONDS = 10.0


def run_with_progress(
    config: "ExperimentConfig",
    results: Path,
    jobs: int,
    quiet: bool,
    *,
    scheduler: str | None = None,
    retry_failed: bool = False,
    log_level: str = "info",
    notify: "Callable[[Event], None]" = lambda event: None,
    by_method: bool = False,
    only: Collection[str] | None = None,
) -> "FinishedExperiment":
    """Run `config` and show how far it is, on stderr; an interrupt, and SIGTERM, says what is kept.

    `notify` gets each event too; `by_method` and `only` are as of `run_experiment`.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from mlrank.cli.terminal import new_console
    from mlrank.experiment import run_experiment
    from mlrank.search import cluster_pool

    pool = jobs if scheduler is None else cluster_pool(scheduler)
    console = new_console(stderr=True, quiet=quiet)
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

        def tell(event: "Event") -> None:
            reporter.notify(event)
            notify(event)

        try:
            return run_experiment(
                config,
                results,
                pool,
                tell,
                retry_failed=retry_failed,
                log_level=log_level,
                by_method=by_method,
                only=only,
            )
        except (KeyboardInterrupt, SystemExit) as stopped:
            progress.stop()
            reporter.report_interrupt()
            if isinstance(stopped, SystemExit):  # the signal to terminate
                raise
            raise SystemExit(130) from None


class _Reporter:
    """Turns events into a bar and the best of each method, or, where there is no terminal, into a line now and then."""

    def __init__(self, progress: Any, console: Any, jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.progress, self.console, self.clock = progress, console, clock
        self.left = TimeLeft(jobs, clock)
        # The text of the time left is made whenever the bar is drawn, so that it runs down between two fits.
        self.task = progress.add_task("starting", total=None, failed="", left=self.left)
        self.total, self.done, self.failed = 0, 0, 0
        self.failures: set[tuple[str, str]] = set()
        self.last_line = clock()

    def notify(self, event: "Event") -> None:
        from mlrank.experiment.events import BestEvent, PlanEvent

        if isinstance(event, PlanEvent):
            self._plan(event)
        elif isinstance(event, BestEvent):
            self._best(event)
        else:
            self._fit(event)

    def _plan(self, event: "PlanEvent") -> None:
        self.total, self.done = event.total, event.done
        for entry in event.missing:
            search, last = entry.work
            self.left.expect(_alike(entry.run), entry.fits - 1, search, entry.run.method)
            self.left.expect(_alike(entry.run, last=True), 1, last, entry.run.method)
        jobs = self.left.jobs = event.jobs or self.left.jobs
        self.progress.update(self.task, total=self.total, completed=self.done)
        if self.done or not self.console.is_terminal:
            kept = f", {self.done} of them already done" if self.done else ""
            self._line(f"{self.total} fit{'s'[: self.total != 1]}{kept}")
        for note in event.notes:
            self._line(note)
        for method, names in event.idle.items():
            self._line(f"{method}: {', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect on its fits")
        if event.jobs_requested is not None and event.jobs_requested > jobs:
            self._line(f"{jobs} of {event.jobs_requested} workers: more would not fit into memory")

    def _best(self, event: "BestEvent") -> None:
        if self.console.is_terminal:
            settings = ", ".join(f"{name}={value}" for name, value in event.settings.items())
            self._line(f"{event.run.label}: best so far {event.metric} {event.value:.4f} with {settings}")

    def _fit(self, event: "TrialEvent | RunEvent") -> None:
        from mlrank.experiment.events import TrialEvent

        self.done += 1
        self.failed += event.record.error is not None
        time = event.record.time
        parts = (time.fit, time.threshold, time.predict)
        kind = _alike(event.run, last=not isinstance(event, TrialEvent))
        self.left.count(kind, None if time.fit is None else sum(part or 0.0 for part in parts))
        failed = f"[red]{self.failed} failed" if self.failed else ""
        what = "searching" if isinstance(event, TrialEvent) else "fitting"
        self.progress.update(self.task, completed=self.done, description=what, failed=failed)
        if not self.console.is_terminal:
            self._report(event)

    def _report(self, event: "TrialEvent | RunEvent") -> None:
        """Print a line if a fit has failed as none of its run has before, if it is time to, or if all are done."""
        if event.record.error is not None:
            failure = event.run.label, event.record.reason
            if failure not in self.failures:
                self.failures.add(failure)
                self._print(f"failed: {': '.join(failure)}")
        last = self.done == self.total
        if last or self.clock() - self.last_line >= LINE_SECONDS:
            failures = f", {self.failed} failed" if self.failed else ""
            after = "" if last else f", {str(self.left) or 'time left not known yet'}: {event.run.label}"
            self._line(f"{self.done}/{self.total} fits{failures}{after}")

    def _line(self, text: str) -> None:
        self.last_line = self.clock()
        self._print(text)

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def report_interrupt(self) -> None:
        done = f"; {self.done} of {self.total} fits are done and kept" if self.total else " before the first fit"
        print(f"mlrank: interrupted{done}, the same command goes on from there", file=sys.stderr)


def _alike(run: "RunName", last: bool = False) -> tuple[str, str, bool]:
    """Return the kind of a fit: those on other splits take alike, those of the search as each other."""
    return run.dataset, run.method, last
