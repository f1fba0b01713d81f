"""``train --dry-run``: the fits, their estimates, and nothing written."""

import json

import numpy as np
import pytest

from mlrank.search import Chain, Pilot, Point, workers_that_fit
from mlrank.thresholds import THRESHOLDS
from tests.cli.test_commands import mlrank, write_config  # noqa: F401  a fixture
from tests.experiment.small import Costly, small_data


def test_dry_run_lists_every_fit_and_writes_nothing(mlrank, tmp_path):  # noqa: F811
    config = write_config(tmp_path / "c.yaml")
    code, out, _ = mlrank("train", config, "--dry-run", "--json", "--jobs", 1)
    found = json.loads(out)
    assert (code, found["jobs"]) == (0, 1)
    svm, hlap = found["cells"]
    assert (svm["n_fits"], svm["n_left"], hlap["n_fits"]) == (10, 10, 25)
    assert {(fit["fold"], fit["settings"]["C"]) for fit in svm["fits"]} == {
        (f, C) for f in range(3) for C in (0.1, 1, 10)
    }
    assert svm["seconds"] == pytest.approx(9 * svm["search"]["seconds"] + svm["refit"]["seconds"])
    assert not (tmp_path / "results").exists()
    mlrank("train", config, "--jobs", 1, "--quiet")
    _, out, _ = mlrank("train", config, "--dry-run", "--jobs", 1)
    assert "0 of 35 fits are left: about 0 ms with 1 worker\n" in out
    assert "finished fits" in out


def test_a_pilot_grows_as_the_solver_says(monkeypatch):
    X, Y = small_data(n=300)
    chain = Chain(Costly, THRESHOLDS["zero"], "train", "none")
    pilot = Pilot(chain, Point({}, {}, "key", 0), X, Y, np.arange(300))
    pilot.seconds = 2.0
    # 200 rows at the pilot, cost n ** 2: three times the rows take nine times as long.
    assert pilot.estimate(600).seconds == pytest.approx(18.0)
    data_bytes = 600 * (2 * 5 * 8 + 9 * 4)
    assert pilot.memory(600) == 600 * 1000 + data_bytes


def test_workers_are_as_many_as_fit_into_memory():
    assert workers_that_fit(8, 750e6, 5e9) == 4  # 80 % of 5 GB, 1 GB each
    assert workers_that_fit(2, 750e6, 5e9) == 2
    assert workers_that_fit(8, 1e12, 5e9) == 1
    assert workers_that_fit(8, 1e12, None) == 8
