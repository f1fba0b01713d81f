"""Figures of the plane from the runs of a recipe whose test rows make up a grid."""

from collections.abc import Mapping

import numpy as np

from mlrank.arrays import FloatArray, IntArray, as_dense
from mlrank.datasets import Dataset
from mlrank.errors import UserError
from mlrank.plots import RegionFigure, RegionPanel
from mlrank.recipes.recipe import Recipe
from mlrank.recipes.recipe_parts import GRADES, DataOption, grade_on

__all__ = ["plane_figure"]


def plane_figure(
    recipe: Recipe, name: str, option: DataOption, dataset: Dataset, scores: Mapping[str, tuple[IntArray, FloatArray]]
) -> RegionFigure:
    """Return a figure of which label each method scores best, point by point; the first one where several do.

    Parameters
    ----------
    name : key of the recipe's regions
    scores : per method, its test rows and their scores (n_test, n_labels)

    Raises
    ------
    UserError
        If the data are not of the plane, a training row has not just one label, or test rows are not a grid.
    """
    regions = recipe.regions[name]
    if dataset.n_features != 2 or dataset.official is None:
        raise UserError(f"regions are drawn of two features and an official split, found {dataset.n_features} features")
    train, test = dataset.official
    X, Y = as_dense(dataset.X), dataset.Y
    if (Y[train].sum(axis=1) != 1).any():
        raise UserError("regions are drawn of training rows with one label each")
    x, y = np.unique(X[test, 0]), np.unique(X[test, 1])
    grid = np.column_stack([np.tile(x, y.size), np.repeat(y, x.size)])
    if not np.array_equal(X[test], grid):
        raise UserError("regions are drawn of test rows that make up a grid, row by row from the lower left")
    panels = []
    for title, method in regions.panels.items():
        winners = None
        if method is not None and method in scores:
            rows, found = scores[method]
            best = np.full(dataset.n_samples, -1)
            best[rows] = found.argmax(axis=1)
            winners = best[test].reshape(y.size, x.size)
        panels.append(RegionPanel(title if method in (None, *scores) else f"{title}: no run", winners))
    grade = grade_on(option, dataset.stand_in)
    notes = (f"{dataset.name} ({GRADES[grade]}): {option.note}",)
    points, classes = X[train], Y[train].argmax(axis=1)
    return RegionFigure(regions.title, tuple(panels), points, classes, dataset.label_names, x, y, notes)
