"""Arrays kept from task to task: hidden labels leave the rows of a split, and so their neighbours, as they are.

Arrays are kept under a key of all that they depend on, so those that are kept are what making them again would give.
The last ones are kept: where features are scaled or projected by what a fold says, each fold has its own. A row divided
by its norm is the same in every fold.
"""

import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from mlrank.processes import locked
from mlrank.solvers.base import Arrays
from mlrank.stored import DAMAGED

__all__ = ["FileNeighborCache", "MemoryNeighborCache"]

MOST = 16
# A damaged shape may ask for any memory.
_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, MemoryError)


class MemoryNeighborCache:
    """Holds arrays in this process; a copy sent to another one starts empty."""

    def __init__(self) -> None:
        self.kept: dict[str, Arrays] = {}
        self.lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return MemoryNeighborCache, ()

    def __call__(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of `key`; they are made where they are not kept, by one thread at a time."""
        with self.lock:
            if key not in self.kept:
                arrays = make()
                if len(self.kept) == MOST:
                    del self.kept[next(iter(self.kept))]
                self.kept[key] = arrays
            return self.kept[key]


@dataclass(frozen=True)
class FileNeighborCache:
    """Holds arrays in files in `folder`, for all processes of this machine."""

    folder: str

    def __call__(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of `key`; of processes that need them at once, one makes them and the others wait.

        Where the folder refuses to be written, they are made and not kept.
        """
        path = Path(self.folder, f"{key}.npz")
        with ExitStack() as held:
            try:
                held.enter_context(locked(path.with_suffix(".lock")))
            except OSError:
                return make()
            return self._found(path) or self._made(path, make)

    def _found(self, path: Path) -> Arrays | None:
        """Return what is kept in a file; None where there is none, or, with a warning, where it is damaged."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                names = [f"arr_{place}" for place in range(int(stored["n"]))]
                if stored.files != ["n", *names]:
                    raise ValueError("holds other arrays")
                return tuple(stored[name] for name in names)
        except FileNotFoundError:
            return None
        except _UNREADABLE as error:
            message = f"{path}: kept arrays are damaged ({type(error).__name__}) and are made anew"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
            return None

    def _made(self, path: Path, make: Callable[[], Arrays]) -> Arrays:
        arrays = make()
        part = path.with_suffix(".part")
        try:
            with part.open("wb") as file:
                np.savez(file, *arrays, n=len(arrays))
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
        with suppress(OSError):  # another process may be at it too
            for old in sorted(Path(self.folder).glob("*.npz"), key=os.path.getmtime)[:-MOST]:
                old.unlink()
        return arrays
