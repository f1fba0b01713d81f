"""mlrank datasets list and info."""

import json

import pytest
from typer.testing import CliRunner

from mlrank.cli.datasets import app
from mlrank.datasets import load_dataset, read_catalogue
from mlrank.errors import UserError


@pytest.fixture(autouse=True)
def nothing_here_but_what_is_embedded(monkeypatch, tmp_path):
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")


def run(*words):
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_list_has_a_line_for_every_entry():
    lines = {line.split()[0]: line.split() for line in run("list").splitlines()}
    assert read_catalogue().keys() <= lines.keys()
    assert lines["yeast"] == ["yeast", "1500", "+", "917", "103", "14", "4.237", "embedded"]
    assert lines["scene"] == ["scene", "1211", "+", "1196", "294", "6", "1.074", "missing"]
    assert lines["mediamill-cut"] == ["mediamill-cut", "2500", "120", "101", "4.353", "missing"]
    assert lines["imageclef-standin"][-1] == "stand-in"


def test_list_as_json():
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))}
    assert rows.keys() == read_catalogue().keys()
    assert rows["yeast"]["read_from"] == "embedded"
    assert (rows["yeast"]["n_train"], rows["yeast"]["n_test"]) == (1500, 917)


def test_info_of_a_set_that_is_here():
    described = json.loads(run("info", "yeast", "--json"))
    loaded, yeast = described["loaded"], load_dataset("yeast")
    assert (loaded["n_samples"], loaded["n_features"], loaded["n_labels"]) == (2417, 103, 14)
    assert loaded["density"] == (yeast.X != 0).mean()
    assert loaded["rows_without_labels"] == 0
    assert loaded["distinct_label_sets"] == 198  # as published
    assert [row["positives"] for row in loaded["label_frequencies"]] == sorted(
        yeast.Y.sum(axis=0).tolist(), reverse=True
    )
    assert loaded["label_frequencies"][0] == {"label": "Class12", "positives": 1816}
    files = read_catalogue()["yeast"].files
    assert described["files"]["train"] == files["train"].model_dump(mode="json")
    text = run("info", "yeast")
    # Folded over lines where the terminal is narrow, never cut.
    joined = "".join(part.strip() for part in text.splitlines())
    assert files["train"].url in joined
    assert files["train"].sha256 in joined
    assert "1816 Class12" in text
    assert "... 4 more" in text


def test_info_of_a_set_that_is_missing_says_how_to_get_it():
    assert "mlrank datasets fetch scene" in json.loads(run("info", "scene", "--json"))["missing"]
    assert "loaded" not in run("info", "scene")


def test_an_unknown_name_is_a_users_mistake():
    with pytest.raises(UserError, match="Did you mean 'scene'"):
        CliRunner().invoke(app, ["info", "scenne"], catch_exceptions=False)
