"""Efficient multi-label ranking (MLR) by block coordinate ascent.

Problem (Bucak, Mallapragada, Jin and Jain, "Efficient multi-label ranking for multi-class learning", ICCV 2009, eq.
13), with y_ik = +1 for the relevant labels of example i and -1 for the others::

    max_alpha  sum_ik alpha_ik - 1/2 sum_k sum_ij K(x_i, x_j) y_ik y_jk alpha_ik alpha_jk,
               0 <= alpha_ik <= C,   sum_k y_ik alpha_ik = 0 for each i,       f_k(x) = sum_i y_ik alpha_ik K(x_i, x)

It is the dual, which the paper does not give, of ranking by thresholds, one for each example::

    min_f  1/2 sum_k |f_k|^2 + C sum_i min_t sum_k max(0, 1 - y_ik (f_k(x_i) - t))

`optimality` is the relative duality gap (primal - dual) / primal of these two, computed from scratch in double
precision, and `objective` the primal value. One iteration is one pass over the examples, in random order, new every
time: the printed order needs ten times as many. Each visit solves the block of an example exactly (kernels.py).

The paper prints eq. 14 to 16 with a factor 1/2 on the cross term, y f alpha, which does not follow from eq. 13: as
printed, the iteration converges to eq. 13 with the kernel (K + diag K) / 2. `halve=True` does so; objective and
certificate then are those of that problem, and `notes` tells the gap that is left in eq. 13 itself.

formulation="exact" solves problem (4), of which eq. 13 is the paper's approximation: alpha_ik then is the sum of a row
or column of pair variables 0 <= Z_kl <= C, and the loss of an example is sum max(0, 2 - (f_k - f_l)) over its pairs of
a relevant label k and an irrelevant one l. Its optimum is at least that of eq. 13.

`correlation` = s above 0 couples labels (the paper's future work; not in it): with R = (1 - s) I + s P, P the cosines
between the label columns of the training set, f = (sum_i beta_i K(x_i, .)) R shares evidence among labels that occur
together, and |f|^2 is measured by the inverse of R.

Examples with all labels or none hold no constraint between labels, their alpha is 0; nor does a label that is not known
of an example, which takes part in none of its sums and pairs. The linear kernel is solved in the
space of features and never forms a matrix of examples; other kernels share distances over C and gamma.

With the linear kernel, problems of more than 3*10^7 rows times labels, or 10^6 if labels are held sparse, take memory
for the dual variables that are not zero alone (packed.py).

A few leading directions of the rows are swept with their moments cut down (rows.py): small gammas, and features
with a common mean, otherwise take ten times as many passes. With `tol` of 1e-4 or above, sweeps over a kernel matrix
read it in single precision.

Cost of a pass: O(n^2 K), or O(nnz K) if linear. Memory: 20 to 31 bytes for each pair of examples, beside the features.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from mlrank.arrays import FloatArray, read_only
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.exact import long_kernel
from mlrank.kernels.rows import KernelRows
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_kernel,
    check_not_negative,
    check_positive,
    relative_gap,
)
from mlrank.solvers.mlr.interior import GivenExamples, fits, solve_inside
from mlrank.solvers.mlr.labels import Labels
from mlrank.solvers.mlr.packed import CHUNK_CELLS, PackedLabels, PackedSweeps, judged_packed
from mlrank.solvers.mlr.rows import (
    GRAM_BOUNDS,
    LINEAR_BOUNDS,
    NO_BOUNDS,
    GramRows,
    LinearRows,
    RankingProblem,
    label_mix,
)
from mlrank.solvers.models import DualPoint, KernelModel, LinearModel
from mlrank.solvers.scales import scale_notes

__all__ = [
    "Ascent",
    "MultiLabelRanking",
    "ascend",
]

# A round never runs more passes than this without a new estimate.
LONGEST_ROUND = 10
# Single precision is left for good after so many certificates that did not confirm the estimate, or so many estimates
# in a row that were no better than the best before: they may be rounding.
DISAPPOINTMENTS = 2
STALE = 5


class Ascent(NamedTuple):
    """Where an ascent ended: the state of the sweeps, after a certificate, and its values."""

    sweeps: Any
    primal: float
    dual: float
    n_iter: int

    @property
    def optimality(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return relative_gap(self.primal, self.dual)


def ascend(sweeps: Any, tol: float, max_iter: int, seed: int) -> Ascent:
    """Solve to relative duality gap `tol`, or as far as `max_iter` passes go."""
    rng, n_iter, disappointments, best, stale = np.random.default_rng(seed), 0, 0, np.inf, 0
    while True:
        primal, dual = sweeps.estimate()
        best, stale = (primal - dual, 0) if primal - dual < best else (best, stale + 1)
        ended = primal - dual <= tol * primal or n_iter >= max_iter
        if ended or (sweeps.single and stale >= STALE):
            primal, dual = sweeps.certify()
            if primal - dual <= tol * primal or n_iter >= max_iter:
                return Ascent(sweeps, primal, dual, n_iter)
            # Estimates of a part of the examples say nothing of rounding when they fail.
            disappointments += sweeps.whole
            sweeps.refresh(sweeps.single and ended and disappointments < DISAPPOINTMENTS)
        if n_iter > 0:
            sweeps.tops.adapt(primal - dual)
        visits = sweeps.choose()
        for _ in range(min(max(1, n_iter // sweeps.estimates), LONGEST_ROUND, max_iter - n_iter)):
            sweeps.sweep(rng.permutation(visits))
            n_iter += 1


class Ranked(NamedTuple):
    """A solution and its certificate; `coefficients` (n_features or n_samples, n_labels), before labels are mixed.

    `beta` (n_samples, n_labels) is the dual point, None if it was not kept.
    """

    coefficients: FloatArray
    beta: FloatArray | None
    primal: float
    dual: float
    n_iter: int
    notes: tuple[str, ...] = ()

    @property
    def optimality(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return relative_gap(self.primal, self.dual)


# After so many passes another method is tried.
PATIENCE = 1000
CHOICES: dict[str, tuple[str, ...]] = {
    "formulation": ("approximate", "exact"),
    "bias": ("none", "augmented"),
    "C_convention": ("eq4", "eq2"),
}
# With a larger tolerance than this, sweeps may read the kernel matrix in single precision.
SINGLE_FROM = 1e-4
# From so many cells of rows by labels on, zeros among the dual variables are not stored.
MANY_CELLS = 1 << 25
# Over all rows and labels, as the cost model counts them.
PASSES = 30.0
# Factor from C of eq. 2 to the C of eq. 4 and 13 with which they rank alike.
PAIRS_OF_EQ_2 = 4.0


class Kept:
    """Training rows under a kernel, and the kernel matrix of the last gamma that was asked for."""

    def __init__(self, rows: KernelRows, bias: bool, halve: bool) -> None:
        self.rows, self.bias, self.halve = rows, bias, halve
        self.last: tuple[float, GramRows] | None = None

    def gram(self, gamma: float) -> GramRows:
        """Return the kernel matrix for `gamma`."""
        if self.last is None or self.last[0] != gamma:
            self.last = None  # make room first
            K = self.rows.gram(gamma)
            if self.bias:
                K = K + 1.0
            if self.halve:
                K = 0.5 * (K + np.diag(np.diag(K)))
            self.last = gamma, GramRows(read_only(K), NO_BOUNDS if self.halve else GRAM_BOUNDS)
        return self.last[1]


@dataclass(frozen=True)
class MultiLabelRanking:
    """Multi-label ranking (eq. 13).

    Use it where rows are histograms, or another kernel suits them, and the order of a row's labels matters.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0. It multiplies a sum over examples.
    kernel : str
        linear, rbf, polynomial, chi2 or additive_chi2; or precomputed: the rows of X then are those of the kernel
        matrix. The paper's is "chi2", on histograms that sum to 1 (`scale: l1`).
    gamma, degree, coef0 : float, int, float
        Of the kernel: exp(-gamma D) for rbf and chi2, (gamma x'z + coef0)^degree for polynomial. The paper's
        sigma is read as gamma; with a factor 1/2 in D the same kernels have gammas half as large.
    formulation : {"approximate", "exact"}
        Eq. 13, or problem (4).
    halve : bool
        For the paper's sake: iterate eq. 14 to 16 as printed.
    bias : {"none", "augmented"}
        None, as in the paper, or a penalized one for each label, K + 1.
    correlation : float
        Smoothing over labels that occur together, from 0 (none) to below 1.
    C_convention : {"eq4", "eq2"}
        Whose C is given: that of eq. 4 and 13, or that of eq. 2, a quarter of it.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most passes over the examples.
    seed : int
        Of the order of visits.

    References
    ----------
    Bucak, Mallapragada, Jin and Jain, "Efficient multi-label ranking for multi-class learning", ICCV 2009.
    """

    C: float = 1.0
    kernel: str = "chi2"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    formulation: str = "approximate"
    halve: bool = False
    bias: str = "none"
    correlation: float = 0.0
    C_convention: str = "eq4"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "degree", "coef0", "halve", "bias")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    SPARSE_LABELS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        check_not_negative(self, "correlation")
        check_kernel(self, precomputed=True)
        check_choices(self, CHOICES)
        if self.correlation >= 1:
            raise ValueError(f"correlation must be below 1, found {self.correlation:g}")
        if not isinstance(self.halve, bool):
            raise ValueError(f"halve must be true or false, found {self.halve!r}")
        if self.halve and (self.formulation == "exact" or self.correlation > 0):
            other = "formulation 'exact'" if self.formulation == "exact" else f"correlation {self.correlation:g}"
            raise ValueError(f"halve is of eq. 14 to 16 as printed, which solve eq. 13 alone; found {other}")

    def canonical(self) -> "MultiLabelRanking":
        """Return the solver with what has no effect at its default: constants of other kernels."""
        return canonical(self)

    def prepare(self, train: TrainingSet) -> Kept | LinearRows:
        """Return the rows as they are swept; distances and directions are the same for every C."""
        biased = self.bias == "augmented"
        if self.kernel == "linear":
            return LinearRows(train.X, biased, *((0.5, NO_BOUNDS) if self.halve else (1.0, LINEAR_BOUNDS)))
        return Kept(KernelRows(train.X, self.kernel, self.degree, self.coef0), biased, self.halve)

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        if self.kernel == "linear":
            return PASSES * density * n_samples * n_features * n_labels, 8.0 * n_features * n_labels
        return float(n_samples) ** 2 * (n_features + 10.0 * n_labels), 31.0 * n_samples**2

    def fit(self, train: TrainingSet, prepared: Kept | LinearRows | None = None) -> LinearModel | KernelModel:
        """Solve the problem on `train`.

        Raises
        ------
        ValueError
            If no example has both a relevant and an irrelevant label, the kernel is not defined for the rows, or a
            precomputed one is none.
        """
        C = self.C * (PAIRS_OF_EQ_2 if self.C_convention == "eq2" else 1.0)
        if self._packs(train):
            packed = PackedLabels(train.Y, train.known)
            ready = self.prepare(train) if prepared is None else prepared
            ranked = self._packed(cast(LinearRows, ready), packed, C)
            coefficients = ranked.coefficients
        else:
            labels = Labels.of(train.dense_Y, self.formulation == "exact", train.known)
            ready = self.prepare(train) if prepared is None else prepared
            problem = RankingProblem(labels, C, label_mix(train.dense_Y, self.correlation))
            rows = ready if isinstance(ready, LinearRows) else ready.gram(self.gamma)
            ranked = self._solved(rows, problem, train)
            coefficients = problem.mixed(ranked.coefficients)
        converged = ranked.optimality <= self.tol
        notes = ranked.notes + scale_notes(train, converged)
        info = FitInfo(ranked.n_iter, ranked.primal, ranked.optimality, converged, notes)
        if prepared is None and isinstance(ready, Kept):
            ready.rows.forget()
        model = self._model(coefficients, ready, info)
        return model if ranked.beta is None else replace(model, dual_point=DualPoint.of(ranked.beta))

    def _packs(self, train: TrainingSet) -> bool:
        """Whether zeros among the dual variables are not stored: of very many labels, in the paper's own problem."""
        plain = self.formulation == "approximate" and self.correlation == 0.0 and not self.halve
        most = CHUNK_CELLS if train.has_sparse_labels else MANY_CELLS
        return self.kernel == "linear" and plain and train.n_samples * train.n_labels > most

    def _packed(self, rows: LinearRows, labels: PackedLabels, C: float) -> Ranked:
        ascent = ascend(PackedSweeps(rows, labels, C), self.tol, self.max_iter, self.seed)
        sweeps: PackedSweeps = ascent.sweeps
        few = labels.shape[0] * labels.shape[1] <= MANY_CELLS
        beta = sweeps.beta() if few else None
        return Ranked(sweeps.coefficients, beta, *judged_packed(sweeps), ascent.n_iter)

    def _solved(self, rows: GramRows | LinearRows, problem: RankingProblem, train: TrainingSet) -> Ranked:
        """Solve by passes, or where many do not do, by an interior-point method; judge by the examples as given."""
        if self.halve:
            return self._halved(rows, problem, train)
        X, gram = (rows.K, True) if isinstance(rows, GramRows) else (rows.X, False)
        given = GivenExamples(X, gram, partial(self._exact, train), problem)
        first = min(self.max_iter, PATIENCE) if fits(given) else self.max_iter
        ranked = self._passes(rows, given, first)
        if ranked.optimality <= self.tol or not fits(given) or self.max_iter < PATIENCE:
            return ranked
        coefficients, beta, n_iter = solve_inside(given, 0.5 * self.tol)
        inside = Ranked(coefficients, beta, *given.values(coefficients, beta), ranked.n_iter + n_iter)
        if inside.optimality > self.tol and self.max_iter > first:
            ranked = self._passes(rows, given, self.max_iter)
        return min(inside, ranked, key=lambda one: one.optimality)

    def _halved(self, rows: GramRows | LinearRows, problem: RankingProblem, train: TrainingSet) -> Ranked:
        """Solve by passes alone, as printed."""
        ascent = ascend(rows.sweeps(problem, self.tol >= SINGLE_FROM), self.tol, self.max_iter, self.seed)
        coefficients, beta = ascent.sweeps.coefficients, ascent.sweeps.beta
        values = ascent.primal, max(ascent.dual, 0.0)
        if isinstance(rows, GramRows):
            values = GivenExamples(rows.K, True, partial(self._exact, train), problem).values(coefficients, beta)
        return Ranked(coefficients, beta, *values, ascent.n_iter, (_gap_of_eq_13(ascent, problem),))

    def _passes(self, rows: GramRows | LinearRows, given: GivenExamples, max_iter: int) -> Ranked:
        sweeps = rows.sweeps(given.problem, self.tol >= SINGLE_FROM)
        ascent = ascend(sweeps, self.tol, max_iter, self.seed)
        coefficients, beta = ascent.sweeps.coefficients, ascent.sweeps.beta
        return Ranked(coefficients, beta, *given.values(coefficients, beta), ascent.n_iter)

    def _exact(self, train: TrainingSet) -> Any:
        K = long_kernel(Kernel.of(self), train.X)
        if K is not None and self.bias == "augmented":
            K = K + 1.0
        return K if K is None or not self.halve else 0.5 * (K + np.diag(np.diag(K)))

    def _model(self, coefficients: FloatArray, ready: Kept | LinearRows, info: FitInfo) -> LinearModel | KernelModel:
        if isinstance(ready, Kept):
            intercept = coefficients.sum(axis=0) if ready.bias else np.zeros(coefficients.shape[1])
            return KernelModel.of(ready.rows, coefficients.T, intercept, self.gamma, info)
        coef = np.ascontiguousarray(coefficients.T)
        if self.bias == "none":
            return LinearModel(coef, np.zeros(len(coef)), info)
        return LinearModel(np.ascontiguousarray(coef[:, :-1]), coef[:, -1].copy(), info)


def _gap_of_eq_13(ascent: Ascent, problem: RankingProblem) -> str:
    """Say what the certificate of the printed iteration is of, and what is left of the gap of eq. 13."""
    sweeps = ascent.sweeps
    outputs: FloatArray = 2.0 * sweeps.plain - sweeps.rows.diagonal[:, None] * sweeps.beta
    square = float(np.vdot(outputs, sweeps.beta))
    primal, dual = problem.objectives(outputs, square, square, sweeps.beta)
    gap = relative_gap(primal, dual)
    kernel = "the certificate is of eq. 13 with the kernel (K + diag K) / 2, which eq. 14 to 16 as printed solve"
    return f"{kernel}; it does not apply to eq. 13 itself, whose relative gap is {gap:.2g}"
