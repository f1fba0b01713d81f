"""What the docstrings of a class and its module say, taken apart: summary, text, settings."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any

__all__ = ["Documented", "Setting", "documented", "reflow"]

_HEADING = re.compile(r"^(\w+)\n-{3,}\n", flags=re.M)


@dataclass(frozen=True)
class Setting:
    """One setting of a solver, threshold or projection.

    Parameters
    ----------
    name, kind : str
        And what values it takes.
    default : str
        "required" if it has none.
    text : str
    """

    name: str
    kind: str
    default: str
    text: str


@dataclass(frozen=True)
class Documented:
    """A class with settings.

    Parameters
    ----------
    summary, text : str
        The first line of its docstring, and what follows before the settings.
    source : str
        The docstring of its module: problem, certificate, cost.
    settings : tuple of Setting
    references : str
        The papers that it comes from; empty where none are named.
    """

    summary: str
    text: str
    source: str
    settings: tuple[Setting, ...]
    references: str = ""


def documented(found: type[Any]) -> Documented:
    """Return what is written about a frozen dataclass of settings."""
    doc = inspect.getdoc(found) or ""
    before, *sections = _sections(doc)
    summary, _, text = before.strip().partition("\n")
    named = dict(sections)
    described = dict(_described(named.get("Parameters", "")))
    settings = []
    for setting in fields(found):
        kind, words = described.get(setting.name, ("", ""))
        has_default = setting.default is not MISSING
        settings.append(Setting(setting.name, kind, repr(setting.default) if has_default else "required", words))
    source = inspect.cleandoc(sys.modules[found.__module__].__doc__ or "")
    references = " ".join(named.get("References", "").split())
    return Documented(summary.strip(), reflow(text), reflow(source), tuple(settings), references)


def reflow(text: str) -> str:
    """Return a text with one line for each paragraph; what is indented, such as formulas, stays as it is.

    >>> reflow("a\\nb::\\n\\n    x = 1\\n    y = 2\\n\\nc")
    'a b:\\n\\n    x = 1\\n    y = 2\\n\\nc'
    """
    parts = re.split(r"\n\s*\n", text.strip("\n"))
    kept = (part if part.startswith(" ") else re.sub("::$", ":", " ".join(part.split())) for part in parts)
    return "\n\n".join(kept)


def _sections(doc: str) -> list[Any]:
    """Return the text before the first heading, then (heading, text) of each section."""
    parts = _HEADING.split(doc)
    return [parts[0], *zip(parts[1::2], parts[2::2], strict=True)]


def _described(section: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield of each setting its kind and text; settings may share them, "a, b : int, float" or "a : int, b : float"."""
    for entry in re.split(r"\n(?=\S)", section.strip()):
        head, _, text = entry.partition("\n")
        for part in _apart(head):
            names, _, kind = part.partition(" : ")
            listed = [name.strip() for name in names.split(",")]
            kinds = kind.split(", ") if not kind.startswith("{") else [kind]
            for place, name in enumerate(listed):
                own = kinds[place] if len(kinds) == len(listed) else kind
                yield name, (own.strip(), " ".join(text.split()))


def _apart(head: str) -> list[str]:
    """Return the parts of "a : int, b : float", each with its kind."""
    for comma in re.finditer(r", (?=\w+ : )", head):
        if " : " in head[: comma.start()]:
            return [head[: comma.start()], *_apart(head[comma.end() :])]
    return [head]
