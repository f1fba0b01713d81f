import csv
import io
import re

import pytest

from mlrank.recipes import compare, comparison_to_rich, render_comparison
from tests.recipes.conftest import on_splits, p_above


def judged(recipe, records, place=1):
    comparison = compare(recipe, recipe.data[place], records)
    (claim,) = comparison.claims
    return comparison, claim


def test_ours_is_the_mean_beside_the_papers_number_and_the_difference(recipe, make):
    records = [
        make("A", "r0", f1_macro=0.5, ranking_loss=0.25),
        make("A", "r1", f1_macro=0.75, ranking_loss=0.25),
        make("B", "r0", f1_macro=0.5, ranking_loss=0.125),
        make("B", "r1", f1_macro=0.5, ranking_loss=0.125),
        make("A", "r2", dataset="fake", f1_macro=1.0),
    ]
    comparison, claim = judged(recipe, records)
    found = {(cell.method, cell.metric): (cell.paper, cell.ours, cell.difference) for cell in comparison.cells}
    assert found == {
        ("A", "f1_macro"): (0.5, 0.625, 0.125),
        ("A", "ranking_loss"): (0.2, 0.25, pytest.approx(0.05)),
        ("B", "f1_macro"): (0.625, 0.5, -0.125),
    }
    assert comparison.notes[1:3] == (
        "mean ± standard deviation over 2 splits",
        "rules of the verdicts: mlrank explain VERDICT",
    )
    # B is worse in f1_macro, which two splits do not show, and better (lower) in ranking_loss, by as much on both
    assert claim.verdict == "undecided"
    assert claim.details == (
        # The differences are 0 and -1/4: plain t = -1, so p = 3/4.
        "f1_macro, best first: A 0.6250, B 0.5000; 0 of 1 pairs as claimed; 0 of 1 pairs shown one by one, as claimed "
        "on 0 of 2 splits of pairs, largest uncorrected p 0.75; not shown, p = 0.68",
        "ranking_loss, best first: B 0.1250, A 0.2500; 1 of 1 pairs as claimed; 0 of 1 pairs shown one by one, as "
        "claimed on 2 of 2 splits of pairs",
    )


PAIRS = [
    ((0.5, 0.2), (0.6, 0.1), "holds"),
    ((0.5, 0.1), (0.6, 0.2), "fails"),
    ((0.6, 0.2), (0.5, 0.1), "fails"),
    ((0.5, 0.2), (0.5, 0.1), "undecided"),
    ((0.3, 0.2), (0.1 + 0.2, 0.1), "undecided"),
    ((0.5, 0.2), (None, 0.1), "undecided"),
    ((0.5, 0.1), (None, 0.2), "fails"),
]


@pytest.mark.parametrize(("a", "b", "verdict"), PAIRS)
def test_a_claim_holds_in_every_metric_or_fails_in_one_or_is_undecided(recipe, over_splits, a, b, verdict):
    metrics = ("f1_macro", "ranking_loss")
    _, claim = judged(recipe, over_splits({m: dict(zip(metrics, v, strict=True)) for m, v in (("A", a), ("B", b))}))
    assert (claim.verdict, claim.ordering) == (verdict, verdict)
    # From scratch: it holds if the larger of the two p-values is small, it fails if twice the smaller contrary one is.
    ahead = [sign * (on_splits("B", y) - on_splits("A", x)) for sign, x, y in zip((1, -1), a, b, strict=True) if y]
    holds, fails = max(map(p_above, ahead)), 2 * min(p_above(-d) for d in ahead)
    shown = "fails" if fails <= 0.05 else "holds" if holds <= 0.05 and len(ahead) == 2 else "undecided"
    assert shown == verdict
    if len(ahead) == 2:
        assert claim.p == pytest.approx(fails if verdict == "fails" else holds)


@pytest.mark.parametrize(("a", "b", "verdict"), PAIRS)
def test_one_split_decides_no_claim(recipe, make, a, b, verdict):
    records = [make("A", f1_macro=a[0], ranking_loss=a[1]), make("B", f1_macro=b[0], ranking_loss=b[1])]
    comparison, claim = judged(recipe, records)
    assert (claim.verdict, claim.ordering, claim.p) == ("undecided", "undecided", None)
    assert claim.line == "claim 'B > A': undecided (same data and split; no test possible: one split)"
    assert not any("shown" in detail or "split" in detail for detail in claim.details)
    assert comparison.notes[1] == "one split: no test is possible, so no claim is decided"


def test_a_wrong_pair_fails_a_claim_although_the_method_between_is_missing(recipe, over_splits):
    claim = recipe.claims[0].model_copy(update={"order": ("B", "C", "A"), "metrics": ("f1_macro",)})
    longer = recipe.model_copy(update={"claims": (claim,)})
    assert judged(longer, over_splits({"A": {"f1_macro": 0.6}, "B": {"f1_macro": 0.5}}))[1].verdict == "fails"
    _, missing = judged(longer, over_splits({"A": {"f1_macro": 0.4}, "B": {"f1_macro": 0.5}}))
    assert missing.verdict == "undecided"
    (detail,) = missing.details
    assert detail.startswith(
        "f1_macro, best first: B 0.5000, A 0.4000, C missing; 1 of 3 pairs as claimed; 1 of 3 pairs shown "
    )
    assert "as claimed on 4 of 4 splits of pairs" in detail


@pytest.mark.parametrize("broken", [{"status": "failed"}, {"f1_macro": None}, None])
def test_a_number_that_is_missing_on_one_split_is_not_compared(recipe, make, broken):
    whole = {"f1_macro": 0.5, "ranking_loss": 0.1}
    records = [make("A", split, **whole) for split in ("r0", "r1")] + [make("B", "r0", **whole)]
    if broken is not None:
        records.append(make("B", "r1", **{**whole, **broken}))
    comparison, claim = judged(recipe, records)
    (cell,) = [cell for cell in comparison.cells if cell.method == "B"]
    assert (cell.ours, cell.difference) == (None, None)
    assert "no number on every split: B" in comparison.notes
    assert claim.verdict == "undecided"


def test_a_mean_that_leaves_labels_out_is_told_with_its_value_if_they_counted_as_0(recipe, make):
    records = [
        make("A", "r0", f1_macro=0.5, ranking_loss=0.0),
        make("A", "r1", f1_macro=0.5, ranking_loss=0.0, n_defined=3),
        make("B", "r0", f1_macro=0.5, ranking_loss=0.0),
        make("B", "r1", f1_macro=0.5, ranking_loss=0.0),
    ]
    comparison, _ = judged(recipe, records)
    # (0.5 + 0.5 * 3 / 4) / 2
    assert "f1_macro of A is over 3 of 4 labels; with the others as 0 it is 0.4375" in comparison.notes
    assert not any(note.startswith("f1_macro of B") for note in comparison.notes)


def test_without_any_record_everything_is_missing(recipe):
    comparison, claim = judged(recipe, [])
    assert [cell.ours for cell in comparison.cells] == [None] * 3
    assert claim.verdict == "undecided"


HELD = {"A": {"f1_macro": 0.5, "ranking_loss": 0.2}, "B": {"f1_macro": 0.625, "ranking_loss": 0.1}}


@pytest.mark.parametrize(("place", "dataset", "stand_in"), [(2, "fake", True), (2, "fake", False), (1, "real", True)])
def test_nothing_is_compared_on_stand_in_data_however_they_got_in(recipe, over_splits, place, dataset, stand_in):
    comparison, claim = judged(recipe, over_splits(HELD, dataset=dataset, stand_in=stand_in), place)
    assert comparison.grade == "stand-in"
    assert (claim.verdict, claim.ordering) == ("not comparable", "holds")
    assert [cell.difference for cell in comparison.cells] == [None] * 3
    assert {cell.verdict for cell in comparison.cells} == {"not comparable"}
    for fmt in ("md", "latex", "csv"):
        text = render_comparison(comparison, fmt)
        assert not re.search(r"holds|fails|reproduc|match|agree|\+0\.0000", text)
    for fmt in ("md", "latex"):
        text = render_comparison(comparison, fmt)
        assert "claim 'B" in text
        assert "on stand-in data, says nothing about the paper" in text
        assert "(stand-in data)" in text


@pytest.mark.parametrize(
    ("grade", "words", "verdict", "found"),
    [
        ("exact", "same data and split", "holds", "holds (same data and split; "),
        ("same-source", "same source, new sample", "holds", "holds (same source, new sample; "),
        ("related", "related collection", "other data", "on a related collection, where it is borne out ("),
    ],
)
def test_every_grade_is_in_the_title_and_in_the_verdict(recipe, over_splits, grade, words, verdict, found):
    option = recipe.data[1].model_copy(update={"grade": grade})
    comparison = compare(recipe, option, over_splits(HELD))
    assert comparison.title == f"Table 9 of Somebody, 2000 beside ours on real ({words})"
    (claim,) = comparison.claims
    assert (claim.verdict, claim.ordering) == (verdict, "holds")
    assert claim.line.startswith(f"claim 'B > A': {found}corrected resampled t-test over 4 splits, one-sided, p ")


def test_files_of_the_user_are_whatever_is_not_in_the_catalogue(recipe, make, over_splits):
    records = over_splits(HELD, dataset="mine")
    comparison, claim = judged(recipe, [*records, make("A", dataset="real", f1_macro=0.9, ranking_loss=0.0)], 0)
    assert comparison.dataset == "mine"
    assert claim.verdict == "holds"
    with pytest.raises(ValueError, match="several data sets: mine, other"):
        compare(recipe, recipe.data[0], [*records, make("A", dataset="other")])


@pytest.fixture
def comparison(recipe, make):
    return compare(recipe, recipe.data[1], [make("A", f1_macro=0.5, ranking_loss=0.25), make("B", f1_macro=0.6)])


def test_markdown_shows_paper_ours_and_difference(comparison):
    lines = render_comparison(comparison, "md").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:6]]
    columns = ["paper", "ours", "difference", "verdict"]
    assert rows[0] == ["method", *(f"f1_macro {name}" for name in columns), *(f"ranking_loss {n}" for n in columns)]
    assert rows[2] == ["A", "0.5000", "0.5000", "+0.0000", "matches", "0.2000", "0.2500", "+0.0500", "differs"]
    assert rows[3] == ["B", "0.6250", "0.6000", "-0.0250", "differs", "-", "-", "-", "-"]
    assert r"- claim 'B \> A': undecided (same data and split; no test possible: one split)" in lines
    assert "- differs: A ranking_loss: 0.050 above the paper's; one split gives no interval" in lines
    assert "- protocol: nothing was left open" in lines


def test_latex_is_escaped(comparison):
    text = render_comparison(comparison, "latex")
    assert r"A & 0.5000 & 0.5000 & +0.0000 & matches & 0.2000 & 0.2500 & +0.0500" in text
    assert r"& differs \\" in text
    assert r"f1\_ \\ macro \\ paper" in text
    assert r"claim 'B \textgreater{} A'" in text


def test_csv_has_full_precision_and_one_line_per_number(comparison):
    rows = list(csv.DictReader(io.StringIO(render_comparison(comparison, "csv"))))
    assert [(row["method"], row["metric"]) for row in rows] == [
        ("A", "f1_macro"),
        ("A", "ranking_loss"),
        ("B", "f1_macro"),
    ]
    assert float(rows[2]["difference"]) == 0.6 - 0.625
    assert {row["grade"] for row in rows} == {"exact"}


def test_an_unknown_format_is_refused(comparison):
    with pytest.raises(ValueError, match="unknown format of a comparison 'html'"):
        render_comparison(comparison, "html")


def test_the_terminal_shows_the_verdict_and_the_order(comparison):
    from rich.console import Console

    buffer = io.StringIO()
    Console(file=buffer, width=120).print(comparison_to_rich(comparison))
    lines = buffer.getvalue().splitlines()
    assert "claim 'B > A': undecided (same data and split; no test possible: one split)" in lines
    assert "  f1_macro, best first: B 0.6000, A 0.5000; 1 of 1 pairs as claimed" in lines
    assert "  ranking_loss, best first: A 0.2500, B missing; 0 of 1 pairs as claimed" in lines
