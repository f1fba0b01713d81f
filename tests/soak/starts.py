"""Processes that start one experiment on one folder at the same moment: none may fail, and all leave the same files.

Run as ``python -m tests.soak.starts STARTS PROCESSES``: so many starts in all, PROCESSES at a time on a new folder.
"""

import multiprocessing
import sys
import tempfile
import time
import traceback
from pathlib import Path

from mlrank.experiment import coordinator, run
from tests.experiment.small import CONFIG, small_config

__all__ = ["start_together"]

ONE_FIT = CONFIG.split("methods:")[0] + "methods: {{M: {{solver: 'tests.experiment.small:Means', shift: 0}}}}\n"


def start_together(folder: Path, processes: int, rounds: int) -> list[str]:
    """Start `processes` processes at once, `rounds` times; return the traceback of each start that failed."""
    coordinator.WAIT_SECONDS = 0.01  # in the processes that are forked here
    config = small_config(folder, text=ONE_FIT)
    run(config, folder / "alone")
    context = multiprocessing.get_context("fork")
    barrier, failures = context.Barrier(processes, timeout=600), context.SimpleQueue()
    starters = [
        context.Process(target=_start, args=(config, folder, rounds, barrier, failures)) for _ in range(processes)
    ]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    found = [] if all(starter.exitcode == 0 for starter in starters) else ["a process ended before its last start"]
    while not failures.empty():
        found.append(failures.get())
    whole = _files(folder / "alone")
    found += [f"round {i}: other files" for i in range(rounds) if _files(folder / str(i)) != whole]
    return found


def _start(config, folder, rounds, barrier, failures):
    for i in range(rounds):
        barrier.wait()
        try:
            run(config, folder / str(i))
        except BaseException:
            failures.put(traceback.format_exc())


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


if __name__ == "__main__":
    starts, processes = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        failed = start_together(Path(folder), processes, -(-starts // processes))
    for failure in failed[:3]:
        print(failure)
    print(f"{starts} starts, {processes} at a time: {len(failed)} failures, {time.monotonic() - started:.0f} s")
    raise SystemExit(1 if failed else 0)
