"""SVM-perf with the ROC-area loss: one machine for each label, which ranks the rows by how likely they carry it.

Problem of a label with P positive and N negative rows and scores s = f(x), without bias (the area ignores it)::

    min_w  P(w) = 1/2 |w|^2 + C/(P N) sum_{i positive, j negative} max(0, 1 - (s_i - s_j))

Each choice of pairs to swap gives a plane below the loss, and the choice of all pairs that violate the margin touches
it; that one is found by sorting, O(n log n) (Joachims, "A support vector method for multivariate performance measures",
ICML 2005, algorithm 3; its differences of scores are half as large as here, and so are its steps). With the planes
(c_t, Delta_t) found so far, the dual is::

    max_alpha  D(alpha) = sum_t alpha_t Delta_t - 1/2 |sum_t alpha_t sum_i c_ti phi(x_i)|^2
    subject to  alpha >= 0,  sum alpha <= C

(one slack variable: Joachims, Finley & Yu, "Cutting-plane training of structural SVMs", Machine Learning 77, 2009).
Planes are taken near the best point seen, found by a line search towards the minimum of the model (Franc & Sonnenburg,
"Optimized cutting plane algorithm for large-scale risk minimization", JMLR 10, 2009): 2 to 20 times fewer than at the
minimum itself, which `planes="model"` does as the published program.

`objective` is the sum of P over labels, and `optimality` the relative duality gap of that sum; each label stops at its
own. `n_iter` counts planes of all labels. Labels are searched side by side, so that each round costs one product of
the rows with as many vectors as there are unfinished labels.

A label that every row carries, or none, has no pair: its score is the constant +1 or -1. Rows of which a label is not
known are in none of its pairs. Only differences within a label enter, so scores of different labels are not on one
scale: whoever ranks the labels of a row by them may want `calibrate`.

Cost of a round: 4 (nonzeros) k for the linear kernel, 2 n^2 k for others, whose kernel matrix is shared over labels and
C. Memory: for each plane of a label two vectors of n numbers, or one of n_features where that is less.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, as_dense
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.exact import ACCURACY, EPS, LONGER, expansion_error, expansion_square, long_expansion, long_kernel
from mlrank.kernels.factor import factor_gram
from mlrank.kernels.rows import KernelRows
from mlrank.linalg.sums import column_offsets, less_offsets, scores_of
from mlrank.solvers.base import (
    WHOLE,
    Block,
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_kernel,
    check_positive,
    relative_gap,
)
from mlrank.solvers.models import DualPoint, KernelModel, LinearModel
from mlrank.solvers.scales import scale_notes
from mlrank.solvers.svm_perf.interior import solve_inside
from mlrank.solvers.svm_perf.planes import LabelSearch, LabelSolution, PrimalPoint, Side, swapped

__all__ = [
    "SVMPerfROC",
    "log_odds",
    "search_labels",
]

STEPS = 100
SLOPE_TOL = 1e-10


def log_odds(scores: FloatArray, positive: BoolArray) -> tuple[float, float]:
    """Return (a, b) such that a s + b are the log-odds of being positive.

    They minimize the logistic loss of the scores (n_samples,) against targets drawn in from 1 and 0 to (P + 1)/(P + 2)
    and 1/(N + 2), which keeps them finite where the scores separate the classes (Platt, "Probabilistic outputs for
    support vector machines", 1999), by Newton's method with halved steps.
    """
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # In units of the spread of the scores, both unknowns are of about size 1.
    center, spread = float(scores.mean()), float(scores.std()) or 1.0
    features = np.column_stack([(scores - center) / spread, np.ones(scores.size)])
    point = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    loss = _loss(features @ point, target)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(features @ point)))
        slope = features.T @ (chance - target)
        if np.abs(slope).max() <= SLOPE_TOL * scores.size:
            break
        bend = (features.T * (chance * (1 - chance))) @ features + 1e-12 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        part = 1.0
        while (found := _loss(features @ (point - part * step), target)) > loss and part > 1e-10:
            part /= 2
        point, loss = point - part * step, min(found, loss)
    return float(point[0] / spread), float(point[1] - point[0] * center / spread)


def _loss(odds: FloatArray, target: FloatArray) -> float:
    return float(np.sum(np.logaddexp(0.0, odds) - target * odds))


# What C is multiplied by: the published program counts the loss in percent of the pairs.
C_CONVENTION = {"perf": 100.0, "unit": 1.0}
PLANES = ("line_search", "model")
# After so many planes another method is asked; where it cannot help, planes times rows end here.
PATIENCE, PLANES_OF_ROWS = 200, 5e6
# Sparse rows of at most so many cells are made dense for it.
DENSE_CELLS = 10**7
# By so much, relative, may a bound exceed the objective.
ROUNDING = 1e-9
# Labels searched side by side.
LABELS_AT_ONCE = 32


@dataclass(frozen=True)
class Products:
    """Products with the rows of the training set, as the search needs them.

    Parameters
    ----------
    X : the rows, for the linear kernel
    gram : their kernel matrix, or None where products with X cost less
    by_weights : whether vectors of n_features are kept for each plane, not two of n_samples
    exact : () -> the kernel matrix in long doubles, or None; asked where rounding shows
    """

    X: Features
    gram: FloatArray | None
    by_weights: bool
    exact: Callable[[], Any] = lambda: None

    @property
    def start(self) -> PrimalPoint:
        """The point w = 0."""
        size = self.X.shape[1] if self.by_weights else self.X.shape[0]
        zeros = np.zeros(size)
        return PrimalPoint(zeros, zeros if self.by_weights else np.zeros(size), np.zeros(self.X.shape[0]))

    def scores(self, coef: FloatArray) -> FloatArray:
        """Return the scores of the rows for weights or coefficients."""
        if self.by_weights:
            return scores_of(self.X, coef[None], np.zeros(1), column_offsets(self.X))[:, 0]
        return np.asarray(self.gram @ coef if self.gram is not None else self.X @ (self.X.T @ coef))

    def directions(self, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coef and image of sum_i c_i phi(x_i), one row for each column of `C`."""
        if self.by_weights:
            weights = np.ascontiguousarray((self.X.T @ C).T)
            return weights, weights
        image = self.gram @ C if self.gram is not None else self.X @ (self.X.T @ C)
        return np.ascontiguousarray(C.T), np.ascontiguousarray(image.T)

    def points(self, found: list[tuple[FloatArray, FloatArray]]) -> Iterator[PrimalPoint]:
        """Give each (coef, image) its scores."""
        if not self.by_weights:
            return (PrimalPoint(coef, image, image) for coef, image in found)
        scores = np.ascontiguousarray((self.X @ np.column_stack([coef for coef, _ in found])).T)
        return (PrimalPoint(coef, image, row) for (coef, image), row in zip(found, scores, strict=True))


class SolvedLabels(NamedTuple):
    """What a block of labels came to: solutions, and for each label the weights or coefficients and the intercept."""

    labels: list[int]
    solutions: list[LabelSolution]
    scaled: list[tuple[FloatArray, float]]
    by_weights: bool


def search_labels(searches: list[LabelSearch], products: Products, max_planes: int) -> None:
    """Search labels side by side until each has reached its gap or `max_planes`, or is stuck."""
    active = [search for search in searches if search.optimality > search.tol]
    while active:
        coefs, images = products.directions(np.column_stack([search.c for search in active]))
        for search, coef, image in zip(active, coefs, images, strict=True):
            search.add_plane(coef, image)
        lowest = products.points([search.model_minimum() for search in active])
        for search, point in zip(active, lowest, strict=True):
            search.go_on(point)
        active = [search for search in active if search.optimality > search.tol and search.n_planes < max_planes]
        active = [search for search in active if not search.stuck]


@dataclass(frozen=True)
class SVMPerfROC:
    """One machine for each label, trained for the area under its ROC curve.

    Use it where each label is judged by the area under its ROC curve (auc_macro).

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    kernel : str
        linear, rbf, polynomial, chi2 or additive_chi2; or precomputed: the rows of X then are those of the kernel
        matrix.
    gamma, degree, coef0 : float, int, float
        Of the kernel: exp(-gamma D) for rbf and chi2, (gamma x'z + coef0)^degree for polynomial.
    C_convention : {"perf", "unit"}
        Whether C multiplies the percentage of pairs, as in the published program, or their part, as in the equation
        above.
    planes : {"line_search", "model"}
        Where planes are taken: near the best point seen, or at the minimum of the model as in the published program.
        The solution is the same.
    calibrate : bool
        Whether the scores of each label are turned into log-odds, by a line fitted to those of the training rows.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most planes for one label.

    References
    ----------
    Joachims, "A support vector method for multivariate performance measures", ICML 2005. Joachims, Finley and Yu,
    "Cutting-plane training of structural SVMs", Machine Learning 77 (2009).
    """

    C: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    C_convention: str = "perf"
    planes: str = "line_search"
    calibrate: bool = False
    tol: float = 1e-3
    max_iter: int = 5000

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "degree", "coef0")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        check_kernel(self, precomputed=True)
        check_choices(self, {"C_convention": C_CONVENTION, "planes": PLANES})

    def canonical(self) -> "SVMPerfROC":
        """Return the solver with what has no effect at its default: constants of other kernels."""
        return canonical(self)

    def prepare(self, train: TrainingSet) -> Products | KernelRows:
        """Return what makes kernel matrices for every gamma, or how products with the rows are best taken."""
        X = train.X
        if self.kernel != "linear":
            return KernelRows(X, self.kernel, self.degree, self.coef0)
        nonzeros = X.nnz if hasattr(X, "nnz") else X.size
        if train.n_samples**2 <= 2 * nonzeros:
            return Products(X, Kernel()(X, X), by_weights=False)
        return Products(X, None, by_weights=train.n_features <= 2 * train.n_samples)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set, for some 50 planes."""
        side = min(n_features, 2 * n_samples) * 8.0 * 50 * min(n_labels, LABELS_AT_ONCE)
        if self.kernel == "linear":
            return 50.0 * n_samples * n_features * n_labels, side
        # The kernel matrix, and the distances that it is made of.
        return float(n_samples) ** 2 * (n_features + 50 * n_labels), 24.0 * n_samples**2 + side

    def fit(self, train: TrainingSet, prepared: Products | KernelRows | None = None) -> LinearModel | KernelModel:
        """Fit one machine for each label of `train`.

        Raises
        ------
        ValueError
            If the kernel is not defined for the rows, or a precomputed one is none.
        """
        ready = self.prepare(train) if prepared is None else prepared
        part = self._solve(train, WHOLE, ready, prepared is None)
        return self._joined(train, [part], ready)

    def fit_block(
        self, train: TrainingSet, block: Block, prepared: Products | KernelRows | None = None
    ) -> SolvedLabels:
        """Return the solutions of a block of labels; see `fit`."""
        return self._solve(train, block, self.prepare(train) if prepared is None else prepared, prepared is None)

    def join(self, train: TrainingSet, parts: Sequence[SolvedLabels]) -> LinearModel | KernelModel:
        """Return the model of the solutions of all blocks."""
        if self.kernel == "linear":
            return self._joined(train, parts, None)
        rows = KernelRows(train.X, self.kernel, self.degree, self.coef0, keep_bases=False)
        return self._joined(train, parts, rows)

    def _solve(self, train: TrainingSet, block: Block, ready: Products | KernelRows, forget: bool) -> SolvedLabels:
        """Solve a block of labels; what kernel matrices are made of is forgotten where nobody else needs it."""
        products = self._products(train, ready)
        if forget and isinstance(ready, KernelRows):
            ready.forget()
        positive, negative = _sides(train)
        mixed = np.flatnonzero(positive.any(axis=0) & negative.any(axis=0))
        groups = [mixed[first : first + LABELS_AT_ONCE] for first in block.of(range(0, mixed.size, LABELS_AT_ONCE))]
        solutions: list[LabelSolution] = []
        scaled: list[tuple[FloatArray, float]] = []
        for labels in groups:
            found = [self._search(positive[:, label], negative[:, label], products) for label in labels]
            search_labels(found, products, min(self.max_iter, PATIENCE))
            for search in found:
                self._judge(search, products)
                if search.optimality > self.tol and (search.stuck or self.max_iter > PATIENCE):
                    self._solve_inside(search, products)
            most = self._most_planes(train)
            search_labels([one for one in found if one.n_planes < most and not one.stuck], products, most)
            for search in found:
                self._judge(search, products)
            scaled += [self._scaled(search) for search in found]
            solutions += [search.solution for search in found]
        return SolvedLabels(
            [int(label) for labels in groups for label in labels], solutions, scaled, products.by_weights
        )

    def _joined(
        self, train: TrainingSet, parts: Sequence[SolvedLabels], ready: Products | KernelRows | None
    ) -> LinearModel | KernelModel:
        positive, negative = _sides(train)
        # A label without negative rows is always there; one that is known of no row is not.
        intercept = np.where(negative.any(axis=0), -1.0, np.where(positive.any(axis=0), 1.0, -1.0))
        by_weights = parts[0].by_weights
        coef = np.zeros((train.n_labels, train.n_features if by_weights else train.n_samples))
        solved = sorted(
            (one for part in parts for one in zip(part.labels, part.solutions, part.scaled, strict=True)),
            key=lambda one: one[0],
        )
        for label, _, scaled in solved:
            coef[label], intercept[label] = scaled
        info = self._info([solution for _, solution, _ in solved], train)
        point = None
        if not by_weights:  # else planes know their weights alone: their rows would cost more than the fit
            beta = np.zeros((train.n_samples, train.n_labels))
            for label, solution, _ in solved:
                beta[:, label] = solution.dual_coef
            point = DualPoint.of(beta)
        if isinstance(ready, KernelRows):
            return replace(KernelModel.of(ready, coef, intercept, self.gamma, info), dual_point=point)
        weights = coef if by_weights else _weights(train.X, coef)
        return LinearModel(weights, intercept, info, dual_point=point)

    def _search(self, positive: BoolArray, negative: BoolArray, products: Products) -> LabelSearch:
        side = Side(np.flatnonzero(positive), np.flatnonzero(negative))
        C = self.C * C_CONVENTION[self.C_convention]
        return LabelSearch(side, products.start, C, self.tol, self.planes == "line_search")

    def _products(self, train: TrainingSet, ready: Products | KernelRows) -> Products:
        if isinstance(ready, Products):
            return ready
        return Products(train.X, ready.gram(self.gamma), False, partial(long_kernel, Kernel.of(self), train.X))

    def _most_planes(self, train: TrainingSet) -> int:
        """Return how many planes a label may have: fewer where each takes long."""
        return min(self.max_iter, max(PATIENCE, int(PLANES_OF_ROWS / train.n_samples)))

    def _judge(self, search: LabelSearch, products: Products) -> None:
        """Compute the objective of the best weights from scratch; a bound above it is rounding, and no bound."""
        coef = search.best.coef
        if products.by_weights:
            # The loss is of differences of rows, which the offsets of features leave alone.
            scores = np.asarray(less_offsets(products.X, column_offsets(products.X)) @ coef)
            square = float(coef @ coef)
        else:
            scores = products.scores(coef)
            square = float(coef @ scores)
        search.primal = self._value(search, square, scores)
        if products.gram is not None:
            off = expansion_error(products.gram, coef) * float(np.abs(coef).sum() + 2.0 * search.C)
            if off > ACCURACY * search.primal:
                # The planes are of products that have lost these digits as well, and more of them lead nowhere.
                search.stuck = True
                search.dual, search.dual_coef = _bound(products, search.dual_coef)
                if (K := products.exact()) is not None:
                    self._judge_long(search, long_expansion(K, coef), np.abs(products.gram) @ np.abs(coef))
        if not search.dual <= search.primal * (1.0 + ROUNDING):
            search.dual = 0.0

    def _judge_long(self, search: LabelSearch, scores: Any, terms: FloatArray) -> None:
        """Compute the objective by scores in long doubles; weights of which nothing is known give way to zero.

        `terms` are what scores are sums of, by their size: rounding may lower those of positive rows, and raise others.
        """
        coef, lost = search.best.coef, len(terms) * EPS * LONGER * terms
        square = float((coef * scores).sum())
        scores = scores - np.sort(scores)[len(scores) // 2]  # the loss is of differences, which doubles may not hold
        search.primal = self._value(search, square, scores.astype(np.float64))
        worst = scores + lost
        worst[search.side.positive] -= 2.0 * lost[search.side.positive]
        most = self._value(search, square + float(np.abs(coef) @ lost), worst.astype(np.float64))
        if not most - search.primal <= ACCURACY * search.primal:
            zeros, nothing = np.zeros_like(coef), np.zeros_like(terms)
            search.best, search.primal = PrimalPoint(zeros, nothing, nothing), search.C

    def _value(self, search: LabelSearch, square: float, scores: FloatArray) -> float:
        c, delta = swapped(scores, search.side)
        return 0.5 * square + search.C * max(0.0, delta - float(c @ scores))

    def _solve_inside(self, search: LabelSearch, products: Products) -> None:
        """Put the solution of the interior-point method in place of the planes', where it is nearer to the optimum."""
        basis = None
        if products.by_weights or products.gram is None:
            if products.X.shape[0] * products.X.shape[1] > DENSE_CELLS:
                return
            Z = as_dense(products.X)
        else:
            Z, _, basis = factor_gram(np.array(products.gram))
        solved = solve_inside(Z, search.side, search.C, 0.5 * self.tol)
        if solved is None:
            return
        weights, c, total, n_iter = solved
        if products.by_weights:
            coef, V = weights, np.asarray((products.X - np.median(Z, axis=0)).T @ c if Z is products.X else Z.T @ c)
            bound = total - 0.5 * float(V @ V)
        else:
            coef = c if basis is None else basis @ weights
            bound, c = _bound(products, c)
        scores = products.scores(coef)
        best, before, primal = search.best, search.dual, search.primal
        search.best = PrimalPoint(coef, coef if products.by_weights else scores, scores)
        self._judge(search, products)
        if not 0.0 <= search.primal <= primal:  # below 0 is rounding
            search.best, search.primal = best, primal
        if bound > before and not products.by_weights:
            search.dual_coef = c
        search.dual, search.n_planes = max(before, bound), search.n_planes + n_iter
        self._judge(search, products)

    def _scaled(self, search: LabelSearch) -> tuple[FloatArray, float]:
        """Return the coefficients and the intercept of a label."""
        if not self.calibrate:
            return search.best.coef, 0.0
        rows = np.concatenate([search.side.positive, search.side.negative])
        positive = np.arange(rows.size) < search.side.positive.size
        slope, intercept = log_odds(search.best.scores[rows], positive)
        return slope * search.best.coef, intercept

    def _info(self, solutions: list[LabelSolution], train: TrainingSet) -> FitInfo:
        primal = sum(solution.primal for solution in solutions)
        gap = relative_gap(primal, sum(solution.dual for solution in solutions))
        notes = scale_notes(train, gap <= self.tol)
        return FitInfo(sum(solution.n_planes for solution in solutions), primal, gap, gap <= self.tol, notes)


def _bound(products: Products, c: FloatArray) -> tuple[float, FloatArray]:
    """Return the bound of the best part of the dual point c = sum of pairs' variables (e_i - e_j), and that part."""
    total = float(np.maximum(c, 0.0).sum())
    square = float(c @ products.scores(c))
    if products.gram is not None:
        square = expansion_square(products.gram, c, total, products.exact)
    if not np.isfinite(square):
        return 0.0, 0.0 * c
    part = min(1.0, total / square) if square > 0 else 1.0
    return part * total - 0.5 * part**2 * square, part * c


def _sides(train: TrainingSet) -> tuple[BoolArray, BoolArray]:
    """Return which rows have a label, and of which it is known that they have not."""
    absent: BoolArray = ~train.dense_Y if train.known is None else ~train.dense_Y & train.known
    return train.dense_Y, absent


def _weights(X: Features, coef: FloatArray) -> FloatArray:
    """Return the weights (n_labels, n_features) of coefficients of the rows."""
    return np.ascontiguousarray((X.T @ coef.T).T)
