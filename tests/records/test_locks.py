"""WorkLocks: one owner at a time, stale ones taken over, nothing left behind."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from mlrank import processes
from mlrank.errors import UserError
from mlrank.records import Journal, TrialRecord, WorkLocks, held_keys, journal, locks
from mlrank.records.locks import SILENT_SECONDS


@pytest.fixture(params=["links", "no links"])
def any_file_system(request, monkeypatch):
    """One where a file can have a second name, and one where it cannot."""

    def refused(*args):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if request.param == "no links":
        monkeypatch.setattr(locks.os, "link", refused)
    return request.param


@pytest.mark.usefixtures("any_file_system")
def test_a_claim_has_one_owner_until_it_is_released(tmp_path):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as first, WorkLocks(folder) as second:
        assert first.take("a")
        assert first.take("a")
        assert not second.take("a")
        assert held_keys(folder) == {"a"}
        first.release("a")
        assert second.take("a")
    assert not folder.exists()


@pytest.mark.usefixtures("any_file_system")
def test_the_end_of_an_owner_frees_its_claims(tmp_path):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as second:
        with WorkLocks(folder) as first:
            first.take("a")
            assert not second.take("a")
        assert second.take("a")


def test_a_claim_is_no_new_file_where_a_file_can_have_two_names(tmp_path):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here:
        here.take_all(["a", "b"])
        assert {(folder / name).stat().st_ino for name in ("a", "b", here.owner)} == {(folder / "a").stat().st_ino}


def dead_claims(folder):
    """Leave what a process leaves that is killed while it holds the claim "a"."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom mlrank.records import WorkLocks\n"
        "claims = WorkLocks(Path(sys.argv[1])).__enter__()\nclaims.take('a')\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=False)
    assert (folder / "a").exists()


def test_the_claims_of_a_killed_process_are_taken_over(tmp_path):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here:
        dead_claims(folder)
        assert held_keys(folder) == set()
        assert here.take("a")
        assert held_keys(folder) == {"a"}


def test_a_stale_claim_is_looked_at_again_under_the_lock(tmp_path, monkeypatch):
    folder, waited = tmp_path / "claims", []

    @contextmanager
    def after_another(path):
        """Hold the lock, after another process has held it and has taken the claim over."""
        with processes.locked(path):
            if not waited:
                waited.append(path)
                (folder / "a").unlink()
                os.link(folder / other.owner, folder / "a")
            yield

    with WorkLocks(folder) as here, WorkLocks(folder) as other:
        dead_claims(folder)
        monkeypatch.setattr(locks, "locked", after_another)
        assert not here.take("a")
        assert waited == [tmp_path / ".lock"]
        assert json.loads((folder / "a").read_text())["owner"] == other.owner
        monkeypatch.undo()


def test_what_killed_processes_left_is_removed_by_the_next(tmp_path):
    folder = tmp_path / "claims"
    dead_claims(folder)
    with WorkLocks(folder) as here:
        assert [path.name for path in folder.iterdir()] == [here.owner]


@pytest.mark.parametrize("change", ["other host", "reused number"])
def test_an_owner_counts_by_its_process_or_where_that_is_not_seen_by_its_word(tmp_path, change):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here, WorkLocks(folder) as other:
        other.take("a")
        owner = folder / other.owner
        process = json.loads(owner.read_text())
        more = {"host": "elsewhere", "pid": 1} if change == "other host" else {"started": "1"}
        owner.write_text(json.dumps(process | more))
        assert here.take("a") == (change != "other host")


def test_the_folder_of_claims_is_made_and_removed_under_the_lock(tmp_path, monkeypatch):
    folder, seen = tmp_path / "claims", []

    @contextmanager
    def watched(path):
        seen.append((path.name, folder.exists()))
        with processes.locked(path):
            yield
            seen.append(folder.exists())

    monkeypatch.setattr(locks, "locked", watched)
    with WorkLocks(folder):
        pass
    assert seen == [(".lock", False), True, (".lock", True), False]


def test_a_process_that_counted_as_dead_gives_its_claims_up_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HEARTBEAT_SECONDS", 0.01)
    folder = tmp_path / "claims"
    with WorkLocks(folder) as stopped, WorkLocks(folder) as other:
        assert stopped.take("a")
        with processes.locked(tmp_path / ".lock"):  # as another process cleans up after a dead one
            (folder / stopped.owner).unlink()
            (folder / "a").unlink()
            while stopped.held:
                time.sleep(0.01)
        assert other.take("a")
        stopped.release("a")
        assert held_keys(folder) == {"a"}
        while not (folder / stopped.owner).exists():
            time.sleep(0.01)
        assert not stopped.take("a")
        assert stopped.take("b")
        assert held_keys(folder) == {"a", "b"}


class Clock:
    """Time as the tests say it is."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(locks.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.parametrize("stamp", [0, 1e9, 4e9], ids=["epoch", "long ago", "to come"])
def test_a_claim_goes_over_when_its_owner_is_seen_to_be_silent_whatever_the_clocks_say(tmp_path, clock, stamp):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here, WorkLocks(folder) as other:
        other.take("a")
        os.utime(folder / other.owner, (stamp, stamp))
        assert not here.take("a")
        clock.now += SILENT_SECONDS - 1
        assert not here.take("a")
        clock.now += 1
        assert here.take("a")


@pytest.mark.parametrize("jump", [-86400.0, 86400.0], ids=["back", "ahead"])
def test_an_owner_that_is_heard_keeps_its_claim_when_the_clock_jumps(tmp_path, clock, jump):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here, WorkLocks(folder) as other:
        other.take("a")
        stamp = 1.7e9
        for word in range(4):
            os.utime(folder / other.owner, (stamp, stamp))
            assert not here.take("a")
            clock.now += 0.9 * SILENT_SECONDS
            stamp += jump if word == 1 else 5.0
            os.utime(folder / other.owner, (stamp, stamp))
            assert not here.take("a")


def test_a_claim_cut_off_before_its_owner_was_written_is_respected_for_a_while(tmp_path, clock):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here:
        (folder / "a").touch()
        os.utime(folder / "a", (1e9, 1e9))
        assert not here.take("a")
        clock.now += SILENT_SECONDS
        assert here.take("a")


@pytest.mark.parametrize("stamp", [1e9, 4e9], ids=["long ago", "to come"])
def test_what_runs_is_told_from_one_look(tmp_path, stamp):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as other:
        other.take("a")
        assert held_keys(folder) == {"a"}
        os.utime(folder / other.owner, (stamp, stamp))
        assert held_keys(folder) == set()


def test_a_full_disk_leaves_no_claim_without_owner(tmp_path, monkeypatch):
    folder = tmp_path / "claims"
    with WorkLocks(folder) as here:

        def full(*args):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("mlrank.records.locks.os.link", full)
        monkeypatch.setattr("mlrank.records.locks.os.write", full)
        with pytest.raises(UserError, match="cannot claim work: no space left on device"):
            here.take("a")
        monkeypatch.undo()
        assert not (folder / "a").exists()
        assert here.take("a")


def test_a_folder_that_cannot_hold_claims_is_told_in_one_line(tmp_path):
    (tmp_path / "claims").write_text("a file")
    with pytest.raises(UserError, match="a file stands where a folder is needed"), WorkLocks(tmp_path / "claims"):
        pass


def test_reading_on_gives_what_was_added_since(tmp_path):
    journal = Journal(tmp_path / "trials.jsonl")
    assert journal.read_from(0) == ({}, 0)
    journal.append(TrialRecord("a", 1.0))
    found, offset = journal.read_from(0)
    assert set(found) == {"a"}
    assert journal.read_from(offset) == ({}, offset)
    journal.append(TrialRecord("b", 2.0), TrialRecord("c", 3.0))
    with open(journal.path, "ab") as handle:
        handle.write(b'{"key": "torn')
    found, end = journal.read_from(offset)
    assert set(found) == {"b", "c"}
    journal.append(TrialRecord("d", 4.0))  # cuts the torn line off
    assert set(journal.read_from(end)[0]) == {"d"}


def test_what_is_appended_waits_for_the_lock_of_the_folder(tmp_path, monkeypatch):
    trials, events = Journal(tmp_path / "trials.jsonl"), []

    @contextmanager
    def watched(path):
        events.append(("locked", path))
        with processes.locked(path):
            yield
            assert len(trials.read()) == 1  # written by then
        events.append(("free", path))

    monkeypatch.setattr(journal, "locked", watched)
    trials.append(TrialRecord("a"))
    assert events == [("locked", tmp_path / ".lock"), ("free", tmp_path / ".lock")]


def test_processes_that_append_at_once_lose_nothing(tmp_path):
    script = (
        "import sys\nfrom pathlib import Path\nfrom mlrank.records import Journal, TrialRecord\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for i in range(40):\n    journal.append(TrialRecord(f'{sys.argv[2]}{i}', error='x' * 5000))\n"
    )
    path = tmp_path / "trials.jsonl"
    both = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(Journal(path).read()) == 80


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_a_claim_is_made_leaves_none(tmp_path, monkeypatch, number, any_file_system):
    folder = tmp_path / "claims"
    name, place = ("link", 1) if any_file_system == "links" else ("open", 0)
    made = getattr(os, name)

    def interrupted(*paths):
        handle = made(*paths)
        if paths[place] == folder / "a":
            arrive()  # between the making of the file and what comes next
        return handle

    def arrive():
        # A signal that another thread takes is no less the process's.
        thread = threading.Thread(target=signal.raise_signal, args=(number,))
        thread.start()
        thread.join()

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(locks.os, name, interrupted)
    before = signal.signal(number, stop)
    try:
        with pytest.raises(KeyboardInterrupt), WorkLocks(folder) as claims:
            claims.take("a")
    finally:
        signal.signal(number, before)
    assert not folder.exists()
