"""Data sets of OpenML by their number, `openml:40597`: fetched through scikit-learn when asked for.

The columns that OpenML declares as targets are the labels; columns of categories become a feature for each value.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlrank.datasets.cache import cache_folder
from mlrank.errors import UserError, os_errors

__all__ = ["OpenmlTable", "fetch_openml_table", "openml_number", "openml_table"]

_NAME = re.compile(r"openml:(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class OpenmlTable:
    """A table in the cache: its file, the label columns, and what OpenML calls it."""

    path: Path
    labels: tuple[str, ...]
    title: str


def openml_number(name: str) -> int | None:
    """Return the number in a name; None if it is none of OpenML's.

    >>> openml_number("openml:40597"), openml_number("yeast")
    (40597, None)
    """
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def openml_table(number: int) -> OpenmlTable:
    """Return a table that was fetched before; nothing is fetched.

    Raises
    ------
    UserError
        If it was not.
    """
    path, about = _paths(number)
    if not (path.is_file() and about.is_file()):
        raise UserError(f"'openml:{number}' is not here: 'mlrank datasets fetch openml:{number}' gets it from OpenML")
    try:
        found = json.loads(about.read_text("utf-8"))
        return OpenmlTable(path, tuple(map(str, found["labels"])), str(found["title"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError("is damaged; fetch the data set again", about) from error


def fetch_openml_table(number: int) -> OpenmlTable:
    """Fetch a table into the cache, through `sklearn.datasets.fetch_openml`.

    Raises
    ------
    UserError
        If it cannot be had, or declares no targets.
    """
    from sklearn.datasets import fetch_openml

    path, about = _paths(number)
    try:
        found: Any = fetch_openml(data_id=number, as_frame=True, data_home=str(path.parent / "scikit-learn"))
    except Exception as error:  # the network, the server and the parser raise what they like
        message = " ".join(str(error).split())[:200]
        raise UserError(f"'openml:{number}' cannot be fetched: {message}") from error
    labels = [str(name) for name in found.get("target_names") or ()]
    if not labels or found.get("frame") is None:
        raise UserError(f"'openml:{number}' declares no target columns, so it has no labels")
    details = found.get("details") or {}
    title = f"{details.get('name', 'a data set')}, version {details.get('version', '?')}"
    with os_errors("write the file", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        about.unlink(missing_ok=True)
        found["frame"].to_csv(path, index=False)
        # Written last: without it the table is not there.
        about.write_text(json.dumps({"labels": labels, "title": title}), "utf-8")
    return openml_table(number)


def _paths(number: int) -> tuple[Path, Path]:
    folder = cache_folder() / "openml"
    return folder / f"{number}.csv", folder / f"{number}.json"
