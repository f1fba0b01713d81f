"""Small hostile files: each is refused in one short printable line, soon, and in little memory."""

import os
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from mlrank.hardware import peak_memory, reset_peak_memory
from mlrank.models.file import load_model
from tests.fuzz.hostile_files import REFUSED, X, Y, mat, npz, numbers_of, packed

# Far above what any takes; a quadratic loop takes minutes.
MOST_SECONDS = 10
MOST_BYTES = 1_000_000_000


@pytest.fixture(autouse=True)
def a_small_machine(monkeypatch):
    """Have as much memory on every machine, and low limits, for which small files are large."""
    before = resident()
    for module in ("room", "datasets.formats.growth", "datasets.formats.mat"):
        left = lambda: 0.8 * MOST_BYTES + before - resident()  # noqa: E731
        monkeypatch.setattr(f"mlrank.{module}.available_memory", left)
    for module in ("growth", "arff.header", "cell_rows"):
        monkeypatch.setattr(f"mlrank.datasets.formats.{module}.MOST_EMPTY", 1 << 20)
    monkeypatch.setattr("mlrank.datasets.formats.text.MOST_LINE", 1 << 24)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def options_in(folder, options):
    return {key: folder / value if key in ("labels", "features") else value for key, value in options.items()}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_files_are_refused_in_a_line(tmp_path, case):
    name, write, options, message = REFUSED[case]
    path = write(tmp_path / name)
    assert path.stat().st_size < 20_000_000
    before = peak_memory() if reset_peak_memory() else None
    started = time.process_time()
    with pytest.raises(UserError) as caught:
        load_dataset(path, **options_in(tmp_path, options))
    line = str(caught.value)
    assert message in line
    assert line.isprintable()
    assert len(caught.value.message) <= 2000
    assert time.process_time() - started < MOST_SECONDS
    assert before is None or (peak_memory() or 0) - before < MOST_BYTES


def test_what_nobody_asks_for_is_not_unpacked(tmp_path):
    size = 64 << 20
    large = numbers_of("Z", np.zeros((size >> 3, 1)))
    path = mat(tmp_path / "d.mat", packed(numbers_of("X", X)), packed(large), numbers_of("Y", Y))
    archive = npz(tmp_path / "d.npz", ("X", X), ("Z.npy", bytes(size)))
    del large
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(load_dataset(path).X, X)
        (block,) = RowStream(archive, Selection(("a", "b"), (), "the model"))
        np.testing.assert_array_equal(block, X)
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()


def test_memory_that_runs_out_is_a_line_in_python_too(tmp_path, monkeypatch):
    def run_out(*_):
        raise MemoryError("Unable to allocate 7 GiB")

    path = npz(tmp_path / "d.npz", ("X", X), ("Y", Y))
    stream = RowStream(path, Selection(("a", "b"), (), "the model"))
    monkeypatch.setattr("mlrank.datasets.loading.read_cached", run_out)
    monkeypatch.setattr("mlrank.datasets.stream.as_features", run_out)
    monkeypatch.setattr("mlrank.models.file.read_archive", run_out)
    for work in (lambda: load_dataset(path), lambda: list(stream), lambda: load_model(path)):
        with pytest.raises(UserError, match=r"d\.npz: not enough memory: Unable to allocate 7 GiB"):
            work()
