"""A real run, killed at twenty random moments, ends with the bytes of one that was left alone."""

import numpy as np

from mlrank.config import load_config
from mlrank.experiment import run
from mlrank.records import RunFolder
from tests.experiment.kills import kill_at_random, slow_config
from tests.experiment.test_run import contents


def test_twenty_kills(tmp_path, monkeypatch):
    config = slow_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    caught = kill_at_random(config, tmp_path / "killed", np.random.default_rng(20), times=20)
    whole = run(load_config(config), tmp_path / "whole", jobs=2)
    assert contents(RunFolder(tmp_path / "killed" / "small")) == contents(whole)
    print(f"\n{caught} of 20 processes were killed before they ended by themselves")
