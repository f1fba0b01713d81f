"""Sparse Bayesian multi-label learning by compressed sensing, with active selection of rows.

Model (Kapoor, Viswanathan & Jain, "Multilabel classification using Bayesian compressed sensing", NIPS 2012; Vasisht,
Damianou, Varma & Kapoor, "Active learning for sparse Bayesian multilabel classification", KDD 2014), with labels y of 0
and 1, a random Phi of n_components rows and entries N(0, 1 / n_components), and columns w of W::

    w ~ N(0, I),   z | x ~ N(W'x, s2 I),   z | y ~ N(Phi y, c2 I),   y_j ~ N(0, 1 / a_j),   a_j ~ Gamma(1e-6, 1e-6)

Where all labels are known the mean-field fixed point is a closed form, ridge regression of Phi y on x with the penalty
s2 + c2 and without bias; a kernel has kernel ridge regression. A row to be scored gets compressed labels m with their
variance, and from these the means of its labels (`relevance`), which are its scores.

Rows of which some labels are missing: these labels are predicted like those of new rows, the known ones held, and the
regression is repeated until both agree. Rows without a known label say nothing and are left out.

Protocols: "passive" trains on all rows; it is what other methods may be compared with. "active_in_train" begins with a
tenth of the rows, at least ten, drawn at random, asks for the others one by one, and trains on the part `budget` of
all; with a budget of 1 it is "passive". `active_extra` asks for labels of unlabeled rows on top: it knows more than
other methods do, so those rows must leave every comparison, and what it gives is never a headline. The rules by which
rows are selected are in `query_order`.

`objective` is |Z - XW|^2 + (s2 + c2) |W|^2 at W, Z = Y Phi'. `optimality` is the certificate of the regression, at most
1e-6 where it has converged (see `mlrank.solvers.ridge`); with missing labels it is |T(Y) - Y| / |T(Y)| if that is
larger, where T takes expected labels to those predicted by the regression on them. One iteration is one regression.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, take_rows
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_components,
    check_kernel,
    check_positive,
    n_components_of,
    unknown_label_notes,
)
from mlrank.solvers.models import all_rows
from mlrank.solvers.ridge import TOL, RidgeSpace, better_of
from mlrank.solvers.scales import scale_notes
from mlrank.solvers.sparse_bayes.model import CompressedModel, compressed_model, relevance, rows_space
from mlrank.solvers.sparse_bayes.queries import RULES, query_order

__all__ = [
    "CompressedModel",
    "SparseBayesianCS",
]

CHOICES = {
    "selection": RULES,
    "protocol": ("passive", "active_in_train"),
    "variance": ("joint", "constant"),
    "bias": ("none", "augmented"),
}
# Rows known from the beginning: this part of all, and at least so many.
FIRST_PART = 0.1
FIRST_ROWS = 10
TENTHS = tuple(i / 10 for i in range(1, 11))


@dataclass(frozen=True)
class SparseBayesianCS:
    """Sparse Bayesian labels from compressed ones.

    Use it for sparse label sets of which entries are missing, or to ask for the labels of few rows.

    Parameters
    ----------
    n_components : int or float
        Compressed labels; a number below 1 is a part of the labels, rounded half up, at least 1.
    s2, c2 : float
        Variances of compressed labels given features, and given labels.
    selection : {"gp_mi", "full_mi", "variance", "random"}
        Which row is asked for next, of an active protocol.
    protocol : {"passive", "active_in_train"}
        Train on all rows, or on those chosen.
    budget : float
        Part of the rows that "active_in_train" knows in the end, above 0, at most 1.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial.
    bias : {"none", "augmented"}
        Rows as they are, as published, or with a column of ones (a kernel then has one added).
    variance : {"joint", "constant"}
        That of compressed labels: of the row, or s2 + c2 for all, with c2 alone where variances of labels are computed.
    tol, max_iter : float, int
        Of the iterations for the labels of a row, and of those for missing labels.
    seed : int
        Of Phi and of what is drawn in selection.

    References
    ----------
    Kapoor, Viswanathan and Jain, "Multilabel classification using Bayesian compressed sensing", NIPS 2012. Vasisht,
    Damianou, Varma and Kapoor, "Active learning for sparse Bayesian multilabel classification", KDD 2014.
    """

    n_components: int | float = 0.5
    s2: float = 1e-3
    c2: float = 1e-3
    selection: str = "gp_mi"
    protocol: str = "passive"
    budget: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    bias: str = "none"
    variance: str = "joint"
    tol: float = 1e-6
    max_iter: int = 100
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "bias", "protocol")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "backward error"
    LOADS: ClassVar[tuple[str, ...]] = ()
    BY_PLACE: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_components(self)
        check_positive(self, "s2", "c2", "budget", "tol", "max_iter")
        check_kernel(self)
        check_choices(self, CHOICES)
        if self.budget > 1:
            raise ValueError(f"budget is a part of the rows, at most 1, found {self.budget!r}")
        if self.budget < 1 and self.protocol == "passive":
            raise ValueError(f"budget goes with protocol 'active_in_train', found {self.budget!r} with 'passive'")

    @property
    def sigma(self) -> float:
        """Variance of compressed labels, s2 + c2."""
        return self.s2 + self.c2

    def prepare(self, train: TrainingSet) -> RidgeSpace | None:
        """Decompose the rows, which n_components, s2 and c2 share; those of an active protocol depend on the choice."""
        rows = _known_rows(train)
        return rows_space(take_rows(train.X, rows), self) if self.protocol == "passive" else None

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit and of scoring grow with the shape of the training set."""
        K = n_components_of(self.n_components, n_labels)
        size = n_samples if self.kernel != "linear" else min(n_samples, n_features)
        fit = float(n_samples) * n_features * (size + K) + 10.0 * float(size) ** 3
        return fit + 20.0 * n_samples * K**2 * (n_labels + K), 8.0 * (4.0 * size**2 + n_labels * K**2)

    def fit(self, train: TrainingSet, prepared: RidgeSpace | None = None) -> CompressedModel:
        """Fit the compressed labels of the rows that the protocol knows.

        Raises
        ------
        ValueError
            If no label of any row is known.
        """
        rows = _known_rows(train)
        if self.protocol == "passive":
            return self._fit_rows(train, rows, prepared)
        first, order = self._order(train, rows, self.budget)
        return self._fit_rows(train, np.sort(np.concatenate([first, order])))

    def curve(self, train: TrainingSet, budgets: Sequence[float] = TENTHS) -> list[tuple[int, CompressedModel]]:
        """Return how many rows are known and the model of them, for each budget of "active_in_train".

        The last, for a budget of 1, is the model of "passive". Rows are chosen once for all budgets.
        """
        rows = _known_rows(train)
        first, order = self._order(train, rows, max(budgets))
        counts = [_count(budget, len(rows)) - len(first) for budget in budgets]
        known = [np.sort(np.concatenate([first, order[:count]])) for count in counts]
        return [(len(part), self._fit_rows(train, part)) for part in known]

    def active_extra(
        self, train: TrainingSet, n_queries: int, ask: Callable[[IntArray], BoolArray]
    ) -> tuple[CompressedModel, IntArray]:
        """Ask for the labels of unlabeled rows as well; return the model and the rows asked for, in order.

        Parameters
        ----------
        train : TrainingSet
        n_queries : int
        ask : rows -> (n_rows, n_labels) bool
            The labels of rows of ``train.X_unlabeled``, given by their numbers. Each is asked for once.

        Raises
        ------
        ValueError
            If there are fewer unlabeled rows than `n_queries`.
        """
        rows = _known_rows(train)
        there = 0 if train.X_unlabeled is None else train.X_unlabeled.shape[0]
        if not 1 <= n_queries <= there:
            raise ValueError(f"n_queries must be 1 or more and at most the {there} unlabeled rows, found {n_queries}")
        n_known = len(rows)
        X = all_rows(TrainingSet(take_rows(train.X, rows), train.dense_Y[rows], train.X_unlabeled))
        Y = np.vstack([train.dense_Y[rows], np.zeros((there, train.n_labels), dtype=bool)])
        known = np.ones_like(Y)
        if train.known is not None:
            known[:n_known] = train.known[rows]
        asked = np.arange(X.shape[0]) < n_known

        def fit(numbers: IntArray) -> CompressedModel:
            new = numbers[~asked[numbers]]
            if new.size:
                Y[new] = ask(new - n_known)
                asked[new] = True
            return self._fit_rows(TrainingSet(X, Y, known=known), numbers)

        order = query_order(fit, X, np.arange(n_known), n_queries, self.selection, self.seed)
        model = fit(np.concatenate([np.arange(n_known), np.sort(order)]))
        note = f"labels of {n_queries} unlabeled rows were asked for: leave these out of every comparison"
        return replace(model, info=replace(model.info, notes=(*model.info.notes, note))), order - n_known

    def _order(self, train: TrainingSet, rows: IntArray, budget: float) -> tuple[IntArray, IntArray]:
        """Return the rows known from the beginning, and those asked for, in order."""
        first = np.sort(np.random.default_rng(self.seed).permutation(len(rows))[: _count(0.0, len(rows))])
        count = _count(budget, len(rows)) - len(first)

        def fit(numbers: IntArray) -> CompressedModel:
            return self._fit_rows(train, rows[numbers])

        order = query_order(fit, take_rows(train.X, rows), first, count, self.selection, self.seed)
        return rows[first], rows[order]

    def _fit_rows(self, train: TrainingSet, rows: IntArray, prepared: RidgeSpace | None = None) -> CompressedModel:
        X = take_rows(train.X, rows)
        space = rows_space(X, self) if prepared is None else prepared
        return better_of(lambda one: self._fit_space(train, rows, X, one), space, lambda one: one.graded)

    def _fit_space(self, train: TrainingSet, rows: IntArray, X: Features, space: RidgeSpace) -> CompressedModel:
        Y = train.dense_Y[rows].astype(np.float64)
        K = n_components_of(self.n_components, train.n_labels)
        Phi = np.random.default_rng(self.seed).standard_normal((K, train.n_labels)) / np.sqrt(K)
        residual, n_iter = 0.0, 1
        if train.known is not None and not train.known[rows].all():
            Y, residual, n_iter = self._complete(Y, train.known[rows], space, Phi)
        Z = Y @ Phi.T
        ridge = space.certified(space.coef(space.parts(Z), self.sigma), Z, self.sigma)
        notes = unknown_label_notes(train, "they are left out", "their scores come of other labels alone")
        notes += scale_notes(train, ridge.error <= TOL)
        converged = residual <= self.tol and ridge.error <= TOL
        info = FitInfo(n_iter, ridge.objective, max(residual, ridge.error), converged, notes)
        return compressed_model(X, space, ridge.coef, Phi, self, info)

    def _complete(
        self, Y: FloatArray, known: BoolArray, space: RidgeSpace, Phi: FloatArray
    ) -> tuple[FloatArray, float, int]:
        """Return expected labels that agree with their prediction, how far they are from it, and the iterations."""
        some = np.flatnonzero(~known.all(axis=1))
        given, free = np.where(known, Y, 0.0), (~known[some]).astype(np.float64)
        left = space.left() * space.shrunk(self.sigma)
        sigma, expected, residual = np.full(len(some), self.sigma), given, np.inf
        for n_iter in range(1, self.max_iter + 1):
            latent = (left @ space.parts(expected @ Phi.T))[some] - given[some] @ Phi.T
            better = given.copy()
            better[some] += relevance(latent, sigma, Phi, self.tol, self.max_iter, free).mean
            length = float(np.linalg.norm(better))
            residual = float(np.linalg.norm(better - expected)) / length if length > 0 else 0.0
            if residual <= self.tol or n_iter == self.max_iter:
                break
            expected = better
        return expected, residual, n_iter


def _known_rows(train: TrainingSet) -> IntArray:
    rows = np.arange(train.n_samples) if train.known is None else np.flatnonzero(train.known.any(axis=1))
    if rows.size == 0:
        raise ValueError("no label of any row is known, so there is nothing to learn from")
    return rows


def _count(budget: float, n_rows: int) -> int:
    """Return how many of the rows are known with a budget: those of the beginning at least."""
    least = max(FIRST_ROWS, int(np.ceil(FIRST_PART * n_rows)))
    return min(n_rows, max(least, int(np.floor(budget * n_rows + 0.5))))
