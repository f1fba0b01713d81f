"""Sparse Bayesian multi-label learning by compressed sensing."""

from mlrank.solvers.sparse_bayes.compressed_sensing import SparseBayesianCS
from mlrank.solvers.sparse_bayes.model import CompressedModel

__all__ = [
    "CompressedModel",
    "SparseBayesianCS",
]
