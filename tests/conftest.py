"""What holds for every test."""

import functools
import gc
import hashlib
import importlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
import typer.main
import typer.testing

import mlrank.plots.canvas
from mlrank.processes import locked

TESTS = Path(__file__).parent
# Of a figure's pixels, as they are and as the tests draw them.
DOTS_PER_INCH, FEW = mlrank.plots.canvas._DPI, 60


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection(session):
    """Let every second worker load the tests from the last to the first, where all are run.

    Workers load all tests, whichever they run, and rewriting the assertions of a file takes most of that. The code
    is kept on disk: two workers that come from both ends rewrite half of the files each.

    What is loaded stays to the end, so that collecting garbage meanwhile, or going through it again later, finds none.
    """
    gc.disable()
    worker = getattr(session.config, "workerinput", {}).get("workerid", "gw0")
    whole = [TESTS.parent / argument for argument in session.config.args] == [TESTS]
    if whole and int(worker.removeprefix("gw")) % 2:
        for path in sorted(TESTS.rglob("test_*.py"), reverse=True):
            # What is wrong with a module is told where pytest loads it.
            with suppress(Exception, pytest.skip.Exception):
                if path.parent.name != "benchmarks":
                    importlib.import_module(".".join(("tests", *path.relative_to(TESTS).with_suffix("").parts)))
    yield
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def nothing_is_written_to_the_users_cache():
    """Keep parsed copies and downloads of a test run in a folder of its own."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session", autouse=True)
def a_loop_is_compiled_by_one_worker(tmp_path_factory):
    """Have a worker wait for machine code that another one is at, and load it from the cache: seconds for each loop."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    from numba.core.caching import FunctionCache
    from numba.core.dispatcher import Dispatcher

    compiled, held, folder = Dispatcher.compile, set(), tmp_path_factory.getbasetemp().parent

    def compile_alone(self, signature):
        name = hashlib.sha256(f"{self.py_func.__module__}.{self.py_func.__qualname__} {signature}".encode()).hexdigest()
        if name in held or not isinstance(self._cache, FunctionCache):
            return compiled(self, signature)
        held.add(name)
        try:
            with locked(folder / f"{name[:20]}.lock"):
                return compiled(self, signature)
        finally:
            held.remove(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_alone)
        yield


@pytest.fixture(scope="session", autouse=True)
def the_command_line_is_built_once():
    """Keep what typer builds of the application: anew for each call, it takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        built = functools.cache(typer.main.get_command)
        patch.setattr("typer.main.get_command", built)
        patch.setattr("typer.testing._get_command", built, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def figures_have_few_pixels():
    """Draw a fifth of the pixels to an inch: to fill and pack them takes longer than the figures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mlrank.plots.canvas, "_DPI", FEW)
        yield
