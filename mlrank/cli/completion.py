"""What a shell completes, beside commands, options and files: names that are found without loading the libraries."""

import re
from pathlib import Path

from mlrank.resources import shipped

__all__ = ["complete_dataset", "complete_recipe", "complete_topic"]


def complete_recipe(incomplete: str) -> list[str]:
    """Return the recipes that begin so, and "all"."""
    return _beginning(incomplete, [*_recipes(), "all"])


def complete_dataset(incomplete: str) -> list[str]:
    """Return the data sets of the catalogue that begin so."""
    text = (shipped("datasets") / "catalogue.yaml").read_text(encoding="utf-8")
    return _beginning(incomplete, re.findall(r"^([a-z0-9][a-z0-9-]*):", text, re.MULTILINE))


def complete_topic(incomplete: str) -> list[str]:
    """Return the recipes and solvers that begin so."""
    table = (Path(__file__).parents[1] / "solvers" / "__init__.py").read_text(encoding="utf-8")
    keys = re.findall(r'"([a-z_]+)": "mlrank\.solvers\.', table)
    return _beginning(incomplete, [*_recipes(), *keys])


def _recipes() -> list[str]:
    return [path.stem for path in (shipped("configs") / "reproduce").glob("*.yaml")]


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
