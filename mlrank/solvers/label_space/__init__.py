"""Regression onto few directions of the labels: PLST, CPLST and FaIE."""

from mlrank.solvers.label_space.cplst import CPLST
from mlrank.solvers.label_space.faie import FaIE
from mlrank.solvers.label_space.plst import PLST

__all__ = ["CPLST", "PLST", "FaIE"]
