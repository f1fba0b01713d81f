"""The threshold strategies by name: they turn real scores into label sets."""

from mlrank.thresholds.base import Cut, Threshold, is_fitted
from mlrank.thresholds.boundary import AdaptiveBoundary
from mlrank.thresholds.bounds import BOUNDS, LabelBounds
from mlrank.thresholds.mass import ClassMass
from mlrank.thresholds.strategies import (
    AdaptiveF,
    Constant,
    LstsqScores,
    Natural,
    OracleSize,
    PerLabelF1,
    SVRMidpoint,
    SVRMinError,
    TopK,
    Zero,
)

__all__ = ["BOUNDS", "THRESHOLDS", "Cut", "LabelBounds", "Threshold", "is_fitted"]

THRESHOLDS: dict[str, type[Threshold]] = {
    "zero": Zero,
    "constant": Constant,
    "natural": Natural,
    "svr_midpoint": SVRMidpoint,
    "svr_min_error": SVRMinError,
    "lstsq_scores": LstsqScores,
    "per_label_f1": PerLabelF1,
    "adaptive_f": AdaptiveF,
    "adaptive_boundary": AdaptiveBoundary,
    "class_mass": ClassMass,
    "top_k": TopK,
    "oracle_size": OracleSize,
}
