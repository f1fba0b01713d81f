"""Search strategies: what they ask for, stage by stage, and what they choose."""

import numpy as np
import pytest

from mlrank.search import STRATEGIES, Plan, count_fits


def ask(strategy, plan, value):
    """Run a strategy on a function of the point's place on the axes; return the stages and the choice's place."""
    search, stages, values = STRATEGIES[strategy](plan), [], None
    while True:
        try:
            stage = next(search) if values is None else search.send(values)
        except StopIteration as stop:
            place = None if stop.value is None else tuple(int(i) for i in np.unravel_index(stop.value, plan.sizes))
            return stages, place
        places = [tuple(int(i) for i in np.unravel_index(point, plan.sizes)) for point in stage.points]
        stages.append((places, stage.fraction))
        values = [value(*place) for place in places]


def test_grid_asks_for_every_point_once():
    (stage,), choice = ask("grid", Plan((2, 3), None, 1.0, 0), lambda i, j: -abs(i - 1) - abs(j - 2))
    assert stage == ([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], 1.0)
    assert choice == (1, 2)


def test_smaller_is_better_where_the_metric_says_so_and_the_first_of_equals_wins():
    assert ask("grid", Plan((2, 3), None, -1.0, 0), lambda i, j: abs(j - 1))[1] == (0, 1)
    assert ask("grid", Plan((2, 2), None, 1.0, 0), lambda i, j: 0.5)[1] == (0, 0)


def test_staged_goes_along_one_axis_after_another_from_the_middle():
    stages, choice = ask("staged", Plan((4, 1, 3), None, 1.0, 0), lambda i, _, j: -abs(i - 3) - abs(j - 2))
    assert stages == [([(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1)], 1.0), ([(3, 0, 0), (3, 0, 1), (3, 0, 2)], 1.0)]
    assert choice == (3, 0, 2)


def test_staged_leaves_out_an_axis_that_is_too_long_for_the_bound():
    stages, choice = ask("staged", Plan((4, 3), 3, 1.0, 0), lambda i, j: -abs(i - 3) - abs(j - 2))
    assert stages == [([(1, 0), (1, 1), (1, 2)], 1.0)]
    assert choice == (1, 2)
    assert ask("staged", Plan((4, 3), 1, 1.0, 0), lambda i, j: 0.0) == ([([(1, 1)], 1.0)], (1, 1))


def test_halving_keeps_the_best_third_on_three_times_as_many_rows():
    stages, choice = ask("halving", Plan((10,), None, 1.0, 0), lambda i: -abs(i - 4.2))
    assert [fraction for _, fraction in stages] == [1 / 9, 1 / 3, 1.0]
    assert [[place[0] for place in places] for places, _ in stages] == [list(range(10)), [3, 4, 5, 6], [4, 5]]
    assert choice == (4,)


def test_random_draws_as_many_points_as_allowed_without_repetition():
    plan = Plan((7, 5), 9, 1.0, 3)
    ((places, _),), _ = ask("random", plan, lambda i, j: 0.0)
    assert len(set(places)) == len(places) == 9
    assert ask("random", plan, lambda i, j: 1.0)[0][0][0] == places
    assert ask("random", Plan((7, 5), 9, 1.0, 4), lambda i, j: 0.0)[0][0][0] != places
    assert len(ask("random", Plan((2, 2), 9, 1.0, 3), lambda i, j: 0.0)[0][0][0]) == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_is_chosen_where_every_point_failed(strategy):
    assert ask(strategy, Plan((3, 4), 7, 1.0, 0), lambda i, j: None)[1] is None


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("sizes", [(1,), (2,), (9,), (5, 4), (3, 1, 4), (30, 2)])
@pytest.mark.parametrize("most", [None, 1, 8])
def test_the_number_of_fits_is_known_before(strategy, sizes, most):
    plan = Plan(sizes, most, 1.0, 0)
    rng = np.random.default_rng(0)
    stages, _ = ask(strategy, plan, lambda *place: float(rng.random()))
    asked = {(place, fraction) for places, fraction in stages for place in places}
    assert count_fits(strategy, plan) == len(asked)
    if most is not None and strategy in ("random", "staged"):
        assert len(asked) <= max(most, 1)
