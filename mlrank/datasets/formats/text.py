"""Files as blocks of whole lines, read through gzip, bzip2, xz and zip, with positions for error messages."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import IO, NoReturn, cast

from mlrank.errors import UserError

__all__ = ["LineBlock", "file_stem", "is_packed", "plain_name", "read_blocks", "read_whole", "shown"]

# A quarter of a megabyte amortises the overhead of a call; more would only raise the peak memory.
BLOCK_SIZE = 1 << 18
# No row of numbers is longer; a line without end must not fill the memory.
MOST_LINE = 1 << 28
# So much text without a single row or declaration is no data.
MOST_EMPTY = 1 << 26
# Lists of labels are read at once; a small packed file may hold more than the memory does.
MOST_WHOLE = 1 << 26


@dataclass(frozen=True)
class LineBlock:
    """Some whole lines of a file.

    Parameters
    ----------
    path : Path
    text : bytes
        Ends in a newline, also where the file's last line does not.
    line : int
        Number of its first line, counted from 1.
    """

    path: Path
    text: bytes
    line: int

    @cached_property
    def n_lines(self) -> int:
        """Number of lines."""
        return self.text.count(b"\n")

    def error(self, offset: int, message: str) -> UserError:
        """Return a UserError that points at the byte `offset` of this block."""
        start = self.text.rfind(b"\n", 0, offset) + 1
        column = len(self.text[start:offset].decode("utf-8", "replace")) + 1
        return UserError(message, self.path, self.line + self.text.count(b"\n", 0, offset), column)


def read_blocks(path: Path) -> Iterator[LineBlock]:
    """Yield the file's lines in blocks of about BLOCK_SIZE bytes; a longer line makes its block longer.

    Raises
    ------
    UserError
        If the file is missing, unreadable, damaged or UTF-16.
    """
    line = 1
    try:
        for text in _whole_lines(_pieces(path)):
            block = LineBlock(path, text, line)
            yield block
            line += block.n_lines
    except _LongLineError as error:
        raise UserError(
            f"a line of more than {MOST_LINE} bytes: this is no text file of rows", path, line, 1
        ) from error


def read_whole(path: Path) -> bytes:
    """Return the whole content of a small file (label names), read through compression.

    Raises
    ------
    UserError
        If it is missing, damaged or, unpacked, larger than MOST_WHOLE.
    """
    pieces, size = [], 0
    for piece in _pieces(path):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_WHOLE:
            raise UserError(f"holds more than {MOST_WHOLE} bytes: this is no list of labels", path)
    return b"".join(pieces)


def is_packed(path: Path) -> bool:
    """Return whether a file is compressed.

    Raises
    ------
    UserError
        If it cannot be read.
    """
    try:
        return _packing(path) is not None
    except OSError as error:
        _refuse(path, error)


def file_stem(path: Path) -> tuple[str, str]:
    """Return the file's name without its endings, and the ending that names the format.

    >>> file_stem(Path("data/Scene-train.ARFF.gz"))
    ('Scene-train', '.arff')
    """
    name = path.name
    if path.suffix.lower() in _PACKED:
        name = Path(name).stem
    if path.suffix.lower() == ".zip" and not Path(name).suffix:
        # The name of what is in it tells the format.
        with suppress(UserError, OSError):
            return name, Path(_member(path).filename).suffix.lower()
    return Path(name).stem, Path(name).suffix.lower()


def shown(text: bytes | str, limit: int = 40) -> str:
    """Quote a piece of a file for a one-line message.

    >>> shown(b"2,\\t5")
    "'2,\\\\t5'"
    """
    if isinstance(text, str) and len(text) <= limit and text.isprintable():
        return f"'{text}'"
    # Cut first: a cell of a damaged file may be the rest of the file.
    head = text[: 4 * limit]
    words = head if isinstance(head, str) else head.decode("utf-8", "replace")
    cut = words[:limit] + "..." if len(words) > limit else words
    return "'" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + "'"


def plain_name(name: str) -> str:
    """Return a name as a message shows it, without quotes."""
    return shown(name)[1:-1]


_PACKED = (".gz", ".bz2", ".xz", ".zip")
_MARKS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}
# zipfile raises the last two for a way to pack that it does not know, and for a password.
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError)


def _pieces(path: Path) -> Iterator[bytes]:
    first = True
    try:
        with _open(path) as file:
            while piece := file.read(BLOCK_SIZE):
                yield _without_mark(path, piece) if first else piece
                first = False
    except (*_DAMAGED, OSError) as error:
        _refuse(path, error)


def _open(path: Path) -> IO[bytes]:
    packing = _packing(path)
    if packing == "gzip":
        return cast(IO[bytes], gzip.open(path))
    if packing == "bzip2":
        return bz2.open(path)
    if packing == "zip":
        return _ZipMember(path)
    return lzma.open(path) if packing == "xz" else open(path, "rb")


def _member(path: Path) -> zipfile.ZipInfo:
    """Return the only file in a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = [entry for entry in archive.infolist() if not entry.is_dir() and "__MACOSX" not in entry.filename]
    except _DAMAGED as error:
        _refuse(path, error)
    if len(files) != 1:
        listed = ", ".join(shown(entry.filename) for entry in files[:3]) or "none"
        raise UserError(f"a zip archive of {len(files)} files, one is expected; it holds {listed}: unpack it", path)
    return files[0]


class _ZipMember(io.BufferedReader):
    """The only file in a zip archive."""

    def __init__(self, path: Path) -> None:
        member = _member(path)
        self.archive = zipfile.ZipFile(path)
        super().__init__(self.archive.open(member))  # type: ignore[arg-type]

    def close(self) -> None:
        super().close()
        self.archive.close()


def _packing(path: Path) -> str | None:
    # The first bytes decide, not the name: a browser may have unpacked the file and kept its ending.
    with open(path, "rb") as file:
        magic = file.read(6)
    return next((name for mark, name in _MARKS.items() if magic.startswith(mark)), None)


def _refuse(path: Path, error: Exception) -> NoReturn:
    # bz2 tells damage by an OSError, which has no number because the system knows nothing of it.
    if not isinstance(error, OSError) or error.errno is None:
        raise UserError(f"the compressed data are damaged ({error}); get the file again", path) from error
    if isinstance(error, FileNotFoundError):
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, n=1)
        hint = f". Did you mean '{near[0]}'?" if near else ""
        raise UserError(f"no such file{hint}", path) from error
    raise UserError(f"cannot be read: {(error.strerror or str(error)).lower()}", path) from error


def _without_mark(path: Path, piece: bytes) -> bytes:
    if piece.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError("is UTF-16 text; convert it to UTF-8", path, 1, 1)
    return piece.removeprefix(b"\xef\xbb\xbf")


class _LongLineError(Exception):
    """A line is longer than MOST_LINE."""


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    # The start of an unfinished line is kept in pieces, so that one very long line costs linear time.
    waiting: list[bytes] = []
    length = 0
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut == 0:
            waiting.append(piece)
            length += len(piece)
            if length > MOST_LINE:
                raise _LongLineError
            continue
        yield b"".join([*waiting, memoryview(piece)[:cut]])
        waiting = [piece[cut:]] if cut < len(piece) else []
        length = len(piece) - cut
    if waiting:
        yield b"".join([*waiting, b"\n"])
