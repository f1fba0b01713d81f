"""The best scored labels of each row, whatever the model."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_features
from mlrank.labels import TopScores, top_of

__all__ = ["best_in_blocks", "top_scores"]

# Scores that a block holds at most; its selection takes three times their memory.
BLOCK_SCORES = 1 << 24


def top_scores(model: Any, X: Features, k: int, n_labels: int) -> TopScores:
    """Return the `k` best scored labels of each row, all labels where there are fewer; a tie goes to the lower label.

    By the model's own ``top_scores(X, k)`` where it has one, else from its scores, made for a block of rows at a time.
    """
    X = as_features(X)
    own = getattr(model, "top_scores", None)
    if own is not None:
        found = TopScores(*own(X, k))
        _check(found, X.shape[0], k)
        return found
    return best_in_blocks(model.decision_function, X, k, n_labels)


def best_in_blocks(score: Callable[[Features], FloatArray], X: Features, k: int, n_labels: int) -> TopScores:
    """Return the `k` best of the scores of each row, which are made for a block of rows at a time."""
    rows = max(1, BLOCK_SCORES // n_labels)
    parts = [top_of(score(X[begin : begin + rows]), k) for begin in range(0, X.shape[0], rows)]
    return TopScores(np.concatenate([part.labels for part in parts]), np.concatenate([part.scores for part in parts]))


def _check(found: TopScores, n_rows: int, k: int) -> None:
    """Raise ValueError unless a model's own best scores have the form that `TopScores` says."""
    labels, scores = found
    if labels.shape != scores.shape or len(labels) != n_rows or labels.shape[1] > k:
        raise ValueError(f"top_scores({n_rows} rows, {k}) returned labels {labels.shape} and scores {scores.shape}")
    if labels.dtype != np.int32 or scores.dtype not in (np.float32, np.float64):
        raise ValueError(f"top_scores must return int32 labels and float scores, found {labels.dtype}, {scores.dtype}")
    if np.isnan(scores).any() or (scores[:, 1:] > scores[:, :-1]).any():
        raise ValueError("top_scores must return scores that are no NaN and do not rise along a row")
