"""Killed processes and shared folders: nothing is lost, nothing made twice, and the results have the same bytes."""

import signal
import subprocess
import sys
import time

from mlrank.config import load_config
from mlrank.experiment import run
from mlrank.records import RunFolder
from mlrank.search.shared_memory import map_folder
from tests.experiment.kills import ROOT, finish, journal_keys, slow_config, start
from tests.experiment.test_run import contents


def test_processes_that_start_at_the_same_moment_do_not_get_into_each_others_way(tmp_path):
    # In a process of its own, which forks others. `make soak` starts 10 000.
    command = [sys.executable, "-m", "tests.soak.starts", "12", "6"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_two_processes_share_a_folder_and_one_may_be_killed(tmp_path, monkeypatch):
    config = slow_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    results, maps = tmp_path / "shared", tmp_path / "maps"
    maps.mkdir()
    monkeypatch.setenv("TMPDIR", str(maps))
    first, second = (start(config, results, "--jobs", jobs) for jobs in "12")
    deadline = time.monotonic() + 60
    while not journal_keys(results) and time.monotonic() < deadline:
        time.sleep(0.05)
    second.send_signal(signal.SIGKILL)
    second.communicate()
    finish(first)
    keys = journal_keys(results)
    assert len(keys) == len(set(keys)) == 60
    assert not (results / "small" / "claims").exists()
    # The maps of the killed process go with the next run.
    with map_folder(maps):
        pass
    assert list(maps.glob("mlrank-maps-*")) == []
    whole = run(load_config(config), tmp_path / "whole", jobs=1)
    assert contents(RunFolder(results / "small")) == contents(whole)
