"""How many columns a file may have: each has a name, and a stray large number must not fill the memory."""

from pathlib import Path

from mlrank.errors import UserError
from mlrank.room import check_room

__all__ = ["MOST_COLUMNS", "NAME_BYTES", "check_columns"]

MOST_COLUMNS = {"feature": 1 << 23, "label": 1 << 24}
# What a short name takes as text, with its place in a tuple.
NAME_BYTES = 64


def check_columns(n: int, what: str, path: Path) -> None:
    """Refuse more features or labels than are supported, or than there is memory to name."""
    if n > MOST_COLUMNS[what]:
        raise UserError(f"{n} {what}s: more than {MOST_COLUMNS[what]} are not supported", path)
    check_room(NAME_BYTES * float(n), f"the names of {n} {what}s", path)
