"""Label names beside the data: Mulan's XML (flat or nested) and plain text with one name a line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from mlrank.datasets.formats.room import MOST_COLUMNS, check_columns
from mlrank.datasets.formats.text import read_whole, shown
from mlrank.errors import UserError

__all__ = ["LabelTree", "matching_names", "read_label_xml", "read_labels", "read_names", "repeated"]


@dataclass(frozen=True)
class LabelTree:
    """Labels in the file's order.

    Parameters
    ----------
    path : Path
    names : tuple of str
    parents : tuple of int
        Position of each label's parent, which is smaller than its own; -1 for labels without one.
    places : tuple of (line, column)
        Where each label is declared.
    """

    path: Path
    names: tuple[str, ...]
    parents: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurred before; None if all differ.

    >>> repeated(["a", "b", "c", "b", "a"])
    'b'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def matching_names(given: Sequence[str], there: Sequence[str]) -> tuple[str, ...]:
    """Return names, where one with * ? or [ that is none itself stands for those that match it, in their order.

    >>> matching_names(["b", "y_*"], ["y_2", "y_1", "b"])
    ('b', 'y_2', 'y_1')
    """
    known, found = set(there), []
    for name in given:
        if name in known or not set(name) & set("*?["):
            found.append(name)
        else:
            found += [other for other in there if fnmatchcase(other, name) and other not in given] or [name]
    return tuple(found)


def read_labels(path: Path) -> LabelTree:
    """Read label names from Mulan XML (ending .xml) or from text with one name a line."""
    return read_label_xml(path) if path.suffix.lower() == ".xml" else read_names(path)


def read_label_xml(path: Path) -> LabelTree:
    """Read the labels of a Mulan XML file; nested elements give each label its parent.

    Entities and document types are refused, so that a hostile file cannot grow or reach for others.

    Raises
    ------
    UserError
        If the file is not such XML, names a label twice, or names none.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.sax import parseString

    handler = _LabelHandler(path)
    content = read_whole(path)
    try:
        parseString(content, handler, forbid_dtd=True)
    except SAXParseException as error:
        line, column = error.getLineNumber() or 1, (error.getColumnNumber() or 0) + 1
        raise UserError(f"not well-formed XML: {error.getMessage()}", path, line, column) from error
    except DefusedXmlException as error:
        raise UserError("document types and entities are not allowed in a label file", path, 1, 1) from error
    except (ValueError, LookupError) as error:
        # An encoding declaration that the parser cannot follow.
        raise UserError(f"not readable as XML: {error}", path, 1, 1) from error
    return _checked(path, handler.names, handler.parents, handler.places)


class _LabelHandler(ContentHandler):
    """Collects <label name=...> elements with their nesting and positions."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.names: list[str] = []
        self.parents: list[int] = []
        self.places: list[tuple[int, int]] = []
        self._open: list[int] = []
        self._where: Any = None

    def setDocumentLocator(self, locator: Any) -> None:
        self._where = locator

    def startElement(self, name: str, attrs: Any) -> None:
        tag = name.rpartition(":")[2]
        if not self._open:
            if tag != "labels":
                raise self._error(f"expected the element <labels>, found <{tag}>")
            self._open.append(-1)
            return
        if tag != "label":
            raise self._error(f"expected the element <label>, found <{tag}>")
        if len(self.names) == MOST_COLUMNS["label"]:
            raise self._error(f"more than {len(self.names)} labels are not supported")
        if "name" not in attrs:
            raise self._error("this <label> has no name attribute")
        self.parents.append(self._open[-1])
        self._open.append(len(self.names))
        self.names.append(attrs["name"])
        self.places.append(self._place())

    def endElement(self, name: str) -> None:
        self._open.pop()

    def _place(self) -> tuple[int, int]:
        return self._where.getLineNumber(), self._where.getColumnNumber() + 1

    def _error(self, message: str) -> UserError:
        return UserError(message, self.path, *self._place())


def read_names(path: Path, what: str = "label") -> LabelTree:
    """Read text with one name a line; `what` they are names of is for messages."""
    names: list[str] = []
    places: list[tuple[int, int]] = []
    for number, line in _text_lines(path):
        if not line:
            raise UserError(f"empty line where a {what} name was expected", path, number, 1)
        names.append(line)
        places.append((number, 1))
    return _checked(path, names, [-1] * len(names), places, what)


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    content = read_whole(path)
    check_columns(content.count(b"\n"), "feature", path)
    if (at := content.find(b"\0")) >= 0:
        raise UserError("a NUL byte in a name", path, content.count(b"\n", 0, at) + 1)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise UserError("not UTF-8 text; convert the file to UTF-8", path, line, column) from error
    yield from enumerate((row.strip() for row in text.rstrip("\r\n").split("\n")), start=1)


def _checked(
    path: Path, names: list[str], parents: list[int], places: list[tuple[int, int]], what: str = "label"
) -> LabelTree:
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in first:
            line = places[first[name]][0]
            raise UserError(f"{what} {shown(name)} is named twice, first in line {line}", path, *places[position])
        first[name] = position
    if not names:
        raise UserError(f"names no {what}", path, 1, 1)
    return LabelTree(path, tuple(names), tuple(parents), tuple(places))
