"""Semi-supervised low-rank mapping."""

from mlrank.solvers.slrm.slrm import SLRM, label_correlation, related_labels

__all__ = [
    "SLRM",
    "label_correlation",
    "related_labels",
]
