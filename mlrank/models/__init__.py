"""Fitted models that last: taken apart into numbers, stored without pickle, opened again with suspicion."""

from mlrank.models.file import StoredModel, load_model, model_bytes
from mlrank.models.predictor import PROBE_ROWS, Fit, Predictor

__all__ = ["PROBE_ROWS", "Fit", "Predictor", "StoredModel", "load_model", "model_bytes"]
