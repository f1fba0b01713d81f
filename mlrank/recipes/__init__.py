"""Recipes for the tables of papers: which data, which experiment, what the paper reports and claims."""

from mlrank.recipes.claims import ClaimResult
from mlrank.recipes.compare import ComparedCell, Comparison, compare
from mlrank.recipes.data import banner, better_options, choose_data, experiment_mapping
from mlrank.recipes.figures import figure_experiments, paper_figure
from mlrank.recipes.layout import paper_grids, recipe_grids
from mlrank.recipes.recipe import GRADES, Claim, DataOption, Recipe, TimesTable, load_recipe, recipes
from mlrank.recipes.recipe_parts import is_called
from mlrank.recipes.recovery import READING_RULES
from mlrank.recipes.regions import plane_figure
from mlrank.recipes.related import related_grid, related_mapping, related_of
from mlrank.recipes.render import comparison_grid, comparison_to_rich, render_comparison
from mlrank.recipes.summary import TableOutcome, render_summary
from mlrank.recipes.times import compare_times, times_mapping, times_of
from mlrank.recipes.verdicts import CELL_VERDICTS, CLAIM_VERDICTS, judge_cell

__all__ = [
    "CELL_VERDICTS",
    "CLAIM_VERDICTS",
    "GRADES",
    "READING_RULES",
    "Claim",
    "ClaimResult",
    "ComparedCell",
    "Comparison",
    "DataOption",
    "Recipe",
    "TableOutcome",
    "TimesTable",
    "banner",
    "better_options",
    "choose_data",
    "compare",
    "compare_times",
    "comparison_grid",
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
    "related_grid",
    "related_mapping",
    "related_of",
    "render_comparison",
    "render_summary",
    "times_mapping",
    "times_of",
]
