"""Tables with empty cells: the arrays that compiled loops fill are large enough, and the loops check it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlrank import load_dataset
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats._cell_kernels import dense_rows, sparse_rows
from mlrank.datasets.formats._scan import copy_pieces
from mlrank.datasets.formats.layout import Attribute, TableHeader, columns_layout, make_plan
from mlrank.datasets.formats.libsvm._kernels import label_rows
from tests.datasets.writers import put

NUMBERS = ["0", "1", "-2.5", "1e23", "9007199254740993", "3.141592653589793238", "7e-5"]


def random_table(rng):
    """Return a CSV of 2 to 60 columns, the last of which hold labels, with any share of empty cells."""
    n_rows, n_columns = int(rng.integers(1, 40)), int(rng.integers(2, 61))
    n_labels = int(rng.integers(1, n_columns))
    cells = rng.choice(NUMBERS, (n_rows, n_columns))
    cells[:, -n_labels:] = rng.choice(["0", "1"], (n_rows, n_labels))
    cells[rng.random(cells.shape) < rng.choice([0, 0.3, 0.9, 1])] = ""
    lines = [",".join(f"c{column}" for column in range(n_columns)), *map(",".join, cells)]
    return rng.choice(["\n", "\r\n"]).join(lines) + rng.choice(["", "\n"]), n_labels


@pytest.mark.parametrize("part", range(4))
def test_csv_equals_pandas(tmp_path, part):
    rng = np.random.default_rng(part)
    path = tmp_path / "t.csv"
    for _ in range(100):
        text, n_labels = random_table(rng)
        path.write_text(text, newline="")
        data = load_dataset(path, label_columns=-n_labels, impute="zero")
        values = pd.read_csv(path, dtype=object).to_numpy().astype(np.float64)
        known = ~np.isnan(values[:, -n_labels:])
        np.testing.assert_array_equal(data.X, np.nan_to_num(values[:, :-n_labels]))
        np.testing.assert_array_equal(data.Y, np.nan_to_num(values[:, -n_labels:]) == 1)
        np.testing.assert_array_equal(np.ones_like(known) if data.known is None else data.known, known)


@pytest.mark.parametrize("empty", ["", "''", "?"])
@pytest.mark.parametrize("n", [1, 3, 60])
def test_arff_with_empty_nominal_cells(tmp_path, empty, n):
    rng = np.random.default_rng(n)
    filled = rng.random((200, n)) < 0.2
    head = "".join(f"@attribute a{column} {{'',x}}\n" for column in range(n))
    rows = "".join(",".join("x" if cell else empty for cell in row) + ",1\n" for row in filled)
    (path,) = put(tmp_path, d_arff=f"@relation r\n{head}@attribute l {{0,1}}\n@data\n{rows}")
    data = load_dataset(path, label_columns=["l"], impute="zero")
    expected = np.zeros((200, 2 * n))
    expected[:, 1::2] = filled
    expected[:, 0::2] = ~filled if empty != "?" else 0
    np.testing.assert_array_equal(data.X, expected)
    assert data.Y.all()


def scratch(text, **sizes):
    shape = {"word": len(text), "slow": 9, "missing": 9} | sizes
    slow, missing = np.empty((shape["slow"], 3), np.int64), np.empty((shape["missing"], 2), np.int64)
    return np.empty(shape["word"], np.uint8), slow, missing, np.zeros(2, np.int64)


def plan_of(*kinds):
    names = "abcdefgh"[: len(kinds)]
    attributes = (Attribute(name, kind, ("", "x"), 1, 1) for name, kind in zip(names, kinds, strict=True))
    header = TableHeader(Path("f"), "", tuple(attributes))
    layout = columns_layout(header, (names[-1],))
    return make_plan(header, layout, True), len(layout.feature_names)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (b"1,?,1\n2,3,0\n3,?,1\n", {"rows": 2}),
        (b"1,?,1\n?,3,0\n?,?,1\n", {"missing": 3}),
        (b"1e303,1e304,1\n1e305,1,0\n", {"slow": 2}),
        (b"1,2,1\n", {"word": 5}),
    ],
)
def test_dense_loop_stops_at_the_end_of_an_array(text, short):
    plan, width = plan_of("numeric", "numeric", "numeric")
    sizes = dict(short)
    rows = sizes.pop("rows", 9)
    X, Y = np.full((rows + 1, width), 7.0), np.zeros((9, 1), np.bool_)
    view = np.frombuffer(text, np.uint8)
    assert dense_rows(view, X[:rows], Y, 0, plan, *scratch(text, **sizes))[0] == codes.NO_ROOM
    assert (X[rows] == 7).all()
    roomy = dense_rows(view, np.zeros((9, width)), Y, 0, plan, *scratch(text))
    assert roomy[0] == codes.DONE


@pytest.mark.parametrize(
    ("text", "short"),
    [
        (b"{0 1,1 2}\n{0 3}\n{}\n", {"rows": 2}),
        (b"{0 1,1 2}\n{0 3,1 5}\n", {"entries": 3}),
        (b"{0 1,2 x}\n{2 x}\n{2 ''}\n", {"entries": 2}),
        (b"{0 ?,1 ?}\n{0 ?}\n", {"missing": 2}),
        (b"{0 1e303,1 1e304}\n{0 1e305}\n", {"slow": 2}),
        (b"{0 1}\n", {"word": 5}),
        (b"{0 1}\n{0 1}\n", {"entries": 3}),
    ],
)
def test_sparse_loop_stops_at_the_end_of_an_array(text, short):
    plan, _ = plan_of("numeric", "numeric", "nominal", "numeric")
    view = np.frombuffer(text, np.uint8)

    def run(rows=9, entries=99, **sizes):
        store = np.zeros(entries), np.zeros(entries, np.int32), np.zeros(10, np.int32)
        Y, seen = np.zeros((rows, 1), np.bool_), np.zeros(4, np.int64)
        return sparse_rows(view, store, Y, np.zeros(2, np.int64), plan, seen, *scratch(text, **sizes))[0]

    assert run(**short) == codes.NO_ROOM
    assert run() == codes.DONE


@pytest.mark.parametrize("short", ["data", "indices", "indptr", "ids", "id_indptr", "slow"])
def test_libsvm_loop_stops_at_the_end_of_an_array(short):
    text = np.frombuffer(b"1,2 1:1e23 2:1\n3 1:1e24\n", np.uint8)

    def run(**less):
        sizes = {"data": 3, "indices": 3, "indptr": 3, "ids": 3, "id_indptr": 3, "slow": 2}
        sizes |= {name: sizes[name] - 1 for name in less}
        store = [np.zeros(sizes[name], np.int32) for name in ("indices", "indptr", "ids")]
        id_indptr, slow = np.zeros(sizes["id_indptr"], np.int64), np.zeros((sizes["slow"], 3), np.int64)
        return label_rows(text, np.zeros(sizes["data"]), *store, id_indptr, np.zeros(6, np.int64), slow)[0]

    assert run(**{short: True}) == codes.NO_ROOM
    assert run() == codes.DONE


def test_pieces_are_copied_only_where_there_is_room():
    text, pieces = np.frombuffer(b"12,345\n", np.uint8), np.array([[0, 2], [3, 6]])
    assert copy_pieces(text, pieces, np.zeros(7, np.uint8)) == 7
    assert copy_pieces(text, pieces, np.zeros(6, np.uint8)) == -1
