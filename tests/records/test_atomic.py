import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlrank.errors import UserError
from mlrank.records import atomic
from mlrank.records.atomic import dump_json, npz_bytes, safe_name, write_archive, write_atomic
from mlrank.stored import ArchiveContent, read_archive


@given(st.text(min_size=1), st.text(min_size=1))
def test_two_names_never_share_a_file(first, second):
    assert (safe_name(first) == safe_name(second)) == (first == second)


@given(st.text(min_size=1))
def test_a_safe_name_is_one_plain_path_part(name):
    safe = safe_name(name)
    assert safe.isascii()
    assert not set(safe) & set('/\\:*?"<>|\0\n')
    assert safe not in {".", ".."}
    assert safe == safe.strip()


def test_harmless_names_stay_as_they_are():
    assert safe_name("Rank-SVM v1.0 +x_y") == "Rank-SVM v1.0 +x_y"


def test_percent_signs_in_names_are_encoded_themselves():
    assert safe_name("50%2F") == "50%252F"
    assert safe_name("é") == "%C3%A9"


def test_an_empty_name_is_a_programming_mistake():
    with pytest.raises(ValueError, match="empty name"):
        safe_name("")


def test_json_is_sorted_exact_and_ends_in_a_newline():
    value = {"b": 0.1 + 0.2, "a": (1, np.float64(0.5), np.int64(3), np.bool_(True)), "c": np.array([[1, 2]])}
    text = dump_json(value, indent=None)
    assert text == '{"a": [1, 0.5, 3, true], "b": 0.30000000000000004, "c": [[1, 2]]}\n'


@pytest.mark.parametrize("value", [float("nan"), np.float64("nan"), float("inf"), -np.inf])
def test_what_is_not_finite_becomes_null_at_any_depth(value):
    assert json.loads(dump_json({"x": [{"y": value}]})) == {"x": [{"y": None}]}


@pytest.mark.parametrize("value", [{1: 2}, {"a": {3}}, {"a": object()}, {"a": b"x"}])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        dump_json(value)


def test_long_names_are_cut_and_stay_different():
    long = ["长" * 30, "长" * 30 + "a", "x" * 201, "x" * 200 + "y"]
    cut = [safe_name(name) for name in long]
    assert len({*cut}) == 4
    assert max(map(len, cut)) == 200
    assert all("~" in name for name in cut)
    assert safe_name("x" * 200) == "x" * 200
    assert "~" not in safe_name("a~b")


def test_npz_bytes_ignore_order_and_clock(monkeypatch):
    import time

    first, second = np.arange(6.0).reshape(2, 3), np.array([True, False])
    once = npz_bytes({"a": first, "b": second})
    monkeypatch.setattr(time, "time", lambda: 2e9)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(2e9))
    assert npz_bytes({"b": second, "a": np.asfortranarray(first)}) == once
    assert npz_bytes({"b": second, "a": first + 1}) != once
    stored = np.load(io.BytesIO(once), allow_pickle=False)
    np.testing.assert_array_equal(stored["a"], first)
    np.testing.assert_array_equal(stored["b"], second)
    assert stored["b"].dtype == np.bool_


def test_large_arrays_are_packed_only_if_they_get_smaller():
    noise = np.random.default_rng(0).random(2**18)
    arrays = {"few": np.repeat([0.0, 1.0], 2**17), "noise": noise, "short": noise[:99]}
    packed = npz_bytes(arrays)
    stored = np.load(io.BytesIO(packed), allow_pickle=False)
    for name, array in arrays.items():
        np.testing.assert_array_equal(stored[name], array)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        kinds = {entry.filename: entry.compress_type for entry in archive.infolist()}
    deflated, plain = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED
    assert kinds == {"few.npy": deflated, "noise.npy": plain, "short.npy": deflated}


def test_objects_cannot_enter_an_npz():
    with pytest.raises(ValueError, match="the array a of objects cannot be stored"):
        npz_bytes({"a": np.array([object()])})


def test_archives_are_written_and_read_piece_by_piece(tmp_path):
    path = tmp_path / "x.model"
    arrays = {
        "a": np.arange(2**20, dtype=float).reshape(4, -1),
        "b": np.asfortranarray(np.eye(3)),
        "c": np.ones(0, bool),
    }
    tracemalloc.start()
    write_archive(path, ArchiveContent({"header.json": "{}"}, arrays))
    writing = tracemalloc.get_traced_memory()[1]
    found = read_archive(path)
    reading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert writing < arrays["a"].nbytes / 4
    assert reading < arrays["a"].nbytes * 1.5
    for name, array in arrays.items():
        assert found[name].tobytes("A") == array.tobytes("A")
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert not found[name].flags.writeable
    # As numpy's own writer has them.
    whole = io.BytesIO()
    np.save(whole, arrays["b"])
    assert whole.getvalue() in path.read_bytes()


def test_a_crash_between_write_and_rename_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomic(path, b"old")

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_the_content_is_on_the_disk_before_the_rename(tmp_path, monkeypatch):
    seen = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(atomic.os, "fsync", lambda fd: (seen.append("fsync"), fsync(fd)))

    def check(part, path):
        seen.append(("replace", part.read_bytes(), part.suffix))
        replace(part, path)

    monkeypatch.setattr(atomic.os, "replace", check)
    write_atomic(tmp_path / "x", b"content")
    assert seen == ["fsync", ("replace", b"content", ".part")]


@pytest.mark.parametrize(("number", "reason"), [(13, "permission denied"), (28, "no space left on device")])
def test_a_refusal_of_the_system_is_one_line(tmp_path, monkeypatch, number, reason):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    path = tmp_path / "x.json"
    monkeypatch.setattr(atomic.os, "open", refuse)
    with pytest.raises(UserError) as error:
        write_atomic(path, b"")
    assert str(error.value) == f"{path}: cannot write the file: {reason}"


def test_a_full_disk_while_writing_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(atomic.os, "fsync", full)
    with pytest.raises(UserError, match="no space left on device"):
        write_atomic(tmp_path / "x.json", b"abc")
    assert os.listdir(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="taken: cannot make the folder: a file stands where a folder is needed"):
        write_atomic(tmp_path / "taken" / "x.json", b"")


def test_files_get_the_rights_of_the_umask(tmp_path):
    old = os.umask(0o022)
    try:
        write_atomic(tmp_path / "x", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644
