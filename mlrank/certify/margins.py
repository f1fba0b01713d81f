"""Rank-SVM, Rank-HLapSVM, MLR, SVM-perf and binary machines: objectives and bounds from their definitions.

All minimize half a squared norm and a sum of hinges. With dual variables alpha, summed to beta for each row and label,
and V = sum_i beta_i phi(x_i), the bound is D = sum alpha - |V|^2 / 2. That beta belongs to alpha of pairs between 0 and
their cap is decided by the theorem of Gale and Ryser: with r of one side of a row, s of the other, of equal sums, and
cap u, there are such alpha if and only if for every m the m largest r sum to at most sum_q min(m u, s_q).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.certify.plain import LONG, GramRows, KernelBlocks, LinearRows, LongArray, dense_rows, dual_of, rows_of
from mlrank.certify.planes import pair_shares
from mlrank.certify.proof import GAP, Proof, balanced_sides, gap_proof, part_of
from mlrank.errors import UserError
from mlrank.solvers import TrainingSet

__all__ = ["certify_binary", "certify_hlapsvm", "certify_mlr", "certify_perf", "certify_rank"]

# A dual point that breaks its caps by such a part is one of a problem with larger caps, whose optimum is larger by that
# part at most: its bound is divided by as much.
EXCESSES = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)

# Inner products of more rows are not formed for the steps as printed.
HALVED_ROWS = 3000
# What weights may be apart from sums of dual variables, relative to the terms of these.
ROUNDED = 1e-10


def _sides(train: TrainingSet) -> tuple[BoolArray, BoolArray]:
    """Return which labels of each row are relevant and which irrelevant; unknown ones are neither."""
    known = np.ones_like(train.dense_Y) if train.known is None else train.known
    return train.dense_Y & known, ~train.dense_Y & known


def _pair_loss(scores: LongArray, up: BoolArray, down: BoolArray, margin: float) -> Any:
    """Return sum max(0, margin - (f_p - f_q)) over pairs of one row of scores."""
    return np.maximum(LONG(0), LONG(margin) - (scores[up][:, None] - scores[down][None])).sum()


def _fits(r: LongArray, s: LongArray, cap: Any) -> bool:
    """Return whether there are pair variables between 0 and `cap` with these sums (Gale and Ryser)."""
    largest = np.cumsum(np.sort(r)[::-1])
    ordered = np.sort(s)
    below = np.concatenate([[LONG(0)], np.cumsum(ordered)])
    rooms = cap * np.arange(1, len(r) + 1)
    place = np.searchsorted(ordered, rooms)
    most = below[place] + (len(s) - place) * rooms
    return bool((largest <= most * (1 + LONG(1e-15))).all())


def _excess(sides: Iterator[tuple[LongArray, LongArray, Any]]) -> float | None:
    """Return by which part all caps must grow for the sides to fit; None if that is more than rounding."""
    level = 0
    for r, s, cap in sides:
        while not _fits(r, s, cap * (1 + LONG(EXCESSES[level]))):
            level += 1
            if level == len(EXCESSES):
                return None
    return EXCESSES[level]


def _point(beta: LongArray, up: BoolArray, down: BoolArray) -> tuple[LongArray, LongArray]:
    """Return what is positive on one side and negative on the other, with equal sums over the first axis."""
    return balanced_sides(np.maximum(np.where(up, beta, 0), 0), np.maximum(np.where(down, -beta, 0), 0))


BROKEN = "the stored dual variables break their constraints: they prove nothing"


def certify_rank(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Rank-SVM, eq. 9 of its module."""
    return _certify_pairs(solver, model, train, None)


def certify_hlapsvm(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Rank-HLapSVM, eq. 10 of its module: the penalty is on the training scores."""
    return _certify_pairs(solver, model, train, _Penalty(solver, train) if solver.lam else None)


class _Penalty:
    """L = D - H V H' of the label hypergraph, with hyperedge weights exp(-nu * distance within the label)."""

    def __init__(self, solver: Any, train: TrainingSet) -> None:
        self.lam, self.H = LONG(solver.lam), train.dense_Y.astype(LONG)
        distance = np.array([_distance(solver, train, relevant) for relevant in train.dense_Y.T], LONG)
        self.weights = np.exp(-LONG(solver.nu) * distance)
        self.degree = self.H @ (self.weights * self.H.sum(axis=0))

    def laplacian(self, F: LongArray) -> LongArray:
        """Return L F; L maps constants to 0, so columns are brought near 0 first."""
        F = F - np.sort(F, axis=0)[len(F) // 2]
        return np.asarray(self.degree[:, None] * F - self.H @ (self.weights[:, None] * (self.H.T @ F)))


def _distance(solver: Any, train: TrainingSet, relevant: BoolArray) -> Any:
    """Return the mean of squared distances, or of distances, between two rows of a label."""
    rows = np.flatnonzero(relevant)
    d = len(rows)
    if d < 2 or not solver.nu:
        return LONG(0)
    X = dense_rows(train.X, rows)
    if solver.kernel == "precomputed":
        K = X[:, rows]
        return 2 * (d * np.trace(K) - K.sum()) / (d * (d - 1))
    if solver.distance == "euclid":
        return sum(np.sqrt(((X - row) ** 2).sum(axis=1)).sum() for row in X) / (d * (d - 1))
    return 2 * ((X - X.mean(axis=0)) ** 2).sum() / (d - 1)


def _certify_pairs(solver: Any, model: Any, train: TrainingSet, penalty: _Penalty | None) -> Proof:
    rows, b = rows_of(model, train.X), model.intercept.astype(LONG)
    relevant, irrelevant = _sides(train)
    sizes = relevant.sum(axis=1) * irrelevant.sum(axis=1)
    C = LONG(solver.C) / (len(sizes) if solver.C_scale == "mean" else 1)
    caps = np.divide(C, sizes, out=np.zeros(len(sizes), LONG), where=sizes > 0)
    plain = rows.outputs()
    F, mixed = plain + b, np.flatnonzero(sizes)
    loss = sum((caps[i] * _pair_loss(F[i], relevant[i], irrelevant[i], 1.0) for i in mixed), LONG(0))
    square = np.trace(rows.inner()) + ((b**2).sum() if solver.bias == "augmented" else LONG(0))
    if penalty is not None:
        square += penalty.lam * (plain * penalty.laplacian(plain)).sum()
    zero = C * len(mixed)
    primal = square / 2 + loss
    beta = dual_of(model, train.dense_Y.shape)
    if beta is None:
        return gap_proof(primal, None, zero)
    up, down = (side.T for side in _point(beta.T, relevant.T, irrelevant.T))
    excess = _excess((up[i][relevant[i]], down[i][irrelevant[i]], caps[i]) for i in mixed)
    if excess is None:
        return Proof(float(primal), float("inf"), GAP, BROKEN, float(zero))
    beta = up - down
    total = up.sum()
    norm = np.trace(rows.spanned(beta)) if penalty is None else rows.penalized(beta, penalty.lam, penalty.laplacian)
    sums = beta.sum(axis=0)
    if solver.bias == "augmented":
        norm += (sums**2).sum()
    dual = part_of(total, norm) / (1 + LONG(excess))
    if solver.bias == "free":  # what is left of the constraints of a free bias is charged at twice the bias
        dual -= 2 * (np.abs(sums) * np.abs(b)).sum()
    return gap_proof(primal, dual, zero)


def certify_mlr(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Multi-label ranking, eq. 13 or (4) of its module, with labels mixed by R where they are."""
    relevant, irrelevant = _sides(train)
    augmented, exact = solver.bias == "augmented", solver.formulation == "exact"
    rows, b = rows_of(model, train.X), model.intercept.astype(LONG)
    if solver.halve:
        rows, b, augmented = _halved(rows, model, train, augmented), np.zeros_like(b), False
    C = LONG(solver.C) * (4 if solver.C_convention == "eq2" else 1)
    F = rows.outputs() + b
    mixed = np.flatnonzero(relevant.any(axis=1) & irrelevant.any(axis=1))
    threshold = _pair_threshold_loss if not exact else _all_pairs_loss
    loss = sum((threshold(F[i], relevant[i], irrelevant[i]) for i in mixed), LONG(0))
    zero = C * sum((threshold(0 * F[i], relevant[i], irrelevant[i]) for i in mixed), LONG(0))
    inner = rows.inner() + (np.outer(b, b) if augmented else LONG(0))
    R = _label_mix(train, solver.correlation)
    square = np.trace(inner) if R is None else np.trace(np.linalg.pinv(R.astype(float), hermitian=True) @ inner)
    primal = square / 2 + C * loss
    beta = dual_of(model, train.dense_Y.shape)
    if beta is None:
        return gap_proof(primal, None, zero)
    up, down = (side.T for side in _point(beta.T, relevant.T, irrelevant.T))
    excess = _mlr_excess(up, down, relevant, irrelevant, C, exact)
    if excess is None:
        return Proof(float(primal), float("inf"), GAP, BROKEN, float(zero))
    beta = up - down
    spanned, sums = rows.spanned(beta), beta.sum(axis=0)
    spanned = spanned + (np.outer(sums, sums) if augmented else LONG(0))
    norm = np.trace(spanned) if R is None else np.trace(R @ spanned)
    return gap_proof(primal, part_of(up.sum() + down.sum(), norm) / (1 + LONG(excess)), zero)


def _halved(given: LinearRows | GramRows, model: Any, train: TrainingSet, augmented: bool) -> GramRows:
    """Return the rows under the kernel (K + diag K) / 2 of the printed steps, with the dual variables of the model."""
    beta = dual_of(model, train.dense_Y.shape)
    if isinstance(given, GramRows):
        K, A = given.K, given.A
    else:
        X = dense_rows(train.X)
        if len(X) > HALVED_ROWS or beta is None:
            raise UserError(f"the iteration as printed needs dual variables, of {HALVED_ROWS} rows at most")
        if not (np.abs(X.T @ beta - given.W) <= ROUNDED * (np.abs(X).T @ np.abs(beta))).all():
            raise ValueError("its weights are not those of its dual variables")
        K, A = X @ X.T, beta
    if isinstance(K, KernelBlocks):
        raise UserError("the iteration as printed is not certified with so many rows")
    K = K + 1 if augmented else K
    return GramRows((K + np.diag(np.diag(K))) / 2, A)


def _all_pairs_loss(scores: LongArray, up: BoolArray, down: BoolArray) -> Any:
    return _pair_loss(scores, up, down, 2.0)


def _pair_threshold_loss(scores: LongArray, up: BoolArray, down: BoolArray) -> Any:
    """Return min_t sum_k max(0, 1 - y_k (f_k - t)), which is piecewise linear in t.

    Its slope begins at minus the number of irrelevant labels, and rises by one at each kink, f_k - 1 of a relevant and
    f_k + 1 of an irrelevant label: so it is least at as many kinks as there are irrelevant labels.
    """
    n_down = int(np.count_nonzero(down))
    kinks = np.concatenate([scores[up] - 1, scores[down] + 1])
    # Beside huge scores 1 is lost: then any threshold between both sides does.
    between = (scores[up].min() + scores[down].max()) / 2
    t = np.array([np.partition(kinks, n_down - 1)[n_down - 1], between])
    above = np.maximum(LONG(0), 1 - (scores[up][:, None] - t)).sum(axis=0)
    return (above + np.maximum(LONG(0), 1 + (scores[down][:, None] - t)).sum(axis=0)).min()


def _mlr_excess(
    up: LongArray, down: LongArray, relevant: BoolArray, irrelevant: BoolArray, C: Any, exact: bool
) -> float | None:
    if exact:
        pairs = np.flatnonzero(relevant.any(axis=1) & irrelevant.any(axis=1))
        return _excess((up[i][relevant[i]], down[i][irrelevant[i]], C) for i in pairs)
    over = float(max(up.max(), down.max()) / C - 1)
    return max(over, 0.0) if over <= EXCESSES[-1] else None


def _label_mix(train: TrainingSet, correlation: float) -> LongArray | None:
    """Return (1 - s) I + s P with the cosines P between label columns, None for s = 0."""
    if not correlation:
        return None
    H = train.dense_Y.astype(LONG)
    length = np.sqrt(H.sum(axis=0))
    P = (H.T @ H) / np.maximum(np.outer(length, length), 1)
    P[np.diag_indices_from(P)] = 1
    return (1 - LONG(correlation)) * np.eye(len(P), dtype=LONG) + LONG(correlation) * P


def certify_perf(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """SVM-perf: the mean hinge loss over pairs of a positive and a negative row of each label."""
    if solver.calibrate:
        return Proof(kind=GAP, note="its scores are calibrated, so the model holds no weights of the problem")
    positive, negative = _sides(train)
    rows = rows_of(model, train.X)
    C, F = LONG(solver.C) * (100 if solver.C_convention == "perf" else 1), rows.outputs()
    mixed = np.flatnonzero(positive.any(axis=0) & negative.any(axis=0))
    primal, zero = np.trace(rows.inner()) / 2, C * len(mixed)
    for k in mixed:
        n_pairs = int(positive[:, k].sum()) * int(negative[:, k].sum())
        primal += C / n_pairs * _row_pairs(F[:, k], positive[:, k], negative[:, k])
    beta, rebuilt = dual_of(model, train.dense_Y.shape), False
    if beta is None and isinstance(rows, LinearRows):
        beta, rebuilt = _planes(rows, train, positive, negative, C, float(model.info.optimality)), True
    if beta is None:
        return gap_proof(primal, None, zero)
    up, down = _point(beta, positive, negative)
    caps = C / np.maximum(positive.sum(axis=0) * negative.sum(axis=0), 1)
    sides = ((up[positive[:, k], k], down[negative[:, k], k], caps[k]) for k in mixed)
    excess = _excess(sides)
    if excess is None:
        return Proof(float(primal), float("inf"), GAP, BROKEN, float(zero))
    squares = np.diagonal(rows.spanned(up - down))
    dual = sum((part_of(up[:, k].sum(), squares[k]) for k in mixed), LONG(0))
    return replace(gap_proof(primal, dual / (1 + LONG(excess)), zero), rebuilt=rebuilt)


def _planes(
    rows: LinearRows, train: TrainingSet, positive: BoolArray, negative: BoolArray, C: Any, claimed: float
) -> LongArray:
    """Return dual variables that are rebuilt from the weights, (n_samples, n_labels)."""
    beta, F = np.zeros(train.dense_Y.shape, LONG), rows.outputs()
    for k in np.flatnonzero(positive.any(axis=0) & negative.any(axis=0)):
        up, down, w = positive[:, k], negative[:, k], rows.W[:, k]
        cap = C / (int(up.sum()) * int(down.sum()))
        primal = (w**2).sum() / 2 + cap * _row_pairs(F[:, k], up, down)
        enough = float(primal) * (1.0 - 0.9 * claimed)
        beta[:, k] = pair_shares(rows.X, up, down, float(cap), w.astype(np.float64), enough).sums
    return beta


def _row_pairs(scores: LongArray, up: BoolArray, down: BoolArray) -> Any:
    return sum((np.maximum(LONG(0), 1 - (score - scores[down])).sum() for score in scores[up]), LONG(0))


def certify_binary(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Machines of single labels, with the hinge or the squared hinge loss."""
    positive, negative = _sides(train)
    rows, b, C = rows_of(model, train.X), model.intercept.astype(LONG), LONG(solver.C)
    signs = np.where(positive, LONG(1), np.where(negative, LONG(-1), LONG(0)))
    mixed = positive.any(axis=0) & negative.any(axis=0)
    slack = np.maximum(LONG(0), 1 - signs * (rows.outputs() + b)) * (signs != 0) * mixed
    squared = solver.loss == "squared_hinge"
    augmented = squared or solver.bias == "augmented"
    # What a unit of loss costs, in units of C.
    costs = np.where(positive, LONG(solver.positive_weight), LONG(1))
    zero = C * (costs * (signs != 0))[:, mixed].sum()
    primal = np.trace(rows.inner()) / 2 + C * (costs * (slack**2 if squared else slack)).sum()
    if augmented:
        primal += (b[mixed] ** 2).sum() / 2
    beta = dual_of(model, train.dense_Y.shape)
    if beta is None:
        return gap_proof(primal, None, zero)
    alpha = np.maximum(np.where(mixed, signs * beta, 0), 0)
    if not augmented:
        up, down = _point(beta, positive & mixed, negative & mixed)
        alpha = up + down
    over = 0.0 if squared else float((alpha / costs).max() / C - 1)
    if over > EXCESSES[-1]:
        return Proof(float(primal), float("inf"), GAP, BROKEN, float(zero))
    squares = np.diagonal(rows.spanned(signs * alpha)).copy()
    if augmented:
        squares += (signs * alpha).sum(axis=0) ** 2
    if squared:
        squares += (alpha**2 / costs).sum(axis=0) / (2 * C)
    most = np.inf if squared else 1.0
    dual = sum((part_of(alpha[:, k].sum(), squares[k], most) for k in np.flatnonzero(mixed)), LONG(0))
    return gap_proof(primal, dual / (1 + LONG(max(over, 0.0))), zero)
