from dataclasses import replace

import pytest

from mlrank.config import config_of
from mlrank.errors import UserError
from mlrank.recipes import TimesTable, compare_times, load_recipe, render_comparison, times_mapping, times_of
from mlrank.records.run import FitRecord, TimeInfo

TIMES = """\
times:
  table: Table 10
  protocol: [both stop at 0.1]
  methods:
    slow: {solver: rank_svm, algorithm: frank_wolfe, threshold: zero}
    fast: {solver: rank_svm, threshold: zero}
  expected: {slow: 100.0, fast: 2.0}
  claims:
    - text: fast is faster
      faster_first: [fast, slow]
"""


@pytest.fixture
def timed(folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + TIMES)
    return load_recipe("tiny", folder)


def run(make, method, seconds, converged=True, **settings):
    info = FitRecord(7, 1.0, 0.05 if converged else 0.9, converged)
    return replace(make(method, **settings), time=TimeInfo(fit=seconds), info=info)


def timed_on_splits(make, slow, fast, **settings):
    """Make three fits of each method, of about as many seconds; settings are those of the slow one's."""
    records = [run(make, "slow", slow * more, split=f"r{i}", **settings) for i, more in enumerate((1.0, 1.01, 0.99))]
    return records + [run(make, "fast", fast, split=f"r{i}") for i in range(3)]


def judged(recipe, records, place=1):
    comparison = compare_times(recipe, recipe.times, recipe.data[place], records)
    (claim,) = comparison.claims
    return comparison, claim


def test_seconds_stand_beside_the_papers_and_the_ratio_is_told(timed, make):
    records = [run(make, "slow", 30.0), run(make, "fast", 2.0), run(make, "fast", 9.0, dataset="fake")]
    comparison, claim = judged(timed, records)
    found = {cell.method: (cell.metric, cell.paper, cell.ours, cell.difference) for cell in comparison.cells}
    assert found == {"slow": ("seconds", 100.0, 30.0, None), "fast": ("seconds", 2.0, 2.0, None)}
    assert (claim.verdict, claim.ordering) == ("undecided", "undecided")
    assert claim.line == "claim 'fast is faster': undecided (same data and split; no test possible: one split)"
    assert claim.details == ("slow took 15.0 times as long as fast; the paper's ratio is 50",)
    assert comparison.title == "Table 10 of Somebody, 2000 beside ours on real (same data and split)"
    assert "slow (r0): reached an optimality of 5.0e-02 after 7 iterations" in comparison.notes
    assert "protocol: both stop at 0.1" in comparison.notes
    assert "| slow   |" in render_comparison(comparison, "md")


def test_a_split_on_which_every_fit_failed_is_not_left_out(timed, make):
    records = [run(make, "slow", 30.0), run(make, "fast", 2.0)]
    failed = [run(make, name, 1.0, split="r1", status="failed") for name in ("slow", "fast")]
    comparison, claim = judged(timed, [*records, *failed])
    assert (comparison.n_splits, claim.verdict) == (2, "undecided")
    assert [cell.ours for cell in comparison.cells] == [None, None]


def test_the_paper_may_print_no_seconds(timed, make):
    recipe = timed.model_copy(
        update={"times": timed.times.model_copy(update={"expected": {"slow": None, "fast": 2.0}})}
    )
    comparison, claim = judged(recipe, [run(make, "slow", 30.0), run(make, "fast", 2.0)])
    assert claim.details == ("slow took 15.0 times as long as fast; the paper prints no seconds",)
    assert [cell.paper for cell in comparison.cells] == [None, 2.0]


def test_a_slow_method_that_was_stopped_early_took_more_than_that(timed, make):
    comparison, claim = judged(timed, timed_on_splits(make, 30.0, 2.0, converged=False))
    assert claim.ordering == "holds"
    assert claim.details[0].startswith("slow took more than 15.0 times as long as fast")
    assert "slow (r0): stopped at an optimality of 9.0e-01 after 7 iterations" in comparison.notes
    # Stopped before the fast one was through, it may have been slower or not.
    _, claim = judged(timed, timed_on_splits(make, 1.0, 2.0, converged=False))
    assert claim.ordering == "undecided"


def test_a_claim_can_fail_or_be_undecided(timed, make):
    assert judged(timed, timed_on_splits(make, 1.0, 2.0))[1].verdict == "fails"
    assert judged(timed, timed_on_splits(make, 30.0, 2.0))[1].verdict == "holds"
    for records in ([], [run(make, "slow", 9.0)], [run(make, "slow", 9.0), run(make, "fast", 2.0, converged=False)]):
        _, claim = judged(timed, records)
        assert claim.verdict == "undecided"
        assert claim.details == ("no pair of times at the same gap; the paper's ratio is 50",)
    failed = run(make, "slow", 9.0, status="failed")
    assert judged(timed, [failed, run(make, "fast", 2.0)])[0].cells[0].ours is None


def test_seconds_of_predictions_are_counted_if_the_table_has_them(timed, make):
    records = [
        replace(run(make, name, fit, split=f"r{i}"), time=TimeInfo(fit=fit, predict=predict))
        for i in range(2)
        for name, fit, predict in (("slow", 1.0, 10.0 + i), ("fast", 2.0, 1.0))
    ]
    assert [cell.ours for cell in judged(timed, records)[0].cells] == [1.0, 2.0]
    counting = timed.model_copy(update={"times": timed.times.model_copy(update={"predictions": True})})
    comparison, claim = judged(counting, records)
    assert [cell.ours for cell in comparison.cells] == [11.5, 3.0]
    assert claim.details[0].startswith(f"slow took {11.5 / 3:.1f} times as long as fast")
    unknown = [replace(record, time=TimeInfo(fit=1.0)) for record in records]
    assert [cell.ours for cell in judged(counting, unknown)[0].cells] == [None, None]


def test_several_claims_are_corrected_by_holm(timed, make):
    (known,) = timed.times.claims
    other = known.model_copy(update={"text": "much", "factor": 10, "source": "table"})
    recipe = timed.model_copy(update={"times": timed.times.model_copy(update={"claims": (known, other)})})
    comparison = compare_times(recipe, recipe.times, recipe.data[1], timed_on_splits(make, 30.0, 2.0))
    first, second = comparison.claims
    assert first.p < second.p
    assert (first.p_holm, second.p_holm) == pytest.approx((2 * first.p, max(2 * first.p, second.p)))
    assert second.line.startswith("claim 'much (from the table)'")


def test_stand_in_data_are_not_comparable(timed, make):
    records = [run(make, "slow", 30.0, dataset="fake", stand_in=True), run(make, "fast", 2.0, dataset="fake")]
    _, claim = judged(timed, records, place=2)
    assert (claim.verdict, claim.ordering) == ("not comparable", "undecided")


@pytest.mark.parametrize(
    ("slow", "factor", "verdict"),
    [(100.0, 1, "holds"), (1.5, 1, "contradicts its own table"), (10.0, 9, "holds"), (None, 1, "holds")],
)
def test_the_papers_own_seconds_may_deny_its_claim(timed, make, slow, factor, verdict):
    """By how much it must be faster is ours, so 5 times where 9 are asked for denies nothing."""
    (known,) = timed.times.claims
    claims = (known.model_copy(update={"factor": factor}),)
    update = {"expected": {"slow": slow, "fast": 2.0}, "claims": claims}
    recipe = timed.model_copy(update={"times": timed.times.model_copy(update=update)})
    _, claim = judged(recipe, timed_on_splits(make, 30.0, 2.0))
    assert (claim.verdict, claim.ordering) == (verdict, "holds")
    if slow == 1.5:
        assert claim.line.startswith(
            "claim 'fast is faster': contradicts its own table (slow 1.5 and fast 2 seconds as printed); ours: holds ("
        )


def test_the_experiment_is_the_recipes_with_the_methods_timed(timed):
    mapping = times_mapping(timed, timed.times, timed.data[1])
    assert mapping["name"] == "tiny-times"
    assert mapping["subset"] == {"rows": 10}
    assert mapping["split"] == {"kind": "holdout", "train": 6, "test": 4}
    assert mapping["methods"] == {
        "slow": {"solver": "rank_svm", "algorithm": "frank_wolfe", "threshold": "zero"},
        "fast": {"solver": "rank_svm", "threshold": "zero"},
    }


@pytest.mark.parametrize("name", ["Table 10", "10"])
def test_a_table_is_asked_for_by_name_or_number(timed, name):
    assert isinstance(times_of(timed, name), TimesTable)


def test_tables_that_do_not_exist_are_refused(timed):
    with pytest.raises(
        UserError, match="the recipe 'tiny' is of Table 9; beside it there is Table 10, found --table 4"
    ):
        times_of(timed, "4")
    with pytest.raises(UserError, match="the recipe 'tiny' is of Table 9, found --table 10"):
        times_of(timed.model_copy(update={"times": None}), "10")


def test_a_method_that_is_not_timed_is_refused(folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + TIMES.replace("[fast, slow]", "[fats, slow]"))
    with pytest.raises(UserError, match=r"unknown method 'fats'\. Did you mean 'fast'"):
        load_recipe("tiny", folder)


@pytest.mark.parametrize(("name", "ratio"), [("imageclef", 50), ("mediamill", 52)])
def test_the_shipped_recipes_time_both_methods_at_the_same_gap(name, ratio):

    recipe = load_recipe(name)
    times = times_of(recipe, "3")
    mapping = times_mapping(recipe, times, recipe.data[-1])
    config = config_of(mapping, "recipe")
    points = {method: config.methods[method].grid() for method in times.expected}
    assert [len(grid) for grid in points.values()] == [1, 1]
    assert {(grid[0].settings["tol"], grid[0].settings["C"]) for grid in points.values()} == {
        (0.1, 8 if name == "imageclef" else 1024)
    }
    assert round(times.expected["Frank-Wolfe"] / times.expected["DCD"]) == ratio
