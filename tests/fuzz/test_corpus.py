"""Small hostile files: each is refused in one short printable line, soon, and in little memory."""

import os
import time
from pathlib import Path

import pytest

from mlrank import load_dataset
from mlrank.errors import UserError
from mlrank.hardware import peak_memory, reset_peak_memory
from tests.fuzz.hostile_files import REFUSED

# Far above what any takes; a quadratic loop takes minutes.
MOST_SECONDS = 10
MOST_BYTES = 1_000_000_000


@pytest.fixture(autouse=True)
def a_small_machine(monkeypatch):
    """Have as much memory on every machine, and low limits, for which small files are large."""
    for module in ("room", "growth", "mat"):
        monkeypatch.setattr(f"mlrank.datasets.formats.{module}.available_memory", what_is_left)
    for module in ("growth", "arff.header", "cell_rows"):
        monkeypatch.setattr(f"mlrank.datasets.formats.{module}.MOST_EMPTY", 1 << 20)
    monkeypatch.setattr("mlrank.datasets.formats.text.MOST_LINE", 1 << 24)


def what_is_left():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return 0.8 * MOST_BYTES - pages * os.sysconf("SC_PAGE_SIZE")


def options_in(folder, options):
    return {key: folder / value if key in ("labels", "features") else value for key, value in options.items()}


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_files_are_refused_in_a_line(tmp_path, case):
    name, write, options, message = REFUSED[case]
    path = write(tmp_path / name)
    assert path.stat().st_size < 20_000_000
    measured, started = reset_peak_memory(), time.process_time()
    with pytest.raises(UserError) as caught:
        load_dataset(path, **options_in(tmp_path, options))
    line = str(caught.value)
    assert message in line
    assert line.isprintable()
    assert len(caught.value.message) <= 2000
    assert time.process_time() - started < MOST_SECONDS
    assert not measured or (peak_memory() or 0) < MOST_BYTES
