"""Model files with members changed: refused in a line when opened, or when they score, or scoring rows with numbers."""

import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlrank.errors import UserError
from mlrank.models.file import load_model
from tests.fuzz.limits import FUZZ, limited
from tests.fuzz.spellings import JSON, changed_value, damaged_npy
from tests.models.fits import stored

KINDS = [("rank_svm", {}), ("binary_svm", {"kernel": "rbf", "gamma": 0.1}), ("bknn", {}), ("smse", {}), ("ml_loc", {})]


@functools.cache
def members(key, sparse):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        stored(path, key, dict(KINDS)[key], sparse=sparse, scale="standard")
        with zipfile.ZipFile(path) as packed:
            return {info.filename: packed.read(info) for info in packed.infolist()}


def changed_array(draw, content):
    array = np.load(io.BytesIO(content))
    change = draw(st.sampled_from(["bytes", "shape", "type", "value", "value"]))
    if change == "bytes":
        return damaged_npy(draw, array)
    if change == "shape":
        array = draw(
            st.sampled_from([array.ravel(), array[:1], array.T, np.concatenate([array, array]), array[..., None]])
        )
    elif change == "type":
        with np.errstate(all="ignore"):
            array = array.astype(draw(st.sampled_from(["f8", "f4", "i8", "i4", "u1", "?", "c16", "U3", ">f8"])))
    elif array.size:
        array = array.copy()
        with np.errstate(all="ignore"):
            odd = np.array(draw(st.sampled_from([1e308, -1e308, np.nan, np.inf, -1, 0, 1 << 20, 2**31 - 1])))
            array.flat[draw(st.integers(0, array.size - 1))] = odd.astype(array.dtype)
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def refusal(work):
    try:
        return work(), None
    except UserError as error:
        line = str(error)
    assert line.isprintable()
    return None, line


@pytest.mark.parametrize("key", [key for key, _ in KINDS])
@FUZZ
@given(st.data())
def test_changed_models(tmp_path, key, data):
    contents, changed = dict(members(key, data.draw(st.booleans()))), set()
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from(["header.json", "header.json", *sorted(contents)]))
        if name == "header.json":
            header = changed_value(data.draw, json.loads(contents[name]), JSON)
            contents[name] = json.dumps(header).encode()
        elif name not in changed and data.draw(st.integers(0, 6)):
            contents[name] = changed_array(data.draw, contents[name])
            changed.add(name)
        else:
            del contents[name]
    path = tmp_path / "a.model"
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    with limited():
        model, refused = refusal(lambda: load_model(path))
        if refused:
            return
        X = data.draw(st.sampled_from([np.ones((3, 6)), np.full((2, 6), 1e200), np.zeros((1, 6))]))
        scores, refused = refusal(lambda: model.decision_function(X))
        if not refused:
            assert scores.shape == (len(X), len(model.label_names))
            assert np.isfinite(scores).all()
        Y_pred, refused = refusal(lambda: model.predict(X))
        assert refused or (Y_pred.dtype == bool and Y_pred.shape == (len(X), len(model.label_names)))
