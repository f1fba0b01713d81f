"""The one exception for errors in the input, and messages that suggest the nearest name."""

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from unicodedata import category

__all__ = [
    "LONGEST_COMPARED",
    "UserError",
    "check_regular",
    "comparable",
    "escaped",
    "escaped_lines",
    "memory_errors",
    "not_among",
    "os_errors",
    "unknown_name",
]

# Messages are cut to so many characters, and list or compare so many names at most: each may come from a hostile file.
MOST_CHARACTERS = 2000
MOST_LISTED = 100
MOST_COMPARED, LONGEST_COMPARED = 5_000, 100


def escaped(text: str) -> str:
    r"""Return text with control characters, and others that are not printed as they stand, as escapes.

    >>> print(escaped("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def escaped_lines(text: str) -> str:
    r"""Return lines of text with characters that control a terminal or a page as escapes; tabs and blanks stay.

    >>> print(escaped_lines("a\x1b[2J\n\u202eb"))
    a\x1b[2J
    \u202eb
    """
    return "\n".join(
        line if line.isprintable() else "".join(c if _is_harmless(c) else ascii(c)[1:-1] for c in line)
        for line in text.split("\n")
    )


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character == "\t" or category(character) == "Zs"


class UserError(Exception):
    """An error in the input, in one line: what is wrong, where, what was found, what would be right.

    What is not printed as it stands is escaped, and a message that is too long for anyone is cut.

    Parameters
    ----------
    message : str
        What is wrong, without a position.
    path : Path or str, optional
        The file in which it is wrong.
    line, column : int, optional
        Where in that file, both counted from 1.
    setting : str, optional
        The argument that is wrong, for a caller that knows where its value was written.
    """

    def __init__(
        self,
        message: str,
        path: Path | str | None = None,
        line: int | None = None,
        column: int | None = None,
        setting: str | None = None,
    ) -> None:
        position = escaped(":".join(str(part) for part in (path, line, column) if part is not None))
        message = _short(escaped(message[: MOST_CHARACTERS + 1]), MOST_CHARACTERS)
        super().__init__(f"{position}: {message}" if position else message)
        self.message, self.path, self.line, self.column, self.setting = message, path, line, column, setting

    def __reduce__(self) -> tuple[type["UserError"], tuple[object, ...]]:
        return UserError, (self.message, self.path, self.line, self.column, self.setting)


def unknown_name(
    what: str, found: object, known: Iterable[str], listed_by: str | None = None, otherwise: str = ""
) -> str:
    """Say that a name is unknown and which known one is nearest.

    Parameters
    ----------
    what : what the name is of
    found : the name
    known : the known names
    listed_by : the command that lists all of many
    otherwise : a sentence for names that are like no known one

    >>> unknown_name("setting of rank_svm", "CC", ["tol", "C", "tol"])
    "unknown setting of rank_svm 'CC'. Did you mean 'C'? Known: C, tol."
    >>> unknown_name("metric", "micro-AUC", ["auc_micro", "f1_micro"], listed_by="mlrank explain")
    "unknown metric 'micro-AUC'. Did you mean 'auc_micro'? 'mlrank explain' lists what is known."
    >>> unknown_name("key of split", "metric", ["folds"], otherwise="It goes into 'search: {...}'.")
    "unknown key of split 'metric'. It goes into 'search: {...}'. Known: folds."
    """
    names = sorted(set(known))
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    listed = f"'{listed_by}' lists what is known" if listed_by else f"Known: {', '.join(names[:MOST_LISTED])}{more}"
    hint = _hint(found, names) or (f" {otherwise}" if otherwise else "")
    return f"unknown {what} '{_short(str(found), LONGEST_COMPARED)}'.{hint} {listed}."


def comparable(names: Iterable[str]) -> list[str]:
    """Return names, if very many only the first, that are short enough to be compared with a wrong one.

    Comparing takes time quadratic in the length of names.
    """
    return [name for name in islice(names, MOST_COMPARED) if len(name) <= LONGEST_COMPARED]


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def not_among(name: str, found: object, known: Iterable[object]) -> str:
    """Say that a setting has none of its few values, and which of them is nearest.

    >>> not_among("loss", "hing", ["hinge", "squared_hinge"])
    "loss must be one of hinge, squared_hinge, found 'hing'. Did you mean 'hinge'?"
    """
    values = [str(value) for value in known]
    hint = _hint(found, sorted(values))
    return f"{name} must be one of {', '.join(values)}, found {found!r}{'.' * bool(hint)}{hint}"


def _hint(found: object, names: list[str]) -> str:
    near = [f"'{name}'" for name in _nearest(str(found)[:LONGEST_COMPARED], comparable(names))]
    return f" Did you mean {' or '.join([', '.join(near[:-1]), near[-1]] if near[1:] else near)}?" if near else ""


def _nearest(found: str, names: list[str]) -> list[str]:
    """Return the names of the same words in any order, or that have `found` as a word, or the one spelt most alike."""
    asked = _words(found)
    elsewhere = [name for name in _ELSEWHERE.get("_".join(asked), ()) if name in names]
    if elsewhere:
        return elsewhere
    alike = [name for name in names if _words(name) == asked]
    wider = [name for name in names if asked and set(asked) < set(_words(name))]
    if alike or wider:
        return sorted(alike or wider, key=len)[:3]
    lowered = {name.lower(): name for name in names}
    return get_close_matches(found, names, n=1, cutoff=_ALIKE) or [
        lowered[hit] for hit in get_close_matches(found.lower(), lowered, n=1, cutoff=_ALIKE)
    ]


# What shares less of its letters is another word: 'nonsense' is not a misspelt 'convergence'.
_ALIKE = 0.6
# What other packages and papers call ours, by its words in order; "accuracy" is either of two.
_ELSEWHERE = {
    "accuracy": ("jaccard_samples", "subset_accuracy"),
    "auc_roc": ("auc_macro", "auc_micro", "auc_samples"),
    "average_label_precision_ranking": ("lrap",),
    "average_mean_precision": ("map_macro",),
    "average_precision": ("lrap", "map_macro"),
    "binary_relevance": ("binary_svm",),
    "exact_match": ("subset_accuracy",),
    "exact_match_ratio": ("subset_accuracy",),
}


def _words(name: str) -> list[str]:
    return sorted(word for word in re.split(r"[\W_]+", name.lower()) if word)


def check_regular(path: Path) -> None:
    """Refuse what is there and no file: a folder, or a device or pipe, which has no end or can be read only once.

    Raises
    ------
    UserError
        If it is one.
    """
    if path.is_dir():
        raise UserError("is a folder; name a file in it", path)
    if path.exists() and not path.is_file():
        raise UserError("is no regular file, and others may have no end: copy it into one", path)


@contextmanager
def memory_errors(path: Path) -> Iterator[None]:
    """Turn a MemoryError inside the block, and a size beyond any memory, into a UserError that names the path."""
    try:
        yield
    except (MemoryError, OverflowError) as error:
        raise UserError(f"not enough memory: {str(error) or 'none is left'}", path) from error


@contextmanager
def os_errors(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into a UserError that names the path and the reason."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno == errno.ENOTDIR or (error.errno == errno.EEXIST and not path.is_dir()):
            reason = "a file stands where a folder is needed"
        raise UserError(f"cannot {doing}: {reason}", path) from error
