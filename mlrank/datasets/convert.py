"""From one file format to another, without loss: what was written is read again and compared before it is kept."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, as_dense
from mlrank.datasets.files import file_stem
from mlrank.datasets.loading import find_source
from mlrank.datasets.parsed import Parsed
from mlrank.datasets.readers import read
from mlrank.datasets.record import Dataset
from mlrank.datasets.writers import ENDINGS, WRITERS, Job
from mlrank.errors import UserError, os_errors, unknown_name

__all__ = ["convert", "target_format"]


def target_format(target: Path, key: str | None) -> str:
    """Return the format to write: as asked, or by the ending of the target (.arff: mulan).

    Raises
    ------
    UserError
        If there is no such format, or the ending is not one that its reader expects.
    """
    if key is None:
        plain = [name for name in sorted(ENDINGS, reverse=True) if name not in ("clus", "meka")]
        by_ending = {ENDINGS[name]: name for name in plain}
        ending = file_stem(target)[1]
        if ending not in by_ending or target.suffix.lower() != ending:
            raise UserError(f"the ending tells no format to write (known: {', '.join(sorted(by_ending))})", target)
        return by_ending[ending]
    if key not in WRITERS:
        raise UserError(unknown_name("data format", key, WRITERS))
    return key


def convert(dataset: Dataset, target: Path, key: str, *, replace_files: bool = False) -> dict[str, Any]:
    """Write a data set to `target` and files beside it that begin with the same name.

    Parameters
    ----------
    dataset : Dataset
    target : Path
        The training part, or all.
    key : str
        Key of WRITERS.
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
        job = Job(dataset, Path(folder) / target.name)
        try:
            options = WRITERS[key](job)
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


def _again(train: Path, options: dict[str, Any]) -> Parsed | UserError:
    try:
        found = find_source(train, **options)
        return read(options["format"], found.source)
    except UserError as error:
        return error


def _verify(dataset: Dataset, key: str, parsed: Parsed | UserError) -> None:
    """Refuse a target that does not give back what was put in."""
    reason = parsed.message if isinstance(parsed, UserError) else _difference(dataset, parsed)
    if reason:
        raise UserError(f"cannot be held by the format '{key}': {reason}", dataset.name)


def _difference(dataset: Dataset, parsed: Parsed) -> str:
    if parsed.label_names != dataset.label_names:
        return "read again, the labels have other names or another order"
    if parsed.feature_names != dataset.feature_names:
        return "read again, the features have other names or another order"
    if not np.array_equal(parsed.Y, dataset.Y):
        return "read again, the labels mark other rows"
    if not np.array_equal(_known(parsed), _known(dataset)):
        return "read again, other label entries are unknown"
    if not _equal(parsed.X, dataset.X):
        return "read again, the features have other values"
    official = parsed.official
    if official is None and len(parsed.sizes) == 2:
        rows = np.arange(sum(parsed.sizes))
        official = rows[: parsed.sizes[0]], rows[parsed.sizes[0] :]
    if (official is None) != (dataset.official is None):
        return "read again, the split is another"
    if official and dataset.official and not all(map(np.array_equal, official, dataset.official)):
        return "read again, the split is another"
    return ""


def _known(data: Parsed | Dataset) -> BoolArray:
    return np.ones(data.Y.shape, np.bool_) if data.known is None else data.known


def _equal(X: Any, other: Any) -> bool:
    if X.shape != other.shape:
        return False
    if issparse(X) and issparse(other):
        return bool((X != other).nnz == 0)
    return bool(np.array_equal(as_dense(X), as_dense(other)))
