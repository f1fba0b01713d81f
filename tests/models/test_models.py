"""A model comes back from its file as it was: every solver, every part, to the byte."""

import pickle
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.errors import UserError
from mlrank.models import Fit, Predictor
from mlrank.models.file import load_model, model_content
from mlrank.records.atomic import write_archive
from mlrank.scaling import SCALERS
from mlrank.search.judging import Fitted
from mlrank.solvers import SOLVERS, LinearModel
from mlrank.solvers.base import FitInfo
from mlrank.solvers.models import MODELS
from mlrank.thresholds import THRESHOLDS
from tests.models.fits import N_TRAIN, OVER_ESTIMATORS, about, fitted, name_of, stored, variants

# Settings of thresholds that have no default.
NEEDED = {"top_k": {"k": 2}}


def same(first, second):
    return first.shape == second.shape and first.dtype == second.dtype and first.tobytes() == second.tobytes()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("variant", variants(), ids=name_of)
def test_every_solver_comes_back_with_the_same_scores(tmp_path, variant, sparse):
    key, settings = variant
    predictor, _train, rows = stored(tmp_path / "a.model", key, settings, sparse=sparse, scale="minmax")
    found = load_model(tmp_path / "a.model")
    # What a model keeps in memory from its fit to be faster, neither a copy in another process has nor the file.
    model = pickle.loads(pickle.dumps(predictor.model))
    for part in (rows, rows[:7], rows[N_TRAIN:]):
        assert same(found.decision_function(part), model.decision_function(predictor.scaling(part)))
        assert np.allclose(found.decision_function(part), predictor.decision_function(part), rtol=0, atol=1e-12)
    assert same(found.predict(rows), predictor.predict(rows)[1])
    info, again = predictor.info, found.predictor.info
    assert repr(info) == repr(again)
    assert found.header.solver.kind == key
    assert found.header.data.n_train == N_TRAIN
    assert found.label_names == ("red", "green", "blue", "<b>", "ünïcode")
    assert found.feature_names == ("1", "2", "3", "4", "5", "6")


def test_every_kind_of_model_is_tried():
    written = {fitted(*variant)[0].model.meta()["model"] for variant in variants()}
    assert written == set(MODELS) - {"low_rank"}  # which earlier files hold, as the golden ones show


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", SCALERS)
@pytest.mark.parametrize("threshold", [name for name in THRESHOLDS if name != "natural"])
def test_every_scaling_and_threshold_comes_back(tmp_path, scale, threshold, sparse):
    predictor, train, rows = fitted("rank_svm", sparse=sparse, scale=scale)
    Y = np.vstack([train.Y, train.Y[: len(train.Y) // 3]])
    scores = predictor.model.decision_function(train.X)
    cut = THRESHOLDS[threshold](**NEEDED.get(threshold, {})).fit(scores, train.Y, train.X)
    whole = Predictor(predictor.scaling, None, predictor.model, cut, sparse)
    write_archive(tmp_path / "a.model", model_content(Fit.of(whole, rows), about()))
    found = load_model(tmp_path / "a.model").predictor
    for mine, its in zip(whole.predict(rows, Y), found.predict(rows, Y), strict=True):
        assert same(mine, its)
    assert found.scaling.note == predictor.scaling.note
    assert found.scaling.n_constant == predictor.scaling.n_constant


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", ["rank_svm", "smse"])
def test_a_projection_comes_back(tmp_path, key, sparse):
    predictor, _train, rows = stored(tmp_path / "a.model", key, sparse=sparse, scale="standard", projection="blda")
    found = load_model(tmp_path / "a.model").predictor
    seen = predictor.scaling(rows[:N_TRAIN])
    scores = predictor.model.decision_function(seen if key == "smse" else predictor.projection.transform(seen))
    assert same(found.decision_function(rows[:N_TRAIN]), scores)
    # Any part of the rows is found again, however the projection rounds it.
    for begin, end in ((0, 1), (3, 8), (N_TRAIN, N_TRAIN + 1)) if key == "smse" else ():
        assert np.allclose(found.decision_function(rows[begin:end]), found.decision_function(rows)[begin:end])


def test_a_transductive_model_behind_a_projection_finds_the_best_labels_of_its_rows():
    predictor, _train, rows = fitted("smse", projection="blda")
    held = rows[N_TRAIN:-1]
    scores = predictor.decision_function(held)
    best = Fitted(predictor.model, predictor.projection, None, None, 0.0, 0.0).best(held, scores.shape[1])
    assert same(best.scores, np.take_along_axis(scores, best.labels, axis=1))
    assert same(best.scores, -np.sort(-scores, axis=1))


def test_a_transductive_model_scores_the_rows_it_was_given_and_no_others(tmp_path):
    predictor, _train, rows = stored(tmp_path / "a.model", "smse", scale="standard")
    found = load_model(tmp_path / "a.model")
    assert same(found.decision_function(rows[N_TRAIN:]), predictor.decision_function(rows[N_TRAIN:]))
    assert same(found.decision_function(csr_array(rows[N_TRAIN:])), predictor.decision_function(rows[N_TRAIN:]))
    with pytest.raises(UserError, match="row 1 was neither a training row nor an unlabeled one") as told:
        found.decision_function(np.vstack([rows[0], rows[1] + 1.0]))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_rows_of_the_other_kind_get_the_scores_of_their_own_kind(tmp_path, scale):
    for sparse in (False, True):
        predictor, _, rows = stored(tmp_path / "a.model", "rank_svm", sparse=sparse, scale=scale)
        other = rows.toarray() if sparse else csr_array(rows)
        assert same(load_model(tmp_path / "a.model").decision_function(other), predictor.decision_function(rows))


def test_equal_models_have_equal_bytes_and_no_clock_inside(tmp_path):
    first, second = tmp_path / "1.model", tmp_path / "2.model"
    stored(first)
    stored(second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as packed:
        assert {member.date_time for member in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert packed.namelist()[0] == "header.json"
    with np.load(first, allow_pickle=False) as arrays:  # numpy alone reads the numbers
        assert arrays["model.coef"].shape == (5, 6)


def test_the_order_of_a_matrix_in_memory_is_kept(tmp_path):
    predictor, _train, rows = fitted("rank_svm")
    coef = np.asfortranarray(predictor.model.coef)
    model = LinearModel(coef, predictor.model.intercept, FitInfo(1, np.nan, 0.0, True, ("a", "b")))
    whole = Predictor(predictor.scaling, None, model, predictor.cut, False)
    write_archive(tmp_path / "a.model", model_content(Fit.of(whole, rows), about()))
    found = load_model(tmp_path / "a.model").predictor.model
    assert found.coef.flags.f_contiguous
    assert not found.coef.flags.writeable
    assert np.isnan(found.info.objective)
    assert found.info.notes == ("a", "b")


def test_names_that_are_no_row_of_numbers_are_kept_in_full(tmp_path):
    for names in (["1", "2", "3", "4", "5", "7"], ["01", "02", "03", "04", "05", "06"], list("abcdef")):
        stored(tmp_path / "a.model", header={"feature_names": names})
        assert load_model(tmp_path / "a.model").feature_names == tuple(names)


def test_a_threshold_that_looks_at_true_labels_says_so(tmp_path):
    stored(tmp_path / "a.model", threshold="oracle_size")
    with pytest.raises(UserError, match="looks at the true number of labels"):
        load_model(tmp_path / "a.model").predict(np.zeros((2, 6)))


class Odd(LinearModel):
    """Says that it is linear, and is not."""

    def decision_function(self, X):
        return super().decision_function(X) ** 2 + 1.0


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (object(), "object has no arrays"),
        (
            Odd(np.ones((5, 6)), np.ones(5), FitInfo(1, 0.0, 0.0, True)),
            "its kind is that of the class LinearModel, it is of the class Odd",
        ),
        (
            type("Own", (LinearModel,), {"meta": lambda self: {"model": "mine"}})(
                np.ones((5, 6)), np.ones(5), FitInfo(1, 0.0, 0.0, True)
            ),
            "the kind 'mine', which cannot be opened again",
        ),
        (
            LinearModel(np.array([[None] * 6] * 5, dtype=object), np.ones(5), FitInfo(1, 0.0, 0.0, True)),
            "cannot be stored",
        ),
    ],
)
def test_what_cannot_be_stored_is_told_when_it_would_be(model, reason):
    predictor, _train, rows = fitted("rank_svm")
    whole = Predictor(predictor.scaling, None, model, predictor.cut, False)
    with pytest.raises((ValueError, TypeError), match=reason):
        Fit.of(whole, rows)


def test_scores_that_rounding_changes_are_the_reason_that_is_given(monkeypatch):
    predictor, _train, rows = fitted("rank_svm")
    factors = iter((1.0, 1.001))
    monkeypatch.setattr(LinearModel, "decision_function", lambda self, X: next(factors) * (X @ self.coef.T))
    with pytest.raises(ValueError, match=r"sums that cancel.*`scale: standard`"):
        Fit.of(predictor, rows)


def test_every_solver_is_among_the_variants():
    assert {key for key, _ in variants()} == set(SOLVERS) - OVER_ESTIMATORS


def test_scores_beyond_memory_are_one_line_that_names_what_helps(tmp_path, monkeypatch):
    stored(tmp_path / "a.model")
    model = load_model(tmp_path / "a.model")
    X = csr_array((3_000_000, 6))
    monkeypatch.setattr("mlrank.room.available_memory", lambda: 1e6)
    message = (
        "all scores of 3000000 rows and 5 labels would take 0.12 GB of memory, of which 0.001 GB are available; take"
    )
    for refused in (model.decision_function, model.predict):
        with pytest.raises(UserError, match=message):
            refused(X)
