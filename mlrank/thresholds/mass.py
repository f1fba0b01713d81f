"""Class-mass matching: each label is predicted for as large a share of the rows as carried it in training."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.thresholds.base import Cut
from mlrank.thresholds.cuts import ShareCut, check_scores

__all__ = ["ClassMass"]


@dataclass(frozen=True)
class ClassMass:
    """Predict each label for the best scored rows, as many as make up its share of the training rows.

    The number is rounded, a half to the even number; of equal scores the earlier row is taken. It decides over all rows
    it is given together, which suits methods that see the test rows anyway. After Zhu, Ghahramani and Lafferty,
    "Semi-supervised learning using Gaussian fields and harmonic functions", ICML 2003, who match class masses. A label
    that is known of no row is never predicted. Cost: one sort per label.
    """

    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Count the labels; the scores of the training rows do not matter."""
        check_scores(scores, Y, X)
        if known is None:
            return ShareCut(Y.mean(axis=0))
        n_known = known.sum(axis=0)
        return ShareCut((Y & known).sum(axis=0) / np.maximum(n_known, 1))
