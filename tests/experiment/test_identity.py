"""Every field of a configuration changes the keys, or is listed with the reason why it cannot change a result."""

import dataclasses
import sys

import numpy as np
import pytest

from mlrank.config import (
    DatasetConfig,
    ExperimentConfig,
    MethodConfig,
    PropensityConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
)
from mlrank.experiment import plan_cells, run, stored_trials
from mlrank.records import sources
from mlrank.records.identity import CHANGES_NO_TRIAL, CHANGES_NOTHING, HASHED
from mlrank.splits import kfold
from tests.experiment.small import CONFIG, small_config, small_data, write_libsvm

TEXT = """
name: small
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
subset: {{rows: 80}}
unknown_labels: refuse
methods:
  M:
    solver: rank_hlapsvm
    C: [0.1, 1]
    lam: [1, 2]
    project: {{kind: blda, n_components: [2, 3]}}
    threshold: {{kind: svr_midpoint, C: [0.1, 1], scores: train}}
search: {{folds: 3, metric: f1_micro, max_fits: 99, strategy: grid}}
metrics: [f1_micro]
seed: 3
"""
HOLDOUT = "{kind: holdout, train: 50, test: 20}"
KFOLD = "{kind: kfold, folds: 3}"
STRATA = "{kind: strata, single: 5, multiple: 12}"

# Of each field: what is replaced by what in the text, or the split before and after.
CHANGES = {
    "name": ("name: small", "name: other"),
    "metrics": ("metrics: [f1_micro]", "metrics: [lrap]"),
    "recipe": ("seed: 3", "seed: 3\nrecipe: {{name: emotions}}"),
    "unknown_labels": ("refuse", "absent"),
    "display_names": ("seed: 3", "seed: 3\ndisplay_names: {{M: Mine}}"),
    "own_metrics": ("seed: 3", 'seed: 3\nown_metrics: {{"mine:cost": {{higher_is_better: true, needs: sets}}}}'),
    "scale": None,
    "seed": ("seed: 3", "seed: 4"),
    "subset.rows": ("rows: 80", "rows: 81"),
    "subset.top_labels": ("rows: 80", "rows: 80, top_labels: 3"),
    "subset.min_positives": ("rows: 80", "rows: 80, min_positives: 30"),
    "subset.top_features": ("rows: 80", "rows: 80, top_features: 4"),
    "split.kind": (HOLDOUT, KFOLD),
    "split.train": (HOLDOUT, HOLDOUT.replace("50", "51")),
    "split.test": (HOLDOUT, HOLDOUT.replace("20", "21")),
    "split.folds": (KFOLD, KFOLD.replace("3", "4")),
    "split.stratified": (KFOLD, KFOLD.replace("3", "3, stratified: false")),
    "split.parts": ("{kind: per_class, parts: 3}", "{kind: per_class, parts: 2}"),
    "split.single": (STRATA, STRATA.replace("5", "6")),
    "split.multiple": (STRATA, STRATA.replace("12", "13")),
    "split.repeats": (HOLDOUT, HOLDOUT.replace("20", "20, repeats: 2")),
    "split.missing_labels": (HOLDOUT, HOLDOUT.replace("20", "20, missing_labels: 0.1")),
    "propensity.A": ("seed: 3", "seed: 3\npropensity: {{A: 0.5}}"),
    "propensity.B": ("seed: 3", "seed: 3\npropensity: {{B: 0.4}}"),
    "search.folds": ("folds: 3", "folds: 4"),
    "search.stratified": ("folds: 3,", "folds: 3, stratified: false,"),
    "search.metric": ("metric: f1_micro", "metric: f1_macro"),
    "search.strategy": ("strategy: grid", "strategy: staged"),
    "search.max_fits": ("max_fits: 99", "max_fits: 98"),
    "search.time_limit": ("max_fits: 99", "max_fits: 99, time_limit: 60"),
    "methods.name": ("  M:", "  N:"),
    "methods.notes": None,
    "methods.solver_class": None,
    "methods.threshold_class": None,
    "methods.solver": ("solver: rank_hlapsvm", "solver: hypergraph_spectral"),
    "methods.axes": ("C: [0.1, 1]\n", "C: [0.1, 2]\n"),
    "methods.calibrate": ("    threshold:", "    calibrate: sigmoid\n    threshold:"),
    "methods.threshold": ("svr_midpoint", "svr_min_error"),
    "methods.threshold_scores": ("scores: train", "scores: heldout"),
    "methods.threshold_axes": ("C: [0.1, 1], scores", "C: [0.1, 2], scores"),
    "methods.projection_class": ("kind: blda", "kind: plain"),
    "methods.projection_axes": ("n_components: [2, 3]", "n_components: [2, 4]"),
}


def fields_of_a_configuration():
    parts = {
        "datasets": DatasetConfig.model_fields,
        "subset": SubsetConfig.model_fields,
        "split": SplitConfig.model_fields,
        "search": SearchConfig.model_fields,
        "propensity": PropensityConfig.model_fields,
        "methods": [entry.name for entry in dataclasses.fields(MethodConfig)],
    }
    alone = [name for name in ExperimentConfig.model_fields if name not in parts]
    return {*alone, *(f"{part}.{name}" for part, names in parts.items() for name in names)}


def keys_of(config):
    """The keys of the runs and of the trials of a configuration."""
    cells = [cell for _, mine in plan_cells(config) for cell in mine]
    trials = {
        cell.trial(index, fold).key for cell in cells for index in range(len(cell.grid)) for fold in cell.searched_folds
    }
    return {cell.key for cell in cells}, trials


def listed(field, reasons):
    return field in reasons or field.partition(".")[0] in reasons


def test_every_field_is_changed_by_itself_below():
    fields = {field for field in fields_of_a_configuration() if not field.startswith("datasets.")}
    assert set(CHANGES) == fields
    known = {*CHANGES_NOTHING, *CHANGES_NO_TRIAL, *HASHED}
    assert {field for field in known if field not in fields} == set(HASHED)


@dataclasses.dataclass(frozen=True)
class Plain:
    """A projection that has the settings of another."""

    n_components: int = 2

    def fit(self, train):
        raise NotImplementedError


@pytest.mark.parametrize("field", [field for field in CHANGES if CHANGES[field]])
def test_a_field_that_is_changed_alone_changes_the_keys_or_is_listed(tmp_path, monkeypatch, field):
    from mlrank.solvers import PROJECTIONS

    monkeypatch.setitem(PROJECTIONS.places, "plain", f"{__name__}:Plain")
    before, after = CHANGES[field]
    split = {"split": before} if field.startswith("split.") else {"split": HOLDOUT}
    text = TEXT.replace("    lam: [1, 2]\n", "") if field == "methods.solver" else TEXT
    text = text.replace("C: [0.1, 1]\n", "tol: [0.1, 1]\n") if field == "methods.solver" else text
    old = small_config(tmp_path, **split, text=text)
    if field.startswith("split."):
        new = small_config(tmp_path, split=after, text=text)
    else:
        assert before in text
        new = small_config(tmp_path, **split, text=text.replace(before, after))
    (runs, trials), (new_runs, new_trials) = keys_of(old), keys_of(new)
    assert (runs == new_runs) == (field in CHANGES_NOTHING)
    assert (trials == new_trials) == (field in CHANGES_NOTHING or field in CHANGES_NO_TRIAL)


def test_scale_and_the_order_of_axes_change_the_keys(tmp_path):
    old = keys_of(small_config(tmp_path, scale="none"))
    new = keys_of(small_config(tmp_path, scale="standard"))
    assert not old[0] & new[0]
    assert not old[1] & new[1]
    # Of equal points the first is chosen, and a staged search goes from axis to axis.
    turned = CONFIG.replace("C: [0.1, 1], lam: [0, 1],", "lam: [0, 1], C: [0.1, 1],")
    assert turned != CONFIG
    runs, trials = keys_of(small_config(tmp_path, scale="none", text=turned))
    assert len(runs & old[0]) == 1
    assert trials == old[1]


def test_data_are_known_by_their_content(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    first = keys_of(small_config(one))
    assert keys_of(small_config(two)) == first
    config = small_config(two)
    X, Y = small_data(seed=1)
    write_libsvm(two / "part-test.svm", X[60:], Y[60:])
    runs, trials = keys_of(config)
    assert not runs & first[0]
    assert not trials & first[1]


@pytest.mark.parametrize("part", ["solver.tol", "threshold.C"])
def test_a_changed_default_changes_the_keys(tmp_path, monkeypatch, part):
    import mlrank.experiment.points as points

    text = CONFIG.replace("threshold: {{kind: svr_midpoint, C: [0.1, 1]}}", "threshold: svr_midpoint")
    old = keys_of(small_config(tmp_path, text=text))
    defaults_of = points.defaults_of

    def changed(kind, written):
        found = defaults_of(kind, written)
        name = part.partition(".")[2]
        return {**found, name: 99.0} if name in found else found

    monkeypatch.setattr(points, "defaults_of", changed)
    new = keys_of(small_config(tmp_path, text=text))
    assert len(old[0] & new[0]) == (part == "threshold.C")  # one method cuts at zero
    assert old[1] != new[1]


def test_a_new_version_makes_everything_again(tmp_path, monkeypatch):
    old = keys_of(small_config(tmp_path))
    monkeypatch.setattr("mlrank.experiment.cell.__version__", "99")
    new = keys_of(small_config(tmp_path))
    assert not old[0] & new[0]
    assert not old[1] & new[1]


OWN = """from dataclasses import dataclass
from parts_of_solver import level
from tests.experiment.small import Means

@dataclass(frozen=True)
class Own(Means):
    def fit(self, train, prepared=None):
        from dataclasses import replace
        return replace(super().fit(train, prepared), intercept=level(train.n_labels))
"""


def test_an_edit_beside_the_users_own_class_makes_its_runs_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "solver_with_parts.py").write_text(OWN)
    text = CONFIG.split("methods:")[0] + "methods:\n  M: {{solver: 'solver_with_parts:Own', shift: [0, 3]}}\nseed: 3\n"
    scores = []
    for level in (0.25, -0.25):
        (tmp_path / "parts_of_solver.py").write_text(f"import numpy as np\ndef level(k): return np.full(k, {level})\n")
        folder = run(small_config(tmp_path, text=text), tmp_path / "results")
        (record,) = folder.runs()
        assert {name for name in record.inputs if name.startswith("source.")} == {
            "source.parts_of_solver.py",
            "source.solver_with_parts.py",
        }
        scores.append(folder.run_arrays(record)["scores"][0, 0])
        # What is stored is read with the files as they were.
        (tmp_path / "parts_of_solver.py").write_text("x = 1\n")
        assert len(stored_trials(folder)) == 2 * 5
        for name in ("solver_with_parts", "parts_of_solver"):
            del sys.modules[name]
        sources._first_hashes.cache_clear()
    assert scores == [0.25, -0.25]


def test_the_rows_of_the_folds_are_known_by_themselves(tmp_path, monkeypatch):
    """Whatever makes other folds, a new version of the library that draws them too, makes other trials."""
    import mlrank.experiment.cell as cell

    text = CONFIG.replace("C: [0.1, 1, 10]", "C: 1")
    old, drawn = keys_of(small_config(tmp_path, text=text)), cell.kfold
    monkeypatch.setattr(cell, "kfold", lambda *given: drawn(*given)[::-1])
    new = keys_of(small_config(tmp_path, text=text))
    assert not old[1] & new[1]
    assert len(old[0] & new[0]) == 1  # one method searches nothing


def test_hidden_labels_are_known_by_their_places(tmp_path, monkeypatch):
    import mlrank.experiment.data as data

    split = HOLDOUT.replace("20", "20, missing_labels: 0.1")
    old, hide = keys_of(small_config(tmp_path, split)), data.hide_labels
    monkeypatch.setattr(data, "hide_labels", lambda Y, ratio, seed: hide(Y, ratio, seed + 1))
    monkeypatch.setattr("mlrank.experiment.cell.kfold", lambda Y, *how: kfold(np.ones_like(Y), *how))
    assert not keys_of(small_config(tmp_path, split))[1] & old[1]
    same = keys_of(small_config(tmp_path, split))
    monkeypatch.setattr(data, "hide_labels", hide)
    other = keys_of(small_config(tmp_path, split))  # of the same folds
    assert not same[0] & other[0]
    assert not same[1] & other[1]
