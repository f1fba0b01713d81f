"""Data sets from what lies in memory: frames, Arrow tables, arrays, sparse matrices and scikit-learn's bunches."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import as_features
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arrays import label_matrix, real_matrix
from mlrank.datasets.formats.base import LoadOptions, Source
from mlrank.datasets.formats.frames import COLUMN_OPTIONS, FrameTable, read_tables
from mlrank.datasets.formats.frames.labels import LabelsRead, read_label_columns
from mlrank.datasets.formats.missing import MissingValues, check_impute, nan_places
from mlrank.errors import UserError

__all__ = ["dataset_in_memory", "frame_of"]


def frame_of(value: Any) -> Any:
    """Return a pandas frame of a frame, an Arrow table or a series; None of anything else."""
    import pandas as pd

    if isinstance(value, pd.Series):
        return value.to_frame()
    if isinstance(value, pd.DataFrame):
        return value
    to_pandas = getattr(value, "to_pandas", None)
    return to_pandas() if callable(to_pandas) else None


def dataset_in_memory(value: Any, name: str | None, options: LoadOptions) -> Dataset:
    """Return data in memory as a data set.

    Parameters
    ----------
    value : DataFrame, Arrow table, ndarray, sparse matrix, or Bunch with `data` and `target`
    name : what to call it; "data" if left out
    options : as of `load_dataset`

    Raises
    ------
    UserError
        If it is none of these, an option has no effect with it, or its cells cannot be understood.
    """
    from mlrank.datasets.loading import source_options

    name, label = name or "data", options.get("labels")
    given = {key: item for key, item in options.items() if item is not None}
    for key in given:
        if key not in (*COLUMN_OPTIONS, "test"):
            raise UserError(f"'{key}' has no effect with data in memory")
    check_impute(options.get("impute"))
    if isinstance(value, Mapping) and "data" in value and "target" in value:
        return _bunch(value, name, options)
    frame, test = frame_of(value), options.get("test")
    in_memory = label is not None and not isinstance(label, (str, Path, Mapping))
    plain = {key: item for key, item in options.items() if key not in ("test", "format")}
    if in_memory:
        plain["labels"] = None
    source = Source((Path(name),), **source_options(plain))
    if frame is None:
        return _arrays(value, label, test, name, source)
    tables = [FrameTable(Path(name), frame)]
    if test is not None:
        later = frame_of(test)
        if later is None:
            raise UserError(f"the test part must be a frame as the training part is, found {type(test).__name__}")
        tables.append(FrameTable(Path(f"{name}, test part"), later))
        source = replace(source, parts=(Path(name), Path(f"{name}, test part")))
    if in_memory:
        _check_order(frame, label, name)
    labels = _labels_in_memory(label, name, source) if in_memory else None
    return replace(read_tables(source, tables, labels), name=name, source="data in memory")


def _check_order(frame: Any, label: Any, name: str) -> None:
    """Refuse labels whose index says that their rows are those of the features in another order."""
    mine, other = frame.index, getattr(label, "index", None)
    if callable(other) or other is None or len(mine) != len(other) or mine.equals(other):
        return
    if mine.sort_values().equals(other.sort_values()):
        raise UserError("the labels have the index of the features in another order: labels.loc[features.index]", name)


def _labels_in_memory(label: Any, name: str, source: Source) -> LabelsRead:
    """Read labels: a frame of 0/1 columns, an array, a sparse matrix, or lists of labels."""
    import pandas as pd

    path = Path(name)
    if isinstance(label, pd.Series) or (isinstance(label, (list, tuple)) and label and not np.isscalar(label[0])):
        first = next((item for item in label if item is not None), None)
        if isinstance(first, (list, tuple, set, np.ndarray)) and not _is_rectangle(label):
            from mlrank.datasets.columns import ListColumn
            from mlrank.datasets.formats.frames.labels import read_list_column

            frame = pd.DataFrame({"labels": pd.Series(list(label), dtype=object)})
            return read_list_column([FrameTable(path, frame)], ListColumn("labels"))
    frame = frame_of(label)
    if frame is not None:
        table = FrameTable(path, frame)
        return read_label_columns([table], [len(frame)], table.names, source.positive or ())
    matrix = label if issparse(label) else np.asarray(label)
    if matrix.ndim != 2 or (not issparse(matrix) and matrix.dtype.kind not in "biuf"):
        raise UserError(f"labels must be a matrix of 0 and 1, (n_samples, n_labels), found {np.shape(matrix)}", name)
    part = label_matrix(path, "labels", matrix)
    return LabelsRead([part], tuple(map(str, range(part[0].shape[1]))), [])


def _is_rectangle(label: Any) -> bool:
    """Return whether lists are the rows of a matrix of 0 and 1 rather than lists of labels."""
    lengths = {len(item) for item in label if item is not None}
    return len(lengths) == 1 and all(value in (0, 1) for item in label for value in item) and lengths != {1}


def _arrays(value: Any, label: Any, test: Any, name: str, source: Source) -> Dataset:
    if isinstance(value, list):
        value = np.asarray(value)
    if not (issparse(value) or isinstance(value, np.ndarray)):
        expected = "a path, a DataFrame, an Arrow table, an array, a sparse matrix or a Bunch"
        raise UserError(f"a data set is {expected}, found {type(value).__name__}")
    if label is None or test is not None:
        what = "labels: the matrix of labels" if label is None else "a frame for a test part"
        raise UserError(f"an array of features needs {what}", name)
    path = Path(name)
    X = real_matrix(path, "X", csr_array(value) if issparse(value) else value)
    read = _labels_in_memory(label, name, source)
    (Y, known), names = read.parts[0], read.names
    if X.shape[0] != Y.shape[0]:
        raise UserError(f"X has {X.shape[0]} rows, the labels {Y.shape[0]}", name)
    features = tuple(map(str, range(X.shape[1])))
    missing = MissingValues()
    rows, columns = nan_places(X)
    if rows.size:
        if source.impute is None:
            raise UserError(f"row {rows[0] + 1} lacks feature {columns[0]}: set impute to have it filled", name)
        X = X.copy()
        if issparse(X):
            X.data[np.isnan(X.data)] = 0.0
        else:
            X[rows, columns] = 0.0
        none = np.zeros(0, np.int64)
        missing.add_cells((rows, columns), (none, none))
    X, fill, notes = missing.fill(X, source.impute, X.shape[0], features)
    return Dataset(name, as_features(X), Y, known, names, features, None, "data in memory", fill, (*read.notes, *notes))


def _bunch(value: Mapping[str, Any], name: str, options: LoadOptions) -> Dataset:
    """Read what scikit-learn's loaders return, such as fetch_openml's."""
    label = value["target"]
    if getattr(label, "ndim", 2) == 1 and not isinstance(label, (list, tuple)):
        label = frame_of(label) if frame_of(label) is not None else np.asarray(label)[:, None]
    found = {**options, "labels": label}
    details = value.get("details")
    title = name if name != "data" or not isinstance(details, Mapping) else str(details.get("name", name))
    dataset = dataset_in_memory(value["data"], title, found)
    names = value.get("feature_names")
    if frame_of(value["data"]) is None and names is not None and len(names) == dataset.n_features:
        dataset = replace(dataset, feature_names=tuple(map(str, names)))
    targets = value.get("target_names")
    if frame_of(label) is None and targets is not None and len(targets) == dataset.n_labels:
        dataset = replace(dataset, label_names=tuple(map(str, targets)))
    return dataset
