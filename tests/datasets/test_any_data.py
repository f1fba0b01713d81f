"""Tables as people have them: the same content in many spellings and formats gives the same data set."""

import bz2
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse, save_npz

from mlrank import load_dataset
from mlrank.datasets import dataset_hash
from mlrank.datasets.columns import TextColumn
from mlrank.datasets.formats import read
from mlrank.datasets.formats.base import Source, StreamRequest, TextStyle
from mlrank.datasets.formats.frames import FrameTable, stream_tables
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError

# What every spelling below must give.
X = [[0.5, 1234.0], [-2.25, 7.0], [3.0, 0.125], [4.0, 1.0]]
Y = [[1, 0], [0, 1], [1, 1], [0, 0]]
TABLE = pd.DataFrame(X, columns=["a", "b"]).assign(happy=[row[0] for row in Y], calm=[row[1] for row in Y])
LABELS = ["happy", "calm"]

WORDS = {
    "numbers": ["0", "1"],
    "fractions": ["0.0", "1.0"],
    "signs": ["-1", "1"],
    "true": ["False", "True"],
    "upper": ["FALSE", "TRUE"],
    "yes": ["no", "Yes"],
    "y": ["n", "y"],
    "present": ["absent", "present"],
}


def text_of(separator=",", words=("0", "1"), quote="", decimal=".", blank=""):
    lines = [separator.join(f"{quote}{name}{quote}" for name in ("a", "b", *LABELS))]
    for x, y in zip(X, Y, strict=True):
        cells = [repr(value).replace(".", decimal) for value in x] + [words[mark] for mark in y]
        lines.append(separator.join(f"{quote}{blank}{cell}{blank}{quote}" for cell in cells))
    return "\n".join(lines) + "\n"


def load_text(folder, text, ending="csv", **options):
    path = folder / f"d.{ending}"
    path.write_text(text, encoding="utf-8")
    return load_dataset(path, **{"label_columns": LABELS, **options})


def refused(folder, text, ending="csv", **options):
    with pytest.raises(UserError) as caught:
        load_text(folder, text, ending, **options)
    return str(caught.value).removeprefix(f"{folder}/")


def check(data):
    found = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    assert found.tolist() == X
    assert data.Y.astype(int).tolist() == Y
    assert data.known is None
    assert (data.feature_names, data.label_names) == (("a", "b"), tuple(LABELS))


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("form", ["csv", "tsv", "semicolons", "frame", "parquet", "meka", "sparse"])
def test_labels_in_any_two_words(tmp_path, form, words):
    if form in ("csv", "tsv", "semicolons"):
        separator = {"csv": ",", "tsv": "\t", "semicolons": ";"}[form]
        data = load_text(tmp_path, text_of(separator, words), "tsv" if form == "tsv" else "csv")
    elif form in ("meka", "sparse"):
        head = "@relation 'd: -C 2'\n"
        head += "".join(f"@attribute {name} {{{','.join(words)}}}\n" for name in LABELS)
        rows = [[*(words[mark] for mark in y), *map(repr, x)] for x, y in zip(X, Y, strict=True)]
        if form == "sparse":  # the first declared value may be left out
            rows = [
                ["{" + ", ".join(f"{j} {cell}" for j, cell in enumerate(row) if cell != words[0]) + "}"] for row in rows
            ]
        body = "".join(",".join(row) + "\n" for row in rows)
        path = tmp_path / "d.arff"
        path.write_text(f"{head}@attribute a numeric\n@attribute b numeric\n@data\n{body}")
        data = load_dataset(path)
    else:
        frame = TABLE.assign(**{name: [words[mark] for mark in TABLE[name]] for name in LABELS})
        if form == "parquet":
            frame.to_parquet(tmp_path / "d.parquet")
        data = load_dataset(frame if form == "frame" else tmp_path / "d.parquet", label_columns=LABELS)
    check(data)
    # Of numbers nothing is to be guessed, but the values of ARFF files are words.
    plain = words == WORDS["numbers"] or (words == WORDS["fractions"] and form not in ("meka", "sparse"))
    assert any("read as 0 and 1" in note for note in data.notes) == (not plain)


@pytest.mark.parametrize(
    "options",
    [{"quote": '"'}, {"blank": " "}, {"separator": ";"}, {"separator": "|"}, {"separator": ";", "decimal": ","}],
)
def test_numbers_in_any_spelling(tmp_path, options):
    check(load_text(tmp_path, text_of(**options)))


def test_a_byte_order_mark_and_windows_line_ends(tmp_path):
    check(load_text(tmp_path, "\ufeff" + text_of().replace("\n", "\r\n")))


def test_decimal_commas_and_thousands_are_told_apart_or_refused(tmp_path):
    text = "a;b;l\n1,5;1.234,5;1\n2,5;2.000;0\n"
    data = load_text(tmp_path, text, label_columns=-1)
    assert data.X.tolist() == [[1.5, 1234.5], [2.5, 2000.0]]
    assert data.notes == ("cells are separated by semicolons", "numbers read with decimal commas")
    data = load_text(tmp_path, 'a,l\n"1,234,567",1\n"1,000",0\n', label_columns=-1)
    assert data.X.tolist() == [[1234567.0], [1000.0]]
    unclear = "a;l\n1,234;1\n2,000;0\n"
    assert "'1,234' is one number with a decimal comma and another with thousands: set decimal" in refused(
        tmp_path, unclear, label_columns=-1
    )
    assert load_text(tmp_path, unclear, label_columns=-1, decimal=",").X.tolist() == [[1.234], [2.0]]
    assert load_text(tmp_path, unclear, label_columns=-1, thousands=",").X.tolist() == [[1234.0], [2000.0]]
    assert refused(tmp_path, "a;b;l\n1,5;1.2;1\n2,5;2.5;0\n", label_columns=-1) == (
        "d.csv:2:5: column 'b' holds '1.2': set decimal and thousands to say how numbers are written"
    )


@pytest.mark.parametrize("word", ["", "NA", "N/A", "nan", "NULL", "None", "?", "#N/A", "<NA>"])
def test_words_of_what_is_missing(tmp_path, word):
    text = f"a,b,happy,calm\n{word},1,0,1\n2,3,{word},1\n4,x,1,1\n".replace("x", word or '""')
    assert "d.csv:2:1: the value of 'a' is missing: set impute" in refused(tmp_path, text)
    data = load_text(tmp_path, text, impute="mean")
    assert data.X.tolist() == [[3.0, 1.0], [2.0, 3.0], [4.0, 2.0]]
    assert data.known.tolist() == [[True, True], [False, True], [True, True]]


def test_labels_of_words_that_mean_nothing_to_us(tmp_path):
    text = "a,happy,calm\n1,cat,dog\n2,dog,cat\n"
    assert refused(tmp_path, text) == (
        "d.csv:2:3: 'happy' has the words 'cat', 'dog': set positive to the one that means that a row has it"
    )
    assert load_text(tmp_path, text, positive="DOG").Y.tolist() == [[False, True], [True, False]]
    assert "takes 0 or 1, or two words, found 'cat' of 'cat', 'cow', 'dog'" in refused(
        tmp_path, "a,happy,calm\n1,cat,1\n2,dog,1\n3,cow,1\n"
    )
    assert refused(tmp_path, "a,happy,calm\n1,-1,1\n2,0,1\n3,1,1\n").endswith("'happy' takes 0 or 1, found '-1'")


LISTS = [["happy"], ["calm"], ["happy", "calm"], []]


@pytest.mark.parametrize("form", ["separator", "blanks", "json", "python", "parquet", "frame"])
def test_labels_in_one_column(tmp_path, form):
    write = {"separator": "|".join, "blanks": " | ".join, "json": json.dumps, "python": repr}.get(form)
    frame = TABLE[["a", "b"]].assign(tags=pd.Series([write(tags) if write else tags for tags in LISTS], dtype=object))
    separator = "|" if form in ("separator", "blanks") else None
    if form == "parquet":
        frame.to_parquet(tmp_path / "d.parquet")
        source = tmp_path / "d.parquet"
    elif form == "frame":
        source = frame
    else:
        frame.to_csv(tmp_path / "d.csv", index=False)
        source = tmp_path / "d.csv"
    data = load_dataset(source, labels={"column": "tags", "separator": separator, "names": LABELS})
    check(data)
    assert data.notes == ("2 labels read from the lists in column 'tags'", "1 row has an empty list, no label")
    assert load_dataset(source, labels={"column": "tags", "separator": separator}).label_names == ("calm", "happy")


def test_a_missing_list_is_unknown_and_a_label_must_be_listed(tmp_path):
    text = "a,tags\n1,happy;calm\n2,NA\n3,\n4,sad\n"
    data = load_text(tmp_path, text, label_columns=None, labels={"column": "tags", "separator": ";"})
    assert data.label_names == ("calm", "happy", "sad")
    assert data.Y.tolist() == [[True, True, False], [False] * 3, [False] * 3, [False, False, True]]
    assert data.known.tolist() == [[True] * 3, [False] * 3, [True] * 3, [True] * 3]
    spec = {"column": "tags", "separator": ";", "names": LABELS}
    assert "1 labels of column 'tags' are not among the names listed: 'sad'" in refused(
        tmp_path, text, label_columns=None, labels=spec
    )
    assert refused(tmp_path, text, label_columns=None, labels={"column": "tags"}) == (
        "d.csv:2:3: column 'tags' holds no list, found 'happy;calm': set the separator of labels, perhaps ';'"
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
def test_labels_in_a_second_file(tmp_path, ending):
    TABLE[["a", "b"]].to_csv(tmp_path / "X.csv", index=False)
    path = tmp_path / f"Y.{ending}"
    if ending == "csv":
        TABLE[LABELS].to_csv(path, index=False)
    elif ending == "parquet":
        TABLE[LABELS].to_parquet(path)
    elif ending == "npy":
        np.save(path, np.array(Y))
    else:
        np.savez(path, Y=np.array(Y))
    data = load_dataset(tmp_path / "X.csv", labels=path)
    assert data.X.tolist() == X
    assert data.Y.astype(int).tolist() == Y
    assert data.label_names == (tuple(LABELS) if ending in ("csv", "parquet") else ("0", "1"))
    TABLE.iloc[:3][["a", "b"]].to_csv(tmp_path / "X.csv", index=False)
    with pytest.raises(UserError, match="the labels have 4 rows, the features 3"):
        load_dataset(tmp_path / "X.csv", labels=path)


def test_label_columns_by_pattern(tmp_path):
    text = "y_b,a,y_a,z\n1,5,0,2\n0,6,1,3\n"
    data = load_text(tmp_path, text, label_columns="y_*")
    assert (data.label_names, data.feature_names) == (("y_b", "y_a"), ("a", "z"))
    assert load_text(tmp_path, text, label_columns=["y_a", "y_*"]).label_names == ("y_a", "y_b")
    assert "unknown label column 'w_*'" in refused(tmp_path, text, label_columns="w_*")


def test_a_first_line_of_numbers_needs_a_word_about_it(tmp_path):
    text = "0.5,2.1,1,0\n0.2,2.2,0,1\n"
    assert refused(tmp_path, text, label_columns=-2).startswith("d.csv:1:1: the first line holds nothing but numbers")
    data = load_text(tmp_path, text, label_columns=-2, header=False)
    assert (data.X.tolist(), data.feature_names, data.label_names) == ([[0.5, 2.1], [0.2, 2.2]], ("1", "2"), ("3", "4"))
    # Numbers that count the columns are names.
    assert load_text(tmp_path, "1,2,3\n5,6,1\n", label_columns=-1).feature_names == ("1", "2")


def test_an_index_without_a_name_is_no_feature(tmp_path):
    TABLE.to_csv(tmp_path / "d.csv")
    data = load_dataset(tmp_path / "d.csv", label_columns=LABELS)
    check(data)
    assert data.notes == ("1 column ignored: '(unnamed)'",)


def test_ids_groups_folds_and_columns_to_ignore(tmp_path):
    frame = TABLE.assign(
        name=["r1", "007", "x", "y"], who=["p", "q", "p", "q"], part=[2, 10, 2, 10], note="?", more="z"
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    for source in (tmp_path / "d.csv", tmp_path / "d.parquet", frame):
        data = load_dataset(
            source,
            label_columns=LABELS,
            ignore_columns=["no*", "more"],
            id_column="name",
            group_column="who",
            fold_column="part",
        )
        check(data)
        assert data.ids == ("r1", "007", "x", "y")
        assert data.groups.tolist() == [0, 1, 0, 1]
        assert data.folds.tolist() == [0, 1, 0, 1]  # 2 before 10
    with pytest.raises(UserError, match=r"id_column: unknown column 'nam'\. Did you mean 'name'"):
        load_dataset(frame, label_columns=LABELS, id_column="nam")
    with pytest.raises(UserError, match="column 'happy' cannot be a label and be left out"):
        load_dataset(
            frame, label_columns=["happy"], ignore_columns=["name", "who", "part", "note", "more"], id_column="happy"
        )


def test_numbers_on_both_sides_of_categories_are_in_their_columns(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("a,city,b,y\n1,Rome,2,0\n3,Oslo,4,1\n5,Rome,6,1\n", "utf-8")
    data = load_dataset(path, label_columns="y", one_hot="city")
    assert data.feature_names == ("a", "city=Oslo", "city=Rome", "b")
    assert data.X.tolist() == [[1, 0, 1, 2], [3, 1, 0, 4], [5, 0, 1, 6]]


def test_categories_by_the_values_of_the_training_part(tmp_path):
    (tmp_path / "a.csv").write_text("colour,size,n,l\nred,1,5,1\nblue,2,6,0\nred,1,7,1\n")
    (tmp_path / "b.csv").write_text("colour,size,n,l\ngreen,2,8,1\n")
    data = load_dataset(tmp_path / "a.csv", test=tmp_path / "b.csv", label_columns=["l"], one_hot=["colour", "size"])
    assert data.feature_names == ("colour=blue", "colour=red", "size=1", "size=2", "n")
    assert data.X.tolist() == [[0, 1, 1, 0, 5], [1, 0, 0, 1, 6], [0, 1, 1, 0, 7], [0, 0, 0, 1, 8]]
    assert "1 cells hold categories that the training part does not have: all their features are 0" in data.notes
    assert load_dataset(tmp_path / "a.csv", label_columns=["l"], one_hot=True).feature_names == (
        "colour=blue",
        "colour=red",
        "size",
        "n",
    )


def test_what_needs_an_option_says_which(tmp_path):
    assert refused(tmp_path, "c,a,l\nred,1,1\nblue,2,0\n", label_columns=["l"]) == (
        "d.csv:2:1: column 'c' holds text, found 'red': say one_hot for categories, text_columns for text, "
        "ignore_columns or id_column for none of it"
    )
    assert "column 'day' holds dates, which are no numbers: turn them into numbers" in refused(
        tmp_path, "day,l\n2020-01-01,1\n2020-01-02,0\n", label_columns=["l"]
    )
    with pytest.raises(UserError, match="column 'day' holds dates"):
        load_dataset(pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]), "a": [1], "l": [1]}), label_columns=["l"])
    assert refused(tmp_path, "a,l\n1,1\n2\n", label_columns=["l"]) == "d.csv:3:2: the row ends after 1 of 2 values"
    assert refused(tmp_path, 'a,l\n1,1\n"2,3"\n', label_columns=["l"]).startswith(
        "d.csv:3:6: the row ends after 1 of 2"
    )
    assert refused(tmp_path, "a,l\n1,1,7\n2,0\n", label_columns=["l"]).startswith(
        "d.csv:2:4: the row has more than the 2"
    )
    assert refused(tmp_path, "a,b,l\n1,1,1\n2,5\n3,4,,0\n", label_columns=["l"]).startswith("d.csv:3:4: the row ends")
    assert refused(tmp_path, "a,b,l\n1,1\0,1\n", label_columns=["l"]) == (
        "d.csv:2:4: a NUL byte: this is no text, or a damaged file"
    )


def test_embeddings_are_lists_of_numbers():
    frame = pd.DataFrame({"vector": [np.array([1.0, 2.0]), [3, 4]], "a": [5, 6], "l": [1, 0]})
    data = load_dataset(frame, label_columns=["l"])
    assert data.feature_names == ("vector[0]", "vector[1]", "a")
    assert data.X.tolist() == [[1, 2, 5], [3, 4, 6]]
    frame.at[1, "vector"] = [3]
    with pytest.raises(UserError, match=r"row 2 of column 'vector': expected a list of 2 numbers as in the first row"):
        load_dataset(frame, label_columns=["l"])


def test_what_lies_in_memory():
    matrix, sparse = np.array(X), csr_array(np.array(X))
    for features in (matrix, sparse):
        data = load_dataset(features, labels=np.array(Y))
        assert (data.X.toarray() if features is sparse else data.X).tolist() == X
        assert data.Y.astype(int).tolist() == Y
    check(load_dataset(TABLE[["a", "b"]], labels=TABLE[LABELS]))
    check(load_dataset({"data": TABLE[["a", "b"]], "target": TABLE[LABELS].replace({0: "FALSE", 1: "TRUE"})}))
    lists = load_dataset(matrix, labels=pd.Series(LISTS))
    assert (lists.label_names, lists.Y[:, ::-1].astype(int).tolist()) == (("calm", "happy"), Y)
    pa = pytest.importorskip("pyarrow")
    check(load_dataset(pa.Table.from_pandas(TABLE), label_columns=LABELS))
    both = load_dataset(TABLE, test=TABLE.iloc[:2], label_columns=LABELS, name="mine")
    assert both.name == "mine"
    assert [len(part) for part in both.official] == [4, 2]
    with pytest.raises(UserError, match="a data set is a path, a DataFrame"):
        load_dataset(5, labels=Y)


def test_packed_text_is_the_same(tmp_path):
    (tmp_path / "d.csv").write_text(text_of(words=["no", "yes"]))
    (tmp_path / "p.csv.bz2").write_bytes(bz2.compress((tmp_path / "d.csv").read_bytes()))
    plain, packed = (load_dataset(tmp_path / name, label_columns=LABELS) for name in ("d.csv", "p.csv.bz2"))
    assert dataset_hash(plain) == dataset_hash(packed)


def test_a_table_with_ids_and_groups_is_written_and_read(tmp_path):
    from mlrank.datasets.convert import convert

    frame = TABLE.assign(name=["r1", "r2", "=x", "y"], who=["p", "q", "p", "q"])
    data = load_dataset(frame, label_columns=LABELS, id_column="name", group_column="who")
    for key in ("csv", "tsv", "parquet"):
        options = convert(data, tmp_path / f"d.{key}", key)
        again = load_dataset(options.pop("train"), **options)
        assert (again.ids, again.groups.tolist()) == (data.ids, data.groups.tolist())
        assert dataset_hash(again) == dataset_hash(data)
    with pytest.raises(UserError, match="the ids of its rows have no place in it; csv, tsv and parquet have one"):
        convert(data, tmp_path / "d.npz", "npz")


def test_a_zip_archive_of_one_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("inside/d.csv", text_of(separator=";"))
    check(load_dataset(tmp_path / "d.zip", label_columns=LABELS))
    (tmp_path / "named.csv").write_bytes((tmp_path / "d.zip").read_bytes())
    check(load_dataset(tmp_path / "named.csv", label_columns=LABELS))
    with zipfile.ZipFile(tmp_path / "d.zip", "a") as archive:
        archive.writestr("other.csv", "a,b\n")
    with pytest.raises(UserError, match="a zip archive of 2 files, one is expected; it holds 'inside/d"):
        load_dataset(tmp_path / "d.zip", format="csv", label_columns=LABELS)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_of_files_is_one_table(tmp_path, ending):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate((slice(0, 3), slice(3, 4))):
        part = TABLE.iloc[rows] if number == 0 else TABLE.iloc[rows][["calm", "b", "a", "happy"]]
        path = folder / f"part-{number}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path, index=False)
    (folder / "_SUCCESS").touch()
    data = load_dataset(folder, label_columns=LABELS)
    check(data)
    assert data.notes == ("2 files joined",)
    TABLE.assign(more=1).to_csv(folder / "part-9.csv", index=False)
    with pytest.raises(
        UserError, match="other columns than part-0.csv, such as 'more'" if ending == "csv" else "label"
    ):
        load_dataset(folder, label_columns=LABELS if ending == "csv" else None)


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64", "int64", "text"])
def test_ids_groups_and_categories_have_all_their_digits(tmp_path, kind):
    numbers = [12345678, 12345679, 12345678, 9007199254740993 if kind in ("text", "int64", "Int64") else 7]
    column = pd.Series(list(map(str, numbers)) if kind == "text" else numbers).astype("str" if kind == "text" else kind)
    frame = pd.DataFrame({"n": column, "a": [1.0, 2.0, 3.0, 4.0], "l": [0, 1, 0, 1]})
    data = load_dataset(frame, label_columns="l", id_column="n")
    assert data.ids == tuple(map(str, numbers))
    groups = load_dataset(frame, label_columns="l", group_column="n").groups
    assert groups[0] == groups[2]
    assert len(set(groups.tolist())) == 3
    hot = load_dataset(frame, label_columns="l", one_hot="n")
    assert set(hot.feature_names) == {"a", *(f"n={number}" for number in numbers)}
    assert hot.X[:, hot.feature_names.index("n=12345678")].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_complex_numbers_are_no_features():
    frame = pd.DataFrame({"a": [1 + 2j, 2, 3], "l": [0, 1, 0]})
    with pytest.raises(UserError, match=r"column 'a' holds text, found '\(1\+2j\)'"):
        load_dataset(frame, label_columns="l")


@pytest.mark.parametrize("where", ["training", "test", "folder", "told"])
def test_thousands_beside_decimal_commas_are_no_fractions(tmp_path, where):
    # pandas takes 2.000 for the number two; a comma elsewhere says that it is two thousand.
    commas, points = "a;b;l\n1,5;1.002,5;1\n2,5;3,5;0\n", "a;b;l\n1;2.000;1\n2;3.000;0\n"
    (tmp_path / "one.csv").write_text(points if where == "told" else commas)
    (tmp_path / "two.csv").write_text(points)
    options = {"label_columns": -1}
    if where == "folder":
        data = load_dataset(tmp_path, **options)
    elif where == "told":
        data = load_dataset(tmp_path / "one.csv", test=tmp_path / "two.csv", thousands=".", **options)
    else:
        data = load_dataset(tmp_path / "one.csv", test=tmp_path / "two.csv", **options)
    assert data.X[2:].tolist() == [[1.0, 2000.0], [2.0, 3000.0]]
    assert data.X[:2].tolist() == ([[1, 2000], [2, 3000]] if where == "told" else [[1.5, 1002.5], [2.5, 3.5]])
    assert "numbers read with decimal commas" in data.notes
    with pytest.raises(UserError, match=r"decimal and thousands are both '\.'"):
        load_dataset(tmp_path / "one.csv", decimal=".", thousands=".", **options)


def test_an_index_without_a_name_in_a_folder_of_files_is_no_feature(tmp_path):
    for part in range(2):
        (tmp_path / f"p{part}.csv").write_text(f",a,l\n{part},1,0\n")
    assert load_dataset(tmp_path, label_columns="l").feature_names == ("a",)


NUMERIC = Selection(("a", "b"), ("happy", "calm"), "the model")


def streamed(path, rows=2, **style):
    stream = RowStream(path, NUMERIC, style=TextStyle(**style), cells=rows * 2)
    return np.concatenate(list(stream)).tolist()


@pytest.mark.parametrize(
    ("style", "told"),
    [
        ({"separator": ";", "decimal": ","}, {}),
        ({"separator": ";"}, {}),
        ({"separator": "!"}, {"separator": "!"}),
        ({"separator": ";", "decimal": ","}, {"decimal": ","}),
    ],
)
def test_predictions_read_the_same_numbers(tmp_path, style, told):
    (tmp_path / "d.csv").write_text(text_of(**style))
    assert streamed(tmp_path / "d.csv", **told) == X


def test_predictions_of_thousands_whatever_block_tells_them(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a;b\n1;2\n3;2\n1,5;2.000\n2;4\n")
    assert streamed(path) == [[1.0, 2.0], [3.0, 2.0], [1.5, 2000.0], [2.0, 4.0]]
    path.write_text("a;b\n1;2.000\n3;2\n1,5;2\n2;4\n")
    message = "numbers have decimal points in the first rows and decimal commas later: set decimal"
    with pytest.raises(UserError, match=message):
        streamed(path)
    assert streamed(path, decimal=",", thousands=".")[0] == [1.0, 2000.0]
    path.write_text("1,2\n3,4\n")
    named = RowStream(path, Selection(("1", "2"), (), "the model"), style=TextStyle(header=False))
    assert np.concatenate(list(named)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(UserError, match="'decimal' has no effect with format 'npz'"):
        RowStream(tmp_path / "d.npz", NUMERIC, format="npz", style=TextStyle(decimal=","))


def test_labels_in_another_order_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[2, 0, 1])
    labels = pd.DataFrame({"l": [0, 1, 0]})
    with pytest.raises(UserError, match="the index of the features in another order"):
        load_dataset(frame, labels=labels)
    for right in (labels.loc[frame.index], labels.set_axis([7, 8, 9]), labels.to_numpy()):
        assert load_dataset(frame, labels=right).Y.shape == (3, 1)


@pytest.mark.parametrize(
    ("columns", "hot", "message"),
    [
        ({"a": [1, 2], "a=b": ["u", "v"]}, "a=b", "'a=b=u' of column 'a=b' may be one of column 'a'"),
        ({"a": ["x", "y"], "a=x": [1, 2]}, "a", "'a=x' of column 'a' may be one of column 'a=x'"),
        ({"a": ["x", "y"], "l=": [1, 2]}, "a", None),
        (
            {"a": ["u", "v"], "b": [[1.0], [2.0]], "b[0]": [3, 4]},
            "a",
            r"'b\[0\]' of column 'b' may be one of column 'b\[0\]'",
        ),
    ],
)
def test_names_of_features_tell_their_columns(columns, hot, message):
    frame = pd.DataFrame({**columns, "l": [0, 1]})
    if message is None:
        assert load_dataset(frame, label_columns="l", one_hot=hot).n_features == 3
        return
    with pytest.raises(UserError, match=message):
        load_dataset(frame, label_columns="l", one_hot=hot)


def test_some_numbers_of_lists_are_found_by_name():
    table = FrameTable(Path("f"), pd.DataFrame({"v": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}))
    for names, columns in ((("v[2]", "v[0]"), [2, 0]), (("v[1]",), [1]), (("v[2]", "v[1]", "v[0]"), [2, 1, 0])):
        request = StreamRequest(table.path, Selection(names, (), "the model"), None, 10, 0, [])
        (X,) = stream_tables(request, table)
        assert X.tolist() == [[row[place] for place in columns] for row in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])]
    request = StreamRequest(table.path, Selection(("v[5]",), (), "the model"), None, 10, 0, [])
    with pytest.raises(UserError, match="row 1 of column 'v': expected a list of 6 numbers or more"):
        list(stream_tables(request, table))


@pytest.mark.parametrize("form", ["frame", "parquet", "json"])
def test_lists_that_are_missing_numbers_or_rows_of_marks(tmp_path, form):
    def load(lists, **more):
        frame = pd.DataFrame({"a": np.arange(float(len(lists))), "t": pd.Series(lists, dtype=object)})
        if form == "json":
            frame["t"] = [json.dumps(cell) for cell in lists]
            frame.to_csv(tmp_path / "d.csv", index=False)
        elif form == "parquet":
            frame.to_parquet(tmp_path / "d.parquet")
        where = {"frame": frame, "parquet": tmp_path / "d.parquet", "json": tmp_path / "d.csv"}[form]
        return load_dataset(where, labels={"column": "t", **more})

    data = load([[10, 2], [], None])
    assert data.label_names == ("2", "10")
    assert data.Y.tolist() == [[True, True], [False, False], [False, False]]
    assert data.known.tolist() == [[True, True], [True, True], [False, False]]
    # No list of labels has one twice: these are rows of Y.
    marks = [[1, 0, 1], [0, 0, 0], [0, 1, 1]]
    assert load(marks).Y.astype(int).tolist() == marks
    assert load(marks, names=["x", "y", "z"]).label_names == ("x", "y", "z")
    with pytest.raises(UserError, match="column 't' holds lists of 3 entries for 2 names"):
        load(marks, names=["x", "y"])


def test_numerals_that_are_not_0_and_1_name_the_option(tmp_path):
    text = "a,l\n1,1\n2,2\n"
    assert refused(tmp_path, text, label_columns=-1) == (
        "d.csv:3:3: 'l' takes 0 or 1, found '2'; if one of '1', '2' means that a row has it, set positive to it"
    )
    assert load_text(tmp_path, text, label_columns=-1, positive="2").Y.tolist() == [[False], [True]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep=;\na;l\n1;0\n", "d.csv:1:1: the first line is Excel's 'sep=;', not the names: remove it"),
        ("a,l\r1,0\r", "d.csv:1: lines end with carriage returns alone"),
        (
            "a l\n1 0\n",
            "d.csv:1:1: a first line of one column: columns are separated by commas; this one seems to use ' '",
        ),
        (
            'a,b,l\n"5 pipe,1,0\n6,1,0\n',
            "d.csv:2:1: the row ends after 1 of 3 values; one of its quotation marks is open",
        ),
        ("a,,l\n1,2,0\n", "d.csv:1: column 2 has no name"),
    ],
)
def test_text_that_no_one_could_read_says_why(tmp_path, text, message):
    assert message in refused(tmp_path, text, label_columns="l")


def test_quotation_marks_within_cells_are_text(tmp_path):
    text = 'a,b,l\n5" pipe,1,0\n6" x 4",2,1\n"7"" a, ""b""",3,0\n' + "".join(f"{i},{i},0\n" for i in range(9))
    expected = pd.read_csv(io.StringIO(text))["b"].tolist()
    assert load_text(tmp_path, text, label_columns="l", ignore_columns="a").X[:, 0].tolist() == expected
    assert refused(tmp_path, text.replace("3,3,0", "3,x,0"), label_columns="l", ignore_columns="a") == (
        "d.csv:8:3: column 'b' is numeric, found 'x'"
    )
    assert "d.csv:8:6: the row has more than the 3 values" in refused(
        tmp_path, text.replace("3,3,0", "3,3,0,1"), label_columns="l", ignore_columns="a"
    )


def test_a_separator_is_one_character(tmp_path):
    assert load_text(tmp_path, "a l\n1 0\n", label_columns="l", separator=" ").X.tolist() == [[1.0]]
    for separator in ("::", '"', "\n"):
        assert "separator must be one character" in refused(tmp_path, "a::l\n", separator=separator)


def test_empty_columns_behind_the_last_name_are_no_features(tmp_path):
    data = load_text(tmp_path, ",a,l,,\n0,1.5,0,,\n1,2.5,1,,x\n", label_columns="l")
    assert (data.X.tolist(), data.feature_names) == ([[1.5], [2.5]], ("a",))
    assert data.notes == ("3 columns ignored: '(unnamed)', '(unnamed 4)', '(unnamed 5)'",)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".csv", ".parquet"])
def test_arrays_of_features_with_labels_in_a_second_file(tmp_path, ending):
    np.save(tmp_path / "X.npy", np.array(X))
    path = tmp_path / f"Y{ending}"
    frame = TABLE[LABELS]
    if ending == ".npy":
        np.save(path, frame.to_numpy())
    elif ending == ".npz":
        save_npz(path, csr_array(frame.to_numpy()))
    elif ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    features = tmp_path / "names.txt"
    features.write_text("a\nb\n")
    data = load_dataset(tmp_path / "X.npy", labels=path, features=features)
    assert (data.X.tolist(), data.Y.astype(int).tolist()) == (X, Y)
    assert data.label_names == (tuple(LABELS) if ending in (".csv", ".parquet") else ("0", "1"))
    assert data.feature_names == ("a", "b")
    np.savez(tmp_path / "X.npz", X=np.array(X))
    assert load_dataset(tmp_path / "X.npz", labels=path).Y.astype(int).tolist() == Y
    np.save(tmp_path / "X2.npy", np.array(X)[::-1])
    both = load_dataset(tmp_path / "X.npy", test=tmp_path / "X2.npy", labels=(path, path))
    assert both.X.tolist() == X + X[::-1]
    assert [rows.tolist() for rows in both.official] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    stream = RowStream(tmp_path / "X.npy", Selection(("0", "1"), (), "the model"), cells=6)
    assert np.concatenate(list(stream)).tolist() == X


def test_arrays_of_features_that_do_not_fit(tmp_path):
    np.save(tmp_path / "X.npy", np.array(X))
    np.save(tmp_path / "Y.npy", np.array(Y)[:3])
    np.save(tmp_path / "flat.npy", np.arange(4.0))
    np.savez(tmp_path / "both.npz", X=np.array(X), Y=np.array(Y))
    (tmp_path / "text.npy").write_text("a,b\n")
    for name, labels, message in (
        ("X.npy", None, "an array of features alone: set labels to the file of the labels"),
        ("X.npy", "Y.npy", "X.npy: has 4 rows, its labels 3"),
        ("flat.npy", "Y.npy", r"X must be a matrix of numbers, found float64 of shape \(4,\)"),
        ("text.npy", "Y.npy", "cannot be read as .npy"),
        ("both.npz", "Y.npy", "holds Y, and labels names another file"),
    ):
        with pytest.raises(UserError, match=message):
            load_dataset(tmp_path / name, labels=labels and tmp_path / labels)
    with pytest.raises(UserError, match="X has 2 columns without names, the model takes 3 features"):
        list(RowStream(tmp_path / "X.npy", Selection(("0", "1", "2"), (), "the model")))


@pytest.mark.parametrize(
    ("name", "text"),
    [("d.svm", "0 1:1\n"), ("d.txt", "1 1 1\n0 0:1\n"), ("d.arff", "@relation d\n@attribute a numeric\n@data\n1\n")],
)
def test_labels_elsewhere_are_not_ignored(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    for labels, message in (
        ({"column": "t", "separator": ";"}, "a column of labels goes with csv, tsv, parquet, not with format"),
        (tmp_path / "Y.npy", "a file of labels goes with npz, csv, tsv, parquet, not with format"),
    ):
        np.save(tmp_path / "Y.npy", np.eye(2))
        if name == "d.arff" and isinstance(labels, dict):
            message = "unknown column of labels 't'"
        with pytest.raises(UserError, match=message):
            load_dataset(tmp_path / name, labels=labels)
    np.savez(tmp_path / "d.npz", X=np.eye(2), Y=np.eye(2))
    with pytest.raises(UserError, match="a column of labels goes with"):
        load_dataset(tmp_path / "d.npz", labels={"column": "t"})


def test_a_short_row_far_from_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr("mlrank.datasets.formats.text.BLOCK_SIZE", 64)
    rows = "".join(f"{i},{i}.5,1\n" for i in range(100))
    assert refused(tmp_path, f"a,b,l\n{rows}1,2\n3,4,0\n", label_columns=["l"]).startswith("d.csv:102:4: the row ends")
    assert load_text(tmp_path, f"a,b,l\n{rows}1,2,\n", label_columns=["l"]).known[-1].tolist() == [False]


def test_each_part_needs_its_file_of_labels(tmp_path):
    for name in ("X", "T"):
        TABLE[["a", "b"]].to_csv(tmp_path / f"{name}.csv", index=False)
        TABLE[LABELS].to_csv(tmp_path / f"{name}y.csv", index=False)
    with pytest.raises(UserError, match="1 files of labels for 2 files of features: one for each is needed"):
        load_dataset(tmp_path / "X.csv", test=tmp_path / "T.csv", labels=tmp_path / "Xy.csv")
    both = load_dataset(tmp_path / "X.csv", test=tmp_path / "T.csv", labels=[tmp_path / "Xy.csv", tmp_path / "Ty.csv"])
    assert both.Y.astype(int).tolist() == Y + Y


def test_groups_folds_and_settings_of_text_count_in_the_hash():
    data = load_dataset(TABLE, label_columns=LABELS)
    codes = np.array([0, 1, 0, 1])
    changed = [replace(data, groups=codes), replace(data, folds=codes), replace(data, text=(TextColumn("a"),))]
    assert len({dataset_hash(one) for one in (data, *changed)}) == 4
    assert dataset_hash(replace(data, ids=("a", "b", "c", "d"))) == dataset_hash(data)


def test_predictions_hold_neither_all_names_nor_large_blocks(tmp_path, monkeypatch):
    pd.DataFrame({"a": np.arange(100.0), "b": 1.0, "n": [f"r{i}" for i in range(100)]}).to_parquet(
        tmp_path / "d.parquet"
    )
    monkeypatch.setattr("mlrank.datasets.formats.frames.parquet_table.BATCH_CELLS", 60)
    stream = RowStream(tmp_path / "d.parquet", NUMERIC, id_column="n")
    names, sizes = [], []
    for X in stream:
        sizes.append(len(X))
        names += stream.take_ids(len(X))
        assert stream.ids == []
    assert max(sizes) * 3 <= 30
    assert names == [f"r{i}" for i in range(100)]


@pytest.mark.parametrize("row", ['x",1,,0', '1,2",0,1'])
def test_quotes_inside_cells_never_lose_a_value(tmp_path, row):
    assert "the row has more" in refused(tmp_path, f"a,b,l\n{row}\n2,2.5,1\n", label_columns=["l"], one_hot=True)


def test_the_time_of_wide_frames_grows_with_their_columns():
    def seconds(width):
        names = [f"f{number}" for number in range(width)]
        frame = pd.DataFrame(np.arange(2.0 * width).reshape(2, width), columns=names).assign(l=[0, 1])
        started = process_time()
        data = load_dataset(frame[["l", *names[::-1]]], label_columns="l")
        spent = process_time() - started
        assert data.X[:, ::-1].tolist() == frame[names].to_numpy().tolist()
        return spent

    few = min(seconds(2000) for _ in range(2))
    # A look through all names for each column would take 25 times as long.
    assert seconds(10000) < 12 * few


CELLS = [
    "1",
    "-0.25",
    "+3",
    ".5",
    "2.",
    "1e3",
    "0.30000000000000004",
    "123456789.12345679",
    "1e-310",
    "",
    "NA",
    "?",
    " 7 ",
]
ODD = ["nan", "a", '"2"', "1 2", "1e999", "True", "0x1", "1_0", "inf", "1,5", "\u0663", "2020-01-02"]


@pytest.mark.parametrize("seed", range(80))
def test_the_loop_over_numbers_reads_what_the_library_reads(tmp_path, monkeypatch, seed):
    rng, separator = np.random.default_rng(seed), ",;\t|"[seed // 4 % 4]
    rows = [["a", "b", "note", "l", "m"]]
    for _ in range(12):
        notes, marks = ["x", "", "é", "1"], ["0", "1", "1.0", "", " 1"]
        row = [*rng.choice(CELLS, 2), rng.choice(notes), *rng.choice(marks, 2)]
        rows.append([str(cell) for cell in row])
    if seed % 2:
        rows[rng.integers(1, 13)][rng.integers(5)] = rng.choice(ODD)
    end = "\r\n" if seed % 4 > 1 else "\n"
    text = end.join(separator.join(f'"{c}"' if separator in c else c for c in row) for row in rows)
    path = tmp_path / "d.csv"
    path.write_text(text, encoding="utf-8", newline="")
    source = Source((path,), label_columns=("l", "m"), ignore_columns=("note",), impute="zero", separator=separator)

    def outcome():
        try:
            data = read("csv", source)
        except UserError as error:
            return str(error)
        known = None if data.known is None else data.known.tolist()
        return (data.X.tolist(), data.Y.tolist(), known, data.fill.tolist(), data.notes)

    fast = outcome()
    monkeypatch.setattr("mlrank.datasets.formats.frames.reading.plain_table", lambda *_: None)
    assert fast == outcome()


def test_words_of_labels_are_those_of_all_parts(tmp_path):
    # Where an entry is missing the library gives words in place of booleans.
    (tmp_path / "e.csv").write_text("a,happy\n1,True\n2,\n3,False\n")
    (tmp_path / "d.csv").write_text("a,happy\n1,True\n2,False\n")
    data = load_dataset(tmp_path / "d.csv", test=tmp_path / "e.csv", label_columns="happy")
    assert data.Y[:, 0].tolist() == [True, False, True, False, False]
    assert data.known[:, 0].tolist() == [True, True, True, False, True]
    assert data.notes == ("1 label column of 'false' and 'true' read as 0 and 1",)


@pytest.mark.parametrize("where", ["features", "labels", "lists"])
def test_mistakes_in_folders_are_shown_in_their_file(tmp_path, where):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b,tags\n1,0,x;y\n2,1,x\n")
    row = {"features": "z,1,x", "labels": "3,7,x", "lists": "3,1,x"}[where]
    (folder / "b.csv").write_text(f"a,b,tags\n\n5,0,y\n{row}\n")
    labels = {"labels": {"column": "tags"}} if where == "lists" else {"label_columns": "b"}
    with pytest.raises(UserError) as caught:
        load_dataset(folder, **labels, **({} if where == "lists" else {"ignore_columns": "tags"}))
    place = {"features": "b.csv:4:1: column 'a'", "labels": "b.csv:4:3: 'b' takes 0 or 1", "lists": "a.csv:2:5: "}[
        where
    ]
    assert str(caught.value).startswith(f"{folder}/{place}")


@pytest.mark.parametrize("impute", [None, "mean"])
def test_very_many_categories_are_a_sparse_matrix_of_the_same_values(tmp_path, monkeypatch, impute):
    rng = np.random.default_rng(0)
    cells = [f"c{i % 40}" for i in rng.permutation(60)]
    if impute:
        cells[7] = ""
    frame = pd.DataFrame({"n": rng.normal(size=60), "city": cells, "l": rng.integers(0, 2, 60)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    given = {"label_columns": "l", "one_hot": "city", "impute": impute}
    dense = load_dataset(tmp_path / "d.csv", **given)
    monkeypatch.setattr("mlrank.datasets.formats.frames.features.MOST_DENSE", 30)
    sparse = read("csv", Source((tmp_path / "d.csv",), **{**given, "label_columns": ("l",), "one_hot": ("city",)}))
    assert not issparse(dense.X)
    assert issparse(sparse.X)
    assert sparse.X.toarray().tolist() == dense.X.tolist()
    blocks = list(streamed_features(tmp_path / "d.csv", sparse.feature_names, sparse.fill))
    assert all(issparse(block) for block in blocks)
    found = np.concatenate([block.toarray() for block in blocks])
    assert found.tolist() == dense.X.tolist()


def streamed_features(path, names, fill):
    selection = Selection(tuple(names), ("l",), "the model", fill)
    return RowStream(path, selection, "csv", None, 7 * len(names))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1'234.5", "1"], [1234.5, 1]),
        (["1'234", "12'345'678"], [1234, 12345678]),
        (["1\u2019234,5", "0,25"], [1234.5, 0.25]),
        (["1 234,5", "1 000"], [1234.5, 1000]),
        (["-1\u202f234,5", "1\u202f000"], [-1234.5, 1000]),
        (["1\u00a0234.5", "2e3"], [1234.5, 2000]),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_between_thousands(tmp_path, cells, expected, ending):
    frame = pd.DataFrame({"a": cells, "l": [0, 1]})
    path = tmp_path / f"d.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    data = load_dataset(path, label_columns="l")
    assert data.X[:, 0].tolist() == expected
    assert any("thousands between" in note for note in data.notes)
    selection = Selection(("a",), ("l",), "the model", None)
    assert next(iter(RowStream(path, selection))).ravel().tolist() == expected


@pytest.mark.parametrize(
    ("columns", "cell"),
    [
        ({"a": ["1'234", "2"], "b": ["1 234", "1"]}, "1'234"),
        ({"a": ["1'234", "2"], "b": ["1,234.5", "1"]}, "1'234"),
        ({"a": ["1'234", "2"], "b": ["1,234", "1"]}, "1'234"),
    ],
)
def test_more_than_one_way_to_write_thousands_is_refused(columns, cell):
    with pytest.raises(UserError, match=f"written in more than one way, such as .{cell}.: set decimal and thousands"):
        load_dataset(pd.DataFrame({**columns, "l": [0, 1]}), label_columns="l")
    data = load_dataset(pd.DataFrame({"a": columns["a"], "l": [0, 1]}), label_columns="l", thousands="'")
    assert data.X[:, 0].tolist() == [1234, 2]


@pytest.mark.parametrize("cell", ["12'34", "1 2", "1_000", "1,2,3"])
def test_digits_that_are_no_number_name_the_options(cell):
    with pytest.raises(UserError, match="set decimal and thousands to say how numbers are written"):
        load_dataset(pd.DataFrame({"a": [cell, "1"], "l": [0, 1]}), label_columns="l")


def test_longer_lists_than_in_training_are_refused_though_their_first_numbers_would_do():
    selection = Selection(("v[0]", "v[1]"), ("l",), "the model", None)
    request = StreamRequest(Path("data"), selection, None, 9, 0, [])
    frame = pd.DataFrame({"v": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})
    with pytest.raises(UserError, match=r"row 1 of column 'v': expected a list of 2 numbers as in training, .* 3 num"):
        list(stream_tables(request, FrameTable(Path("data"), frame)))
