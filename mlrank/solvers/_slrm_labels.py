"""Which labels a fitted mapping takes to be alike (Table 3 of the SLRM paper)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mlrank.arrays import FloatArray

__all__ = ["label_correlation", "related_labels"]


class HasWeights(Protocol):
    """A model with one row of weights for each label."""

    @property
    def coef(self) -> FloatArray:
        """The weights, (n_labels, n_features)."""
        ...


def label_correlation(model: HasWeights) -> FloatArray:
    """Return U U' of a mapping U (n_labels, n_features), its rows scaled to length one: cosines between labels.

    The paper prints U'U and a table that is not symmetric, which neither can be (errata 1.4 and 1.5). A label without
    weights is like none, itself included.
    """
    norms = np.linalg.norm(model.coef, axis=1, keepdims=True)
    rows = np.divide(model.coef, norms, out=np.zeros_like(model.coef), where=norms > 0)
    return np.asarray(np.clip(rows @ rows.T, -1.0, 1.0))


def related_labels(
    model: HasWeights, label_names: Sequence[str], n_related: int = 2
) -> dict[str, tuple[tuple[str, float], ...]]:
    """Return for each label those with the largest correlation above zero, the largest first, ties in their order.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(coef=np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    >>> related_labels(model, ["sky", "tree", "book"])
    {'sky': (('tree', 0.6),), 'tree': (('sky', 0.6),), 'book': ()}
    """
    if len(label_names) != len(model.coef):
        raise ValueError(f"the model has {len(model.coef)} labels, found {len(label_names)} names")
    likeness = label_correlation(model)
    np.fill_diagonal(likeness, 0.0)
    order = np.argsort(-likeness, axis=1, kind="stable")[:, :n_related]
    return {
        name: tuple((label_names[other], float(row[other])) for other in places if row[other] > 0)
        for name, row, places in zip(label_names, likeness, order, strict=True)
    }
