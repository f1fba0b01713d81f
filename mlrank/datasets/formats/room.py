"""Room for what a file claims to hold, checked before anything of that size is made.

A file of some bytes may declare, or unpack to, more than any memory holds.
"""

from pathlib import Path

from mlrank.errors import UserError
from mlrank.hardware import available_memory

__all__ = ["MOST_COLUMNS", "NAME_BYTES", "check_columns", "check_room", "fits"]

# Every column has a name, and Y is dense: a stray large number must not fill the memory.
MOST_COLUMNS = {"feature": 1 << 23, "label": 1 << 20}
# What a short name takes as text, with its place in a tuple.
NAME_BYTES = 64
# What any machine has is not asked for.
LEAST_CHECKED = 1 << 26


def fits(n_bytes: float) -> bool:
    """Return whether so many bytes are available, as far as the system tells."""
    if n_bytes < LEAST_CHECKED:
        return True
    available = available_memory()
    return available is None or n_bytes <= available


def check_room(n_bytes: float, what: str, path: Path | None = None) -> None:
    """Refuse what would take more memory than is available.

    Raises
    ------
    UserError
        With both sizes.
    """
    if not fits(n_bytes):
        available = available_memory() or 0
        message = f"{what} would take {n_bytes / 1e9:.3g} GB of memory, of which {available / 1e9:.3g} GB are available"
        raise UserError(message, path)


def check_columns(n: int, what: str, path: Path) -> None:
    """Refuse more features or labels than are supported."""
    if n > MOST_COLUMNS[what]:
        raise UserError(f"{n} {what}s: more than {MOST_COLUMNS[what]} are not supported", path)
