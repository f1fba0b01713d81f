"""Linear support vector regression with a certificate, fast at any scale of the features.

Problem: min over w, b of 1/2 |w|^2 + C sum_i max(0, |h_i - w.x_i - b| - epsilon), the bias not penalised.
Dual: max over beta in [-C, C]^n with sum beta = 0 of h.beta - epsilon |beta|_1 - 1/2 |X' beta|^2; then w = X' beta.
`optimality` is the duality gap divided by the primal value; for given w, b is an exact minimiser (`best_bias`).

The dual is solved by Mehrotra's predictor-corrector interior point method on beta = a - a*, 0 <= a, a* <= C. One
Newton step is a weighted ridge regression: a Cholesky factorisation of order min(n, d + 1), about 15 of them, whatever
the scale of X (one thread, n = 2000: 0.03 s at d = 100, 0.3 s at d = 500, 3 s at d = 1500, 2 s at d = 23000).
Decomposition methods (LIBSVM) need a number of steps that grows with that scale: with standardised features they take
3 s at d = 100 and more than 20 s at d = 500, and with features 30 times larger they do not finish in a minute. Only
where both n and d exceed `LARGEST_FACTOR`, so that a factorisation is too dear, is LIBSVM used; the certificate is the
same.

Reference: A. J. Smola, B. Scholkopf, A tutorial on support vector regression, Statistics and Computing 14, 2004.
"""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.sparse import csc_array, csr_array, hstack, issparse

from mlrank.arrays import Features, FloatArray, as_dense, as_features

__all__ = ["LinearFit", "best_bias", "linear_svr"]

LARGEST_FACTOR = 5000
PATIENCE = 5

# step(g, drift, total) solves
#     dbeta = theta * (g - X dcoef - dbias),   dcoef = X' dbeta - drift,   sum dbeta = total
# for given row weights theta, and returns (dcoef, dbias). A factoriser makes it from theta.
Step = Callable[[FloatArray, FloatArray, float], tuple[FloatArray, float]]
Factoriser = Callable[[FloatArray], Step]

SIGN = np.array([[1.0], [-1.0]])


class LinearFit(NamedTuple):
    """Prediction X @ coef + intercept, with the primal objective and the relative duality gap."""

    coef: FloatArray
    intercept: float
    objective: float
    optimality: float


def linear_svr(X: Features, target: FloatArray, C: float, epsilon: float, tol: float) -> LinearFit:
    """Regress `target` on the rows of `X`.

    Parameters
    ----------
    X : (n_samples, n_features) ndarray or csr_array
    target : (n_samples,) ndarray
    C, epsilon : float
        Weight of the errors, and the error that costs nothing.
    tol : float
        Relative duality gap to reach.

    Returns
    -------
    LinearFit
        Its `optimality` exceeds `tol` if that was out of reach.
    """
    X = as_features(X)
    if np.ptp(target) <= 2 * epsilon:
        # A constant is within epsilon of every target, so beta = 0 is optimal with value 0.
        return LinearFit(np.zeros(X.shape[1]), best_bias(target, epsilon), 0.0, 0.0)
    # The bias absorbs any shift, so both are centred to keep digits; sparse features stay as they are.
    level = float(np.median(target))
    shift = np.zeros(X.shape[1]) if issparse(X) else X.mean(axis=0)
    centred = X if issparse(X) else X - shift
    solve = _decomposition if min(X.shape) > LARGEST_FACTOR else _interior_point
    fit = solve(centred, target - level, C, epsilon, tol)
    return fit._replace(intercept=fit.intercept + level - float(shift @ fit.coef))


def best_bias(residual: FloatArray, epsilon: float) -> float:
    """Return the b that minimises sum_i max(0, |residual_i - b| - epsilon), the middle one if there are several.

    The slope in b is the number of points residual +- epsilon below b less half their number: b is their median.
    """
    return float(np.median(np.concatenate([residual - epsilon, residual + epsilon])))


def certify(X: Features, target: FloatArray, coef: FloatArray, beta: FloatArray, C: float, epsilon: float) -> LinearFit:
    """Return the fit with these coefficients and its duality gap against the dual point near `beta` that sums to 0."""
    beta = _balanced(beta, C)
    residual = target - X @ coef
    bias = best_bias(residual, epsilon)
    errors = np.maximum(np.abs(residual - bias) - epsilon, 0.0)
    primal = 0.5 * float(coef @ coef) + C * float(errors.sum())
    image = X.T @ beta
    dual = float(target @ beta) - epsilon * float(np.abs(beta).sum()) - 0.5 * float(image @ image)
    return LinearFit(coef, bias, primal, (primal - dual) / primal)


def _balanced(beta: FloatArray, C: float) -> FloatArray:
    """Move `beta`, within +- C, to sum 0: a rounded sum would let the dual value exceed the optimum."""
    excess = float(beta.sum())
    room = C + math.copysign(1.0, excess) * beta
    return np.asarray(beta - excess * room / room.sum())


class _Point(NamedTuple):
    """The halves a, a* of beta as rows of `z`, `room` = C - z, the multipliers of z >= 0 and room >= 0, and w, b.

    The coefficients are kept beside beta, not computed as X' beta, which at large features would lose the digits that
    the errors depend on. A direction has the same fields.
    """

    z: FloatArray
    room: FloatArray
    lower: FloatArray
    upper: FloatArray
    coef: FloatArray
    bias: float

    def moved(self, direction: "_Point", length: float) -> "_Point":
        return _Point(
            self.z + length * direction.z,
            self.room + length * direction.room,
            self.lower + length * direction.lower,
            self.upper + length * direction.upper,
            self.coef + length * direction.coef,
            self.bias + length * direction.bias,
        )

    def longest(self, direction: "_Point") -> float:
        """Return the longest step, at most 1, that leaves z, room and the multipliers nonnegative."""
        pairs = zip(self[:4], direction[:4], strict=True)
        steepest = max(float(np.max(np.divide(-step, here))) for here, step in pairs)
        return 1.0 / max(steepest, 1.0)

    def mean(self) -> float:
        """Return the mean product of an entry and its multiplier, which is 0 at the optimum."""
        return float(np.vdot(self.z, self.lower) + np.vdot(self.room, self.upper)) / (2 * self.z.size)


def _interior_point(X: Features, h: FloatArray, C: float, epsilon: float, tol: float) -> LinearFit:
    """Return the fit with the smallest gap met, ending at `tol` or after `PATIENCE` steps without a smaller one."""
    factoriser, across = (_by_features(X) if X.shape[1] < X.shape[0] else _by_samples(X)), X.T
    half, spread = np.full((2, h.size), C / 2), np.full((2, h.size), float(np.abs(h).max()))
    point = _Point(half, half, spread, spread, np.zeros(X.shape[1]), 0.0)
    best, waited = certify(X, h, point.coef, np.zeros(h.size), C, epsilon), 0
    while best.optimality > tol and waited < PATIENCE:
        try:
            direction = _direction(point, factoriser, X, across, h, epsilon)
        except np.linalg.LinAlgError:  # out of digits: the best fit so far goes out with its gap
            break
        point = point.moved(direction, 0.995 * point.longest(direction))
        fit = certify(X, h, point.coef, point.z[0] - point.z[1], C, epsilon)
        waited = 0 if fit.optimality < best.optimality else waited + 1
        best = best if waited else fit
    return best


def _direction(
    point: _Point, factoriser: Factoriser, X: Features, across: Features, h: FloatArray, epsilon: float
) -> _Point:
    """Return the corrected Newton direction; `across` is X', made once: scipy takes longer for it than a product."""
    z, room, lower, upper, coef, bias = point
    stationarity = SIGN * (X @ coef + bias - h) + epsilon - lower + upper
    drift = coef - across @ (z[0] - z[1])
    curvature = lower / z + upper / room
    weights = (1.0 / curvature).sum(axis=0)
    step = factoriser(weights)

    def newton(to_lower: FloatArray, to_upper: FloatArray) -> _Point:
        right = to_lower / z - to_upper / room - stationarity
        dcoef, dbias = step((SIGN * right / curvature).sum(axis=0) / weights, drift, float((z[1] - z[0]).sum()))
        dz = (right - SIGN * (X @ dcoef + dbias)) / curvature
        return _Point(dz, -dz, (to_lower - lower * dz) / z, (to_upper + upper * dz) / room, dcoef, dbias)

    ahead = newton(-z * lower, -room * upper)
    mean = point.mean()
    aim = mean * (point.moved(ahead, point.longest(ahead)).mean() / mean) ** 3
    return newton(aim - z * lower - ahead.z * ahead.lower, aim - room * upper - ahead.room * ahead.upper)


def _by_features(X: Features) -> Factoriser:
    """Factorise [X 1]' diag(theta) [X 1] + diag(1, .., 1, 0), for fewer features than rows."""
    ones = np.ones((X.shape[0], 1))
    design = csr_array(hstack([X, csr_array(ones)])) if issparse(X) else np.hstack([X, ones])
    across, columns = design.T, csc_array(design) if issparse(design) else None
    ridge = np.diag_indices(X.shape[1])

    def factorise(theta: FloatArray) -> Step:
        if columns is None:
            normal = dsyrk(1.0, (np.sqrt(theta)[:, None] * design).T)
        else:
            weighted = theta[columns.indices] * columns.data
            normal = (across @ csc_array((weighted, columns.indices, columns.indptr), shape=columns.shape)).toarray()
        normal[ridge] += 1.0
        factor = cho_factor(normal, overwrite_a=True, check_finite=False)

        def step(g: FloatArray, drift: FloatArray, total: float) -> tuple[FloatArray, float]:
            right = across @ (theta * g) - np.append(drift, total)
            solution = cho_solve(factor, right, check_finite=False)
            return solution[:-1], float(solution[-1])

        return step

    return factorise


def _by_samples(X: Features) -> Factoriser:
    """Factorise X X' + diag(1 / theta), for fewer rows than features."""
    across = X.T
    gram = as_dense(X @ across)
    diagonal = np.diag_indices(X.shape[0])

    def factorise(theta: FloatArray) -> Step:
        system = gram.copy()
        system[diagonal] += 1.0 / theta
        factor = cho_factor(system, overwrite_a=True, check_finite=False)
        ones = cho_solve(factor, np.ones(theta.size), check_finite=False)

        def step(g: FloatArray, drift: FloatArray, total: float) -> tuple[FloatArray, float]:
            plain = cho_solve(factor, g + X @ drift, check_finite=False)
            dbias = (float(plain.sum()) - total) / float(ones.sum())
            return across @ (plain - dbias * ones) - drift, dbias

        return step

    return factorise


def _decomposition(X: Features, h: FloatArray, C: float, epsilon: float, tol: float) -> LinearFit:
    """Return the fit LIBSVM ends at; evaluating the kernel is its main cost, so it gets `tol` at once."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVR

    machine = SVR(kernel="linear", C=C, epsilon=epsilon, tol=tol, max_iter=1_000_000, cache_size=1000)
    with warnings.catch_warnings():
        # Not converging shows in the certificate.
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, h)
    beta = np.zeros(h.size)
    beta[machine.support_] = np.ravel(as_dense(machine.dual_coef_))
    return certify(X, h, X.T @ beta, beta, C, epsilon)
