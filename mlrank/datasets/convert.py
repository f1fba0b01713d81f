"""From one file format to another, without loss: what was written is read again and compared before it is kept."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import find_format, read
from mlrank.datasets.formats.base import LoadOptions, WriteJob
from mlrank.datasets.loading import find_source
from mlrank.errors import UserError, os_errors, unknown_name
from mlrank.labels import LabelMatrix, sparse_labels

__all__ = ["convert", "without"]

# What a data set may say of its rows, beside features and labels.
ROW_KINDS = ("ids", "groups", "folds")


def convert(dataset: Dataset, target: Path, key: str, *, replace_files: bool = False) -> LoadOptions:
    """Write a data set to `target` and files beside it that begin with the same name.

    Parameters
    ----------
    dataset : Dataset
    target : Path
        The training part, or all.
    key : str
        Key of FORMATS.
    replace_files : bool
        Whether files that are there may be replaced.

    Returns
    -------
    dict
        The arguments with which `load_dataset` gives the data set back: "train", and as needed "test", "labels",
        "features", "format", "zero_based", "label_columns".

    Raises
    ------
    UserError
        If the format cannot hold the data set, a file is there already, or the system refuses; nothing is left then.
    """
    if not target.parent.is_dir():
        raise UserError("no such folder", target.parent)
    with (
        os_errors("write the file", target),
        tempfile.TemporaryDirectory(dir=target.parent, prefix=".convert-") as folder,
    ):
        job = WriteJob(dataset, Path(folder) / target.name)
        try:
            options = find_format(key).write(job)
        except UserError as error:
            raise UserError(f"cannot be converted to '{key}': {error.message}", dataset.name) from error
        except UnicodeEncodeError as error:
            raise UserError(f"cannot be converted to '{key}': a name is no valid text", dataset.name) from error
        _verify(dataset, key, _again(job.train, options))
        written = sorted(Path(folder).iterdir())
        there = [target.with_name(path.name) for path in written if target.with_name(path.name).exists()]
        if there and not replace_files:
            raise UserError("is there already; give --force to replace it", there[0])
        for path in written:
            os.replace(path, target.with_name(path.name))
    moved = {}
    for name, value in options.items():
        moved[name] = target.with_name(value.name) if isinstance(value, Path) else value
    return {"train": target, **moved}


def without(dataset: Dataset, kinds: Sequence[str]) -> Dataset:
    """Return a data set without some of what it says of its rows: ids, groups, folds.

    Raises
    ------
    UserError
        If it does not say that, or there is no such kind.
    """
    for kind in kinds:
        if kind not in ROW_KINDS:
            raise UserError(unknown_name("kind to drop", kind, ROW_KINDS))
        if getattr(dataset, kind) is None:
            raise UserError(f"has no {kind} of its rows to be dropped", dataset.name)
    gone: dict[str, Any] = dict.fromkeys(kinds)
    return replace(dataset, **gone)


def _again(train: Path, options: LoadOptions) -> Dataset | UserError:
    try:
        return read(options["format"], find_source(train, **options).source)
    except UserError as error:
        return error


def _verify(dataset: Dataset, key: str, again: Dataset | UserError) -> None:
    """Refuse a target that does not give back what was put in."""
    reason = again.message if isinstance(again, UserError) else _difference(dataset, again)
    if reason:
        raise UserError(f"cannot be held by the format '{key}': {reason}", dataset.name)


def _difference(dataset: Dataset, again: Dataset) -> str:
    if again.label_names != dataset.label_names:
        return "read again, the labels have other names or another order"
    if again.feature_names != dataset.feature_names:
        return "read again, the features have other names or another order"
    if again.Y.shape != dataset.Y.shape or not _same_marks(again.Y, dataset.Y):
        return "read again, the labels mark other rows"
    if (again.known is not None or dataset.known is not None) and not np.array_equal(_known(again), _known(dataset)):
        return "read again, other label entries are unknown"
    if not _equal(again.X, dataset.X):
        return "read again, the features have other values"
    for name in ROW_KINDS:
        mine, other = getattr(dataset, name), getattr(again, name)
        if (mine is None) != (other is None) or (mine is not None and not np.array_equal(mine, other)):
            where = "csv, tsv and parquet have one"
            return f"the {name} of its rows have no place in it; {where}, or drop them: --drop {name}"
    if dataset.text:
        return "the terms of its texts are counted and weighted anew in each split; keep the texts"
    if (again.official is None) != (dataset.official is None):
        return "read again, the split is another"
    if again.official and dataset.official and not all(map(np.array_equal, again.official, dataset.official)):
        return "read again, the split is another"
    return ""


def _same_marks(Y: LabelMatrix, other: LabelMatrix) -> bool:
    parts = (sparse_labels(Y), sparse_labels(other)) if issparse(Y) or issparse(other) else (Y, other)
    if issparse(parts[0]):
        return all(np.array_equal(getattr(parts[0], name), getattr(parts[1], name)) for name in ("indptr", "indices"))
    return bool(np.array_equal(*parts))


def _known(data: Dataset) -> BoolArray:
    return np.ones(data.Y.shape, np.bool_) if data.known is None else data.known


def _equal(X: Any, other: Any) -> bool:
    if X.shape != other.shape:
        return False
    if issparse(X) and issparse(other):
        return bool((X != other).nnz == 0)
    return bool(np.array_equal(as_dense(X), as_dense(other)))
