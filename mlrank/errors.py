"""The one exception that means "the user can mend this", and the "did you mean" helper."""

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

__all__ = ["UserError", "not_among", "os_errors", "unknown_name"]


class UserError(Exception):
    """A mistake the user can mend, told in one line: what is wrong, where, what was found, what would be right.

    Parameters
    ----------
    message : str
        What is wrong, without a position.
    path : Path or str, optional
        The file in which it is wrong.
    line, column : int, optional
        Where in that file, both counted from 1.
    """

    def __init__(
        self, message: str, path: Path | str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        position = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(f"{position}: {message}" if position else message)
        self.message, self.path, self.line, self.column = message, path, line, column

    def __reduce__(self) -> tuple[type["UserError"], tuple[object, ...]]:
        return UserError, (self.message, self.path, self.line, self.column)


def unknown_name(what: str, found: object, known: Iterable[str]) -> str:
    """Say that a name is unknown and which known one is nearest.

    >>> unknown_name("setting of rank_svm", "CC", ["tol", "C", "tol"])
    "unknown setting of rank_svm 'CC'. Did you mean 'C'? Known: C, tol."
    """
    names = sorted(set(known))
    return f"unknown {what} '{found}'.{_hint(found, names)} Known: {', '.join(names)}."


def not_among(name: str, found: object, known: Iterable[object]) -> str:
    """Say that a setting has none of its few values, and which of them is nearest.

    >>> not_among("loss", "hing", ["hinge", "squared_hinge"])
    "loss must be one of hinge, squared_hinge, found 'hing'. Did you mean 'hinge'?"
    """
    values = [str(value) for value in known]
    hint = _hint(found, sorted(values))
    return f"{name} must be one of {', '.join(values)}, found {found!r}{'.' * bool(hint)}{hint}"


def _hint(found: object, names: list[str]) -> str:
    near = get_close_matches(str(found), names, n=1, cutoff=0.5)
    if not near:
        lowered = {name.lower(): name for name in names}
        near = [lowered[hit] for hit in get_close_matches(str(found).lower(), lowered, n=1, cutoff=0.5)]
    return f" Did you mean '{near[0]}'?" if near else ""


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
