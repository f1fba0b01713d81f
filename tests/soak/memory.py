"""The memory that a forecast gives for a fit beside the peak of a process that makes it, for every solver.

Run as ``python -m tests.soak.memory``.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from mlrank.search import Chain, Pilot, Point, Task, TaskData
from mlrank.search.fits import work
from mlrank.solvers import SOLVERS, Capabilities
from mlrank.thresholds import THRESHOLDS

__all__ = ["measured"]

ROOT = Path(__file__).parents[2]
# Rows, features and labels; a fifth of the rows is tested on.
SIZES = ((600, 40, 8), (2500, 300, 10))


def measured(solver: str, *shape: int) -> tuple[float, float]:
    """Return the bytes of the forecast, and those that a process of its own takes at most."""
    command = [sys.executable, "-m", "tests.soak.memory", solver, *map(str, shape)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    said, used = json.loads(done.stdout)
    return said, used


def _fit(solver: str, n: int, m: int, k: int) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    X, Y = np.abs(rng.standard_normal((n, m))), rng.random((n, k)) < 0.15
    train, test = np.arange(n * 4 // 5), np.arange(n * 4 // 5, n)
    settings = {"kernel": "rbf"} if solver == "mlr" else {}
    chain = Chain(SOLVERS[solver], THRESHOLDS["zero"], "train", "none")
    unlabeled = test if Capabilities.of(SOLVERS[solver]).uses_unlabeled else None
    task = Task(chain, (Point(settings, {}, "key", 0),), train, test, "f1_micro", unlabeled=unlabeled)
    said = Pilot(task, TaskData(X, Y)).memory(train.size)
    (result,) = work(task, TaskData(X, Y))
    if result.error:
        raise ValueError(result.error)
    status = Path("/proc/self/status").read_text().splitlines()
    return said, next(float(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def _all() -> int:
    wrong = 0
    for solver in SOLVERS:
        for shape in SIZES:
            measured(solver, *shape)  # compiling takes memory too
            said, used = measured(solver, *shape)
            wrong += not used / 1.5 < said < used * 1.5
            print(f"{solver} {shape}: {said / 1e6:.0f} MB said, {used / 1e6:.0f} used, {said / used:.2f}", flush=True)
    print(f"{wrong} forecasts are wrong by more than half")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_fit(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        raise SystemExit(_all())
