"""Recipes for the tables of papers: which data, which experiment, what the paper reports and claims."""

from mlrank.reproduce.claims import ClaimResult
from mlrank.reproduce.compare import ComparedCell, Comparison, compare
from mlrank.reproduce.data import banner, better_options, choose_data, experiment_mapping
from mlrank.reproduce.figures import figure_experiments, paper_figure
from mlrank.reproduce.layout import paper_grids, recipe_grids
from mlrank.reproduce.parts import is_called
from mlrank.reproduce.recipe import GRADES, Claim, DataOption, Recipe, TimesTable, load_recipe, recipes
from mlrank.reproduce.regions import plane_figure
from mlrank.reproduce.related import related_mapping, related_markdown, related_of
from mlrank.reproduce.render import comparison_to_rich, render_comparison
from mlrank.reproduce.summary import Outcome, render_summary
from mlrank.reproduce.times import compare_times, times_mapping, times_of
from mlrank.reproduce.verdicts import CELL_VERDICTS, CLAIM_VERDICTS, judge_cell

__all__ = [
    "CELL_VERDICTS",
    "CLAIM_VERDICTS",
    "GRADES",
    "Claim",
    "ClaimResult",
    "ComparedCell",
    "Comparison",
    "DataOption",
    "Outcome",
    "Recipe",
    "TimesTable",
    "banner",
    "better_options",
    "choose_data",
    "compare",
    "compare_times",
    "comparison_to_rich",
    "experiment_mapping",
    "figure_experiments",
    "is_called",
    "judge_cell",
    "load_recipe",
    "paper_figure",
    "paper_grids",
    "plane_figure",
    "recipe_grids",
    "recipes",
    "related_mapping",
    "related_markdown",
    "related_of",
    "render_comparison",
    "render_summary",
    "times_mapping",
    "times_of",
]
