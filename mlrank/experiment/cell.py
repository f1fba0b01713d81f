"""A cell of the experiment: one method on one split, with its grid, its keys and what its record says."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mlrank import __version__
from mlrank.arrays import BoolArray, IntArray
from mlrank.config import ExperimentConfig, GridPoint, MethodConfig
from mlrank.experiment.data import SplitDataset
from mlrank.experiment.events import RunName
from mlrank.experiment.points import GridFit, equivalent_points, method_inputs
from mlrank.labels import labels_of_rows
from mlrank.metrics import METRICS, own_names
from mlrank.records import TrialRecord
from mlrank.records.identity import FitInputs, TrialPlace, drawn_seed, rows_hash, run_key
from mlrank.records.sources import source_hashes
from mlrank.search import STRATEGIES, Chain, Pilot, Plan, Point, Task, count_fits, groups, is_over_limit
from mlrank.solvers import Capabilities
from mlrank.splits import Split, kfold, predefined_folds

__all__ = ["Cell", "Outcome", "Trial", "cells"]


class Trial(NamedTuple):
    """A grid point, by its place in the grid, on a fraction of the training rows of a fold."""

    place: int
    fold: int
    fraction: float = 1.0


class Outcome(NamedTuple):
    """How far a search is: trials asked for and missing, all asked for so far, the grid point chosen, its value."""

    missing: tuple[Trial, ...]
    asked: tuple[Trial, ...]
    chosen: int | None
    value: float | None


@dataclass(frozen=True)
class Cell:
    """One method on one split.

    `folds` are (train, test) rows of the data set, the same for every method; `mask` is the place of the split's mask
    among those of known labels; `fit_inputs` is what all fits depend on beside their settings. `shares` says whether a
    method before has the same trials: they differ in the threshold, and the search compares scores.
    """

    config: ExperimentConfig
    method: MethodConfig
    data: SplitDataset
    split: Split
    folds: tuple[tuple[IntArray, IntArray], ...]
    mask: int
    fit_inputs: FitInputs
    shares: bool = False

    @property
    def label(self) -> str:
        """What messages call the cell."""
        return self.name.label

    @property
    def name(self) -> RunName:
        """What its run and events call it."""
        return RunName(self.data.dataset.name, self.split.name, self.method.name)

    @cached_property
    def chain(self) -> Chain:
        """What happens to the rows."""
        method = self.method
        threshold, scores = method.threshold_class, method.threshold_scores
        scale, calibrate = self.config.scale, method.calibrate
        return Chain(method.solver_class, threshold, scores, scale, method.projection_class, calibrate)

    @cached_property
    def grid(self) -> list[GridPoint]:
        """The grid points, in the order of the configuration."""
        return self.method.grid()

    @cached_property
    def equivalent(self) -> tuple[int, ...]:
        """Of each grid point the first one that gives the same fits: the only one of them to be fitted."""
        return equivalent_points(self.method)

    @property
    def searched_folds(self) -> range:
        """The folds to search; none where there is nothing to choose."""
        return range(len(self.folds) if len(self.grid) > 1 else 0)

    @cached_property
    def plan(self) -> Plan:
        """What the search strategy must know."""
        search, axes = self.config.search, self.method.all_axes
        sign = METRICS[search.metric].sign
        most = None if search.max_fits is None else search.max_fits // search.folds
        seed = drawn_seed(data=self.data.hash, rows=self.fit_inputs.rows, seed=self.config.seed)
        return Plan(tuple(len(values) for _, values in axes), most, sign, seed)

    @cached_property
    def n_trials(self) -> int:
        """Number of fits that the search asks for."""
        strategy = self.config.search.strategy
        n_points = len(set(self.equivalent)) if strategy == "grid" else count_fits(strategy, self.plan)
        return n_points * len(self.searched_folds)

    @property
    def n_fits(self) -> int:
        """Number of fits that the run asks for, but for those that it shares with a run before."""
        return 1 + (0 if self.shares else self.n_trials)

    def refit(self, index: int) -> Point:
        """Return a grid point as a fit on the whole training part."""
        return self._fit(index).point(self.fit_inputs, None)

    def trial(self, index: int, fold: int, fraction: float = 1.0) -> Point:
        """Return a grid point as a fit on (a fraction of) the training rows of a fold."""
        return self.point_of(Trial(index, fold, fraction))

    def point_of(self, trial: Trial) -> Point:
        """Return what `trial` does, of a trial."""
        if trial not in self._points:
            search = self.config.search
            place = TrialPlace(trial.fold, search.folds, search.stratified, search.metric, trial.fraction)
            point = self._fit(trial.place).point(self.fit_inputs, place)
            self._points[trial] = point
            self._places[point.key] = trial
        return self._points[trial]

    def _fit(self, index: int) -> GridFit:
        if index not in self._fits:
            self._fits[index] = GridFit.of(self.method, self.grid[index], self.config.search.metric)
        return self._fits[index]

    @cached_property
    def _fits(self) -> dict[int, GridFit]:
        return {}

    @cached_property
    def _points(self) -> dict[Trial, Point]:
        return {}

    @cached_property
    def _places(self) -> dict[str, Trial]:
        return {}

    def mean_of(self, point: Point, journal: Mapping[str, TrialRecord]) -> float | None:
        """Return the mean over folds of a point on all rows; None while a fold is missing or where it has none."""
        index, _, fraction = self._places[point.key]
        # The last fold first: where folds come in order, one look mostly tells that some are missing.
        if fraction < 1.0 or any(self.trial(index, fold).key not in journal for fold in reversed(self.searched_folds)):
            return None
        return self._mean(index, 1.0, journal)

    def over_limit(self, point: Point, journal: Mapping[str, TrialRecord]) -> str | None:
        """Return the last line of the error of a trial of a point that took longer than it may; None if none did."""
        index, _, fraction = self._places[point.key]
        keys = (self.trial(index, fold, fraction).key for fold in self.searched_folds)
        over = (journal[key].reason for key in keys if key in journal and is_over_limit(journal[key].error))
        return next(over, None)

    @cached_property
    def inputs(self) -> dict[str, object]:
        """Everything that the run of this cell depends on, by name."""
        method, search = self.method, {}
        if len(self.grid) > 1:
            search = self.config.search.model_dump(exclude_none=True, exclude={"time_limit"})
            # Which of equal points is chosen, and what a staged search tries, depends on their order.
            search["axes"] = [name for name, values in method.all_axes if len(values) > 1]
        own = own_names(self.config.metrics)
        files = {name: value for place in own for name, value in source_hashes(place).items()}
        files = {name: value for name, value in files.items() if name not in self.fit_inputs.sources}
        return {
            **self.fit_inputs.by_name(),
            **({"own_metrics": list(own)} if own else {}),
            **{f"metric_source.{name}": value for name, value in files.items()},
            **{f"search.{name}": value for name, value in search.items()},
            **{f"method.{name}": value for name, value in method.resolved().items()},
        }

    @cached_property
    def key(self) -> str:
        """Identifies everything that the run of this cell depends on."""
        return run_key(self.inputs)

    def outcome(self, journal: Mapping[str, TrialRecord]) -> Outcome:
        """Return how far the search is by the journal: the fits it asks for next, or what it chose."""
        if not self.searched_folds:
            return Outcome((), (), 0, None)
        search = STRATEGIES[self.config.search.strategy](self.plan)
        asked: dict[Trial, None] = {}
        means: dict[int, float | None] = {}
        values: list[float | None] | None = None
        while True:
            try:
                stage = next(search) if values is None else search.send(values)
            except StopIteration as stop:
                chosen = None if stop.value is None else self.equivalent[stop.value]
                return Outcome((), tuple(asked), chosen, None if stop.value is None else means[stop.value])
            points = dict.fromkeys(self.equivalent[i] for i in stage.points)
            trials = [Trial(i, fold, stage.fraction) for fold in self.searched_folds for i in points]
            asked |= dict.fromkeys(trials)
            missing = tuple(trial for trial in trials if self.point_of(trial).key not in journal)
            if missing:
                return Outcome(missing, tuple(asked), None, None)
            values = [self._mean(i, stage.fraction, journal) for i in stage.points]
            means |= dict(zip(stage.points, values, strict=True))

    def _mean(self, index: int, fraction: float, journal: Mapping[str, TrialRecord]) -> float | None:
        """Return a point's mean over the folds; None where there is none.

        A fold has no value where the true labels alone leave the metric undefined, for all points alike. A point that
        failed in some fold is out: its mean would be over other folds than the others'.
        """
        first = self.equivalent[index]
        records = [journal[self.trial(first, fold, fraction).key] for fold in self.searched_folds]
        if any(record.error for record in records):
            return None
        defined = [record.value for record in records if record.value is not None]
        return float(np.mean(defined)) if defined else None

    def tasks(self, trials: Iterable[Trial], number: int) -> Iterator[Task]:
        """Yield tasks for trials, one for each fold and preparation; `number` comes back with their results."""
        by_fold: dict[tuple[int, float], list[Point]] = {}
        for trial in trials:
            by_fold.setdefault((trial.fold, trial.fraction), []).append(self.point_of(trial))
        for (fold, fraction), points in by_fold.items():
            train, test = self.folds[fold]
            rows = self._part(train, fraction)
            for group in groups(self.chain, points):
                yield replace(self._task(group, rows, test), number=number)

    def _part(self, train: IntArray, fraction: float) -> IntArray:
        """Return the rows of a fold that a fraction keeps: a larger fraction keeps those of a smaller one."""
        if fraction >= 1.0:
            return train
        count = max(1, round(fraction * train.size))
        kept: IntArray = np.sort(np.random.default_rng(self.plan.seed).permutation(train)[:count])
        return kept

    def refit_task(self, index: int, number: int) -> Task:
        """Return the task that fits grid point `index` on the whole training part."""
        task = self._task((self.refit(index),), self.split.train, self.split.test)
        return replace(task, number=number, refit=True)

    def _task(self, points: tuple[Point, ...], train: IntArray, test: IntArray) -> Task:
        """Return the task of fitting points; all rows of the split beside `train` are there without labels."""
        search = self.config.search
        unlabeled = None
        if Capabilities.of(self.method.solver_class).uses_unlabeled:
            everything = np.concatenate([self.split.train, self.split.test])
            unlabeled = np.setdiff1d(everything, train)
        limit, mask = search.time_limit, self.mask
        own = own_names(self.config.metrics)
        task = Task(
            self.chain,
            points,
            train,
            test,
            search.metric,
            time_limit=limit,
            mask=mask,
            unlabeled=unlabeled,
            own_metrics=own,
            propensity=(self.config.propensity.A, self.config.propensity.B),
        )
        pilot = Pilot(task.of(points[:1]), self.data.task_data)
        return replace(task, operations=pilot.work(train.size))


def cells(config: ExperimentConfig, data: SplitDataset) -> Iterator[Cell]:
    """Yield the cells of one data set, split by split."""
    search = config.search
    of_methods = {method.name: method_inputs(method) for method in config.methods.values()}
    for number, split in enumerate(data.splits):
        mask = data.mask(number)
        known = None if data.task_data.known is None else data.task_data.known[mask]
        seed = drawn_seed(data=data.hash, split=split.name, seed=config.seed)
        Y = labels_of_rows(data.dataset.Y, split.train)
        pairs: list[tuple[IntArray, IntArray]] = []
        if any(len(values) > 1 for method in config.methods.values() for _, values in method.all_axes):
            with config.places.errors_at("search", about=f"'{data.dataset.name}': "):
                pairs = _folds(config, data, split, Y if known is None else Y & known[split.train], seed)
        folds = tuple((split.train[train], split.train[test]) for train, test in pairs)
        of_folds = rows_hash(*(rows for pair in folds for rows in pair))
        inputs = FitInputs(
            data=data.hash,
            rows=rows_hash(split.train, split.test),
            scale=config.scale,
            seed=config.seed,
            known=None if known is None else rows_hash(known),
            missing_labels=config.split.missing_labels or None,
            time_limit=search.time_limit,
            propensity=config.propensity.chosen,
            version=__version__,
        )
        asked: set[tuple[str, ...]] = set()
        for method in config.methods.values():
            defaults, sources = of_methods[method.name]
            searched = any(len(values) > 1 for _, values in method.all_axes)
            if searched and own_names([search.metric]):
                sources = sources | source_hashes(search.metric)
            mine = replace(
                inputs,
                folds=of_folds if searched else None,
                calibrate=method.calibrate,
                defaults=defaults,
                sources=sources,
            )
            cell = Cell(config, method, data, split, folds, mask, mine)
            trials = tuple(cell.trial(index, 0).key for index in range(len(cell.grid))) if searched else ()
            yield replace(cell, shares=True) if trials in asked else cell
            asked |= {trials} if trials else set()


def _folds(
    config: ExperimentConfig, data: SplitDataset, split: Split, Y: BoolArray, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Return the folds of a search, as places among the training rows: those that the data say, or drawn ones."""
    own, groups = data.dataset.folds, data.dataset.groups
    if own is not None and config.split.kind != "predefined":
        found = predefined_folds(own[split.train])
        if found is not None:
            return found
    of_rows = None if groups is None else groups[split.train]
    return kfold(Y, config.search.folds, seed, config.search.stratified, of_rows)
