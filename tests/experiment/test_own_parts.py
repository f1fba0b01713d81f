"""Metrics and thresholds of one's own, named by import path: computed, searched by, keyed by their source."""

import re
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from mlrank.config import load_config, load_stored_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.run import plan_cells
from mlrank.experiment.states import changes
from mlrank.metrics import METRICS, measure
from mlrank.records import RunFolder, sources
from mlrank.solvers import FitInfo
from mlrank.tables import build_tables, tidy_frame
from tests.experiment.small import small_config

HERE = "tests.experiment.test_own_parts"
CONFIG = """
name: own
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  kNN: {{solver: knn, threshold: {{kind: "MODULE:Quantile", part: [0.2, 0.5, 0.8], max_labels: 3}}}}
search: {{folds: 2, metric: "MODULE:missed"}}
metrics: ["MODULE:missed", "MODULE:gap", f1_macro]
"""


def missed(Y, Y_pred):
    """The share of relevant labels that are not predicted."""
    return (Y & ~Y_pred).sum() / Y.sum()


def gap(Y, scores):
    return scores[Y].mean() - scores[~Y].mean()


def undirected(Y, Y_pred):
    return 0.0


def needless(Y, Y_pred):
    return 0.0


def text(Y, Y_pred):
    return "high"


def undefined(Y, Y_pred):
    return np.nan


missed.needs, missed.higher_is_better = "sets", False
gap.needs, gap.higher_is_better = "scores", True
undirected.needs = "sets"
needless.higher_is_better = True
text.needs, text.higher_is_better = "sets", True
undefined.needs, undefined.higher_is_better = "sets", True


@dataclass(frozen=True)
class Quantile:
    """The part of training scores of each label that is cut off."""

    part: float = 0.5

    def __post_init__(self):
        if not 0 < self.part < 1:
            raise ValueError(f"part must be between 0 and 1, found {self.part}")

    def fit(self, scores, Y, X, known=None):
        level = np.quantile(scores, self.part, axis=0)
        return lambda scores, X, Y=None: scores > level


@dataclass(frozen=True)
class Counts:
    def fit(self, scores, Y, X, known=None):
        return lambda scores, X, Y=None: (scores > 0).astype(int)


def config_text(module=HERE):
    return CONFIG.replace("MODULE", module)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    return run(small_config(folder, text=config_text()), folder / "r", jobs=1)


def test_they_are_computed_and_searched_by(finished):
    (record,) = finished.runs()
    arrays = finished.run_arrays(record)
    Y, scores = arrays["Y_true"], arrays["scores"]
    assert record.value(f"{HERE}:missed") == pytest.approx(1 - np.count_nonzero(arrays["Y_pred"][Y]) / Y.sum())
    assert record.value(f"{HERE}:gap") == pytest.approx(scores[Y].mean() - scores[~Y].mean())
    # The least part cut off misses the fewest labels: a search that took more for better would choose 0.8.
    assert record.searched == {"threshold.part": 0.2}
    assert (record.threshold.kind, record.threshold.settings["max_labels"]) == (f"{HERE}:Quantile", 3)
    assert arrays["Y_pred"].sum(axis=1).max() <= 3
    assert "to be stored by" in record.model.not_stored


def test_results_are_read_without_the_code(finished, monkeypatch):
    monkeypatch.setattr(METRICS, "_own", {})
    folder = RunFolder.open(finished.path)
    (table,) = build_tables(folder.runs(), [f"{HERE}:missed", "f1_macro"])
    assert table.rows[0].cells[0].value == folder.runs()[0].value(f"{HERE}:missed")
    tidy = tidy_frame(folder.runs())
    directions = dict(zip(tidy["metric"], tidy["higher_is_better"], strict=True))
    assert (directions[f"{HERE}:missed"], directions[f"{HERE}:gap"]) == (False, True)
    with pytest.raises(ValueError, match="is not imported from a results folder"):
        measure(f"{HERE}:missed", np.ones((1, 1), bool), np.ones((1, 1), bool))
    stored = load_stored_config(folder.path / "config.yaml")
    assert stored.own_metrics[f"{HERE}:missed"].higher_is_better is False
    with pytest.raises(UserError, match=r"names code, .*, which is never imported from a results folder"):
        load_config(folder.path / "config.yaml")


MODULES = {
    "mycost.py": "from helper_of_cost import weight\n\ndef cost(Y, Y_pred):\n    return weight * (Y != Y_pred).mean()\n"
    "cost.needs, cost.higher_is_better = 'sets', False\n",
    "helper_of_cost.py": "weight = 2.0\n",
    "mycut.py": "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Cut:\n"
    "    def fit(self, scores, Y, X, known=None):\n        return lambda scores, X, Y=None: scores > 0.25\n",
}


@pytest.mark.parametrize(
    ("file", "searched", "trials"),
    [("helper_of_cost.py", False, False), ("mycost.py", True, True), ("mycut.py", False, True)],
)
def test_an_edit_of_their_source_is_what_changed(tmp_path, monkeypatch, file, searched, trials):
    """A metric that is only shown changes no trial; one that is searched by does, and so does a threshold."""
    for name, content in MODULES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    sources._first_hashes.cache_clear()
    written = CONFIG.replace('{{kind: "MODULE:Quantile", part: [0.2, 0.5, 0.8], max_labels: 3}}', '"mycut:Cut"')
    written = written.replace("solver: knn", "solver: knn, n_neighbors: [2, 3]")
    written = written.replace('metric: "MODULE:missed"', 'metric: "mycost:cost"' if searched else "metric: f1_micro")
    written = written.replace('["MODULE:missed", "MODULE:gap", f1_macro]', '["mycost:cost"]')
    config = small_config(tmp_path, text=written)
    folder = run(config, tmp_path / "r", jobs=1)
    ((_, (before,)),) = plan_cells(config)
    assert changes(config, folder, "kNN") == {before.label: []}
    keys = before.key, before.trial(0, 0).key
    monkeypatch.setattr(sources, "_first_hashes", lambda module: {})
    (tmp_path / file).write_text(MODULES[file] + "\n# an edit\n")
    ((_, (after,)),) = plan_cells(config)
    (found,) = changes(config, folder, "kNN").values()
    assert [change.name.partition(".")[2] for change in found] == [file]
    assert keys[0] != after.key
    assert (keys[1] != after.trial(0, 0).key) is trials


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MODULE:gap", "nowhere_at_all:x", "no module named 'nowhere_at_all'"),
        ("MODULE:gap", "MODULE:gape", "unknown function of module .* 'gape'. Did you mean 'gap'"),
        ("MODULE:gap", "MODULE:undirected", "undirected' must declare undirected.higher_is_better as True or False"),
        ("MODULE:gap", "MODULE:needless", "must declare needless.needs as 'scores' or 'sets', found None"),
        ("MODULE:gap", "MODULE:HERE", "is no metric: a metric is a function"),
        ("MODULE:gap", "not a path:x", "is not of the form"),
        ("MODULE:Quantile", "MODULE:Quantil", "unknown class of module .* 'Quantil'. Did you mean 'Quantile'"),
        ("MODULE:Quantile", "MODULE:missed", "is no threshold: a threshold is a frozen dataclass with fit"),
        ("part: [0.2", "part: [2.0", "part must be between 0 and 1, found 2.0"),
        ("part:", "pert:", "unknown setting of .*:Quantile 'pert'. Did you mean 'part'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(tmp_path, old, new, message):
    with pytest.raises(UserError, match=message) as caught:
        small_config(tmp_path, text=CONFIG.replace(old, new).replace("MODULE", HERE))
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith("small.yaml:")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MODULE:gap", "MODULE:text", "the metric '.*:text' must return a number, found str"),
        ('{{kind: "MODULE:Quantile", part: [0.2, 0.5, 0.8], max_labels: 3}}', '"MODULE:Counts"', "bool label sets"),
    ],
)
def test_what_is_wrong_with_a_result_fails_the_run(tmp_path, old, new, message):
    config = small_config(tmp_path, text=CONFIG.replace(old, new).replace("MODULE", HERE))
    (record,) = run(config, tmp_path / "r", jobs=1).runs()
    assert not record.done
    assert re.search(message, record.reason)


def test_an_undefined_value_is_shown_as_such_but_none_to_search_by(tmp_path):
    METRICS.load([f"{HERE}:undefined"])
    Y = np.ones((2, 2), bool)
    assert measure(f"{HERE}:undefined", Y, Y)[1:] == (0, 1, "all")
    text = CONFIG.replace('metric: "MODULE:missed"', 'metric: "MODULE:undefined"').replace("MODULE", HERE)
    (record,) = run(small_config(tmp_path, text=text), tmp_path / "r", jobs=1).runs()
    assert record.search.n_failed == record.search.n_trials > 0


def test_unknown_labels_need_a_metric_that_takes_them(tmp_path):
    text = config_text().replace("split: {split}", "split: {{kind: kfold, folds: 2, missing_labels: 0.2}}")
    text = text.replace("solver: knn", "solver: binary_svm").replace("search:", "unknown_labels: absent\nsearch:")
    with pytest.raises(UserError, match=r"has unknown label entries, which the metric '.*' cannot leave out"):
        plan_cells(small_config(tmp_path, text=text))


class Narrow:
    """Scores of one label, whatever the number of labels."""

    info = FitInfo(n_iter=1, objective=0.0, optimality=0.0, converged=True)

    def decision_function(self, X):
        return np.zeros((X.shape[0], 1))


@dataclass(frozen=True)
class Returning:
    """A solver whose fit returns anything but a model of all labels."""

    what: str = "nothing"

    def fit(self, train, prepared=None):
        model = Narrow()
        if self.what == "no info":
            model.info = {}
        return {"nothing": None, "a number": 3.0}.get(self.what, model)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nothing", "fit of Returning must return a model, found NoneType without decision_function(X)"),
        ("no info", "fit of Returning must return a model, found Narrow without info, a FitInfo"),
        ("one label", "Narrow must give scores of 30 rows and 4 labels, found the shape (30, 1)"),
    ],
)
def test_what_an_own_solver_returned_is_named(tmp_path, what, message):
    own = f"methods:\n  Own:\n    solver: {HERE}:Returning\n    what: {what}\n"
    text = CONFIG.partition("methods:")[0] + own
    (record,) = run(small_config(tmp_path, text=text), tmp_path / "r", jobs=1).runs()
    assert record.reason == f"ValueError: {message}"
