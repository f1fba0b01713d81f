"""The pieces of a run that takes longer than any machine is at hand: one small file for each data set and method.

A piece holds the records of runs, without arrays and models. Records whose keys are those of the configuration count as
done, so that a run that starts from pieces makes only what none of them has.
"""

import json
import lzma
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mlrank.errors import UserError, os_errors
from mlrank.processes import locked
from mlrank.records import FORMAT, RunFolder, RunRecord, dump_json, safe_name
from mlrank.records.atomic import make_folder, write_atomic

__all__ = ["TUNED", "Pieces", "is_tuned", "method_and_cut"]

# What the name of a method with a tuned cut ends with.
TUNED = " tuned"
ENDING = ".json.xz"
# A piece is far smaller than a mebibyte: the largest window makes it no smaller, and takes ten times as long to set up.
COMPRESSION = ({"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 2**20},)


def is_tuned(record: RunRecord) -> bool:
    """Return whether the cut of a run was fitted, rather than that of its solver."""
    return record.threshold.kind not in ("natural", "zero")


def method_and_cut(record: RunRecord) -> tuple[str, str]:
    """Return what tables call the method, and its cut: "natural" or "tuned"."""
    tuned = is_tuned(record)
    return record.method.removesuffix(TUNED) if tuned else record.method, "tuned" if tuned else "natural"


class Pieces:
    """The files ``<folder>/<data set>/<method>.json.xz``, both cuts of a method in one.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, dataset: str, method: str) -> Path:
        """Return the file of a method, whatever its cut."""
        return self.folder / safe_name(dataset) / f"{safe_name(method.removesuffix(TUNED))}{ENDING}"

    def read(self) -> list[RunRecord]:
        """Return the records of all pieces, those of a data set together.

        Raises
        ------
        UserError
            If a piece is damaged.
        """
        return [record for path in sorted(self.folder.glob(f"*/*{ENDING}")) for record in _read(path)]

    def add(self, record: RunRecord, lock: Path) -> None:
        """Put a run into its piece, in place of an earlier one of the same names.

        Parameters
        ----------
        record : RunRecord
            Of its error the last line is kept: the rest names places of the machine.
        lock : Path
            A lock file for processes that write pieces at the same time.
        """
        kept = replace(record, error=record.reason) if record.error else record
        path = self.path(record.dataset.name, record.method)
        make_folder(path.parent)
        with locked(lock):
            records = {one.names: one for one in (_read(path) if path.exists() else [])}
            records[record.names] = kept
            write_atomic(path, _packed(records[names] for names in sorted(records)))

    def restore(self, folder: RunFolder) -> int:
        """Write the runs of all pieces that a results folder lacks into it; return how many."""
        lacking = [record for record in self.read() if folder.find_run(*record.names) is None]
        for record in lacking:
            folder.write_run(record, {})
        return len(lacking)

    def add_missing(self, folder: RunFolder, lock: Path) -> int:
        """Put the runs of the present configuration that are in a results folder and in no piece into theirs."""
        packed = {record.key for record in self.read()}
        found = [record for record in folder.runs() if record.key not in packed]
        for record in found:
            self.add(record, lock)
        return len(found)


def _packed(records: Iterable[RunRecord]) -> bytes:
    text = dump_json([record.to_json() for record in records], indent=None)
    return lzma.compress(text.encode(), filters=COMPRESSION)


def _read(path: Path) -> list[RunRecord]:
    with os_errors("read the piece", path):
        content = path.read_bytes()
    try:
        values = json.loads(lzma.decompress(content))
        if any((found := one["format"]) != FORMAT for one in values):
            raise UserError(f"a piece in format {found} (this version reads {FORMAT}); delete it to have it made", path)
        return [RunRecord.from_json(one) for one in values]
    except (lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise UserError("damaged piece of the benchmark; delete it to have it made again", path) from error
