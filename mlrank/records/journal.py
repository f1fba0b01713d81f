"""The journal of finished trials: one JSON line each, on the disk before the next, safe against any cut."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mlrank.errors import UserError
from mlrank.processes import locked
from mlrank.records.atomic import dump_json, make_folder, os_errors
from mlrank.records.locks import LOCK
from mlrank.records.run import TrialRecord

__all__ = ["Journal"]


@dataclass(frozen=True)
class Journal:
    """A file of JSON lines, each a trial; of trials with the same key the last one counts.

    Parameters
    ----------
    path : Path
    """

    path: Path

    def read(self) -> dict[str, TrialRecord]:
        """Return the trials by key; a missing file is an empty journal, a torn last line was never finished.

        Raises
        ------
        UserError
            If a line other than the last is damaged, or the file cannot be read.
        """
        return self.read_from(0)[0]

    def read_from(self, offset: int) -> tuple[dict[str, TrialRecord], int]:
        """Return the trials of the whole lines after byte `offset`, and where the last of them ends.

        `offset` is 0 or what an earlier call returned: what other processes added since is read.

        Raises
        ------
        UserError
            As `read`.
        """
        if not self.path.exists():
            return {}, 0
        with os_errors("read the journal", self.path), open(self.path, "rb") as handle:
            if handle.seek(0, os.SEEK_END) <= offset:
                return {}, offset
            handle.seek(offset)
            lines = handle.read().split(b"\n")
        tail = lines.pop()  # what follows the last newline: empty, or a line cut short
        trials: dict[str, TrialRecord] = {}
        for number, line in enumerate(lines, start=1):
            trial = _parse(line)
            if trial is not None:
                trials[trial.key] = trial
            elif number < len(lines) or tail:
                message = "damaged line: expected the JSON object of a trial; delete it to redo its trial"
                raise UserError(message, self.path, number if not offset else None)
            else:
                lines.pop()
        return trials, offset + sum(len(line) + 1 for line in lines)

    def append(self, *trials: TrialRecord) -> None:
        """Append trials and flush them to the disk together; a torn last line is cut off first.

        Processes that share the journal append one after the other.

        Raises
        ------
        UserError
            If the system refuses.
        """
        lines = "".join(dump_json(trial.to_json(), indent=None) for trial in trials).encode()
        make_folder(self.path.parent)
        with (
            os_errors("write the journal", self.path),
            locked(self.path.with_name(LOCK)),
            open(self.path, "ab+", buffering=0) as handle,
        ):
            _cut_torn_tail(handle)
            _write_all(handle, lines)
            os.fsync(handle.fileno())


def _write_all(handle: IO[bytes], content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[handle.write(left) :]


def _parse(line: bytes) -> TrialRecord | None:
    try:
        return TrialRecord.from_json(json.loads(line))
    except ValueError:
        return None


def _cut_torn_tail(handle: IO[bytes]) -> None:
    """Truncate the file after its last whole line, so that the next line does not continue a torn one."""
    end, step = handle.seek(0, os.SEEK_END), 4096
    if not end:
        return
    while True:
        start = max(0, end - step)
        handle.seek(start)
        block = handle.read(end - start)
        # The newline before the last line: the one that ends it is not counted.
        before = block.rfind(b"\n", 0, len(block) - 1)
        if before >= 0 or start == 0:
            break
        step *= 4
    last = block[before + 1 :]
    if not last.endswith(b"\n") or _parse(last) is None:
        handle.truncate(start + before + 1)
