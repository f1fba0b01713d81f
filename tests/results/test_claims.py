"""Claims: one owner at a time, stale ones taken over, nothing left behind."""

import json
import os
import subprocess
import sys

import pytest

from mlrank.errors import UserError
from mlrank.results import Claims, Journal, claimed


def test_a_claim_has_one_owner_until_it_is_released(tmp_path):
    folder = tmp_path / "claims"
    with Claims(folder) as first, Claims(folder) as second:
        assert first.take("a")
        assert first.take("a")
        assert not second.take("a")
        assert not first.alone()
        assert claimed(folder) == {"a"}
        first.release("a")
        assert second.take("a")
    assert not folder.exists()


def test_the_end_of_an_owner_frees_its_claims(tmp_path):
    folder = tmp_path / "claims"
    with Claims(folder) as second:
        with Claims(folder) as first:
            first.take("a")
            assert not second.take("a")
        assert second.alone()
        assert second.take("a")


def dead_claims(folder):
    """Leave what a process leaves that is killed while it holds the claim "a"."""
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom mlrank.results import Claims\n"
        "claims = Claims(Path(sys.argv[1])).__enter__()\nclaims.take('a')\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(folder)], check=False)
    assert (folder / "a").exists()


def test_the_claims_of_a_killed_process_are_taken_over(tmp_path):
    folder = tmp_path / "claims"
    with Claims(folder) as here:
        dead_claims(folder)
        assert claimed(folder) == set()
        assert here.take("a")
        assert claimed(folder) == {"a"}


def test_what_killed_processes_left_is_removed_by_the_next(tmp_path):
    folder = tmp_path / "claims"
    dead_claims(folder)
    with Claims(folder) as here:
        assert [path.name for path in folder.iterdir()] == [here.owner]


@pytest.mark.parametrize("change", ["silent", "other host", "reused number"])
def test_an_owner_counts_by_its_word_and_its_process(tmp_path, change):
    folder = tmp_path / "claims"
    with Claims(folder) as here, Claims(folder) as other:
        other.take("a")
        owner = folder / other.owner
        process = json.loads(owner.read_text())
        if change == "silent":
            os.utime(owner, (1e9, 1e9))
        elif change == "other host":
            owner.write_text(json.dumps(process | {"host": "elsewhere", "pid": 1}))
        else:
            owner.write_text(json.dumps(process | {"started": "1"}))
        assert here.take("a") == (change != "other host")


def test_a_claim_cut_off_before_its_owner_was_written_is_respected_for_a_while(tmp_path):
    folder = tmp_path / "claims"
    with Claims(folder) as here:
        (folder / "a").touch()
        assert not here.take("a")
        os.utime(folder / "a", (1e9, 1e9))
        assert here.take("a")


def test_a_folder_that_cannot_hold_claims_is_told_in_one_line(tmp_path):
    (tmp_path / "claims").write_text("a file")
    with pytest.raises(UserError, match="a file stands where a folder is needed"), Claims(tmp_path / "claims"):
        pass


def test_reading_on_gives_what_was_added_since(tmp_path):
    journal = Journal(tmp_path / "trials.jsonl")
    assert journal.read_from(0) == ({}, 0)
    journal.append({"key": "a", "value": 1})
    found, offset = journal.read_from(0)
    assert set(found) == {"a"}
    assert journal.read_from(offset) == ({}, offset)
    journal.append({"key": "b", "value": 2}, {"key": "c", "value": 3})
    with open(journal.path, "ab") as handle:
        handle.write(b'{"key": "torn')
    found, end = journal.read_from(offset)
    assert set(found) == {"b", "c"}
    journal.append({"key": "d", "value": 4})  # cuts the torn line off
    assert set(journal.read_from(end)[0]) == {"d"}


def test_processes_that_append_at_once_lose_nothing(tmp_path):
    script = (
        "import sys\nfrom pathlib import Path\nfrom mlrank.results import Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for i in range(40):\n    journal.append({'key': f'{sys.argv[2]}{i}', 'text': 'x' * 5000})\n"
    )
    path = tmp_path / "trials.jsonl"
    both = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(Journal(path).read()) == 80
