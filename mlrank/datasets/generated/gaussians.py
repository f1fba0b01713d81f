"""Gaussian classes in the plane, to be plotted: points to train on, and a grid of the plane to test on."""

from collections.abc import Sequence

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.datasets.dataset import Dataset

__all__ = ["gaussian_classes"]


def gaussian_classes(
    name: str,
    *,
    centres: Sequence[Sequence[float]],
    spreads: Sequence[float],
    sizes: Sequence[int],
    extent: float,
    steps: int,
    stands_for: str = "",
    seed: int,
) -> Dataset:
    """Generate round classes in the plane; equal arguments give equal bytes.

    The training part holds the drawn points, each of one class. The test part is the grid of `steps` x `steps` points
    over the square of half width `extent`, row by row from its lower left; its true class is the one of greatest
    density there, sizes of the classes counting.

    Parameters
    ----------
    name : str
    centres : of each class, its two coordinates
    spreads : of each class, its standard deviation
    sizes : of each class, its number of points
    extent : float
    steps : int
    stands_for : str
        What the data stand in for, to be named in the title of every table.
    seed : int

    Raises
    ------
    ValueError
        If the three sequences are not equally long, or there are fewer than two classes or steps.
    """
    if not len(centres) == len(spreads) == len(sizes) > 1 or steps < 2:
        lengths = f"{len(centres)}, {len(spreads)} and {len(sizes)}"
        raise ValueError(f"centres, spreads and sizes of two classes or more and two steps or more, found {lengths}")
    rng = np.random.default_rng(seed)
    places, widths = np.array(centres, dtype=np.float64), np.array(spreads, dtype=np.float64)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    points = np.round(places[classes] + widths[classes, None] * rng.standard_normal((classes.size, 2)), 6)
    line = np.linspace(-extent, extent, steps)
    grid = np.column_stack([np.tile(line, steps), np.repeat(line, steps)])
    nearest = _density(grid, places, widths, np.array(sizes)).argmax(axis=1)
    labels = np.concatenate([classes, nearest])
    rows = np.arange(labels.size, dtype=np.int64)
    return Dataset(
        name,
        np.vstack([points, grid]),
        labels[:, None] == np.arange(len(sizes)),
        None,
        tuple(f"class {number}" for number in range(1, len(sizes) + 1)),
        ("x", "y"),
        (rows[: classes.size], rows[classes.size :]),
        f"stand-in data{' for ' * bool(stands_for)}{stands_for}, generated (seed {seed})",
        stand_in=True,
    )


def _density(points: FloatArray, places: FloatArray, widths: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the logarithm of each class's density at each point, up to a constant."""
    squares = ((points[:, None] - places) ** 2).sum(axis=2)
    density: FloatArray = np.log(sizes / widths**2) - squares / (2 * widths**2)
    return density
