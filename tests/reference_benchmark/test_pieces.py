"""The benchmark is run in pieces: what a piece has is not run again, what has changed is, and rows must be the same."""

import shutil

import numpy as np
import pytest

from mlrank.benchmark import Pieces, benchmark_config, check_rows, own_config, read_rows, rows_of
from mlrank.config import load_config
from mlrank.errors import UserError
from mlrank.experiment.points import equivalent_points
from mlrank.records import RunFolder
from mlrank.resources import shipped
from mlrank.solvers import SOLVERS
from mlrank.solvers.presets import PRESETS
from mlrank.splits import make_splits
from tests.reference_benchmark.conftest import command


def stamps(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.xz")}


def test_both_cuts_of_a_method_are_one_piece(made):
    records = Pieces(made.out / "cells").read()
    assert len(list(made.out.glob("cells/*/*"))) == 2
    assert {record.names for record in records} == {
        ("yeast", split, f"{method}{cut}")
        for split in ("r0f0", "r0f1")
        for method in ("kNN", "PLST")
        for cut in ("", " tuned")
    }
    stored = {record.names: record for record in RunFolder.open(made.runs / "reference-benchmark").runs()}
    assert {record.names: record for record in records} == stored


def test_what_a_piece_has_is_not_run_again(made, tmp_path, monkeypatch):
    out = tmp_path / "benchmark"
    shutil.copytree(made.out, out)
    (out / "cells" / "yeast" / "PLST.json.xz").unlink()
    fitted = []
    monkeypatch.setattr(SOLVERS["knn"], "fit", lambda self, *_: fitted.append(self))
    command("run", "--out", out, "--results", tmp_path / "runs", "--jobs", 1, "--quiet")
    assert not fitted
    kept = "cells/yeast/kNN.json.xz"
    assert (out / kept).read_bytes() == (made.out / kept).read_bytes()
    values = [[(r.names, r.key, r.metrics) for r in Pieces(folder / "cells").read()] for folder in (out, made.out)]
    assert values[0] == values[1]


def test_a_forecast_counts_what_pieces_have(made, tmp_path, capsys, monkeypatch):
    out, fitted = tmp_path / "benchmark", []
    shutil.copytree(made.out, out)
    (out / "cells" / "yeast" / "PLST.json.xz").unlink()
    monkeypatch.setattr(SOLVERS["knn"], "fit", lambda self, *_: fitted.append(self))
    command("run", "--out", out, "--results", tmp_path / "runs", "--jobs", 1, "--dry-run")
    shown = capsys.readouterr().out
    rows = {line.split("/")[1].split("  ")[0].strip(): line.split() for line in shown.splitlines() if " / " in line}
    left = {name: row[row.index("2") + 2] for name, row in rows.items() if name != "method"}
    # Both splits: four points in a fold each, of which the tuned cut makes none, and a last fit.
    assert left == {"kNN": "0", "kNN tuned": "0", "PLST": "10", "PLST tuned": "2"}
    assert "12 of 24 fits are left: about " in shown
    assert "finished fits" in " ".join(rows["kNN"])
    assert "a pilot fit" in " ".join(rows["PLST tuned"])
    assert not fitted
    assert not (tmp_path / "runs").exists()


def test_what_has_changed_is_run_again(made, tmp_path):
    config, out = made.root / "configs" / "benchmark.yaml", tmp_path / "benchmark"
    shutil.copytree(made.out, out)
    text = config.read_text()
    config.write_text(text.replace("lam: [0.1, 10]}", "lam: [0.2, 10]}"))
    try:
        command("run", "--out", out, "--results", tmp_path / "runs", "--jobs", 1, "--quiet")
    finally:
        config.write_text(text)
    keys = [{r.names: r.key for r in Pieces(folder / "cells").read()} for folder in (made.out, out)]
    assert {names[2] for names in keys[0] if keys[0][names] != keys[1][names]} == {"PLST"}


def test_an_error_in_a_piece_names_no_place_of_the_machine(made, tmp_path):
    from dataclasses import replace

    record = replace(Pieces(made.out / "cells").read()[0], error='Traceback:\n  File "/home/me/a.py"\nValueError: no')
    pieces = Pieces(tmp_path / "cells")
    pieces.add(record, tmp_path / "lock")
    assert [one.error for one in pieces.read()] == ["ValueError: no"]


def test_published_rows_are_those_that_are_drawn(made):
    (published,), (drawn,) = read_rows(made.out), rows_of(benchmark_config())
    assert published.splits == drawn.splits
    assert published.data_hash == drawn.data_hash
    np.testing.assert_array_equal(published.rows, drawn.rows)
    # The numbers are those of the whole data set, and the folds those that a reader draws with them.
    from mlrank.datasets import load_dataset
    from mlrank.labels import label_counts

    whole = load_dataset("yeast")
    Y = whole.Y[published.rows]
    top = np.sort(np.argsort(-label_counts(Y), kind="stable")[:3])
    splits = make_splits(Y[:, top], None, 0, kind="kfold", folds=2)
    for number, split in enumerate(splits):
        np.testing.assert_array_equal(np.flatnonzero(published.folds == number), np.sort(split.test))


def test_other_rows_are_refused_with_both_hashes(made):
    from dataclasses import replace

    (published,) = read_rows(made.out)
    (name, n_train, n_test, key), other = published.splits
    changed = replace(published, splits=((name, n_train, n_test, "abc"), other))
    with pytest.raises(UserError) as refused:
        check_rows([published], [changed])
    assert str(refused.value) == (
        f"the rows of split r0f0 of 'yeast' are not those of the benchmark: their hash is {key}, the published one abc"
    )
    with pytest.raises(UserError, match=f"the data of 'yeast' .* {published.data_hash}, the published one x"):
        check_rows([published], [replace(published, data_hash="x")])


def test_a_damaged_piece_is_named(tmp_path):
    path = tmp_path / "yeast" / "kNN.json.xz"
    path.parent.mkdir()
    path.write_bytes(b"no")
    with pytest.raises(UserError, match=r"kNN\.json\.xz: damaged piece"):
        Pieces(tmp_path).read()


def test_the_shipped_benchmark_has_every_solver_and_preset_with_equal_grids_and_both_cuts():
    config = load_config(shipped("configs") / "benchmark.yaml")
    solvers = {method.solver for method in config.methods.values()}
    assert solvers == {*SOLVERS, *(preset.place for preset in PRESETS.values())} | {
        "sklearn.multioutput:ClassifierChain"
    }
    for name, method in config.methods.items():
        assert len(set(equivalent_points(method))) == 4, name
        if not name.endswith(" tuned"):
            tuned = config.methods[f"{name} tuned"]
            assert (tuned.solver, tuned.axes) == (method.solver, method.axes)
            assert method.threshold in ("zero", "natural")
            assert (tuned.threshold, tuned.threshold_scores) == ("per_label_f1", "heldout")
    assert len(config.methods) == 2 * 32


def test_parts_of_the_benchmark(monkeypatch):
    monkeypatch.setattr("mlrank.benchmark.own.shipped", shipped)
    small = {"emotions", "birds", "genbase", "medical", "msrc-v2", "scene", "yeast", "mediamill-cut"}
    assert {one.name for one in benchmark_config(["small"]).datasets} == small
    own = own_config("rank_svm", ["emotions", "bibtex"], {"C": [0.1, 1]})
    assert [one.resolved() for one in own.datasets] == [
        "emotions",
        {"name": "bibtex", "subset": {"rows": 3000, "top_labels": 100}},
    ]
    assert {name: len(method.grid()) for name, method in own.methods.items()} == {"rank_svm": 2, "rank_svm tuned": 2}
    with pytest.raises(UserError, match=r"unknown data set of the benchmark 'emotion'. Did you mean 'emotions'"):
        benchmark_config(["emotion"])
    with pytest.raises(UserError, match="unknown method of the benchmark 'kNM'"):
        benchmark_config([], ["kNM"])
