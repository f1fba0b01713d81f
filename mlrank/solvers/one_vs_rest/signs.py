"""Which rows have a label and which have not, as signs of some labels at a time."""

import numpy as np

from mlrank.arrays import IntArray
from mlrank.solvers.base import TrainingSet
from mlrank.solvers.one_vs_rest.kernels import SignArray

__all__ = ["LANES", "BlockSigns"]

# Machines side by side, on sparse rows.
LANES = 64


class BlockSigns:
    """Signs of a block of labels at a time: those of all labels are never held together.

    Attributes
    ----------
    mixed : the labels that some known rows have and some have not
    rarer : (n_labels,) how many known rows of each label have it or have it not, whichever are fewer
    """

    def __init__(self, train: TrainingSet) -> None:
        self._labels = train.sparse_Y.tocsc() if train.known is None else None
        self._train = train
        present = np.asarray(train.sparse_Y.sum(axis=0)).ravel()
        known = np.full(train.n_labels, train.n_samples) if train.known is None else train.known.sum(axis=0)
        self.rarer: IntArray = np.minimum(present, known - present)
        self.mixed: IntArray = np.flatnonzero(self.rarer > 0)

    def of(self, labels: IntArray) -> SignArray:
        """Return the signs (n_samples, n_machines) of some labels."""
        if self._labels is not None:
            return np.asarray(2 * self._labels[:, labels].toarray().astype(np.int8) - 1, dtype=np.int8)
        assert self._train.known is not None
        Y, known = self._train.dense_Y[:, labels], self._train.known[:, labels]
        return np.asarray(Y.astype(np.int8) - (~Y & known).astype(np.int8))
