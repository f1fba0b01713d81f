"""What an unquoted word of a YAML file means: the YAML 1.2 core schema."""

import re
from collections.abc import Mapping

__all__ = ["INT_LIMIT", "plain_scalar"]

INT_LIMIT = 2**63


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Return what an unquoted word means under the YAML 1.2 core schema.

    >>> [plain_scalar(word) for word in ("no", "true", "1e-3", "010", "0x1F", "~", "2026-11-01")]
    ['no', True, 0.001, 10, 31, None, '2026-11-01']

    A whole number beyond 64 bits becomes INT_LIMIT or its negative, for the caller to refuse.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return _whole(text, 10)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _RADIX.fullmatch(text):
        return _whole(text, 0)
    return text


_WORDS: Mapping[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
}
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)


def _whole(text: str, base: int) -> int:
    # Longer ones are not converted at all: Python refuses to read thousands of digits.
    value = int(text, base) if len(text) <= 100 else INT_LIMIT
    return max(-INT_LIMIT, min(value, INT_LIMIT))
