"""Rank-SVM by dual coordinate descent, or by Frank and Wolfe's method.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 9; Elisseeff & Weston,
NIPS 2001), with relevant labels y_i and irrelevant labels z_i of row i::

    min_W  P(W) = 1/2 sum_p |w_p|^2 + C sum_i 1/(|y_i||z_i|) sum_{p in y_i, q in z_i} max(0, 1 - (w_p - w_q)'x_i)

The dual has one variable for each pair, 0 <= alpha_ipq <= C/(|y_i||z_i|), and with beta of eq. 15 and W = beta'X::

    max_alpha  D(alpha) = sum alpha - 1/2 sum_p |w_p|^2

`optimality` is the relative duality gap (P - D) / P, computed from scratch in double precision; the solver stops on it.
One iteration is one pass over the instances, re-permuted every time: in the printed order 1..n Algorithm 1 needs
some eighty times as many passes. Between rounds of passes one matrix product gives the gap and, from the same scores,
the labels that may still move; only those are swept (shrinking, with everything rechecked before the solver may stop).
Rows are swept with a flattened spectrum, which takes 2 to 60 times fewer passes on real data (rows.py, for sparse rows
sparse.py).

Rows with no label or with all labels hold no pair and do not enter. The bias is the last weight and penalized like the
others, as in eq. 8 (`bias="augmented"`), or absent (`bias="none"`), or not penalized (`bias="free"`), as Elisseeff and
Weston have it: the dual then has the constraints sum_i beta_ip = 0, and its certificate is of dual variables that meet
them (`meet_constraints`). A kernel makes w'x an inner product in its space; the rows then are the scaled eigenvectors
of the kernel matrix (`gram_rows`).

Cost of a pass: O(n (active labels) m + pairs), with m the nonzeros of a row if sparse; of a round: two products of
2 n m k flops; once for all C: rotating dense rows, O(n m min(n, m)), or n^3 for kernels. Memory: some 24 bytes for each
pair, beside two copies of dense rows, scores and weights. More than 4 * 10^7 pairs (10^4 rows of 1000 labels, 5 of them
relevant) are packed into a bit each, and no array holds a number for each row and label (packed.py): not for a free
bias, a kernel or what is there for the paper's sake. A pass then costs all labels, one product of 2 n m k flops and
O(pairs), up to 1.6 times the time. Such a fit reads sparse labels as they are; where rows times labels exceed 2^25, its
model holds no dual point, and `mlrank certify` confirms its objective alone.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from mlrank.arrays import FloatArray, as_dense, take_rows
from mlrank.kernels import Kernel
from mlrank.kernels.exact import long_kernel
from mlrank.kernels.rows import check_gram
from mlrank.solvers.base import CertificateKind, FitInfo, TrainingSet
from mlrank.solvers.models import DualPoint, KernelModel, LinearModel
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.certificate import GivenRows
from mlrank.solvers.rank_svm.descent import Pairs, RankSolution, caps, descend, frank_wolfe, pair_counts
from mlrank.solvers.rank_svm.interior import solve_inside
from mlrank.solvers.rank_svm.packed import PackedPairs, solve_packed
from mlrank.solvers.rank_svm.rows import FlatRows, better_dense, check_size, gram_rows
from mlrank.solvers.rank_svm.settings import RankSettings
from mlrank.solvers.rank_svm.sparse import SparseRows
from mlrank.solvers.scales import scale_notes

__all__ = [
    "ALGORITHMS",
    "Prepared",
    "RankSVM",
    "fitted",
    "kernel_matrix",
    "prepare_plain",
    "solve",
]


@dataclass(frozen=True)
class Prepared:
    """What every C shares: the pairs, the rows as they are swept and as they were given, and notes on both."""

    pairs: Pairs | PackedPairs
    rows: FlatRows | SparseRows
    given: GivenRows
    notes: tuple[str, ...] = ()


def kernel_matrix(train: TrainingSet, kernel: Kernel) -> FloatArray:
    """Return the kernel matrix of the training rows.

    Raises
    ------
    ValueError
        If it does not fit into memory, or a precomputed one is not symmetric and positive semidefinite.
    """
    linear = kernel.kind == "linear"
    what = "lam above 0 with more features than rows" if linear else f"kernel {kernel.kind!r}"
    check_size(train.n_samples, train.n_samples, what)
    if kernel.kind != "precomputed":
        return kernel(train.X, train.X)
    K: FloatArray = as_dense(train.X)
    check_gram(K)
    return K


def prepare_plain(train: TrainingSet, settings: RankSettings) -> Prepared:
    """List the label pairs and bring the rows into the form in which they are swept."""
    bias, free = settings.bias_value, settings.free_bias
    packed = settings.packs(int(pair_counts(train.Y, train.known).sum()))
    pairs = PackedPairs.of(train.Y, train.known) if packed else Pairs.of(train.dense_Y, train.known)
    if settings.kernel.kind != "linear":
        K = kernel_matrix(train, settings.kernel)
        given = GivenRows(K, True, bias > 0, exact=partial(long_kernel, settings.kernel, train.X))
        return Prepared(pairs, gram_rows(K, bias, free), given)
    make = FlatRows.of if better_dense(train.X) else SparseRows.of
    return Prepared(pairs, make(train.X, bias, free), GivenRows(train.X, False, bias > 0))


def fitted(prepared: Prepared, settings: RankSettings, train: TrainingSet) -> LinearModel | KernelModel:
    """Solve eq. 9 for prepared rows; return the model."""
    solution, kernel = solve(prepared, settings), settings.kernel
    converged = solution.optimality <= settings.tol
    notes = prepared.notes + scale_notes(train, converged)
    info = FitInfo(solution.n_iter, solution.primal, solution.optimality, converged, notes)
    point = None if solution.beta is None else DualPoint.of(solution.beta)
    if kernel.kind == "linear":
        return LinearModel(solution.coef, solution.intercept, info, dual_point=point)
    support = np.flatnonzero(np.abs(solution.coef).max(axis=0) > 0)
    rows = support if kernel.kind == "precomputed" else take_rows(train.X, support)
    dual = np.ascontiguousarray(solution.coef[:, support])
    model = KernelModel.expansion(kernel, rows, dual, solution.intercept, info, train.n_samples)
    return replace(model, dual_point=point)


# Sparse rows of so many cells at most are made dense for the interior-point method.
DENSE_CELLS = 10**6
# By so much, relative, may a bound exceed the objective.
ROUNDING = 1e-9
# An objective so small, beside that of zero weights, may be one of 0; by so much intercepts then grow to show it.
NOTHING, SLACK = 1e-9, 1e-6
ALGORITHMS = {"dcd": descend, "frank_wolfe": frank_wolfe}


def solve(prepared: Prepared, settings: RankSettings) -> RankSolution:
    """Solve eq. 9 for prepared rows by the algorithm that is set; judge the solution by the rows that were given."""
    pairs = prepared.pairs
    if isinstance(pairs, PackedPairs):
        return solve_packed(prepared.rows, prepared.given, pairs, settings)
    upper = caps(pairs.size, settings)
    inside: list[RankSolution | None] = []

    def rescue(n_iter: int) -> RankSolution | None:
        if not inside:
            inside.append(_inside(prepared, pairs, settings, upper, n_iter))
        return inside[0]

    swept = ALGORITHMS[settings.algorithm](prepared.rows, pairs, settings, rescue)
    solution = _judged(prepared, pairs, swept, upper)
    if swept.optimality <= settings.tol < solution.optimality:
        # The rows that were swept have lost something of those that were given.
        rescue(swept.n_iter)
    return min([solution, *(other for other in inside if other)], key=lambda one: one.optimality)


def _inside(
    prepared: Prepared, pairs: Pairs, settings: RankSettings, upper: FloatArray, n_iter: int
) -> RankSolution | None:
    """Return the solution of the interior-point method, after `n_iter` passes; None where it would take too much."""
    rows, given = prepared.rows, prepared.given
    if isinstance(rows, SparseRows) and rows.X.shape[0] * rows.X.shape[1] > DENSE_CELLS:
        return None
    if isinstance(rows, SparseRows) or (rows.free and not given.gram and given.penalty is None):
        rows = FlatRows.of(given.X, rows.bias, rows.free, robust=True)
    result = solve_inside(rows, pairs, upper, 0.5 * settings.tol)
    if result is None:
        return None
    point, alpha = result
    solution = RankSolution(*rows.weights(point.weights), alpha, np.inf, 0.0, n_iter + point.n_iter)
    return _judged(replace(prepared, rows=rows), pairs, solution, upper)


def _judged(prepared: Prepared, pairs: Pairs, solution: RankSolution, upper: FloatArray) -> RankSolution:
    """Return the solution with its objectives on the given rows, and beta."""
    rows, given = prepared.rows, prepared.given
    beta = kernels.dual_sums(solution.alpha, pairs.lists, pairs.n_labels)
    weights = None
    if given.penalty is not None and isinstance(rows, FlatRows):
        omega = beta.T @ rows.penalized_rows()
        weights = rows.weights(np.column_stack([omega, np.zeros(len(omega))]) if rows.free else omega)[0]
    primal = given.primal(solution.coef, solution.intercept, upper, pairs.lists)
    if rows.free and primal <= NOTHING * float(upper @ pairs.size):
        # Where intercepts alone rank all pairs, the optimum is 0 and rounding is all that the gap would measure.
        zeros, intercept = np.zeros_like(solution.coef), (1.0 + SLACK) * solution.intercept
        if given.primal(zeros, intercept, upper, pairs.lists) == 0.0:
            return replace(solution, coef=zeros, intercept=intercept, primal=0.0, dual=0.0, beta=beta)
    dual = given.dual(beta, float(solution.alpha.sum()), weights)
    if dual > primal * (1.0 + ROUNDING):
        # Rounding has the upper hand; weights of zero have the dual value 0.
        dual = 0.0
    return replace(solution, primal=primal, dual=dual, beta=beta)


@dataclass(frozen=True)
class RankSVM:
    """Rank-SVM (eq. 9).

    Use it where the order of a row's labels matters, as in the ranking loss, and each row has labels of both kinds.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0. It multiplies a sum over rows, so it is not rescaled with their number.
    kernel : str
        linear, rbf, polynomial, chi2 or additive_chi2; or precomputed: the rows of X then are those of the kernel
        matrix.
    gamma, degree, coef0 : float, int, float
        Of the kernel: exp(-gamma D) for rbf and chi2, (gamma x'z + coef0)^degree for polynomial.
    bias : {"augmented", "free", "none"}
        A penalized bias, as in eq. 8 (K + 1 for kernels), one that is not penalized, or none.
    algorithm : {"dcd", "frank_wolfe"}
        Dual coordinate descent, or the method of Elisseeff and Weston, to be compared with.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most passes over the rows, or steps of Frank and Wolfe's method.
    seed : int
        Of the order of visits.
    order : {"permuted", "cyclic"}
        For the paper's sake: "cyclic" is Algorithm 1 as printed, which visits all pairs of the rows
        1..n in this order.
    stop : {"gap", "step"}, eps : float
        For the paper's sake: "step" stops as soon as a pass changes alpha by less than `eps`, as printed;
        the certificate says how far that is from the optimum.
    C_scale : {"sum", "mean"}
        For the paper's sake: "mean" divides C by the number of rows.

    References
    ----------
    Elisseeff and Weston, "A kernel method for multi-labelled classification", NIPS 2001. Chen, Zhang, Wang, Zhang and
    Gao, "Efficient multi-label classification with hypergraph regularization", CVPR 2009.
    """

    C: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    bias: str = "augmented"
    algorithm: str = "dcd"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0
    order: str = "permuted"
    stop: str = "gap"
    eps: float = 1e-3
    C_scale: str = "sum"

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "bias", "algorithm", "order", "stop")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    SPARSE_LABELS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        RankSettings.of(self)

    def prepare(self, train: TrainingSet) -> Prepared:
        """List the label pairs and rotate the rows, the same for every C."""
        return prepare_plain(train, RankSettings.of(self))

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        return RankSettings.of(self).cost(n_samples, n_features, n_labels, density)

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel | KernelModel:
        """Solve eq. 9 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or the problem does not fit into memory.
        """
        return fitted(prepared or self.prepare(train), RankSettings.of(self), train)
