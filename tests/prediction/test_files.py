"""Predictions for files: the same for every format, block size and order of columns, or one line that says why not."""

import csv
import json
import re

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.datasets import Dataset, stream
from mlrank.datasets.convert import convert
from mlrank.datasets.formats import FORMATS
from mlrank.errors import UserError
from mlrank.models.file import load_model
from mlrank.prediction import files, predict_file
from mlrank.solvers import LinearModel
from tests.models.fits import about, stored
from tests.solvers.problems import random_problem

NAMES = ("colour, of it", "b", "c", "d", "e", "f g")
LABELS = ("red", "green", "blue", "fast", "slow")


def dataset(sparse=False, names=NAMES, labels=LABELS):
    X, Y = random_problem()
    Y[0] = Y[0] | (np.arange(5) == 2)  # Clus files give every row a label
    X = np.abs(X)
    return Dataset("small", csr_array(X) if sparse else X, Y, None, labels, names, None, "made")


def model_of(path, names=NAMES, labels=LABELS, key="rank_svm", **how):
    stored(path, key, header={"feature_names": list(names), "label_names": list(labels)}, **how)
    return load_model(path)


@pytest.fixture
def small_blocks(monkeypatch):
    """Read and score a few rows at a time."""
    monkeypatch.setattr(stream, "CHUNK_BYTES", 200)
    monkeypatch.setattr(files, "BLOCK_CELLS", 40)


def read_npz(path):
    with np.load(path, allow_pickle=False) as found:
        return dict(found)


@pytest.mark.parametrize("trained_sparse", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", FORMATS)
def test_every_format_gives_the_same_scores(tmp_path, small_blocks, key, sparse, trained_sparse):
    model = model_of(tmp_path / "a.model", sparse=trained_sparse, scale="standard", threshold="svr_midpoint")
    data = dataset(sparse)
    written = convert(data, tmp_path / f"data{FORMATS[key].written}", key)
    zero_based = False if key == "libsvm" else None
    done = predict_file(model, written["train"], tmp_path / "s.npz", scores=True, format=key, zero_based=zero_based)
    predict_file(model, written["train"], tmp_path / "p.npz", format=key, zero_based=zero_based)
    assert done.n_rows == 40
    found = read_npz(tmp_path / "s.npz")
    assert np.allclose(found["scores"], model.decision_function(data.X), rtol=0, atol=1e-12)
    assert found["label_names"].tolist() == list(LABELS)
    assert np.array_equal(read_npz(tmp_path / "p.npz")["Y_pred"], model.predict(data.X))
    assert [note for note in done.notes if "MATLAB" not in note] == []


def test_labels_need_not_be_there_and_columns_may_stand_in_any_order(tmp_path, small_blocks):
    model = model_of(tmp_path / "a.model")
    data = dataset()
    order = np.random.default_rng(0).permutation(6)
    table = tmp_path / "t.csv"
    with open(table, "w") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *(NAMES[i] for i in order), "more"])
        writer.writerows([row, *data.X[row, order].tolist(), 7] for row in range(40))
    done = predict_file(model, table, tmp_path / "s.npz", scores=True)
    assert np.allclose(read_npz(tmp_path / "s.npz")["scores"], model.decision_function(data.X))
    assert done.notes == ("2 further columns are no features of the model and left out: 'id', 'more'",)
    np.savez(tmp_path / "x.npz", X=data.X)
    predict_file(model, tmp_path / "x.npz", tmp_path / "n.npz", scores=True)
    np.savez(tmp_path / "f.npz", X=np.asfortranarray(data.X[:, order]), feature_names=np.array(NAMES)[order])
    predict_file(model, tmp_path / "f.npz", tmp_path / "m.npz", scores=True)
    for name in ("n", "m"):
        assert np.allclose(read_npz(tmp_path / f"{name}.npz")["scores"], model.decision_function(data.X))


def libsvm(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def predicted(model, data, folder, **options):
    out = folder / "out.npz"
    done = predict_file(model, data, out, scores=True, **options)
    return read_npz(out)["scores"], done.notes


def test_numbered_features_are_known_by_their_numbers(tmp_path):
    one = model_of(tmp_path / "1.model", names=[str(i) for i in range(1, 7)], sparse=True)
    file = libsvm(tmp_path / "a.svm", ["0,3 1:2 6:5", "# a comment", " 2:1"])
    scores, notes = predicted(one, file, tmp_path)
    X = np.array([[2.0, 0, 0, 0, 0, 5], [0, 1, 0, 0, 0, 0]])
    assert np.allclose(scores, one.decision_function(X))
    assert notes == ()
    zero = libsvm(tmp_path / "b.svm", [" 0:2 5:5", " 1:1"])
    assert np.allclose(predicted(one, zero, tmp_path, zero_based=True)[0], one.decision_function(X))
    # A part of the numbers, as a subset has: the others are counted.
    part = model_of(tmp_path / "p.model", names=["2", "4", "7", "9", "11", "30"], sparse=True)
    file = libsvm(tmp_path / "c.svm", [" 2:2 3:9 30:5 31:1", " 4:1"])
    scores, notes = predicted(part, file, tmp_path)
    assert np.allclose(scores, part.decision_function(X))
    assert notes == ("2 entries are of features that the model does not use, and left out",)


def told(model, data, folder, **options):
    with pytest.raises(UserError) as error:
        predict_file(model, data, folder / "out.npz", **options)
    line = str(error.value)
    assert "\n" not in line
    assert not (folder / "out.npz").exists()
    assert not list(folder.glob("*.part"))
    return line


def test_numbers_that_do_not_fit_are_told_with_their_place(tmp_path, small_blocks):
    model = model_of(tmp_path / "1.model", names=[str(i) for i in range(1, 7)], sparse=True)
    rows = [f" 1:{row}.5 3:1" for row in range(60)]
    low = libsvm(tmp_path / "a.svm", [*rows, " 0:1"])
    assert told(model, low, tmp_path) == (
        f"{low}:61:2: feature number 0, but the features of the model have the numbers 1 to 6; if this file counts "
        "from 0, say --zero-based"
    )
    high = libsvm(tmp_path / "b.svm", [*rows, "# no row", "3 2:1 7:1"])
    assert told(model, high, tmp_path).startswith(f"{high}:62:7: feature number 7, but the features of the model")
    twice = libsvm(tmp_path / "c.svm", [*rows, " 2:1 4:1 2:3"])
    assert told(model, twice, tmp_path) == f"{twice}:61:10: feature 2 occurs twice in this row"
    xmc = tmp_path / "d.txt"
    xmc.write_text("2 6 5\n0 0:1\n1 6:1\n")
    assert "d.txt:3:3: feature number 6, but the features of the model have the numbers 0 to 5" in told(
        model, xmc, tmp_path, format="xmc"
    )
    empty = libsvm(tmp_path / "e.svm", [])
    assert "holds no rows" in told(model, empty, tmp_path)
    gap = libsvm(tmp_path / "f.svm", [*rows, "", *rows])
    assert told(model, gap, tmp_path).startswith(f"{gap}:61:1: an empty line between rows")


def test_features_that_are_not_there_are_told(tmp_path):
    model = model_of(tmp_path / "a.model")
    file = libsvm(tmp_path / "a.svm", [" 1:1"])
    assert "the 6 features of the model have names ('colour, of it', 'b', 'c' and 3 more)" in told(
        model, file, tmp_path
    )
    table = tmp_path / "t.csv"
    table.write_text("b,c,d,e,f g,color of it\n1,2,3,4,5,6\n")
    line = told(model, table, tmp_path)
    assert (
        "lacks 1 of the 6 features of the model: 'colour, of it'; is 'colour, of it' the column 'color of it'?" in line
    )
    table.write_text("x,y\n1,2\n")
    assert "lacks 6 of the 6 features" in (line := told(model, table, tmp_path))
    assert line.endswith("it has 2 columns: 'x', 'y'")
    np.savez(tmp_path / "x.npz", X=np.ones((2, 5)))
    assert "X has 5 columns without names, the model takes 6 features" in told(model, tmp_path / "x.npz", tmp_path)
    np.savez(tmp_path / "x.npz", Y=np.ones((2, 5)))
    assert "holds neither X nor X_data" in told(model, tmp_path / "x.npz", tmp_path)
    table.write_text('"colour, of it",b,c,d,e,f g\n1,2,3,4,5,6\n1,2,,4,5,6\n')
    assert "row 2: the value of 'c' is missing" in told(model, table, tmp_path)
    np.savez(tmp_path / "x.npz", X=np.full((2, 6), np.nan))
    assert "missing (NaN)" in told(model, tmp_path / "x.npz", tmp_path)


def test_damaged_files_of_arrays_are_told(tmp_path):
    model = model_of(tmp_path / "a.model")
    good = tmp_path / "x.npz"
    for arrays in (
        {"X": np.array([[object()] * 6], dtype=object)},
        {"X": np.ones(6)},
        {"X": np.array([["a"] * 6])},
        {"X_data": np.ones(1), "X_indices": np.array([9]), "X_indptr": np.array([0, 1]), "X_shape": np.array([1, 6])},
        {"X_data": np.ones(1), "X_indices": np.array([0]), "X_indptr": np.array([0, 5]), "X_shape": np.array([1, 6])},
        {"X_data": np.ones(1), "X_indices": np.array([0]), "X_indptr": np.array([1, 1]), "X_shape": np.array([1, 6])},
        {
            "X_data": np.ones(1),
            "X_indices": np.array([0]),
            "X_indptr": np.array([0, 1]),
            "X_shape": np.array([9**9, 6]),
        },
    ):
        np.savez(good, **arrays)
        assert str(good) in told(model, good, tmp_path)
    np.savez(good, X=np.ones((500, 6)))
    content = good.read_bytes()
    good.write_bytes(content[: len(content) // 2])
    assert "cannot be read as .npz" in told(model, good, tmp_path)
    bad = tmp_path / "x.parquet"
    bad.write_bytes(b"PAR1 nothing")
    assert "cannot be read as Parquet" in told(model, bad, tmp_path)
    for name in ("absent.csv", "absent.npz", "absent.parquet", "absent.svm"):
        assert "no such file" in told(model, tmp_path / name, tmp_path, zero_based=True if "svm" in name else None)


def test_what_is_written_as_csv(tmp_path):
    model = model_of(tmp_path / "a.model", labels=["a,b", '"q"', "<b>", "x", "y"])
    X = dataset().X
    np.savez(tmp_path / "x.npz", X=X)
    for options in ({}, {"scores": True}, {"top": 2}):
        predict_file(model, tmp_path / "x.npz", tmp_path / f"{len(options)}{'top' in options}.csv", **options)
    with open(tmp_path / "0False.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["a,b", '"q"', "<b>", "x", "y"]
    assert np.array_equal(np.array(rows) == "1", model.predict(X))
    scores = model.decision_function(X)
    with open(tmp_path / "1False.csv", newline="") as file:
        assert np.array(list(csv.reader(file))[1:], dtype=float).tobytes() == scores.tobytes()
    with open(tmp_path / "1True.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["label_1", "score_1", "label_2", "score_2"]
    for row, its in zip(rows, scores, strict=True):
        best = sorted(range(5), key=lambda label: (-its[label], label))[:2]
        assert row == [cell for label in best for cell in (model.label_names[label], repr(float(its[label])))]


def test_names_that_look_like_formulas_stand_behind_an_apostrophe_in_csv(tmp_path):
    names = ["=cmd|'/c calc'!A1", "@SUM(1)", "-a", "-1", "+2.5e3"]
    model = model_of(tmp_path / "a.model", labels=names)
    np.savez(tmp_path / "x.npz", X=dataset().X)
    for name, options in (("sets", {}), ("top", {"top": 5})):
        predict_file(model, tmp_path / "x.npz", tmp_path / f"{name}.csv", **options)
    quoted = ["'=cmd|'/c calc'!A1", "'@SUM(1)", "'-a", "-1", "+2.5e3"]
    with open(tmp_path / "sets.csv", newline="") as file:
        assert next(csv.reader(file)) == quoted
    with open(tmp_path / "top.csv", newline="") as file:
        assert set(list(csv.reader(file))[1][::2]) == set(quoted)


@pytest.mark.parametrize(
    "labels", [LABELS, ("1", "2", "3", "4", "5"), ("0", "1", "2", "3", "4"), ("1", "3", "5", "7", "9")]
)
def test_what_is_written_as_libsvm_is_read_again(tmp_path, labels):
    model = model_of(tmp_path / "a.model", labels=labels, key="binary_svm")
    X = 5.0 * np.random.default_rng(1).standard_normal((200, 6))
    assert not model.predict(X).any(axis=1).all()
    np.savez(tmp_path / "x.npz", X=X)
    sets, scores, top = (tmp_path / f"{name}.svm" for name in ("sets", "scores", "top"))
    predict_file(model, tmp_path / "x.npz", sets)
    predict_file(model, tmp_path / "x.npz", scores, scores=True)
    predict_file(model, tmp_path / "x.npz", top, top=3)
    base = int(labels[0]) if labels[1] in ("1", "2") else 0
    numbers = [base + label for label in range(5)]
    lines = [line for line in sets.read_text().splitlines() if not line.startswith("#")]
    assert lines == [",".join(str(numbers[i]) for i in np.flatnonzero(row)) or " " for row in model.predict(X)]
    heads = [line for line in sets.read_text().splitlines() if line.startswith("#")]
    named = labels in (LABELS, ("1", "3", "5", "7", "9"))
    assert heads == [f"# label {i}: {json.dumps(name)}" for i, name in enumerate(labels) if named]
    rows = [line for line in scores.read_text().splitlines() if not line.startswith("#")]
    assert all(line.startswith(" ") for line in rows)
    pairs = [[pair.split(":") for pair in line.split()] for line in rows]
    assert all([int(number) for number, _ in row] == numbers for row in pairs)
    again = np.array([[float(value) for _, value in row] for row in pairs])
    assert again.tobytes() == model.decision_function(X).tobytes()
    first = re.sub(r":\S+", "", next(line for line in top.read_text().splitlines() if not line.startswith("#")))
    best = np.argsort(-model.decision_function(X)[0], kind="stable")[:3]
    told = [str(base + label) for label in best]
    assert first == f"{','.join(told)} {' '.join(told)}"


def test_npz_of_the_best_labels(tmp_path):
    model = model_of(tmp_path / "a.model")
    X = dataset().X
    np.savez(tmp_path / "x.npz", X=X)
    predict_file(model, tmp_path / "x.npz", tmp_path / "top.npz", top=5)
    found = read_npz(tmp_path / "top.npz")
    scores = model.decision_function(X)
    assert np.array_equal(found["labels"], np.argsort(-scores, axis=1, kind="stable"))
    assert np.array_equal(found["scores"], -np.sort(-scores, axis=1))
    assert found["labels"].dtype == np.int32
    again = tmp_path / "again.npz"
    predict_file(model, tmp_path / "x.npz", again, top=5)
    assert again.read_bytes() == (tmp_path / "top.npz").read_bytes()


def test_rows_with_fewer_best_labels_than_asked_for_have_empty_places(tmp_path, monkeypatch):
    model = model_of(tmp_path / "a.model")
    X = dataset().X
    np.savez(tmp_path / "x.npz", X=X)
    name, other = model.label_names[3], model.label_names[1]

    def few(self, X, k):
        labels = np.tile(np.array([[3, 1, -1]], np.int32), (X.shape[0], 1))
        labels[0, 1] = -1
        return labels, np.where(labels >= 0, np.array([[2.5, 1.5, 0.0]], np.float32), np.float32(-np.inf))

    monkeypatch.setattr(LinearModel, "top_scores", few, raising=False)
    for ending in ("csv", "json", "svm", "npz"):
        predict_file(model, tmp_path / "x.npz", tmp_path / f"top.{ending}", top=3)
    lines = (tmp_path / "top.csv").read_text().splitlines()
    assert lines[1:3] == [f"{name},2.5,,,,", f"{name},2.5,{other},1.5,,"]
    rows = json.loads((tmp_path / "top.json").read_text())
    assert rows[0] == {"labels": [name], "scores": [2.5]}
    assert rows[1] == {"labels": [name, other], "scores": [2.5, 1.5]}
    written = [line for line in (tmp_path / "top.svm").read_text().splitlines() if not line.startswith("#")]
    assert [len(line.split(" ")) for line in written[:2]] == [2, 3]
    assert read_npz(tmp_path / "top.npz")["labels"][0].tolist() == [3, -1, -1]


def test_wishes_that_cannot_be_met_are_told_before_anything_is_read(tmp_path):
    model = model_of(tmp_path / "a.model")
    nothing = tmp_path / "absent.csv"
    for out, options, reason in (
        ("out.npz", {"top": 6}, "the model has 5 labels"),
        ("out.npz", {"top": 2, "scores": True}, "not for both"),
        ("out.doc", {}, "the name does not say which format to write: it must end in one of .csv"),
        ("out.npz", {"format": "svm"}, "unknown data format 'svm'"),
        ("out.npz", {"zero_based": True}, "do not count from a number"),
    ):
        with pytest.raises(UserError, match=reason):
            predict_file(model, nothing, tmp_path / out, **options)
    same = tmp_path / "x.npz"
    np.savez(same, X=dataset().X)
    with pytest.raises(UserError, match="written over the data"):
        predict_file(model, same, same)


def test_a_transductive_model_tells_which_rows_it_knows(tmp_path):
    predictor, _, rows = stored(tmp_path / "a.model", "smse", scale="standard", header={"feature_names": list(NAMES)})
    model = load_model(tmp_path / "a.model")
    np.savez(tmp_path / "x.npz", X=rows)
    assert np.array_equal(predicted(model, tmp_path / "x.npz", tmp_path)[0], predictor.decision_function(rows))
    (tmp_path / "out.npz").unlink()
    np.savez(tmp_path / "x.npz", X=rows + 1.0)
    assert "row 0 was neither a training row nor an unlabeled one" in told(model, tmp_path / "x.npz", tmp_path)


def test_a_cut_over_all_rows_together_is_never_made_block_by_block(tmp_path, monkeypatch):
    model = model_of(tmp_path / "a.model", threshold="class_mass")
    X = dataset().X
    np.savez(tmp_path / "x.npz", X=X, feature_names=NAMES)
    predict_file(model, tmp_path / "x.npz", tmp_path / "whole.npz")
    expected = model.predictor.predict(X)[1]
    assert np.array_equal(read_npz(tmp_path / "whole.npz")["Y_pred"], expected)
    parts = [model.predictor.predict(X[rows])[1] for rows in np.array_split(np.arange(40), 5)]
    assert not np.array_equal(np.vstack(parts), expected)
    monkeypatch.setattr(files, "BLOCK_CELLS", 48)
    with pytest.raises(UserError, match=r"x\.npz: the threshold .* over all rows together, and only 8"):
        predict_file(model, tmp_path / "x.npz", tmp_path / "parts.npz")
    assert not (tmp_path / "parts.npz").exists()
    predict_file(model, tmp_path / "x.npz", tmp_path / "scores.npz", scores=True)
    assert read_npz(tmp_path / "scores.npz")["scores"].shape == (40, 5)


def test_an_oracle_has_scores_and_no_sets(tmp_path):
    model = model_of(tmp_path / "a.model", threshold="oracle_size")
    np.savez(tmp_path / "x.npz", X=dataset().X)
    assert "ask for scores or for the best labels" in told(model, tmp_path / "x.npz", tmp_path)
    assert predicted(model, tmp_path / "x.npz", tmp_path)[0].shape == (40, 5)


def test_the_header_of_a_model_says_what_it_takes():
    assert about()["feature_names"][0] == "1"
