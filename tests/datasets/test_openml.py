"""Data sets of OpenML: fetched on request alone, read from the cache afterwards."""

import pandas as pd
import pytest
from sklearn.utils import Bunch

from mlrank import load_dataset
from mlrank.cli.fetch import fetch
from mlrank.datasets import openml
from mlrank.errors import UserError


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A fake of OpenML with one data set, 7; records what it was asked for."""
    frame = pd.DataFrame({"x": [1.5, 2.5, 3.5], "k": pd.Categorical(["u", "v", "u"])})
    frame = frame.assign(h=pd.Categorical(["TRUE", "FALSE", "TRUE"]), c=pd.Categorical(["FALSE", "FALSE", "TRUE"]))
    asked = []

    def fetch_openml(data_id, as_frame, data_home):
        asked.append(data_id)
        if data_id != 7:
            raise ValueError(f"no data set {data_id}\nat all")
        return Bunch(frame=frame, target_names=["h", "c"], details={"name": "moods", "version": "2"})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    monkeypatch.setattr(openml, "cache_folder", lambda: tmp_path)
    return asked


def test_nothing_is_fetched_unasked(server):
    with pytest.raises(UserError, match="'openml:7' is not here: 'mlrank datasets fetch openml:7' gets it"):
        load_dataset("openml:7")
    assert server == []


def test_a_table_that_was_fetched_is_a_data_set(server, capsys):
    fetch(names=["openml:7"], show_list=False, mirror=None, unpinned=False, quiet=False, as_json=False)
    assert "openml:7: moods, version 2, 2 label columns" in capsys.readouterr().out
    data = load_dataset("openml:7")
    assert server == [7]
    assert data.X.tolist() == [[1.5, 1, 0], [2.5, 0, 1], [3.5, 1, 0]]
    assert data.Y.tolist() == [[True, False], [False, False], [True, True]]
    assert (data.name, data.label_names) == ("openml-7", ("h", "c"))
    assert load_dataset("openml:7", label_columns="c", ignore_columns=["k", "h"]).feature_names == ("x",)
    with pytest.raises(UserError, match="'openml:8' cannot be fetched: no data set 8 at all"):
        openml.fetch_openml_table(8)
    with pytest.raises(UserError, match="'openml:7' is one table"):
        load_dataset("openml:7", format="csv")
