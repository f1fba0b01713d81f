"""The data that tasks are about, and the rows of one task, scaled by what its training part says."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, take_rows
from mlrank.labels import LabelMatrix, dense_labels, label_counts, labels_of_rows
from mlrank.metrics import propensities
from mlrank.scaling import Scaling, TermBlock, fit_scaling
from mlrank.search.neighbor_cache import FileNeighborCache, MemoryNeighborCache
from mlrank.search.tasks import Task
from mlrank.solvers import Capabilities, TrainingSet

__all__ = ["TaskData", "TaskRows"]


@dataclass(frozen=True)
class TaskData:
    """A data set as workers see it.

    X, Y : all rows
    known : (n_masks, n_samples, n_labels) bool ndarray or None
        Which entries of `Y` may be looked at; a task says by which mask.
    neighbor_cache : MemoryNeighborCache, FileNeighborCache or None
        Neighbors of rows that earlier tasks computed.
    feature_names : tuple of str or None
    groups : (n_samples,) int64 ndarray or None
        Rows of one group stay together where training rows are divided.
    text : tuple of TermBlock
        Features that count the terms of texts.
    """

    X: Features
    Y: LabelMatrix
    known: BoolArray | None = None
    neighbor_cache: MemoryNeighborCache | FileNeighborCache | None = None
    feature_names: tuple[str, ...] | None = None
    groups: IntArray | None = None
    text: tuple[TermBlock, ...] = ()


@dataclass(frozen=True)
class TaskRows:
    """The rows of a task.

    train : TrainingSet
        With the features of all rows that the task may see, if its solver uses them, and with the mask of known
        labels, if it respects one: for another solver what is unknown is absent.
    known : mask of the labels of the training rows, for the threshold
    test : TrainingSet
        What the fit is judged on.
    notes : what was changed
    scaling : what scaled them
    groups : of the training rows
    propensities : (n_labels,) ndarray, of the labels by the training rows
    """

    train: TrainingSet
    known: BoolArray | None
    test: TrainingSet
    notes: tuple[str, ...]
    scaling: Scaling
    groups: IntArray | None = None
    propensities: FloatArray | None = None

    @classmethod
    def of(cls, task: Task, task_data: TaskData) -> "TaskRows":
        """Cut the rows of a task out of the data and scale them."""
        solver: Any = task.chain.solver
        able = Capabilities.of(solver)
        columns = task.columns
        X = take_rows(task_data.X, task.train, columns)
        scaling = fit_scaling(task.chain.scale, X, task_data.text)
        mask = None if task_data.known is None else task_data.known[task.mask]
        Y, known = _labels(task_data.Y, mask, task.train)
        if not able.sparse_labels:
            Y = dense_labels(Y, f"dense labels, which {solver.__name__} needs,")
        Y_test, known_test = _labels(task_data.Y, mask, task.test)
        unlabeled = None
        if able.uses_unlabeled:
            others = task.test if task.unlabeled is None else task.unlabeled
            unlabeled = scaling(take_rows(task_data.X, others, columns))
        notes = [scaling.note, f"{scaling.n_constant} constant features not scaled" if scaling.n_constant else ""]
        heeded = known if able.uses_known else None
        if known is not None and heeded is None:
            count = int((~known).sum())
            notes.append(f"{count} unknown label entries of the training rows taken as absent by {solver.__name__}")
        # What is measured of a run, its seconds and its memory, is that of a whole fit: it finds neighbours itself.
        cache = None if task.refit else task_data.neighbor_cache
        names = task_data.feature_names if columns is None else None
        groups = None if task_data.groups is None else task_data.groups[task.train]
        train = TrainingSet(scaling(X), Y, unlabeled, heeded, columns is not None, cache, names)
        test = TrainingSet(scaling(take_rows(task_data.X, task.test, columns)), Y_test, known=known_test)
        weights = propensities(label_counts(Y), len(task.train), *task.propensity)
        return cls(train, known, test, tuple(filter(None, notes)), scaling, groups, weights)


def _labels(Y: LabelMatrix, mask: BoolArray | None, rows: Any) -> tuple[LabelMatrix, BoolArray | None]:
    """Return the labels of some rows, False where they are unknown, and their mask; None if all are known."""
    labels = labels_of_rows(Y, rows)
    if mask is None:
        return labels, None
    known: BoolArray = mask[rows]
    return np.asarray(labels & known), None if known.all() else known
