"""Data in files of this machine, which its worker processes share.

A table is mapped read-only: one copy in memory, whatever the number of workers. What a worker solved of a fit is left
in a file for the one that joins it: the process between them does not hold it, nor pass it on twice. Large models come
back in files too.
"""

import json
import mmap
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, read_only
from mlrank.errors import UserError
from mlrank.labels import LabelMatrix
from mlrank.processes import process_started
from mlrank.scaling import TermBlock
from mlrank.search.neighbor_cache import FileNeighborCache
from mlrank.search.task_data import TaskData

__all__ = ["Filed", "SharedData", "map_folder"]

PREFIX = "mlrank-maps-"
# Arrays of so many bytes are written beside the pickle that they belong to; each begins at a multiple of a line of the
# cache.
APART_BYTES, PLACE = 4096, 64


@dataclass(frozen=True)
class SharedData:
    """A table as files in `folder`; `shape`, `labels`: those of sparse features and labels, None for dense ones."""

    folder: str
    shape: tuple[int, int] | None
    masked: bool
    named: bool
    grouped: bool = False
    text: tuple[TermBlock, ...] = ()
    labels: tuple[int, int] | None = None

    @classmethod
    def write(cls, folder: Path, task_data: TaskData) -> "SharedData":
        """Write the arrays into a new folder below `folder`."""
        X, Y = task_data.X, task_data.Y
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if issparse(X) else {"X": X}
        parts |= {"labels": Y.indices, "rows": Y.indptr} if issparse(Y) else {"Y": Y}
        more = {"known": task_data.known, "groups": task_data.groups}
        try:
            inside = tempfile.mkdtemp(dir=folder)
            for name, part in {**parts, **more}.items():
                if part is not None:
                    np.save(f"{inside}/{name}.npy", part)
            if task_data.feature_names is not None:
                Path(inside, "names.json").write_text(json.dumps(task_data.feature_names), encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot map the data for the workers: {(error.strerror or '').lower()}", folder) from error
        shape = X.shape if issparse(X) else None
        masked, named = task_data.known is not None, task_data.feature_names is not None
        labels = Y.shape if issparse(Y) else None
        return cls(inside, shape, masked, named, task_data.groups is not None, task_data.text, labels)

    def open(self) -> TaskData:
        """Return the table; nothing is read before it is used."""
        known = self._map("known") if self.masked else None
        names = tuple(json.loads(Path(self.folder, "names.json").read_text(encoding="utf-8"))) if self.named else None
        groups = self._map("groups") if self.grouped else None
        cache = FileNeighborCache(self.folder)
        return TaskData(self._features(), self._labels(), known, cache, names, groups, self.text)

    def _features(self) -> Features:
        if self.shape is None:
            return self._map("X")
        parts = (self._map("data"), self._map("indices"), self._map("indptr"))
        return read_only(csr_array(parts, shape=self.shape, copy=False))

    def _labels(self) -> LabelMatrix:
        if self.labels is None:
            return self._map("Y")
        indices = self._map("labels")
        return read_only(csr_array((np.ones(len(indices), np.bool_), indices, self._map("rows")), shape=self.labels))

    def _map(self, name: str) -> Any:
        path = f"{self.folder}/{name}.npy"
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped)


@dataclass(frozen=True)
class Filed:
    """An object that lies in the file `path`."""

    path: Path

    @classmethod
    def write(cls, folder: Path | str, value: object) -> "Filed | None":
        """Write an object into a new file of a folder; None if the system refuses, or the object needs another way."""
        buffers: list[pickle.PickleBuffer] = []

        def apart(buffer: pickle.PickleBuffer) -> bool:
            """Leave the numbers of a large array out of the pickle: they are written as they lie in memory."""
            small = buffer.raw().nbytes < APART_BYTES
            if not small:
                buffers.append(buffer)
            return small

        try:
            head = pickle.dumps(value, 5, buffer_callback=apart)
            handle, name = tempfile.mkstemp(dir=folder, prefix="part-")
        except (OSError, pickle.PicklingError, AttributeError, TypeError):
            return None
        filed = cls(Path(name))
        try:
            with open(handle, "wb") as file:
                parts = [buffer.raw() for buffer in buffers]
                sizes = [(part.nbytes, part.readonly) for part in parts]
                about = pickle.dumps((head, sizes))
                file.write(len(about).to_bytes(PLACE, "little"))
                for part in (memoryview(about), *parts):
                    file.write(part)
                    file.write(bytes(-file.tell() % PLACE))
        except BaseException as error:
            filed.remove()
            if isinstance(error, OSError):
                return None
            raise
        return filed

    def read(self) -> Any:
        """Return the object. Its large arrays lie in a map of the file; what is changed in them stays in memory."""
        with open(self.path, "rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        at = PLACE + int.from_bytes(mapped[:PLACE], "little")
        head, sizes = pickle.loads(mapped[PLACE:at])
        buffers = []
        for size, is_read_only in sizes:
            at += -at % PLACE
            buffers.append(mapped[at : at + size].toreadonly() if is_read_only else mapped[at : at + size])
            at += size
        return pickle.loads(head, buffers=buffers)

    def take(self) -> Any:
        """Return the object, and delete the file."""
        value = self.read()
        self.remove()
        return value

    def remove(self) -> None:
        """Delete the file, whose maps stay; some systems do so only once these are gone, with the folder."""
        with suppress(PermissionError):
            self.path.unlink(missing_ok=True)


@contextmanager
def map_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for maps, removed at the end; those that crashed processes left behind are removed first."""
    parent = parent or Path(tempfile.gettempdir())
    for left in parent.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and process_started(int(pid)) is None:
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
