"""Kernel matrices in place of features, from the configuration to the stored model: columns go with the rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import plan_cells, run
from mlrank.kernels import KERNELS
from mlrank.metrics import measure
from mlrank.models.file import load_model
from mlrank.prediction import predict_file
from mlrank.search.crossfit import heldout_scores
from mlrank.solvers import SOLVERS, TrainingSet
from tests.experiment.small import small_data

SETTINGS = {
    "mlr": {"C": 0.5, "tol": 1e-10},
    "binary_svm": {"C": 0.5, "tol": 1e-9},
    "svm_perf": {"C": 0.02, "tol": 1e-9},
    "shared_subspace": {},
    "rank_svm": {"C": 0.5, "tol": 1e-10},
    "rank_hlapsvm": {"C": 0.5, "lam": 0.3, "tol": 1e-10},
}
METHODS = {key: {"solver": key, **settings} for key, settings in SETTINGS.items()}
PARTS = ("data", "indices", "indptr", "shape")
TEXT = "name: kernels\ndatasets: ['{data}']\nsplit: {{kind: holdout, train: 50, test: 25}}\nmethods: {methods}\n"


def written(path, X, Y, **more):
    np.savez(path, X=X, Y=Y.astype(float), **more)
    return path


def matrix():
    X, Y = small_data()
    return KERNELS["rbf"](X, X, 0.2), X, Y


def config_of(data, methods, more=""):
    return parse_config(TEXT.format(data=data, methods=methods) + more, "kernels.yaml")


def test_every_solver_gives_the_scores_of_the_kernel_by_name(tmp_path):
    K, X, Y = matrix()
    given = {name: method | {"kernel": "precomputed"} for name, method in METHODS.items()}
    named = {name: method | {"kernel": "rbf", "gamma": 0.2} for name, method in METHODS.items()}
    folder = run(config_of(written(tmp_path / "K.npz", K, Y), given), tmp_path / "given")
    other = run(config_of(written(tmp_path / "X.npz", X, Y), named), tmp_path / "named")
    records = {record.method: record for record in other.runs()}
    for record in folder.runs():
        assert record.status == "done", record.error
        found, wanted = folder.run_arrays(record), other.run_arrays(records[record.method])
        assert np.array_equal(found["rows"], wanted["rows"])
        assert found["scores"] == pytest.approx(wanted["scores"], abs=1e-4), record.method


def test_folds_and_models_have_the_columns_of_their_training_rows(tmp_path):
    K, _, Y = matrix()
    names = np.array([f"image {i}" for i in range(len(K))])
    data = written(tmp_path / "K.npz", K, Y, feature_names=names)
    methods = "{M: {solver: rank_svm, kernel: precomputed, C: [0.1, 1], threshold: per_label_f1}}"
    config = config_of(data, methods, "search: {folds: 3, metric: ranking_loss}\n")
    ((_, (cell,)),) = plan_cells(config)
    folder = run(config, tmp_path / "r")
    journal = folder.journal.read()
    for place, C in enumerate((0.1, 1.0)):
        for fold, (train, test) in enumerate(cell.folds):
            point = cell.trial(place, fold)
            solver = SOLVERS["rank_svm"](C=C, kernel="precomputed", seed=point.seed)
            model = solver.fit(TrainingSet(K[np.ix_(train, train)], Y[train]))
            value = measure("ranking_loss", Y[test], model.decision_function(K[np.ix_(test, train)])).value
            assert journal[point.key].value == pytest.approx(value, abs=1e-12)
    (record,) = folder.runs()
    rows, train = folder.run_arrays(record)["rows"], cell.split.train
    (path,) = folder.path.glob("runs/**/*.model")
    stored = load_model(path)
    assert stored.feature_names == tuple(names[train])
    assert stored.decision_function(K[np.ix_(rows, train)]) == pytest.approx(folder.run_arrays(record)["scores"])
    # The matrix of all rows has the columns of the model among its own.
    predict_file(stored, data, tmp_path / "all.npz", scores=True)
    with np.load(tmp_path / "all.npz") as predicted:
        assert predicted["scores"][rows] == pytest.approx(folder.run_arrays(record)["scores"])
    other = written(tmp_path / "other.npz", K[:, :40], Y)
    with pytest.raises(UserError, match=r"40 columns .* the model \(kernel values with training rows\) takes 50"):
        predict_file(stored, other, tmp_path / "other-scores.npz", scores=True)


def test_thresholds_see_scores_of_held_out_rows():
    K, X, Y = matrix()

    def scores(train, solver):
        return heldout_scores(train, 3, lambda part, rows: solver.fit(part).decision_function(rows))

    given = scores(TrainingSet(K, Y, pairwise=True), SOLVERS["binary_svm"](kernel="precomputed", tol=1e-9))
    named = scores(TrainingSet(X, Y), SOLVERS["binary_svm"](kernel="rbf", gamma=0.2, tol=1e-9))
    assert given == pytest.approx(named, abs=1e-5)


def test_rows_without_labels_have_the_columns_of_the_rows_that_keep_theirs():
    K, _, Y = matrix()
    hidden = np.array([3, 7])
    part = TrainingSet(K, Y, K[:5], pairwise=True).hide_labels(hidden)
    kept = np.setdiff1d(np.arange(len(K)), hidden)
    assert np.array_equal(part.X, K[np.ix_(kept, kept)])
    assert np.array_equal(part.X_unlabeled, np.vstack([K[hidden], K[:5]])[:, kept])
    assert part.pairwise


@pytest.mark.parametrize(
    ("method", "more", "message"),
    [
        ("{solver: mlr, kernel: precomputed}", "scale: l1\n", "kernels.yaml:5:1: the precomputed kernel of method 'M'"),
        ("{solver: mlr, kernel: precomputed}", "subset: {rows: 9}\n", "5:10: 'rows' would leave a precomputed kernel"),
        ("{solver: mlr, kernel: precomputed}", "subset: {top_features: 9}\n", "5:10: 'top_features' would leave"),
        ("{solver: mlr, kernel: [rbf, precomputed]}", "", "a precomputed kernel is other data than features; write"),
        ("{solver: mlr, kernel: precomputed, project: blda}", "", "a projection needs features, and a precomputed"),
    ],
)
def test_what_would_break_a_kernel_is_refused_with_its_place(method, more, message):
    with pytest.raises(UserError) as caught:
        config_of("K.npz", f"{{M: {method}}}", more)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda K: K[:, :80], "must be a dense square matrix, .* found a matrix of 90 rows and 80 columns"),
        (csr_array, "must be a dense square matrix, .* found a sparse matrix of 90 rows and 90 columns"),
        (
            lambda K: K + np.eye(90, k=1),
            r"must be a symmetric matrix of the rows of the data, found .* for rows \d",
        ),
        (lambda K: K - np.eye(90), "must be positive semidefinite, found an eigenvalue of -"),
    ],
)
def test_data_that_are_no_kernel_are_refused_before_the_first_fit(tmp_path, change, message):
    K, _, Y = matrix()
    bad, data = change(K), tmp_path / "K.npz"
    if isinstance(bad, csr_array):
        np.savez(data, Y=Y.astype(float), **{f"X_{part}": getattr(bad, part) for part in PARTS})
    else:
        written(data, bad, Y)
    with pytest.raises(UserError, match=f"method 'M': a precomputed kernel {message}") as caught:
        run(config_of(data, "{M: {solver: mlr, kernel: precomputed}}"), tmp_path / "r")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_negative_histograms_are_refused_with_their_place_in_the_data(tmp_path, kind):
    X, Y = small_data()
    X = np.abs(X)
    X[40, 2] = -0.25
    data = tmp_path / "h.npz"
    if kind == "dense":
        written(data, X, Y)
    else:
        bad = csr_array(X)
        np.savez(data, Y=Y.astype(float), **{f"X_{part}": getattr(bad, part) for part in PARTS})
    where = "found -0.25 in row 40, feature 2 \\(both counted from 0\\)"
    for scale in ("none", "l1"):
        with pytest.raises(UserError, match=f"'h', method 'M': the chi2 kernel needs features of at least 0, {where}"):
            plan_cells(config_of(data, "{M: {solver: mlr}}", f"scale: {scale}\n"))
    plan_cells(config_of(data, "{M: {solver: mlr, kernel: rbf}}"))
    plan_cells(config_of(data, "{M: {solver: mlr, project: {kind: blda, n_components: 2}}}"))
    # Min-max scaling leaves no training row negative, nor does a division by the spread of sparse features mend it.
    plan_cells(config_of(data, "{M: {solver: mlr}}", "scale: minmax\n"))
    with pytest.raises(UserError, match="scale 'standard' makes features negative" if kind == "dense" else where):
        plan_cells(config_of(data, "{M: {solver: binary_svm, kernel: [rbf, additive_chi2]}}", "scale: standard\n"))


def test_data_sets_of_one_name_are_refused(tmp_path):
    K, X, Y = matrix()
    (tmp_path / "other").mkdir()
    first, second = written(tmp_path / "K.npz", K, Y), written(tmp_path / "other" / "K.npz", X, Y)
    with pytest.raises(UserError, match="two data sets are called 'K', so one would take the place of the other's"):
        plan_cells(config_of(f"{first}', '{second}", "{M: {solver: mlr, kernel: rbf}}"))
