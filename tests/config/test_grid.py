import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlrank.config import GridPoint, MethodConfig, parse_config
from mlrank.config.grid import expand_range, n_points, points
from mlrank.solvers import SOLVERS


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2^-6..2^-4", (1 / 64, 1 / 32, 1 / 16)),
        ("10^-3..10^3 by 2", (0.001, 0.1, 10.0, 1000.0)),
        ("10^-5..10^-5", (1e-5,)),
        ("2^0..2^3", (1, 2, 4, 8)),
        ("0.5^1..0.5^2", (0.5, 0.25)),
        (" 2^1 .. 2^+3  by 2 ", (2, 8)),
    ],
)
def test_range(text, values):
    found = expand_range(text)
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@given(st.integers(-300, 300), st.integers(0, 8))
def test_powers_of_ten_are_what_the_same_number_written_out_is(first, more):
    assert expand_range(f"10^{first}..10^{first + more}") == tuple(
        float(f"1e{k}") for k in range(first, first + more + 1)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2^1", "not a range: found '2^1'; ranges look like '2^-6..2^13' or '10^-3..10^3 by 2'"),
        ("2^a..2^b", "not a range: found '2^a..2^b'; ranges look like '2^-6..2^13' or '10^-3..10^3 by 2'"),
        ("2^1...2^3", "not a range: found '2^1...2^3'; ranges look like '2^-6..2^13' or '10^-3..10^3 by 2'"),
        ("2^1..10^3", "a range has one base, found 2 and 10"),
        ("0^1..0^3", "the base of a range must be above 0 and not 1, found 0"),
        ("1^1..1^3", "the base of a range must be above 0 and not 1, found 1"),
        ("2^3..2^1", "the range runs downwards; write '2^1..2^3'"),
        ("2^1..2^3 by 0", "the step of a range must be 1 or more, found 0"),
        ("2^1..2^3 by -1", "the step of a range must be 1 or more, found -1"),
        ("2^-6..2^13 by 2", "steps of 2 from 2^-6 miss 2^13; the last they reach is 2^12"),
        ("10^300..10^309", "a power of 10 in this range is too large or too small for a float"),
        ("2^-1080..2^-1079", "a power of 2 in this range is too large or too small for a float"),
    ],
)
def test_bad_range(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        expand_range(text)


def test_grid_is_row_major_with_the_threshold_fastest():
    method = MethodConfig(
        "M", "toy", object, axes=(("C", (1, 2)), ("n", (5,)), ("k", ("a", "b"))), threshold_axes=(("q", (0, 1)),)
    )
    expected = [GridPoint({"C": C, "n": 5, "k": k}, {"q": q}) for C in (1, 2) for k in ("a", "b") for q in (0, 1)]
    assert method.grid() == expected
    assert n_points(method.axes, method.threshold_axes) == 8


def test_no_axes_make_one_point():
    assert MethodConfig("M", "toy", object).grid() == [GridPoint({}, {})]
    assert points(()) == [{}]


@pytest.mark.parametrize(
    ("key", "setting"),
    [("plst", "n_components"), ("cplst", "n_components"), ("faie", "n_components"), ("ml_loc", "n_groups")],
)
def test_whole_numbers_stay_whole_where_a_part_is_possible_too(key, setting):
    values = axis(f"{{solver: {key}, {setting}: [1, 0.5, 4]}}")
    assert [(type(value), value) for value in values] == [(int, 1), (float, 0.5), (int, 4)]
    for value in values:
        SOLVERS[key](**{setting: value})


def test_whole_numbers_become_numbers_where_any_number_is_possible():
    assert list(map(type, axis("{solver: rank_svm, C: [1, 2]}"))) == [float, float]


def axis(method):
    """Return the values of the first setting of a method."""
    text = f"name: a\ndatasets: [yeast]\nsplit: {{kind: official}}\nmethods:\n  A: {method}\n"
    return parse_config(text, "c.yaml").methods["A"].axes[0][1]
