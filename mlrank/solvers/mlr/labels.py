"""Which labels the examples of multi-label ranking have, the loss of their scores, and where ascent starts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.solvers.mlr.kernels import pair_loss

__all__ = ["Labels", "check_mixed"]


def check_mixed(mixed: BoolArray, n_labels: int, some_unknown: bool) -> None:
    """Check that some example has both a relevant and an irrelevant label.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not mixed.any():
        labels = f"the labels, of {n_labels}, that are known of each" if some_unknown else f"{n_labels} labels"
        found = f"found {len(mixed)} rows with all or none of {labels}"
        raise ValueError(f"ranking needs a row with a relevant and an irrelevant label, {found}")


@dataclass(frozen=True)
class Labels:
    """Which labels each example has.

    signs : (n, K), +1 and -1, and 0 for a label that is not known, whose alpha is 0
    order : (n, K), the relevant labels of each example, then the irrelevant ones, then the others; empty if not needed
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
        found = cls.unordered(Y, known)
        check_mixed(found.mixed, Y.shape[1], known is not None)
        order = np.argsort(np.where(found.signs == 0, 2.0, -found.signs), axis=1, kind="stable")
        return replace(found, order=order, exact=exact)

    @classmethod
    def unordered(cls, Y: BoolArray, known: BoolArray | None = None) -> "Labels":
        """Read off `Y`, where they are known, what eq. 13 takes."""
        signs = np.where(Y, 1.0, -1.0) if known is None else np.where(known, np.where(Y, 1.0, -1.0), 0.0)
        signs = np.ascontiguousarray(signs)  # columns of a table lie the other way
        n_relevant, n_irrelevant = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
        mixed: BoolArray = (n_relevant > 0) & (n_irrelevant > 0)
        return cls(signs, np.zeros((0, 0), np.int64), n_relevant, n_irrelevant, mixed, False)

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
        ranked = np.partition(np.where(signs == 0, np.inf, V), np.unique(last), axis=1)
        t = np.take_along_axis(ranked, last[:, None], axis=1)
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
