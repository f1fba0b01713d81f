"""Files without a mistake, read by a second reader as well: the same numbers to the last bit."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import loadmat, savemat
from scipy.io.arff import loadarff
from scipy.sparse import csc_array, csr_array, issparse
from sklearn.datasets import load_svmlight_file

from mlrank import load_dataset
from tests.fuzz.limits import FUZZ, limited

SEEDS = st.integers(0, 2**32 - 1)
SPELLINGS = ("{!r}", "{:.3g}", "{:.17g}", "{:e}", "{:+.20f}", "{:.0f}", "{:.1f}")


def problem(seed):
    """Return a generator, X with zeros and numbers of every size, and Y with a label at least."""
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(1, (9, 6, 5))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-12, 12, (n, d))
    X[rng.random((n, d)) < rng.choice([0, 0.5, 0.9])] = 0
    Y = rng.random((n, k)) < 0.5
    Y[0, 0] = True
    return rng, X, Y


def spelled(rng, X):
    """Return the numbers as text of several kinds, and what Python reads from it."""
    text = np.array([[rng.choice(SPELLINGS).format(value) for value in row] for row in X.tolist()], object)
    return text, np.array([[float(cell) for cell in row] for row in text])


def load(path, **options):
    with limited():
        data = load_dataset(path, **options)
    return data, data.X.toarray() if issparse(data.X) else data.X


def same(found, expected):
    np.testing.assert_array_equal(found, expected)
    # Not told apart above: the sign of 0 is no part of a data set.
    assert np.asarray(found).shape == np.asarray(expected).shape


@FUZZ
@given(SEEDS)
def test_tables_as_pandas_reads_them(tmp_path, seed):
    rng, X, Y = problem(seed)
    text, _ = spelled(rng, X)
    cells = np.hstack([text, Y.astype(int).astype(str)])
    names = [f"c {column}" for column in range(cells.shape[1])]
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        path = tmp_path / f"d.{ending}"
        path.write_text(rng.choice(["\n", "\r\n"]).join(map(separator.join, [names, *cells])), newline="")
        data, found = load(path, label_columns=-Y.shape[1])
        table = pd.read_csv(path, sep=separator, dtype=str)
        same(found, table.to_numpy(float)[:, : X.shape[1]])
        same(data.Y, table.to_numpy(float)[:, X.shape[1] :] == 1)
        assert (*data.feature_names, *data.label_names) == tuple(table.columns)


@FUZZ
@given(SEEDS)
def test_libsvm_as_scikit_learn_reads_it(tmp_path, seed):
    rng, X, Y = problem(seed)
    # The last number of each kind says how many there are.
    X[0, -1], Y[0, -1] = 1, True
    text, _ = spelled(rng, X)
    base = int(rng.integers(2))
    lines = [
        ",".join(str(label + base) for label in rng.permutation(np.flatnonzero(labels)))
        + rng.choice([" ", "  ", "\t"])
        + " ".join(f"{column + base}:{cell}" for column, cell in enumerate(row) if float(cell) or column == 0)
        for row, labels in zip(text, Y, strict=True)
    ]
    path = tmp_path / "d.svm"
    path.write_text("\n".join(lines) + "\n")
    data, found = load(path, zero_based=not base)
    rows, labels = load_svmlight_file(str(path), multilabel=True, zero_based=not base, n_features=X.shape[1])
    same(found, rows.toarray())
    expected = np.zeros(Y.shape, bool)
    for row, its in enumerate(labels):
        expected[row, np.array(its, int) - base] = True
    same(data.Y[:, -Y.shape[1] :], expected)
    if base == 0:
        path = tmp_path / "d.xmc"
        path.write_text("\n".join([f"{len(X)} {X.shape[1]} {Y.shape[1]}", *lines]) + "\n")
        data, again = load(path)
        same(again, found)
        same(data.Y, expected)


@FUZZ
@given(SEEDS)
def test_dense_arff_as_scipy_reads_it(tmp_path, seed):
    rng, X, Y = problem(seed)
    text, _ = spelled(rng, X)
    words = rng.choice(["red", "green", "blue"], len(X))
    names = [f"f{column}" for column in range(X.shape[1])]
    head = [f"@attribute {name} {rng.choice(['numeric', 'REAL', 'real'])}" for name in names]
    head += ["@attribute colour {red,green,blue}", *(f"@attribute l{label} {{0,1}}" for label in range(Y.shape[1]))]
    rows = [
        ",".join([*cells, word, *labels])
        for cells, word, labels in zip(text, words, Y.astype(int).astype(str), strict=True)
    ]
    content = "\n".join([f"@relation 'r: -C -{Y.shape[1]}'", *head, "@data", *rows]) + "\n"
    path = tmp_path / "d.arff"
    path.write_text(content)
    data, found = load(path)
    records, _ = loadarff(io.StringIO(content))
    same(found[:, : X.shape[1]], np.array([[record[name] for name in names] for record in records]))
    for column, word in enumerate(("red", "green", "blue"), start=X.shape[1]):
        same(found[:, column], records["colour"] == word.encode())
    same(data.Y, np.array([records[f"l{label}"] == b"1" for label in range(Y.shape[1])]).T)


@FUZZ
@given(SEEDS)
def test_sparse_arff_and_clus_as_they_were_written(tmp_path, seed):
    rng, X, Y = problem(seed)
    text, values = spelled(rng, X)
    d, k = X.shape[1], Y.shape[1]
    pairs = [[f"{column} {cell}" for column, cell in enumerate(row) if float(cell)] for row in text]
    numeric = [f"@attribute f{column} numeric" for column in range(d)]
    binary = [f"@attribute l{label} {{0,1}}" for label in range(k)]
    marks = [[f"{d + label} 1" for label in np.flatnonzero(row)] for row in Y]
    rows = ["{" + ",".join([*some, *labels]) + "}" for some, labels in zip(pairs, marks, strict=True)]
    path = tmp_path / "d.arff"
    path.write_text("\n".join([f"@relation 'r: -C -{k}'", *numeric, *binary, "@data", *rows]) + "\n")
    data, found = load(path)
    same(found, values)
    same(data.Y, Y)
    Y[:, 0] = True
    classes = f"@attribute c hierarchical {','.join(f'a/{label}' for label in range(k))}"
    paths = ["@".join(f"a/{label}" for label in np.flatnonzero(row)) for row in Y]
    rows = [",".join([*row, its]) for row, its in zip(text, paths, strict=True)]
    path.write_text("\n".join(["@relation r", *numeric, classes, "@data", *rows]) + "\n")
    data, found = load(path)
    same(found, values)
    same(data.Y, np.hstack([np.ones((len(Y), 1), bool), Y]))


@FUZZ
@given(SEEDS)
def test_npz_as_numpy_reads_it(tmp_path, seed):
    rng, X, Y = problem(seed)
    X = X.astype(rng.choice(["f8", "f4", ">f8"]), order=rng.choice(["C", "F"]))
    if rng.random() < 0.3:
        X = rng.integers(-100, 100, X.shape).astype(rng.choice(["i1", "i2", "i8"]))
    rows = csr_array(X.astype(float))
    parts = {f"X_{name}": getattr(rows, name) for name in ("data", "indices", "indptr")} | {"X_shape": rows.shape}
    dense = rng.random() < 0.5
    write = np.savez if rng.random() < 0.5 else np.savez_compressed
    path = tmp_path / "d.npz"
    write(path, **({"X": X} if dense else parts), Y=Y.astype(rng.choice(["?", "u1", "f8", "i8"])))
    data, found = load(path)
    with np.load(path) as arrays:
        expected = (
            arrays["X"]
            if dense
            else csr_array(
                (arrays["X_data"], arrays["X_indices"], arrays["X_indptr"]), shape=tuple(arrays["X_shape"])
            ).toarray()
        )
        same(found, expected.astype(float))
        same(data.Y, arrays["Y"] == 1)


@FUZZ
@given(SEEDS)
def test_mat_files_as_scipy_reads_them(tmp_path, seed):
    rng, X, Y = problem(seed)
    X = csc_array(X) if rng.random() < 0.5 else X.astype(rng.choice(["f8", "f4"]))
    Y = csc_array(Y.astype(float)) if rng.random() < 0.5 else Y.astype(rng.choice(["f8", "u1", "?"]))
    names = np.array([f"name {label}" * (label + 1) for label in range(Y.shape[1])], rng.choice(["O", "U"]))
    path = tmp_path / "d.mat"
    savemat(path, {"X": X, "Y": Y, "label_names": names, "Z": np.ones((2, 2))}, do_compression=rng.random() < 0.5)
    data, found = load(path)
    read = loadmat(path)
    same(found, read["X"].toarray() if issparse(read["X"]) else read["X"].astype(float))
    same(data.Y, (read["Y"].toarray() if issparse(read["Y"]) else read["Y"]) == 1)
    assert data.label_names == tuple(names)


@FUZZ
@given(SEEDS)
def test_parquet_as_pyarrow_reads_it(tmp_path, seed):
    rng, X, Y = problem(seed)
    frame = pd.DataFrame(X, columns=[f"f{column}" for column in range(X.shape[1])])
    frame["whole"] = rng.integers(-(2**53), 2**53, len(X))
    marks = pd.DataFrame(Y, columns=[f"l{label}" for label in range(Y.shape[1])]).astype(rng.choice(["bool", "int64"]))
    path = tmp_path / "d.parquet"
    pd.concat([frame, marks], axis=1).to_parquet(path)
    data, found = load(path, label_columns=-Y.shape[1])
    columns = pyarrow.parquet.read_table(path).to_pydict()
    same(found, np.array([columns[name] for name in frame], float).T)
    same(data.Y, np.array([columns[name] for name in marks]).T == 1)
