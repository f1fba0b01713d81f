"""The words of cells: what means that a value is missing, and which two words say that a label is there or not."""

import re
from collections.abc import Iterable

__all__ = ["MISSING", "NUMBER", "PAIRS", "negative_of", "normal_word", "normal_words"]

# A number as Python writes it.
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"

# As spreadsheets, R, pandas and databases write a value that is not there; compared without regard to case.
MISSING = frozenset(
    ("", "?", "na", "n/a", "#n/a", "#na", "nan", "-nan", "null", "none", "nil", "<na>", "nat", "missing", ".")
)

# (there, not there), in lower case.
PAIRS = (
    ("1", "0"),
    ("1", "-1"),
    ("true", "false"),
    ("yes", "no"),
    ("y", "n"),
    ("t", "f"),
    ("on", "off"),
    ("present", "absent"),
    ("positive", "negative"),
    ("pos", "neg"),
    ("relevant", "irrelevant"),
    ("+", "-"),
)


def normal_word(word: str) -> str:
    """Return a word of a label in lower case, numbers alike however they are written.

    >>> [normal_word(word) for word in ("Yes ", "1.0", "+1", "-1")]
    ['yes', '1', '1', '-1']
    """
    word = word.strip().lower()
    if not re.fullmatch(NUMBER, word):
        return word
    value = float(word)
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def normal_words(words: Iterable[str]) -> frozenset[str]:
    """Return words of a label in their normal form."""
    return frozenset(map(normal_word, words))


def negative_of(words: frozenset[str], positive: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """Return which of the words of a label, in lower case, say that it is not there; None if that cannot be decided.

    Parameters
    ----------
    words : the different words of its cells, at most two
    positive : words that say that a label is there, beside those of PAIRS

    >>> negative_of(frozenset(("no", "yes"))), negative_of(frozenset(("cat", "dog")), frozenset(("dog",)))
    (frozenset({'no'}), frozenset({'cat'}))
    """
    if len(words) > 2:
        return None
    if positive & words:
        return None if words <= positive and len(words) == 2 else words - positive
    for there, absent in PAIRS:
        if words <= {there, absent}:
            return words - {there}
    # With the words given, a column of another one alone is a label that no row has.
    return words if positive and len(words) == 1 else None
