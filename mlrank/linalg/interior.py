"""An interior-point method for penalized hinge losses, where coordinate descent and cutting planes crawl.

Problem, over weights u with a penalty matrix M that may leave some of them free, and J hinge terms::

    min_u  1/2 u'Mu + sum_j c_j max(0, m_j - (A u)_j)

with dual variables 0 <= lambda_j <= c_j and M u = A'lambda at the optimum. Mehrotra's predictor-corrector steps on the
optimality conditions; each solves one system with M + A' diag(theta) A, whose Cholesky factors do not mind columns of
unlike scale. Some 10 to 30 steps, whatever the scales.

Reference: Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optimization 2, 1992.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mlrank.arrays import FloatArray, IntArray

__all__ = [
    "OPERATIONS",
    "UNKNOWNS",
    "HingeTerms",
    "InteriorPoint",
    "factored",
    "interior_point",
    "label_system",
    "pair_system",
]

# The largest system of a step that is worth its time, and the most operations.
UNKNOWNS, OPERATIONS = 2500, 2e10
# Of the way to the boundary.
SHORT = 0.995
# Added to the diagonal of a system that is scaled to ones there, for weights that nothing determines.
RIDGE = 1e-14
# Cells of outer products that are formed at a time.
CELLS = 2**22
# The least dual variable, relative to its bound.
TINY = 1e-40
# Steps without a better gap or complementarity, after which rounding is all there is.
STALE = 6


class HingeTerms(Protocol):
    """The hinge terms of a problem, and its penalty."""

    @property
    def margin(self) -> FloatArray:
        """Return m (J,)."""
        ...

    @property
    def cost(self) -> FloatArray:
        """Return c (J,), above 0."""
        ...

    @property
    def size(self) -> FloatArray:
        """Return the length of each row of A (J,), more or less."""
        ...

    @property
    def start(self) -> FloatArray:
        """Return the weights u = 0."""
        ...

    def forward(self, u: FloatArray) -> FloatArray:
        """Return A u (J,)."""
        ...

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return A'values, in the shape of u."""
        ...

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return M u."""
        ...

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the solution of (M + A' diag(theta) A) du = rhs as a function of rhs."""
        ...

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return a relative duality gap at u and lambda, to be brought down."""
        ...


class InteriorPoint(NamedTuple):
    """The point of least gap: weights, dual variables within their bounds, gap and steps made."""

    weights: FloatArray
    dual: FloatArray
    gap: float
    n_iter: int


def factored(H: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the solution of H x = rhs as a function of rhs; H is scaled to a unit diagonal first.

    Raises
    ------
    scipy.linalg.LinAlgError
        If H is not positive definite even with a ridge.
    """
    size = np.sqrt(np.maximum(np.diag(H), 1e-300))
    with np.errstate(over="ignore"):  # of rows of which nothing is left; the factorization refuses them
        scaled = H / size / size[:, None]
    for ridge in (RIDGE, 1e4 * RIDGE, 1e8 * RIDGE):
        scaled[np.diag_indices_from(scaled)] = 1.0 + ridge
        try:
            factors = cho_factor(scaled, lower=True, check_finite=True)
        except (LinAlgError, ValueError):
            continue
        return lambda rhs: cho_solve(factors, (rhs.ravel() / size)).reshape(rhs.shape) / size.reshape(rhs.shape)
    raise LinAlgError("the system of an interior-point step is not positive definite")


def label_system(
    Z: FloatArray, L: FloatArray, weight: FloatArray, root: FloatArray | None = None
) -> Callable[[FloatArray], FloatArray]:
    """Return the solution of (diag(weight) + sum_i L_i (x) z_i z_i') W = rhs as a function of rhs (n_labels, r).

    Parameters
    ----------
    Z : (n, r), rows
    L : (n, n_labels, n_labels), whose rows sum to 0: a loss that does not see what is added to all labels
    weight : (r,), penalties
    root : (n_labels, n_labels), symmetric, of weights that are mixed before they meet the loss: root L_i root, which
        does not see the labels that it mixes to equal ones, takes the place of L_i
    """
    (n, r), k = Z.shape, L.shape[1]
    unseen: FloatArray = np.ones(k)
    if root is not None:
        L, unseen = root @ L @ root, np.asarray(np.linalg.solve(root, unseen))
    H, chunk = np.zeros((k * k, r * r)), max(1, CELLS // (r * r))
    for first in range(0, n, chunk):
        rows = Z[first : first + chunk]
        H += L[first : first + chunk].reshape(-1, k * k).T @ (rows[:, :, None] * rows[:, None, :]).reshape(-1, r * r)
    H = H.reshape(k, k, r, r)
    # Weights have nothing of what the loss does not see, so holding that costs nothing.
    unseen = unseen / np.abs(unseen).max()
    H += np.multiply.outer(np.outer(unseen, unseen), np.einsum("ppaa->a", H) / k**2 * np.eye(r))
    H = H.transpose(0, 2, 1, 3).reshape(k * r, k * r)
    H[np.diag_indices_from(H)] += np.tile(weight, k)
    return factored(H)


def pair_system(
    Z: FloatArray,
    n_labels: int,
    pairs: tuple[IntArray, IntArray, IntArray],
    theta: FloatArray,
    weight: FloatArray,
    root: FloatArray | None = None,
) -> Callable[[FloatArray], FloatArray]:
    """Return the solution of `label_system` where L_i is the Laplacian of the pairs of labels of row i.

    Parameters
    ----------
    Z : (n, r), rows
    pairs : row, first and second label of each pair
    theta : (n_pairs,), their weights
    weight : (r,), penalties
    root : as there
    """
    row, high, low = pairs
    L = np.zeros((len(Z), n_labels, n_labels))
    L[row, high, low] = L[row, low, high] = -theta
    L[:, range(n_labels), range(n_labels)] = -L.sum(axis=2)
    return label_system(Z, L, weight, root)


def interior_point(terms: HingeTerms, tol: float, max_iter: int) -> InteriorPoint:
    """Minimize until the relative gap is `tol`, rounding stops the progress, or `max_iter` steps are made."""
    m, c = terms.margin, terms.cost
    # Terms of far larger size than most start with little: they would outweigh all others.
    middle = float(np.median(terms.size)) or float(terms.size.max(initial=0.0)) or 1.0
    u, dual = terms.start, 0.5 * c / np.maximum(1.0, terms.size / middle)
    excess = np.abs(m) + 1.0
    slack = excess - m
    best = InteriorPoint(u, dual, terms.gap(u, dual), 0)
    stale, least = 0, np.inf
    for n_iter in range(1, max_iter + 1):
        rest = c - dual
        theta = 1.0 / (slack / dual + excess / rest)
        try:
            solve = terms.system(theta)
        except LinAlgError:
            break
        off = terms.adjoint(dual) - terms.penalty(u)
        short = slack - (terms.forward(u) + excess - m)

        def step(low: FloatArray, high: FloatArray) -> tuple[FloatArray, ...]:
            """Return du, dlambda, dslack, dexcess for lambda slack -> + low, (c - lambda) excess -> + high."""
            pull = low / dual - high / rest + short  # noqa: B023
            du = solve(off + terms.adjoint(theta * pull))  # noqa: B023
            d_dual = theta * (pull - terms.forward(du))  # noqa: B023
            d_slack = (low - slack * d_dual) / dual  # noqa: B023
            return du, d_dual, d_slack, (high + excess * d_dual) / rest  # noqa: B023

        mean = float(dual @ slack + rest @ excess) / (2 * len(m))
        _, d_dual, d_slack, d_excess = step(-dual * slack, -rest * excess)
        part = _longest((dual, d_dual), (rest, -d_dual), (slack, d_slack), (excess, d_excess))
        products = (dual + part * d_dual) @ (slack + part * d_slack)
        products += (rest - part * d_dual) @ (excess + part * d_excess)
        target = mean * (float(products) / (2 * len(m) * mean)) ** 3
        du, d_dual, d_slack, d_excess = step(
            target - dual * slack - d_dual * d_slack, target - rest * excess + d_dual * d_excess
        )
        part = SHORT * _longest((dual, d_dual), (rest, -d_dual), (slack, d_slack), (excess, d_excess))
        if not (np.isfinite(du).all() and np.isfinite(d_dual).all()):
            break
        u, dual = u + part * du, dual + part * d_dual
        slack, excess = slack + part * d_slack, excess + part * d_excess
        dual = np.clip(dual, TINY * c, c * (1 - 1e-16))
        gap = terms.gap(u, dual)
        stale = 0 if gap < 0.9 * best.gap or mean < 0.9 * least else stale + 1
        least = min(least, mean)
        best = InteriorPoint(u, dual, gap, n_iter) if gap < best.gap else best._replace(n_iter=n_iter)
        if best.gap <= tol or stale >= STALE:
            break
    return best


def _longest(*pairs: tuple[FloatArray, FloatArray]) -> float:
    """Return the longest step of at most 1 that leaves all values at 0 or above."""
    part = 1.0
    for value, move in pairs:
        falling = move < 0
        if falling.any():
            part = min(part, float((value[falling] / -move[falling]).min()))
    return part
