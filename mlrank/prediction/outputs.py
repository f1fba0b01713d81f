"""Files of predictions, written block by block: CSV, LIBSVM, npz, JSON and Parquet."""

import csv
import io
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.errors import UserError, os_errors
from mlrank.labels import TopScores
from mlrank.records.atomic import whole_file
from mlrank.stored import numbered, zip_entry

__all__ = ["ENDINGS", "ScoredBlock", "Wish", "output_format", "without_formula", "writer"]

ENDINGS = {
    ".csv": "csv",
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".txt": "libsvm",
    ".npz": "npz",
    ".json": "json",
    ".parquet": "parquet",
}
COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class Wish:
    """What is to be written: label sets, all scores, or the `top` best labels of each row with their scores.

    `id_column` is what the names of the rows are called, where rows are written with names.
    """

    labels: tuple[str, ...]
    scores: bool = False
    top: int | None = None
    id_column: str | None = None

    @property
    def sets(self) -> bool:
        """Whether label sets are written."""
        return self.top is None and not self.scores


class ScoredBlock(NamedTuple):
    """Predictions of some rows.

    scores : (n_rows, n_labels); no columns where the best labels were asked for
    Y_pred : label sets; None where only scores were asked for
    ids : names of the rows, if any
    best : the best labels, where they were asked for; label -1 is none
    """

    scores: FloatArray
    Y_pred: BoolArray | None
    ids: Sequence[str] = ()
    best: TopScores | None = None

    def pairs(self) -> Iterator[tuple[list[int], list[float]]]:
        """Yield the best labels of each row and their scores, as many as there are."""
        if self.best is None:
            raise ValueError("the best labels were not asked for")
        for labels, scores, count in zip(*self.best, (self.best.labels >= 0).sum(axis=1).tolist(), strict=True):
            yield labels[:count].tolist(), scores[:count].tolist()


class Writer(Protocol):
    """Takes predictions block after block."""

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        ...

    def close(self) -> None:
        """Write what comes last."""
        ...


def output_format(path: Path) -> str:
    """Return the format that the ending of a file's name asks for.

    Raises
    ------
    UserError
        If it asks for none.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UserError(
            f"the name does not say which format to write: it must end in one of {', '.join(sorted(ENDINGS))}", path
        )
    return ENDINGS[ending]


@contextmanager
def writer(path: Path, wish: Wish) -> Iterator[Writer]:
    """Give a writer of a file that takes its place when all is written.

    Raises
    ------
    UserError
        If the system refuses; nothing is left then.
    """
    with whole_file(path) as file, ExitStack() as stack:
        found = _WRITERS[output_format(path)](file, wish, path, stack)
        yield found
        found.close()


def without_formula(name: str) -> str:
    """Return a name behind an apostrophe if a spreadsheet would take it for a formula; numbers are none.

    >>> [without_formula(name) for name in ("=cmd", "-x", "-1.5", "a=b")]
    ["'=cmd", "'-x", '-1.5', 'a=b']
    """
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(name) else name


_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?", re.ASCII)


class _CsvWriter:
    """A header line, then a line for each row: 0 or 1 or the score of each label, or labels and scores in turn.

    Names that a spreadsheet would take for formulas stand behind an apostrophe.
    """

    def __init__(self, file: IO[bytes], wish: Wish, path: Path, stack: ExitStack) -> None:
        self.file, self.wish = file, wish
        numbers = range(1, (wish.top or 0) + 1)
        pairs = [f"{what}_{number}" for number in numbers for what in ("label", "score")]
        self.names = [without_formula(name) for name in wish.labels]
        first = [] if wish.id_column is None else [without_formula(wish.id_column)]
        self._lines([first + (pairs if wish.top else self.names)])

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        if self.wish.top:
            labels, width = self.names, 2 * self.wish.top
            rows = (
                [cell for label, value in zip(row, its, strict=True) for cell in (labels[label], repr(value))]
                for row, its in block.pairs()
            )
            self._lines(_named((row + [""] * (width - len(row)) for row in rows), block.ids))
        elif block.ids:
            marks = block.scores.tolist() if block.Y_pred is None else block.Y_pred.astype(int).tolist()
            self._lines(_named((list(map(repr, row)) for row in marks), block.ids))
        elif block.Y_pred is None:
            lines = (",".join(map(repr, row)) for row in block.scores.tolist())
            self.file.write(("\n".join(lines) + "\n").encode())
        else:
            # Every second byte is a comma, the last one of a line its end.
            text = np.full((len(block.Y_pred), 2 * block.Y_pred.shape[1]), ord(","), np.uint8)
            text[:, ::2] = block.Y_pred + ord("0")
            text[:, -1] = ord("\n")
            self.file.write(text.tobytes())

    def _lines(self, rows: Any) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        self.file.write(text.getvalue().encode())

    def close(self) -> None:
        """Write nothing more."""


def _named(rows: Iterator[list[str]], ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield rows of cells, behind their names if they have any."""
    if not ids:
        yield from rows
        return
    for name, row in zip(ids, rows, strict=True):
        yield [without_formula(name), *row]


class _LibsvmWriter:
    """Lines "l,l" of label sets, " l:score l:score" of all scores, or both of the best labels, best first.

    Labels are numbered as in the data that the model was fitted to, or from 0 if they have names, which comment lines
    at the top then tell. The name of a row stands behind it as a comment.
    """

    def __init__(self, file: IO[bytes], wish: Wish, path: Path, stack: ExitStack) -> None:
        self.file, self.wish = file, wish
        first = numbered(wish.labels)
        self.base = first or 0
        if first is None:
            names = (json.dumps(name, ensure_ascii=False) for name in wish.labels)
            file.write("".join(f"# label {place}: {name}\n" for place, name in enumerate(names)).encode())

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        if self.wish.top:
            lines = [f"{self._labels(row)} {self._pairs(row, its)}" for row, its in block.pairs()]
        elif block.Y_pred is None:
            every = list(range(block.scores.shape[1]))
            lines = [f" {self._pairs(every, row)}" for row in block.scores.tolist()]
        else:
            # A row of one blank has no labels.
            lines = [self._labels(np.flatnonzero(row).tolist()) or " " for row in block.Y_pred]
        if block.ids:
            names = (json.dumps(name, ensure_ascii=False)[1:-1] for name in block.ids)
            lines = [f"{line} # {name}" for line, name in zip(lines, names, strict=True)]
        self.file.write(("\n".join(lines) + "\n").encode())

    def _labels(self, places: list[int]) -> str:
        return ",".join(str(self.base + place) for place in places)

    def _pairs(self, places: list[int], scores: list[float]) -> str:
        both = zip(places, scores, strict=True)
        return " ".join(f"{self.base + place}:{value!r}" for place, value in both)

    def close(self) -> None:
        """Write nothing more."""


class _NpzWriter:
    """Y_pred, or scores, or labels (numbers from 0, best first) and their scores; and label_names."""

    def __init__(self, file: IO[bytes], wish: Wish, path: Path, stack: ExitStack) -> None:
        self.file, self.wish, self.rows = file, wish, 0
        self.ids: list[str] = []
        k = len(wish.labels)
        self.kinds: Mapping[str, tuple[Any, int]] = {"Y_pred": (np.bool_, k)}
        if wish.top:
            self.kinds = {"labels": (np.int32, wish.top), "scores": (np.float64, wish.top)}
        elif wish.scores:
            self.kinds = {"scores": (np.float64, k)}
        # How many rows there are, which an array begins with, is known at the end.
        with os_errors("write the file", path):
            self.raw = {
                name: stack.enter_context(tempfile.TemporaryFile(dir=path.parent))  # noqa: SIM115
                for name in self.kinds
            }

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        found: dict[str, object] = {"scores": block.scores, "Y_pred": block.Y_pred}
        if block.best is not None:
            found = block.best._asdict()
        for name, (dtype, _) in self.kinds.items():
            self.raw[name].write(np.ascontiguousarray(found[name], dtype).data)
        self.rows += len(block.scores)
        self.ids += block.ids

    def close(self) -> None:
        """Put the arrays together."""
        with zipfile.ZipFile(self.file, "w") as archive:
            for name, (dtype, width) in self.kinds.items():
                self.raw[name].seek(0)
                with archive.open(zip_entry(f"{name}.npy"), "w", force_zip64=True) as member:
                    head = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (self.rows, width)}
                    np.lib.format.write_array_header_1_0(member, head)
                    while piece := self.raw[name].read(COPY_BYTES):
                        member.write(piece)
            with archive.open(zip_entry("label_names.npy"), "w") as member:
                np.lib.format.write_array(member, np.array(self.wish.labels), allow_pickle=False)
            if self.wish.id_column is not None:
                with archive.open(zip_entry("ids.npy"), "w") as member:
                    np.lib.format.write_array(member, np.array(self.ids, dtype=np.str_), allow_pickle=False)


class _JsonWriter:
    """A list with an object for each row: "labels" (those predicted, or the best with "scores"), or "scores" by label.

    "id" is the name of the row, where rows have names.
    """

    def __init__(self, file: IO[bytes], wish: Wish, path: Path, stack: ExitStack) -> None:
        self.file, self.wish, self.first = file, wish, True
        file.write(b"[")

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        for row, found in enumerate(_objects(block, self.wish)):
            named = {"id": block.ids[row], **found} if block.ids else found
            text = json.dumps(named, ensure_ascii=False, allow_nan=False)
            self.file.write(f"{'' if self.first else ','}\n{text}".encode())
            self.first = False

    def close(self) -> None:
        """Close the list."""
        self.file.write(b"\n]\n")


def _objects(block: ScoredBlock, wish: Wish) -> Iterator[dict[str, object]]:
    if wish.top:
        for places, its in block.pairs():
            yield {"labels": [wish.labels[place] for place in places], "scores": its}
    elif block.Y_pred is None:
        for values in block.scores:
            yield {"scores": dict(zip(wish.labels, values.tolist(), strict=True))}
    else:
        for marks in block.Y_pred:
            yield {"labels": [wish.labels[place] for place in np.flatnonzero(marks)]}


class _ParquetWriter:
    """The columns of the CSV file, with types: booleans, numbers, and text."""

    def __init__(self, file: IO[bytes], wish: Wish, path: Path, stack: ExitStack) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]", path) from error
        self.file, self.wish = file, wish
        self.writer: Any = None
        if wish.id_column in wish.labels:
            raise UserError(f"a label and the column of names are both called {wish.id_column!r}", path)

    def write(self, block: ScoredBlock) -> None:
        """Write the rows of a block."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        columns: dict[str, object] = {} if self.wish.id_column is None else {self.wish.id_column: pa.array(block.ids)}
        if block.best is not None:
            names, none = np.array(self.wish.labels), block.best.labels < 0
            for place, absent in enumerate(none.T):
                columns[f"label_{place + 1}"] = pa.array(names[block.best.labels[:, place]], mask=absent)
                columns[f"score_{place + 1}"] = pa.array(block.best.scores[:, place].astype(np.float64), mask=absent)
        else:
            found = block.scores if block.Y_pred is None else block.Y_pred
            columns |= {name: pa.array(found[:, place]) for place, name in enumerate(self.wish.labels)}
        table = pa.table(columns)
        if self.writer is None:
            self.writer = ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        """Write what comes last."""
        if self.writer is not None:
            self.writer.close()


_WRITERS: Mapping[str, Callable[[IO[bytes], Wish, Path, ExitStack], Writer]] = {
    "csv": _CsvWriter,
    "libsvm": _LibsvmWriter,
    "npz": _NpzWriter,
    "json": _JsonWriter,
    "parquet": _ParquetWriter,
}
