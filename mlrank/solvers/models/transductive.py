"""The model of solvers that score only the rows they were given: training rows and unlabeled ones.

Such a solver has a score for each row, not a function of the features. A row is found again by its values: by a digest
of its nonzero features, so dense and sparse rows of equal values are the same row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse, vstack

from mlrank.arrays import Features, FloatArray, IntArray, as_features
from mlrank.errors import UserError
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet

__all__ = [
    "TransductiveModel",
    "all_rows",
    "row_digests",
]

DIGEST_BYTES = 16


def all_rows(train: TrainingSet) -> Features:
    """Return the training rows and below them the unlabeled ones, the order in which a model's scores are kept."""
    if train.X_unlabeled is None:
        return train.X
    if issparse(train.X) or issparse(train.X_unlabeled):
        return as_features(vstack([train.X, train.X_unlabeled], format="csr"))
    return np.vstack([train.X, train.X_unlabeled])


def row_digests(X: Features) -> npt.NDArray[np.uint8]:
    """Return a digest of each row, shape (n_rows, 16)."""
    digests = [blake2b(row, digest_size=DIGEST_BYTES).digest() for row in _row_bytes(X)]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST_BYTES)


def _row_bytes(X: Features) -> Iterator[bytes]:
    if issparse(X):
        for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            values, columns = X.data[begin:end], X.indices[begin:end]
            stored = values != 0
            yield columns[stored].astype(np.int32).tobytes() + values[stored].tobytes()
    else:
        for row in X:
            columns = np.flatnonzero(row)
            yield columns.astype(np.int32).tobytes() + row[columns].tobytes()


@dataclass(frozen=True)
class TransductiveModel:
    """Scores of the rows given to a fit.

    Parameters
    ----------
    digests : (n_rows, 16) uint8 ndarray
        Of all rows given, the training rows first (see `row_digests`).
    n_train : int
        How many of them were training rows.
    scores : (n_rows, n_labels) ndarray
    info : FitInfo
    """

    digests: npt.NDArray[np.uint8]
    n_train: int
    scores: FloatArray
    info: FitInfo

    def of_rows(self, train: TrainingSet) -> "TransductiveModel":
        """Return the model that knows the rows of its fit by what they are in `train`.

        That is by what they were before a projection, which rounds a row in another way beside other rows.
        """
        return replace(self, digests=row_digests(all_rows(train)))

    def decision_function(self, X: Features) -> FloatArray:
        """Return the scores (n_samples, n_labels) of rows that the fit was given.

        All training rows, or all unlabeled rows, in their order, get their own scores. Otherwise rows are looked up one
        by one, and a row that was given more than once gets the score of its first unlabeled copy, if there is one.

        Raises
        ------
        UserError
            If a row was not given.
        """
        return self.scores[self._find(as_features(X))]

    def arrays(self) -> ModelArrays:
        """Return the digests of the rows and their scores."""
        return {"digests": self.digests, "scores": self.scores}

    def meta(self) -> ModelMeta:
        """Return the kind of model and how many rows were training rows."""
        return {"model": "transductive", "n_train": self.n_train}

    def _find(self, X: Features) -> IntArray:
        digests = row_digests(X)
        for begin, end in ((self.n_train, len(self.digests)), (0, self.n_train)):
            if np.array_equal(digests, self.digests[begin:end]):
                return np.arange(begin, end)
        found = np.array([self._number.get(digest.tobytes(), -1) for digest in digests], dtype=np.int64)
        if (found < 0).any():
            row = int(np.flatnonzero(found < 0)[0])
            raise UserError(
                f"row {row} was neither a training row nor an unlabeled one; a transductive solver scores only rows "
                f"that it was given when it was fitted ({self.n_train} training rows and "
                f"{len(self.digests) - self.n_train} unlabeled ones), so put it among the unlabeled rows and fit again"
            )
        return found

    @cached_property
    def _number(self) -> dict[bytes, int]:
        """Row numbers by digest; what comes later in the dict wins, so unlabeled rows come last, the first one last."""
        order = [*range(self.n_train - 1, -1, -1), *range(len(self.digests) - 1, self.n_train - 1, -1)]
        return {self.digests[i].tobytes(): i for i in order}
