"""Classes in the plane: points, a grid, and the most likely class of each of its points."""

import numpy as np
import pytest

from mlrank.datasets import dataset_hash, load_dataset
from mlrank.datasets.generated.gaussians import gaussian_classes

TWO = {"centres": [[-1, 0], [1, 0]], "spreads": [0.5, 0.5], "sizes": [30, 30], "extent": 2, "steps": 5, "seed": 3}


def test_points_lie_about_their_centres_and_the_grid_goes_row_by_row():
    data = gaussian_classes("p", **{**TWO, "sizes": [4000, 2000]}, stands_for="somewhere")
    train, test = data.official
    assert (len(train), len(test)) == (6000, 25)
    first = data.X[train][data.Y[train, 0]]
    assert len(first) == 4000
    assert first.mean(axis=0) == pytest.approx([-1, 0], abs=0.03)
    assert first.std(axis=0) == pytest.approx([0.5, 0.5], abs=0.03)
    line = [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert data.X[test].tolist() == [[x, y] for y in line for x in line]
    assert (data.Y.sum(axis=1) == 1).all()
    assert data.stand_in
    assert "for somewhere" in data.description


def test_the_true_class_of_the_grid_is_the_most_likely_one():
    alike = gaussian_classes("p", **{**TWO, "steps": 4})
    assert np.array_equal(alike.Y[alike.official[1]][:, 0], alike.X[alike.official[1]][:, 0] < 0)
    # Where both are equally near, the larger class; far out, the wider one.
    data = gaussian_classes("p", **{**TWO, "sizes": [30, 31]})
    grid, Y = data.X[data.official[1]], data.Y[data.official[1]]
    assert Y[grid[:, 0] == 0, 1].all()
    wide = gaussian_classes("p", **{**TWO, "spreads": [0.5, 1.0], "extent": 9})
    assert wide.Y[wide.official[1]][0, 1]


def test_equal_arguments_give_equal_bytes_and_another_seed_others():
    data = gaussian_classes("p", **TWO)
    assert dataset_hash(data) == dataset_hash(gaussian_classes("p", **TWO))
    assert dataset_hash(data) != dataset_hash(gaussian_classes("p", **{**TWO, "seed": 4}))


def test_the_catalogue_has_five_classes():
    data = load_dataset("mlr-toy")
    assert data.Y[data.official[0]].sum(axis=0).tolist() == [40, 80, 40, 40, 40]
    assert data.X.shape == (240 + 121**2, 2)
    assert data.label_names[0] == "class 1"


@pytest.mark.parametrize("wrong", [{"spreads": [1.0]}, {"sizes": [3, 3, 3]}, {"steps": 1}])
def test_parts_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="two classes or more and two steps or more"):
        gaussian_classes("p", **{**TWO, **wrong})
