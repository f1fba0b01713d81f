"""What a shell completes, beside commands, options and files: names that are found without loading the libraries."""

import glob
import re
from pathlib import Path

from typer import Context

from mlrank.resources import shipped

__all__ = [
    "complete_benchmark",
    "complete_dataset",
    "complete_format",
    "complete_kind",
    "complete_metric",
    "complete_published",
    "complete_recipe",
    "complete_results_or_kind",
    "complete_topic",
    "figure_kinds",
    "format_keys",
    "metric_names",
    "recipe_names",
    "solver_keys",
]

# Keys are read from the sources: completion and help load nothing that computes.
PACKAGE = Path(__file__).parents[1]
SOLVER = r'"([a-z_]+)": "mlrank\.solvers\.'


def metric_names() -> list[str]:
    """Return the names of the metrics, in their order."""
    return _keys("metrics/definitions.py", r'^    "([a-z0-9_]+)": (?:Metric|_[a-z]+_at)\(')


def format_keys() -> list[str]:
    """Return the keys of the formats of data, in their order."""
    return _keys("datasets/formats/__init__.py", r'^    "([a-z0-9_]+)": [A-Z]+,$')


def solver_keys() -> list[str]:
    """Return the keys of the solvers, in their order."""
    return _keys("solvers/__init__.py", SOLVER, "PROJECTIONS:")


def figure_kinds() -> list[str]:
    """Return the kinds of figures, in their order."""
    return _keys("plots/collect.py", r'^    "([a-z]+)": "')


def complete_metric(incomplete: str) -> list[str]:
    """Return the metrics that begin so."""
    return _beginning(incomplete, metric_names())


def complete_format(incomplete: str) -> list[str]:
    """Return the formats that begin so."""
    return _beginning(incomplete, format_keys())


def complete_kind(incomplete: str) -> list[str]:
    """Return the kinds of figures that begin so, and "all"."""
    return _beginning(incomplete, [*figure_kinds(), "all"])


def complete_results_or_kind(ctx: Context, incomplete: str) -> list[str]:
    """Return the results folders that begin so and, after one, the kinds of figures."""
    folders = [str(path.parent) for path in Path().glob(f"{glob.escape(incomplete)}*/config.yaml")]
    folders += [str(path.parent) for path in Path().glob(f"{glob.escape(incomplete)}*/*/config.yaml")]
    # The last word before is taken for the kind while there is none yet.
    before = ctx.params.get("results") or ctx.params.get("kind")
    kinds = [*figure_kinds(), "all"] if before else []
    return sorted(folders) + _beginning(incomplete, kinds)


def complete_recipe(incomplete: str) -> list[str]:
    """Return the recipes that begin so, and "all"."""
    return _beginning(incomplete, [*recipe_names(), "all"])


def complete_dataset(incomplete: str) -> list[str]:
    """Return the data sets of the catalogue that begin so."""
    text = (shipped("datasets") / "catalogue.yaml").read_text(encoding="utf-8")
    return _beginning(incomplete, re.findall(r"^([a-z0-9][a-z0-9-]*):", text, re.MULTILINE))


def complete_published(incomplete: str) -> list[str]:
    """Return what published results begin so: "benchmark" with nothing, or a solver, behind it."""
    return _beginning(incomplete, ["benchmark", *(f"benchmark:{key}" for key in solver_keys())])


def complete_benchmark(incomplete: str) -> list[str]:
    """Return lists of the benchmark's data sets that begin so: the last name after a comma is completed."""
    text = (shipped("configs") / "benchmark.yaml").read_text(encoding="utf-8")
    names = ["small", *re.findall(r"^  - (?:\{name: )?([a-z0-9-]+)", text, re.MULTILINE)]
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, names)]


def complete_topic(incomplete: str) -> list[str]:
    """Return the recipes and solvers that begin so."""
    return _beginning(incomplete, [*recipe_names(), *_keys("solvers/__init__.py", SOLVER)])


def _keys(path: str, pattern: str, end: str = "\0") -> list[str]:
    """Return what a pattern finds in a source file, up to a text where that is there."""
    text = (PACKAGE / path).read_text(encoding="utf-8")
    return re.findall(pattern, text.partition(end)[0], re.MULTILINE)


def recipe_names() -> list[str]:
    """Return the names of the recipes."""
    return sorted(path.stem for path in (shipped("configs") / "reproduce").glob("*.yaml"))


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
