"""The doctor: what a data set looks like, and what about it would spoil an experiment."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import FloatArray, IntArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.doctor.places import DataPositions
from mlrank.datasets.formats.arff import meka_labels
from mlrank.datasets.formats.arff.header import read_header
from mlrank.datasets.formats.names import read_labels
from mlrank.datasets.formats.text import shown
from mlrank.datasets.hashing import dataset_hash
from mlrank.datasets.loading import DataSource
from mlrank.errors import UserError
from mlrank.labels import LabelMatrix, columns_of, label_counts, labels_of, labels_of_rows, row_counts

__all__ = ["Checkup", "CheckupFinding", "examine", "facts", "shifts", "unreadable"]

# A finding names this many places; the count is of all.
MOST_PLACES = 20
# Standard deviations so far apart leave some features without a say in distances and penalties.
FAR_APART = 1e4
# In fewer rows a feature may rise by chance.
LEAST_ROWS = 10
# Chance of calling a shift where there is none, over all labels together.
SHIFT_LEVEL = 0.01

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class CheckupFinding:
    """Something noticed about a data set; `places` are the first few of `count` positions "file:line"."""

    level: Level
    kind: str
    message: str
    count: int
    places: tuple[str, ...]


@dataclass(frozen=True)
class Checkup:
    """What the doctor says about a data set."""

    name: str
    facts: dict[str, Any]
    findings: tuple[CheckupFinding, ...]

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(finding.level == "error" for finding in self.findings)

    def plain(self) -> dict[str, object]:
        """Return plain values, as for JSON."""
        return {"name": self.name, "facts": self.facts, "findings": [asdict(finding) for finding in self.findings]}


def facts(dataset: Dataset) -> dict[str, object]:
    """Return shape, densities and frequencies of a data set as plain values."""
    X, Y = dataset.X, dataset.Y
    positives = label_counts(Y)
    order = np.argsort(-positives, kind="stable")
    frequencies = [{"label": dataset.label_names[label], "positives": int(positives[label])} for label in order]
    return {
        "source": dataset.description,
        "hash": dataset_hash(dataset),
        "n_samples": dataset.n_samples,
        "n_train": None if dataset.official is None else len(dataset.official[0]),
        "n_test": None if dataset.official is None else len(dataset.official[1]),
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "storage": "sparse" if issparse(X) else "dense",
        "density": float((X.nnz if issparse(X) else np.count_nonzero(X)) / (X.shape[0] * X.shape[1])),
        "cardinality": dataset.cardinality,
        "most_labels_of_a_row": int(row_counts(Y).max()),
        "distinct_label_sets": _n_sets(Y),
        "rows_without_labels": int((row_counts(Y) == 0).sum()),
        "labels_without_rows": int((positives == 0).sum()),
        "unknown_entries": 0 if dataset.known is None else int((~dataset.known).sum()),
        "label_frequencies": frequencies,
    }


def _n_sets(Y: LabelMatrix) -> int:
    """Return the number of different label sets of rows."""
    if issparse(Y):
        return len({Y.indices[first:last].tobytes() for first, last in pairwise(Y.indptr)})
    return len(np.unique(np.packbits(Y, axis=1), axis=0))


def examine(dataset: Dataset, place: DataSource) -> Checkup:
    """Look for what would spoil an experiment.

    Errors: numbers that are not finite. Warnings: rows without labels, labels without rows, constant and duplicate
    features, features that number the rows, that rise or fall with them, that are a label, or that lie scales apart,
    rows that occur twice or nearly so, within a part or across parts, labels missing from the training part, label
    frequencies that differ between the parts, and an ARFF header that counts other labels than the XML. Notes: what
    was decided while reading, and unknown entries.
    """
    train, test = dataset.official or (np.arange(dataset.n_samples), np.zeros(0, np.int64))
    sizes = (len(train), len(test)) if len(place.source.parts) == 2 else (dataset.n_samples,)
    places = DataPositions(place.key, place.source, sizes)
    findings = [
        *_not_finite(dataset, places),
        *_labels(dataset, places),
        *_header_count(place),
        *_features(dataset, places),
        *_columns(dataset, places),
        *_duplicates(dataset, train, test, places),
        *_near_duplicates(dataset, train, test, places),
        *_parts(dataset, train, test, places),
        *_notes(dataset),
    ]
    order = ("error", "warning", "note")
    return Checkup(dataset.name, facts(dataset), tuple(sorted(findings, key=lambda one: order.index(one.level))))


def unreadable(name: str, error: UserError) -> Checkup:
    """Return the checkup of files that cannot be read."""
    place = ":".join(str(part) for part in (error.path, error.line, error.column) if part is not None)
    return Checkup(name, {}, (CheckupFinding("error", "unreadable", error.message, 1, (place,) if place else ()),))


def _finding(level: Level, kind: str, message: str, where: dict[Any, str], count: int) -> CheckupFinding:
    return CheckupFinding(level, kind, message, count, tuple(where.values()))


def _of_rows(level: Level, kind: str, message: str, rows: Any, places: DataPositions) -> Iterator[CheckupFinding]:
    if len(rows):
        where = places.rows([int(row) for row in rows[:MOST_PLACES]])
        yield _finding(level, kind, message.format(n=len(rows)), where, len(rows))


def _of_features(
    kind: str, message: str, columns: Any, dataset: Dataset, places: DataPositions
) -> Iterator[CheckupFinding]:
    if len(columns):
        names = [dataset.feature_names[column] for column in columns[:MOST_PLACES]]
        text = f"{message.format(n=len(columns))}: {_list(names, len(columns))}"
        yield _finding("warning", kind, text, places.features(names), len(columns))


def _of_labels(
    kind: str, message: str, labels: Any, dataset: Dataset, places: DataPositions
) -> Iterator[CheckupFinding]:
    if len(labels):
        names = [dataset.label_names[label] for label in labels[:MOST_PLACES]]
        text = f"{message.format(n=len(labels))}: {_list(names, len(labels))}"
        yield _finding("warning", kind, text, places.labels(names), len(labels))


def _list(names: list[str], count: int) -> str:
    more = f" and {count - 5} more" if count > 5 else ""
    return ", ".join(shown(name) for name in names[:5]) + more


def _not_finite(dataset: Dataset, places: DataPositions) -> Iterator[CheckupFinding]:
    X = dataset.X.tocoo() if issparse(dataset.X) else dataset.X
    rows = np.unique(X.row[~np.isfinite(X.data)]) if issparse(X) else np.flatnonzero(~np.isfinite(X).all(axis=1))
    yield from _of_rows("error", "not_finite", "{n} rows hold numbers that are not finite", rows, places)


def _labels(dataset: Dataset, places: DataPositions) -> Iterator[CheckupFinding]:
    Y = dataset.Y
    bare = np.flatnonzero(row_counts(Y) == 0)
    yield from _of_rows("warning", "rows_without_labels", "{n} rows have no label", bare, places)
    positives = label_counts(Y)
    absent, all_rows = np.flatnonzero(positives == 0), np.flatnonzero(positives == dataset.n_samples)
    yield from _of_labels("labels_without_rows", "{n} labels have no row", absent, dataset, places)
    yield from _of_labels("labels_of_every_row", "{n} labels mark every row", all_rows, dataset, places)
    if dataset.known is not None:
        rows = np.flatnonzero(~dataset.known.all(axis=1))
        message = f"{int((~dataset.known).sum())} label entries are unknown, in {{n}} rows"
        yield from _of_rows("note", "unknown_labels", message, rows, places)


def _header_count(place: DataSource) -> Iterator[CheckupFinding]:
    """Compare the XML's labels with what the relation's name says in MEKA's way."""
    if place.key != "mulan" or place.source.name_file is None:
        return
    header, tree = read_header(place.source.parts[0])[0], read_labels(place.source.name_file)
    count = meka_labels(header.relation)
    if count is None or not 0 < abs(count) < len(header.attributes):
        return
    names = {one.name for one in (header.attributes[:count] if count > 0 else header.attributes[count:])}
    if names != set(tree.names):
        odd = sorted(names ^ set(tree.names))
        message = f"the relation's name says -C {count}, the XML names other labels: {_list(odd, len(odd))}"
        yield CheckupFinding(
            "warning", "label_names", message, len(odd), (f"{place.source.name_file}:1", f"{header.path}:1")
        )


def _features(dataset: Dataset, places: DataPositions) -> Iterator[CheckupFinding]:
    X = dataset.X
    first, last = (X.min(axis=0), X.max(axis=0)) if not issparse(X) else (_dense(X.min(axis=0)), _dense(X.max(axis=0)))
    constant = np.flatnonzero(first == last)
    yield from _of_features("constant_features", "{n} features are the same in every row", constant, dataset, places)
    groups = _same(X.T.tocsr() if issparse(X) else X.T)
    again = np.array([column for group in groups for column in group[1:] if first[column] != last[column]], np.int64)
    yield from _of_features("duplicate_features", "{n} features equal an earlier one", np.sort(again), dataset, places)


def _columns(dataset: Dataset, places: DataPositions) -> Iterator[CheckupFinding]:
    """Look for features that are no measurements: running numbers, times, labels; and for scales far apart.

    Takes n_samples * n_features steps, and sorts columns of different values. Of sparse features only scales are
    looked at.
    """
    X = dataset.X
    if not np.isfinite(X.data if issparse(X) else X).all():
        return
    spread = np.sqrt(np.maximum(_moment(X, 2) - _moment(X, 1) ** 2, 0))
    used = spread > 0
    if used.any() and spread.max() > FAR_APART * spread[used].min():
        low, high = int(np.where(used, spread, np.inf).argmin()), int(spread.argmax())
        pair = [dataset.feature_names[low], dataset.feature_names[high]]
        message = (
            f"features lie on scales up to {spread[high] / spread[low]:.0e} apart, from {shown(pair[0])} to "
            f"{shown(pair[1])}: write scale: standard"
        )
        yield _finding("warning", "scales", message, places.features(pair), int(used.sum()))
    if issparse(X) or dataset.n_samples < LEAST_ROWS:
        return
    yield from _categories(dataset, places)
    steps = np.diff(X, axis=0)
    numbers = np.flatnonzero((steps == steps[0]).all(axis=0) & (steps[0] != 0))
    yield from _of_features(
        "running_numbers", "{n} features number the rows (name them in ignore_columns)", numbers, dataset, places
    )
    rising = np.flatnonzero(((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)) & used)
    ordered = np.array([j for j in rising if j not in set(numbers) and np.unique(X[:, j]).size > LEAST_ROWS], np.int64)
    message = "the rows are in the order of {n} features, perhaps of time: a drawn split mixes earlier and later rows"
    yield from _of_features("order", message, ordered, dataset, places)
    marks = columns_of(dataset.Y)
    rows_of = {marks.indices[first:last].tobytes() for first, last in pairwise(marks.indptr)}
    same = [j for j in np.flatnonzero(used) if _places_of(X[:, j]) & rows_of]
    twofold = np.array([j for j in same if ((X[:, j] == X[:, j].max()) | (X[:, j] == X[:, j].min())).all()], np.int64)
    yield from _of_features("label_features", "{n} features are a label or its opposite", twofold, dataset, places)


def _places_of(column: FloatArray) -> set[bytes]:
    """Return the rows with the largest value of a feature, and those without it, as the rows of a label are held."""
    largest = column == column.max()
    return {np.flatnonzero(rows).astype(np.int32).tobytes() for rows in (largest, ~largest)}


def _categories(dataset: Dataset, places: DataPositions) -> Iterator[CheckupFinding]:
    """Look for columns of categories most of which one row alone has, as the names of rows are."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(dataset.feature_names):
        column, mark, _ = name.partition("=")
        if mark:
            groups.setdefault(column, []).append(place)
    for column, members in groups.items():
        if 2 * len(members) <= dataset.n_samples:
            continue
        cells = dataset.X[:, members]
        alone = int((np.count_nonzero(cells, axis=0) == 1).sum())
        if ((cells == 0) | (cells == 1)).all() and 2 * alone > dataset.n_samples:
            message = (
                f"column {shown(column)} has {len(members)} categories, {alone} of them in one row alone: are they "
                "names of the rows? say id_column or ignore_columns, or text_columns for text"
            )
            names = [dataset.feature_names[place] for place in members[:1]]
            yield _finding("warning", "categories_of_one_row", message, places.features(names), alone)


def _moment(X: Any, power: int) -> FloatArray:
    """Return the mean of a power of each column."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = X.power(power).sum(axis=0) if issparse(X) else (X**power).sum(axis=0)
    mean: FloatArray = np.asarray(total, np.float64).ravel() / X.shape[0]
    return mean


def _near_duplicates(
    dataset: Dataset, train: IntArray, test: IntArray, places: DataPositions
) -> Iterator[CheckupFinding]:
    """Look for test rows that agree with a training row to three digits and are not the same."""
    X = dataset.X
    if len(test) == 0 or issparse(X) or not np.isfinite(X).all():
        return
    with np.errstate(divide="ignore"):
        digits = np.where(X == 0, 0, 2 - np.floor(np.log10(np.abs(X))))
    rounded = np.where(np.abs(digits) < 300, np.round(X * 10.0 ** np.clip(digits, -300, 300)), 0) + 0.0
    rough = np.column_stack([rounded, digits])
    exact = {X[row].tobytes() for row in train}
    seen = {rough[row].tobytes() for row in train}
    near = [row for row in test if rough[row].tobytes() in seen and (X[row]).tobytes() not in exact]
    message = "{n} test rows agree with a training row to three digits"
    yield from _of_rows("warning", "near_leaks", message, np.sort(np.array(near, np.int64)), places)


def _dense(row: Any) -> FloatArray:
    return np.asarray(row.toarray()).ravel()


def _duplicates(dataset: Dataset, train: IntArray, test: IntArray, places: DataPositions) -> Iterator[CheckupFinding]:
    in_test = np.zeros(dataset.n_samples, np.bool_)
    in_test[test] = True
    within: list[int] = []
    across: list[int] = []
    other_labels: list[int] = []
    for group in _same(dataset.X):
        of_train = [row for row in group if not in_test[row]]
        of_test = [row for row in group if in_test[row]]
        within += of_train[1:] + of_test[1:]
        across += of_test if of_train else []
        first = labels_of(dataset.Y, group[0])
        other_labels += [row for row in group[1:] if labels_of(dataset.Y, row) != first]
    groups = (
        ("duplicate_rows", "{n} rows have the features of an earlier row of their part", within),
        ("leaks", "{n} test rows have the features of a training row", across),
        ("contradictions", "{n} rows have the features of an earlier row and other labels", other_labels),
    )
    for kind, message, rows in groups:
        yield from _of_rows("warning", kind, message, np.sort(np.array(rows, np.int64)), places)


def _same(X: Any) -> list[list[int]]:
    """Return the groups of two or more equal rows."""
    groups: dict[bytes, list[int]] = {}
    for row in range(X.shape[0]):
        if issparse(X):
            part = slice(X.indptr[row], X.indptr[row + 1])
            content = X.indices[part].tobytes() + b"|" + X.data[part].tobytes()
        else:
            # Adding 0 makes -0 the same as 0.
            content = (X[row] + 0.0).tobytes()
        groups.setdefault(hashlib.blake2b(content, digest_size=16).digest(), []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]


def _parts(dataset: Dataset, train: IntArray, test: IntArray, places: DataPositions) -> Iterator[CheckupFinding]:
    if len(test) == 0:
        return
    parts = labels_of_rows(dataset.Y, train), labels_of_rows(dataset.Y, test)
    in_train, in_test = (label_counts(part) > 0 for part in parts)
    unseen, untested = np.flatnonzero(in_test & ~in_train), np.flatnonzero(in_train & ~in_test)
    yield from _of_labels("labels_not_in_train", "{n} labels have test rows alone", unseen, dataset, places)
    yield from _of_labels("labels_not_in_test", "{n} labels have training rows alone", untested, dataset, places)
    moved = np.flatnonzero(shifts(*parts) * dataset.n_labels < SHIFT_LEVEL)
    message = "{n} labels are clearly more frequent in one part than in the other"
    yield from _of_labels("label_shift", message, moved, dataset, places)


def shifts(train: Any, test: Any) -> FloatArray:
    """Return for each label how likely a difference in frequency as large as this is between parts drawn alike.

    The two-sided p-value of the two-proportion z-test; 1 where a label has no or every row.
    """
    from scipy.special import ndtr

    n, m = train.shape[0], test.shape[0]
    p, q = label_counts(train) / n, label_counts(test) / m
    pooled = (n * p + m * q) / (n + m)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    z = np.divide(p - q, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(2 * ndtr(-np.abs(z)))


def _notes(dataset: Dataset) -> Iterator[CheckupFinding]:
    for note in dataset.notes:
        yield CheckupFinding("note", "reading", note, 1, ())
