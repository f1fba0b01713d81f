"""Ensembles of classifier chains: one binary estimator for each label, which also sees the labels before it.

Read, Pfahringer, Holmes and Frank, "Classifier chains for multi-label classification", Machine Learning 85 (2011). A
chain goes through the labels in some order. The estimator of a label has as features those of the row and the labels
before it: the true ones in training, the predicted ones in scoring. An ensemble (ECC) has chains in random orders, each
fitted to a random part of the rows, and averages what they say of a label, either whether they predict it, as in the
paper, or how probable they take it to be. Scores are these means less 1/2, so that the threshold "zero" is a vote of a
half. One chain in the order of the data is the paper's CC.

The chains are scikit-learn's ``ClassifierChain``. A label that all or none of a chain's rows carry is not in the chain:
what the rows say is its vote. An estimator without ``predict_proba`` is sure of what it predicts. There is neither an
objective nor a certificate.

A fit costs n_chains times that of one estimator for each label, with n_labels / 2 more features on average.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, take_rows
from mlrank.solvers.base import FitInfo, TrainingSet, check_choices, check_count, check_positive
from mlrank.solvers.baselines.machines import LOGISTIC, NotStored, check_estimator, estimator_of, rows_for
from mlrank.solvers.construct import recorded_warnings, warned
from mlrank.solvers.estimators import iterations

__all__ = ["ClassifierChains"]

ORDERS = ("random", "given")
VOTING = ("soft", "hard")


@dataclass(frozen=True)
class Chain:
    """A fitted chain.

    Parameters
    ----------
    labels : (n,) ndarray of int
        Those that it has, in rising order.
    chain : fitted ``ClassifierChain`` of these labels, or None where there are none
    elsewhere : (n_labels,) ndarray
        The votes on the other labels.
    """

    labels: IntArray
    chain: Any
    elsewhere: FloatArray

    def votes(self, X: Features, voting: str) -> FloatArray:
        """Return (n_samples, n_labels): predicted labels, or probabilities."""
        found = np.tile(self.elsewhere, (X.shape[0], 1))
        if self.chain is not None:
            soft = voting == "soft" and all(hasattr(one, "predict_proba") for one in self.chain.estimators_)
            found[:, self.labels] = as_dense((self.chain.predict_proba if soft else self.chain.predict)(X))
        return found


@dataclass(frozen=True)
class ChainsModel(NotStored):
    """Scores by the votes of chains.

    Parameters
    ----------
    chains : tuple of Chain
    voting : "soft" or "hard"
    """

    chains: tuple[Chain, ...]
    voting: str

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        X = self.rows(X)
        total = sum(chain.votes(X, self.voting) for chain in self.chains)
        found: FloatArray = np.asarray(total) / len(self.chains) - 0.5
        return found


@dataclass(frozen=True)
class ClassifierChains:
    """An ensemble of classifier chains over any binary estimator.

    Use it where labels depend on each other, over a binary estimator that you trust.

    Parameters
    ----------
    estimator : str
        Import path of a binary estimator, with settings as ``estimator__C``; logistic regression has
        ``estimator__max_iter`` 1000 unless that is given.
    n_chains : int
        The paper takes 10; 1 is a single chain.
    order : {"random", "given"}
        Of the labels in each chain: random, or that of the data.
    part : float
        Of the rows, drawn for each chain without replacement; 1 takes all rows.
    voting : {"soft", "hard"}
        The mean of probabilities, or as in the paper of predictions.
    seed : int
        Of orders and parts, and of an estimator that draws.

    References
    ----------
    Read, Pfahringer, Holmes and Frank, "Classifier chains for multi-label classification", Machine Learning 85 (2011).
    """

    estimator: str = LOGISTIC
    n_chains: int = 10
    order: str = "random"
    part: float = 1.0
    voting: str = "soft"
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    BY_PLACE: ClassVar[bool] = True
    TAKES_ESTIMATORS: ClassVar[bool] = True
    LOADS: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def __post_init__(self) -> None:
        check_count(self, "n_chains")
        check_positive(self, "part")
        if self.part > 1:
            raise ValueError(f"part must be a part of the rows, at most 1, found {self.part!r}")
        check_choices(self, {"order": ORDERS, "voting": VOTING})
        check_estimator(self)

    def fit(self, train: TrainingSet, prepared: None = None) -> ChainsModel:
        """Fit the chains one after the other."""
        X, dense, dense_notes = rows_for(self, train.X)
        rng = np.random.default_rng(self.seed)
        with recorded_warnings() as caught:
            chains = tuple(self._chain(X, train.dense_Y, rng) for _ in range(int(self.n_chains)))
        links = [link for one in chains if one.chain is not None for link in one.chain.estimators_]
        converged, notes = warned(caught)
        info = FitInfo(iterations(links), np.nan, np.nan, converged, dense_notes + notes)
        return ChainsModel(info, dense, chains, self.voting)

    def _chain(self, X: Features, Y: BoolArray, rng: np.random.Generator) -> Chain:
        from sklearn.multioutput import ClassifierChain

        n_samples, n_labels = Y.shape
        order = rng.permutation(n_labels) if self.order == "random" else np.arange(n_labels)
        n_rows = max(1, round(self.part * n_samples))
        if n_rows < n_samples:
            rows = np.sort(rng.choice(n_samples, n_rows, replace=False))
            X, Y = take_rows(X, rows), Y[rows]
        varied = np.asarray(Y.any(axis=0) & ~Y.all(axis=0))
        labels = np.flatnonzero(varied)
        chain = None
        if labels.size:
            places = np.cumsum(varied) - 1
            chain = ClassifierChain(estimator_of(self, self.seed), order=places[order[varied[order]]].tolist())
            chain.fit(X, Y[:, labels].astype(np.int64))
        return Chain(labels, chain, Y[0].astype(np.float64))
