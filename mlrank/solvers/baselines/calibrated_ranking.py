"""Calibrated label ranking: a binary estimator for each pair of labels, and for each label beside a virtual one.

Fuernkranz, Huellermeier, Loza Mencia and Brinker, "Multilabel classification via calibrated label ranking", Machine
Learning 73 (2008). The estimator of labels i and j is fitted to the rows that carry exactly one of them, and says which
of the two goes before the other. A virtual label stands between the relevant labels of a row and the others: the
estimator of label i and the virtual label is fitted to all rows, and says whether they carry i. Each label gets a vote
of every pair that it is in. A label is relevant if it has more votes than the virtual label.

Scores are a label's votes less those of the virtual label, divided by the number of labels, so that the threshold
"zero" is the paper's rule. Votes are the estimators' probabilities or, as in the paper, what they predict. Where no row
carries exactly one of two labels, each gets half a vote; where all such rows carry the same one, that label gets the
vote. An estimator without ``predict_proba`` is sure of what it predicts. There is neither an objective nor a
certificate.

A fit costs n_labels (n_labels + 1) / 2 estimators. A row enters those of its relevant labels, each with an irrelevant
one: on average as many times as there are labels, times the mean number of labels.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, take_rows
from mlrank.solvers.base import FitInfo, TrainingSet, check_choices
from mlrank.solvers.baselines.machines import (
    LOGISTIC,
    NotStored,
    check_estimator,
    estimator_of,
    predictions,
    probabilities,
    rows_for,
)
from mlrank.solvers.construct import recorded_warnings, warned
from mlrank.solvers.estimators import iterations

__all__ = ["CalibratedRanking"]


@dataclass(frozen=True)
class CalibratedModel(NotStored):
    """Scores by the votes of pairs.

    Parameters
    ----------
    alone : tuple of (fitted estimator or number)
        Of each label beside the virtual one; a number is the probability in all rows.
    pairs : tuple of (fitted estimator or number)
        Of labels (0, 1), (0, 2), ..., (1, 2), ...: the probability of the first before the second.
    voting : "soft" or "hard"
    """

    alone: tuple[Any, ...]
    pairs: tuple[Any, ...]
    voting: str

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        n_labels, X = len(self.alone), self.rows(X)
        votes = np.column_stack([self._vote(one, X) for one in self.alone])
        virtual = n_labels - votes.sum(axis=1, keepdims=True)
        for (i, j), machine in zip(combinations(range(n_labels), 2), self.pairs, strict=True):
            vote = self._vote(machine, X)
            votes[:, i] += vote
            votes[:, j] += 1 - vote
        scores: FloatArray = (votes - virtual) / n_labels
        return scores

    def _vote(self, machine: Any, X: Features) -> FloatArray:
        if isinstance(machine, float):
            return np.full(X.shape[0], machine)
        if self.voting == "hard":
            return predictions(machine, X).astype(np.float64)
        return probabilities(machine, X, 2)[:, 1]


@dataclass(frozen=True)
class CalibratedRanking:
    """Calibrated label ranking over any binary estimator.

    Use it for few labels whose order matters, over a binary estimator that you trust: it fits one for each pair.

    Parameters
    ----------
    estimator : str
        Import path of a binary estimator, with settings as ``estimator__C``; logistic regression has
        ``estimator__max_iter`` 1000 unless that is given.
    voting : {"soft", "hard"}
        Probabilities, or as in the paper predictions, as votes.
    seed : int
        Of an estimator that draws.

    References
    ----------
    Fürnkranz, Hüllermeier, Loza Mencía and Brinker, "Multilabel classification via calibrated label ranking", Machine
    Learning 73 (2008).
    """

    estimator: str = LOGISTIC
    voting: str = "soft"
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    TAKES_ESTIMATORS: ClassVar[bool] = True
    LOADS: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def __post_init__(self) -> None:
        check_choices(self, {"voting": ("soft", "hard")})
        check_estimator(self)

    def fit(self, train: TrainingSet, prepared: None = None) -> CalibratedModel:
        """Fit an estimator to each label and to each pair of labels."""
        Y, (X, dense, dense_notes) = train.dense_Y, rows_for(self, train.X)
        with recorded_warnings() as caught:
            alone = tuple(self._machine(X, Y[:, label]) for label in range(train.n_labels))
            pairs = tuple(self._pair(X, Y[:, i], Y[:, j]) for i, j in combinations(range(train.n_labels), 2))
        fitted = [one for one in (*alone, *pairs) if not isinstance(one, float)]
        converged, notes = warned(caught)
        info = FitInfo(iterations(fitted), np.nan, np.nan, converged, dense_notes + notes)
        return CalibratedModel(info, dense, alone, pairs, self.voting)

    def _pair(self, X: Features, first: BoolArray, second: BoolArray) -> Any:
        rows = np.flatnonzero(first != second)
        return self._machine(take_rows(X, rows), first[rows]) if rows.size else 0.5

    def _machine(self, X: Features, carries: BoolArray) -> Any:
        if carries.all() or not carries.any():
            return float(carries[0])
        return estimator_of(self, self.seed).fit(X, carries.astype(np.int64))
