"""The files behind a class of the user's own: an edit of one of them changes what its fits give.

Files are found and parsed, never run. Only imports that are written as such are followed, and only to files beside the
class: other packages are known by their versions.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mlrank.errors import UserError

__all__ = ["source_hashes"]

INSTALLED = {"site-packages", "dist-packages"}
# Packages of estimators whose version says what their code is: what is imported, and what is installed.
LIBRARIES = {
    "sklearn": "scikit-learn",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "skmultilearn": "scikit-multilearn",
    "mlrl": "mlrl-boomer",
}


def source_hashes(place: str) -> dict[str, str]:
    """Return hashes of the module of a class and of what it imports from the same folder, directly or not.

    Parameters
    ----------
    place : "package.module:ClassName"

    Returns
    -------
    dict
        From paths below the folder in which the module, or the package that it is in, lies. It is empty for a module
        without a file, as one that is typed into a notebook; of one of LIBRARIES it is the package's version.

    Raises
    ------
    UserError
        If a file has changed since this process imported it: what would run is not what it says.
    """
    module = place.partition(":")[0]
    package = LIBRARIES.get(module.partition(".")[0])
    if package is not None:
        with suppress(PackageNotFoundError):
            return {package: version(package)}
    hashes = _hashes(module)
    if module in sys.modules:
        for name, first in _first_hashes(module).items():
            if hashes.get(name, first) != first:
                raise UserError(f"'{place}': {name} changed after it was imported; start Python anew to have it used")
    return hashes


@cache
def _first_hashes(module: str) -> dict[str, str]:
    return _hashes(module)


def _hashes(module: str) -> dict[str, str]:
    file = _file_of(module)
    if file is None:
        return {}
    parts = module.split(".")
    # An __init__ is the module of its own folder.
    root = file.parents[len(parts) - (file.name != "__init__.py")]
    # A package's own files count; of a module that is in none, those beside it.
    in_package = file.parent != root
    installed = bool(INSTALLED.intersection(root.parts))
    hashes: dict[str, str] = {}
    waiting = [*_packages(root, parts), file]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(root).as_posix()
        if name in hashes:
            continue
        content = path.read_bytes()
        hashes[name] = hashlib.blake2b(content, digest_size=12).hexdigest()
        waiting += (
            other
            for imported in _imports(content, path.relative_to(root).parent.parts)
            if (imported[0] == parts[0] if in_package else imported[0] != "mlrank" and not installed)
            for other in _files(root, imported)
        )
    return dict(sorted(hashes.items()))


def _file_of(module: str) -> Path | None:
    """Return the file of a module without importing it or the packages around it."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        return Path(loaded).resolve()
    where: list[str] | None = None
    spec = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), where)
        if spec is None:
            return None
        where = list(spec.submodule_search_locations or ())
    return Path(spec.origin).resolve() if spec is not None and spec.origin and spec.has_location else None


def _packages(root: Path, parts: list[str]) -> Iterator[Path]:
    """Yield the __init__ files that are run before a module."""
    for end in range(1, len(parts)):
        path = root.joinpath(*parts[:end], "__init__.py")
        if path.is_file():
            yield path


def _imports(content: bytes, folder: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the dotted names that a file in a folder imports; each may end in the name of an attribute."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # its hash is all that counts
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*base, alias.name) for alias in node.names)


def _files(root: Path, name: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files below `root` that importing a dotted name runs."""
    for end in range(1, len(name) + 1):
        place = root.joinpath(*name[:end])
        for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if path.is_file():
                yield path
                break
