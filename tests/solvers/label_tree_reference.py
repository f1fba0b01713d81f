"""A plain second implementation of the label tree: its nodes by following the tree down, their machines, its scores."""

from itertools import pairwise

import numpy as np

__all__ = ["machines", "nodes_of", "plain_order", "plain_scores", "primal"]


def nodes_of(model):
    """Yield (label sets of the children, their weights, their bias, path) of each node, by following the tree down."""
    sizes = [1, *np.cumprod(model.widths)]
    node, bias_at = 0, 0
    for level, count in enumerate(sizes):
        n_below = (len(model.leaf_ptr) - 1) // count
        for here in range(count):
            ends = model.leaf_ptr[here * n_below : (here + 1) * n_below + 1]
            if level == len(model.widths):
                places = np.arange(ends[0], ends[-1] + 1)
            else:
                places = ends[:: n_below // model.widths[level]]
            children = [model.order[a:b] for a, b in pairwise(places)]
            weights = np.zeros((len(children), model.n_features))
            for t in range(model.node_ptr[node], model.node_ptr[node + 1]):
                weights[model.children[t], model.features[t]] = model.weights[t]
            yield children, weights, model.bias[bias_at : bias_at + len(children)].astype(float)
            node, bias_at = node + 1, bias_at + len(children)


def primal(w, X, signs, C):
    slack = np.maximum(0, 1 - signs * (X @ w[:-1] + w[-1]))
    return 0.5 * w @ w + C * (slack**2).sum()


def machines(model, X, Y):
    """Yield (rows, signs, weights with the bias last) of each machine, from the definition of the method."""
    for children, weights, bias in nodes_of(model):
        below = [Y[:, child].any(axis=1) for child in children]
        rows = np.flatnonzero(np.any(below, axis=0))
        for child, w, b in zip(below, weights, bias, strict=True):
            yield X[rows], np.where(child[rows], 1.0, -1.0), np.append(w, b)


def plain_scores(model, X, beam=None):
    """Scores of all labels by walking the tree; with a beam, of those it meets, and -inf elsewhere."""
    nodes, scores = list(nodes_of(model)), np.full((len(X), model.order.size), -np.inf)
    starts = np.cumsum([0, 1, *np.cumprod(model.widths)])
    for i, x in enumerate(X):
        level_scores = {0: 0.0}
        for level in range(len(model.widths) + 1):
            found = {}
            for here, above in level_scores.items():
                children, weights, bias = nodes[starts[level] + here]
                first = here * model.widths[level] if level < len(model.widths) else 0
                for c, child in enumerate(children):
                    z = weights[c] @ x + bias[c]
                    step = -(max(0.0, 1 - z) ** 3) if model.scores == "hinge" else -np.logaddexp(0.0, -z)
                    if level == len(model.widths):
                        scores[i, child[0]] = above + step
                    else:
                        found[first + c] = above + step
            ranked = sorted(found, key=lambda node: (-found[node], node))
            level_scores = {node: found[node] for node in ranked[:beam]}
    return scores


def plain_order(X, Y, halvings, rng, spherical=True):
    """Labels in the order of the leaves: balanced 2-means of label vectors, with centers of unit length or without."""
    vectors = Y.T @ (X / np.linalg.norm(X, axis=1, keepdims=True))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order, ptr = np.arange(Y.shape[1]), [0, Y.shape[1]]
    for _ in range(halvings):
        ends = [0]
        for (begin, end), seeds in zip(pairwise(ptr), rng.random((len(ptr) - 1, 2)), strict=True):
            labels, size, middle = order[begin:end].copy(), end - begin, (end - begin + 1) // 2
            first = int(seeds[0] * size)
            side = np.zeros(size)
            side[first], side[(first + 1 + int(seeds[1] * (size - 1))) % size] = 1, -1
            for turn in range(20):
                centers = [vectors[labels[side == sign]].sum(axis=0) for sign in (1, -1)]
                near, far = (center / (np.linalg.norm(center) if spherical else 1.0) for center in centers)
                now = np.full(size, -1.0)
                now[np.argsort(-(vectors[labels] @ (near - far)), kind="stable")[:middle]] = 1
                moved, side = (now != side).sum(), now
                if turn > 0 and moved < 0.005 * size:
                    break
            order[begin:end] = np.concatenate([labels[side > 0], labels[side < 0]])
            ends += [begin + middle, end]
        ptr = ends
    return order
