"""What is to be fitted: points, what happens to the rows, and tasks made of points that share a preparation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.metrics import METRICS
from mlrank.models import Fit
from mlrank.records.run import FitRecord, MetricRecord, ModelInfo, SetsInfo, SoftwareInfo, TimeInfo, TrialRecord
from mlrank.solvers import Capabilities, TrainingSet
from mlrank.solvers.base import Block
from mlrank.thresholds import LabelBounds, is_fitted

__all__ = ["Chain", "Part", "Point", "Refit", "Result", "Task", "groups"]


@dataclass(frozen=True)
class Point:
    """A grid point.

    settings, threshold_settings, projection_settings : of the solver, the threshold and the projection
    key : of the trial or run it is for
    seed : of the fit; it comes from the solver's part of the key, so points that differ in the threshold share a fit
    """

    settings: Mapping[str, object]
    threshold_settings: Mapping[str, object]
    key: str
    seed: int
    projection_settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def all_settings(self) -> dict[str, object]:
        """What a message about the point says: the settings of all its parts."""
        return {**self.projection_settings, **self.settings, **self.threshold_settings}


@dataclass(frozen=True)
class Chain:
    """What happens to scaled rows: projection (or none), solver, calibration (or none), threshold and its scores."""

    solver: type[Any]
    threshold: type[Any]
    threshold_scores: str
    scale: str
    projection: type[Any] | None = None
    calibrate: str | None = None

    @property
    def prepares(self) -> bool:
        """Whether points share more than their rows: each part of a task then makes it anew."""
        return self.projection is not None or Capabilities.of(self.solver).prepares

    @property
    def cross_fits(self) -> bool:
        """Whether each point is also fitted to parts of the training rows, for scores of the rows left out."""
        return (self.threshold_scores == "heldout" and self.fits_cut) or self.calibrate is not None

    @cached_property
    def _draws(self) -> bool:
        return Capabilities.of(self.solver).draws

    def build(self, point: Point) -> Any:
        """Return the solver with the point's settings; a solver that draws gets the point's seed."""
        seeded = self._draws and "seed" not in point.settings
        return self.solver(**point.settings, **({"seed": point.seed} if seeded else {}))

    def natural_cut(self, solver: Any, train: TrainingSet) -> float | None:
        """Return the natural cut of the solver where that is the threshold; else None."""
        if not hasattr(self.threshold, "at"):
            return None
        return Capabilities.cut_of(solver, train) if self.calibrate is None else 0.5

    @property
    def fits_cut(self) -> bool:
        """Whether a cut is fitted to scores of the training rows."""
        return is_fitted(self.threshold)

    def cut(
        self, point: Point, solver: Any, train: TrainingSet, scores: Callable[[], FloatArray], known: BoolArray | None
    ) -> Any:
        """Return the point's cut within its bounds on labels; one that is fitted asks for scores of training rows."""
        own, bounds = LabelBounds.split(point.threshold_settings)
        natural = self.natural_cut(solver, train)
        threshold: Any = self.threshold(**own)
        if self.fits_cut:
            return bounds.around(threshold.fit(scores(), train.Y, train.X, known))
        return bounds.around((threshold if natural is None else threshold.at(natural)).unfitted(train.n_labels))


@dataclass(frozen=True)
class Part:
    """What the block of a fit came to, in how many seconds and bytes; `failed` if it came to nothing."""

    solved: Any = None
    seconds: float = 0.0
    peak_memory: int | None = None
    failed: bool = False


@dataclass(frozen=True)
class Task:
    """Points to be fitted on the rows `train` and judged on the rows `test`.

    `metric` is the search's; `number` tells the caller which of its cells a result belongs to; a `refit` task has one
    point and returns everything that is stored of a run. A fit that takes more than `time_limit` seconds fails.
    `mask` is the place of the task's mask of known labels among the masks of the data; `unlabeled` are the rows, the
    test rows among them, whose features a solver that uses unlabeled rows may see (None: the test rows). `own_metrics`
    are the metrics of the user's own that a refit computes; `propensity` are A and B of the propensities of labels.
    `operations` are those of one point by its solver's estimate. A task with a `block` solves that block of its point's
    fit and returns a Part; one with `parts` joins them in place of fitting.
    """

    chain: Chain
    points: tuple[Point, ...]
    train: IntArray
    test: IntArray
    metric: str
    number: int = 0
    refit: bool = False
    time_limit: float | None = None
    mask: int = 0
    unlabeled: IntArray | None = None
    own_metrics: tuple[str, ...] = ()
    propensity: tuple[float, float] = (0.55, 1.5)
    operations: float = 0.0
    block: Block | None = None
    parts: tuple[Part, ...] = ()

    @property
    def columns(self) -> IntArray | None:
        """The columns that the rows have: those of the training rows in a kernel matrix, else all (None)."""
        return self.train if Capabilities.of(self.chain.build(self.points[0])).pairwise else None

    @property
    def cuts(self) -> bool:
        """Whether its fits need a cut: a search that compares scores as they are needs none."""
        return self.refit or METRICS[self.metric].needs == "sets" or self.chain.calibrate is not None

    def of(self, points: Sequence[Point]) -> "Task":
        """Return the same task with other points."""
        return replace(self, points=tuple(points))


@dataclass(frozen=True)
class Refit:
    """What came of a fit on the whole training part.

    error : the traceback of one that failed
    info, metrics, sets, time, software, model : as the run's record stores them
    changes : what was done to the rows
    arrays : what the run stores beside its record
    n_best : how many of the best scores of a row these hold; None: all scores
    fit : the model to be stored, None where it cannot be
    """

    software: SoftwareInfo
    error: str | None = None
    info: FitRecord | None = None
    metrics: Mapping[str, MetricRecord] = field(default_factory=dict)
    sets: SetsInfo | None = None
    time: TimeInfo = field(default_factory=TimeInfo)
    model: ModelInfo | None = None
    changes: tuple[str, ...] = ()
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    n_best: int | None = None
    fit: Fit | None = None


# What came of one point: the trial of a search, a refit, or the block of either.
Result = TrialRecord | Refit | Part


def groups(chain: Chain, points: Sequence[Point]) -> list[tuple[Point, ...]]:
    """Group points with equal projection and SHARED settings, in order: each group needs one preparation."""
    shared = Capabilities.of(chain.solver).shared
    sorted_out: dict[str, list[Point]] = {}
    for point in points:
        solver = chain.build(point)
        alike = repr((dict(point.projection_settings), [getattr(solver, name) for name in shared]))
        sorted_out.setdefault(alike, []).append(point)
    return [tuple(members) for members in sorted_out.values()]
