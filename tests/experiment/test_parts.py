"""Unknown labels, rows without labels, and projections, from the configuration to the stored runs."""

from dataclasses import dataclass

import numpy as np
import pytest

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import plan_cells, run
from mlrank.experiment.points import idle_settings
from mlrank.metrics import evaluate
from mlrank.records.run import ComponentInfo
from mlrank.solvers import PROJECTIONS, SOLVERS, TrainingSet
from tests.experiment.small import small_config, small_data

TEXT = """
name: small
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  M: {METHOD}
search: {{folds: 3}}
"""


def config_of(folder, method, split="{kind: official}", scale="none", more=""):
    return small_config(
        folder, split, scale, TEXT.replace("{METHOD}", method.replace("{", "{{").replace("}", "}}")) + more
    )


def toy(name, settings=""):
    return f"{{solver: 'tests.experiment.small:{name}'{settings}}}"


def with_gaps(folder):
    """Write 60 rows with some label cells unknown as an ARFF file; return the text of a config's data set."""
    X, Y = small_data()
    known = np.random.default_rng(8).random(Y.shape) < 0.8
    lines = ["@relation 'gaps: -C 4'", *(f"@attribute l{j} {{0,1}}" for j in range(4))]
    lines += [*(f"@attribute f{j} numeric" for j in range(5)), "@data"]
    for x, y, k in zip(X, Y, known, strict=True):
        cells = [str(int(value)) if seen else "?" for value, seen in zip(y, k, strict=True)]
        lines.append(",".join([*cells, *(repr(value) for value in x.tolist())]))
    (folder / "gaps.arff").write_text("\n".join(lines) + "\n")
    return X, Y & known, known


def gap_config(folder, method, more=""):
    return parse_config(
        f"name: gaps\ndatasets: ['{folder}/gaps.arff']\nsplit: {{kind: holdout, train: 60, test: 30}}\n"
        f"methods:\n  M: {method}\n{more}",
        "gaps.yaml",
    )


class TestUnknownLabels:
    def test_they_reach_solver_threshold_and_metrics(self, tmp_path):
        X, Y, known = with_gaps(tmp_path)
        folder = run(gap_config(tmp_path, "{solver: rank_svm, threshold: svr_midpoint}"), tmp_path / "r")
        (record,) = folder.runs()
        arrays = folder.run_arrays(record)
        test = arrays["rows"]
        train = np.setdiff1d(np.arange(90), test)
        assert np.array_equal(arrays["Y_true"], Y[test])
        assert np.array_equal(arrays["known"], known[test])
        assert not known[test].all()
        alone = SOLVERS["rank_svm"](seed=record.settings["seed"]).fit(
            TrainingSet(X[train], Y[train], known=known[train])
        )
        assert np.array_equal(arrays["scores"], alone.decision_function(X[test]))
        found = evaluate(Y[test], arrays["scores"], arrays["Y_pred"], known[test], propensities=arrays["propensities"])
        assert {name: measured.value for name, measured in record.metrics.items()} == {
            name: None if value.value != value.value else value.value for name, value in found.items()
        }
        assert f"{(~known).sum()} of 360 label entries are unknown and left out" in record.dataset.changes

    def test_a_solver_that_cannot_leave_them_out_is_refused_before_the_first_fit(self, tmp_path):
        with_gaps(tmp_path)
        with pytest.raises(UserError) as caught:
            run(gap_config(tmp_path, "{solver: hypergraph_spectral}"), tmp_path / "r")
        assert "'M' (hypergraph_spectral) cannot leave out; set 'unknown_labels: absent'" in str(caught.value)
        assert "binary_svm, logistic, rank_svm" in str(caught.value)
        assert not (tmp_path / "r").exists()

    def test_or_gets_them_as_absent_and_the_table_says_so(self, tmp_path):
        _, _, known = with_gaps(tmp_path)
        config = gap_config(tmp_path, toy("Means"), "unknown_labels: absent\n")
        folder = run(config, tmp_path / "r")
        (record,) = folder.runs()
        train = np.setdiff1d(np.arange(90), folder.run_arrays(record)["rows"])
        said = f"{(~known[train]).sum()} unknown label entries of the training rows taken as absent by Means"
        assert said in record.dataset.changes

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_hidden_entries_are_those_of_the_training_rows_in_every_fold(self, tmp_path, jobs):
        split = "{kind: holdout, train: 60, test: 30, repeats: 2, missing_labels: 0.25}"
        config = config_of(tmp_path, toy("Knows", ", shift: [0, 0.1]"), split)
        folder = run(config, tmp_path / "r", jobs)
        for record in folder.runs():
            assert record.info.objective == 0.75 * 60 * 4
            assert "known" not in folder.run_arrays(record)
        ((data, cells),) = plan_cells(config)
        assert data.task_data.known.shape == (2, 90, 4)
        assert np.array_equal((~data.task_data.known).sum(axis=(1, 2)), [60, 60])
        assert (data.task_data.known[0] != data.task_data.known[1]).any()
        assert [cell.mask for cell in cells] == [0, 1]
        assert all(data.task_data.known[cell.mask, cell.split.test].all() for cell in cells)

    def test_another_share_is_another_experiment(self, tmp_path):
        keys = {
            plan_cells(config_of(tmp_path, toy("Knows"), f"{{kind: official, missing_labels: {ratio}}}"))[0][1][0].key
            for ratio in (0, 0.1, 0.2)
        }
        assert len(keys) == 3


class TestUnlabeledRows:
    def test_a_fold_sees_all_rows_of_its_split(self, tmp_path):
        config = config_of(tmp_path, toy("Looks", ", shift: [0, 1]"), "{kind: holdout, train: 50, test: 30}")
        folder = run(config, tmp_path / "r")
        (record,) = folder.runs()
        assert record.transductive
        assert (record.info.n_iter, record.info.objective) == (80, 30.0)
        assert [trial.n_iter for trial in folder.journal.read().values()] == [80] * 6

    def test_the_table_marks_such_methods(self, tmp_path):
        folder = run(config_of(tmp_path, toy("Looks")), tmp_path / "r")
        table = next(folder.path.glob("tables/*.md")).read_text()
        assert "M‡" in table
        assert "‡ the fit sees the features of the test rows, not their labels: M" in table


def test_a_threshold_is_fitted_to_the_models_own_scores_of_its_training_rows(tmp_path):
    folder = run(config_of(tmp_path, toy("Own", ", threshold: {kind: per_label_f1, scores: train}")), tmp_path / "r")
    (record,) = folder.runs()
    scores, Y_pred = (folder.run_arrays(record)[name] for name in ("scores", "Y_pred"))
    assert np.array_equal(Y_pred, scores > -2.0)


@dataclass(frozen=True)
class FirstColumns:
    """Keeps the first columns, less the mean of the training rows."""

    n_components: int = 2

    def __post_init__(self):
        if self.n_components > 4:
            raise ValueError(f"n_components must be at most 4, found {self.n_components}")

    def fit(self, train):
        return Shifted(self.n_components, train.X.mean(axis=0))


@dataclass(frozen=True)
class Shifted:
    """What FirstColumns learned."""

    n_components: int
    means: np.ndarray

    def transform(self, X):
        return (X - self.means)[:, : self.n_components]


@dataclass(frozen=True)
class InCompany(FirstColumns):
    """As FirstColumns, but a row is rounded in another way beside other rows, as products of matrices do it."""

    def fit(self, train):
        return Rounded(self.n_components, train.X.mean(axis=0))


@dataclass(frozen=True)
class Rounded(Shifted):
    """What InCompany learned."""

    def transform(self, X):
        return super().transform(X) * (1.0 + X.shape[0] * 1e-15)


@pytest.fixture
def projected(tmp_path, monkeypatch):
    monkeypatch.setitem(PROJECTIONS.places, "columns", f"{__name__}:FirstColumns")

    def config(project, threshold="svr_midpoint"):
        method = f"{{solver: rank_svm, C: [0.5, 2], project: {project}, threshold: {threshold}}}"
        return config_of(tmp_path, method)

    return config


class TestProjections:
    @pytest.mark.parametrize("scores", ["train", "heldout"])
    def test_the_solver_gets_the_projected_rows(self, tmp_path, projected, scores):
        config = projected("{kind: columns, n_components: [1, 3]}", f"{{kind: svr_midpoint, scores: {scores}}}")
        folder = run(config, tmp_path / "r")
        (record,) = folder.runs()
        assert set(record.searched) == {"C", "project.n_components"}
        kept = record.projection.settings["n_components"]
        assert record.projection == ComponentInfo("columns", {"n_components": kept})
        X, Y = small_data()
        seen = (X - X[:60].mean(axis=0))[:, :kept]
        alone = SOLVERS["rank_svm"](**record.settings).fit(TrainingSet(seen[:60], Y[:60]))
        assert np.allclose(folder.run_arrays(record)["scores"], alone.decision_function(seen[60:]), atol=1e-12)
        assert len(folder.journal.read()) == 2 * 2 * 3

    @pytest.mark.parametrize("scores", ["train", "heldout"])
    def test_a_transductive_solver_finds_rows_that_are_rounded_in_another_way(self, tmp_path, monkeypatch, scores):
        monkeypatch.setitem(PROJECTIONS.places, "company", f"{__name__}:InCompany")
        threshold = f"threshold: {{kind: per_label_f1, scores: {scores}}}"
        config = config_of(tmp_path, f"{{solver: smse, n_neighbors: [3, 5], project: company, {threshold}}}")
        folder = run(config, tmp_path / "r")
        trials = folder.journal.read().values()
        assert len(trials) == 6
        assert [trial.error for trial in trials] == [None] * 6
        (record,) = folder.runs()
        assert record.error is None
        X, Y = small_data()
        seen = (X - X[:60].mean(axis=0))[:, : FirstColumns().n_components]
        alone = SOLVERS["smse"](**record.settings).fit(TrainingSet(seen[:60], Y[:60], seen[60:]))
        assert np.allclose(folder.run_arrays(record)["scores"], alone.decision_function(seen[60:]), atol=1e-9)

    def test_a_kind_alone_is_enough_and_reads_back(self, projected):
        config = projected("columns")
        assert config.methods["M"].projection == "columns"
        written = config.resolved()["methods"]["M"]
        assert written["project"] == {"kind": "columns"}

    @pytest.mark.parametrize(
        ("project", "message"),
        [
            ("colums", "unknown projection 'colums'. Did you mean 'columns'?"),
            ("{kind: columns, width: 3}", "unknown setting of columns 'width'"),
            ("{kind: columns, n_components: 5}", "n_components must be at most 4, found 5"),
            ("{n_components: 5}", "the key 'kind' is missing here"),
        ],
    )
    def test_mistakes_are_found_before_the_first_fit(self, projected, project, message):
        with pytest.raises(UserError, match=message.replace("?", r"\?")):
            projected(project)


def test_a_threshold_for_more_labels_than_there_are_is_refused_before_the_first_fit(tmp_path):
    config = config_of(tmp_path, toy("Means", ", threshold: {kind: top_k, k: [2, 5]}"))
    with pytest.raises(UserError, match="method 'M': top_k with k=5 needs that many labels, found 4"):
        run(config, tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_split_that_does_not_fit_names_the_data_set(tmp_path):
    with pytest.raises(UserError, match=r"^'part-train': .*"):
        run(config_of(tmp_path, toy("Means"), "{kind: holdout, train: 500, test: 30}"), tmp_path / "r")


def test_grid_points_that_differ_in_settings_without_effect_are_fitted_once(tmp_path):
    method = "{solver: rank_hlapsvm, C: [0.1, 1], lam: [0, 1], nu: [0, 1, 2], threshold: svr_midpoint}"
    config = config_of(tmp_path, method, scale="standard")
    folder, events = run(config, tmp_path / "r", notify=(events := []).append), events
    assert len(folder.journal.read()) == 2 * (1 + 3) * 3
    assert events[0].total == 2 * (1 + 3) * 3 + 1
    (record,) = folder.runs()
    assert record.search.n_trials == 2 * (1 + 3) * 3
    ((_, (cell,)),) = plan_cells(config)
    assert cell.equivalent == (0, 0, 0, 3, 4, 5, 6, 6, 6, 9, 10, 11)
    values = {(p.settings["C"], p.settings["lam"], p.settings["nu"]): i for i, p in enumerate(cell.grid)}
    means = {
        key: np.mean([folder.journal.read()[cell.trial(cell.equivalent[i], fold).key].value for fold in range(3)])
        for key, i in values.items()
    }
    assert record.search.best == max(means.values())


@pytest.mark.parametrize(
    ("settings", "idle"),
    [
        ("kernel: linear, gamma: [2, 3], C: 1", ["gamma"]),
        ("kernel: linear, gamma: [1, 2]", ["gamma"]),
        ("kernel: [linear, rbf], gamma: [2, 3]", []),
        ("kernel: rbf, gamma: 2, degree: 5, coef0: 3", ["degree", "coef0"]),
        ("kernel: linear, C: [1, 2]", []),
    ],
)
def test_settings_that_change_no_fit_are_found(tmp_path, settings, idle):
    config = config_of(tmp_path, f"{{solver: binary_svm, {settings}}}")
    (method,) = config.methods.values()
    assert idle_settings(method) == idle
