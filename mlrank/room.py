"""Room in memory, asked for before anything of that size is made."""

from pathlib import Path

from mlrank.errors import UserError
from mlrank.hardware import available_memory

__all__ = ["check_room", "fits"]

# What any machine has is not asked for.
LEAST_CHECKED = 1 << 26


def fits(n_bytes: float) -> bool:
    """Return whether so many bytes are available, as far as the system tells."""
    if n_bytes < LEAST_CHECKED:
        return True
    available = available_memory()
    return available is None or n_bytes <= available


def check_room(n_bytes: float, what: str, path: Path | None = None, hint: str = "") -> None:
    """Refuse what would take more memory than is available.

    Raises
    ------
    UserError
        With both sizes, and the option that helps where `hint` names one.
    """
    if not fits(n_bytes):
        available = available_memory() or 0
        message = f"{what} would take {n_bytes / 1e9:.3g} GB of memory, of which {available / 1e9:.3g} GB are available"
        raise UserError(f"{message}{hint and f'; {hint}'}", path)
