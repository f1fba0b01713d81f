"""Files that are no models, or pretend to be: one line each, nothing run, no memory taken."""

import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.loading import load_dataset
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from mlrank.models.file import load_model
from mlrank.prediction import predict_file
from mlrank.yamlfile import read_yaml
from tests.models.fits import stored


@pytest.fixture
def path(tmp_path):
    stored(tmp_path / "a.model", "rank_svm", sparse=True, scale="standard")
    return tmp_path / "a.model"


def refusal(path):
    """Return the one line that opening `path` is refused with."""
    with pytest.raises(UserError) as told:
        load_model(path)
    line = str(told.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    assert len(line) < len(str(path)) + 400
    return line.removeprefix(f"{path}: ")


def members(path):
    with zipfile.ZipFile(path) as packed:
        return {info.filename: packed.read(info) for info in packed.infolist()}


def rewrite(path, contents, packing=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", packing) as packed:
        for name, content in contents.items():
            packed.writestr(name, content)


def changed_header(path, change):
    contents = members(path)
    header = json.loads(contents["header.json"])
    change(header)
    rewrite(path, contents | {"header.json": json.dumps(header)})


def changed_array(path, name, array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    rewrite(path, members(path) | {f"{name}.npy": buffer.getvalue()})


def npy(descr="<f8", shape="(5, 6)", data=b"\0" * 240):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def test_missing_folders_and_foreign_files(tmp_path, path):
    assert "no such file" in refusal(tmp_path / "absent.model")
    assert "is a folder" in refusal(tmp_path)
    for content in (b"", b"PK", b"1 1:2\n", pickle.dumps({"a": 1}), b"\0" * 10_000):
        path.write_bytes(content)
        assert "damaged or no such archive" in refusal(path)
    np.savez(path.with_suffix(".npz"), X=np.ones((2, 2)))
    assert "no model of mlrank" in refusal(path.with_suffix(".npz"))
    rewrite(path, {"header.json": '{"kind": "other"}'})
    assert "no model of mlrank" in refusal(path)
    rewrite(path, {"header.json": "[1, 2]"})
    assert "no model of mlrank" in refusal(path)


def test_a_file_cut_short_or_with_any_byte_changed_is_refused_or_the_same(path):
    content, scores = path.read_bytes(), load_model(path).decision_function(csr_array(np.ones((1, 6))))
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        refusal(path)
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=300):
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << rng.integers(8))]) + content[place + 1 :])
        try:
            found = load_model(path)
        except UserError:
            refusal(path)
        else:  # a byte without meaning, such as a flag of the zip file
            assert found.decision_function(csr_array(np.ones((1, 6)))).tobytes() == scores.tobytes()


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/evil.npy", "a/b.npy", "..\\evil.npy", "C:evil.npy", "model.py", "model.pkl", "ä.npy"]
)
def test_members_of_odd_names_are_refused(path, name):
    rewrite(path, members(path) | {name: npy()})
    assert "none of this format" in refusal(path)


def test_members_twice_or_unknown_are_refused(path):
    contents = members(path)
    with zipfile.ZipFile(path, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("model.coef.npy", contents["model.coef.npy"])
    assert "twice" in refusal(path)
    rewrite(path, contents | {"extra.npy": npy()})
    assert "the array extra belongs to no part" in refusal(path)
    rewrite(path, contents | {"extra.json": "1"})
    assert "extra.json" in refusal(path)
    del contents["model.coef.npy"]
    rewrite(path, contents)
    assert "do not fit together" in refusal(path)


def test_nothing_unpacks_to_more_than_the_file(path):
    bomb = npy(shape="(4000000,)", data=b"\0" * 32_000_000)
    rewrite(path, members(path) | {"model.coef.npy": bomb}, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    assert "compressed" in refusal(path) or "larger than the file" in refusal(path)
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


def test_members_that_share_their_bytes_are_refused(path):
    rewrite(path, {"a.npy": npy(data=b"\0" * 100_000)} | {f"b{i}.npy": b"" for i in range(20)})
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as packed:
        first = packed.infolist()[0]
    # Every entry of the directory is made to point at the bytes of the first one.
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<III", content, at + 16, first.CRC, first.compress_size, first.file_size)
        struct.pack_into("<I", content, at + 42, 0)
        at = content.find(b"PK\x01\x02", at + 4)
    path.write_bytes(content)
    assert "larger than the file" in refusal(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npy(shape="(4611686018427387904, 4)"), "a shape that does not fit its size"),
        (npy(shape="(4611686018427387904, 4611686018427387904)"), "a shape that does not fit its size"),
        (npy(shape="(-5, -6)"), "a shape that does not fit its size"),
        (npy(shape="(-1,)"), "a shape that does not fit its size"),
        (npy(shape="(5, 7)"), "a shape that does not fit its size"),
        (npy(shape="('5', 6)"), "damaged: the array model.coef"),
        (npy(shape="(" * 500), "damaged: the array model.coef"),
        (npy(shape="__import__('os').abort()"), "damaged: the array model.coef"),
        (npy(descr="|O"), "entries of type |O"),
        (npy(descr="<U60"), "entries of type <U60"),
        (npy(descr=">f8"), "entries of type >f8"),
        (npy(descr="<c16"), "entries of type <c16"),
        (npy(descr="|b1", shape="(240,)", data=b"\x07" * 240), "truth values other than 0 and 1"),
        (npy()[:9], "damaged: the array model.coef"),
        (b"\x93NUMPY\x02\x00" + npy()[8:], "another version"),
        (b"", "damaged: the array model.coef"),
        (npy(shape="(5, 6)", data=np.full(30, np.nan).tobytes()), "not finite"),
        (npy(shape="(6, 5)"), "do not fit together"),
        (npy(shape="(30,)"), "do not fit together"),
        (npy(shape="(4, 6)", data=b"\0" * 192), "do not fit together"),
        (npy(descr="<i4", shape="(5, 6)", data=b"\0" * 120), None),
    ],
)
def test_arrays_that_are_no_good_are_refused(path, content, reason):
    rewrite(path, members(path) | {"model.coef.npy": content})
    if reason is None:
        assert load_model(path).decision_function(csr_array(np.ones((1, 6)))).shape == (1, 5)
    else:
        assert reason in refusal(path)


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('run by a file')",)


def test_objects_are_never_revived(path):
    changed_array(path, "model.coef", np.array([Evil()] * 30, dtype=object).reshape(5, 6))
    assert "entries of type |O" in refusal(path)
    rewrite(path, {"header.json": members(path)["header.json"], "model.coef.npy": pickle.dumps(Evil())})
    assert "damaged" in refusal(path)


def test_sparse_rows_with_columns_outside_are_refused(tmp_path):
    path = tmp_path / "a.model"
    stored(path, "binary_svm", {"kernel": "rbf", "gamma": 0.1}, sparse=True)
    good = members(path)
    indices = np.load(io.BytesIO(good["model.X_train.indices.npy"]))
    for place, value in ((0, -1), (0, 6), (3, 2**31 - 1), (0, indices[1])):
        rewrite(path, good)
        wrong = indices.copy()
        wrong[place] = value
        changed_array(path, "model.X_train.indices", wrong)
        assert "do not fit together" in refusal(path)
    rewrite(path, good)
    indptr = np.load(io.BytesIO(good["model.X_train.indptr.npy"]))
    indptr[1] = 10_000
    changed_array(path, "model.X_train.indptr", indptr)
    assert "do not fit together" in refusal(path)


def parts(header):
    return header["parts"]["model"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h: h.update(format=2), "has model format 2, this version reads 1"),
        (lambda h: h.update(format="1" * 500), "has model format 111"),
        (lambda h: h.update(extra=1), "extra"),
        (lambda h: h.pop("solver"), "solver"),
        (lambda h: h.update(scale=3), "scale"),
        (lambda h: h.update(label_names=[]), "label_names"),
        (lambda h: h.update(label_names=["a", "b"]), "do not fit together"),
        (lambda h: h.update(label_names=[1, 2, 3, 4, 5]), "label_names"),
        (lambda h: h.update(feature_names={"from": 1, "count": 10**12}), "feature_names"),
        (lambda h: h.update(feature_names={"from": 1, "count": 5_000_000}), "do not fit together"),
        (lambda h: h.update(feature_names={"from": -1, "count": 6}), "feature_names"),
        (lambda h: h.update(sparse=False), "do not fit together"),
        (lambda h: h.update(parts={}), "do not fit together"),
        (lambda h: h["parts"].update(other=h["parts"]["cut"]), "do not fit together"),
        (lambda h: parts(h).update(kind="os.system"), "do not fit together"),
        (lambda h: parts(h).update(kind=["linear"]), "do not fit together"),
        (lambda h: parts(h).update(role="nothing"), None),
        (lambda h: parts(h).update(values={"info": 1}), None),
        (lambda h: parts(h)["values"].update(__class__=1), "do not fit together"),
        (lambda h: parts(h).update(arrays=["coef"]), "do not fit together"),
        (lambda h: parts(h).update(arrays=["coef", "intercept", "intercept2"]), "do not fit together"),
        (lambda h: parts(h)["info"].update(n_iter="many"), "do not fit together"),
        (lambda h: parts(h)["parts"].update(projection=dict(parts(h), parts={})), "do not fit together"),
    ],
)
def test_headers_that_are_no_good_are_refused(path, change, reason):
    changed_header(path, change)
    if reason is None:
        assert load_model(path).header.solver.kind == "rank_svm"
    else:
        assert reason in refusal(path)


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000, '{"kind": NaN}', "", '{"kind": "mlrank model", "format": 1}', "ÿ"]
)
def test_headers_that_are_no_json_are_refused(path, text):
    rewrite(path, members(path) | {"header.json": text.encode("latin-1")})
    assert "header.json" in refusal(path) or "damaged" in refusal(path)


@pytest.mark.parametrize(
    ("key", "settings", "change"),
    [
        ("binary_svm", {"kernel": "rbf", "gamma": 0.1}, {"kernel": "nothing"}),
        ("binary_svm", {"kernel": "rbf", "gamma": 0.1}, {"gamma": "much"}),
        ("hypergraph_spectral", {"head": "knn"}, {"n_neighbors": "two"}),
        ("smse", {}, {"n_train": -1}),
        ("smse", {}, {"n_train": 10**6}),
    ],
)
def test_values_that_are_no_good_are_refused(tmp_path, key, settings, change):
    path = tmp_path / "a.model"
    stored(path, key, settings)
    changed_header(path, lambda header: parts(header)["values"].update(change))
    assert "do not fit together" in refusal(path)


def test_member_names_that_are_no_text_are_refused(path):
    content = path.read_bytes()
    assert content.count(b"header.json") == 2
    # The flag that says UTF-8, in the directory and before the member, and bytes that are none.
    changed = bytearray(content.replace(b"header.json", b"header.js\xff\xff"))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = changed.find(mark)
        while at >= 0:
            changed[at + offset + 1] |= 8
            at = changed.find(mark, at + 1)
    path.write_bytes(changed)
    assert "damaged or no such archive" in refusal(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device without end")
def test_devices_without_end_are_refused():
    zero = Path("/dev/zero")
    assert "is no regular file" in refusal(zero)
    for read in (load_dataset, lambda path: RowStream(path, Selection(("a",), (), "the model"), "csv")):
        with pytest.raises(UserError, match="is no regular file"):
            read(zero)
    with pytest.raises(UserError, match="too many for a configuration"):
        read_yaml(zero)


def test_a_key_twice_is_refused(path):
    contents = members(path)
    rewrite(path, contents | {"header.json": b'{"sparse": false, ' + contents["header.json"].lstrip()[1:]})
    assert "a key occurs twice" in refusal(path)


@pytest.mark.parametrize("change", [{"n_iter": 2.5}, {"n_iter": "3"}, {"n_iter": True}])
def test_numbers_that_are_not_whole_are_refused(path, change):
    changed_header(path, lambda header: parts(header)["info"].update(change))
    assert "expected a whole number" in refusal(path)


def test_shapes_that_are_not_whole_are_refused(tmp_path):
    path = tmp_path / "a.model"
    stored(path, "binary_svm", {"kernel": "rbf", "gamma": 0.1}, sparse=True)
    changed_header(path, lambda header: parts(header)["sparse"].update(X_train=[30.7, 6]))
    assert "expected a whole number" in refusal(path)


@pytest.mark.parametrize("key", ["rank_svm", "plst", "ml_loc"])
def test_weights_beyond_all_numbers_are_a_line_where_rows_are_scored(tmp_path, key):
    path = tmp_path / "a.model"
    stored(path, key)
    contents = members(path)
    for name in contents:
        if name.endswith(".npy") and (array := np.load(io.BytesIO(contents[name]))).dtype == np.float64:
            changed_array(path, name.removesuffix(".npy"), np.full(array.shape, 1e308))
    np.savez(tmp_path / "x.npz", X=np.full((2, 6), 1e10))
    try:
        model = load_model(path)
    except UserError:
        refusal(path)
        return
    for ask in ({}, {"scores": True}, {"top": 1}):
        with pytest.raises(UserError, match="the model cannot score these rows") as caught:
            predict_file(model, tmp_path / "x.npz", tmp_path / "o.csv", **ask)
        assert str(caught.value).isprintable()
    for score in (model.predict, model.decision_function):
        with pytest.raises(UserError, match="the model cannot score these rows"):
            score(np.full((2, 6), 1e10))
