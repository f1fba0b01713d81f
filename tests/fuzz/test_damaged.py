"""Whatever the bytes, a reader gives a data set or one line about them."""

import warnings
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat
from scipy.sparse import csr_array

from mlrank import load_dataset
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import text as text_files
from mlrank.errors import UserError
from tests.datasets.writers import WEATHER, WEATHER_XML, put, xml_of
from tests.fuzz.limits import FUZZ, limited

SPARSE = (
    "@attribute a {x,'y z'}\n@attribute play {1,0}\n@attribute stay numeric\n@attribute b real\n"
    "@data\n{0 x,3 1.5}\n{}\n"
)
CLUS = "@attribute a real\n@attribute c hierarchical 1/2,3\n@data\n1,1@3\n{0 1,1 1/2}\n"
LIBSVM = "# c\n0,1 1:2.5 7:1e-3\n 3:1\n2\n"


@st.composite
def damaged(draw, whole):
    """Return `whole` with pieces cut out, repeated, or replaced by bytes that mean something to a reader."""
    content = whole.encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        stop = draw(st.integers(start, min(len(content), start + 12)))
        piece = draw(
            st.one_of(st.binary(max_size=4), st.text("{}'\"\\,:@/?%#\n\r\t 019.e-+\0", max_size=6).map(str.encode))
        )
        content = content[:start] + piece + content[stop:] * draw(st.sampled_from([1, 1, 1, 2]))
    return content


def check(**how):
    path = how.pop("path")
    message, data = "", None
    with limited():
        try:
            data = load_dataset(path, **how)
        except UserError as error:
            message = str(error)
    assert message.isprintable()
    if not message:
        assert isinstance(data, Dataset)
        assert data.X.shape[0] == data.Y.shape[0] > 0


@pytest.mark.parametrize("whole", [WEATHER, SPARSE])
@FUZZ
@given(st.data(), st.sampled_from([3, 40, 4096]))
def test_mulan(tmp_path, monkeypatch, whole, data, block_size):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", block_size)
    content = data.draw(st.one_of(damaged(whole), st.binary(max_size=60)))
    path, labels = put(tmp_path, d_arff=content, w_xml=WEATHER_XML)
    check(path=path, labels=labels)


@FUZZ
@given(st.one_of(damaged(CLUS), st.binary(max_size=60)))
def test_clus(tmp_path, content):
    check(path=put(tmp_path, d_arff=content)[0], format="clus")


@FUZZ
@given(
    st.one_of(damaged(LIBSVM), st.binary(max_size=60)), st.sampled_from([None, True, False]), st.sampled_from([3, 4096])
)
def test_libsvm(tmp_path, monkeypatch, content, zero_based, block_size):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", block_size)
    train, test = put(tmp_path, a_svm=LIBSVM, b_svm=content)
    check(path=test, zero_based=zero_based)
    check(path=train, test=test, zero_based=zero_based)


@FUZZ
@given(st.one_of(damaged(WEATHER_XML), damaged(xml_of(["stay", "play"])), st.binary(max_size=60)))
def test_label_xml(tmp_path, content):
    path, labels = put(tmp_path, d_arff=WEATHER, w_xml=content)
    check(path=path, labels=labels)


@FUZZ
@given(st.binary(max_size=40))
def test_label_names(tmp_path, content):
    path, labels = put(tmp_path, d_svm=LIBSVM, n_txt=content)
    check(path=path, labels=labels, zero_based=True)


XMC = "3 8 4\n0,1 1:2.5 7:1e-3\n 3:1\n2\n"
MEKA = "@relation 'x: -C -1'\n@attribute a {x,'y z'}\n@attribute b real\n@attribute l {0,1}\n@data\nx,?,?\n'y z',2,1\n"
CSV = 'a,"b ""c""",l\n1,,0\n?,2.5,1\n'


@FUZZ
@given(st.one_of(damaged(XMC), st.binary(max_size=60)), st.sampled_from([3, 4096]))
def test_xmc(tmp_path, monkeypatch, content, block_size):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", block_size)
    train, test = put(tmp_path, a_txt=XMC, b_txt=content)
    check(path=test, format="xmc")
    check(path=train, test=test, format="xmc")


@FUZZ
@given(st.one_of(damaged(MEKA), st.binary(max_size=60)), st.sampled_from([None, "mean", "median", "zero"]))
def test_meka(tmp_path, content, impute):
    check(path=put(tmp_path, d_arff=content)[0], format="meka", impute=impute)


@FUZZ
@given(st.one_of(damaged(CSV), st.binary(max_size=60)), st.sampled_from([None, "mean", "zero"]))
def test_csv(tmp_path, content, impute):
    check(path=put(tmp_path, d_csv=content)[0], label_columns=-1, impute=impute)


def _whole(write):
    file = BytesIO()
    write(file)
    return file.getvalue()


X, Y = np.array([[1.5, 0], [2, 3]]), np.array([[1, 0], [0, 1]])
NPZ = _whole(lambda file: np.savez(file, X=X, Y=Y, label_names=["a", "b"]))
MAT = _whole(lambda file: savemat(file, {"X": csr_array(X), "Y": Y, "label_names": np.array(["a", "b"], object)}))
PARQUET = _whole(lambda file: pd.DataFrame({"x": [1.0, 2.0], "l": [0, 1]}).to_parquet(file))


@pytest.mark.parametrize(
    ("whole", "name", "more"), [(NPZ, "d.npz", {}), (MAT, "d.mat", {}), (PARQUET, "d.parquet", {"label_columns": -1})]
)
@FUZZ
@given(st.data())
def test_files_of_arrays(tmp_path, whole, name, more, data):
    start = data.draw(st.integers(0, len(whole)))
    piece = data.draw(st.binary(max_size=6))
    content = data.draw(st.sampled_from([whole[:start], whole[:start] + piece + whole[start + len(piece) :], piece]))
    (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings():
        # What the libraries say about a damaged file before they refuse it.
        warnings.simplefilter("ignore")
        check(path=tmp_path / name, **more)
