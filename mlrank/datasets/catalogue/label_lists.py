"""Readers for published label lists, of sets whose features cannot be had; features are generated in their place."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Source, as_dataset
from mlrank.datasets.formats.names import read_names
from mlrank.datasets.formats.text import read_whole, shown
from mlrank.datasets.generated.standin import features_like
from mlrank.errors import UserError

__all__ = ["LABEL_LISTS", "read_lists"]

# Labels of the rows of one part, which entries are known (None: all), and names where the files give them.
Lists = tuple[BoolArray, BoolArray | None, tuple[str, ...]]


def read_lists(key: str, files: Mapping[str, Path], features: Mapping[str, Any]) -> Dataset:
    """Read the label lists of a catalogue entry and generate features for them: stand-in data.

    Parameters
    ----------
    key : str
        Key of LABEL_LISTS.
    files : mapping from role to Path
    features : mapping
        Arguments of `features_like`.

    Raises
    ------
    UserError
        At the first line that cannot be understood.
    """
    parts = [part for part in ("train", "test") if any(role.split()[0] == part for role in files)]
    read = [LABEL_LISTS[key]({role: path for role, path in files.items() if role.split()[0] == part}) for part in parts]
    width = max(Y.shape[1] for Y, _, _ in read)
    Y = np.vstack([np.pad(Y, ((0, 0), (0, width - Y.shape[1]))) for Y, _, _ in read])
    known = None
    if any(mask is not None for _, mask, _ in read):
        known = np.vstack([np.ones(Y.shape, np.bool_) if mask is None else mask for Y, mask, _ in read])
    names = read_names(files["labels"]).names if "labels" in files else read[0][2]
    if len(names) != width:
        raise UserError(f"{len(names)} label names for {width} labels", files.get("labels"))
    X = features_like(Y, **features)
    sizes = [len(part) for part, _, _ in read]
    source, feature_names = Source(tuple(files.values())), tuple(f"feature {column}" for column in range(X.shape[1]))
    return replace(as_dataset(source, X, Y, names, feature_names, sizes, known=known), stand_in=True)


def _class_lists(files: Mapping[str, Path]) -> Lists:
    """Read one file for each class, "image 1", "image -1" or "image 0"; 0 is an object too hard to tell: unknown."""
    names = tuple(role.split()[1] for role in files)
    columns, images = [], None
    for path in files.values():
        lines = [line.split() for line in _lines(path)]
        for number, line in enumerate(lines, start=1):
            if len(line) != 2 or line[1] not in ("-1", "0", "1"):
                raise UserError(f"expected an image and -1, 0 or 1, found {shown(' '.join(line))}", path, number, 1)
        here = [image for image, _ in lines]
        if images not in (None, here):
            raise UserError("lists other images than the first class does", path)
        images = here
        columns.append([int(mark) for _, mark in lines])
    marks = np.array(columns).T
    return marks == 1, marks != 0, names


def _numbers_behind_names(files: Mapping[str, Path]) -> Lists:
    """Read lines "image l,l,l", labels counted from 0."""
    (path,) = files.values()
    rows = []
    for number, line in enumerate(_lines(path), start=1):
        match = re.fullmatch(r"\S+ (\d{1,6}(?:,\d{1,6})*)?", line)
        if not match:
            raise UserError(f"expected an image and label numbers between commas, found {shown(line)}", path, number, 1)
        rows.append([int(label) for label in (match[1] or "").split(",") if label])
    return _matrix(rows, max((label for row in rows for label in row), default=-1) + 1)


def _sparse_labels(files: Mapping[str, Path]) -> Lists:
    """Read the label matrix of an XMC set: a line "n k", then lines "l:1 l:1" that count from 0."""
    (path,) = files.values()
    head, *lines = _lines(path)
    size = head.split()
    if len(size) != 2 or not all(re.fullmatch(r"\d{1,7}", number) for number in size):
        raise UserError(f"expected numbers of rows and labels, found {shown(head)}", path, 1, 1)
    n_rows, n_labels = map(int, size)
    if len(lines) != n_rows:
        raise UserError(f"the first line says {n_rows} rows, the file has {len(lines)}", path, 1, 1)
    rows = []
    for number, line in enumerate(lines, start=2):
        if not re.fullmatch(r"(\d{1,7}:1(\.0*)? ?)*", line):
            raise UserError(f"expected label:1, found {shown(line)}", path, number, 1)
        rows.append([int(pair.partition(":")[0]) for pair in line.split()])
        if max(rows[-1], default=0) >= n_labels:
            raise UserError(f"label {max(rows[-1])}, but the first line says {n_labels} labels", path, number, 1)
    return _matrix(rows, n_labels)


def _matrix_of_digits(files: Mapping[str, Path]) -> Lists:
    """Read lines of 0 and 1 between commas."""
    (path,) = files.values()
    rows = [line.split(",") for line in _lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or not set(row) <= {"0", "1"}:
            raise UserError(f"expected {len(rows[0])} times 0 or 1, found {shown(','.join(row))}", path, number, 1)
    Y = np.array(rows) == "1"
    return Y, None, tuple(map(str, range(Y.shape[1])))


def _matrix(rows: list[list[int]], n_labels: int) -> Lists:
    Y = np.zeros((len(rows), n_labels), np.bool_)
    for row, labels in enumerate(rows):
        Y[row, labels] = True
    return Y, None, tuple(map(str, range(n_labels)))


def _lines(path: Path) -> list[str]:
    try:
        lines = read_whole(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError("not UTF-8 text", path) from error
    if not lines:
        raise UserError("holds no rows", path)
    return lines


LABEL_LISTS: dict[str, Callable[[Mapping[str, Path]], Lists]] = {
    "class-lists": _class_lists,
    "label-matrix": _matrix_of_digits,
    "label-numbers": _numbers_behind_names,
    "xmc-labels": _sparse_labels,
}
