"""The architecture as a test: imports point down only, only cli/ prints, modules stay short."""

import ast
import functools
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mlrank"

# From the bottom up. A module or package may import from rows below its own, and a package from itself.
# A new module fails these tests until it is given a row here.
ROWS = (
    ("compiled", "errors", "hardware", "imported", "scalars"),
    ("arrays", "processes", "resources", "room", "stored", "yamlfile"),
    ("labels",),
    ("kernels", "graphs", "hypergraph", "linalg", "stratification"),
    ("calibration", "splits", "scaling", "solvers", "thresholds", "metrics"),
    ("records",),
    ("datasets",),
    ("models",),
    ("config", "contract", "search"),
    ("stats",),
    ("tables", "plots"),
    ("report",),
    ("experiment", "prediction", "sklearn"),
    ("benchmark", "certify", "recipes"),
    ("explain",),
    ("api",),
    ("cli",),
    ("__main__",),
)
ROW = {name: i for i, row in enumerate(ROWS) for name in row}
MAX_LINES = 500
# Objects of rich that write to the terminal; its tables and texts are values and may be built anywhere.
WRITERS = {"Console", "Progress", "Live", "Status", "print", "print_json", "inspect", "get_console"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def sources() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "share" not in path.parts)


def layer_of(path: Path) -> str | None:
    """Return the layer a file belongs to; None for the package's own __init__, which must import nothing."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return None if parts == ("__init__",) else parts[0]


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Return all parts of a module; several tests go through them."""
    return tuple(ast.walk(tree))


def modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of all that is imported, anywhere in the file, relative or by import_module."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base == "mlrank":
                yield from ((node.lineno, f"mlrank.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, base
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            if called in ("import_module", "__import__"):
                yield node.lineno, str(node.args[0].value)


def wrong_imports(tree: ast.AST, layer: str | None, package: tuple[str, ...]) -> list[str]:
    found = []
    for line, name in modules(tree, package):
        parts = name.split(".")
        if parts[0] != "mlrank" or name == "mlrank.__version__":
            continue
        target = parts[1] if len(parts) > 1 else "mlrank"
        if target not in ROW:
            found.append(f"{line}: {layer} imports {name}, which has no row")
        elif layer is None or (target != layer and ROW[target] >= ROW[layer]):
            found.append(f"{line}: {layer} imports {target}, which is not below it")
    return found


def exported(folder: str) -> set[str]:
    """Return what the package of a family of solvers exports, or `models`, which serves all of them."""
    tree = ast.parse((PACKAGE / "solvers" / folder / "__init__.py").read_text("utf-8"))
    values = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return {str(name) for value in values for name in ast.literal_eval(value)}


FAMILIES = {path.parent.name: exported(path.parent.name) for path in (PACKAGE / "solvers").glob("*/__init__.py")}


def wrong_privates(tree: ast.AST, package: tuple[str, ...]) -> list[str]:
    """Return imports of modules that are private to another package: those with an underscore, parts of solvers."""
    found = []
    imported = [name for _, name in modules(tree, package)]
    imported += [
        f"{node.module}.{alias.name}"
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom) and f"{node.module}".startswith("mlrank")
        for alias in node.names
    ]
    for name in imported:
        parts = tuple(name.split("."))
        hidden = [i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
        if parts[0] == "mlrank" and any(package[:i] != parts[:i] for i in hidden):
            found.append(f"{name} is private to {'.'.join(parts[: hidden[0]])}")
    for node in nodes(tree):
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            continue
        parts = tuple(node.module.split("."))
        if parts[:2] != ("mlrank", "solvers") or len(parts) < 3 or parts[2] not in FAMILIES or package[:3] == parts[:3]:
            continue
        names = {alias.name for alias in node.names}
        if len(parts) > 3 or not names <= FAMILIES[parts[2]]:
            found.append(f"{node.lineno}: {node.module} is a part of the solver {parts[2]}")
    return found


def prints(tree: ast.AST) -> list[str]:
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Name) and node.id in ("print", "pprint"):
            found.append(f"{node.lineno}: {node.id}")
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "sys" and node.attr in STREAMS:
            found.append(f"{node.lineno}: sys.{node.attr}")
        if isinstance(node, ast.ImportFrom) and node.module:
            banned = {"sys": STREAMS, "rich": WRITERS}.get(node.module.split(".")[0], set())
            found += [f"{node.lineno}: {alias.name}" for alias in node.names if alias.name in banned]
        if isinstance(node, ast.Import):
            found += [f"{node.lineno}: {a.name}" for a in node.names if a.name.split(".")[0] == "rich"]
    found += [f"{line}: {name}" for line, name in modules(tree, ()) if name.split(".")[0] in ("typer", "click")]
    return found


def package_of(path: Path) -> tuple[str, ...]:
    return ("mlrank", *path.relative_to(PACKAGE).parent.parts)


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Return every module of the package, parsed once."""
    gc.disable()  # to look through what stays takes twice as long as to parse
    try:
        return {path: ast.parse(path.read_text("utf-8")) for path in sources()}
    finally:
        gc.freeze()
        gc.enable()


def offenders(found: dict[Path, list[str]]) -> list[str]:
    """Return what was found in any module, with its file in front."""
    assert len(found) > 100
    return [f"{path.relative_to(PACKAGE)}:{line}" for path, lines in found.items() for line in lines]


def test_every_module_has_a_row():
    unknown = {layer for layer in map(layer_of, sources()) if layer is not None and layer not in ROW}
    assert unknown == set(), "give what is new a row in tests/test_layers.py"


def test_imports_point_down():
    assert (
        offenders({path: wrong_imports(tree, layer_of(path), package_of(path)) for path, tree in trees().items()}) == []
    )


def test_private_modules_stay_in_their_package():
    assert offenders({path: wrong_privates(tree, package_of(path)) for path, tree in trees().items()}) == []


def test_only_cli_prints():
    assert offenders({path: [] if layer_of(path) == "cli" else prints(tree) for path, tree in trees().items()}) == []


def test_modules_are_short():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in sources()}
    assert offenders({path: [f" {n} lines"] * (n > MAX_LINES) for path, n in lengths.items()}) == []


# Parts of scipy that take a process that does not need them a tenth of its start to half of it.
LATE = ("scipy.optimize", "scipy.spatial", "scipy.special", "scipy.stats")
# Modules of a solver that needs the part in every fit.
NEEDED = {"solvers/matrix_completion/problem.py", "solvers/matrix_completion/splitting.py"}


def early_imports(tree: ast.Module) -> list[str]:
    """Return the imports of large parts of scipy that are made as the module is loaded."""
    return [
        f"{line}: {name} is imported before it is used"
        for node in tree.body
        for line, name in modules(node, ())
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and name.startswith(LATE)
    ]


def test_large_parts_of_scipy_are_imported_where_they_are_used():
    assert offenders({path: early_imports(tree) for path, tree in trees().items() if late(path)}) == []


def late(path: Path) -> bool:
    return path.relative_to(PACKAGE).as_posix() not in NEEDED


def test_a_planted_early_import_is_found():
    assert early_imports(ast.parse("import numpy\nfrom scipy.stats import norm"))
    assert not early_imports(ast.parse("def f():\n    from scipy.stats import norm"))


def test_every_name_has_one_row():
    assert len(ROW) == sum(len(row) for row in ROWS)


@pytest.mark.parametrize(
    ("layer", "code", "wrong"),
    [
        ("splits", "from mlrank.errors import UserError", False),
        ("splits", "import mlrank.arrays as arrays", False),
        ("splits", "from mlrank import errors", False),
        ("splits", "from mlrank import __version__", False),
        ("solvers", "from mlrank.solvers.base import TrainingSet", False),
        ("solvers", "from .base import TrainingSet", False),
        ("solvers", "from ..arrays import as_dense", False),
        ("solvers", "import numpy", False),
        ("splits", "from mlrank.scaling import SCALERS", True),
        ("splits", "from mlrank import datasets", True),
        ("splits", "from mlrank import load_dataset", True),
        ("splits", "import mlrank", True),
        ("solvers", "from ..datasets import Dataset", True),
        ("solvers", "from .. import datasets", True),
        ("metrics", "def f():\n    from mlrank.config import load_config", True),
        ("metrics", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import mlrank.config", True),
        ("metrics", "from importlib import import_module\nimport_module('mlrank.cli')", True),
        ("records", "from mlrank.config.grid import MethodConfig", True),
        ("records", "import mlrank.novelty", True),
        (None, "import mlrank.errors", True),
    ],
)
def test_planted_imports(layer, code, wrong):
    found = wrong_imports(ast.parse(code), layer, ("mlrank", str(layer)))
    assert len(found) == wrong, found


@pytest.mark.parametrize(
    ("package", "code", "wrong"),
    [
        ("mlrank.solvers.slrm", "from mlrank.solvers.slrm.admm import Loss", False),
        ("mlrank.solvers.slrm", "from mlrank.solvers.rank_svm import RankSVM", False),
        ("mlrank.solvers.slrm", "from mlrank.solvers.models.kernel import KernelModel", True),
        ("mlrank.solvers.slrm", "from mlrank.solvers.models import KernelModel", False),
        ("mlrank.solvers", "from mlrank.solvers.ridge import RidgeSpace", False),
        ("mlrank.cli", "from mlrank.solvers.slrm import related_labels", False),
        ("mlrank.cli", "from mlrank.solvers.slrm import admm", True),
        ("mlrank.cli", "from mlrank.solvers.slrm.slrm import related_labels", True),
        ("mlrank.solvers.mlr", "def f():\n    from mlrank.solvers.rank_svm.rows import FlatRows", True),
        ("mlrank.graphs", "from mlrank.graphs._neighbor_kernels import nearest", False),
        ("mlrank.solvers", "from mlrank.graphs._neighbor_kernels import nearest", True),
        ("mlrank.solvers", "import mlrank.graphs._neighbor_kernels", True),
        ("mlrank.solvers", "from mlrank.graphs import _neighbor_kernels", True),
        ("mlrank.graphs", "import numpy._core", False),
    ],
)
def test_planted_private_imports(package, code, wrong):
    assert bool(wrong_privates(ast.parse(code), tuple(package.split(".")))) == wrong


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("x = 'print'", False),
        ("def f():\n    print(1)", True),
        ("show = print", True),
        ("import subprocess\nsubprocess.run([]).stdout", False),
        ("from rich.console import Group", False),
        ("import sys\nsys.stderr.write('x')", True),
        ("from sys import stdout", True),
        ("import rich.progress", True),
        ("def f():\n    from rich.console import Console", True),
        ("import typer", True),
    ],
)
def test_planted_prints(code, wrong):
    assert bool(prints(ast.parse(code))) == wrong
