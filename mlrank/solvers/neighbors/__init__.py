"""Nearest neighbors, of all rows or of the rows of each label."""

from mlrank.solvers.neighbors.bknn import BalancedKNN, BalancedNeighbors
from mlrank.solvers.neighbors.knn import KNN, Neighbors

__all__ = ["KNN", "BalancedKNN", "BalancedNeighbors", "Neighbors"]
