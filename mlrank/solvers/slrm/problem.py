"""What SLRM shares over all lam and gamma on one training set."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse, triu

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.graphs import laplacian, laplacian_product
from mlrank.linalg import CenteredRows, largest_singular_value
from mlrank.solvers.base import TrainingSet
from mlrank.solvers.ridge import GRADED_ENTRIES, GRADED_SIDE
from mlrank.solvers.slrm.admm import Loss, Squared
from mlrank.solvers.slrm.squared import PartedCross
from mlrank.solvers.slrm.systems import EPS, Coordinates, EigenSystem, ProductSystem

__all__ = [
    "LARGE",
    "SlrmProblem",
    "coded",
    "dense_if_full",
    "row_space",
]

# Of all features of all rows.
FULL = 1 / 4


def coded(train: TrainingSet, coding: str) -> FloatArray:
    """Return labels as +1 and -1 ("signs") or 1 and 0 ("zero_one"), 0 where they are missing."""
    labels = np.where(train.dense_Y, 1.0, -1.0 if coding == "signs" else 0.0)
    return labels if train.known is None else np.where(train.known, labels, 0.0)


def dense_if_full(X: Features) -> Features:
    """Return sparse rows as dense ones where so many features are not zero that products are faster."""
    return X.toarray() if issparse(X) and X.nnz > FULL * X.shape[0] * X.shape[1] else X


# Up to this many features, or rows, G is decomposed.
LARGE = 3000
# What the decompositions that are kept may take.
KEPT_BYTES = 1 << 29
# Labels are turned into their row space where its dimension is below this part of their number.
WORTHWHILE = 0.9


class SlrmProblem:
    """The graph, the quadratic forms and the coded labels; each is computed when it is first needed.

    Parameters
    ----------
    labeled : CenteredRows
    X : Features
        All rows, the labeled ones first.
    make_graph : callable
        X -> adjacency matrix; not called unless gamma is above 0.
    loss : Loss
        Of the outputs of the labeled rows.
    level : (n_labels,) ndarray
        What was taken off the coded labels.
    basis : (n_labels, r) ndarray or None
        Of the labels' row space, if the targets of `loss` are turned into it.
    by_products : bool or None
        Whether G is known by its products alone; None goes by size.
    """

    def __init__(
        self,
        labeled: CenteredRows,
        X: Features,
        make_graph: Callable[[Features], csr_array],
        loss: Loss,
        level: FloatArray,
        basis: FloatArray | None,
        by_products: bool | None,
    ) -> None:
        self.labeled, self.X, self.make_graph = labeled, X, make_graph
        self.loss, self.level, self.basis = loss, level, basis
        self.by_products = min(X.shape) > LARGE if by_products is None else by_products
        self.systems: dict[float, EigenSystem] = {}
        self.graded: dict[float, EigenSystem] = {}

    @cached_property
    def graph(self) -> csr_array:
        """The adjacency matrix over all rows."""
        return self.make_graph(self.X)

    @cached_property
    def everything(self) -> CenteredRows:
        """All rows, with the center of the labeled ones."""
        return CenteredRows(self.X, self.labeled.mean)

    @cached_property
    def coordinates(self) -> Coordinates:
        """The coordinates in which G is formed."""
        return Coordinates(self.labeled, self.everything)

    @cached_property
    def smoothness(self) -> FloatArray:
        """X'LX in coordinates; the center of the rows makes no difference."""
        rows = self.coordinates.rows
        return laplacian_product(self.graph, self.X if rows is None else rows)

    @cached_property
    def cross(self) -> FloatArray:
        """Xl'Y in coordinates, or of the features where G is not decomposed."""
        if self.by_products:
            return self.labeled.transpose_times(self.loss.targets)
        return self.coordinates.back(self.loss.targets)

    @cached_property
    def lambda_max(self) -> float:
        """The least lam at which all weights are zero: the largest singular value of the loss's gradient there."""
        if self.exact:
            return float(np.sqrt(max(self._cross_spectrum[0][-1], 0.0)))
        gradient = self.loss.gradient(np.zeros_like(self.loss.targets))
        return largest_singular_value(self.labeled.transpose_times(gradient))

    @cached_property
    def _cross_spectrum(self) -> tuple[FloatArray, FloatArray]:
        """The squared singular values of Xl'Y, increasing, and its right singular vectors."""
        gram = self.cross.T @ self.cross
        squares, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
        return squares, vectors

    @cached_property
    def parted(self) -> PartedCross:
        """Xl'Y with labels in its right singular vectors."""
        vectors = self._cross_spectrum[1]
        return PartedCross(self.cross @ vectors, vectors if self.basis is None else self.basis @ vectors)

    @property
    def exact(self) -> bool:
        """Whether the loss is squared, over all entries: its quadratic part is G itself."""
        return isinstance(self.loss, Squared) and self.loss.known is None

    @property
    def labels(self) -> FloatArray | None:
        """An orthonormal basis (n_labels, r) that labels are in; None where they are in none."""
        return self.parted.basis if self.exact and not self.by_products else self.basis

    @property
    def turned_loss(self) -> Loss:
        """The loss of outputs of labels in their basis; it is another than `loss` where that is exact."""
        if self.labels is self.basis:
            return self.loss
        return Squared(self.loss.targets @ self._cross_spectrum[1])

    def turned(self, W: FloatArray) -> FloatArray:
        """Return weights (n_features, n_labels) in the basis of labels."""
        return W if self.labels is None else W @ self.labels

    def label_factor(self, right: FloatArray | None) -> FloatArray:
        """Return the factor (n_labels, r) of weights whose other one goes with `right`, None for the basis itself."""
        if right is None:
            return np.eye(self.loss.targets.shape[1]) if self.labels is None else self.labels
        return right if self.labels is None else self.labels @ right

    def system(self, gamma: float) -> EigenSystem | ProductSystem:
        """Return the quadratic forms of one gamma, decomposed once."""
        if self.by_products:
            L = laplacian(self.graph) if gamma > 0 else None
            return ProductSystem(self.labeled, self.everything, L, gamma, self.loss.curvature)
        if gamma not in self.systems:
            G = self.loss.curvature * self.coordinates.gram
            if gamma > 0:
                G += gamma * self.smoothness
            cross = self.parted.cross if self.exact else self.cross
            found = EigenSystem.of(self.coordinates, G, self.loss.curvature, cross)
            while self.systems and (1 + len(self.systems)) * found.n_bytes(self.X.shape[1]) > KEPT_BYTES:
                del self.systems[next(iter(self.systems))]
            self.systems[gamma] = found
        return self.systems[gamma]

    def graded_system(self, gamma: float, weights: FloatArray) -> EigenSystem | None:
        """Return the quadratic forms, with these weights of labeled rows, decomposed more slowly by their factor.

        None where it would take too long.
        """
        edges = triu(self.graph, k=1).tocoo() if gamma > 0 else None
        n_rows = self.labeled.shape[0] + (0 if edges is None else edges.nnz)
        d = self.X.shape[1]
        if self.by_products or min(n_rows, d) > GRADED_SIDE or n_rows * d > GRADED_ENTRIES:
            return None
        if gamma not in self.graded:
            differences = np.zeros((0, d))
            if edges is not None:
                X = as_dense(self.X)
                differences = np.sqrt(gamma * edges.data)[:, None] * (X[edges.row] - X[edges.col])
            coordinates = Coordinates(self.labeled, self.everything, features=True)
            targets = self.turned_loss.targets
            self.graded = {gamma: EigenSystem.graded(coordinates, differences, weights, targets)}
        return self.graded[gamma]

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Lengths of the labeled rows, (n_samples,)."""
        rows = self.labeled.rows
        squares = rows.multiply(rows).sum(axis=1) if issparse(rows) else (rows**2).sum(axis=1)
        return np.asarray(np.sqrt(np.asarray(squares).ravel()))

    def smoothed(self, gamma: float, V: FloatArray) -> tuple[FloatArray, float]:
        """Return S = gamma X'LX V of weights of the features, by products with the rows, and trace(V'S)."""
        if gamma == 0:
            return np.zeros_like(V), 0.0
        F = self.everything.times(V)
        pushed = gamma * (laplacian(self.graph) @ F)
        return self.everything.transpose_times(pushed), float(np.vdot(F, pushed))


def row_space(Y: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (n_labels, r) of the rows of `Y`, or None where it has about as many columns as Y.

    With the squared loss, what lies outside adds to the nuclear norm and fits nothing. With few rows many labels are
    alike: most of them absent throughout.
    """
    squares, vectors = eigh(Y.T @ Y, driver="evd", overwrite_a=True, check_finite=False)
    keep = squares > max(Y.shape) * EPS * squares[-1]
    rank = max(int(keep.sum()), 1)
    return vectors[:, -rank:] if rank < WORTHWHILE * Y.shape[1] else None
