import os

import pytest

from mlrank.errors import UserError
from mlrank.records import Journal, TrialRecord, journal
from mlrank.records.run import TimeInfo
from mlrank.stored import dump_json


def line(key, **more):
    """The line of a trial in a journal."""
    return dump_json(TrialRecord(key, **more).to_json(), indent=None).encode()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "trials.jsonl"


def test_a_missing_journal_is_empty(path):
    assert Journal(path).read() == {}


def test_records_come_back_and_the_last_of_equal_keys_wins(path):
    trials = Journal(path)
    last = TrialRecord("a", 0.1, None, True, 1e-4, 3, 2, TimeInfo(fit=0.5, threshold=0.25))
    for trial in (TrialRecord("a", 1.0), TrialRecord("b", float("nan")), last):
        trials.append(trial)
    assert trials.read() == {"a": last, "b": TrialRecord("b")}
    assert path.read_text().count("\n") == 3


def test_a_torn_last_line_is_dropped_wherever_it_is_cut_and_then_replaced(path):
    trials = Journal(path)
    trials.append(TrialRecord("a", 1.0))
    whole = path.read_bytes()
    trials.append(TrialRecord("b", 2.0))
    content = path.read_bytes()
    for end in range(len(whole), len(content)):
        path.write_bytes(content[:end])
        assert set(trials.read()) == {"a"}
        trials.append(TrialRecord("c", 3.0))
        assert path.read_bytes() == whole + line("c", value=3.0)
        assert set(trials.read()) == {"a", "c"}


def test_a_last_line_of_zeros_as_after_a_power_cut_counts_as_torn(path):
    trials = Journal(path)
    trials.append(TrialRecord("a"))
    path.write_bytes(path.read_bytes() + b"\0" * 20 + b"\n")
    assert set(trials.read()) == {"a"}
    trials.append(TrialRecord("b"))
    assert path.read_bytes() == line("a") + line("b")


def test_a_torn_line_longer_than_a_block_is_cut_off(path):
    trials = Journal(path)
    trials.append(TrialRecord("a"))
    path.write_bytes(path.read_bytes() + b'{"key": "b", "error": "' + b"x" * 50_000)
    trials.append(TrialRecord("c"))
    assert path.read_bytes() == line("a") + line("c")


def test_a_long_whole_line_is_kept(path):
    trials = Journal(path)
    trials.append(TrialRecord("a", error="x" * 50_000))
    trials.append(TrialRecord("b"))
    assert set(trials.read()) == {"a", "b"}


def test_a_journal_that_is_one_torn_line_starts_anew(path):
    trials = Journal(path)
    path.parent.mkdir()
    path.write_bytes(b'{"key": "a')
    assert trials.read() == {}
    trials.append(TrialRecord("b"))
    assert path.read_bytes() == line("b")


def test_what_others_add_is_read_from_where_one_stopped(path):
    trials = Journal(path)
    trials.append(TrialRecord("a"))
    found, offset = trials.read_from(0)
    assert (set(found), offset) == ({"a"}, len(line("a")))
    assert trials.read_from(offset) == ({}, offset)
    trials.append(TrialRecord("b"), TrialRecord("c"))
    path.write_bytes(path.read_bytes() + b'{"key"')
    found, end = trials.read_from(offset)
    assert (list(found), end) == (["b", "c"], len(line("a") * 3))


@pytest.mark.parametrize(
    "bad", ["{broken", "[]", '{"no": "key"}', '{"key": 3}', "", '{"key": "c", "value": []}', '{"key": "c", "new": 1}']
)
def test_a_damaged_line_in_the_middle_names_its_line(path, bad):
    path.parent.mkdir()
    path.write_text('{"key": "a"}\n' + bad + '\n{"key": "b"}\n')
    with pytest.raises(UserError) as error:
        Journal(path).read()
    assert (error.value.path, error.value.line) == (path, 2)
    assert str(error.value).startswith(f"{path}:2: damaged line")


def test_a_damaged_whole_line_before_a_torn_one_is_not_taken_for_torn(path):
    path.parent.mkdir()
    path.write_text('{"key": "a"}\n{broken\n{"ke')
    with pytest.raises(UserError, match=":2: damaged line"):
        Journal(path).read()


def test_a_record_is_on_the_disk_when_append_returns(path, monkeypatch):
    synced = []
    monkeypatch.setattr(journal.os, "fsync", lambda _: synced.append(path.read_bytes()))
    Journal(path).append(TrialRecord("a"))
    assert synced == [line("a")]


def test_a_full_disk_is_one_line(path, monkeypatch):
    def full(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(journal.os, "fsync", full)
    with pytest.raises(UserError, match=r"trials.jsonl: cannot write the journal: no space left on device"):
        Journal(path).append(TrialRecord("a"))
