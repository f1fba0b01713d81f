"""The scores that a threshold is fitted to: a model's own of its training rows, or cross-fitted ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, IntArray
from mlrank.solvers import TrainingSet
from mlrank.splits import kfold

__all__ = ["HELDOUT_FOLDS", "check_shape", "heldout_scores", "own_scores"]

HELDOUT_FOLDS = 3


def own_scores(model: Any, train: TrainingSet) -> FloatArray:
    """Return a model's scores of its training rows.

    Raises
    ------
    ValueError
        If they are not (n_samples, n_labels), as those of a solver of the user's own may be.
    """
    # A model that must not count a row as its own neighbour has scores of its training rows by itself.
    own: Callable[[], FloatArray] | None = getattr(model, "training_scores", None)
    found: FloatArray = model.decision_function(train.X) if own is None else own()
    check_shape(model, found, train)
    return found


def check_shape(model: Any, scores: FloatArray, rows: TrainingSet) -> None:
    """Raise ValueError unless a model's scores of rows are (n_samples, n_labels)."""
    if np.shape(scores) != rows.Y.shape:
        what = f"scores of {rows.n_samples} rows and {rows.n_labels} labels"
        raise ValueError(f"{type(model).__name__} must give {what}, found the shape {np.shape(scores)}")


def heldout_scores(
    train: TrainingSet,
    seed: int,
    score: Callable[[TrainingSet, Features], FloatArray],
    groups: IntArray | None = None,
) -> FloatArray:
    """Return scores of the training rows, each from a fit that did not see its labels.

    Parameters
    ----------
    train : TrainingSet
    seed : int, of the folds
    score : gives the scores of some rows by a fit on a training set
    groups : rows of one group are held out together
    """
    scores = np.empty(train.Y.shape)
    for kept, held in kfold(train.Y, HELDOUT_FOLDS, seed, stratified=True, groups=groups):
        # For a solver that uses unlabeled rows, held-out ones keep their features.
        part = train.take(kept) if train.X_unlabeled is None else train.hide_labels(held)
        scores[held] = score(part, train.features(held, kept))
    return scores
