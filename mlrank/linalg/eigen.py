"""The largest eigenvalues of a symmetric positive semi-definite matrix; of a large one, known by its products."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray
from mlrank.linalg.bases import orthonormal_columns

__all__ = ["largest", "largest_eigenpairs", "leading"]

# Columns that are multiplied at once: an eigenvalue is found at once as often as it is repeated, up to this number.
BLOCK = 8
# Of the size of the matrix: directions that are this short are rounding.
NOISE = 1e-13
STEPS = 1000
# Up to this size, or where more than a part of them are asked for, all eigenvectors are found at once.
FEW, MOST_ASKED = 1000, 0.25
# Residual of those found by products, relative to the largest eigenvalue.
EXACT = 1e-9


def largest(matrix: FloatArray, count: int, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return the `count` largest eigenvalues and their vectors, largest first; those of `noise` of the first are zero.

    Zero ones are left out. The largest entry of each vector is positive.
    """
    size = len(matrix)
    count = min(count, size)
    values, vectors = eigh(matrix, subset_by_index=[size - count, size - 1], driver="evr", check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > max(noise * values[0], 0.0)
    values, vectors = values[keep], vectors[:, keep]
    peak = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[peak, np.arange(len(values))])


def leading(
    product: Callable[[FloatArray], FloatArray],
    matrix: Callable[[], FloatArray],
    size: int,
    count: int,
    noise: float,
) -> tuple[FloatArray, FloatArray]:
    """Return what `largest` does, by products with the matrix where it is large and few of its vectors are asked for.

    `matrix` makes it where it is not; see `largest_eigenpairs` for `product`.
    """
    if size <= FEW or count > MOST_ASKED * size:
        return largest(matrix(), count, noise)
    values, vectors = largest_eigenpairs(product, size, count, EXACT)
    keep = values > noise * values[0]
    return values[keep], vectors[:, keep]


def largest_eigenpairs(
    product: Callable[[FloatArray], FloatArray], size: int, count: int, tol: float, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Return the `count` largest eigenvalues and their vectors, largest first, by restarted block Lanczos.

    From a random start, which has a part in every direction; a new block is made orthogonal to the whole basis, and
    where a block has come to an end before the basis is full, random directions take its place, and so they do once
    the vectors are exact, which are returned when that has found no larger eigenvalue. A full basis is
    replaced by the best directions in it (Wu & Simon, "Thick-restart Lanczos method for large symmetric eigenvalue
    problems", SIAM J. Matrix Anal. Appl. 22, 2000).

    Parameters
    ----------
    product : callable
        (size, BLOCK) ndarray -> its product with the matrix.
    size, count : int
        `count` is a quarter of the size at most, and that at least 32 times BLOCK.
    tol : float
        Residual |A v - v lambda| of each vector, relative to the largest eigenvalue, at which to stop; after STEPS
        products the vectors are returned as they are.
    seed : int
        Of the random start.

    Returns
    -------
    values : (count,) ndarray
    vectors : (size, count) ndarray, orthonormal

    Notes
    -----
    A basis has three times as many columns as are asked for, or 8 BLOCK more, and is copied once a restart; a product
    comes with 8 operations for each number in it and each of BLOCK columns.
    """
    rng = np.random.default_rng(seed)
    room = max(3 * count, count + 8 * BLOCK) + BLOCK
    basis, small = np.zeros((size, room)), np.zeros((room, room))
    block, used = orthonormal_columns(rng.standard_normal((size, BLOCK)))[0], 0
    confirmed = -np.inf
    for step in range(1, STEPS + 1):
        new = slice(used, used + BLOCK)
        basis[:, new], used = block, used + BLOCK
        known = basis[:, :used]
        rest, part = _outside(product(block), known)
        small[:used, new], small[new, :used] = part, part.T
        noise = NOISE * float(np.abs(small[:used, :used]).max())
        if used + BLOCK <= room and step < STEPS:
            block = _next_block(rest, known, noise, rng)
            continue
        values, turn = eigh(small[:used, :used], check_finite=False)
        values, turn = values[::-1], turn[:, ::-1]
        residual = np.linalg.norm(rest @ turn[new, :count], axis=0).max()
        total, is_exact = float(values[:count].sum()), residual <= tol * values[0]
        if step == STEPS or (is_exact and total <= confirmed + tol * values[0]):
            return values[:count], known @ turn[:, :count]
        used = count if is_exact else count + BLOCK
        kept = known @ turn[:, :used]
        if is_exact:  # an eigenvalue may be repeated more often than was seen: once more, from random directions
            confirmed, known, rest = total, kept, np.zeros_like(rest)
        block = _next_block(rest, known, noise, rng)
        basis[:, :used], small[:] = kept, 0.0
        small[:used, :used] = np.diag(values[:used])
    raise AssertionError("the last step returns")


def _outside(V: FloatArray, basis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return V less its part in the span of an orthonormal basis, and that part's coefficients; twice is enough."""
    first = basis.T @ V
    V = V - basis @ first
    second = basis.T @ V
    return V - basis @ second, first + second


def _next_block(rest: FloatArray, basis: FloatArray, noise: float, rng: np.random.Generator) -> FloatArray:
    """Return BLOCK orthonormal columns outside the basis, which span `rest` but for what is noise in it."""
    Q, R = orthonormal_columns(rest)
    left, values, _ = np.linalg.svd(R)
    found = Q @ left[:, values > noise]
    filled = np.hstack([found, rng.standard_normal((len(rest), rest.shape[1] - found.shape[1]))])
    # A random column is longer than it must be beside others to lose no digits.
    filled = orthonormal_columns(_outside(filled, basis)[0])[0]
    return orthonormal_columns(_outside(filled, basis)[0])[0]
