"""The doctor: every finding with its place, and none where there is nothing to find."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

from mlrank.cli.datasets import app
from mlrank.datasets.doctor import examine
from mlrank.datasets.doctor.checks import shifts
from mlrank.datasets.doctor.page import co_occurrence, page
from mlrank.datasets.formats import Source
from mlrank.datasets.loading import DataSource, find_source, load_dataset, load_source
from tests.datasets.writers import put, xml_of

HEAD = (
    "@relation 'r: -C -1'\n@attribute a numeric\n@attribute b numeric\n@attribute c {p,q}\n@attribute d numeric\n"
    "@attribute l {0,1}\n@attribute m {0,1}\n@attribute n {0,1}\n@attribute o {0,1}\n@data\n"
)
TRAIN = HEAD + "1,5,p,1,1,0,0,1\n\n% note\n2,5,q,2,0,0,0,1\n1,5,p,1,0,1,0,1\n3,5,p,3,?,0,0,0\n"
TEST = HEAD + "9,5,q,9,0,0,1,0\n1,5,p,1,1,0,0,0\n"


def checked(folder, train=TRAIN, test=TEST, **more):
    paths = put(folder, a_arff=train, b_arff=test, n_xml=xml_of("lmno"))
    found = find_source(paths[0], test=paths[1] if test else None, labels=paths[2], **more)
    dataset = load_source(found)
    return examine(dataset, found), dataset


def test_findings_and_their_places(tmp_path):
    checkup, _ = checked(tmp_path)
    found = {
        finding.kind: (finding.level, finding.count, [place.removeprefix(f"{tmp_path}/") for place in finding.places])
        for finding in checkup.findings
    }
    assert found == {
        "rows_without_labels": ("warning", 1, ["a.arff:16"]),
        "constant_features": ("warning", 1, ["a.arff:3"]),
        "duplicate_features": ("warning", 1, ["a.arff:5"]),
        "duplicate_rows": ("warning", 1, ["a.arff:15"]),
        "leaks": ("warning", 1, ["b.arff:12"]),
        "contradictions": ("warning", 2, ["a.arff:15", "b.arff:12"]),
        "labels_not_in_train": ("warning", 1, ["n.xml:5"]),
        "labels_not_in_test": ("warning", 2, ["n.xml:4", "n.xml:6"]),
        "label_names": ("warning", 3, ["n.xml:1", "a.arff:1"]),
        "unknown_labels": ("note", 1, ["a.arff:16"]),
    }
    assert not checkup.failed
    messages = {finding.kind: finding.message for finding in checkup.findings}
    assert messages["constant_features"] == "1 features are the same in every row: 'b'"
    assert messages["label_names"] == "the relation's name says -C -1, the XML names other labels: 'l', 'm', 'n'"
    assert messages["unknown_labels"] == "1 label entries are unknown, in 1 rows"


def test_rows_that_are_twice_in_the_test_part_alone_are_no_leak(tmp_path):
    head = HEAD.replace("'r: -C -1'", "r")
    rows = "9,5,q,9,0,0,1,0\n"
    checkup, _ = checked(tmp_path, head + "1,4,p,1,1,1,1,1\n", head + rows + rows)
    kinds = {finding.kind: finding.count for finding in checkup.findings}
    assert kinds["duplicate_rows"] == 1
    assert "leaks" not in kinds


def test_a_sound_data_set_has_no_finding(tmp_path):
    head = HEAD.replace("'r: -C -1'", "r").replace("@attribute b numeric\n", "")
    train = head + "1,p,7,1,0,0,1\n2,q,3,0,1,1,0\n"
    checkup, _ = checked(tmp_path, train, head + "3,p,4,1,1,1,1\n")
    # Two nominal columns of one attribute with two values are opposite, not equal.
    assert checkup.findings == ()


@pytest.mark.parametrize("key", ["libsvm", "xmc", "csv", "npz"])
def test_places_in_other_formats(tmp_path, key):
    if key == "npz":
        np.savez(tmp_path / "d.npz", X=[[1, 2], [3, 4], [1, 2]], Y=[[1], [1], [0]])
        found, expected = find_source(tmp_path / "d.npz"), f"{tmp_path}/d.npz (row 3)"
    elif key == "csv":
        (path,) = put(tmp_path, d_csv="x,y,l\n1,2,1\n\n3,4,1\n1,2,0\n")
        found, expected = find_source(path, label_columns=["l"]), f"{path}:5"
    else:
        lines = "0 0:1 1:2\n# note\n0 0:3 1:4\n 0:1 1:2\n"
        (path,) = put(tmp_path, d_txt=("3 2 1\n" if key == "xmc" else "") + lines)
        found, expected = find_source(path, format=key), f"{path}:{5 if key == 'xmc' else 4}"
    checkup = examine(load_source(found), found)
    assert {finding.kind: finding.places for finding in checkup.findings if finding.level == "warning"} == {
        "rows_without_labels": (expected,),
        "duplicate_rows": (expected,),
        "contradictions": (expected,),
    }


def test_numbers_that_are_not_finite_are_an_error(tmp_path):
    checkup, dataset = checked(tmp_path)
    X = dataset.X.copy()
    X[1, 0], X[4, 2] = np.nan, np.inf
    object.__setattr__(dataset, "X", X)
    found = find_source(tmp_path / "a.arff", test=tmp_path / "b.arff", labels=tmp_path / "n.xml")
    checkup = examine(dataset, found)
    assert checkup.failed
    first = checkup.findings[0]
    assert (first.level, first.kind, first.count) == ("error", "not_finite", 2)
    assert first.places == (f"{tmp_path}/a.arff:14", f"{tmp_path}/b.arff:11")


def test_shift_is_the_two_proportion_test():
    rng = np.random.default_rng(0)
    train, test = rng.random((300, 3)) < [0.5, 0.1, 0], rng.random((200, 3)) < [0.5, 0.4, 0]
    found = shifts(train, test)
    for label in range(2):
        a, b = train[:, label].sum(), test[:, label].sum()
        p = (a + b) / 500
        z = (a / 300 - b / 200) / np.sqrt(p * (1 - p) * (1 / 300 + 1 / 200))
        assert found[label] == pytest.approx(2 * (1 - norm.cdf(abs(z))), rel=1e-6, abs=1e-15)
    assert found[0] > 0.05 > 1e-6 > found[1]
    assert found[2] == 1  # never present: nothing can have moved


def test_co_occurrence_by_hand():
    Y = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 1], [1, 1, 0, 0]], bool)
    found = co_occurrence(Y)
    np.testing.assert_array_equal(found, [[1, 0.5, 0, 0], [0.5, 1, 0, 1 / 3], [0, 0, np.nan, 0], [0, 1 / 3, 0, 1]])


def test_the_page_shows_names_safely(tmp_path):
    names = ["<b>&", '"q"']
    head = "@attribute x numeric\n@attribute '<b>&' {0,1}\n@attribute '\"q\"' {0,1}\n@data\n"
    path, labels = put(tmp_path, a_arff=head + "1,1,1\n2,1,0\n", n_xml=xml_of(names))
    found = find_source(path, labels=labels)
    text = page(examine(load_source(found), found), load_source(found))
    assert "<b>" not in text.replace("<body>", "")
    assert "&lt;b&gt;&amp; and &quot;q&quot;: 0.500" in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "2 (100.0 %)" in text


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    return lambda *words: CliRunner().invoke(app, ["check", *map(str, words)])


def test_the_command(tmp_path, run):
    train, test, names = put(tmp_path, a_arff=TRAIN, b_arff=TEST, n_xml=xml_of("lmno"))
    result = run(train, "--test", test, "--labels", names, "--html", tmp_path / "r.html")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[-1] == "0 errors, 9 warnings"
    assert f"    {tmp_path}/a.arff:16" in lines
    chart = {line.split()[0]: line.split()[1:] for line in lines if "%" in line}
    assert chart["o"] == ["3", "50.0", "%", "█" * 30]
    assert chart["m"] == ["1", "16.7", "%", "█" * 10]
    assert (tmp_path / "r.html").read_text("utf-8").count("<svg") == 2
    plain = json.loads(run(train, "--test", test, "--labels", names, "--json").output)
    assert plain["facts"]["n_train"] == 4
    assert plain["findings"][0]["places"] == [f"{tmp_path}/a.arff:16"]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path, run):
    (path,) = put(tmp_path, a_svm="0 1:x\n")
    result = run(path, "--json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.output)["findings"]
    assert finding["places"] == [f"{path}:1:5"]
    assert finding["level"] == "error"


def test_label_columns_on_the_command_line(tmp_path, run):
    (path,) = put(tmp_path, a_csv="x,l,m\n1,0,1\n2,1,0\n")
    for words in ("l,m", "-2"):
        plain = json.loads(run(path, "--label-columns", words, "--json").output)
        assert plain["facts"]["n_labels"] == 2
    assert json.loads(run("imageclef-standin", "--json").output)["facts"]["n_samples"] == 3500


def checkup_of(frame, **options):
    data = load_dataset(frame, label_columns=["l", "m"], **options)
    return {finding.kind: finding for finding in examine(data, DataSource(None, Source(()), "mine", "")).findings}


def measured(n=40):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in "abc"})
    return frame.assign(l=rng.integers(0, 2, n), m=rng.integers(0, 2, n))


def test_features_that_are_no_measurements():
    assert not checkup_of(measured()).keys() & {"running_numbers", "order", "label_features", "scales", "near_leaks"}
    found = checkup_of(measured().assign(a=range(7, 47)))
    assert "1 features number the rows (name them in ignore_columns): 'a'" in found["running_numbers"].message
    assert "order" not in found
    found = checkup_of(measured().assign(b=np.sort(np.random.default_rng(1).random(40))[::-1]))
    assert "the rows are in the order of 1 features, perhaps of time" in found["order"].message
    frame = measured()
    assert checkup_of(frame.assign(a=frame["m"] * 2.5 - 1))["label_features"].count == 1
    assert checkup_of(frame.assign(a=1 - frame["l"]))["label_features"].count == 1
    assert "label_features" not in checkup_of(frame.assign(a=frame["l"] + frame["a"]))


def test_scales_far_apart_are_named_with_the_cure():
    message = checkup_of(measured().assign(b=measured()["b"] * 1e6))["scales"].message
    assert "from 'c' to 'b': write scale: standard" in message or "from 'a' to 'b': write scale: standard" in message


def test_test_rows_that_are_nearly_training_rows():
    frame = measured()
    near = frame.iloc[:3].assign(a=frame["a"].iloc[:3] * (1 + 1e-9))
    data = load_dataset(frame, test=pd.concat([near, measured(60).iloc[40:]]), label_columns=["l", "m"])
    kinds = {finding.kind: finding.count for finding in examine(data, DataSource(None, Source(()), "d", "")).findings}
    assert kinds["near_leaks"] == 3


def test_categories_that_name_the_rows():
    frame = measured().assign(who=[f"w{i}" for i in range(40)], colour=["red", "blue"] * 20)
    found = checkup_of(frame, one_hot=["who", "colour"])["categories_of_one_row"]
    assert found.message.startswith(
        "column 'who' has 40 categories, 40 of them in one row alone: are they names of the"
    )
    assert found.count == 40
    # Half of the rows or fewer have a category of their own.
    few = frame.assign(who=[f"w{i}" if i < 20 else "x" for i in range(40)])
    assert "categories_of_one_row" not in checkup_of(few, one_hot=["who", "colour"])
    assert "categories_of_one_row" in checkup_of(
        few.assign(who=[f"w{min(i, 21)}" for i in range(40)]), one_hot=["who", "colour"]
    )
