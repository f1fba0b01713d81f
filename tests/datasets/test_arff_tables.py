"""ARFF files with text, ids, groups and columns to be ignored, read as other tables are."""

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank import evaluate, load_dataset, run
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from mlrank.prediction.judged import judge

HEAD = """@relation 'd: -C 2'
@attribute h {no,yes}
@attribute c {0,1}
@attribute name string
@attribute when date 'yyyy-MM-dd'
@attribute colour {red,'dark blue',green}
@attribute x numeric
@attribute flag {0,1}
@attribute body string
@data
"""
ROWS = r"""yes,0,'row one','2020-01-01',red,1.5,1,'it\'s rain, snow'
no,1,r2,2020-01-02,'dark blue',2e1,0,"sun \"x\""
% a comment
no,?,007, ? ,red,3,1,?
"""
APART = {"ignore_columns": ["when"], "id_column": "name"}


def write(folder, text=HEAD + ROWS, name="d.arff"):
    (folder / name).write_text(text)
    return folder / name


def test_each_attribute_has_its_part(tmp_path):
    data = load_dataset(write(tmp_path), **APART, text_columns="body")
    assert data.ids == ("row one", "r2", "007")
    names = ("colour=dark blue", "colour=red", "x", "flag", "body~it", "body~rain", "body~snow", "body~sun")
    assert (data.feature_names, data.label_names) == (names, ("h", "c"))
    assert data.X.toarray().tolist() == [
        [0, 1, 1.5, 1, 1, 1, 1, 0],
        [1, 0, 20, 0, 0, 0, 0, 1],
        [0, 1, 3, 1, 0, 0, 0, 0],
    ]
    assert data.Y.tolist() == [[True, False], [False, True], [False, False]]
    assert data.known.tolist() == [[True, True], [True, True], [True, False]]


def test_a_list_of_labels_and_labels_by_name(tmp_path):
    apart = {"ignore_columns": ["when", "name", "c"]}
    data = load_dataset(write(tmp_path), labels={"column": "body", "separator": ","}, **apart)
    assert data.label_names == ("it's rain", "snow", 'sun "x"')
    assert data.known.tolist() == [[True] * 3, [True] * 3, [False] * 3]
    data = load_dataset(write(tmp_path), label_columns=["flag"], ignore_columns=["when", "name", "body", "h", "c"])
    assert (data.Y[:, 0].tolist(), data.feature_names[-1]) == ([True, False, True], "x")
    xml = write(tmp_path, '<labels><label name="flag"><label name="c"/></label></labels>', "d.xml")
    data = load_dataset(tmp_path / "d.arff", labels=xml, ignore_columns=["when", "name", "body", "h"])
    # A row with c has flag, which is above it.
    assert data.label_names == ("flag", "c")
    assert data.Y.tolist() == [[True, False], [True, True], [True, False]]
    assert "1 ancestor labels marked" in data.notes


def test_numbers_are_those_of_the_compiled_reader(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(2)},{rng.normal()!r},{rng.normal():.3e},{rng.choice(['u', 'v w'])!r}" for _ in range(50)]
    head = "@relation 'e: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@attribute b real\n@attribute w {u,'v w'}\n"
    path = write(tmp_path, head + "@data\n" + "\n".join(lines).replace("np.str_", "").replace("np.float64", "") + "\n")
    text = path.read_text().replace("(", "").replace(")", "")
    path.write_text(text)
    plain, table = load_dataset(path), load_dataset(path, one_hot=["w"])
    assert (plain.feature_names, plain.X.tolist(), plain.Y.tolist()) == (
        table.feature_names,
        table.X.tolist(),
        table.Y.tolist(),
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            HEAD + ROWS,
            {},
            "d.arff:4:12: attribute 'name' has type string, which holds no numbers: name it among ignore",
        ),
        (
            HEAD + ROWS,
            {"ignore_columns": ["when", "name"]},
            "d.arff:11: column 'body' holds text, found 'it's rain, snow'",
        ),
        (HEAD + ROWS, {"ignore_columns": ["name", "body"]}, "column 'when' holds dates"),
        (
            HEAD + ROWS.replace("2e1", "two"),
            APART | {"text_columns": "body"},
            "d.arff:12: column 'x' is numeric, found 'two'",
        ),
        (HEAD + ROWS.replace(",3,1", ",1"), APART, "d.arff:14: the row has 7 values, the header declares 8"),
        (HEAD + ROWS.replace("blue',", "blue,"), APART, "d.arff:12:20: a cell with an open quotation mark"),
        (HEAD + "{0 yes}\n", APART, "d.arff:11: the value of 'body' is missing"),
        (
            HEAD + "{0 yes, 0 no}\n",
            APART,
            "d.arff:11: expected a new attribute's number up to 7, a blank and",
        ),
        (HEAD + "{8 yes}\n", APART, "found '8 yes'"),
        (HEAD + "{1 1, 2 }\n", APART, "found ' 2'"),
        (HEAD + "{1 1\n", APART, "d.arff:11: the row's closing brace is missing"),
        (HEAD.replace("date", "relational"), APART, "has type relational, which holds no numbers"),
    ],
)
def test_mistakes(tmp_path, text, options, message):
    with pytest.raises(UserError) as caught:
        load_dataset(write(tmp_path, text), **options)
    assert message in str(caught.value)


def test_predictions_and_evaluation_look_at_no_other_attribute(tmp_path):
    path = write(tmp_path)
    stream = RowStream(path, Selection(("x", "colour=red", "flag"), ("h", "c"), "the model"), id_column="name", cells=6)
    assert np.concatenate(list(stream)).tolist() == [[1.5, 1, 1], [20, 0, 0], [3, 1, 1]]
    assert stream.take_ids(3) == ["row one", "r2", "007"]
    rows = "".join(
        f"{'yes' if i % 2 else 'no'},{i % 3 == 0:d},n{i},?,red,{i},{i % 2},'text {i}'\n" for i in range(1, 31)
    )
    path = write(tmp_path, HEAD + rows, "e.arff")
    given = {"train": str(path), "id_column": "name", "ignore_columns": ["when", "body"]}
    methods = {"S": {"solver": "binary_svm", "C": 1.0}}
    made = {"name": "e", "datasets": [given], "split": {"kind": "holdout", "train": 20, "test": 10}, "methods": methods}
    model = run(made, tmp_path / "r").model("S")
    whole = load_dataset(path, id_column="name", ignore_columns=["when", "body"])
    judged = judge(model, path)
    expected = evaluate(whole.Y, model.decision_function(whole.X), model.predict(whole.X))
    assert judged.metrics["hamming_loss"].value == expected["hamming_loss"].value
    assert judged.n_rows == 30


SPARSE = r"""{0 yes, 2 'row one', 3 '2020-01-01', 5 1.5, 6 1, 7 'it\'s rain, snow'}
{1 1, 2 r2 ,3 2020-01-02, 4 'dark blue',5 2e1,7 "sun \"x\""}
{ 1 ?, 2 007, 3 ?, 5 3, 6 1, 7 ?}
"""


@pytest.mark.parametrize("options", [APART | {"text_columns": "body"}, APART | {"ignore_columns": ["when", "body"]}])
def test_sparse_rows_are_the_same_table(tmp_path, monkeypatch, options):
    dense, sparse = (load_dataset(write(tmp_path, HEAD + rows), **options) for rows in (ROWS, SPARSE))
    assert issparse(sparse.X)
    assert sparse.X.toarray().tolist() == (dense.X.toarray() if issparse(dense.X) else dense.X).tolist()
    for name in ("feature_names", "label_names", "ids"):
        assert getattr(sparse, name) == getattr(dense, name)
    assert (sparse.Y.tolist(), sparse.known.tolist()) == (dense.Y.tolist(), dense.known.tolist())
    monkeypatch.setattr("mlrank.datasets.formats.arff.table.BATCH_CELLS", 5)  # two columns at a time
    again = load_dataset(write(tmp_path, HEAD + SPARSE, "e.arff"), **options)
    assert (again.X != sparse.X).nnz == 0
