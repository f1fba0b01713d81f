"""Rank-SVM and Rank-HLapSVM."""

from mlrank.solvers.rank_svm.rank_hlapsvm import RankHLapSVM
from mlrank.solvers.rank_svm.rank_svm import RankSVM

__all__ = [
    "RankHLapSVM",
    "RankSVM",
]
