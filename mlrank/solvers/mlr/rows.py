"""Training rows of multi-label ranking, and the state of the sweeps over them: a kernel matrix, or features.

The few directions in which the rows have most of their second moment, swept with that moment cut down.

Ascent over examples crawls where a few directions carry most of the second moment, as the constant one does of kernels
with small gamma. As in Rank-SVM, each pass then solves a proximal step: in orthonormal directions e_j of
feature space, f is pulled towards its last position by h_j / 2 (<f, e_j> - center_j)^2, which multiplies the moments of
these directions by gain_j = 1 / (1 + h_j). The directions are the leading eigenvectors among a sample of the rows: any
orthonormal ones would do.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, in_pieces, read_only, with_ones
from mlrank.solvers.flattening import Flattening
from mlrank.solvers.mlr.kernels import find_active, square_of, subtract_tops, sweep_csr, sweep_dense, sweep_gram
from mlrank.solvers.mlr.labels import Labels

__all__ = [
    "GramRows",
    "LeadingDirections",
    "LinearRows",
    "RankingProblem",
    "Tops",
    "directions",
    "label_mix",
    "sample_of",
]


def label_mix(Y: BoolArray, correlation: float) -> FloatArray:
    """Return (1 - correlation) I + correlation * (cosines between label columns); empty where `correlation` is 0.

    Of unknown labels, which are False in `Y`, nothing is counted.
    """
    if correlation == 0.0:
        return np.zeros((0, 0))
    H = Y.astype(np.float64)
    size = np.sqrt(H.sum(axis=0))
    cosine = (H.T @ H) / np.maximum(np.outer(size, size), 1.0)
    np.fill_diagonal(cosine, 1.0)
    return (1.0 - correlation) * np.eye(Y.shape[1]) + correlation * cosine


# Rows among which directions are sought, and the least eigenvalue of one, relative to the largest.
SAMPLE = 256
LEAST = 1e-10


@dataclass(frozen=True)
class LeadingDirections:
    """Orthonormal directions e_j = sum_s A[s, j] phi(x_s) over sampled rows.

    sample : (m,), numbers of the rows; A : (m, r)
    U : (n, r), inner products of all rows with the directions; moment : (r,), their mean squares, descending
    floor : moments are not cut below it
    """

    sample: IntArray
    A: FloatArray
    U: FloatArray
    moment: FloatArray
    floor: float


def sample_of(n: int) -> IntArray:
    """Return the numbers of the rows among which directions are sought; the same for equal n."""
    return np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])


def directions(
    sample: IntArray, gram: FloatArray, project: Any, total: float, rank: int, bounds: Any
) -> LeadingDirections:
    """Find directions.

    gram : (m, m), inner products of the sampled rows; project : A -> U
    total : mean of K_ii, the sum of all moments; rank : most directions there can be
    bounds : how many directions to find at most, and the floor in units of the mean moment of all others
    """
    most, height = bounds
    m = len(sample)
    count = min(most, m // 4)
    A = np.zeros((m, 0))
    if count > 0:
        values, vectors = eigh(gram, subset_by_index=[m - count, m - 1])
        kept = values > LEAST * values.max(initial=0.0)  # LAPACK may find none where many are equal
        A = vectors[:, kept] / np.sqrt(values[kept])
    U = project(A)
    moment, turn = np.linalg.eigh(U.T @ U / len(U))
    turn, moment = turn[:, ::-1], np.maximum(moment[::-1], 0.0)
    others = max(total - float(moment.sum()), 0.0) / max(rank - len(moment), 1)
    return LeadingDirections(sample, A @ turn, np.ascontiguousarray(U @ turn), moment, height * others)


class Tops:
    """State of the directions during a fit: coordinates, proximal center, gain.

    p : (r, K), coordinates of the weights that the dual variables give; omega : (r, K), those that the scores have
    """

    def __init__(self, found: LeadingDirections, n_labels: int, mix: FloatArray) -> None:
        shape = (len(found.moment), n_labels)
        self.found, self.mix = found, mix
        self.p, self.omega, self.center = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.gain = np.ones(shape[0])
        self.flattening: Flattening | None = None
        if shape[0] > 0 and found.moment[0] > 0:
            highest = float(found.moment[0])
            lowest = min(max(found.floor, 1e-12 * highest), highest)
            self.flattening = Flattening(max(lowest, float(found.moment[-1])), lowest, highest)
            self.gain = self.flattening.kept(found.moment)

    def arguments(self) -> tuple[FloatArray, ...]:
        """Move the center to where the scores are; return what a sweep needs."""
        self.center = self.omega
        return self.found.U, self.gain, self.p, (1.0 - self.gain)[:, None] * self.center

    def settle(self) -> None:
        """Read where a sweep has left the scores."""
        self.omega = self.gain[:, None] * self.p + (1.0 - self.gain)[:, None] * self.center

    def adapt(self, gap: float) -> None:
        """Choose how far moments are cut by the absolute `gap`."""
        if self.flattening is not None:
            self.flattening.adapt(gap, 0.5 * self.square(self.p - self.omega))
            self.gain = self.flattening.kept(self.found.moment)

    def square(self, weights: FloatArray) -> float:
        """Return the squared norm of weights (r, K) before mixing."""
        return float(np.vdot(weights, weights @ self.mix if self.mix.size else weights))


# Examples of a batch, and how often it is visited before the scores of all others are brought up to date.
BATCH = 64
VISITS = 3
# When less than this part of the examples whose scores are kept up may move, the others are dropped.
NARROW = 0.6
# How many leading directions are cut down at most, and to how many times the mean moment of the others. Kernels have
# many others, and ascent copes with moments of many times theirs.
GRAM_BOUNDS = (8, 50.0)
LINEAR_BOUNDS = (32, 1.0)
NO_BOUNDS = (0, 1.0)
# The largest kernel value that sweeps in single precision take.
LARGEST_SINGLE = 1e30
# The least curvature of a block, relative to K_ii.
FLOOR = 1e-9


@dataclass(frozen=True)
class RankingProblem:
    """What is to be solved: labels, weight of the loss, and how labels are mixed (empty: not at all)."""

    labels: Labels
    C: float
    mix: FloatArray

    @cached_property
    def rho(self) -> float:
        """The largest eigenvalue of the mix."""
        return float(np.linalg.eigvalsh(self.mix)[-1]) if self.mix.size else 1.0

    @cached_property
    def root(self) -> FloatArray | None:
        """The symmetric square root of the mix; None where labels are not mixed."""
        if not self.mix.size:
            return None
        values, vectors = eigh(self.mix)
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)

    def mixed(self, values: FloatArray) -> FloatArray:
        """Return values (.., K) mixed."""
        return values @ self.mix if self.mix.size else values

    def objectives(
        self, F: FloatArray, primal_square: float, dual_square: float, beta: FloatArray
    ) -> tuple[float, float]:
        """Return primal and dual objective, given scores and the squared norms of the two weights."""
        primal = 0.5 * primal_square + self.C * self.labels.loss(F)
        return primal, float(np.vdot(self.labels.signs, beta)) - 0.5 * dual_square


class Activity:
    """Which examples are worth a visit, judged by their scores; `visited` (n,) tells which ever are."""

    def __init__(self, visited: BoolArray, labels: Labels) -> None:
        self.visited, self.signs = visited, labels.signs
        self.before = np.full(labels.signs.shape, np.inf)

    def choose(self, scores: FloatArray, beta: FloatArray) -> IntArray:
        """Return the numbers of the examples that may move."""
        active = np.empty(len(scores), dtype=bool)
        find_active(scores, self.before, self.signs, beta, self.visited, active)
        self.before = scores
        return np.flatnonzero(active)

    def narrow(self, kept: IntArray) -> None:
        """Forget all examples but some."""
        self.visited, self.signs, self.before = self.visited[kept], self.signs[kept], self.before[kept]


class GramRows:
    """A kernel matrix K (n, n) and its leading directions."""

    def __init__(self, K: FloatArray, bounds: tuple[int, float] = GRAM_BOUNDS) -> None:
        self.K, self.diagonal = K, np.ascontiguousarray(np.diag(K))
        sample, total = sample_of(len(K)), float(self.diagonal.mean())
        self.found = directions(sample, K[np.ix_(sample, sample)], lambda A: K[sample].T @ A, total, len(K), bounds)

    @cached_property
    def single(self) -> Any:
        """K less what the directions have of it, in single precision."""
        return self._rest(np.float32)

    @cached_property
    def double(self) -> FloatArray:
        """The same in double precision."""
        return self._rest(np.float64)  # type: ignore[no-any-return]

    def _rest(self, dtype: Any) -> Any:
        rest = np.empty(self.K.shape, dtype)
        subtract_tops(read_only(self.K), np.ascontiguousarray(self.found.U.T), rest)
        return rest

    def sweeps(self, problem: RankingProblem, single: bool) -> "GramSweeps":
        """Return the state of a fit that has done nothing yet."""
        return GramSweeps(self, problem, single and float(self.diagonal.max()) < LARGEST_SINGLE)


class GramSweeps:
    """State of the sweeps over a kernel matrix.

    `beta` : (n, K), y alpha; `examples` : (m,), those whose scores are kept up, all at first, and later those that may
    move; `G` : (m, m), their kernel matrix less its leading directions; `F` : (K, m), scores by G; `single` : in single
    precision
    """

    # An estimate costs little: one after every eighth of the passes so far.
    estimates = 8

    def __init__(self, rows: GramRows, problem: RankingProblem, single: bool) -> None:
        self.rows, self.problem = rows, problem
        self.block = problem.labels.start(problem.C, rows.diagonal > 0)
        self.beta: FloatArray = self.block[5]
        self.tops = Tops(rows.found, self.beta.shape[1], problem.mix)
        self._widen(single)
        self.F = np.zeros(self.beta.shape[::-1], self.G.dtype)

    @property
    def whole(self) -> bool:
        """Whether estimates are of all examples."""
        return len(self.examples) == len(self.beta)

    def _widen(self, single: bool) -> None:
        """Take all examples, whose scores are not known yet."""
        self.single = single
        self.G = self.rows.single if single else self.rows.double
        self.examples = self.place = np.arange(len(self.beta))
        self.seen = self.problem
        self.activity = Activity(self.problem.labels.mixed & (self.rows.diagonal > 0), self.problem.labels)

    def _narrow(self, kept: IntArray) -> None:
        """Drop all of `examples` but some: the scores of the others are not kept up any more."""
        self.examples = self.examples[kept]
        self.place = np.full(len(self.beta), -1)
        self.place[self.examples] = np.arange(len(kept))
        self.G, self.F = square_of(self.G, np.ascontiguousarray(kept)), np.ascontiguousarray(self.F[:, kept])
        self.seen = replace(self.problem, labels=self.problem.labels.take(self.examples))
        self.activity.narrow(kept)

    def choose(self) -> IntArray:
        """Return the examples that may move, by the last estimate."""
        active = self.activity.choose(self.scores, self.beta[self.examples])
        chosen = self.examples[active]
        if 0 < len(active) < NARROW * len(self.examples):
            self._narrow(active)
        return chosen

    def sweep(self, order: IntArray) -> None:
        """Visit the examples in the given order."""
        batches = np.full((-(-len(order) // BATCH), BATCH), -1)
        batches.flat[: len(order)] = order
        rows, problem, tops = self.rows, self.problem, self.tops.arguments()
        state = (self.G, self.place, rows.diagonal, tops, self.F, self.block)
        r, (k, m) = rows.found.U.shape[1], self.F.shape
        cost = BATCH * (k * m + BATCH * (r + VISITS * k) + VISITS * k**2)
        for part in in_pieces(len(batches), cost):
            sweep_gram(*state, problem.C, problem.mix, problem.rho, batches[part], VISITS)
        self.tops.settle()

    def estimate(self) -> tuple[float, float]:
        """Return primal and dual objective by the scores that were kept up, as if the others were beyond margins."""
        rest, beta = self.F.T.astype(np.float64), self.beta[self.examples]
        square = float(np.vdot(beta, rest))
        self.scores = scores = rest + self.rows.found.U[self.examples] @ self.problem.mixed(self.tops.omega)
        squares = square + self.tops.square(self.tops.omega), square + self.tops.square(self.tops.p)
        return self.seen.objectives(scores, *squares, beta)

    def certify(self) -> tuple[float, float]:
        """Return primal and dual objective from scratch."""
        self.coefficients = self.beta.copy()
        self.coefficients[self.rows.found.sample] += self.rows.found.A @ (self.tops.omega - self.tops.p)
        outputs = self._outputs()
        self.scores = scores = self.problem.mixed(outputs)
        self.plain = self.problem.mixed(outputs - self.rows.found.U @ (self.tops.omega - self.tops.p))
        squares = float(np.vdot(self.coefficients, scores)), float(np.vdot(self.beta, self.plain))
        return self.problem.objectives(scores, *squares, self.beta)

    def _outputs(self) -> FloatArray:
        """Return K @ coefficients, from the rows of K that count where they are few."""
        support = np.flatnonzero(self.coefficients.any(axis=1))
        if 2 * support.size > len(self.coefficients):
            return self.rows.K @ self.coefficients
        return np.asarray(self.rows.K[support].T @ self.coefficients[support])

    def refresh(self, single: bool) -> None:
        """Take all examples again, with the scores of the last certificate."""
        self._widen(single)
        rest = self.plain - self.rows.found.U @ self.problem.mixed(self.tops.p)
        self.F = np.ascontiguousarray(rest.T, dtype=self.G.dtype)


class LinearRows:
    """Rows of features, whose kernel matrix share * XX' + (1 - share) diag(XX') is never formed.

    `weights` : (n_features, r), the leading directions
    """

    def __init__(self, X: Features, bias: bool, share: float = 1.0, bounds: tuple[int, float] = LINEAR_BOUNDS) -> None:
        self.X, self.share = read_only(with_ones(X) if bias else X), share
        squares = self.X.multiply(self.X) if issparse(self.X) else self.X * self.X
        self.diagonal = np.asarray(squares.sum(axis=1), dtype=np.float64)
        sample = sample_of(X.shape[0])
        rows = self.X[sample]
        self.weights = np.zeros((self.X.shape[1], 0))

        def project(A: FloatArray) -> FloatArray:
            return np.asarray(self.X @ (rows.T @ A))

        total, rank = float(self.diagonal.mean()), min(self.X.shape)
        self.found: LeadingDirections = directions(sample, as_dense(rows @ rows.T), project, total, rank, bounds)
        self.weights = np.asarray(rows.T @ self.found.A)

    def curvature(self, gain: FloatArray) -> FloatArray:
        """Return that of each example's block, (n,), with the moments of the leading directions cut down by `gain`."""
        cut = (self.found.U**2) @ (1.0 - gain)
        return np.asarray(self.diagonal - self.share * np.minimum(cut, (1 - FLOOR) * self.diagonal))

    def sweeps(self, problem: RankingProblem, single: bool) -> "LinearSweeps":
        """Return the state of a fit that has done nothing yet."""
        return LinearSweeps(self, problem)


class LinearSweeps:
    """State of the sweeps over features; `beta` : (n, K), y alpha; `W` : weights that beta gives."""

    single, whole = False, True
    # An estimate costs as much as a pass.
    estimates = 4

    def __init__(self, rows: LinearRows, problem: RankingProblem) -> None:
        self.rows, self.problem = rows, problem
        self.block = problem.labels.start(problem.C, rows.diagonal > 0)
        self.beta: FloatArray = self.block[5]
        self.tops = Tops(rows.found, self.beta.shape[1], problem.mix)
        shape = rows.X.shape[1], self.beta.shape[1]
        self.W = np.zeros(shape if issparse(rows.X) else shape[::-1])
        self.activity = Activity(problem.labels.mixed & (rows.diagonal > 0), problem.labels)

    def choose(self) -> IntArray:
        """Return the examples that may move, by the last estimate."""
        return self.activity.choose(self.scores, self.beta)

    def sweep(self, order: IntArray) -> None:
        """Visit the examples in the given order."""
        rows, problem = self.rows, self.problem
        tops = self.tops.arguments()
        curvature = problem.rho * rows.curvature(self.tops.gain)
        sparse = issparse(rows.X)
        X = (rows.X.data, rows.X.indices, rows.X.indptr) if sparse else rows.X
        shared = (curvature, rows.share, rows.diagonal, tops, self.W, self.block, problem.C, problem.mix)
        k = self.beta.shape[1]
        cost = k * (2 * (rows.X.nnz / len(self.beta) if sparse else rows.X.shape[1]) + 2 * rows.found.U.shape[1] + k)
        for part in in_pieces(len(order), cost):
            (sweep_csr if sparse else sweep_dense)(X, *shared, order[part])
        self.tops.settle()

    def certify(self) -> tuple[float, float]:
        """Return primal and dual objective from scratch."""
        rows, mixed = self.rows, self.problem.mixed
        weights = np.asarray(rows.X.T @ self.beta)
        self.coefficients = weights + rows.weights @ (self.tops.omega - self.tops.p)
        scores = np.asarray(rows.X @ mixed(self.coefficients))
        self.plain, own = scores, (1.0 - rows.share) * rows.diagonal[:, None] * self.beta
        if rows.share < 1.0:
            self.plain = scores = rows.share * scores + own
        self.scores = scores
        square = float(np.vdot(own, self.beta))
        squares = [rows.share * float(np.vdot(W, mixed(W))) + square for W in (self.coefficients, weights)]
        W = mixed(weights)
        self.W[:] = W if issparse(rows.X) else W.T
        return self.problem.objectives(scores, squares[0], squares[1], self.beta)

    def estimate(self) -> tuple[float, float]:
        """Return primal and dual objective: from scratch, since it takes the same products."""
        return self.certify()

    def refresh(self, single: bool) -> None:
        """Do nothing: the weights were computed from scratch with the certificate."""
