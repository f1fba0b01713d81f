"""Recipes for the tables of papers: which data, which experiment, what the paper reports and claims."""

from mlrank.reproduce.compare import ClaimResult, ComparedCell, Comparison, compare
from mlrank.reproduce.data import banner, better_options, choose_data, experiment_mapping
from mlrank.reproduce.recipe import GRADES, Claim, DataOption, Recipe, load_recipe, recipes
from mlrank.reproduce.render import comparison_to_rich, render_comparison

__all__ = [
    "GRADES",
    "Claim",
    "ClaimResult",
    "ComparedCell",
    "Comparison",
    "DataOption",
    "Recipe",
    "banner",
    "better_options",
    "choose_data",
    "compare",
    "comparison_to_rich",
    "experiment_mapping",
    "load_recipe",
    "recipes",
    "render_comparison",
]
