"""The rows of the benchmark: which fold tests each row of each data set, and the hashes of data and splits."""

import csv
import io
import lzma
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlrank.arrays import IntArray
from mlrank.config import ExperimentConfig
from mlrank.datasets import drawn_rows
from mlrank.errors import UserError, os_errors
from mlrank.experiment import SplitDataset, plan
from mlrank.records import RunRecord
from mlrank.records.atomic import write_atomic
from mlrank.records.identity import rows_hash

__all__ = ["PublishedRows", "check_records", "check_rows", "read_rows", "rows_of", "write_rows"]

ROWS, SPLITS = "rows.csv.xz", "splits.csv"
SPLIT_COLUMNS = ("dataset", "data_hash", "split", "n_train", "n_test", "rows_hash")


@dataclass(frozen=True)
class PublishedRows:
    """The rows of a data set.

    Parameters
    ----------
    dataset : str
    data_hash : str
        Of X, Y and the names, after the subset was taken.
    rows : (n,) int64 ndarray
        Numbers of the rows that are used, in the whole data set: training part first, from 0.
    folds : (n,) int64 ndarray
        The fold that tests each of them; all others train it.
    splits : tuple of (name, n_train, n_test, hash of the rows)
    """

    dataset: str
    data_hash: str
    rows: IntArray
    folds: IntArray
    splits: tuple[tuple[str, int, int, str], ...]


def rows_of(config: ExperimentConfig) -> list[PublishedRows]:
    """Return the rows that a configuration draws, fold after fold.

    Raises
    ------
    UserError
        If data are missing, or the split is no single division into folds.
    """
    return [_rows(config, place, data) for place, data in enumerate(plan(config))]


def _rows(config: ExperimentConfig, place: int, data: SplitDataset) -> PublishedRows:
    n, name = data.dataset.n_samples, data.dataset.name
    if sum(split.test.size for split in data.splits) != n:
        raise UserError(f"'{name}': each row must be tested on once, as by a split of kind 'kfold' without repeats")
    folds = np.zeros(n, np.int64)
    for number, split in enumerate(data.splits):
        folds[split.test] = number
    asked = (config.datasets[place].subset or config.subset).rows
    rows = np.arange(n) if asked is None else drawn_rows(data.n_whole, asked, config.seed)
    splits = tuple((one.name, one.train.size, one.test.size, rows_hash(one.train, one.test)) for one in data.splits)
    return PublishedRows(name, data.hash, rows, folds, splits)


def write_rows(folder: Path, found: Iterable[PublishedRows]) -> None:
    """Write the rows of data sets, in place of those of the same data sets."""
    known = {one.dataset: one for one in (*read_rows(folder), *found)}
    rows = [(one.dataset, row, fold) for one in known.values() for row, fold in _pairs(one)]
    splits = [(one.dataset, one.data_hash, *split) for one in known.values() for split in one.splits]
    write_atomic(folder / ROWS, lzma.compress(_csv(("dataset", "row", "fold"), rows), preset=9))
    write_atomic(folder / SPLITS, _csv(SPLIT_COLUMNS, splits))


def _pairs(one: PublishedRows) -> Iterable[tuple[int, int]]:
    return zip(one.rows.tolist(), one.folds.tolist(), strict=True)


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def read_rows(folder: Path) -> list[PublishedRows]:
    """Return the published rows; none where nothing was published.

    Raises
    ------
    UserError
        If the files are damaged.
    """
    if not (folder / SPLITS).exists():
        return []
    with os_errors("read the published rows", folder):
        packed, plain = (folder / ROWS).read_bytes(), (folder / SPLITS).read_text(encoding="utf-8")
    try:
        rows: dict[str, list[tuple[int, int]]] = {}
        for entry in csv.DictReader(io.StringIO(lzma.decompress(packed).decode())):
            rows.setdefault(entry["dataset"], []).append((int(entry["row"]), int(entry["fold"])))
        splits: dict[tuple[str, str], list[tuple[str, int, int, str]]] = {}
        for entry in csv.DictReader(io.StringIO(plain)):
            split = entry["split"], int(entry["n_train"]), int(entry["n_test"]), entry["rows_hash"]
            splits.setdefault((entry["dataset"], entry["data_hash"]), []).append(split)
        arrays = {name: np.array(pairs, np.int64) for name, pairs in rows.items()}
        return [
            PublishedRows(name, key, arrays[name][:, 0], arrays[name][:, 1], tuple(parts))
            for (name, key), parts in splits.items()
        ]
    except (lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise UserError("damaged lists of the published rows", folder) from error


def check_rows(found: Iterable[PublishedRows], published: Iterable[PublishedRows]) -> None:
    """Refuse data or splits that are other than those published; data sets of which none are published pass.

    Raises
    ------
    UserError
        The message has both hashes.
    """
    known = {one.dataset: one for one in published}
    for one in found:
        if one.dataset in known:
            other = known[one.dataset]
            _check(f"the data of '{one.dataset}'", one.data_hash, other.data_hash)
            hashes = {name: key for name, _, _, key in other.splits}
            for name, _, _, key in one.splits:
                _check(f"the rows of split {name} of '{one.dataset}'", key, hashes.get(name))


def check_records(records: Iterable[RunRecord], published: Iterable[PublishedRows]) -> None:
    """Refuse runs on other data or rows than those published, and runs on none of the published data sets.

    Raises
    ------
    UserError
        The message has both hashes.
    """
    runs, known = list(records), {one.dataset: one for one in published}
    if not any(run.dataset.name in known for run in runs):
        named = ", ".join(dict.fromkeys(run.dataset.name for run in runs))
        raise UserError(f"no data set of {named} is in the benchmark, which has {', '.join(known) or 'none yet'}")
    for run in runs:
        if run.dataset.name in known:
            other = known[run.dataset.name]
            _check(f"the data of '{run.dataset.name}'", run.dataset.hash, other.data_hash)
            hashes = {name: key for name, _, _, key in other.splits}
            _check(f"the rows of split {run.split} of '{run.dataset.name}'", run.rows, hashes.get(run.split))


def _check(what: str, found: str | None, published: str | None) -> None:
    if found != published:
        raise UserError(f"{what} are not those of the benchmark: their hash is {found}, the published one {published}")
