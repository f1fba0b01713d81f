"""What is learned in the projected space: a linear classifier for each label, or the labels of the nearest rows."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import solve

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.labels import LabelMatrix, label_counts
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet
from mlrank.solvers.binary_svm import BinarySVM

__all__ = [
    "HEADS",
    "LinearHead",
    "NeighborModel",
    "ridge_head",
    "svm_head",
]

HEADS = ("svm", "ridge", "knn")
# Rows whose distances to all training rows are held at a time.
BLOCK_ROWS = 1000


class LinearHead(NamedTuple):
    """Scores ``Z @ coef.T + intercept`` of projected rows Z, and whether its own certificate was reached."""

    coef: FloatArray
    intercept: FloatArray
    converged: bool


def svm_head(Z: FloatArray, Y: LabelMatrix, C: float, loss: str, tol: float) -> LinearHead:
    """Fit a linear support vector machine for each label."""
    # Without any direction a machine is still its bias: one zero column.
    padded = Z if Z.shape[1] else np.zeros((len(Z), 1))
    model = BinarySVM(C=C, loss=loss, tol=tol).fit(TrainingSet(padded, Y))
    arrays = model.arrays()
    return LinearHead(arrays["coef"][:, : Z.shape[1]], arrays["intercept"], model.info.converged)


def ridge_head(Z: FloatArray, Y: LabelMatrix, lam: float) -> LinearHead:
    """Minimize ``|ZB' + 1b' - Y|^2 + lam |B|^2`` with a free b and Y of 0 and 1."""
    center, level = Z.mean(axis=0), label_counts(Y) / len(Z)
    Zc = Z - center
    # Centered rows sum to zero, so that nothing would be left of centered labels' means.
    coef = solve(Zc.T @ Zc + lam * np.eye(Z.shape[1]), (Y.T @ Zc).T, assume_a="pos").T
    return LinearHead(coef, level - coef @ center, True)


@dataclass(frozen=True)
class NeighborModel:
    """Scores = the part of the nearest training rows, in the projected space, that carry a label.

    Parameters
    ----------
    projection : with ``.transform(X)``
    Z_train : (n_train, r) projected training rows
    Y_train : (n_train, n_labels) bool
    n_neighbors : int
    info : FitInfo
    """

    projection: Any
    Z_train: FloatArray
    Y_train: BoolArray
    n_neighbors: int
    info: FitInfo
    PROBABILITIES: ClassVar[bool] = True

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels); of equally near rows the earlier count."""
        Z, carried = self.projection.transform(X), self.Y_train.astype(np.float64)
        scores = np.empty((len(Z), carried.shape[1]))
        own = np.einsum("ij,ij->i", self.Z_train, self.Z_train)
        for start in range(0, len(Z), BLOCK_ROWS):
            near = own - 2.0 * (Z[start : start + BLOCK_ROWS] @ self.Z_train.T)
            nearest = np.argsort(near, axis=1, kind="stable")[:, : self.n_neighbors]
            scores[start : start + BLOCK_ROWS] = carried[nearest].mean(axis=1)
        return scores

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the model."""
        return {"Z_train": self.Z_train, "Y_train": self.Y_train}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its settings; `projection` is stored as a part of its own."""
        return {"model": "projected_neighbors", "n_neighbors": self.n_neighbors}
