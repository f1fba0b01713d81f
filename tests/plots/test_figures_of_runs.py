"""Figures of runs: every number in them worked out from the records by hand, and refusals where there is nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import linregress

from mlrank.errors import UserError
from mlrank.plots import KINDS, Material, figures_of_kind, render
from mlrank.plots.convergence import convergence_figure
from mlrank.plots.cuts import threshold_figure
from mlrank.plots.labels import frequency_figure, jaccard, phi, together_figure
from mlrank.plots.learning import learning_figure
from mlrank.plots.scaling import fit_exponent, scaling_figure
from mlrank.plots.sensitivity import heat_figures, sensitivity_figure
from mlrank.records.run import MetricRecord, SearchTrial, TimeInfo, TrialRecord
from tests.stats.records import arrays, names, record, table


def sized(method, n_train, values, **changes):
    """Runs on so many training rows, one for each value."""
    dataset = {"n_train": n_train, **changes.pop("dataset", {})}
    return [record(method, "x", f"r{i}", value, dataset=dataset, **changes) for i, value in enumerate(values)]


def test_learning_curves_have_a_point_for_each_size():
    records = [*sized("A", 100, [0.3, 0.5]), *sized("A", 400, [0.6, 0.6]), *sized("B", 100, [0.2])]
    figure = learning_figure(records, "f1_macro")
    (panel,) = figure.panels
    a, b = panel.curves
    assert (a.label, a.x, a.y) == ("A", (100, 400), (0.4, 0.6))
    assert a.spread == pytest.approx((math.sqrt(0.02), 0))
    assert (b.x, b.y, b.spread) == ((100,), (0.2,), None)
    assert "higher is better" in figure.title


def test_folds_of_nearly_the_same_size_are_one_size():
    records = [*sized("A", 1000, [0.3]), *sized("A", 1040, [0.5]), *sized("A", 2000, [0.6])]
    (curve,) = learning_figure(records, "f1_macro").panels[0].curves
    assert (curve.x, curve.y) == ((1020, 2000), (0.4, 0.6))


def test_sizes_do_not_grow_together_step_by_step():
    records = [record for n in (1000, 1040, 1080, 1120) for record in sized("A", n, [0.5])]
    assert learning_figure(records, "f1_macro").panels[0].curves[0].x == (1020, 1100)


def test_failed_and_undefined_runs_are_no_points():
    records = [*sized("A", 100, [0.3, None]), *sized("A", 400, [0.6])]
    undefined = record(
        "A", "x", "r9", 0.1, dataset={"n_train": 400}, metrics={"f1_macro": MetricRecord(None, 0, 3, "labels")}
    )
    (curve,) = learning_figure([*records, undefined], "f1_macro").panels[0].curves
    assert (curve.x, curve.y) == ((100, 400), (0.3, 0.6))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (sized("A", 100, [0.3, 0.4]), "no learning curve: no method was trained on two numbers of rows"),
        (sized("A", 100, [None]), "nothing to draw: no run is finished without failure"),
    ],
)
def test_no_learning_curve_is_said(records, message):
    with pytest.raises(UserError, match=message):
        learning_figure(records, "f1_macro")


def timed(method, seconds, **sizes):
    data = {"n_train": 100, "n_features": 10, "n_labels": 5, **sizes}
    return record(method, "x", f"r{seconds}", 0.5, dataset=data, time={"fit": seconds, "machine": "M"})


def test_exponents_are_those_of_least_squares_on_logarithms():
    rng = np.random.default_rng(0)
    x = np.array([10, 20, 40, 80, 160.0])
    y = 3 * x**1.5 * np.exp(0.1 * rng.standard_normal(5))
    found, expected = fit_exponent(x, y), linregress(np.log(x), np.log(y))
    assert found == pytest.approx((expected.slope, expected.stderr, math.exp(expected.intercept)))
    assert fit_exponent([1, 4], [2, 8]) == (1.0, None, pytest.approx(2.0))


def test_times_are_drawn_against_each_size_while_the_others_stay():
    records = [
        *(timed("A", second, n_train=n) for n, second in ((100, 1.0), (200, 4.0), (400, 16.0), (900, 81.0))),
        timed("A", 3.0, n_features=20),
        timed("A", 7.0, n_train=800, n_features=40),  # differs in two sizes: compared with nothing
    ]
    figure = scaling_figure(records)
    assert [panel.title for panel in figure.panels] == ["against training rows n", "against features d"]
    points, line = figure.panels[0].curves
    assert points.label == "A: n^2.00 ± 0.00"
    assert (points.x, points.y, points.kind) == ((100, 200, 400, 900), (1.0, 4.0, 16.0, 81.0), "points")
    assert line.y == pytest.approx((1.0, 81.0))
    (two,) = figure.panels[1].curves  # sizes are too few for an exponent
    assert (two.label, two.kind) == ("A", "line")
    assert "Machine: M, one thread for each fit." in figure.notes


def test_the_point_of_a_size_is_the_median():
    records = [timed("A", second) for second in (1.0, 2.0, 9.0)] + [timed("A", 8.0, n_labels=10)]
    assert scaling_figure(records).panels[0].curves[0].y == (2.0, 8.0)


def test_curves_of_several_other_sizes_say_which():
    records = [timed("A", 1.0 + n / 100 + d, n_train=n, n_features=d) for n in (100, 200) for d in (10, 30)]
    labels = [curve.label.split(":")[0] for curve in scaling_figure(records).panels[0].curves if curve.label]
    assert labels == ["A (d=10, k=5)", "A (d=30, k=5)"]


def test_machines_and_early_stops_are_said():
    first, second = timed("A", 1.0), timed("A", 2.0, n_train=200)
    second = replace(second, time=replace(second.time, machine="N"), info=replace(second.info, converged=False))
    notes = scaling_figure([first, second]).notes
    assert "Warning: times come from different machines (M; N)." in notes
    assert "Some fits stopped before their tolerance, so took less than they would have: A." in notes
    with pytest.raises(UserError, match="no run time against size"):
        scaling_figure([first, timed("A", 2.0, n_train=200, n_labels=9)])


def trial(settings, fold, value, method="A", **journal):
    made = TrialRecord("k", value, n_iter=3, optimality=0.1, time=TimeInfo(fit=1.0))
    return SearchTrial("x", "r0", method, fold, settings, "f1_micro", replace(made, **journal))


def grid(values, folds=2):
    """Trials of a grid over C and kernel; a value goes up by 0.02 from fold to fold."""
    return [
        trial({"C": c, "kernel": k}, fold, value + 0.02 * fold)
        for (c, k), value in values.items()
        for fold in range(folds)
    ]


GRID = {(8.0, "rbf"): 0.6, (0, "rbf"): 0.5, (1.0, "rbf"): 0.7, (8.0, "lin"): 0.3, (0, "lin"): 0.2, (1.0, "lin"): 0.4}
CHOSE = [record("A", "x", f"r{i}", 0.5, searched=found) for i, found in enumerate([{"C": 1.0, "kernel": "rbf"}] * 2)]


def test_a_setting_is_drawn_with_the_others_as_chosen():
    figure = sensitivity_figure(grid(GRID), CHOSE)
    c, kernel = figure.panels
    assert [text for _, text in c.ticks] == ["0", "1", "8"]  # numbers rise
    assert c.curves[0].y == pytest.approx((0.51, 0.71, 0.61))
    assert c.curves[0].spread == pytest.approx([0.02 / math.sqrt(2)] * 3)
    assert c.stars == ((1.0, pytest.approx(0.71)),)
    assert [text for _, text in kernel.ticks] == ["rbf", "lin"]  # others stay as they were tried
    assert kernel.curves[0].y == pytest.approx((0.71, 0.41))


def test_the_choice_is_the_commonest_over_the_splits():
    other = record("A", "x", "r9", 0.5, searched={"C": 8.0, "kernel": "lin"})
    assert sensitivity_figure(grid(GRID), [other, *CHOSE]).panels[0].stars[0][0] == 1.0


def test_a_pair_of_settings_is_a_map_with_the_choice_framed():
    trials = [t for t in grid(GRID) if t.settings != {"C": 8.0, "kernel": "lin"}]
    (panel,) = heat_figures(trials, CHOSE)["A"].panels
    assert (panel.y_label, panel.x_label) == ("C", "kernel")
    assert (panel.y_ticks, panel.x_ticks) == (("0", "1", "8"), ("rbf", "lin"))
    assert np.array(panel.values[:2]) == pytest.approx(np.array([[0.51, 0.21], [0.71, 0.41]]))
    assert math.isnan(panel.values[2][1])
    assert panel.marked == ((1, 0),)


def test_failed_trials_are_no_points_and_no_search_no_figure():
    trials = [*grid(GRID), trial({"C": 1.0, "kernel": "rbf"}, 2, None, error="ValueError: x")]
    assert sensitivity_figure(trials, CHOSE).panels[0].curves[0].y == pytest.approx((0.51, 0.71, 0.61))
    with pytest.raises(UserError, match="no search has tried two values"):
        sensitivity_figure(grid({(1.0, "rbf"): 0.5}), CHOSE)
    assert heat_figures(grid({(1.0, "rbf"): 0.5}), CHOSE) == {}


def test_settings_that_are_lists_are_told_apart():
    trials = [trial({"scales": scales}, 0, value) for scales, value in (([1, 2], 0.5), ([3], 0.6))]
    panel = sensitivity_figure(trials, [record("A", "x", "r0", 0.5, searched={"scales": [3]})]).panels[0]
    assert [text for _, text in panel.ticks] == ["[1, 2]", "[3]"]
    assert panel.stars == ((1.0, 0.6),)


def test_convergence_of_a_search_over_a_limit():
    trials = [
        trial({"tol": tol, "C": c}, fold, 0.5, n_iter=n + fold, optimality=gap * c, time=TimeInfo(fit=n / 10))
        for tol, n, gap in ((1e-1, 4, 0.05), (1e-3, 20, 4e-4))
        for c in (1.0, 2.0)
        for fold in range(3)
    ]
    figure = convergence_figure(trials, [record("A", "x", "r0", 0.5, searched={"tol": 1e-3, "C": 2.0})])
    assert [panel.title for panel in figure.panels] == ["certificate against iterations", "certificate against seconds"]
    (curve,) = figure.panels[0].curves
    assert (curve.label, curve.x) == ("A on x (folds)", (5, 21))  # medians over the folds
    assert curve.y == pytest.approx((0.1, 8e-4))
    assert figure.panels[1].curves[0].x == (0.4, 2.0)


def limited(tol, n_iter, objective, C=1.0, **info):
    told = {"n_iter": n_iter, "objective": objective, "optimality": tol / 2, "converged": True, **info}
    return record(
        "A", "x", "r0", 0.5, settings={"C": C, "tol": tol, "seed": n_iter}, info=told, experiment=f"e{tol}{C}"
    )


def test_convergence_of_runs_has_the_objective_too():
    figure = convergence_figure([], [limited(0.1, 5, 12.0), limited(0.001, 30, 10.0)])
    curves = {panel.title: panel.curves for panel in figure.panels}
    assert curves["objective against iterations"][0].y == (12.0, 10.0)
    assert curves["certificate against iterations"][0].y == (0.05, 0.0005)


def test_convergence_never_runs_backwards():
    # By chance the loosest fit took the longest, and the middle one came no further than a faster one.
    fits = [(1e-1, 9, 0.05, 20.0), (1e-2, 4, 5e-3, 11.0), (3e-3, 6, 8e-3, 12.0), (1e-4, 30, 5e-5, 10.0)]
    records = [limited(tol, n, objective, optimality=gap) for tol, n, gap, objective in fits]
    curves = {panel.title: panel.curves[0] for panel in convergence_figure([], records).panels}
    found = curves["certificate against iterations"]
    assert (found.x, found.y) == ((4, 30), (5e-3, 5e-5))
    assert (np.diff(found.x) > 0).all()
    assert (np.diff(found.y) < 0).all()
    assert curves["objective against iterations"].y == (11.0, 10.0)  # of the same fits


def test_runs_that_differ_in_more_than_a_limit_are_no_curve():
    with pytest.raises(UserError, match="no method was fitted with two limits"):
        convergence_figure([], [limited(0.1, 5, 12.0), limited(0.001, 30, 10.0, C=2.0)])
    four = [limited(tol, n, 10.0, C=c) for c in (1.0, 2.0) for tol, n in ((0.1, 5), (0.001, 30))]
    labels = [curve.label for curve in convergence_figure([], four).panels[0].curves]
    assert labels == ["A on x, C=1.0", "A on x, C=2.0"]


def test_certificates_of_zero_are_left_out_and_said():
    records = [limited(0.1, 5, 12.0), limited(0.001, 30, 10.0), limited(1e-9, 60, 9.0, optimality=0.0)]
    figure = convergence_figure([], records)
    assert figure.panels[0].curves[0].x == (5, 30)
    assert any("1 fits with a certificate of exactly 0" in note for note in figure.notes)


STORED = {
    "Y_true": np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 0]], bool),
    "Y_pred": np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0]], bool),
    "scores": np.array([[2, -1, 1], [-1, -2, -1], [-1, -1, -2], [1, -2, -1.0]]),
    "rows": np.array([0, 1, 2, 3]),
}


def test_each_label_has_its_frequency_and_its_value():
    (panel,) = frequency_figure([record("A", "x", "r0", 0.5)], lambda found: STORED).panels
    (curve,) = panel.curves
    # Label 0: 3 of 4 rows, 2 hits, 1 missed: F1 = 4/5. Label 1 has no row. Label 2: 2 of 4, 1 hit, 1 missed: 2/3.
    assert curve.x == (0.75, 0.5)
    assert curve.y == pytest.approx((0.8, 2 / 3))


def test_labels_are_averaged_over_the_splits_where_they_are_defined():
    empty = {
        **STORED,
        "Y_true": STORED["Y_true"] & [True, True, False],
        "Y_pred": STORED["Y_pred"] & [True, True, False],
    }
    stored = {"r0": STORED, "r1": empty}
    records = table({"A": {"x": [0.5, 0.5]}})
    (curve,) = frequency_figure(records, lambda found: stored[found.split]).panels[0].curves
    assert curve.x == (0.75, 0.25)
    assert curve.y == pytest.approx((0.8, 2 / 3))


def test_unknown_entries_have_no_part_in_a_labels_frequency():
    known = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 1]], bool)
    (curve,) = (
        frequency_figure([record("A", "x", "r0", 0.5)], lambda found: {**STORED, "known": known}).panels[0].curves
    )
    assert curve.x == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_a_metric_that_is_no_average_over_labels_is_refused():
    with pytest.raises(UserError, match="f1_micro is not averaged over labels"):
        frequency_figure([record("A", "x", "r0", 0.5)], lambda found: STORED, "f1_micro")


def test_jaccard_and_phi_by_hand():
    Y = STORED["Y_true"]
    both = jaccard(Y)
    assert both[0, 2] == 1 / 4  # one row has both, four have either
    assert both[0, 1] == 0.0
    assert math.isnan(both[1, 1])
    assert phi(Y)[0, 2] == pytest.approx(np.corrcoef(Y[:, 0], Y[:, 2])[0, 1])
    assert math.isnan(phi(Y)[0, 1])


def test_labels_that_go_together_are_over_all_test_rows_once():
    records = table({"A": {"x": [0.5, 0.5]}, "B": {"x": [0.5, 0.5]}})
    parts = {"r0": slice(0, 3), "r1": slice(2, 4)}  # row 2 is a test row of both splits

    def read(found):
        return {name: values[parts[found.split]] for name, values in STORED.items()}

    figure = together_figure(records, read, "x", names)
    (panel,) = figure.panels
    assert panel.x_ticks == ("sea", "sky")  # by frequency; the label without a row is left out and said
    assert panel.values[0][1] == panel.values[1][0] == 1 / 4
    assert math.isnan(panel.values[0][0])
    assert figure.notes[0] == "The true labels of 4 test rows, most frequent label first."
    assert figure.notes[1].startswith("2 of 3 labels are shown")
    assert together_figure(records, read, "x", names, "correlation").panels[0].x_ticks == ("sea", "sky")
    with pytest.raises(UserError, match="some label entries are unknown"):
        together_figure(records, lambda found: {**read(found), "known": STORED["Y_true"]}, "x", names)


def test_threshold_curves_are_the_metrics_of_the_labels_above():
    stored = arrays(3, n=80)
    found = record("A", "x", "r0", 0.5, "f1_micro")
    panel = threshold_figure([found], lambda record: stored, "x").panels[0]
    curves = {curve.label: curve for curve in panel.curves}
    low, high = np.percentile(stored["scores"], [1, 99])
    assert (curves["f1_micro"].x[0], curves["f1_micro"].x[-1]) == pytest.approx((low, high))
    for place in (0, 25, 60):
        predicted = stored["scores"] > curves["f1_micro"].x[place]
        hits = (predicted & stored["Y_true"]).sum()
        assert curves["precision_micro"].y[place] == pytest.approx(hits / predicted.sum())
        assert curves["recall_micro"].y[place] == pytest.approx(hits / stored["Y_true"].sum())
        assert curves["f1_micro"].y[place] == pytest.approx(2 * hits / (predicted.sum() + stored["Y_true"].sum()))
    assert [(level.label, level.y) for level in panel.levels] == [("f1_micro of the run", 0.5)]


@pytest.fixture
def material():
    scores = {
        m: {d: [mean + 0.01 * i] for i, d in enumerate("uvwxyz")}
        for m, mean in zip("ABC", (0.5, 0.7, 0.6), strict=True)
    }
    searched = [replace(t, dataset="u") for t in grid(GRID)]
    records = table(scores, searched={"C": 1.0, "kernel": "rbf"})
    for place, found in enumerate(records):
        if found.dataset.name == "v":
            records[place] = replace(found, dataset=replace(found.dataset, n_train=90))
    return Material(records, ["f1_macro"], searched, lambda found: arrays(len(found.method)), names)


NAMES = {
    "sensitivity": ["sensitivity-u", "sensitivity-u-A"],
    "labels": ["labels-f1_macro"],
    "threshold": [f"threshold-{d}" for d in "uvwxyz"],
    "cooccurrence": [f"cooccurrence-{d}" for d in "uvwxyz"],
    "correlation": [f"correlation-{d}" for d in "uvwxyz"],
    "critical": ["critical-f1_macro"],
    "runtime": ["runtime"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_or_says_why_not(kind, material):
    if kind not in NAMES:
        with pytest.raises(UserError, match=r"^no "):
            figures_of_kind(kind, material)
        return
    figures = figures_of_kind(kind, material)
    assert list(figures) == NAMES[kind]
    assert b"<svg" in render(next(iter(figures.values())), "svg")


def test_an_unknown_kind_is_named_with_the_nearest(material):
    with pytest.raises(UserError, match=r"unknown kind of figure 'sensitivty'\. Did you mean 'sensitivity'"):
        figures_of_kind("sensitivty", material)


def test_generated_data_are_named_below_the_figure():
    records = [*sized("A", 100, [0.3]), *sized("A", 400, [0.6], dataset={"stand_in": True})]
    assert learning_figure(records, "f1_macro").notes[-1] == "Runs of demo; stand-in data, generated: x."
