"""Arrays in files that worker processes map read-only: one copy in memory, whatever the number of workers."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, read_only
from mlrank.errors import UserError

__all__ = ["Mapped", "map_folder"]

PREFIX = "mlrank-maps-"


@dataclass(frozen=True)
class Mapped:
    """Features and labels as files in `folder`; `shape` is that of sparse features, None for dense ones."""

    folder: str
    shape: tuple[int, int] | None

    @classmethod
    def write(cls, folder: Path, X: Features, Y: BoolArray) -> "Mapped":
        """Write the arrays into a new folder below `folder`."""
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if issparse(X) else {"X": X}
        try:
            inside = tempfile.mkdtemp(dir=folder)
            for name, part in {**parts, "Y": Y}.items():
                np.save(f"{inside}/{name}.npy", part)
        except OSError as error:
            raise UserError(f"cannot map the data for the workers: {(error.strerror or '').lower()}", folder) from error
        return cls(inside, X.shape if issparse(X) else None)

    def open(self) -> tuple[Features, BoolArray]:
        """Return the arrays; nothing is read before it is used."""
        if self.shape is None:
            return self._map("X"), self._map("Y")
        parts = (self._map("data"), self._map("indices"), self._map("indptr"))
        return read_only(csr_array(parts, shape=self.shape, copy=False)), self._map("Y")

    def _map(self, name: str) -> Any:
        path = f"{self.folder}/{name}.npy"
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped)


@contextmanager
def map_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for maps, removed at the end; those that crashed processes left behind are removed first."""
    parent = parent or Path(tempfile.gettempdir())
    for left in parent.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not _runs(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, as somebody else's
        return True
    return True
