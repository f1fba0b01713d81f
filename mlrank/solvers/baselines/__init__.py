"""Baselines over any estimator of scikit-learn's interface: powersets, chains, calibrated ranking."""

from mlrank.solvers.baselines.calibrated_ranking import CalibratedRanking
from mlrank.solvers.baselines.chains import ClassifierChains
from mlrank.solvers.baselines.powerset import LabelPowerset, RAkEL

__all__ = ["CalibratedRanking", "ClassifierChains", "LabelPowerset", "RAkEL"]
