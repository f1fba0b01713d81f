"""Locks between processes, and which processes run."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mlrank.processes import locked, process_started

ROOT = Path(__file__).parents[1]
HOLDER = """
import sys, time
from pathlib import Path
from mlrank.processes import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
COUNTER = """
import sys, time
from pathlib import Path
from mlrank.processes import locked
lock, count = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(50):
    with locked(lock):
        before = int(count.read_text())
        time.sleep(0.001)
        count.write_text(str(before + 1))
"""


def script(text, *words, **options):
    return subprocess.Popen([sys.executable, "-c", text, *map(str, words)], cwd=ROOT, text=True, **options)


def test_one_process_at_a_time_holds_a_lock(tmp_path):
    lock, count = tmp_path / "lock", tmp_path / "count"
    count.write_text("0")
    processes = [script(COUNTER, lock, count) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert count.read_text() == "150"
    assert sorted(tmp_path.iterdir()) == [count, lock]


def test_one_thread_at_a_time_holds_a_lock(tmp_path):
    held, most = [], []

    def hold():
        for _ in range(20):
            with locked(tmp_path / "lock"):
                held.append(1)
                most.append(len(held))
                time.sleep(0.0005)
                held.pop()

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 60


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    lock = tmp_path / "lock"
    with script(HOLDER, lock, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == "held\n"
        got = threading.Event()

        def take():
            with locked(lock):
                got.set()

        thread = threading.Thread(target=take)
        thread.start()
        assert not got.wait(0.2)
        holder.send_signal(signal.SIGKILL)
        assert got.wait(30)
        thread.join()


def test_an_error_frees_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock"):
        1 / 0  # noqa: B018
    with locked(tmp_path / "lock"):
        pass


def test_a_folder_that_is_missing_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError), locked(tmp_path / "gone" / "lock"):
        pass


def test_a_process_is_known_by_when_it_started():
    process = script("input()", stdin=subprocess.PIPE)
    first = process_started(process.pid)
    assert first is not None
    assert process_started(process.pid) == first
    assert process_started(os.getpid()) not in (None, first)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(process.pid) is None  # it has ended, though nobody has asked how
    process.communicate()
    assert process_started(process.pid) is None


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_a_process_is_looked_for_without_harm_where_there_is_no_proc(monkeypatch, system):
    def unreadable(*_, **__):
        raise FileNotFoundError

    asked = []

    def kill(pid, number):
        asked.append((pid, number))
        if pid == 4:
            raise ProcessLookupError
        if pid == 1:
            raise PermissionError

    monkeypatch.setattr(Path, "read_text", unreadable)
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(sys, "platform", system)
    found = [process_started(pid) for pid in (1, 3, 4)]
    assert found == (["running"] * 3 if system == "win32" else ["running", "running", None])
    assert asked == ([] if system == "win32" else [(1, 0), (3, 0), (4, 0)])
