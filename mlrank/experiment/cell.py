"""A cell of the experiment: one method on one split, with its grid, its keys and what its record says."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from mlrank import __version__
from mlrank.arrays import IntArray
from mlrank.config import ExperimentConfig, GridPoint, MethodConfig
from mlrank.experiment.data import Data
from mlrank.metrics import METRICS
from mlrank.results import checkout_commit, trial_key
from mlrank.search import Chain, Point, best_point
from mlrank.splits import Split, kfold
from mlrank.thresholds import THRESHOLDS

__all__ = ["Cell", "cells"]


@dataclass(frozen=True)
class Cell:
    """One method on one split. `folds` are (train, test) rows of the data set, the same for every method."""

    config: ExperimentConfig
    method: MethodConfig
    data: Data
    split: Split
    folds: tuple[tuple[IntArray, IntArray], ...]

    @cached_property
    def chain(self) -> Chain:
        """What happens to the rows."""
        method = self.method
        return Chain(method.solver_class, THRESHOLDS[method.threshold], method.threshold_scores, self.config.scale)

    @cached_property
    def grid(self) -> list[GridPoint]:
        """The grid points, in the order of the configuration."""
        return self.method.grid()

    @property
    def searched_folds(self) -> range:
        """The folds to search; none where there is nothing to choose."""
        return range(len(self.folds) if len(self.grid) > 1 else 0)

    @cached_property
    def trials(self) -> list[list[Point]]:
        """The trials, one list of grid points for each fold."""
        return [[self._point(grid, fold) for grid in self.grid] for fold in self.searched_folds]

    @cached_property
    def refits(self) -> list[Point]:
        """The grid points as fits on the whole training part."""
        return [self._point(grid, None) for grid in self.grid]

    def _point(self, grid: GridPoint, fold: int | None) -> Point:
        config, method = self.config, self.method
        where = {"data": self.data.hash, "rows": self._rows_hash, "scale": config.scale, "seed": config.seed}
        if fold is not None:
            search = config.search
            where |= {"fold": fold, "folds": search.folds, "stratified": search.stratified, "metric": search.metric}
        fit = where | {"solver": method.solver, "settings": grid.settings}
        threshold = {"kind": method.threshold, "scores": method.threshold_scores} | grid.threshold_settings
        seed = int(trial_key(**fit)[:8], 16)
        return Point(grid.settings, grid.threshold_settings, trial_key(**fit, threshold=threshold), seed)

    @cached_property
    def _rows_hash(self) -> str:
        rows = (self.split.train, self.split.test)
        return hashlib.blake2b(b"|".join(part.tobytes() for part in rows), digest_size=12).hexdigest()

    @cached_property
    def key(self) -> str:
        """Identifies everything that the run of this cell depends on."""
        keys = [point.key for points in (*self.trials, self.refits) for point in points]
        return trial_key(points=keys, version=__version__)

    def choose(self, journal: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], int | None]:
        """Return what the search found, and the index of the best grid point or None where every point failed."""
        by_fold = [[journal[point.key] for point in points] for points in self.trials]
        records = [record for fold in by_fold for record in fold]
        found = self._best(by_fold) if by_fold else None
        summary = {
            "metric": self.config.search.metric,
            "folds": len(by_fold),
            "n_trials": len(records),
            "n_failed": sum(record["error"] is not None for record in records),
            "n_not_converged": sum(record.get("converged") is False for record in records),
            "best": found[1] if found else None,
        }
        if not by_fold:
            return summary, 0
        return summary, found[0] if found else None

    def _best(self, by_fold: list[list[Mapping[str, Any]]]) -> tuple[int, float] | None:
        # A point that failed in some fold is out: its mean would be over other folds than the others'.
        values = [
            [] if any(record["error"] for record in point) else [record["value"] for record in point]
            for point in zip(*by_fold, strict=True)
        ]
        return best_point(values, METRICS[self.config.search.metric].higher_is_better)

    def describe(self, index: int | None) -> dict[str, Any]:
        """Return what a run's record says of the method, with the grid point `index` chosen (None: nothing)."""
        method, grid = self.method, self.grid[index or 0]
        solver = self.chain.build(self.refits[index or 0])
        return {
            "experiment": self.config.name,
            "dataset": self._describe_data(),
            "split": self.split.name,
            "method": method.name,
            "solver": method.solver,
            "settings": {field.name: getattr(solver, field.name) for field in fields(solver)},
            "searched": self._searched(grid) if index is not None else {},
            "threshold": {
                "kind": method.threshold,
                "scores": method.threshold_scores,
                "settings": dict(grid.threshold_settings),
                "oracle": bool(self.chain.threshold.ORACLE),
            },
            "key": self.key,
            "commit": checkout_commit(),
            "version": __version__,
        }

    def _searched(self, grid: GridPoint) -> dict[str, Any]:
        chosen = {name: grid.settings[name] for name, values in self.method.axes if len(values) > 1}
        threshold = {name for name, values in self.method.threshold_axes if len(values) > 1}
        return chosen | {f"threshold.{name}": grid.threshold_settings[name] for name in threshold}

    def _describe_data(self) -> dict[str, Any]:
        dataset = self.data.dataset
        return {
            "name": dataset.name,
            "source": dataset.source,
            "hash": self.data.hash,
            "n_samples": dataset.n_samples,
            "n_train": int(self.split.train.size),
            "n_test": int(self.split.test.size),
            "n_features": dataset.n_features,
            "n_labels": dataset.n_labels,
            "cardinality": dataset.cardinality,
            "stand_in": dataset.stand_in,
            "changes": list(self.data.changes),
        }


def cells(config: ExperimentConfig, data: Data) -> Iterator[Cell]:
    """Yield the cells of one data set, split by split."""
    search = config.search
    for split in data.splits:
        seed = int(trial_key(data=data.hash, split=split.name, seed=config.seed)[:8], 16)
        pairs = kfold(data.dataset.Y[split.train], search.folds, seed, search.stratified)
        folds = tuple((split.train[train], split.train[test]) for train, test in pairs)
        for method in config.methods.values():
            yield Cell(config, method, data, split, folds)
