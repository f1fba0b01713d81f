"""A small experiment on files written on the spot, and solvers that misbehave."""

import ctypes
import gc
import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.base import WHOLE, Block, FitInfo

CONFIG = """
name: small
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  Binary-SVM: {{solver: binary_svm, C: [0.1, 1, 10]}}
  Rank-HLapSVM: {{solver: rank_hlapsvm, C: [0.1, 1], lam: [0, 1], threshold: {{kind: svr_midpoint, C: [0.1, 1]}}}}
search: {{folds: 3, metric: f1_micro}}
seed: 3
"""


def write_libsvm(path, X, Y):
    lines = []
    for x, y in zip(X, Y, strict=True):
        labels = ",".join(map(str, np.flatnonzero(y)))
        lines.append(labels + " " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(x.tolist())))
    path.write_text("\n".join(lines) + "\n")


def small_data(seed=0, n=90, m=5, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    Y = X @ rng.standard_normal((m, k)) + 0.5 * rng.standard_normal((n, k)) > 0.3
    return X, Y


def small_config(folder, split="{kind: official}", scale="standard", text=CONFIG):
    from mlrank.config import parse_config  # not in the workers, which load their solvers from here

    X, Y = small_data()
    train, test = folder / "part-train.svm", folder / "part-test.svm"
    write_libsvm(train, X[:60], Y[:60])
    write_libsvm(test, X[60:], Y[60:])
    return parse_config(text.format(train=train, test=test, split=split, scale=scale), "small.yaml")


@dataclass(frozen=True)
class Means:
    """Scores are label frequencies plus `shift`; every third value of `shift` fails."""

    shift: float = 0.0

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        if self.shift % 3 == 2:
            raise RuntimeError("this one always fails")
        intercept = train.Y.mean(axis=0) - 0.5 + self.shift
        return LinearModel(np.zeros((train.n_labels, train.n_features)), intercept, FitInfo(1, np.nan, 0.0, True))


@dataclass(frozen=True)
class Slow(Means):
    """As Means, after a while."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        time.sleep(0.1)
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Flaky(Means):
    """As Means, but failing while the environment says so."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        if os.environ.get("FLAKY"):
            raise RuntimeError("not today")
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Costly(Means):
    """As Means, with a cost."""

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        return float(n_samples) ** 2, 1000.0 * n_samples


@dataclass(frozen=True)
class Threads(Means):
    """The objective is the largest number of threads that any library would use."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        import numba
        import scipy.linalg  # noqa: F401  its BLAS is one of the libraries
        from threadpoolctl import threadpool_info

        counts = [library["num_threads"] for library in threadpool_info()]
        model = super().fit(train, prepared)
        return replace(model, info=FitInfo(1, float(max([*counts, numba.get_num_threads()])), 0.0, True))


@dataclass(frozen=True)
class Collected(Means):
    """As Means; the objective is the number of objects that garbage collection passes over, -1 where it is off."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        passed = float(gc.get_freeze_count()) if gc.isenabled() else -1.0
        return replace(super().fit(train, prepared), info=FitInfo(1, passed, 0.0, True))


@dataclass(frozen=True)
class Deadly(Means):
    """As Means, but its process dies where `shift` is 1."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        if self.shift == 1:
            os._exit(3)
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Killed(Means):
    """As Means, but where `shift` is 1 its process dies at first, and then all other workers there are.

    The environment names the file that the first death leaves.
    """

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        if self.shift == 1 and train.n_samples > 20:
            died = Path(os.environ["KILLED"])
            if not died.exists():
                died.touch()
                os._exit(3)
            for pid in worker_pids(os.getppid()):
                if pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
                    time.sleep(0.5)  # the death of a worker of the same pool would end this one
        return super().fit(train, prepared)


def worker_pids(parent: int) -> list[int]:
    """Return the worker processes of a process; its trackers of resources are none."""
    listed = subprocess.run(["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "--process-name" in line]


@dataclass(frozen=True)
class Odd(Means):
    """As Means, but the first label has the score `value` where `shift` is 1."""

    value: str = "nan"

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        model = super().fit(train, prepared)
        if self.shift != 1:
            return model
        return replace(
            model,
            intercept=np.array([complex(self.value) if "j" in self.value else float(self.value), *model.intercept[1:]]),
        )


@dataclass(frozen=True)
class Endless(Means):
    """As Means, but never done where `shift` is 1 and rows are more than those of a warm-up."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        while self.shift == 1 and train.n_samples > 20:
            time.sleep(0.01)
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Iterated(Means):
    """As Means; `seen` lists the number of rows and the most iterations of every fit."""

    max_iter: int = 10**9
    kind: str = "sum"
    seen: ClassVar[list[tuple[int, int]]] = []

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        self.seen.append((train.n_samples, self.max_iter))
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Stuck(Means):
    """As Means, but held up by a library that keeps the interpreter's lock, where Endless is never done."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        if self.shift == 1 and train.n_samples > 20:
            ctypes.PyDLL(None).sleep(600)
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Blocks(Means):
    """As Means, label by label, in blocks that workers share; a label takes `pause` seconds and `held` bytes.

    A block fails where `shift` says so, and the first one ends its process where the environment names a file for it.
    """

    pause: float = 0.0
    held: int = 0

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        return self.join(train, [self.fit_block(train, WHOLE)])

    def fit_block(self, train: TrainingSet, block: Block, prepared: object = None) -> list[tuple[int, float]]:
        found, memory = [], []
        if self.shift % 3 == 2:
            raise RuntimeError("this one always fails")
        died = Path(os.environ.get("BLOCK_DIED", "/"))
        if train.n_samples > 20 and not died.exists():
            died.touch()
            os._exit(3)
        for label in block.of(range(train.n_labels)):
            if train.n_samples > 20:
                time.sleep(self.pause)
                memory.append(np.empty(self.held // 8))  # address space alone
            found.append((label, float(train.Y[:, label].mean()) - 0.5 + self.shift))
        return found

    def join(self, train: TrainingSet, parts: list[list[tuple[int, float]]]) -> LinearModel:
        intercept = np.array([value for _, value in sorted(one for part in parts for one in part)])
        return LinearModel(np.zeros((train.n_labels, train.n_features)), intercept, FitInfo(1, np.nan, 0.0, True))

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        return 1e10 * n_samples, 1.0


@dataclass(frozen=True)
class Prepared(Means):
    """As Means; each preparation leaves a file in the folder that the environment names."""

    group: int = 0
    SHARED: ClassVar[tuple[str, ...]] = ("group",)

    def prepare(self, train: TrainingSet) -> int:
        Path(os.environ["PREPARED"], uuid.uuid4().hex).touch()
        return self.group


@dataclass(frozen=True)
class Looks(Means):
    """As Means; the objective is the number of rows seen without labels, the number of iterations that of all rows."""

    USES_UNLABELED: ClassVar[bool] = True

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        model = super().fit(train, prepared)
        unlabeled = 0 if train.X_unlabeled is None else train.X_unlabeled.shape[0]
        return replace(model, info=FitInfo(train.n_samples + unlabeled, float(unlabeled), 0.0, True))


@dataclass(frozen=True)
class Knows(Means):
    """As Means of the known entries; the objective is their number."""

    USES_KNOWN: ClassVar[bool] = True

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        model = super().fit(train, prepared)
        known = train.Y.size if train.known is None else train.known.sum()
        return replace(model, info=FitInfo(1, float(known), 0.0, True))


@dataclass(frozen=True)
class OwnScores(LinearModel):
    """A linear model that has other scores for its training rows."""

    own: np.ndarray

    def training_scores(self) -> np.ndarray:
        return self.own


@dataclass(frozen=True)
class Own(Means):
    """As Means, but its training rows are scored -1 where the label is present and -3 where it is not."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        model = super().fit(train, prepared)
        return OwnScores(model.coef, model.intercept, model.info, np.where(train.Y, -1.0, -3.0))


@dataclass(frozen=True)
class Hopeless(Means):
    """Always fails."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        raise RuntimeError("no way")


KEPT = []


def grow(_part):
    """Keep 400 MB for good, in longer than the library lets pass between two looks at the memory."""
    KEPT.append(np.ones(50_000_000))
    time.sleep(1.2)
    return os.getpid()
