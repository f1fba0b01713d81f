"""Fitted models that last: taken apart into numbers, stored without pickle, opened again with suspicion.

Fits take this much; what opens and writes files, and checks what is in them, is `mlrank.models.file`.
"""

from mlrank.models.predictor import Fit, Predictor, probe_rows

__all__ = ["Fit", "Predictor", "probe_rows"]
