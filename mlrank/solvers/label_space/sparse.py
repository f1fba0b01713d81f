"""PLST of sparse labels: nothing here has an entry for each row and label, or for two labels where there are many.

With labels B of 0 and 1 and their means p, centered labels of +1 and -1 are Yc = 2 (B - 1p'), so that products with
Yc'Yc are those with B and B'. Where labels are few, Yc'Yc is made of B'B, whose entries are whole numbers; where there
are many, its largest eigenvectors are found by products (`mlrank.linalg.eigen`). The model's weights stay two factors.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import FloatArray, IntArray
from mlrank.labels import check_directions, label_counts
from mlrank.linalg import CenteredRows
from mlrank.linalg.eigen import leading
from mlrank.room import check_room
from mlrank.solvers.base import TrainingSet, n_components_of
from mlrank.solvers.label_space.space import LabelSpaceSettings, eigen_error, fit_info, truncated
from mlrank.solvers.models import LowRankModel
from mlrank.solvers.ridge import RidgeSpace, linear_space

__all__ = ["SparseLabelSpace", "project_sparse", "sparse_label_space"]


@dataclass(frozen=True)
class SparseLabelSpace:
    """Sparse labels and the centered rows of the regression, decomposed.

    Parameters
    ----------
    rows : RidgeSpace
    marks : (n_samples, n_mixed) csr_array of 0 and 1, of the labels that some rows carry and some do not
    mixed : (n_mixed,) ndarray, which labels these are
    shares : (n_labels,) ndarray, of the rows that carry each label
    """

    rows: RidgeSpace
    marks: csr_array
    mixed: IntArray
    shares: FloatArray

    @cached_property
    def columns(self) -> csr_array:
        """The marks by label, (n_mixed, n_samples)."""
        return csr_array(self.marks.T.tocsr())

    @property
    def graded(self) -> "SparseLabelSpace | None":
        """The same by the slower decomposition of the rows; None where it would take too long."""
        rows = self.rows.graded
        return None if rows is None else SparseLabelSpace(rows, self.marks, self.mixed, self.shares)

    def encoded(self, V: FloatArray) -> FloatArray:
        """Return Yc V, shape (n_samples, r)."""
        coded: FloatArray = 2.0 * (self.marks @ V - self.shares[self.mixed] @ V)
        return coded

    def scattered(self, V: FloatArray) -> FloatArray:
        """Return Yc'Yc V, shape (n_mixed, r)."""
        # Encoded rows sum to zero, so that nothing is left of the means.
        found: FloatArray = 2.0 * (self.columns @ self.encoded(V))
        return found

    def directions(self, requested: int) -> tuple[FloatArray, FloatArray]:
        """Return the largest eigenvalues of Yc'Yc, those that are not zero, and the vectors, largest first.

        Raises
        ------
        UserError
            If they need more memory than there is.
        """
        size, noise = len(self.mixed), len(self.shares) * np.finfo(np.float64).eps
        return leading(self.scattered, self._scatter, size, requested, noise)

    def _scatter(self) -> FloatArray:
        size, share = len(self.mixed), self.shares[self.mixed]
        check_directions(size)
        scatter = (self.columns @ self.marks).toarray() - np.outer(self.marks.shape[0] * share, share)
        found: FloatArray = 4.0 * scatter
        return found


def sparse_label_space(train: TrainingSet) -> SparseLabelSpace:
    """Decompose the rows of `train`, and keep its labels as they are.

    Raises
    ------
    UserError
        If the matrix of the smaller side of the rows needs more memory than there is.
    """
    side = min(train.X.shape)
    hint = "logistic, binary_svm and label_tree have no such matrix"
    check_room(
        32.0 * side**2, f"the decomposition of {train.n_samples} rows and {train.n_features} features", hint=hint
    )
    counts = label_counts(train.sparse_Y)
    mixed = np.flatnonzero((counts > 0) & (counts < train.n_samples))
    marks = csr_array(train.sparse_Y[:, mixed].astype(np.float64))
    return SparseLabelSpace(linear_space(CenteredRows(train.X)), marks, mixed, counts / train.n_samples)


def project_sparse(train: TrainingSet, settings: LabelSpaceSettings, space: SparseLabelSpace) -> LowRankModel:
    """Return the model of ridge regression onto the first eigenvectors of Yc'Yc."""
    lam, requested = space.rows.penalty(settings.lam), n_components_of(settings.n_components, train.n_labels)
    values, V = space.directions(min(requested, len(space.mixed))) if space.mixed.size else _nothing()
    targets = space.encoded(V)
    ridge = space.rows.certified(space.rows.coef(space.rows.parts(targets), lam), targets, lam)
    errors = [ridge.error, eigen_error(space.scattered(V), V, values)]
    notes = truncated(requested, len(values), "the centered labels")
    info = fit_info(train, space.rows, float(values.sum()), errors, notes)
    right = np.zeros((train.n_labels, len(values)))
    right[space.mixed] = V
    assert space.rows.rows is not None
    intercept = 2.0 * space.shares - 1.0 - right @ (ridge.coef @ space.rows.rows.mean)
    left = np.ascontiguousarray(ridge.coef.T)
    return LowRankModel(left, right, intercept, len(values), np.array([info.objective]), info)


def _nothing() -> tuple[FloatArray, FloatArray]:
    return np.zeros(0), np.zeros((0, 0))
