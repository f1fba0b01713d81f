"""What tasks have found of their rows is kept for the others: once for all workers, whatever becomes of them."""

import os
import pickle
import signal
import subprocess
import sys
import uuid
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from mlrank.experiment import run
from mlrank.search.fits import WARM_UP_ROWS
from mlrank.search.neighbor_cache import MOST, FileNeighborCache, MemoryNeighborCache
from mlrank.solvers.slrm.slrm import SLRM
from tests.experiment.kills import ROOT
from tests.experiment.small import CONFIG, small_config
from tests.experiment.test_run import contents, trials

GRID = CONFIG.split("methods:")[0] + (
    "methods:\n  A: {{solver: '%s', lam: [0.1, 1, 10, 100], gamma: [0.1, 1]}}\n"
    "  B: {{solver: '%s', lam: [0.3, 3], n_neighbors: 6}}\nsearch: {{folds: 3}}\nseed: 3\n"
)
SPLIT = "{kind: kfold, folds: 3}"


@dataclass(frozen=True)
class Counted(SLRM):
    """As SLRM; whenever neighbours are searched, there is a new file in the folder that the environment names."""

    def prepare(self, train):
        def keep(key, make):
            def counted():
                if train.n_samples > WARM_UP_ROWS:
                    Path(os.environ["SEARCHED"], uuid.uuid4().hex).touch()
                return make()

            return counted() if train.neighbor_cache is None else train.neighbor_cache(key, counted)

        return super().prepare(replace(train, neighbor_cache=keep))


@dataclass(frozen=True)
class Alone(SLRM):
    """As SLRM, finding all neighbours itself."""

    def prepare(self, train):
        return super().prepare(replace(train, neighbor_cache=None))


def config_of(folder, solver, scale="none"):
    name = f"tests.experiment.test_neighbor_cache:{solver}"
    return small_config(folder, split=SPLIT, scale=scale, text=GRID % (name, name))


@pytest.mark.parametrize(("jobs", "scale"), [(1, "none"), (2, "none"), (1, "l2"), (1, "l1")])
def test_neighbors_are_searched_once_for_the_search_and_once_for_each_run(tmp_path, monkeypatch, jobs, scale):
    searched = tmp_path / "searched"
    searched.mkdir()
    monkeypatch.setenv("SEARCHED", str(searched))
    folder = run(config_of(tmp_path, "Counted", scale), tmp_path / "r", jobs)
    # The splits have the same rows, also where each is divided by its norm, and both methods need the 7 nearest, for
    # the scale; each of 6 runs is measured as a whole, so it searches them again.
    assert len(list(searched.iterdir())) == 1 + 6
    assert len(trials(folder)) == 3 * 3 * (8 + 2)


def test_kept_neighbors_change_nothing_whatever_the_number_of_workers(tmp_path):
    config = small_config(tmp_path, split=SPLIT, scale="none", text=GRID % ("slrm", "slrm"))
    one, two = run(config, tmp_path / "one", 1), run(config, tmp_path / "two", 2)
    assert contents(one) == contents(two)
    assert_as_alone(one, tmp_path, "none")


def test_folds_that_scale_their_rows_have_their_own_neighbors(tmp_path):
    config = small_config(tmp_path, split=SPLIT, scale="standard", text=GRID % ("slrm", "slrm"))
    assert_as_alone(run(config, tmp_path / "one", 1), tmp_path, "standard")


def assert_as_alone(kept, tmp_path, scale):
    alone = run(config_of(tmp_path, "Alone", scale), tmp_path / "alone", 1)
    assert sorted(trials(kept).values()) == sorted(trials(alone).values())
    metrics = [[record.metrics for record in folder.runs()] for folder in (kept, alone)]
    assert metrics[0] == metrics[1]


def made(value):
    return lambda: (np.array([value]), np.arange(3.0))


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_what_is_kept_is_not_made_again(tmp_path, kind):
    keep = MemoryNeighborCache() if kind == "memory" else FileNeighborCache(str(tmp_path))
    assert keep("a", made(1))[0] == [1]
    assert keep("b", made(2))[0] == [2]
    again = keep("a", made(3))
    assert again[0] == [1]
    assert np.array_equal(again[1], [0.0, 1.0, 2.0])
    for i in range(MOST + 1):
        keep(f"more {i}", made(i))
    assert keep("a", made(4))[0] == [4]
    assert len(keep.kept if kind == "memory" else list(tmp_path.glob("*.npz"))) == MOST


def test_a_copy_of_what_is_in_memory_starts_empty():
    keep = MemoryNeighborCache()
    keep("a", made(1))
    assert pickle.loads(pickle.dumps(keep)).kept == {}


def test_a_folder_that_is_gone_keeps_nothing(tmp_path):
    keep = FileNeighborCache(str(tmp_path / "gone"))
    assert [keep("a", made(i))[0].item() for i in range(2)] == [0, 1]


def test_a_disk_that_is_full_keeps_nothing(tmp_path, monkeypatch):
    def full(file, *_, **__):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    keep = FileNeighborCache(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr("mlrank.search.neighbor_cache.np.savez", full)
        assert keep("a", made(1))[0] == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["a.lock"]
    assert keep("a", made(2))[0] == [2]


def damaged(raw):
    """Yield a file cut off anywhere, with any bit of its ends changed, and what is no archive."""
    yield from (raw[:size] for size in range(0, len(raw), 40))
    for bit in (*range(0, 1000, 7), *range(8 * len(raw) - 2200, 8 * len(raw), 7)):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)
    yield from (b"PK", b"\x80\x04.", b"\x93NUMPY\x01\x00", bytes(100))


def test_a_damaged_file_is_made_again_and_told(tmp_path):
    FileNeighborCache(str(tmp_path))("a", made(1))
    (path,) = tmp_path.glob("*.npz")
    raw, anew = path.read_bytes(), 0
    for content in damaged(raw):
        path.write_bytes(content)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = FileNeighborCache(str(tmp_path))("a", made(2))[0]
        # Numpy warns of some headers by itself.
        notes = [str(warning.message) for warning in told if path.name in str(warning.message)]
        assert len(notes) == (found == [2])
        anew += len(notes)
    assert anew > 300
    assert "a.npz: kept arrays are damaged (ValueError) and are made anew" in notes[0]
    assert FileNeighborCache(str(tmp_path))("a", made(3))[0] == [2]


HOLDER = """
import sys, time
from mlrank.search.neighbor_cache import FileNeighborCache
def make():
    print("making", flush=True)
    time.sleep(60)
FileNeighborCache(sys.argv[1])("a", make)
"""


def test_one_that_dies_while_making_leaves_it_to_the_next(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout.readline() == "making\n"
        holder.send_signal(signal.SIGKILL)
    assert FileNeighborCache(str(tmp_path))("a", made(5))[0] == [5]
