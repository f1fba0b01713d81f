"""Each verdict by its rule: cells by nearness and the interval over splits, claims by tests recomputed from scratch."""

import math

import numpy as np
import pytest
from scipy import stats

from mlrank.recipes import CELL_VERDICTS, CLAIM_VERDICTS, compare, judge_cell, load_recipe
from mlrank.recipes.evidence import PartEvidence, better, decide, partial_conjunction, within

SHARE = 4 / 6


def p_above(d):
    """Return the one-sided p of Nadeau & Bengio's test, from their formula."""
    t = np.mean(d) / math.sqrt((1 / len(d) + SHARE) * np.var(d, ddof=1))
    return stats.t.sf(t, len(d) - 1)


class TestCells:
    NARROW = np.array([0.500, 0.502, 0.504])  # 95% interval about 0.502 +- 0.009
    WIDE = np.array([0.4, 0.5, 0.6])

    @pytest.mark.parametrize(
        ("values", "paper", "grade", "verdict"),
        [
            (NARROW, 0.505, "exact", "matches"),  # near, inside
            (NARROW, 0.505, "same-source", "matches"),
            (NARROW, 0.505, "related", "close"),
            (NARROW, 0.505, "stand-in", "not comparable"),
            (NARROW, 0.502, "stand-in", "not comparable"),
            (NARROW, 0.516, "exact", "close"),  # near, outside
            (NARROW, 0.530, "exact", "differs"),
            (WIDE, 0.53, "exact", "close"),  # far, inside
            (WIDE, 0.9999, "exact", "differs"),
            (np.array([0.50004]), 0.5, "exact", "matches"),  # rounded
            (np.array([0.502]), 0.5, "exact", "close"),  # one split: no interval
            (np.array([0.53]), 0.5, "exact", "differs"),
            (np.array([0.51, 0.51]), 0.5, "exact", "close"),  # no spread, no interval
            (np.array([0.06]), 0.05, "exact", "differs"),  # 0.01 is a fifth of it
            (np.array([0.5]), None, "exact", "not comparable"),
            (None, 0.5, "exact", "not comparable"),
        ],
    )
    def test_the_rule(self, values, paper, grade, verdict):
        found = judge_cell(values, paper, grade, 4, SHARE)
        assert found.verdict == verdict
        assert found.verdict in CELL_VERDICTS
        assert found.reason

    @pytest.mark.parametrize("paper", [0.49, 0.4935, 0.5105, 0.515])
    def test_inside_means_not_rejected_by_the_corrected_test(self, paper):
        p = 2 * min(p_above(self.NARROW - paper), p_above(paper - self.NARROW))
        assert (judge_cell(self.NARROW, paper, "exact", 4, SHARE).verdict == "matches") == (p > 0.05)

    def test_reasons_are_in_words(self):
        assert judge_cell(self.NARROW, 0.505, "exact", 4, SHARE).reason.startswith(
            "0.0030 below the paper's; paper's within our 95% interval 0.49"
        )
        assert judge_cell(np.array([0.502]), 0.5, "exact", 4, SHARE).reason == (
            "0.0020 above the paper's; one split gives no interval"
        )
        assert judge_cell(np.array([0.51, 0.51]), 0.5, "exact", 4, SHARE).reason.endswith(
            "the same on 2 splits, so no interval"
        )


class TestParts:
    ONE, TWO = np.array([0.5, 0.6, 0.55]), np.array([0.4, 0.52, 0.41])

    def test_better_is_tested_one_sided_in_the_direction_of_the_metric(self):
        up, down = better(self.ONE, self.TWO, 1.0, SHARE), better(self.ONE, self.TWO, -1.0, SHARE)
        p = p_above(self.ONE - self.TWO)
        assert up == (True, pytest.approx(p), pytest.approx(1 - p))
        assert down == (False, pytest.approx(1 - p), pytest.approx(p))

    def test_within_is_two_one_sided_tests(self):
        d = self.ONE - self.TWO
        found = within(self.ONE, self.TWO, 0.3, SHARE)
        assert found.p == pytest.approx(max(p_above(d + 0.3), p_above(0.3 - d)))
        far = within(self.ONE, self.TWO, 0.01, SHARE)
        assert far.as_claimed is False
        assert far.contrary == pytest.approx(2 * min(p_above(d - 0.01), p_above(-0.01 - d)))

    @pytest.mark.parametrize("values", [(None, np.ones(3)), (np.ones(1), np.zeros(1)), (np.ones(3), np.zeros(3))])
    def test_no_p_value_is_made_up(self, values):
        assert better(*values, 1.0, SHARE).p is None
        assert within(*values, 0.1, SHARE).p is None

    def test_partial_conjunction_never_rejects_too_often(self):
        """Of 3 parts, all null but one of which p is 0: that 2 hold is rejected in at most 5% of the draws."""
        draws = np.random.default_rng(0).uniform(size=(4000, 2))
        rejected = np.mean([partial_conjunction([0.0, *p], 2) <= 0.05 for p in draws])
        assert 0.03 < rejected <= 0.055
        assert partial_conjunction([0.01, 0.2, 0.03], 3) == 0.2
        assert partial_conjunction([0.01, 0.2, 0.03], 1) == pytest.approx(0.03)

    @pytest.mark.parametrize(
        ("parts", "needed", "decision"),
        [
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(True, 0.04, 0.96)], 2, ("holds", 0.04)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(True, 0.2, 0.8)], 2, ("undecided", 0.2)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(False, 0.99, 0.01)], 2, ("fails", 0.02)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(False, 0.97, 0.03)], 2, ("undecided", 0.97)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(False, 0.99, 0.01)], 1, ("holds", 0.02)),
            ([PartEvidence(True), PartEvidence(True)], 2, ("holds", None)),
            ([PartEvidence(True), PartEvidence(False)], 2, ("fails", None)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(None)], 2, ("undecided", None)),
            ([PartEvidence(True, 0.01, 0.99), PartEvidence(True)], 2, ("holds", 0.01)),
        ],
    )
    def test_as_many_as_needed(self, parts, needed, decision):
        assert decide(parts, needed) == decision

    def test_a_claim_may_fail_in_any_of_its_metrics(self):
        parts = [PartEvidence(False, 0.97, 0.03)]
        assert decide(parts, 1) == ("fails", 0.03)
        assert decide(parts, 1, n_metrics=2).verdict == "undecided"


SPLITS = [f"r{i}" for i in range(4)]
STEADY = (0.50, 0.51, 0.49, 0.50)


@pytest.mark.parametrize(
    ("b", "verdict"),
    [((0.60, 0.62, 0.58, 0.60), "holds"), ((0.40, 0.42, 0.38, 0.40), "fails"), ((0.6, 0.4, 0.5, 0.52), "undecided")],
)
def test_claims_over_splits_name_their_test_and_its_p_value(recipe, make, b, verdict):
    claim = recipe.claims[0].model_copy(update={"metrics": ("f1_macro",)})
    records = [make("A", s, f1_macro=v) for s, v in zip(SPLITS, STEADY, strict=True)]
    records += [make("B", s, f1_macro=v) for s, v in zip(SPLITS, b, strict=True)]
    (found,) = compare(recipe.model_copy(update={"claims": (claim,)}), recipe.data[1], records).claims
    p = p_above(np.subtract(b, STEADY))
    assert found.verdict == verdict
    assert found.test == "corrected resampled t-test over 4 splits, one-sided"
    assert found.p == pytest.approx(1 - p if verdict == "fails" else p)
    assert "corrected resampled t-test over 4 splits, one-sided, p " in found.line
    assert verdict in CLAIM_VERDICTS


def test_all_equal_scores_give_no_test_and_no_verdict(recipe, make):
    records = [make(m, s, f1_macro=0.5, ranking_loss=0.2) for m in "AB" for s in SPLITS]
    comparison = compare(recipe, recipe.data[1], records)
    (claim,) = comparison.claims
    assert (claim.verdict, claim.p) == ("undecided", None)
    assert claim.test == "order only, no test possible: values are missing, tied or without spread"
    assert [cell.ours_spread for cell in comparison.cells] == [0.0] * 3


def test_times_over_several_splits_are_tested_by_their_logarithms(folder, make):
    from mlrank.recipes import compare_times
    from tests.recipes.test_times import TIMES, run

    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + TIMES)
    recipe = load_recipe("tiny", folder)
    slow, fast = (30.0, 33.0, 29.0), (2.0, 2.1, 2.0)
    records = [run(make, "slow", s, split=f"r{i}") for i, s in enumerate(slow)]
    records += [run(make, "fast", s, split=f"r{i}") for i, s in enumerate(fast)]
    comparison = compare_times(recipe, recipe.times, recipe.data[1], records)
    (claim,) = comparison.claims
    assert claim.verdict == "holds"
    assert claim.p == pytest.approx(p_above(np.log(slow) - np.log(fast)))
    assert {cell.verdict for cell in comparison.cells} == {"not comparable"}
