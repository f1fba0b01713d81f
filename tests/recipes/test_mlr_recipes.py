"""The recipes of the efficient multi-label ranking paper: spreads, times of several methods, regions of the plane."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mlrank.config import config_of
from mlrank.datasets import load_dataset
from mlrank.datasets.catalogue import is_known
from mlrank.datasets.generated.gaussians import gaussian_classes
from mlrank.errors import UserError
from mlrank.recipes import (
    compare,
    compare_times,
    comparison_to_rich,
    experiment_mapping,
    load_recipe,
    plane_figure,
    render_comparison,
    times_mapping,
)
from mlrank.records.run import FitRecord, TimeInfo
from tests.recipes.conftest import p_above

PLANE = {"centres": [[-1, 0], [1, 0]], "spreads": [0.5, 0.5], "sizes": [6, 4], "extent": 2, "steps": 3, "seed": 3}


def with_text(folder, text):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + text)
    return load_recipe("tiny", folder)


class TestSpreads:
    SPREAD = "spread:\n  A: {f1_macro: 0.03}\n"

    def test_the_papers_and_ours_stand_behind_the_means(self, folder, make):
        recipe = with_text(folder, self.SPREAD)
        records = [make("A", "r0", f1_macro=0.5, ranking_loss=0.25), make("A", "r1", f1_macro=0.75, ranking_loss=0.25)]
        records += [make("B", split, f1_macro=0.5) for split in ("r0", "r1")]
        cells = {(c.method, c.metric): c for c in compare(recipe, recipe.data[1], records).cells}
        found = cells["A", "f1_macro"]
        assert (found.ours_spread, found.paper_spread) == (pytest.approx(0.125 * 2**0.5), 0.03)
        assert (cells["B", "f1_macro"].ours_spread, cells["B", "f1_macro"].paper_spread) == (0.0, None)
        assert cells["A", "ranking_loss"].paper_spread is None
        text = render_comparison(compare(recipe, recipe.data[1], records), "md")
        assert "0.5000 ± 0.0300" in text
        assert "0.6250 ± 0.1768" in text
        header, line, *_ = render_comparison(compare(recipe, recipe.data[1], records), "csv").splitlines()
        assert header.endswith("method,metric,paper,ours,difference,paper_spread,ours_spread,verdict,reason")
        assert line.split(",")[5:9] == ["0.5", "0.625", "0.125", "0.03"]

    def test_one_split_shows_none(self, folder, make):
        records = [make("A", "r0", f1_macro=0.5), make("A", "r1", f1_macro=0.75)]
        spread = with_text(folder, self.SPREAD)
        assert {cell.ours_spread for cell in compare(spread, spread.data[1], records[:1]).cells} == {None}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("spread:\n  C: {f1_macro: 0.03}\n", "unknown method with an expected number 'C'"),
            ("spread:\n  B: {ranking_loss: 0.03}\n", "unknown metric with an expected number 'ranking_loss'"),
        ],
    )
    def test_a_spread_belongs_to_a_number(self, folder, text, message):
        with pytest.raises(UserError, match=message):
            with_text(folder, text)


TIMES = """\
times:
  table: Table 10
  methods:
    slow: {solver: rank_svm, algorithm: frank_wolfe, threshold: zero}
    fast: {solver: rank_svm, threshold: zero}
    third: {solver: binary_svm}
  expected: {slow: 100.0, fast: 2.0, third: 4.0}
  spread: {slow: 7.5}
  claims:
    - {text: fast is fastest, faster_first: [fast, slow, third]}
  repeats: 3
"""


class TestTimes:
    def judged(self, folder, make, slow, third, fast=(2.0, 2.0)):
        recipe = with_text(folder, TIMES)
        info = FitRecord(7, 1.0, 0.05, True)
        records = []
        for method, seconds in (("slow", slow), ("fast", fast), ("third", third)):
            for number, second in enumerate(seconds):
                records.append(replace(make(method, f"r{number}"), time=TimeInfo(fit=second), info=info))
        comparison = compare_times(recipe, recipe.times, recipe.data[1], records)
        return comparison, comparison.claims[0]

    def test_the_first_is_set_against_each_of_the_others(self, folder, make):
        comparison, claim = self.judged(folder, make, (30.0, 50.0), (8.0, 8.0))
        # Against the third the ratio is 4 on both splits: nothing to test, so the p-value is of the slow one.
        assert (claim.ordering, claim.p) == ("holds", pytest.approx(p_above(np.log((15.0, 25.0)))))
        assert claim.details == (
            "slow took 20.0 times as long as fast; the paper's ratio is 50; 1 of 1 pairs shown one by one, as claimed "
            f"on 2 of 2 splits of pairs, largest uncorrected p {self.plain((15.0, 25.0)):.2g}",
            "third took 4.0 times as long as fast; the paper's ratio is 2; 0 of 1 pairs shown one by one, as claimed "
            "on 2 of 2 splits of pairs",
        )
        cells = {cell.method: cell for cell in comparison.cells}
        assert (cells["slow"].paper_spread, cells["slow"].ours_spread) == (7.5, pytest.approx(200**0.5))
        text = render_comparison(comparison, "md")
        assert "100.00 ± 7.50" in text
        assert "40.00 ± 14.14" in text

    @staticmethod
    def plain(ratios):
        """Return the one-sided p of the plain t-test that the mean logarithm is above 0."""
        return stats.ttest_1samp(np.log(ratios), 0.0, alternative="greater").pvalue

    @pytest.mark.parametrize(
        ("slow", "third", "ordering"),
        [
            ((30.0, 31.0, 29.0), (1.0, 1.1, 0.9), "fails"),
            ((30.0, 31.0, 29.0), (), "undecided"),
            ((1.0, 1.1, 0.9), (), "fails"),
            ((30.0, 31.0, 29.0), (8.0, 8.2, 8.4), "holds"),
        ],
    )
    def test_one_that_is_faster_is_enough_to_fail(self, folder, make, slow, third, ordering):
        _, claim = self.judged(folder, make, slow, third, fast=(2.0, 2.1, 2.0))
        assert claim.ordering == ordering

    def test_times_on_one_split_decide_nothing(self, folder, make):
        _, claim = self.judged(folder, make, (30.0,), (8.0,), fast=(2.0,))
        assert (claim.verdict, claim.p) == ("undecided", None)
        assert claim.details[0] == "slow took 15.0 times as long as fast; the paper's ratio is 50"

    def test_times_may_be_repeated_less_often(self, folder):
        recipe = with_text(folder, TIMES)
        mapping = times_mapping(recipe, recipe.times, recipe.data[1])
        assert mapping["split"] == {"kind": "holdout", "train": 6, "test": 4, "repeats": 3}
        assert "repeats" not in recipe.experiment["split"]


def test_many_metrics_stand_below_each_other_on_a_terminal(folder, make):
    from rich.console import Console

    path = folder / "tiny.yaml"
    path.write_text(path.read_text().replace("B: {f1_macro: 0.625}", "B: {f1_macro: 0.625, f1_micro: 0.5}"))
    recipe = with_text(folder, "spread:\n  A: {f1_macro: 0.03}\n")
    records = [make(method, split, f1_macro=0.5, f1_micro=0.25) for method in "AB" for split in ("r0", "r1")]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(comparison_to_rich(compare(recipe, recipe.data[1], records)))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    at = lines.index("f1_macro")
    assert re.split(r"  +", lines[at + 1].strip()) == ["A", "0.5000 ±0.0300", "0.5000 ±0.0000", "+0.0000", "matches"]
    assert re.split(r"  +", lines[lines.index("f1_micro") + 1].strip()) == [
        "B",
        "0.5000",
        "0.2500 ±0.0000",
        "-0.2500",
        "differs",
    ]
    assert lines.index("f1_macro") < lines.index("ranking_loss") < lines.index("f1_micro")


REGIONS = """
regions:
  plane:
    title: "Figure 1: the plane"
    panels: {points: null, first: A, second: B}
"""


class TestRegions:
    def drawn(self, folder, scores, data=None):
        recipe = with_text(folder, REGIONS)
        data = data or gaussian_classes("p", **PLANE)
        return plane_figure(recipe, "plane", recipe.data[2], data, scores), data

    def test_the_best_label_of_each_point_of_the_grid(self, folder):
        data = gaussian_classes("p", **PLANE)
        test = data.official[1]
        # In another order than the grid's; equal scores go to the first label.
        order = np.random.default_rng(0).permutation(test.size)
        scores = np.column_stack([np.zeros(9), data.X[test, 0]])[order]
        figure, _ = self.drawn(folder, {"A": (test[order], scores)}, data)
        assert figure.panels[0].winners is None
        assert figure.panels[1].winners.tolist() == [[0, 0, 1]] * 3
        assert figure.panels[2].title == "second: no run"
        assert figure.panels[2].winners is None
        assert (figure.x.tolist(), figure.y.tolist()) == ([-2, 0, 2], [-2, 0, 2])
        assert figure.classes.tolist() == [0] * 6 + [1] * 4
        assert np.array_equal(figure.points, data.X[:10])
        assert "stand-in data" in figure.notes[0]

    def test_rows_go_up(self, folder):
        data = gaussian_classes("p", **PLANE)
        test = data.official[1]
        figure, _ = self.drawn(folder, {"A": (test, np.column_stack([np.zeros(9), data.X[test, 1]]))}, data)
        assert figure.panels[1].winners.tolist() == [[0] * 3, [0] * 3, [1] * 3]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ("yeast", "two features and an official split, found 103 features"),
            ("several", "training rows with one label each"),
            ("swapped", "test rows that make up a grid"),
        ],
    )
    def test_other_data_are_refused(self, folder, data, message):
        from dataclasses import replace

        plane = gaussian_classes("p", **PLANE)
        X, Y = plane.X.copy(), plane.Y.copy()
        X[[10, 11]], Y[0] = X[[11, 10]], True
        found = {"several": replace(plane, Y=Y), "swapped": replace(plane, X=X)}
        with pytest.raises(UserError, match=message):
            self.drawn(folder, {}, load_dataset("yeast") if data == "yeast" else found[data])

    def test_a_panel_of_an_unknown_method_is_refused(self, folder):
        with pytest.raises(UserError, match="unknown method 'C'"):
            with_text(folder, REGIONS.replace("second: B", "second: C"))


AUC = ("auc_rank_curve", "auc_rank_curve_multi", "auc_rank_curve_single")
# Table 1 and Table 2, in percent and seconds.
PAPER = {
    "voc2006": {
        "Proposed": (76.8, 81.2, 74.4, 43.2),
        "LIBSVM": (76.4, 74.3, 76.8, 1147.5),
        "SVM-perf": (74.2, 74.0, 75.6, 673.7),
        "MLSSM": (75.8, 77.8, 75.6, 324.2),
    },
    "voc2007": {
        "Proposed": (76.0, 79.4, 73.1, 447.3),
        "LIBSVM": (74.8, 77.9, 72.2, 7720.7),
        "SVM-perf": (68.2, 69.4, 67.9, 1597.3),
        "MLSSM": (74.7, 78.6, 71.29, 1821.04),
    },
}


@pytest.mark.parametrize(("name", "single", "multiple"), [("voc2006", 1600, 800), ("voc2007", 3200, 2000)])
class TestVoc:
    def test_the_papers_numbers(self, name, single, multiple):
        recipe = load_recipe(name)
        for method, (*areas, seconds) in PAPER[name].items():
            assert [recipe.expected[method][metric] for metric in AUC] == [round(area / 100, 6) for area in areas]
            assert recipe.times.expected[method] == seconds
        assert recipe.expected["Proposed (as printed)"] == recipe.expected["Proposed"]
        assert recipe.spread.keys() == recipe.expected.keys()

    def test_the_experiments_can_be_run(self, name, single, multiple):
        recipe = load_recipe(name)
        assert all(is_known(option.dataset) for option in recipe.data if option.dataset != "user")
        for option in recipe.data:
            data = {"train": "a.svm"} if option.dataset == "user" else None
            for grid in recipe.grids:
                config = config_of(experiment_mapping(recipe, option, grid, data), name)
                halved = {method: point.grid()[0].settings.get("halve") for method, point in config.methods.items()}
                assert [method for method, value in halved.items() if value] == ["Proposed (as printed)"]
                if option.dataset == "user":
                    assert (config.split.single, config.split.multiple) == (single, multiple)
            config_of(times_mapping(recipe, recipe.times, option, data), name)

    def test_the_papers_grid(self, name, single, multiple):
        recipe = load_recipe(name)
        mapping = experiment_mapping(recipe, recipe.data[0], "paper", {"train": "a.svm"})
        config = config_of(mapping, name)
        for method in ("Proposed", "LIBSVM", "SVM-perf"):
            settings = [point.settings for point in config.methods[method].grid()]
            assert {one["C"] for one in settings} == {1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6}
            assert {one["gamma"] for one in settings} == {2.0**power for power in range(-11, 4, 2)}


def test_the_toy_can_be_run_and_its_figure_shows_its_methods():
    recipe = load_recipe("mlr-toy")
    config = config_of(experiment_mapping(recipe, recipe.data[0], "coarse"), "mlr-toy")
    assert all(len(method.grid()) == 1 for method in config.methods.values())
    assert set(recipe.regions["figure1"].panels.values()) == {None, *config.methods}
