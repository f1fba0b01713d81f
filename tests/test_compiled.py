"""Machine code on disk is used again while no source has changed that it comes from, and not any longer."""

import ast
import gc
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core import event
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

import mlrank
from mlrank.compiled import COMPILING, _imports, njit, sources_stamp
from mlrank.search.clock import fit_clock

PACKAGE = Path(mlrank.__file__).parent
KERNEL = """
from copied.compiled import njit
from copied.helpers import (
    helped,  # from another module
)
from copied import numbers as values
import copied.scale as s

@njit(cache=True)
def kernel(x):
    return helped(x) * values.TEN * s.SCALE

def main():
    print(kernel(2.0), sum(kernel.stats.cache_hits.values()))
"""
HELPERS = """
from .compiled import njit
from .numbers import ONE

@njit(cache=True, no_cpython_wrapper=True)
def helped(x):
    return x + ONE
"""


@pytest.fixture
def copied(tmp_path):
    """A package with a copy of `mlrank.compiled`, whose kernel takes functions and numbers from other modules."""
    folder = tmp_path / "copied"
    folder.mkdir()
    sources = {
        "__init__": "",
        "kernels": KERNEL,
        "helpers": HELPERS,
        "numbers": "ONE, TEN = 1, 10",
        "scale": "SCALE = 1",
    }
    sources["compiled"] = (PACKAGE / "compiled.py").read_text("utf-8")
    sources["other"] = "NOTHING = 0"
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


def run_alone(folder: Path) -> tuple[float, int]:
    """Call the kernel in a new process; return its value and how many of its calls found machine code on disk."""
    environment = {**os.environ, "PYTHONPATH": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", "from copied.kernels import main; main()"]
    output = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, cwd=folder.parent
    ).stdout
    value, hits = output.split()
    return float(value), int(hits)


def run(folder: Path) -> tuple[float, int]:
    """Return the same of modules that are loaded anew, which takes a tenth of the time of a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder.parent)
        patch.setattr(sys, "dont_write_bytecode", True)
        try:
            kernel = importlib.import_module("copied.kernels").kernel
            return kernel(2.0), sum(kernel.stats.cache_hits.values())
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == "copied"]:
                del sys.modules[name]


def edit(folder: Path, module: str, old: str, new: str) -> None:
    path = folder / f"{module}.py"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_edited_helper_is_compiled_anew(copied):
    assert run_alone(copied) == (30.0, 0)
    assert run_alone(copied) == (30.0, 1)
    edit(copied, "helpers", "x + ONE", "x - ONE")
    assert run(copied) == (10.0, 0)
    assert run(copied) == (10.0, 1)


def test_edited_helper_without_a_cache(copied):
    edit(copied, "helpers", "x + ONE", "x - ONE")
    assert run(copied) == (10.0, 0)


def test_edited_constants_are_compiled_anew(copied):
    assert run(copied) == (30.0, 0)
    edit(copied, "numbers", "ONE, TEN = 1, 10", "ONE, TEN = 2, 10")  # reaches the kernel through its helper
    assert run(copied) == (40.0, 0)
    edit(copied, "numbers", "TEN = 2, 10", "TEN = 2, 20")
    assert run(copied) == (80.0, 0)
    edit(copied, "scale", "1", "3")
    assert run(copied) == (240.0, 0)


def test_edits_elsewhere_leave_machine_code(copied):
    run(copied)
    edit(copied, "other", "0", "1")
    assert run(copied) == (30.0, 1)


@pytest.fixture(scope="module")
def kernels() -> dict[str, list[CPUDispatcher]]:
    """The compiled functions of each module of the package that defines some."""
    paths = [path.relative_to(PACKAGE.parent) for path in PACKAGE.rglob("*.py") if "@njit" in path.read_text("utf-8")]
    modules = [importlib.import_module(".".join(path.with_suffix("").parts)) for path in sorted(paths)]
    defined = {
        module.__name__: [
            value
            for value in vars(module).values()
            if isinstance(value, CPUDispatcher) and value.py_func.__module__ == module.__name__
        ]
        for module in modules
    }
    return {name: functions for name, functions in defined.items() if functions}


def test_every_kernel_follows_its_sources(kernels):
    assert len(kernels) >= 10
    for name, functions in kernels.items():
        for function in functions:
            assert function._cache._cache_file._source_stamp == sources_stamp(name), function


def test_imports_are_those_of_a_parser(kernels):
    for name in kernels:
        module = sys.modules[name]
        source = Path(module.__file__).read_text("utf-8")
        expected = set()
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import):
                expected |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                expected |= {other if other in sys.modules else node.module for other in full}
        assert set(_imports(source, module.__package__)) == expected, name


def test_numba_decorates_nowhere_else():
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "numba" in source else ():
            if isinstance(node, ast.ImportFrom) and node.module == "numba" and path.name != "compiled.py":
                names = {alias.name for alias in node.names}
                assert not names & {"njit", "jit", "vectorize", "guvectorize"}, f"{path}: mlrank.compiled has njit"


def test_the_clock_of_fits_stands_still_while_code_is_compiled(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    before = fit_clock()

    def passes(seconds):
        now[0] += seconds

    passes(1.0)
    with event.trigger_event("numba:compile", {}):
        passes(5.0)
        with event.trigger_event("numba:compile", {}):  # one that the first calls
            passes(3.0)
        passes(0.5)
    passes(0.25)
    assert fit_clock() - before == 1.25


def test_what_numba_compiles_is_counted():
    before, wall = COMPILING.seconds, time.perf_counter()
    njit()(lambda x: x + 1)(1)
    assert 0.0 < COMPILING.seconds - before <= time.perf_counter() - wall


def test_no_garbage_is_collected_while_numba_compiles():
    class Look(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    seen = []
    with event.install_listener("numba:compile", Look()):
        njit()(lambda x: x + 2)(1)
        assert gc.isenabled()
        with pytest.raises(TypingError):
            njit()(lambda x: x.nothing)(1)
    assert gc.isenabled()
    assert seen == [False, False]
