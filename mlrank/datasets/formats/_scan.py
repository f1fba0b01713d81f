"""Compiled scanners over bytes that the reader kernels share.

A block of text ends in a newline and no scanner passes a newline, which keeps every access inside the array.
"""

import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mlrank.compiled import INNER, njit
from mlrank.datasets.formats._decimals import nearest_float

TAB, NEWLINE, RETURN, BLANK = 9, 10, 13, 32
DOUBLE, HASH, PERCENT, SINGLE, PLUS, COMMA, MINUS, DOT = 34, 35, 37, 39, 43, 44, 45, 46
ZERO, ONE, NINE, COLON, QUESTION, AT_SIGN, BACKSLASH, OPEN, CLOSE = 48, 49, 57, 58, 63, 64, 92, 123, 125
UPPER_E, LOWER_E, LOWER_N, LOWER_R, LOWER_T = 69, 101, 110, 114, 116

# A number is EXACT, must be REROUNDED from its text by a slower and correct routine, or is NO_NUMBER.
EXACT, REROUND, NO_NUMBER = range(3)

# Ten to these powers is exact in float64, so one multiplication or division of an exact integer rounds correctly.
POWERS = np.array([float(f"1e{power}") for power in range(23)])
EXACT_INTEGER = 1 << 53
MOST_DIGITS = 18
LARGEST_INDEX = 2**31 - 2

# The arithmetic of `digits_at` needs the first digit in the lowest byte.
CAN_LOAD = sys.byteorder == "little"

# Constants of `digits_at`, which reads eight bytes of text as one 64-bit number.
ZEROS = np.uint64(0x3030303030303030)
ABOVE_NINE = np.uint64(0x7676767676767676)
TOP_BITS = np.uint64(0x8080808080808080)
PAIRS = np.uint64(0x000000FF000000FF)
POWERS_OF_TEN = np.array([10**power for power in range(9)])


@njit(**INNER)
def skip_blanks(text: Any, at: int) -> int:
    """Return the first position from `at` on that is no blank, tab or carriage return."""
    while text[at] == BLANK or text[at] == TAB or text[at] == RETURN:
        at += 1
    return at


@njit(**INNER)
def line_end(text: Any, at: int) -> int:
    """Return the position of the next newline."""
    while text[at] != NEWLINE:
        at += 1
    return at


@njit(**INNER)
def is_digit(byte: int) -> bool:
    """Return whether a byte is 0..9."""
    return ZERO <= byte <= NINE


@njit(**INNER)
def integer(text: Any, at: int) -> tuple[int, int]:
    """Read a plain whole number; return (value, stop), value -1 where there is none and capped above LARGEST_INDEX."""
    if not is_digit(text[at]):
        return -1, at
    value = 0
    while is_digit(text[at]):
        value = min(value * 10 + (text[at] - ZERO), LARGEST_INDEX + 1)
        at += 1
    return value, at


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


@njit(cache=True, forceinline=True)
def number(text: Any, at: int) -> tuple[float, int, int]:
    """Read a decimal number; return (value, stop, how)."""
    negative = text[at] == MINUS
    if negative or text[at] == PLUS:
        at += 1
    # With more digits than an integer holds the mantissa wraps around; it is not used then.
    mantissa, scale, start = 0, 0, at
    while is_digit(text[at]):
        mantissa = mantissa * 10 + (text[at] - ZERO)
        at += 1
    digits = at - start
    if text[at] == DOT:
        point = at
        at += 1
        n_digits = 8
        while CAN_LOAD and n_digits == 8 and at + 8 <= text.shape[0]:
            value, n_digits = digits_at(text, at)
            mantissa = mantissa * POWERS_OF_TEN[n_digits] + value
            at += n_digits
        while is_digit(text[at]):
            mantissa = mantissa * 10 + (text[at] - ZERO)
            at += 1
        scale = point + 1 - at
        digits -= scale
    if digits == 0:
        return 0.0, at, NO_NUMBER
    dropped = digits > MOST_DIGITS and _significant(text, start, digits) > MOST_DIGITS
    if text[at] == UPPER_E or text[at] == LOWER_E:
        at += 1
        down = text[at] == MINUS
        if down or text[at] == PLUS:
            at += 1
        power, at = integer(text, at)
        if power < 0:
            return 0.0, at, NO_NUMBER
        scale += -power if down else power
    return _scaled(mantissa, scale, negative, dropped, at)  # type: ignore[no-any-return]


@njit(**INNER)
def _significant(text: Any, at: int, digits: int) -> int:
    """Return how many of the digits are left without leading zeros."""
    while digits > 0 and (text[at] == ZERO or text[at] == DOT):
        digits -= text[at] == ZERO
        at += 1
    return digits


@njit(**INNER)
def _scaled(mantissa: int, scale: int, negative: bool, dropped: bool, at: int) -> tuple[float, int, int]:
    sign = -1.0 if negative else 1.0
    if dropped:
        return 0.0, at, REROUND
    if mantissa == 0:
        return sign * 0.0, at, EXACT
    if mantissa > EXACT_INTEGER or scale < -22 or scale > 22:
        value = nearest_float(mantissa, scale)
        return (sign * value, at, EXACT) if value >= 0.0 else (0.0, at, REROUND)
    if scale < 0:
        return sign * (mantissa / POWERS[-scale]), at, EXACT
    return sign * (mantissa * POWERS[scale]), at, EXACT


@njit(**INNER)
def unescaped(byte: int) -> int:
    """Return what a backslash followed by `byte` stands for."""
    if byte == LOWER_N:
        return NEWLINE
    if byte == LOWER_R:
        return RETURN
    if byte == LOWER_T:
        return TAB
    return byte


@njit(**INNER)
def word_at(text: Any, at: int, closing: int, word: Any) -> tuple[int, int]:
    """Copy a cell, unquoted, to `word`; return (length, stop), length -1 where a quote is never closed.

    An unquoted cell ends at a comma, a tab, the line's end or the byte `closing`; blanks at its end do not count.
    """
    quote = text[at]
    length = 0
    if quote in (SINGLE, DOUBLE):
        at += 1
        while text[at] != quote:
            if text[at] == BACKSLASH and text[at + 1] != NEWLINE:
                at += 1
                word[length] = unescaped(text[at])
            elif text[at] == NEWLINE:
                return -1, at
            else:
                word[length] = text[at]
            length += 1
            at += 1
        return length, at + 1
    trimmed = 0
    while not ends_cell(text[at], closing):
        word[length] = text[at]
        length += 1
        if text[at] != BLANK:
            trimmed = length
        at += 1
    return trimmed, at


@njit(**INNER)
def ends_cell(byte: int, closing: int) -> bool:
    """Return whether an unquoted cell ends before this byte."""
    return byte in (COMMA, TAB, NEWLINE, RETURN, closing)


@njit(**INNER)
def find_word(word: Any, start: int, stop: int, pool: Any, bounds: Any, low: int, high: int) -> int:
    """Find ``word[start:stop]`` among the sorted words low..high - 1 of `pool`; return its position or -1."""
    while low < high:
        middle = (low + high) // 2
        order = _compare(word, start, stop, pool, bounds[middle], bounds[middle + 1])
        if order == 0:
            return middle
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return -1


@njit(**INNER)
def _compare(word: Any, start: int, stop: int, pool: Any, first: int, last: int) -> int:
    for step in range(min(stop - start, last - first)):
        left, right = word[start + step], pool[first + step]
        if left != right:
            return -1 if left < right else 1
    return (stop - start) - (last - first)


@njit(cache=True)
def copy_pieces(text: Any, pieces: Any, copy: Any) -> int:
    """Copy the pieces (start, stop, ...) of a text one after the other, a blank behind each; return their length.

    The length is -1 where `copy` is too short.
    """
    used = 0
    for piece in range(pieces.shape[0]):
        if used + pieces[piece, 1] - pieces[piece, 0] >= copy.shape[0]:
            return -1
        for at in range(pieces[piece, 0], pieces[piece, 1]):
            copy[used] = text[at]
            used += 1
        copy[used] = BLANK
        used += 1
    return used
