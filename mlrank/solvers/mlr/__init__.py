"""Multi-label ranking by block coordinate ascent."""

from mlrank.solvers.mlr.mlr import MultiLabelRanking

__all__ = [
    "MultiLabelRanking",
]
