"""Writers of the file formats: each puts a data set's parts into a folder and says how to read them again.

A part is a range of rows: a data set with an official split has two where the format keeps them in two files.
"""

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.sparse import csc_array, issparse

from mlrank.arrays import as_dense
from mlrank.datasets.files import shown
from mlrank.datasets.record import Dataset
from mlrank.errors import UserError

__all__ = ["ENDINGS", "WRITERS", "Job"]

# A sparse matrix is not made dense beyond this many cells.
MOST_CELLS = 100_000_000
ENDINGS = {
    "clus": ".arff",
    "csv": ".csv",
    "libsvm": ".svm",
    "mat": ".mat",
    "meka": ".arff",
    "mulan": ".arff",
    "npz": ".npz",
    "parquet": ".parquet",
    "xmc": ".txt",
}


@dataclass(frozen=True)
class Job:
    """What to write, and the paths: `train`, and beside it names that begin with the same stem."""

    dataset: Dataset
    train: Path

    def beside(self, ending: str) -> Path:
        """Return the path of a further file."""
        return self.train.with_name(self.train.stem + ending)

    def parts(self) -> Iterator[tuple[Path, range]]:
        """Yield the path and the rows of each part.

        Raises
        ------
        UserError
            If the test rows do not follow the training rows, which two files cannot say.
        """
        n, official = self.dataset.n_samples, self.dataset.official
        if official is None:
            yield self.train, range(n)
            return
        if not np.array_equal(np.concatenate(official), np.arange(n)):
            raise UserError("the rows of the official split are mixed, which two files cannot hold; npz can")
        n_train = len(official[0])
        yield self.train, range(n_train)
        yield self.beside("-test" + self.train.suffix), range(n_train, n)

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the arguments of `load_dataset` beside the training part's path."""
        test = {} if self.dataset.official is None else {"test": self.beside("-test" + self.train.suffix)}
        return {**test, **more}


def _mulan(job: Job) -> dict[str, Any]:
    data, labels = job.dataset, job.beside(".xml")
    names = "\n".join(f"  <label name={quoteattr(name)}></label>" for name in data.label_names)
    head = '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">'
    labels.write_text(f"{head}\n{names}\n</labels>\n", encoding="utf-8")
    _arff(job, data.name, [*data.feature_names, *data.label_names], labels_first=False)
    return job.options(labels=labels, format="mulan")


def _meka(job: Job) -> dict[str, Any]:
    data = job.dataset
    names = [*data.label_names, *data.feature_names]
    _arff(job, f"{data.name}: -C {data.n_labels}", names, labels_first=True)
    return job.options(format="meka")


def _arff(job: Job, relation: str, names: list[str], labels_first: bool) -> None:
    data = job.dataset
    n_first = data.n_labels if labels_first else data.n_features
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"@relation {_quoted(relation)}\n\n")
            for place, name in enumerate(names):
                kind = "{0,1}" if (place < n_first) == labels_first else "numeric"
                file.write(f"@attribute {_quoted(name)} {kind}\n")
            file.write("\n@data\n")
            write = _sparse_line if issparse(data.X) else _dense_line
            file.writelines(write(data, row, labels_first) for row in rows)


def _dense_line(data: Dataset, row: int, labels_first: bool) -> str:
    features, labels = [repr(value) for value in data.X[row].tolist()], _label_cells(data, row)
    return ",".join([*labels, *features] if labels_first else [*features, *labels]) + "\n"


def _sparse_line(data: Dataset, row: int, labels_first: bool) -> str:
    base, label_base = (data.n_labels, 0) if labels_first else (0, data.n_features)
    features = [f"{base + column} {value!r}" for column, value in _entries(data, row)]
    labels = [f"{label_base + label} {cell}" for label, cell in enumerate(_label_cells(data, row)) if cell != "0"]
    return "{" + ",".join([*labels, *features] if labels_first else [*features, *labels]) + "}\n"


def _clus(job: Job) -> dict[str, Any]:
    data = job.dataset
    _refuse_unknown(data, "clus")
    bare = np.flatnonzero(~data.Y.any(axis=1))
    if bare.size:
        raise UserError(f"row {bare[0] + 1} has no label; a Clus file gives every row a class")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"@relation {_quoted(data.name)}\n\n")
            file.writelines(f"@attribute {_quoted(name)} numeric\n" for name in data.feature_names)
            file.write(f"@attribute class hierarchical {','.join(data.label_names)}\n\n@data\n")
            for row in rows:
                classes = _quoted("@".join(data.label_names[label] for label in np.flatnonzero(data.Y[row])))
                if issparse(data.X):
                    cells = [f"{column} {value!r}" for column, value in _entries(data, row)]
                    file.write("{" + ",".join([*cells, f"{data.n_features} {classes}"]) + "}\n")
                else:
                    file.write(",".join([*map(repr, data.X[row].tolist()), classes]) + "\n")
    return job.options(format="clus")


def _libsvm(job: Job) -> dict[str, Any]:
    _refuse_unknown(job.dataset, "libsvm")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(_numbered_line(job.dataset, row, 1) for row in rows)
    return job.options(format="libsvm", zero_based=False, **_name_files(job))


def _xmc(job: Job) -> dict[str, Any]:
    data = job.dataset
    _refuse_unknown(data, "xmc")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{len(rows)} {data.n_features} {data.n_labels}\n")
            file.writelines(_numbered_line(data, row, 0) for row in rows)
    return job.options(format="xmc", **_name_files(job))


def _numbered_line(data: Dataset, row: int, base: int) -> str:
    labels = ",".join(str(base + label) for label in np.flatnonzero(data.Y[row]))
    return labels + " " + " ".join(f"{base + column}:{value!r}" for column, value in _entries(data, row)) + "\n"


def _name_files(job: Job) -> dict[str, Path]:
    files = {"labels": job.beside(".labels.txt"), "features": job.beside(".features.txt")}
    for path, names in zip(files.values(), (job.dataset.label_names, job.dataset.feature_names), strict=True):
        for name in names:
            if name != name.strip() or not name or "\n" in name:
                raise UserError(f"the name {shown(name)} does not fit on a line of its own")
        path.write_text("\n".join(names) + "\n", encoding="utf-8", newline="\n")
    return files


def _csv(job: Job) -> dict[str, Any]:
    data = job.dataset
    _refuse_wide(data, "csv")
    for name in (*data.feature_names, *data.label_names):
        if "\n" in name:
            raise UserError(f"the name {shown(name)} does not fit into a header line")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([*data.feature_names, *data.label_names])
            for row in rows:
                values = as_dense(data.X[[row]])[0].tolist()
                cells = [cell.replace("?", "") for cell in _label_cells(data, row)]
                file.write(",".join([*map(repr, values), *cells]) + "\n")
    return job.options(format="csv", label_columns=list(data.label_names))


def _parquet(job: Job) -> dict[str, Any]:
    import pandas as pd

    data = job.dataset
    _refuse_wide(data, "parquet")
    for path, rows in job.parts():
        part = slice(rows.start, rows.stop)
        features = pd.DataFrame(as_dense(data.X[part]), columns=list(data.feature_names))
        labels = pd.DataFrame(data.Y[part], columns=list(data.label_names))
        if data.known is not None:
            labels = labels.astype("boolean").mask(~data.known[part])
        try:
            pd.concat([features, labels], axis=1).to_parquet(path, engine="pyarrow", index=False)
        except ImportError as error:
            raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]") from error
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error
    return job.options(format="parquet", label_columns=list(data.label_names))


def _npz(job: Job) -> dict[str, Any]:
    data = job.dataset
    arrays: dict[str, Any] = {"Y": data.Y}
    if issparse(data.X):
        parts = {"data": data.X.data, "indices": data.X.indices, "indptr": data.X.indptr, "shape": data.X.shape}
        arrays |= {f"X_{name}": part for name, part in parts.items()}
    else:
        arrays["X"] = data.X
    if data.known is not None:
        arrays["known"] = data.known
    if data.official is not None:
        arrays |= {"train": data.official[0], "test": data.official[1]}
    arrays |= {"label_names": np.array(data.label_names), "feature_names": np.array(data.feature_names)}
    with open(job.train, "wb") as file:
        np.savez_compressed(file, **arrays)
    return {"format": "npz"}


def _mat(job: Job) -> dict[str, Any]:
    from scipy.io import savemat

    data = job.dataset
    variables: dict[str, Any] = {
        "label_names": np.array(data.label_names, object),
        "feature_names": np.array(data.feature_names, object),
    }
    for suffix, (_, rows) in zip(("", "_test"), job.parts(), strict=False):
        part = slice(rows.start, rows.stop)
        variables["X" + suffix] = csc_array(data.X[part]) if issparse(data.X) else data.X[part]
        variables["Y" + suffix] = data.Y[part].astype(np.uint8)
        if data.known is not None:
            variables["Y" + suffix] = np.where(data.known[part], data.Y[part], np.nan)
    savemat(job.train, variables, do_compression=True)
    return {"format": "mat"}


def _refuse_unknown(data: Dataset, key: str) -> None:
    if data.known is not None:
        count = int((~data.known).sum())
        raise UserError(f"{count} label entries are unknown, which the format '{key}' cannot hold")


def _refuse_wide(data: Dataset, key: str) -> None:
    if issparse(data.X) and data.X.shape[0] * data.X.shape[1] > MOST_CELLS:
        raise UserError(f"{data.X.shape[0]} x {data.X.shape[1]} cells, nearly all 0, are too many for '{key}'")


def _entries(data: Dataset, row: int) -> list[tuple[int, float]]:
    """Return (column, value) of what is not 0 in a row."""
    if issparse(data.X):
        part = slice(data.X.indptr[row], data.X.indptr[row + 1])
        return list(zip(data.X.indices[part].tolist(), data.X.data[part].tolist(), strict=True))
    columns = np.flatnonzero(data.X[row])
    return list(zip(columns.tolist(), data.X[row, columns].tolist(), strict=True))


def _label_cells(data: Dataset, row: int) -> list[str]:
    cells = ["1" if mark else "0" for mark in data.Y[row].tolist()]
    if data.known is not None:
        for label in np.flatnonzero(~data.known[row]):
            cells[label] = "?"
    return cells


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


WRITERS: dict[str, Callable[[Job], dict[str, Any]]] = {
    "clus": _clus,
    "csv": _csv,
    "libsvm": _libsvm,
    "mat": _mat,
    "meka": _meka,
    "mulan": _mulan,
    "npz": _npz,
    "parquet": _parquet,
    "xmc": _xmc,
}
