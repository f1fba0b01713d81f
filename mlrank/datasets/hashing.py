"""A short name for the content of a data set, for the keys of stored results."""

import hashlib
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.datasets.dataset import Dataset

__all__ = ["dataset_hash"]


def dataset_hash(dataset: Dataset) -> str:
    """Return 16 hex digits (BLAKE2b) over the arrays, the official split, groups, folds and what texts are.

    Names and source do not count.

    A dense and a sparse copy of the same numbers have different hashes, as solvers may round them differently.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name, array in _arrays(dataset):
        # Names and shapes keep two arrays from being cut at another place with the same bytes.
        digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data)
    if dataset.text:
        digest.update(repr(dataset.text).encode())
    return digest.hexdigest()


def _arrays(dataset: Dataset) -> list[tuple[str, Any]]:
    X = dataset.X
    arrays: list[tuple[str, Any]] = [("shape", np.array([*X.shape, dataset.n_labels], np.int64))]
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr} if issparse(X) else {"X": X}
    arrays += sorted(parts.items())
    Y = dataset.Y
    arrays += [("Y_indices", Y.indices), ("Y_indptr", Y.indptr)] if issparse(Y) else [("Y", Y)]
    if dataset.known is not None:
        arrays.append(("known", dataset.known))
    if dataset.official is not None:
        arrays += [("train", dataset.official[0]), ("test", dataset.official[1])]
    arrays += [(name, value) for name in ("groups", "folds") if (value := getattr(dataset, name)) is not None]
    return [(name, array.astype(array.dtype.newbyteorder("<"), copy=False)) for name, array in arrays]
