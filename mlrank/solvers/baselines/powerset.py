"""Label powerset and RAkEL: the label sets of the training rows as the classes of one problem, or of many small ones.

Tsoumakas, Katakis and Vlahavas, "Random k-labelsets for multilabel classification", IEEE TKDE 23 (2011). A label
powerset takes each set of labels that some training row has as a class and fits one estimator of several classes.
RAkEL fits one to each of several small labelsets, which distinguishes the label sets inside it: disjoint ones, into
which the labels are divided at random (RAkELd), or overlapping ones, drawn at random (RAkELo), where a label's score is
the mean over the labelsets that it is in.

An estimator answers by the likeliest set, the paper's rule, or by the probability of each label, the sum over all sets
that have it. Scores are the answers less 1/2, so that the threshold "zero" is the paper's rule of 1/2. A label powerset
that answers by the likeliest set also ranks the labels inside the set, and those outside of it, by their probabilities.
Labels that all or no rows carry are in no labelset; their score is 1/2 or -1/2. Those that no overlapping labelset drew
score their part of the rows less 1/2, and are counted in a note. An estimator without ``predict_proba`` is sure of the
set that it predicts. There is neither an objective nor a certificate.

A fit costs that of an estimator with as many classes as there are distinct label sets, which may be nearly as many as
rows; RAkEL's have at most 2^labelset_size classes each.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.solvers.base import FitInfo, TrainingSet, check_choices, check_count
from mlrank.solvers.baselines.machines import (
    LOGISTIC,
    NotStored,
    check_estimator,
    estimator_of,
    probabilities,
    rows_for,
)
from mlrank.solvers.construct import recorded_warnings, warned
from mlrank.solvers.estimators import iterations

__all__ = ["LabelPowerset", "RAkEL"]

ANSWERS = ("set", "probabilities")


@dataclass(frozen=True)
class Powerset:
    """A fitted estimator whose classes are label sets.

    Parameters
    ----------
    labels : (n,) ndarray of int
        The labels that it tells of.
    sets : (n_sets, n) bool ndarray
        Of each class its labels.
    machine : fitted estimator, or None where there is one set alone
    """

    labels: IntArray
    sets: BoolArray
    machine: Any

    def set_probabilities(self, X: Features) -> FloatArray:
        """Return how probable each set is, (n_samples, n_sets)."""
        if self.machine is None:
            return np.ones((X.shape[0], 1))
        return probabilities(self.machine, X, len(self.sets))

    def answers(self, X: Features, answer: str) -> FloatArray:
        """Return (n_samples, n): whether each label is in the likeliest set, or how probable it is."""
        found = self.set_probabilities(X)
        if answer == "set":
            return np.asarray(self.sets[found.argmax(axis=1)], np.float64)
        marginals: FloatArray = found @ self.sets
        return marginals


def _powerset(solver: Any, X: Features, Y: BoolArray, labels: IntArray) -> Powerset:
    sets, classes = np.unique(Y[:, labels], axis=0, return_inverse=True)
    machine = None if len(sets) == 1 else estimator_of(solver, solver.seed).fit(X, classes.ravel())
    return Powerset(labels, sets, machine)


@dataclass(frozen=True)
class PowersetModel(NotStored):
    """Scores by the label sets of the training rows.

    Parameters
    ----------
    powerset : Powerset
    answer : "set" or "probabilities"
    """

    powerset: Powerset
    answer: str

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        found = self.powerset.set_probabilities(self.rows(X))
        marginals = found @ self.powerset.sets
        if self.answer == "probabilities":
            return marginals - 0.5
        # Inside the set from 0 to 1/2, outside from -1/2 to 0: a label outside is not certain, one inside not absent.
        inside = self.powerset.sets[found.argmax(axis=1)]
        return np.where(inside, marginals / 2, np.minimum(marginals - 1, 0) / 2)


@dataclass(frozen=True)
class LabelsetsModel(NotStored):
    """Scores by several small label powersets.

    Parameters
    ----------
    powersets : tuple of Powerset
    answer : "set" or "probabilities"
    elsewhere : (n_labels,) ndarray
        Scores of the labels that are in none of them.
    """

    powersets: tuple[Powerset, ...]
    answer: str
    elsewhere: FloatArray

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        X = self.rows(X)
        total, times = np.zeros((X.shape[0], self.elsewhere.size)), np.zeros(self.elsewhere.size)
        for powerset in self.powersets:
            total[:, powerset.labels] += powerset.answers(X, self.answer)
            times[powerset.labels] += 1
        return np.where(times > 0, total / np.maximum(times, 1) - 0.5, self.elsewhere)


@dataclass(frozen=True)
class LabelPowerset:
    """Label powerset: one estimator whose classes are the label sets of the training rows.

    Use it where few distinct label sets occur, and whole sets must be right (subset_accuracy).

    Parameters
    ----------
    estimator : str
        Import path of an estimator of several classes, with settings as ``estimator__C``; logistic regression has
        ``estimator__max_iter`` 1000 unless that is given.
    answer : {"set", "probabilities"}
        The likeliest set, or the probability of each label.
    seed : int
        Of an estimator that draws.

    References
    ----------
    Tsoumakas, Katakis and Vlahavas, "Random k-labelsets for multilabel classification", IEEE TKDE 23 (2011).
    """

    estimator: str = LOGISTIC
    answer: str = "set"
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    TAKES_ESTIMATORS: ClassVar[bool] = True
    LOADS: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def __post_init__(self) -> None:
        check_choices(self, {"answer": ANSWERS})
        check_estimator(self)

    def fit(self, train: TrainingSet, prepared: None = None) -> PowersetModel:
        """Fit one estimator to the label sets."""
        X, dense, dense_notes = rows_for(self, train.X)
        with recorded_warnings() as caught:
            powerset = _powerset(self, X, train.dense_Y, np.arange(train.n_labels))
        converged, notes = warned(caught)
        info = FitInfo(iterations((powerset.machine,)), np.nan, np.nan, converged, dense_notes + notes)
        return PowersetModel(info, dense, powerset, self.answer)


@dataclass(frozen=True)
class RAkEL:
    """RAkEL: label powersets of random small sets of labels, whose answers are averaged.

    Use it in place of a label powerset where there are many distinct label sets.

    Parameters
    ----------
    estimator : str
        Import path of an estimator of several classes, with settings as ``estimator__C``; logistic regression has
        ``estimator__max_iter`` 1000 unless that is given.
    labelset_size : int
        k of the paper, which takes 3.
    labelsets : {"overlapping", "disjoint"}
        RAkELo or RAkELd.
    n_labelsets : int or None
        Of the overlapping ones; None for twice the number of labels, as in the paper, or all there are.
    answer : {"set", "probabilities"}
        What is averaged: whether a label is in the likeliest set, as in the paper, or its probability.
    seed : int
        Of the labelsets, and of an estimator that draws.

    References
    ----------
    Tsoumakas, Katakis and Vlahavas, "Random k-labelsets for multilabel classification", IEEE TKDE 23 (2011).
    """

    estimator: str = LOGISTIC
    labelset_size: int = 3
    labelsets: str = "overlapping"
    n_labelsets: int | None = None
    answer: str = "set"
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    BY_PLACE: ClassVar[bool] = True
    TAKES_ESTIMATORS: ClassVar[bool] = True
    LOADS: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def __post_init__(self) -> None:
        check_count(self, "labelset_size", *(() if self.n_labelsets is None else ("n_labelsets",)))
        check_choices(self, {"labelsets": ("overlapping", "disjoint"), "answer": ANSWERS})
        check_estimator(self)

    def fit(self, train: TrainingSet, prepared: None = None) -> LabelsetsModel:
        """Fit an estimator to each labelset."""
        varied = np.flatnonzero(train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0))
        X, dense, dense_notes = rows_for(self, train.X)
        drawn = [varied[places] for places in self.drawn(varied.size)]
        with recorded_warnings() as caught:
            powersets = tuple(_powerset(self, X, train.dense_Y, labels) for labels in drawn)
        converged, notes = warned(caught)
        notes = dense_notes + notes
        missed = np.setdiff1d(varied, np.concatenate([*drawn, np.empty(0, np.int64)]))
        if missed.size:
            notes += (f"{missed.size} of {train.n_labels} labels are in no labelset: their scores are constant",)
        info = FitInfo(iterations([one.machine for one in powersets]), np.nan, np.nan, converged, notes)
        return LabelsetsModel(info, dense, powersets, self.answer, train.dense_Y.mean(axis=0) - 0.5)

    def drawn(self, n_labels: int) -> list[IntArray]:
        """Return the labelsets of so many labels, each in rising order; where there are fewer, one set of all."""
        rng = np.random.default_rng(self.seed)
        size = min(int(self.labelset_size), n_labels)
        if size == 0:
            return []
        if self.labelsets == "disjoint":
            order = rng.permutation(n_labels)
            return [np.sort(order[start : start + size]) for start in range(0, n_labels, size)]
        most = comb(n_labels, size)
        count = min(most, 2 * n_labels if self.n_labelsets is None else int(self.n_labelsets))
        if most <= 4 * count:  # drawing until enough are distinct would take long
            all_sets = list(combinations(range(n_labels), size))
            return [np.array(all_sets[i]) for i in sorted(rng.choice(most, count, replace=False))]
        found: dict[tuple[int, ...], None] = {}
        while len(found) < count:
            found[tuple(sorted(rng.choice(n_labels, size, replace=False).tolist()))] = None
        return [np.array(labels) for labels in found]
