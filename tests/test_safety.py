"""Names and files from elsewhere: paths stay inside their folders, pages escape every name, faults leave nothing."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.config import parse_config
from mlrank.datasets import Dataset, load_dataset
from mlrank.datasets.doctor import examine
from mlrank.datasets.doctor.page import page
from mlrank.datasets.loading import find_source, load_source
from mlrank.errors import UserError
from mlrank.models import Fit, Predictor
from mlrank.models.file import load_model, model_content
from mlrank.prediction import predict_file
from mlrank.records import RunFolder
from mlrank.records.atomic import write_archive
from mlrank.scaling import SCALERS
from mlrank.solvers import LinearModel
from mlrank.solvers.base import FitInfo
from mlrank.thresholds.cuts import LabelCut
from tests.models.fits import about, stored
from tests.solvers.problems import random_problem

HOSTILE = ("../../x", "/etc/passwd", "..", ".", "a/../../b", "~root", "C:\\x", "a\0b", "\n", "x" * 300, "-rf", "$(id)")


@settings(max_examples=200, deadline=None)
@given(st.tuples(*[st.text(min_size=1, max_size=80)] * 3))
def test_no_name_leads_out_of_a_results_folder(names):
    folder = RunFolder(Path("/results/x"))
    path = folder.model_path(*names)
    assert os.path.normpath(path) == str(path)
    assert str(path).startswith(f"{folder.path}{os.sep}runs{os.sep}")
    assert len(path.relative_to(folder.path).parts) == 4
    assert max(map(len, path.parts)) <= 206


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_in_a_configuration_are_refused_or_kept_inside(tmp_path, name):
    text = "name: {name}\ndatasets: [yeast]\nsplit: {{kind: official}}\nmethods:\n  {method}: {{solver: rank_svm}}\n"
    quoted = '"' + name.encode("unicode_escape").decode().replace("\\x00", "\\0") + '"'
    for config in (text.format(name=quoted, method="A"), text.format(name="a", method=quoted)):
        with pytest.raises(UserError, match=r"names files, so it must begin|must be printable text"):
            parse_config(config, "c.yaml")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_set_names_never_leave_their_folders(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLRANK_DATA", str(tmp_path / "data"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((UserError, ValueError)):
        load_dataset(name)
    assert sorted(tmp_path.rglob("*")) == before


EVIL = "<script>alert('x')</script>&\"<img src=x onerror=alert(1)>"


def test_the_page_of_a_checkup_escapes_every_name(tmp_path):
    X, Y = random_problem()
    X[1], X[:, 2] = X[0], 0.0
    names = [f"{EVIL} {place}" for place in range(6)]
    np.savez(tmp_path / "<b>evil.npz", X=X, Y=Y, feature_names=names, label_names=names[:5])
    found = find_source(tmp_path / "<b>evil.npz")
    data = load_source(found)
    written = page(examine(data, found), data)
    assert written.count("&lt;script&gt;") >= 5
    assert "&lt;b&gt;evil" in written
    for tag in ("<script", "<img", "<b>"):
        assert tag not in written


@pytest.fixture
def prepared(tmp_path):
    stored(tmp_path / "a.model")
    np.savez(tmp_path / "x.npz", X=np.ones((50, 6)))
    return load_model(tmp_path / "a.model"), tmp_path / "x.npz"


@pytest.mark.parametrize("ending", ["csv", "svm", "npz"])
@pytest.mark.parametrize("place", ["open", "fsync", "replace"])
def test_a_disk_that_is_full_or_read_only_leaves_the_old_predictions(tmp_path, prepared, monkeypatch, ending, place):
    model, data = prepared
    out = tmp_path / f"p.{ending}"
    predict_file(model, data, out)
    old = out.read_bytes()
    number, reason = (errno.EACCES, "permission denied") if place == "open" else (errno.ENOSPC, "no space left")
    intact = getattr(os, place)

    def refuse(*args, **options):
        if place == "open" and not str(args[0]).endswith(".part"):
            return intact(*args, **options)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, place, refuse)
    with pytest.raises(UserError, match=f"cannot write the file: {reason}"):
        predict_file(model, data, out, scores=True)
    monkeypatch.undo()
    assert out.read_bytes() == old
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a.model", "x.npz", out.name])


def test_an_interrupt_leaves_the_old_predictions(tmp_path, prepared):
    model, data = prepared
    out = tmp_path / "p.csv"
    out.write_text("old")

    def stop(n_rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(model, data, out, progress=stop)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))


def test_a_hundred_thousand_labels(tmp_path):
    k = 100_000
    rng = np.random.default_rng(0)
    model = LinearModel(rng.standard_normal((k, 2)), rng.standard_normal(k), FitInfo(1, 0.0, 0.0, True))
    X = rng.standard_normal((60, 2))
    predictor = Predictor(SCALERS["none"]().fit(X), None, model, LabelCut(np.zeros(k)), False)
    fit = Fit.of(predictor, X)
    path = tmp_path / "wide.model"
    names = {"label_names": [f"label {i}" for i in range(k)], "feature_names": ["a", "b"]}
    write_archive(path, model_content(fit, about(**names)))
    np.savez(tmp_path / "x.npz", X=X)
    found = load_model(path)
    assert predict_file(found, tmp_path / "x.npz", tmp_path / "top.npz", top=3).n_rows == 60
    with np.load(tmp_path / "top.npz") as written:
        scores = model.decision_function(X)
        assert np.allclose(written["scores"], -np.sort(-scores, axis=1)[:, :3], rtol=1e-12)
        assert len(written["label_names"]) == k


def test_a_data_set_without_rows_is_no_data_set():
    with pytest.raises(ValueError, match="label names for"):
        Dataset("none", np.zeros((0, 2)), np.zeros((0, 3), np.bool_), None, (), ("a", "b"), None, "")
