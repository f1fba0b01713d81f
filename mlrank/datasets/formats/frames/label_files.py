"""Labels in a file of their own, a row for each row of the features: a table of 0/1 columns, or an array."""

from pathlib import Path
from typing import Any

import numpy as np

from mlrank.datasets.formats.arrays import label_matrix
from mlrank.datasets.formats.base import Source
from mlrank.datasets.formats.frames.joined import open_table
from mlrank.datasets.formats.frames.labels import LabelsRead, read_label_columns
from mlrank.datasets.formats.frames.tables import Table
from mlrank.datasets.formats.text import file_stem
from mlrank.errors import UserError

__all__ = ["is_label_table", "labels_elsewhere"]

_TABLES = (".csv", ".tsv", ".parquet")
_ARRAYS = (".npy", ".npz")


def is_label_table(path: Any) -> bool:
    """Return whether a file holds the labels of rows, by its ending, and not their names."""
    return isinstance(path, Path) and file_stem(path)[1] in (*_TABLES, *_ARRAYS)


def labels_elsewhere(source: Source) -> LabelsRead | None:
    """Return the labels of a source that lie in files of their own; None if they do not.

    Raises
    ------
    UserError
        If there is not one such file for each part, or one cannot be understood.
    """
    files = source.labels if isinstance(source.labels, tuple) else (source.labels,)
    if not all(is_label_table(path) for path in files):
        return None
    paths = [path for path in files if isinstance(path, Path)]
    if source.label_columns is not None:
        raise UserError("give either label_columns or a file of labels", paths[0])
    if len(paths) != len(source.parts):
        message = f"{len(paths)} files of labels for {len(source.parts)} files of features: one for each is needed"
        raise UserError(message, paths[0])
    if all(file_stem(path)[1] in _TABLES for path in paths):
        tables = [open_table(path, file_stem(path)[1].removeprefix("."), least=1) for path in paths]
        names = tuple(name for name in tables[0].names if name not in tables[0].unnamed)
        for table in tables[1:]:
            if lacking := [name for name in names if name not in table.names]:
                raise UserError(f"lacks the label {lacking[0]!r}, which {paths[0].name} has", table.path)
        sizes = [_n_rows(table, names) for table in tables]
        return read_label_columns(tables, sizes, names, source.positive or ())
    parts = [label_matrix(path, "Y", _array(path)) for path in paths]
    widths = sorted({Y.shape[1] for Y, _ in parts})
    if len(widths) > 1:
        raise UserError(f"the parts have {widths[0]} and {widths[1]} labels", paths[-1])
    return LabelsRead(parts, tuple(map(str, range(widths[0]))), [])


def _n_rows(table: Table, names: tuple[str, ...]) -> int:
    return next((len(frame) for frame in table.batches(names[:1])), 0)


def _array(path: Path) -> Any:
    """Return the array of a .npy file, or the only one or Y of a .npz file, or the sparse matrix that it holds."""
    from scipy.sparse import load_npz

    try:
        if file_stem(path)[1] == ".npy":
            return np.load(path, allow_pickle=False, mmap_mode="r")
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            if "format" not in names:
                if len(names) == 1 or "Y" in names:
                    return archive["Y" if "Y" in names else names[0]]
                raise UserError(f"holds the arrays {', '.join(names[:5])}, none of them Y", path)
        return load_npz(path)
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except Exception as error:  # what a damaged file makes the library raise is not documented
        raise UserError(f"cannot be read as an array: {' '.join(str(error).split())[:160]}", path) from error
