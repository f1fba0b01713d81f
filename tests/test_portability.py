"""What an installation has: the modules of any system, and the packages that are declared."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.experiment.small import CONFIG, small_config
from tests.test_layers import modules, sources, trees

ROOT = Path(__file__).parents[1]
# The extras of users; the others are tools of development.
OPTIONAL = ("parquet", "distributed")
# What Python lacks on Windows.
POSIX_ONLY = ("crypt", "fcntl", "grp", "posix", "pty", "pwd", "resource", "spwd", "syslog", "termios", "tty")
ABSENT = tuple(name for name in POSIX_ONLY if name != "posix")  # os itself is made of it here
# First come the libraries that have a part for each system: here they take the one of this system.
AS_ON_WINDOWS = f"""
import os, signal, sys
import filelock, platformdirs
for name in {ABSENT!r}:
    sys.modules[name] = None
for name in ("SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "setitimer", "alarm", "pthread_kill"):
    delattr(signal, name)
for name in ("sched_getaffinity", "getuid", "geteuid", "getloadavg", "fork", "killpg", "setsid"):
    delattr(os, name)
"""
IMPORT_ALL = (
    AS_ON_WINDOWS
    + """
import importlib, pkgutil
import mlrank
for found in pkgutil.walk_packages(mlrank.__path__, "mlrank."):
    if found.name != "mlrank.__main__":
        importlib.import_module(found.name)
print(len([name for name in sys.modules if name.startswith("mlrank.")]))
"""
)
TRAIN = (
    AS_ON_WINDOWS
    + """
from mlrank.cli import main
main()
"""
)


def test_every_module_can_be_imported_where_there_is_nothing_of_posix():
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= len(sources()) - 2  # but for the package itself and its __main__


def test_an_experiment_with_a_time_limit_runs_where_there_is_nothing_of_posix(tmp_path):
    small_config(tmp_path)
    text = CONFIG.replace("search: {{folds: 3,", "search: {{time_limit: 60, folds: 3,")
    files = {"train": "part-train.svm", "test": "part-test.svm"}
    (tmp_path / "c.yaml").write_text(text.format(**files, split="{kind: official}", scale="none"))
    command = [sys.executable, "-c", TRAIN, "train", "c.yaml", "--jobs", "1", "--quiet"]
    # Without an affinity the number of cores is asked for, on Linux alone, with a warning.
    environment = os.environ | {"LOKY_MAX_CPU_COUNT": "2"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = (tmp_path / "results/small/trials.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["error"] for line in lines} == {None}


def third_party(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level packages that a file imports, wherever in it, but for Python's own and mlrank."""
    for _, name in modules(tree, ("mlrank",)):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top != "mlrank":
            yield top


def normal(requirement: str) -> str:
    """Return the name of the distribution that a requirement is of, as names are compared."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()


def distributions_of(package: str, owners: dict[str, list[str]]) -> set[str]:
    return {normal(owner) for owner in owners.get(package, [package])}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    always = {normal(requirement) for requirement in project["dependencies"]}
    optional = {normal(requirement) for name in OPTIONAL for requirement in extras[name]}
    owners = packages_distributions()
    imported = {package: path.name for path, tree in trees().items() for package in third_party(tree)}
    undeclared = {
        f"{package} ({place})"
        for package, place in imported.items()
        if not distributions_of(package, owners) & (always | optional)
    }
    assert undeclared == set()
    used = set().union(*(distributions_of(package, owners) for package in imported))
    assert always - used == set()
    assert (always & optional, optional - used) == (set(), {"dask"})


def test_no_module_imports_what_is_posix_alone_not_even_late():
    for path, tree in trees().items():
        imported = {name.partition(".")[0] for _, name in modules(tree, ("mlrank",))}
        assert imported & set(POSIX_ONLY) == set(), path


def test_make_help_lists_every_target():
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE).group(1).split()
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == phony
