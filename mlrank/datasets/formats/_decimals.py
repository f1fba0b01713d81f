"""Decimal numbers of many digits to the nearest float64, in a few multiplications.

An integer w of up to 64 bits times 10^q is w 5^q 2^q. The product of w with the first 128 bits of 5^q begins with the
53 bits of the result and the next one, which rounds it, unless the bits behind lie so near to all ones or all zeros
that a tie, or what is cut off of 5^q, could matter. Then the caller must read the text by a slower routine; it is rare.

Reference: D. Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51 (2021), section 5.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mlrank.compiled import INNER, njit

__all__ = ["MOST_POWER", "nearest_float"]

# Beyond these powers of ten a number of some digits may not be a normal one.
MOST_POWER = 300
# The exponent of the smallest normal number with a mantissa of 53 bits, and the greatest that surely is no overflow.
LEAST, MOST = -1074, 970


def _powers() -> tuple[Any, Any, Any]:
    """Return the first and the next 64 bits of 5^q, and the exponent of the result for a product without shift."""
    high, low, exponents = [], [], []
    for q in range(-MOST_POWER, MOST_POWER + 1):
        power = 5 ** abs(q)
        width = power.bit_length()
        if q >= 0:
            bits = power << 128 >> width
            exponent = width - 1
        else:
            # Rounded up, so that the product with a multiple of the power does not lie below the quotient.
            bits = -(-(1 << 127 + width) // power)
            exponent = -width
        high.append(bits >> 64)
        low.append(bits & ((1 << 64) - 1))
        exponents.append(exponent + q + 11)
    return np.array(high, np.uint64), np.array(low, np.uint64), np.array(exponents, np.int64)


HIGH, LOW, EXPONENTS = _powers()
TWO = np.ldexp(1.0, np.arange(LEAST, MOST + 1))
ALL_ONES = np.uint64(2**64 - 1)


@intrinsic
def _high_product(context: Any, left: Any, right: Any) -> Any:
    """Return the upper 64 bits of the product of two words."""

    def generate(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(context: Any, word: Any) -> Any:
    """Return how many of the upper bits of a word other than 0 are 0."""

    def generate(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(**INNER)
def nearest_float(mantissa: int, q: int) -> float:
    """Return the float64 nearest to mantissa 10^q for a mantissa above 0; -1 where this is not sure."""
    if q < -MOST_POWER or q > MOST_POWER:
        return -1.0
    word = np.uint64(mantissa)
    zeros: Any = _leading_zeros(word)  # type: ignore[call-arg]
    word = word << zeros
    high: Any = _high_product(word, HIGH[q + MOST_POWER])
    low = word * HIGH[q + MOST_POWER]
    behind = high & np.uint64(0x1FF)
    if behind == np.uint64(0x1FF) or behind == np.uint64(0):
        more: Any = _high_product(word, LOW[q + MOST_POWER])
        low = low + more
        if low < more:
            high = high + np.uint64(1)
        behind = high & np.uint64(0x1FF)
        if behind == np.uint64(0x1FF) and low >= ALL_ONES - np.uint64(1):
            return -1.0
        if behind == np.uint64(0) and low <= np.uint64(1):
            return -1.0
    top = high >> np.uint64(63)
    bits = high >> (top + np.uint64(9))
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    exponent = EXPONENTS[q + MOST_POWER] + np.int64(top) - np.int64(zeros)
    if exponent < LEAST or exponent > MOST:
        return -1.0
    # Both factors are exact, and so is their product.
    return np.float64(np.int64(bits)) * TWO[exponent - LEAST]
