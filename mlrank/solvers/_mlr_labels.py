"""The labels of a multi-label ranking problem as the sweeps want them, and the losses of its primal problems."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.solvers._mlr_kernels import pair_loss

__all__ = ["Labels", "label_mix"]


@dataclass(frozen=True)
class Labels:
    """Which labels each example has.

    signs : (n, K), +1 and -1, and 0 for a label that is not known, whose alpha is 0
    order : (n, K), the relevant labels of each example, then the irrelevant ones, then the others
    n_relevant, n_irrelevant : (n,)
    mixed : (n,), whether an example has both relevant and irrelevant labels; alpha is 0 for the others
    exact : whether the problem is (4), with a variable for each pair, instead of (13)
    """

    signs: FloatArray
    order: IntArray
    n_relevant: IntArray
    n_irrelevant: IntArray
    mixed: BoolArray
    exact: bool

    @classmethod
    def of(cls, Y: BoolArray, exact: bool, known: BoolArray | None = None) -> "Labels":
        """Read them off `Y`, where they are known.

        Raises
        ------
        ValueError
            If no example has both a relevant and an irrelevant label.
        """
        signs = np.where(Y, 1.0, -1.0) if known is None else np.where(known, np.where(Y, 1.0, -1.0), 0.0)
        n_relevant, n_irrelevant = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
        mixed: BoolArray = (n_relevant > 0) & (n_irrelevant > 0)
        if not mixed.any():
            labels = f"{Y.shape[1]} labels" if known is None else f"the labels, of {Y.shape[1]}, that are known of each"
            found = f"found {len(Y)} rows with all or none of {labels}"
            raise ValueError(f"ranking needs a row with a relevant and an irrelevant label, {found}")
        order = np.argsort(np.where(signs == 0, 2.0, -signs), axis=1, kind="stable")
        return cls(signs, order, n_relevant, n_irrelevant, mixed, exact)

    def take(self, rows: IntArray) -> "Labels":
        """Return those of some examples."""
        counts = self.n_relevant[rows], self.n_irrelevant[rows]
        return Labels(self.signs[rows], self.order[rows], *counts, self.mixed[rows], self.exact)

    def loss(self, F: FloatArray) -> float:
        """Return the loss of scores (n, K) that C multiplies: that of (4), or that of (13) at the best thresholds."""
        if self.exact:
            return float(pair_loss(F, self.signs))
        signs = self.signs[self.mixed]
        V = F[self.mixed] - signs
        # sum_k max(0, y_k (t - v_k)) falls until t has passed as many v as there are irrelevant labels.
        last = self.n_irrelevant[self.mixed] - 1
        t = np.take_along_axis(np.sort(np.where(signs == 0, np.inf, V), axis=1), last[:, None], axis=1)
        return float(np.maximum(0.0, signs * (t - V)).sum())

    def start(self, C: float, free: BoolArray) -> tuple[Any, ...]:
        """Return the arrays that the sweeps change, with the optimum for the examples that `free` is False for.

        The scores of an example with K_ii = 0 are 0, whatever its variables: they are as large as may be.
        """
        n_pairs = self.n_relevant * self.n_irrelevant * self.exact
        offset = np.concatenate([[0], np.cumsum(n_pairs)])
        stuck = self.mixed & ~free
        z, beta = np.zeros(int(offset[-1])), np.zeros(self.signs.shape)
        z[np.repeat(stuck, n_pairs)] = C
        n_relevant, n_irrelevant = self.n_relevant[stuck, None], self.n_irrelevant[stuck, None]
        total = n_relevant * n_irrelevant if self.exact else np.minimum(n_relevant, n_irrelevant)
        signs = self.signs[stuck]
        beta[stuck] = C * total * signs / np.where(signs > 0, n_relevant, n_irrelevant)
        return self.signs, self.order, self.n_relevant, self.n_irrelevant, offset[:-1], beta, np.zeros(len(beta)), z


def label_mix(Y: BoolArray, correlation: float) -> FloatArray:
    """Return (1 - correlation) I + correlation * (cosines between label columns); empty where `correlation` is 0.

    Of unknown labels, which are False in `Y`, nothing is counted.
    """
    if correlation == 0.0:
        return np.zeros((0, 0))
    H = Y.astype(np.float64)
    size = np.sqrt(H.sum(axis=0))
    cosine = (H.T @ H) / np.maximum(np.outer(size, size), 1.0)
    np.fill_diagonal(cosine, 1.0)
    return (1.0 - correlation) * np.eye(Y.shape[1]) + correlation * cosine
