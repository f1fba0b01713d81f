"""The header of an ARFF file: its attributes, with positions for error messages."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from mlrank.datasets.formats.layout import Attribute, TableHeader
from mlrank.datasets.formats.text import MOST_EMPTY, LineBlock, read_blocks, shown
from mlrank.errors import UserError, unknown_name

__all__ = ["read_header"]


# Ancestors of a class.
DEEPEST = 100


def read_header(path: Path) -> tuple[TableHeader, Iterator[LineBlock]]:
    """Read the declarations of an ARFF file; return them and the blocks of data lines that follow.

    Raises
    ------
    UserError
        If a declaration cannot be understood, a name or value occurs twice, or there is no ``@data``.
    """
    blocks = read_blocks(path)
    relation = ""
    attributes: list[Attribute] = []
    first_lines: dict[str, int] = {}
    for line in _lines(blocks):
        if attribute := _plain_attribute(line):
            _add(attribute, attributes, first_lines, line)
            continue
        keyword, start = _keyword(line)
        if keyword == "data":
            if not attributes:
                raise line.error(0, "@data before any @attribute")
            return TableHeader(path, relation, tuple(attributes)), chain([line.after], blocks)
        if keyword == "relation":
            relation = line.text[start:].decode("utf-8", "replace").strip()
        elif keyword == "attribute":
            _add(_attribute(line, start), attributes, first_lines, line)
        else:
            raise line.error(0, unknown_name("ARFF keyword", "@" + keyword, ["@relation", "@attribute", "@data"]))
    raise UserError("no @data line: not an ARFF file, or cut short", path)


class _Line(NamedTuple):
    """One line of the header, and the rest of its block."""

    text: bytes
    number: int
    path: Path
    block: LineBlock
    stop: int

    @property
    def after(self) -> LineBlock:
        return LineBlock(self.path, self.block.text[self.stop :], self.number + 1)

    def error(self, offset: int, message: str) -> UserError:
        return UserError(message, self.path, self.number, len(self.text[:offset].decode("utf-8", "replace")) + 1)


def _lines(blocks: Iterator[LineBlock]) -> Iterator[_Line]:
    """Yield the lines that are neither blank nor comments.

    Raises
    ------
    UserError
        If so much of both comes without a declaration between that this is no header.
    """
    passed = 0
    for block in blocks:
        start, number = 0, block.line
        while start < len(block.text):
            first = _NOTHING.match(block.text, start).end()  # type: ignore[union-attr]
            if first > start:
                number += block.text.count(b"\n", start, first)
                passed += first - start
                start = first
                continue
            stop = block.text.index(b"\n", start) + 1
            line = _Line(block.text[start : stop - 1], number, block.path, block, stop)
            if (at := line.text.find(b"\0")) >= 0:
                raise line.error(at, "a NUL byte in the header: this is no ARFF file, or a damaged one")
            yield line
            passed, start, number = 0, stop, number + 1
        if passed > MOST_EMPTY:
            raise UserError(f"more than {MOST_EMPTY} bytes of blanks and comments: this is no ARFF file", block.path)


# Most lines of most headers; anything else, right or wrong, takes the careful way.
_PLAIN = re.compile(
    rb"@attribute[ \t]+([^\s'\"{]+)[ \t]+(?:(numeric|real|integer)|{[ \t]*([01])[ \t]*,[ \t]*([01])[ \t]*})[ \t\r]*",
    re.IGNORECASE,
)
# Whole lines of nothing, or of a comment.
_NOTHING = re.compile(rb"(?:[ \t\r\v\f]*(?:%[^\n]*)?\n)*+")
_KEYWORD = re.compile(rb"\s*@([A-Za-z]+)\s*")
_QUOTED = rb"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\""""
_NAME = re.compile(_QUOTED + rb"""|([^\s'"{][^\s{]*)""")
# Blanks behind a bare value belong to it at first: were they matched once more, a long run of them would take quadratic
# time.
_VALUE = re.compile(rb"\s*(?:(?:" + _QUOTED + rb""")\s*|([^\s,}'"][^,}]*))([,}])""")
_TYPE = re.compile(rb"[A-Za-z]+")
_RANGE = re.compile(rb"[ \t]*\[[^\]\n]*\]")
_NUMERIC = ("numeric", "real", "integer")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _keyword(line: _Line) -> tuple[str, int]:
    match = _KEYWORD.match(line.text)
    if not match:
        content = line.text.lstrip()
        raise line.error(len(line.text) - len(content), f"expected @attribute or @data, found {shown(content)}")
    return match[1].decode("ascii").lower(), match.end()


def _add(attribute: Attribute, attributes: list[Attribute], first_lines: dict[str, int], line: _Line) -> None:
    before = first_lines.setdefault(attribute.name, attribute.line)
    if before != attribute.line:
        message = f"attribute {shown(attribute.name)} is declared twice, first in line {before}"
        raise UserError(message, line.path, attribute.line, attribute.column)
    attributes.append(attribute)


def _plain_attribute(line: _Line) -> Attribute | None:
    match = _PLAIN.fullmatch(line.text)
    if not match:
        return None
    name, column = _decoded(line, match[1], match.start(1)), match.start(1) + 1
    if match[2]:
        return Attribute(name, "numeric", (), line.number, column)
    if match[3] == match[4]:
        return None
    return Attribute(name, "nominal", (match[3].decode(), match[4].decode()), line.number, column)


def _attribute(line: _Line, start: int) -> Attribute:
    match = _NAME.match(line.text, start)
    if not match:
        found = shown(line.text[start:].strip())
        raise line.error(start, f"expected an attribute name, quoted if it has blanks, found {found}")
    name = _unquoted(line, match)
    type_start = match.end() + len(line.text[match.end() :]) - len(line.text[match.end() :].lstrip())
    kind, values, stop = _type(line, type_start, name)
    trailing = line.text[stop:].strip()
    if trailing and not trailing.startswith(b"%"):
        raise line.error(stop, f"unexpected text after the type of attribute {shown(name)}: {shown(trailing)}")
    return Attribute(name, kind, values, line.number, len(line.text[:start].decode("utf-8", "replace")) + 1)


def _type(
    line: _Line, start: int, name: str
) -> tuple[Literal["numeric", "nominal", "hierarchical", "text"], tuple[str, ...], int]:
    if line.text[start : start + 1] == b"{":
        values, stop = _values(line, start + 1, name)
        return "nominal", values, stop
    match = _TYPE.match(line.text, start)
    word = match[0].decode("ascii").lower() if match else ""
    if match and word in _NUMERIC:
        # A range in brackets, as Weka's own files have, says nothing about how to read it.
        interval = _RANGE.match(line.text, match.end())
        return "numeric", (), interval.end() if interval else match.end()
    if match and word == "hierarchical":
        return "hierarchical", _classes(line, match.end(), name), len(line.text)
    if match and word == "string":
        return "text", (word,), match.end()
    if match and word == "date":
        # A format of dates may follow, in quotes.
        return "text", (word,), len(line.text)
    if word == "relational":
        raise line.error(start, f"attribute {shown(name)} has type {word}, which holds no numbers: remove it")
    found = shown(line.text[start:].strip())
    known = "numeric, real, integer, {values} or hierarchical"
    raise line.error(start, f"attribute {shown(name)}: expected the type {known}, found {found}")


def _values(line: _Line, start: int, name: str) -> tuple[tuple[str, ...], int]:
    values: dict[str, None] = {}
    at = start
    while True:
        match = _VALUE.match(line.text, at)
        if not match:
            found = shown(line.text[at:].strip())
            raise line.error(at, f"attribute {shown(name)}: expected a value, then ',' or '}}', found {found}")
        value = _unquoted(line, match)
        if value in values:
            raise line.error(at, f"attribute {shown(name)} lists the value {shown(value)} twice")
        values[value] = None
        at = match.end()
        if match[4] == b"}":
            return tuple(values), at


def _classes(line: _Line, start: int, name: str) -> tuple[str, ...]:
    text = _decoded(line, line.text[start:], start).strip()
    classes = tuple(part.strip() for part in text.split(","))
    for part in classes:
        # The paths of all ancestors are written out.
        if (depth := part.count("/")) > DEEPEST:
            message = f"attribute {shown(name)}: class {shown(part)} has {depth} ancestors, more than {DEEPEST}"
            raise line.error(start, message)
        if not all(part.split("/")):
            raise line.error(start, f"attribute {shown(name)}: class {shown(part)} is not a path such as 2/1/3")
    return classes


def _unquoted(line: _Line, match: re.Match[bytes]) -> str:
    for group in (1, 2):
        if match[group] is not None:
            raw = re.sub(rb"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), match[group], flags=re.DOTALL)
            return _decoded(line, raw, match.start())
    return _decoded(line, match[3].strip(), match.start())


def _decoded(line: _Line, raw: bytes, start: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise line.error(start, f"{shown(raw)} is not UTF-8 text; convert the file to UTF-8") from error
