"""The peak of memory counts what was held and given back, since the last reset alone."""

import subprocess
import sys

import numpy as np
import pytest

from mlrank.hardware import available_memory, cpu_model, machine_name, peak_memory, reset_peak_memory

BLOCK = 64 * 2**20

needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the peak of memory")


def hold_and_give_back():
    block = np.ones(BLOCK, np.uint8)  # large enough to go back to the system at once
    assert block[-1] == 1


@needs_linux
def test_memory_given_back_counts_until_the_next_reset():
    assert reset_peak_memory()
    before = peak_memory()
    hold_and_give_back()
    assert peak_memory() >= before + 0.95 * BLOCK
    assert reset_peak_memory()
    assert peak_memory() <= before + 0.2 * BLOCK


def test_a_system_that_does_not_tell_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr("mlrank.hardware._STATUS", tmp_path / "status")
    monkeypatch.setattr("mlrank.hardware._CLEAR", tmp_path / "folder" / "clear")
    assert peak_memory() is None
    assert not reset_peak_memory()
    monkeypatch.setattr("mlrank.hardware.Path", lambda name: tmp_path / "nowhere" / name.strip("/"))
    assert available_memory() is None


@needs_linux
def test_a_limit_on_the_address_space_counts_as_memory():
    limit = "import resource as r, mlrank.hardware as h; r.setrlimit(r.RLIMIT_AS, (10**9,) * 2)"
    code = f"{limit}; print(h.available_memory())"
    left = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    assert 0 < left < 10**9


def test_machines_are_called_by_processor_and_cores(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert machine_name() == f"{cpu_model()}, 1 core"
    assert cpu_model().strip()
