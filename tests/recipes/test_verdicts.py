"""Each verdict by its rule: cells by nearness and the interval over splits, claims by tests recomputed from scratch."""

import numpy as np
import pytest
from scipy import stats

from mlrank.explain import explain
from mlrank.recipes import CELL_VERDICTS, CLAIM_VERDICTS, compare, judge_cell, load_recipe, render_comparison
from mlrank.recipes.evidence import PartEvidence, better, decide, partial_conjunction, within
from mlrank.recipes.summary import HEADER, TableOutcome, render_summary
from mlrank.stats import say_p
from tests.recipes.conftest import SHARE, on_splits, p_above


class TestCells:
    NARROW = np.array([0.500, 0.502, 0.504])  # 0.502 +- 4.303 * sqrt(2 / 3) * 0.002 = 0.007
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
            (NARROW, 0.516, "related", "close"),
            (NARROW, 0.530, "exact", "differs"),
            (WIDE, 0.53, "exact", "differs"),  # far, inside
            (WIDE, 0.515, "exact", "matches"),
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
        found = judge_cell(values, paper, grade, 4)
        assert found.verdict == verdict
        assert found.verdict in CELL_VERDICTS
        assert found.reason

    @pytest.mark.parametrize("values", [NARROW, np.array([0.500, 0.502, 0.5045, 0.49])])
    @pytest.mark.parametrize("paper", [0.488, 0.4925, 0.4955, 0.4965, 0.5085, 0.5115, 0.514])
    @pytest.mark.parametrize("spread", [0.0, 0.002, 0.005])
    def test_agreement_is_that_of_two_samples_where_the_paper_prints_a_spread(self, values, paper, spread):
        n = values.size
        p = stats.ttest_ind_from_stats(values.mean(), values.std(ddof=1), n, paper, spread, n).pvalue
        found = judge_cell(values, paper, "exact", 4, spread)
        assert found.verdict == ("matches" if p > 0.05 else "close")
        assert f"by our spread and its own ({say_p(p)})" in found.reason

    @pytest.mark.parametrize("paper", [0.488, 0.4925, 0.4945, 0.4955, 0.5085, 0.5095, 0.514])
    def test_without_one_the_paper_is_taken_to_vary_as_ours(self, paper):
        """The variance of the difference of two means is then 2 / n times ours, with our degrees of freedom."""
        t = (self.NARROW.mean() - paper) / np.sqrt(2 / 3 * np.sum((self.NARROW - self.NARROW.mean()) ** 2) / 2)
        p = 2 * stats.t.cdf(-abs(t), 2)
        found = judge_cell(self.NARROW, paper, "exact", 4)
        assert found.verdict == ("matches" if p > 0.05 else "close")
        assert f"by our spread for both ({say_p(p)})" in found.reason

    def test_new_partitions_agree_as_often_as_the_interval_says(self):
        """Two means over three draws of one normal distribution, near each other: 95% agree, and so no fewer match."""
        draws = np.random.default_rng(1).normal(0.5, 0.002, size=(1500, 2, 3))
        matched = [judge_cell(ours, float(theirs.mean()), "exact", 17).verdict == "matches" for ours, theirs in draws]
        assert np.mean(matched) == pytest.approx(0.95, abs=0.02)

    def test_noise_earns_no_better_verdict(self):
        """A mean that is far off differs however much it varies."""
        assert {judge_cell(0.7 + size * self.WIDE, 0.8, "exact", 4).verdict for size in (0.01, 0.4)} == {"differs"}

    def test_reasons_are_in_words(self):
        assert judge_cell(self.NARROW, 0.505, "exact", 4).reason == (
            "0.0030 below the paper's; paper's within the 95% interval 0.4950 to 0.5090 of a mean over 3 new splits by "
            "our spread for both (p = 0.21)"
        )
        assert judge_cell(np.array([0.502]), 0.5, "exact", 4).reason == (
            "0.0020 above the paper's; one split gives no interval"
        )
        assert judge_cell(np.array([0.51, 0.51]), 0.5, "exact", 4).reason.endswith(
            "the same on 2 splits, so no interval"
        )

    def test_the_papers_spread_comes_from_the_recipe(self, folder, make):
        path = folder / "tiny.yaml"
        records = [make("A", f"r{i}", f1_macro=value) for i, value in enumerate(self.NARROW + 0.008)]
        verdicts = []
        for text in ("", "spread:\n  A: {f1_macro: 0.02}\n"):
            path.write_text(path.read_text() + text)
            recipe = load_recipe("tiny", folder)
            verdicts.append(compare(recipe, recipe.data[1], records).cells[0].verdict)
        assert verdicts == ["close", "matches"]


class TestParts:
    ONE, TWO = np.array([0.5, 0.6, 0.55]), np.array([0.4, 0.52, 0.41])

    def test_better_is_tested_one_sided_in_the_direction_of_the_metric(self):
        up, down = better(self.ONE, self.TWO, 1.0, SHARE), better(self.ONE, self.TWO, -1.0, SHARE)
        p = p_above(self.ONE - self.TWO)
        plain = stats.ttest_rel(self.ONE, self.TWO, alternative="greater").pvalue
        assert up[1:4] == pytest.approx((p, 1 - p, plain))
        assert down[1:4] == pytest.approx((1 - p, p, 1 - plain))
        assert (up.as_claimed, up.wins, up.n_splits) == (True, 3, 3)
        assert (down.as_claimed, down.wins, down.n_splits) == (False, 0, 3)

    def test_wins_are_splits_on_which_it_is_as_claimed(self):
        one, two = np.array([0.5, 0.6, 0.55, 0.7]), np.array([0.4, 0.65, 0.55, 0.5])
        found = better(one, two, 1.0, SHARE)
        assert (found.wins, found.n_splits) == (2, 4)  # a tie is no win
        assert better(one, two, -1.0, SHARE).wins == 1
        assert within(one, two, 0.05, SHARE).wins == 2
        assert within(one, two, 0.1, SHARE).wins == 3
        assert better(one[:1], two[:1], 1.0, SHARE) == (True, None, None, None, 1, 1)

    def test_within_is_two_one_sided_tests(self):
        d = self.ONE - self.TWO
        found = within(self.ONE, self.TWO, 0.3, SHARE)
        assert found.p == pytest.approx(max(p_above(d + 0.3), p_above(0.3 - d)))
        plain = stats.ttest_1samp(d, 0.3, alternative="less"), stats.ttest_1samp(d, -0.3, alternative="greater")
        assert found.plain == pytest.approx(max(test.pvalue for test in plain))
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
    assert found.p_holm is None
    assert "Holm" not in found.line
    assert verdict in CLAIM_VERDICTS


AHEAD = {"text": "B > A", "order": ("B", "A")}


def with_claims(recipe, *claims, **printed):
    """Return the recipe with claims on f1_macro, and with printed numbers of it where some are given."""
    made = tuple(recipe.claims[0].model_copy(update={"metrics": ("f1_macro",), "order": None, **c}) for c in claims)
    expected = {method: {"f1_macro": value} for method, value in printed.items()} or recipe.expected
    return recipe.model_copy(update={"claims": made, "expected": expected})


def plain_holm(ps):
    """Return Holm's p-values: the largest, over the smaller ones and itself, of p times how many are no smaller."""
    return [max(min(1.0, sum(r >= q for r in ps) * q) for q in ps if q <= p) for p in ps]


def test_what_is_shown_alone_may_not_be_among_several_claims(recipe, over_splits):
    means = {"A": 0.5, "B": 0.55, "D": 0.524, "E": 0.5}
    records = over_splits({method: {"f1_macro": mean} for method, mean in means.items()})
    pairs = [("B", "A"), ("D", "A"), ("E", "A"), ("A", "D")]
    claims = [{"text": f"{a} > {b}", "order": (a, b)} for a, b in pairs]
    alone = [compare(with_claims(recipe, claim, A=None), recipe.data[1], records).claims[0] for claim in claims]
    together = compare(with_claims(recipe, *claims, A=None), recipe.data[1], records).claims
    ahead = [p_above(on_splits(a, means[a]) - on_splits(b, means[b])) for a, b in pairs]
    ps = [1 - p if result.ordering == "fails" else p for p, result in zip(ahead, alone, strict=True)]
    corrected = plain_holm(ps)
    assert [result.ordering for result in alone] == ["holds", "holds", "undecided", "fails"]
    # The test decides: two of the four lose their verdict.
    assert [result.ordering for result in together] == ["holds", "undecided", "undecided", "undecided"]
    assert [result.p for result in together] == pytest.approx(ps)
    assert [result.p_holm for result in together] == pytest.approx(corrected)
    assert together[1].line.startswith(
        "claim 'D > A': undecided (same data and split; corrected resampled t-test over "
    )
    assert together[1].line.endswith(f"{say_p(ps[1])}, with Holm's correction over 4 claims {say_p(corrected[1])})")


def test_a_claim_that_cannot_be_tested_counts_among_the_others(recipe, over_splits):
    """Or the others would gain by what is missing."""
    records = over_splits({"A": {"f1_macro": 0.5}, "B": {"f1_macro": 0.52}})
    claims = [AHEAD, {"text": "D > A", "order": ("D", "A")}]
    first, missing = compare(with_claims(recipe, *claims), recipe.data[1], records).claims
    assert first.p_holm == pytest.approx(2 * first.p)
    assert (missing.ordering, missing.p, missing.p_holm) == ("undecided", None, None)


@pytest.mark.parametrize("grade", ["exact", "related", "stand-in"])
def test_a_claim_that_the_print_denies_contradicts_its_own_table(recipe, over_splits, grade):
    option = recipe.data[1].model_copy(update={"grade": grade})
    records = over_splits({"A": {"f1_macro": 0.4}, "B": {"f1_macro": 0.6}, "D": {"f1_macro": 0.5}})
    claim = {"text": "B is above all", "pairs": (("B", "A"), ("B", "D"), ("B", "E"))}
    denied = with_claims(recipe, claim, A=0.5, B=0.6, D=0.61, E=None)
    (found,) = compare(denied, option, records).claims
    assert (found.verdict, found.ordering) == ("contradicts its own table", "undecided")  # E was not run
    words = "(f1_macro as printed: 1 of 3 pairs the other way round, B 0.6 and D 0.61); ours: "
    assert found.line.startswith(f"claim 'B is above all': contradicts its own table {words}")
    ours = {"exact": "undecided (same ", "related": "on a related collection, ", "stand-in": "on stand-in data, says "}
    assert found.line.split("; ours: ")[1].startswith(ours[grade])
    # Equal or missing numbers deny nothing.
    borne = with_claims(recipe, claim, A=0.5, B=0.6, D=0.6, E=None)
    by_grade = {"exact": "undecided", "related": "other data", "stand-in": "not comparable"}
    assert compare(borne, option, records).claims[0].verdict == by_grade[grade]


def test_the_print_is_judged_by_the_claims_own_form(recipe, make):
    def denied(claim, **printed):
        (found,) = compare(with_claims(recipe, claim, **printed), recipe.data[1], [make("A", f1_macro=0.5)]).claims
        return found.verdict == "contradicts its own table"

    second = {"best": "B", "among": ("A", "D"), "places": 2}
    assert not denied(second, A=0.7, B=0.6, D=0.5)  # second is enough
    assert denied(second, A=0.7, B=0.6, D=0.65)
    assert denied(second | {"places": 1}, A=0.7, B=0.6, D=0.5)
    assert denied({"metrics": ("ranking_loss", "f1_macro"), **AHEAD}, A=0.7, B=0.6)  # in one metric is enough
    lower = recipe.model_copy(update={"expected": {"A": {"ranking_loss": 0.2}, "B": {"ranking_loss": 0.3}}})
    assert compare(lower, recipe.data[1], []).claims[0].verdict == "contradicts its own table"
    # How near is close is ours to say.
    assert not denied({"close": (("A", "B"),), "within": 0.01}, A=0.7, B=0.6)


@pytest.mark.parametrize("b", [0.6, 0.4, 0.5])
def test_claims_on_a_related_collection_are_about_other_data(recipe, over_splits, b):
    option = recipe.data[1].model_copy(update={"grade": "related"})
    records = over_splits({"A": {"f1_macro": 0.5}, "B": {"f1_macro": b}})
    (found,) = compare(with_claims(recipe, AHEAD), option, records).claims
    there = {0.6: ("holds", "borne out"), 0.4: ("fails", "contradicted"), 0.5: ("undecided", "undecided")}[b]
    assert (found.verdict, found.ordering) == ("other data", there[0])
    assert found.line.startswith(f"claim 'B > A': on a related collection, where it is {there[1]} (corrected ")


def test_details_count_pairs_and_wins_and_give_the_plain_p(recipe, make):
    splits = {"A": (0.50, 0.51, 0.49, 0.52), "B": (0.55, 0.56, 0.48, 0.60), "D": (0.45, 0.46, 0.44, 0.48)}
    records = [make(m, f"r{i}", f1_macro=v) for m, values in splits.items() for i, v in enumerate(values)]
    order = {"text": "B > A > D", "order": ("B", "A", "D")}
    (found,) = compare(with_claims(recipe, order), recipe.data[1], records).claims
    pairs = [np.subtract(splits[a], splits[b]) for a, b in (("B", "A"), ("B", "D"), ("A", "D"))]
    shown = sum(p_above(d) <= 0.05 for d in pairs)
    plain = max(stats.ttest_1samp(d, 0, alternative="greater").pvalue for d in pairs)
    p = say_p(max(map(p_above, pairs)))
    assert (shown, found.verdict) == (2, "undecided")
    # B loses to A on the third split alone: 3 + 4 + 4 of 12.
    assert found.details == (
        "f1_macro, best first: B 0.5475, A 0.5050, D 0.4575; 3 of 3 pairs as claimed; 2 of 3 pairs shown one by one, "
        f"as claimed on 11 of 12 splits of pairs, largest uncorrected p {plain:.2g}; not shown, {p}",
    )


def test_every_verdict_is_explained_and_counted_in_the_summary(recipe, over_splits):
    for name, rule in {**CELL_VERDICTS, **CLAIM_VERDICTS}.items():
        assert [(topic.kind, topic.summary) for topic in explain(name)] == [("verdict", rule)]
    records = over_splits({"A": {"f1_macro": 0.5}, "B": {"f1_macro": 0.6}})
    comparisons = [compare(with_claims(recipe, AHEAD, A=0.7, B=0.6), recipe.data[1], records)]
    comparisons += [
        compare(with_claims(recipe, AHEAD), recipe.data[1].model_copy(update={"grade": "related"}), records)
    ]
    page = render_summary([TableOutcome("tiny", "Somebody", "Table 9", "tiny.md", found) for found in comparisons])
    counts = "0 holds, 0 fails, 0 undecided, 1 other data, 0 depends on the reading, 1 contradicts its own table"
    assert f"- claims: {counts}, 0 not comparable" in page
    n_close, n_differ = ([cell.verdict for cell in comparisons[1].cells].count(name) for name in ("close", "differs"))
    assert f"which cannot match, are among them: {n_close} close, {n_differ} differs." in page
    assert "are among them" not in render_summary([TableOutcome("tiny", "", "", "tiny.md", comparisons[0])])
    rows = [line for line in page.splitlines() if line.startswith("| [Table 9]")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    claims = HEADER.index("claims")
    assert [row[claims] for row in cells] == ["1 contradicts its own table", "1 is judged on other data"]
    assert r"claim 'B \> A': contradicts its own table" in page
    assert "contradicts its own table" in render_comparison(comparisons[0], "latex")


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
