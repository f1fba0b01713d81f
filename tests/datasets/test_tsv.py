"""TSV: as CSV with tabs, in every command, by its line in the table of formats alone."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from typer.testing import CliRunner

from mlrank import load_dataset
from mlrank.cli.datasets import app
from mlrank.datasets import Dataset, dataset_hash
from mlrank.datasets.convert import convert
from mlrank.datasets.doctor import examine
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.loading import find_source, load_source
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from tests.datasets.writers import put

TABLE = 'x, y\t"b\td"\tl\tm\n1.5\t-2\t0\t1\n\t3e-300\t1\t\n? \t 4\t0\t0\r\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_table_is_read(tmp_path, pack):
    ending = {gzip.compress: ".gz", bz2.compress: ".bz2", lzma.compress: ".xz"}.get(pack, "")
    path = tmp_path / f"t.tsv{ending}"
    path.write_bytes(pack(TABLE.encode()))
    data = load_dataset(path, label_columns=-2, impute="zero")
    assert (data.name, data.feature_names, data.label_names) == ("t", ("x, y", "b\td"), ("l", "m"))
    np.testing.assert_array_equal(data.X, [[1.5, -2], [0, 3e-300], [0, 4]])
    np.testing.assert_array_equal(data.Y, [[False, True], [True, False], [False, False]])
    np.testing.assert_array_equal(data.known, [[True, True], [True, False], [True, True]])


def test_the_same_table_as_csv_is_the_same_data(tmp_path):
    rows = "".join(f"{i / 7!r}\t{-i}\t{i % 2}\n" for i in range(200))
    tabs, commas = put(tmp_path, t_tsv="a\tb\tl\n" + rows, t_csv=("a\tb\tl\n" + rows).replace("\t", ","))
    one, other = (load_dataset(path, label_columns=["l"]) for path in (tabs, commas))
    assert dataset_hash(one) == dataset_hash(other)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "a\tl\n1,5\t1\nx\t1\n3\t1\n4\t1\n",
            "t.tsv:2:1: column 'a' holds '1,5': set decimal and thousands to say how numbers are written",
        ),
        (
            "a\tl\n1\t1 2\n",
            "t.tsv:2:3: 'l' has the word '1 2' alone: set positive to what means that a row has it",
        ),
        ("a\tl\n1\n", "t.tsv:2:2: the row ends after 1 of 2 values"),
        ("a\tl\n2\t1\nz\t1\n3\t0\n", "t.tsv:3:1: column 'a' is numeric, found 'z'"),
        (
            "a,l\n1,1\n",
            "t.tsv:1:1: a first line of one column: columns are separated by tabs; this one seems to use ','; "
            "set separator to say by what",
        ),
        ("a\tl\n\t1\n", "t.tsv:2:1: the value of 'a' is missing: set impute to mean, median or zero to have it filled"),
    ],
)
def test_mistakes_are_shown_where_they_are(tmp_path, text, error):
    (path,) = put(tmp_path, t_tsv=text)
    with pytest.raises(UserError) as caught:
        load_dataset(path, label_columns=["l"])
    assert str(caught.value) == f"{tmp_path}/{error}"


def test_options_without_effect_are_refused(tmp_path):
    (path,) = put(tmp_path, t_tsv=TABLE)
    with pytest.raises(UserError, match="'zero_based' has no effect with format 'tsv', which uses labels, label"):
        load_dataset(path, label_columns=-2, zero_based=True)
    with pytest.raises(UserError, match=r"known: .*\.tsv.* set format to one of .*tsv"):
        load_dataset(tmp_path / "t.table")


def test_rows_are_streamed(tmp_path):
    (path,) = put(tmp_path, t_tsv=TABLE)
    selection = Selection(("b\td", "x, y"), ("l", "m"), "the model", np.array([7.0, 9.0]))
    np.testing.assert_array_equal(np.vstack(list(RowStream(path, selection))), [[-2, 1.5], [3e-300, 9], [4, 9]])


def test_a_table_converted_gives_itself_back(tmp_path):
    known = np.array([[True, False], [True, True]])
    X, Y = np.array([[0.1, -3], [0, 1e22]]), known & np.eye(2, dtype=bool)
    data = Dataset("d", X, Y, known, ("l", "m, n"), ("q\td", "b"), None, "")

    again = load_dataset(tmp_path / "d.tsv", label_columns=convert(data, tmp_path / "d.tsv", "tsv")["label_columns"])
    assert dataset_hash(again) == dataset_hash(data)
    assert (again.label_names, again.feature_names) == (data.label_names, data.feature_names)


def test_the_command_writes_and_reads_it(tmp_path, monkeypatch):
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    result = CliRunner().invoke(app, ["convert", "yeast", str(tmp_path / "y.tsv")], catch_exceptions=False)
    assert "format: tsv" in result.output
    again = ["convert", str(tmp_path / "y.tsv"), str(tmp_path / "y.npz"), "--label-columns", "-14"]
    result = CliRunner().invoke(app, again)
    assert result.exit_code == 0, result.output


def test_the_doctor_names_lines(tmp_path):
    (path,) = put(tmp_path, t_tsv="a\tb\tl\n1\t2\t1\n\n1\t2\t0\n3\t2\t1\n")
    source = find_source(path, label_columns=["l"])
    places = {finding.kind: finding.places for finding in examine(load_source(source), source).findings}
    assert places["rows_without_labels"] == (f"{path}:4",)
    assert places["constant_features"] == (f"{path}:1",)
