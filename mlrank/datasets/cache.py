"""Parsed copies of large files in the user's cache, found by the content of the files they were read from."""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs
from scipy.sparse import csr_array, issparse

from mlrank.datasets.columns import ListColumn, TextColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import Source, read
from mlrank.errors import os_errors
from mlrank.stored import DAMAGED

__all__ = ["cache_folder", "read_cached"]

# Smaller files are parsed as fast as their copy would be found.
LEAST_BYTES = 1 << 19
# The oldest copies are removed beyond this size of all.
MOST_BYTES = 1 << 31


def cache_folder() -> Path:
    """Return the folder of what mlrank keeps for the user and could make or get again."""
    return platformdirs.user_cache_path("mlrank", appauthor=False)


def read_cached(key: str, source: Source) -> Dataset:
    """Read the files of a data set in the format `key`, or a copy of what was read before from the same bytes.

    A copy that cannot be read is made again, and where none can be written there is none.

    Raises
    ------
    UserError
        As the format's reader does.
    """
    files = [path for path in (*source.parts, *source.label_files, source.features) if path is not None]
    if not all(path.is_file() for path in files) or sum(path.stat().st_size for path in files) < LEAST_BYTES:
        return read(key, source)
    copy = cache_folder() / "parsed" / f"{_digest(key, source, files)}.npz"
    if copy.is_file():
        with suppress(*DAMAGED):
            return _load(copy)
    dataset = read(key, source)
    with suppress(OSError):
        _store(copy, dataset)
    return dataset


def _digest(key: str, source: Source, files: list[Path]) -> str:
    """Return a hash over the bytes of the files, the options given with them, and the code that reads them."""
    digest = hashlib.blake2b(digest_size=16)
    # Not where the files are, but what they are called: messages and notes name them.
    labels = source.labels if isinstance(source.labels, ListColumn) else None
    options = replace(source, parts=(), labels=labels, features=None)
    digest.update(
        repr((key, options, [path.name for path in files], len(source.parts), source.labels is None)).encode()
    )
    for path in (*sorted(Path(__file__).parent.rglob("*.py")), *files):
        with os_errors("read the file", path), open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def _store(copy: Path, dataset: Dataset) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=copy.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **_arrays(dataset))
        os.replace(name, copy)
    except BaseException:
        os.unlink(name)
        raise
    _prune(copy)


def _arrays(data: Dataset) -> dict[str, Any]:
    text = [asdict(column) for column in data.text]
    words = [data.name, data.source, data.label_names, data.feature_names, data.notes, data.X.shape, data.ids, text]
    arrays: dict[str, npt.NDArray[Any]] = {"words": np.frombuffer(json.dumps(words).encode(), np.uint8)}
    if issparse(data.X):
        arrays |= {"data": data.X.data, "indices": data.X.indices, "indptr": data.X.indptr}
    else:
        arrays["X"] = data.X
    if issparse(data.Y):
        arrays |= {"marks": data.Y.indices, "rows": data.Y.indptr}
    else:
        arrays["Y"] = np.packbits(data.Y, axis=1)
    if data.known is not None:
        arrays["known"] = np.packbits(data.known, axis=1)
    if data.official is not None:
        arrays |= {"train": data.official[0], "test": data.official[1]}
    for name in ("fill", "groups", "folds"):
        if getattr(data, name) is not None:
            arrays[name] = getattr(data, name)
    return arrays


def _load(copy: Path) -> Dataset:
    with open(copy, "rb") as file, np.load(file, allow_pickle=False) as archive:
        arrays = dict(archive)
    name, source, labels, features, notes, shape, ids, text = json.loads(arrays["words"].tobytes())
    X = arrays.get("X")
    if X is None:
        X = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(shape))
    Y: Any
    if "Y" in arrays:
        Y = np.unpackbits(arrays["Y"], axis=1, count=len(labels)).view(np.bool_)
    else:
        marks = np.ones(len(arrays["marks"]), np.bool_)
        Y = csr_array((marks, arrays["marks"], arrays["rows"]), shape=(X.shape[0], len(labels)))
    known = np.unpackbits(arrays["known"], axis=1, count=len(labels)).view(np.bool_) if "known" in arrays else None
    official = (arrays["train"], arrays["test"]) if "train" in arrays else None
    names = tuple(labels), tuple(features)
    described: dict[str, Any] = {
        "ids": None if ids is None else tuple(ids),
        "groups": arrays.get("groups"),
        "folds": arrays.get("folds"),
        "text": tuple(TextColumn(**{**column, "ngrams": tuple(column["ngrams"])}) for column in text),
    }
    return Dataset(name, X, Y, known, *names, official, source, arrays.get("fill"), tuple(notes), **described)


def _prune(newest: Path) -> None:
    copies = sorted(newest.parent.glob("*.npz"), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for path in copies:
        total += path.stat().st_size
        if total > MOST_BYTES and path != newest:
            path.unlink()
