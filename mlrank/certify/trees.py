"""Label trees: the machines of each node, found by following the tree down, on the rows below the node.

A machine of weights w, the bias among them, has the objective P = |w|^2 / 2 + C sum_i max(0, 1 - y_i f_i)^2 and the
dual D = sum_i a_i - |sum_i a_i y_i x_i|^2 / 2 - sum_i a_i^2 / (4 C) with a_i >= 0. Models hold no multipliers: here the
bound comes from a_i = 2 C max(0, 1 - y_i f_i), which are those of the optimum if w is. P - D is half the square of the
length of the gradient then, so that it proves less than the multipliers of the fit.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray
from mlrank.certify.plain import LONG, LongArray
from mlrank.certify.proof import GAP, Proof, part_of
from mlrank.labels import columns_of
from mlrank.solvers import TrainingSet

__all__ = ["certify_tree"]


def certify_tree(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Certify all machines: the sum of objectives, and the largest gap."""
    if (model.n_features, model.order.size) != (train.n_features, train.n_labels):
        shape = f"{model.n_features} features and {model.order.size} labels"
        raise ValueError(f"the model has {shape}, the rows have {train.n_features} and {train.n_labels}")
    if solver.min_weight > 0:
        return Proof(kind=GAP, note="the weights that min_weight leaves out, and with them the objective, are lost")
    # Rows are those that the fit saw: in single precision, but for a small tol.
    X = csr_array(train.X).astype(model.weights.dtype).astype(LONG)
    C, total, zero, worst = LONG(solver.C), LONG(0), LONG(0), LONG(0)
    for positive, weights, bias in _nodes(model, train):
        rows = np.flatnonzero(positive.any(axis=1))
        F = np.asarray(X[rows] @ weights) + bias
        signs = np.where(positive[rows], LONG(1), LONG(-1))
        alpha = 2 * C * np.maximum(LONG(0), 1 - signs * F)
        primal = (weights**2).sum(axis=0) / 2 + bias**2 / 2 + (alpha**2).sum(axis=0) / (4 * C)
        pull = np.asarray(X[rows].T @ (signs * alpha))
        squares = (pull**2).sum(axis=0) + (signs * alpha).sum(axis=0) ** 2 + (alpha**2).sum(axis=0) / (2 * C)
        for objective, mass, square in zip(primal, alpha.sum(axis=0), squares, strict=True):
            if objective > 0:
                worst = max(worst, (objective - part_of(mass, square, np.inf)) / objective)
        total, zero = total + primal.sum(), zero + C * signs.size
    return Proof(float(total), float(worst), GAP, scale=float(zero), rebuilt=True)


def _nodes(model: Any, train: TrainingSet) -> Iterator[tuple[BoolArray, LongArray, LongArray]]:
    """Yield of each node which rows have a label below each child, and the weights and bias of the children."""
    columns = columns_of(train.sparse_Y)
    node, begin = 0, 0
    for level, count in enumerate([1, *np.cumprod(model.widths).tolist()]):
        below = (model.leaf_ptr.size - 1) // count
        for here in range(count):
            ends = model.leaf_ptr[here * below : (here + 1) * below + 1]
            last = level == len(model.widths)
            ends = np.arange(ends[0], ends[1] + 1) if last else ends[:: below // int(model.widths[level])]
            positive = np.zeros((train.n_samples, ends.size - 1), bool)
            for child, (low, high) in enumerate(pairwise(ends.tolist())):
                for label in model.order[low:high]:
                    positive[columns.indices[columns.indptr[label] : columns.indptr[label + 1]], child] = True
            part = slice(model.node_ptr[node], model.node_ptr[node + 1])
            weights = np.zeros((model.n_features, ends.size - 1), LONG)
            weights[model.features[part], model.children[part]] = model.weights[part]
            yield positive, weights, model.bias[begin : begin + ends.size - 1].astype(LONG)
            node, begin = node + 1, begin + ends.size - 1
