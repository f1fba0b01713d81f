"""Reading through compression, in blocks of whole lines, and what is said about files that cannot be read."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets.formats import text as text_files
from mlrank.errors import UserError
from tests.datasets.writers import WEATHER, WEATHER_XML, put

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("misnamed", [False, True])
def test_compression_is_seen_by_content(tmp_path, ending, misnamed):
    data = tmp_path / ("w.arff" if misnamed else "w.arff" + ending)
    labels = tmp_path / "w.xml"
    data.write_bytes(PACK[ending](WEATHER.encode()))
    labels.write_bytes(PACK[ending](WEATHER_XML.encode()))
    read = load_dataset(data, labels=labels)
    assert read.name == "w"
    assert read.X[1, 3] == 64.5
    (plain,) = put(tmp_path, x_svm=b"0 1:1\n")
    packed = tmp_path / f"y.libsvm{ending}"
    packed.write_bytes(PACK[ending](plain.read_bytes()))
    np.testing.assert_array_equal(load_dataset(packed).X.toarray(), [[1.0]])


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_damaged_compressed_data(tmp_path, ending):
    whole = PACK[ending](b"0 1:1 2:3.25\n" * 500)
    for name, content in {
        "cut": whole[: len(whole) // 2],
        "flip": whole[:20] + bytes([whole[20] ^ 255]) + whole[21:],
    }.items():
        path = tmp_path / f"{name}.svm{ending}"
        path.write_bytes(content)
        with pytest.raises(UserError, match="compressed data are damaged") as caught:
            load_dataset(path)
        assert caught.value.path == path


def test_missing_and_unreadable_files(tmp_path):
    data, labels = put(tmp_path, weather_arff=WEATHER, w_xml=WEATHER_XML)
    with pytest.raises(UserError, match=r"wether\.arff: no such file\. Did you mean 'weather\.arff'\?"):
        load_dataset(tmp_path / "wether.arff", labels=labels)
    with pytest.raises(UserError, match=r"x/y\.arff: no such file$"):
        load_dataset(tmp_path / "x" / "y.arff", labels=labels)
    with pytest.raises(UserError, match=r"v\.xml: no such file"):
        load_dataset(data, labels=tmp_path / "v.xml")
    with pytest.raises(UserError, match="is a folder without"):
        load_dataset(tmp_path, labels=labels)
    with pytest.raises(UserError, match="the test part is the training part's file"):
        load_dataset(data, test=tmp_path / "." / "weather.arff", labels=labels)


def test_byte_order_marks(tmp_path):
    path, labels, wide = put(
        tmp_path, a_arff=b"\xef\xbb\xbf" + WEATHER.encode(), w_xml=WEATHER_XML, b_arff=WEATHER.encode("utf-16")
    )
    assert load_dataset(path, labels=labels).n_samples == 3
    with pytest.raises(UserError, match=r"b\.arff:1:1: is UTF-16 text; convert it to UTF-8"):
        load_dataset(wide, labels=labels)


def test_format_by_ending(tmp_path):
    (path,) = put(tmp_path, data_bin="0 1:1\n")
    with pytest.raises(
        UserError, match=r"data\.bin: the ending '\.bin' tells no format \(known: \.arff, .*set format to one of clus"
    ):
        load_dataset(path)
    assert load_dataset(path, format="libsvm").n_samples == 1
    with pytest.raises(UserError, match=r"unknown data format 'lib'\. Did you mean 'libsvm'\?"):
        load_dataset(path, format="lib")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\nbb\n\nccc", b"aaaaaaaaaaaaaaaaa\nb\n", b"\n\n\n"])
def test_blocks_hold_whole_lines_and_all_of_them(tmp_path, monkeypatch, text, size):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", size)
    (path,) = put(tmp_path, f_txt=text)
    blocks = list(text_files.read_blocks(path))
    joined = b"".join(block.text for block in blocks)
    assert joined == text + b"\n" * (bool(text) and not text.endswith(b"\n"))
    assert all(block.text.endswith(b"\n") for block in blocks)
    starts = np.cumsum([0, *(block.text.count(b"\n") for block in blocks)])
    assert [block.line for block in blocks] == [1 + start for start in starts[:-1]]


def test_columns_count_characters_not_bytes():
    block = text_files.LineBlock("f", "é,ü,x\nä,x\n".encode(), 7)
    error = block.error(block.text.rindex(b"x"), "here")
    assert (error.line, error.column) == (8, 3)


def test_text_in_messages_stays_on_one_line():
    assert text_files.shown(b"a\nb\x00\xff") == "'a\\nb\\x00\ufffd'"
    assert text_files.shown("x" * 100) == "'" + "x" * 40 + "...'"


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", 100)
    monkeypatch.setattr(text_files, "MOST_LINE", 1000)
    head = "0 1:1\n0 1:2\n"
    path, packed = put(tmp_path, a_svm=head + "0 1:1" * 1000, b_svm=gzip.compress((head + "0" * 10**6).encode()))
    for name in (path, packed):
        with pytest.raises(UserError, match=r"svm:3:1: a line of more than 1000 bytes: this is no text file of rows"):
            load_dataset(name)
    path.write_text(head + "0 " + "1:1 ".join([""] * 200))
    with pytest.raises(UserError, match="occurs twice"):  # 800 bytes are a line like any other
        load_dataset(path)


@pytest.mark.parametrize("content", ["0 1:1\0\n", "\0\n", "0\0 1:1\n", "0 1:1 \0 2:1\n"])
def test_nul_bytes_are_refused_where_they_stand(tmp_path, content):
    (path,) = put(tmp_path, a_svm="0 1:1\n" + content)
    with pytest.raises(UserError) as caught:
        load_dataset(path)
    assert caught.value.line == 2
    assert "\0" not in str(caught.value)


def test_a_packed_label_file_that_grows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "MOST_WHOLE", 100_000)
    path, names = put(tmp_path, a_svm="0 1:1\n", n_txt=gzip.compress(b"a" * 10**6))
    with pytest.raises(UserError, match=r"n\.txt: holds more than 100000 bytes: this is no list of labels"):
        load_dataset(path, labels=names)
