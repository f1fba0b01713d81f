"""ML-LOC: local label correlations."""

from mlrank.solvers.ml_loc.ml_loc import MLLOC, LocModel

__all__ = ["MLLOC", "LocModel"]
