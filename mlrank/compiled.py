"""The `njit` of this package: numba's, with a cache that follows imports.

numba keeps machine code beside a source file and compiles again when that file changes. It does not notice a change in
another file, from which a kernel takes a helper that is compiled into it or a constant, and goes on with the old
machine code. Here the cached code of a kernel is valid for the sources of its module and of all modules of the
package that this one imports, itself or through others.
"""

import functools
import gc
import hashlib
import importlib.util
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache

__all__ = ["COMPILING", "INNER", "njit", "sources_stamp"]

# Options of functions that compiled code alone calls: without an entry for Python they compile a sixth faster.
INNER: Any = {"cache": True, "no_cpython_wrapper": True}


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function for compilation by `numba.njit`.

    Parameters
    ----------
    cache : bool, default=False
        Whether to keep the machine code on disk, for as long as no source changes that it may depend on.
    **options
        Further options of `numba.njit`.
    """

    # An entry for C, which nothing here calls, would be compiled with every function.
    options["no_cfunc_wrapper"] = True

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache and hasattr(dispatcher, "_cache"):  # with NUMBA_DISABLE_JIT the function itself comes back
            dispatcher._cache = _SourcesCache(function)
        return dispatcher

    return compiled


def sources_stamp(module: str) -> str:
    """Return a digest of the sources of a module and of all of its package that it imports, also through others.

    Imports inside functions and blocks do not count: they give no name to compiled code.
    """
    digests: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in digests:
            digests[name], imported = _read(name)
            waiting += imported
    return hashlib.sha256(repr(sorted(digests.items())).encode()).hexdigest()


class _SourcesCache(FunctionCache):
    """numba's cache of one function, valid for a stamp of several files in place of one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = sources_stamp(function.__module__)


class _CompilingClock(event.Listener):
    """Adds up the seconds in which numba compiles; what is compiled for another function counts as that one's.

    Meanwhile no garbage is collected: of the many objects that a compilation makes, most live until its end.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begun: list[float] = []
        self.collects = False

    def on_start(self, event: event.Event) -> None:
        """Note when a function is begun."""
        if not self.begun:
            self.collects = gc.isenabled()
            gc.disable()
        self.begun.append(time.perf_counter())

    def on_end(self, event: event.Event) -> None:
        """Count a function that no other one waits for."""
        begun = self.begun.pop()
        if not self.begun:
            self.seconds += time.perf_counter() - begun
            if self.collects:
                gc.enable()


COMPILING = _CompilingClock()
event.register("numba:compile", COMPILING)  # type: ignore[no-untyped-call]


@functools.cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """Return the digest of a module's source, and the modules of its package that it imports at its top level."""
    spec = sys.modules[module].__spec__
    loader: Any = spec.loader if spec else None
    source = (loader.get_source(module) if loader else None) or ""
    root = module.partition(".")[0]
    imported = {name for name in _imports(source, sys.modules[module].__package__) if name.partition(".")[0] == root}
    return hashlib.sha256(source.encode()).hexdigest(), tuple(sorted(imported))


# Twenty times as fast as a parser: the files of kernels are read whenever they are loaded.
_IMPORT = re.compile(r"^(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+([^\n#]*))", re.MULTILINE)


def _imports(source: str, package: str | None) -> Iterator[str]:
    """Yield the names of the loaded modules that statements at the left margin import."""
    for base, names, plain in _IMPORT.findall(source):
        if plain:
            yield from (name for name in re.findall(r"[\w.]+", plain) if name in sys.modules)
            continue
        base = importlib.util.resolve_name(base, package)
        for name in re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", names)):
            yield f"{base}.{name}" if f"{base}.{name}" in sys.modules else base
