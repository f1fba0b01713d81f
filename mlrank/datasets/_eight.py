"""Up to eight digits at once: eight bytes of text as one 64-bit number, for the compiled number reader."""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mlrank.compiled import njit
from mlrank.datasets._codes import INNER

# The arithmetic below wants the first digit in the lowest byte.
CAN_LOAD = sys.byteorder == "little"

ZEROS = np.uint64(0x3030303030303030)
ABOVE_NINE = np.uint64(0x7676767676767676)
TOP_BITS = np.uint64(0x8080808080808080)
PAIRS = np.uint64(0x000000FF000000FF)
POWERS_OF_TEN = np.array([10**power for power in range(9)])

__all__ = ["CAN_LOAD", "POWERS_OF_TEN", "digits_at"]


@intrinsic
def _load(context: Any, text: Any, at: Any) -> Any:
    """Return the eight bytes from ``text[at]`` on; the caller keeps them inside the array."""

    def generate(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = compiler.make_array(signature.args[0])(compiler, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(place, align=1)

    return types.uint64(text, at), generate


@intrinsic
def _trailing_zeros(context: Any, word: Any) -> Any:
    """Return how many of the lowest bits of a word other than 0 are 0."""

    def generate(compiler: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(**INNER)
def digits_at(text: Any, at: int) -> tuple[int, int]:
    """Return the value and the number of the digits that begin at `at`, eight at most; text needs eight bytes there."""
    word = _load(text, at) ^ ZEROS  # type: ignore[call-arg]
    other = ((word + ABOVE_NINE) | word) & TOP_BITS
    n_digits = np.uint64(8)
    if other != 0:
        n_digits = _trailing_zeros(other) >> np.uint64(3)
        if n_digits == 0:
            return 0, 0
        # Behind the last digit comes nothing, and before the first zeros.
        word = word << (np.uint64(64) - (n_digits << np.uint64(3)))
    # Neighbours are joined to pairs, pairs to fours, fours to eight, each step in one multiplication.
    word = word * np.uint64(10) + (word >> np.uint64(8))
    even = (word & PAIRS) * np.uint64(0x000F424000000064)
    odd = ((word >> np.uint64(16)) & PAIRS) * np.uint64(0x0000271000000001)
    return np.int64((even + odd) >> np.uint64(32)), np.int64(n_digits)
