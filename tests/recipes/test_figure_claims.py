"""Claims on curves: each form on curves whose answer is known, and what makes no sense refused."""

from dataclasses import replace

import numpy as np
import pytest

from mlrank.config import config_of
from mlrank.errors import UserError
from mlrank.recipes import figure_experiments, load_recipe
from mlrank.recipes.figure_claims import judge_figure
from mlrank.records.run import FitRecord, TimeInfo
from tests.recipes.conftest import p_above

FIGURE = """
figures:
  curves:
    title: "Figure 1: against rows"
    vary: split.train
    values: [10, 20, 40]
    x: {{label: rows}}
    y: {{metric: {metric}, label: y}}
    methods: {{A: {{solver: binary_svm}}, B: {{solver: rank_svm}}}}
    panels: {{both: [A, B]}}
    claims: [{claim}]
"""
JITTER = {"A": (0.0, 0.02, -0.02, 0.0), "B": (0.01, 0.0, 0.0, -0.01)}


def figure_of(folder, claim, metric="f1_macro"):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + FIGURE.format(metric=metric, claim=claim))
    return load_recipe("tiny", folder).figures["curves"]


def runs_of(make, curves, metric="f1_macro", jitter=JITTER):
    """Make runs on four splits whose values are those of the curves, times a factor that differs a little by split."""
    found = {}
    for place, x in enumerate((10, 20, 40)):
        found[x] = []
        for method, curve in curves.items():
            for i, more in enumerate(jitter[method]):
                value = curve[place] * (1 + more)
                record = make(method, f"r{i}", **({metric: value} if metric.startswith("f1") else {}))
                if metric == "fit_seconds":
                    record = replace(record, time=TimeInfo(fit=value))
                if metric == "objective":
                    record = replace(record, info=FitRecord(1, value, None, True))
                found[x].append(record)
    return found


@pytest.mark.parametrize(
    ("b", "verdict"),
    [((0.6, 0.7, 0.8), "holds"), ((0.4, 0.7, 0.8), "fails"), ((0.505, 0.7, 0.8), "undecided")],
)
def test_a_curve_ahead_is_ahead_at_every_value(folder, make, b, verdict):
    figure = figure_of(folder, "{text: B is best, ahead: [[B, A]]}")
    a = (0.5, 0.5, 0.5)
    (claim,) = judge_figure(figure, runs_of(make, {"A": a, "B": b}), "exact")
    assert claim.verdict == verdict
    d = [y * (1 + np.array(JITTER["B"])) - x * (1 + np.array(JITTER["A"])) for x, y in zip(a, b, strict=True)]
    expected = 3 * min(p_above(-one) for one in d) if verdict == "fails" else max(map(p_above, d))
    assert claim.p == pytest.approx(expected)
    if verdict == "fails":
        assert claim.details[0].startswith("f1_macro: 2 of 3 parts as claimed; not B and A at 10; ")


@pytest.mark.parametrize(
    ("curve", "verdict"),
    [((9.0, 5.0, 2.0), "holds"), ((9.0, 5.0, 6.0), "fails"), ((9.0, 5.0, 5.0), "holds"), ((9.0, 5.0, 5.0005), "fails")],
)
def test_a_falling_curve_never_rises(folder, make, curve, verdict):
    figure = figure_of(folder, "{text: falls, falls: [A]}", "objective")
    (claim,) = judge_figure(figure, runs_of(make, {"A": curve}, "objective"), "exact")
    assert claim.verdict == verdict


@pytest.mark.parametrize(("curve", "verdict"), [((9.0, 5.02, 5.0), "holds"), ((9.0, 5.2, 5.0), "fails")])
def test_a_curve_settles_near_its_last_value(folder, make, curve, verdict):
    figure = figure_of(folder, "{text: settles, settles: [A], by: 20}", "objective")
    runs = runs_of(make, {"A": curve}, "objective")
    runs[20] = [
        replace(record, info=FitRecord(1, record.fit.objective * (1 + i / 1e4), None, True))
        for i, record in enumerate(runs[20])
    ]
    (claim,) = judge_figure(figure, runs, "exact")
    assert claim.verdict == verdict
    assert claim.details[1] == "settled is within 1% of the value at 40 (a margin of ours)"


@pytest.mark.parametrize(
    ("b", "verdict"),
    [((0.4, 0.7, 0.4), "holds"), ((0.4, 0.4, 0.4), "fails"), ((0.4, 0.51, 0.4), "undecided")],
)
def test_one_value_ahead_is_enough_but_choosing_it_is_paid_for(folder, make, b, verdict):
    figure = figure_of(folder, "{text: with the right x, ahead_somewhere: [[B, A]]}")
    (claim,) = judge_figure(figure, runs_of(make, {"A": (0.5,) * 3, "B": b}), "exact")
    assert claim.verdict == verdict
    d = [y * (1 + np.array(JITTER["B"])) - 0.5 * (1 + np.array(JITTER["A"])) for y in b]
    expected = max(p_above(-one) for one in d) if verdict == "fails" else 3 * min(map(p_above, d))
    assert claim.p == pytest.approx(min(1, expected))


def test_near_curves_rising_curves_and_the_best_value(folder, make):
    claims = "{text: near, near: [[A, B]], within: 0.02}, {text: rises, rises: [B]}, {text: b, best_by: [A], by: 20}"
    figure = figure_of(folder, claims)
    a, b = (0.5, 0.52, 0.4), (0.501, 0.52, 0.41)
    near, rises, best = judge_figure(figure, runs_of(make, {"A": a, "B": b}), "exact")
    d = [x * (1 + np.array(JITTER["A"])) - y * (1 + np.array(JITTER["B"])) for x, y in zip(a, b, strict=True)]
    assert near.p == pytest.approx(max(p for one in d for p in (p_above(one + 0.02), p_above(0.02 - one))))
    assert near.details[1] == "near is within 0.02 (a margin of ours)"
    assert (rises.ordering, best.ordering) == ("fails", "holds")
    assert rises.details[0].startswith("f1_macro: 1 of 2 parts as claimed; not B from 20 to 40")


def test_linear_and_quadratic_growth_are_kept_apart(folder, make):
    """Seconds are 3 x and x^2 / 7, so the powers are 1 and 2 whatever the factors, which jitter turns a little."""
    figure = figure_of(folder, "{text: A grows more slowly, slower: [[A, B]]}", "fit_seconds")
    x = np.array([10, 20, 40])
    runs = runs_of(make, {"A": 3.0 * x, "B": x**2 / 7}, "fit_seconds")
    (claim,) = judge_figure(figure, runs, "exact")
    assert claim.details[1] == "seconds grow with rows: A with the power 1.00, B with the power 2.00"
    assert claim.ordering == "holds"
    backwards = figure.model_copy(update={"claims": (figure.claims[0].model_copy(update={"slower": (("B", "A"),)}),)})
    assert judge_figure(backwards, runs, "exact")[0].ordering == "fails"


def test_grades_sources_and_missing_runs(folder, make):
    figure = figure_of(folder, "{text: B is best, ahead: [[B, A]], source: figure}, {text: t, ahead: [[A, B]]}")
    runs = runs_of(make, {"A": (0.5,) * 3, "B": (0.7,) * 3})
    shown, contrary = judge_figure(figure, runs, "related")
    assert shown.line.startswith("claim 'B is best (from the figure)': on a related collection, where it is borne out")
    assert (shown.verdict, contrary.ordering) == ("other data", "fails")
    assert shown.p_holm == pytest.approx(2 * min(shown.p, contrary.p))
    missing = {**runs, 20: [record for record in runs[20] if record.method == "A"]}
    assert judge_figure(figure, missing, "exact")[0].verdict == "undecided"
    once = {x: [record for record in found if record.split == "r0"] for x, found in runs.items()}
    assert judge_figure(figure, once, "exact")[0].verdict == "undecided"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("{text: t}", "a claim on a figure has one of ahead, .*, best_by, found none"),
        ("{text: t, falls: [A], ahead: [[A, B]]}", "found ahead and falls"),
        ("{text: t, settles: [A]}", "'by' goes with 'settles' and 'best_by'"),
        ("{text: t, falls: [A], by: 20}", "'by' goes with"),
        ("{text: t, settles: [A], by: 15}", "'by' is one of the values 10, 20, 40, found 15"),
        ("{text: t, falls: [C]}", "unknown method of the figure 'C'"),
    ],
)
def test_claims_that_make_no_sense_are_refused(folder, claim, message):
    with pytest.raises(UserError, match=message):
        figure_of(folder, claim)


@pytest.mark.parametrize(
    ("recipe", "figure", "forms"),
    [
        ("corel5k", "figure-1", ["falls", "settles"]),
        ("mediamill-slrm", "figure-2", ["ahead"]),
        ("msrc", "figure-3", ["ahead"]),
        ("scene", "figure1", ["near"]),
        ("yeast", "figure2", ["near"]),
        ("arts", "figure5", ["rises", "ahead"]),
        ("arts", "figure6", ["slower", "ahead"]),
        ("computers", "figure7", ["rises"]),
        ("imageclef", "lambda", ["ahead_somewhere"]),
        ("imageclef", "growth", ["slower"]),
        ("mediamill", "lambda", ["ahead_somewhere"]),
        ("science", "neighbours", ["best_by"]),
    ],
)
def test_the_shipped_figures_have_their_claims(recipe, figure, forms):
    claims = load_recipe(recipe).figures[figure].claims
    assert [next(form for form in forms if getattr(claim, form)) for claim in claims] == forms
    (split,) = {config.split.repeats for _, config in _experiments(recipe, figure)}
    assert split > 1 or recipe == "science"  # one split decides nothing; its five folds are as many


def _experiments(name, figure):
    recipe = load_recipe(name)
    option = (recipe.figures[figure].data or recipe.data)[-1]
    files = {"train": "a.svm"} if option.dataset == "user" else None
    return [(x, config_of(made, "here")) for x, made in figure_experiments(recipe, figure, option, files)]
