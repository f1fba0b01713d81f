"""``mlrank datasets init``: what a file seems to hold, as a configuration that trains."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mlrank.cli.datasets import app
from mlrank.config import parse_config
from mlrank.datasets.starter import starter_config
from mlrank.errors import UserError
from mlrank.experiment import plan


def table(n=60):
    rng = np.random.default_rng(0)
    words = ["rain", "sun", "wind", "snow"]
    frame = pd.DataFrame({"ref": [f"case {i}" for i in range(n)], "number": range(100, 100 + n)})
    frame["age"] = rng.integers(18, 90, n).astype(float)
    frame["city"] = rng.choice(["Rome", "Oslo"], n)
    frame["body"] = [" ".join(rng.choice(words, 6)) for _ in range(n)]
    frame["day"] = pd.date_range("2020-01-01", periods=n).astype(str)
    frame.loc[3, "age"] = np.nan
    frame["wet"] = np.where(frame["body"].str.contains("rain"), "yes", "no")
    frame["old"] = np.where(frame["age"] > 60, "yes", "no")
    return frame


def parsed(text, monkeypatch, folder):
    monkeypatch.chdir(folder)
    return parse_config(text, "c.yaml")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_each_column_is_taken_for_what_it_is(tmp_path, monkeypatch, ending):
    path = tmp_path / f"mine.{ending}"
    table().to_csv(path, index=False) if ending == "csv" else table().to_parquet(path)
    text = starter_config(path)
    (entry,) = parsed(text, monkeypatch, tmp_path).datasets
    assert entry.label_columns == ("wet", "old")
    assert entry.id_column == "ref"
    assert entry.one_hot == ("city",)
    assert list(entry.text_columns) == ["body"]
    assert sorted(entry.ignore_columns) == ["day", "number"]
    assert entry.impute == "median"
    for said in ("'number' numbers the rows", "'day' holds dates", "'body' is text", "'city' has 2 categories"):
        assert said in text
    (data,) = plan(parsed(text, monkeypatch, tmp_path))
    assert data.dataset.n_samples == 60


def test_labels_in_one_column(tmp_path, monkeypatch):
    frame = table()[["age", "city"]].fillna(50)
    frame["tags"] = ["a;b" if i % 3 else "" if i % 2 else "b" for i in range(60)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    (entry,) = parsed(starter_config(tmp_path / "t.csv"), monkeypatch, tmp_path).datasets
    assert entry.labels == {"column": "tags", "separator": ";"}


def test_a_table_without_labels_is_refused(tmp_path):
    table()[["age", "city"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match="no column looks like a label"):
        starter_config(tmp_path / "t.csv")


def test_the_command_writes_once(tmp_path, monkeypatch):
    table().to_csv(tmp_path / "mine.csv", index=False)
    monkeypatch.chdir(tmp_path)
    first = CliRunner().invoke(app, ["init", "mine.csv"], catch_exceptions=False)
    assert first.exit_code == 0
    assert "written to mine.yaml: mlrank train mine.yaml" in first.output
    (tmp_path / "mine.yaml").read_text().index("# Guessed: column 'ref' names the rows.")
    with pytest.raises(UserError, match="is there already"):
        CliRunner().invoke(app, ["init", "mine.csv"], catch_exceptions=False)
    shown = CliRunner().invoke(app, ["init", "mine.csv", "--out", "-"], catch_exceptions=False)
    assert shown.output == (tmp_path / "mine.yaml").read_text()


@pytest.mark.parametrize(("rows", "folds"), [(4, 2), (14, 2), (15, 5)])
def test_few_rows_get_folds_that_they_can_fill(tmp_path, monkeypatch, rows, folds):
    (tmp_path / "mine.csv").write_text(
        "a,b,y,z\n" + "".join(f"{i},{i % 3}.5,{i % 2},{i // 2 % 2}\n" for i in range(rows))
    )
    monkeypatch.chdir(tmp_path)
    config = parsed(starter_config(tmp_path / "mine.csv"), monkeypatch, tmp_path)
    assert (config.split.folds, config.search.folds) == (folds, min(folds, 3))
    assert plan(config)
