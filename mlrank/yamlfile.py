"""YAML as data: every value knows its line and column, and nothing is read differently from how it looks.

Scalars follow the YAML 1.2 core schema: only ``true`` and ``false`` are booleans, ``1e-3`` is a float,
``010`` is the int 10, dates stay text. Repeated keys, tags and merge keys are refused; anchors and aliases
are allowed.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from mlrank.errors import UserError
from mlrank.scalars import INT_LIMIT, plain_scalar

__all__ = [
    "Document",
    "FileErrors",
    "Positions",
    "YamlMapping",
    "document_of",
    "dump_yaml",
    "load_yaml",
    "parse_yaml",
    "read_yaml",
]

MAX_DEPTH = 50
MAX_VALUES = 100_000
MAX_BYTES = 1 << 24

# A mapping as a YAML file holds it; values are mappings, lists, str, int, float, bool or None.
YamlMapping: TypeAlias = dict[str, Any]
Where = tuple[str | int, ...]
Position = tuple[int, int]


class FileErrors(UserError):
    """Every problem of one file: `problems`, sorted by position; the text has one line for each."""

    def __init__(self, problems: list[UserError]) -> None:
        ordered = sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))
        self.problems = tuple({str(problem): problem for problem in ordered}.values())
        first = self.problems[0]
        super().__init__(first.message, first.path, first.line, first.column)
        self.args = ("\n".join(str(problem) for problem in self.problems),)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileErrors, (list(self.problems),)


@dataclass(frozen=True)
class Positions:
    """Where in `path` each value and each key stands.

    Parameters
    ----------
    path : Path or str
        The file, or what messages call data of no file.
    values, keys : mapping from a path inside the data, such as ``("methods", "A", "C")``, to (line, column)
        Empty for data of no file.
    """

    path: Path | str
    values: Mapping[Where, Position]
    keys: Mapping[Where, Position]

    def error(self, message: str, *where: str | int, key: bool = False) -> UserError:
        """Return a UserError at a value (or at its key); what is absent is placed at what would hold it.

        Data of no file have no lines, so the message names the keys that lead to the value.

        >>> str(Positions("experiment", {}, {}).error("found 0", "split", "folds"))
        'experiment: split.folds: found 0'
        """
        if not self.values:
            holder = ".".join(map(str, where[:-1] if key else where))
            return UserError(f"{holder}: {message}" if holder else message, self.path)
        if key and where in self.keys:
            return UserError(message, self.path, *self.keys[where])
        while where and where not in self.values:
            where = where[:-1]
        return UserError(message, self.path, *self.values.get(where, (1, 1)))


class Document(NamedTuple):
    """What one YAML text holds: plain data, positions, and the problems that did not stop the reading."""

    data: YamlMapping
    positions: Positions
    problems: list[UserError]


def load_yaml(path: Path | str) -> tuple[YamlMapping, Positions]:
    """Read a YAML file whose top level is a mapping.

    Returns
    -------
    data : dict with str keys; values are dicts, lists, str, int, float, bool or None
    positions : Positions

    Raises
    ------
    UserError
        If the file cannot be read or is not such YAML; FileErrors where it has several problems.
    """
    document = parse_yaml(read_yaml(path), path)
    if document.problems:
        raise FileErrors(document.problems)
    return document.data, document.positions


def read_yaml(path: Path | str) -> str:
    """Return the text of a UTF-8 file, or raise a UserError that says why it cannot be read."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UserError("there is no such file", path) from None
    except IsADirectoryError:
        raise UserError("this is a folder, a YAML file was expected", path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"the file cannot be read: {reason}", path) from None
    if len(raw) > MAX_BYTES:
        raise UserError(f"the file has more than {MAX_BYTES} bytes, too many for a configuration", path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig", errors="replace")
        found = f"the byte 0x{raw[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        raise UserError(found, path, *_position_of(before)) from None


def parse_yaml(text: str, path: Path | str) -> Document:
    """Turn YAML text into a Document; `path` is what messages call it.

    Raises
    ------
    UserError
        If the text is not YAML or its top level is not a mapping.
    """
    node, problems = _compose(text, path)
    if node is None:
        raise UserError("the file is empty, 'key: value' lines were expected", path, 1, 1)
    if not isinstance(node, yaml.MappingNode):
        line, column = _start(node)
        raise UserError("the top level must be made of 'key: value' lines", path, line, column)
    builder = _Builder(path, problems)
    data = builder.build(node, ())
    return Document(data, Positions(path, builder.values, builder.keys), problems)


def document_of(mapping: Mapping[str, object], name: str) -> Document:
    """Return the Document of a mapping in Python, which has no positions; `name` is what messages call it.

    Tuples become lists, and numbers of NumPy those of Python.

    Raises
    ------
    FileErrors
        For every value that a YAML file could not hold.
    """
    copier = _Copier(Positions(name, {}, {}))
    data = copier.copy(mapping, ())
    if copier.problems:
        raise FileErrors(copier.problems)
    return Document(data, copier.positions, [])


class _Copier:
    """Copies data of Python into dicts, lists, str, int, float, bool and None, noting what is none of these."""

    def __init__(self, positions: Positions) -> None:
        self.positions = positions
        self.problems: list[UserError] = []
        self.open: list[object] = []

    def copy(self, value: Any, where: Where) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.complain(_HALF_A_PAIR, where) if _has_half_a_pair(value) else str(value)
        if isinstance(value, Integral):
            return int(value) if abs(int(value)) < INT_LIMIT else self.complain(_TOO_LARGE, where)
        if isinstance(value, Real):
            return float(value)
        if isinstance(value, PathLike):
            return fspath(value)
        if not isinstance(value, Mapping | list | tuple):
            return self.complain(f"{type(value).__name__} is no plain value", where)
        if any(value is outer for outer in self.open):
            return self.complain("a value contains itself", where)
        if len(where) >= MAX_DEPTH:
            return self.complain(f"values are nested more than {MAX_DEPTH} deep", where)
        self.open.append(value)
        if isinstance(value, Mapping):
            result: Any = {key: self.copy(inner, (*where, key)) for key, inner in value.items() if self.key(key, where)}
        else:
            result = [self.copy(item, (*where, place)) for place, item in enumerate(value)]
        self.open.pop()
        return result

    def key(self, key: object, where: Where) -> bool:
        if isinstance(key, str) and key.strip() and key.isprintable():
            return True
        self.complain(f"a key must be printable text, found {key!a}", where)
        return False

    def complain(self, message: str, where: Where) -> Any:
        """Note a problem, and return None in place of the value."""
        self.problems.append(self.positions.error(message, *where))
        return None


def _has_half_a_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


_HALF_A_PAIR = "half of a surrogate pair is not text"
_TOO_LARGE = "whole numbers must stay within 64 bits; write 1e30 for a large one"


def dump_yaml(data: Any) -> str:
    """Return YAML text, keys in the order given, that `load_yaml` reads back as the same data."""
    return str(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


class _Dumper(yaml.SafeDumper):
    """Quotes the words that YAML 1.1 takes for text and YAML 1.2 for numbers, and writes no aliases."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        tag = str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]
        if kind is yaml.ScalarNode and implicit[0] and tag.endswith(":str"):
            return tag if isinstance(plain_scalar(value), str) else "tag:yaml.org,2002:float"
        return tag

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Composer(Composer):
    """PyYAML's composer of any parser's events; collects tags instead of obeying them."""

    def __init__(self, path: Path | str, problems: list[UserError]) -> None:
        super().__init__()
        self.path, self.problems, self.depth = path, problems, 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[attr-defined]  # the parser beside it has it
        line, column = _point(event.start_mark)
        if getattr(event, "tag", None) is not None:
            found = event.tag.replace("tag:yaml.org,2002:", "!!")
            message = f"tags are not allowed, found {found!r}; write the plain value"
            self.problems.append(UserError(message, self.path, line, column))
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UserError(f"values are nested more than {MAX_DEPTH} deep", self.path, line, column)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Loader(_Composer, Reader, Scanner, Parser, BaseResolver):
    """The parser in Python, without the table of scalars; what it refuses it explains."""

    def __init__(self, text: str, path: Path | str, problems: list[UserError]) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        _Composer.__init__(self, path, problems)
        BaseResolver.__init__(self)


if yaml.__with_libyaml__:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _FastLoader(_Composer, CParser, BaseResolver):
        """The parser in C, eight times as fast, for text that both parsers read alike."""

        def __init__(self, text: str, path: Path | str, problems: list[UserError]) -> None:
            CParser.__init__(self, text)
            _Composer.__init__(self, path, problems)
            BaseResolver.__init__(self)

        def compose_scalar_node(self, anchor: Any) -> Any:
            node = super().compose_scalar_node(anchor)
            node.style = node.style or None  # of plain text it is "" in C
            if node.style is None and not node.value:
                raise ValueError("values left out have other positions in C")
            return node


# What the parser in C takes and the one in Python refuses, or reads otherwise: tabs and unusual line breaks, "?" inside
# words, tags, and comments right behind the sign of a block of text.
_READ_OTHERWISE = re.compile(r"[^\n -~\xa0-\u2027\u202a-\ufefe]|[!?]|[|>][-+0-9]*#")


def _compose(text: str, path: Path | str) -> tuple[yaml.Node | None, list[UserError]]:
    if yaml.__with_libyaml__ and not _READ_OTHERWISE.search(text):
        with suppress(yaml.YAMLError, UserError, ValueError, OverflowError):
            problems: list[UserError] = []
            return _FastLoader(text, path, problems).get_single_node(), problems
    problems = []
    loader: _Loader | None = None
    try:
        loader = _Loader(text, path, problems)
        return loader.get_single_node(), problems
    except yaml.reader.ReaderError as error:
        line, column = _position_of(text[: error.position])
        raise UserError(f"the character U+{error.character:04X} is not allowed", path, line, column) from None
    except yaml.MarkedYAMLError as error:
        raise UserError(_explain(error), path, *_point(error.problem_mark or error.context_mark)) from None
    except (ValueError, OverflowError):
        # PyYAML hands escapes such as "\\UFFFFFFFF" to chr() unchecked.
        found = "not valid YAML: a number here is out of range"
        raise UserError(found, path, *_point(loader.get_mark() if loader else None)) from None


def _explain(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join((error.problem or error.context or "").split())
    if "'\\t'" in problem:
        return "a tab cannot indent or separate YAML; use spaces"
    if "another document" in problem:
        return "a second document begins here; a file holds one"
    return f"not valid YAML: {problem}"


class _Builder:
    """Turns nodes into plain data, noting positions and problems; one use."""

    def __init__(self, path: Path | str, problems: list[UserError]) -> None:
        self.path, self.problems = path, problems
        self.values: dict[Where, Position] = {}
        self.keys: dict[Where, Position] = {}
        self.open: list[yaml.Node] = []

    def build(self, node: yaml.Node, where: Where) -> Any:
        self.values[where] = _start(node)
        # A few lines of aliases can stand for billions of values, so what they expand to is counted.
        if len(self.values) > MAX_VALUES:
            raise UserError(f"more than {MAX_VALUES} values once aliases are written out", self.path, *_start(node))
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        if node in self.open or len(self.open) >= MAX_DEPTH:
            fault = "a value that contains itself" if node in self.open else f"values nested more than {MAX_DEPTH} deep"
            raise UserError(f"aliases lead to {fault}", self.path, *_start(node))
        self.open.append(node)
        if isinstance(node, yaml.MappingNode):
            result: Any = self.mapping(node, where)
        else:
            result = [self.build(item, (*where, i)) for i, item in enumerate(node.value)]
        self.open.pop()
        return result

    def mapping(self, node: yaml.MappingNode, where: Where) -> YamlMapping:
        result: YamlMapping = {}
        for key_node, value_node in node.value:
            key = self.key(key_node)
            if key is None:
                continue
            if key in result:
                line, column = self.keys[(*where, key)]
                self.complain(f"the key '{key}' is repeated; it is first given at {line}:{column}", key_node)
                continue
            self.keys[(*where, key)] = _start(key_node)
            result[key] = self.build(value_node, (*where, key))
        return result

    def key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self.complain("a key must be a word, found a list or mapping", node)
        elif node.value == "<<" and node.style is None:
            self.complain("merge keys ('<<') are not supported; write the keys out", node)
        elif not node.value.strip() or not node.value.isprintable():
            self.complain(f"a key must be printable text, found {node.value[:40]!a}", node)
        else:
            return str(node.value)
        return None

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text = node.value
        if _has_half_a_pair(text):
            self.complain(_HALF_A_PAIR, node)
            return ""
        if node.style is not None:
            return text
        value = plain_scalar(text)
        if isinstance(value, int) and abs(value) >= INT_LIMIT:
            self.complain(_TOO_LARGE, node)
        return value

    def complain(self, message: str, node: yaml.Node) -> None:
        self.problems.append(UserError(message, self.path, *_start(node)))


def _start(node: yaml.Node) -> Position:
    return _point(node.start_mark)


def _point(mark: Any) -> Position:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _position_of(before: str) -> Position:
    lines = re.split(r"\r\n|[\n\r\x85\u2028\u2029]", before)
    return len(lines), len(lines[-1]) + 1
