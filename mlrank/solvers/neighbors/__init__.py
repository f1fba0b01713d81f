"""Nearest neighbors, of all rows or of the rows of each label."""

from mlrank.solvers.neighbors.bknn import BalancedKNN, BalancedNeighbors
from mlrank.solvers.neighbors.iblr import IBLR, RegressedNeighbors
from mlrank.solvers.neighbors.knn import KNN, Neighbors
from mlrank.solvers.neighbors.ml_knn import MLKNN, CountedNeighbors

__all__ = [
    "IBLR",
    "KNN",
    "MLKNN",
    "BalancedKNN",
    "BalancedNeighbors",
    "CountedNeighbors",
    "Neighbors",
    "RegressedNeighbors",
]
