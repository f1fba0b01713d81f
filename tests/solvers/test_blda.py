import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.sparse import csr_array, random_array
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mlrank.errors import UserError
from mlrank.solvers import PROJECTIONS, Capabilities, TrainingSet, blda
from mlrank.solvers.blda import BLDA
from tests.solvers.problems import SCENARIOS, load, random_problem


def scatters(X, Y):
    """Return (S_b, S_w) of eq. 1 to 3, row by row and label by label."""
    d = X.shape[1]
    carriers = [X[y] for y in Y.T if y.any()]
    m = np.vstack(carriers).mean(axis=0)
    between, within = np.zeros((d, d)), np.zeros((d, d))
    for rows in carriers:
        between += len(rows) * np.outer(rows.mean(axis=0) - m, rows.mean(axis=0) - m)
        for x in rows:
            within += np.outer(x - rows.mean(axis=0), x - rows.mean(axis=0))
    return between, within


def directions(between, D):
    """Return eigenvalues and UU' of S_b U = D U diag(mu) within the range of D, by dense eigenproblems."""
    values, vectors = eigh(D)
    T = vectors[:, values > 1e-10 * values[-1]] / np.sqrt(values[values > 1e-10 * values[-1]])
    mu, turn = eigh(T.T @ between @ T)
    keep = mu > 1e-10 * mu[-1]
    U = T @ turn[:, keep]
    return mu[keep][::-1], U @ U.T


def fit(X, Y, **given):
    return BLDA(**given).fit(TrainingSet(X, Y))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_certified_projections(scenario, sparse):
    data = load(scenario)
    X, Y = data["in_X"], data["in_Y"] == 1
    between, within = scatters(X, Y)
    np.testing.assert_allclose(between, data["blda_Sb"], atol=1e-10)
    np.testing.assert_allclose(within, data["blda_Sw"], atol=1e-10)
    for denominator, key in (("within", "Sw"), ("total", "St")):
        found = fit(csr_array(X) if sparse else X, Y, denominator=denominator)
        np.testing.assert_allclose(found.eigenvalues, data[f"blda_{key}_eig"], atol=1e-9)
        np.testing.assert_allclose(found.coef @ found.coef.T, data[f"blda_{key}_UUt"], atol=1e-8)
        np.testing.assert_allclose(found.transform(X), (X - data["blda_m"]) @ found.coef, atol=1e-10)
        assert found.info.objective == pytest.approx(data[f"blda_{key}_eig"].sum())


def test_it_is_discriminant_analysis_of_rows_repeated_for_each_label():
    X, Y = random_problem(n=80, m=7, k=4, seed=3)
    rows, labels = np.nonzero(Y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X[rows], labels)
    ours = fit(X, Y, scale="spread", denominator="within")
    theirs = lda.scalings_[:, : ours.coef.shape[1]]
    theirs = theirs * np.sign(np.take_along_axis(theirs, np.abs(theirs).argmax(axis=0)[None], axis=0))
    np.testing.assert_allclose(ours.coef, theirs, atol=1e-9)
    np.testing.assert_allclose(ours.transform(X) - ours.transform(X[:1]), (X - X[:1]) @ theirs, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 25), st.integers(1, 30), st.integers(2, 6), st.booleans())
def test_both_scatters_and_shapes_against_dense_eigenproblems(seed, n, d, k, sparse):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)) + 3.0, rng.random((n, k)) < 0.4
    Y[:2, :2] = np.eye(2, dtype=bool)
    between, within = scatters(X, Y)
    for denominator, D in (("total", between + within), ("within", within)):
        if np.linalg.matrix_rank(D, tol=1e-8) < np.linalg.matrix_rank(between + within, tol=1e-8):
            continue  # which directions survive a pseudo-inverse hangs on rounding
        found = fit(csr_array(X) if sparse else X, Y, denominator=denominator)
        mu, gram = directions(between, D)
        np.testing.assert_allclose(found.eigenvalues, mu, atol=1e-6 * mu[0])
        U = found.coef
        np.testing.assert_allclose(U @ U.T, gram, atol=1e-5 * np.abs(gram).max())
        np.testing.assert_allclose(U.T @ D @ U, np.eye(U.shape[1]), atol=1e-6)
        if denominator == "within":
            np.testing.assert_allclose(fit(X, Y).coef, fit(X, Y, denominator="within").coef)


def test_no_other_directions_part_the_classes_further():
    X, Y = random_problem(n=60, m=6, k=5, seed=1)
    between, within = scatters(X, Y)
    found = fit(X, Y, n_components=2, denominator="within")
    assert found.coef.shape == (6, 2)
    assert np.trace(found.coef.T @ between @ found.coef) == pytest.approx(found.info.objective)
    rng = np.random.default_rng(0)
    for _ in range(200):
        U = rng.standard_normal((6, 2))
        U = U @ np.linalg.inv(np.linalg.cholesky(U.T @ within @ U)).T
        assert np.trace(U.T @ between @ U) < found.info.objective


@pytest.mark.parametrize("denominator", ["auto", "within", "total"])
@pytest.mark.parametrize("d", [5, 40])
def test_a_ridge_is_added_to_the_mean_of_the_diagonal(d, denominator):
    X, Y = random_problem(n=20, m=d, k=4)
    between, within = scatters(X, Y)
    D = between + within if denominator == "total" else within
    mu, gram = directions(between, D + 0.3 * np.trace(D) / d * np.eye(d))
    found = fit(X, Y, denominator=denominator, ridge=0.3)
    np.testing.assert_allclose(found.eigenvalues, mu, rtol=1e-8)
    np.testing.assert_allclose(found.coef @ found.coef.T, gram, atol=1e-9)


def test_a_singular_scatter_keeps_what_parts_classes_that_do_not_scatter():
    # Two classes, each of one point told twice, apart in the second feature: S_w scatters in the first feature alone.
    X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, -1.0], [2.0, -1.0]])
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=bool)
    auto = fit(X, Y)
    # S_t = diag(4, 4), S_b = diag(0, 4)
    np.testing.assert_allclose(auto.coef, [[0.0], [0.5]], atol=1e-15)
    np.testing.assert_allclose(auto.eigenvalues, [1.0])
    # S_w^+ of diag(4, 0) sees the first feature only, in which the means agree.
    turned = X @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    for rows in (X, turned, turned / 3 + 7):
        with pytest.raises(UserError, match="blda needs labels whose rows differ in the mean, found none among 2"):
            fit(rows, Y, denominator="within")


def test_classes_that_do_not_scatter_at_all():
    X = np.repeat([[0.1, 0.7, 1.0], [0.3, 0.2, 5.0]], 3, axis=0)
    Y = np.repeat(np.eye(2, dtype=bool), 3, axis=0)
    found = fit(X, Y)
    Z = found.transform(X)
    assert Z.shape == (6, 1)
    assert Z[0] == pytest.approx(-Z[5])
    assert abs(Z[0, 0]) == pytest.approx(1 / np.sqrt(6))
    with pytest.raises(UserError, match="differ in the mean"):
        fit(X, Y, denominator="within")


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_without_labels_empty_labels_and_constant_features_count_for_nothing(sparse):
    X, Y = random_problem(n=50, m=6, k=4, seed=2)
    Y[:20] = False
    full = fit(csr_array(X) if sparse else X, Y)
    part = fit(csr_array(X[20:]) if sparse else X[20:], Y[20:])
    assert full.coef.tobytes() == part.coef.tobytes()
    padded = fit(X, np.insert(Y, 1, False, axis=1))
    np.testing.assert_allclose(padded.coef, full.coef, atol=1e-12)
    assert padded.info.notes == ("3 directions instead of 4: the class means span no more",)
    assert full.info.notes == ()
    wide = np.insert(X, [1, 3], [1e6 / 3, 0.1], axis=1)
    constant = fit(csr_array(wide) if sparse else wide, Y)
    np.testing.assert_allclose(np.delete(constant.coef, [1, 4], axis=0), full.coef, atol=1e-9)
    assert np.abs(constant.coef[[1, 4]]).max() < 1e-14


def test_far_from_the_origin_nothing_changes():
    X, Y = random_problem(n=60, m=6, k=4, seed=5)
    near, far = fit(X, Y), fit(X + 1e6, Y)
    np.testing.assert_allclose(far.coef, near.coef, atol=1e-7)
    np.testing.assert_allclose(far.transform(X + 1e6), near.transform(X), atol=1e-7)


def test_wide_sparse_rows_stay_sparse():
    rng = np.random.default_rng(0)
    X = csr_array(random_array((60, 300_000), density=1e-4, rng=rng, format="csr"))
    Y = rng.random((60, 3)) < 0.4
    tracemalloc.start()
    found = fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.coef.shape == (300_000, 2)
    assert peak < 60e6  # the rows as ndarray alone would take 144 MB


def test_equal_rows_give_equal_bytes_in_memory_of_their_own():
    X, Y = random_problem()
    before = X.copy()
    assert fit(X, Y).coef.tobytes() == fit(X, Y).coef.tobytes()
    assert np.array_equal(X, before)


def test_degenerate_labels_are_told_in_one_line():
    X, Y = random_problem()
    with pytest.raises(UserError, match="blda needs rows with labels, found none among 40"):
        fit(X, np.zeros_like(Y))
    with pytest.raises(UserError, match="differ in the mean, found none among 1"):
        fit(X, Y[:, :1])
    with pytest.raises(UserError, match="differ in the mean, found none among 3"):
        fit(X, np.repeat(Y[:, :1], 3, axis=1))
    with pytest.raises(UserError, match="differ in the mean"):
        fit(np.full(X.shape, 0.1), Y)


def test_more_directions_than_there_are_is_noted():
    X, Y = random_problem(k=3)
    found = fit(X, Y, n_components=5)
    assert found.coef.shape[1] == 2
    assert found.info.notes == ("2 directions instead of 5: the class means span no more",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components must be a number above 0, found 0"),
        ({"n_components": 1.5}, "n_components must be a whole number, found 1.5"),
        ({"n_components": True}, "n_components must be a number above 0, found True"),
        ({"ridge": -1.0}, "ridge must be a number, 0 or above, found -1.0"),
        ({"denominator": "Sw"}, "denominator must be one of auto, within, total, found 'Sw'"),
        ({"scale": "none"}, "scale must be one of metric, spread, found 'none'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        BLDA(**wrong)


def test_it_is_known_by_its_key():
    assert PROJECTIONS["blda"] is BLDA


@pytest.mark.parametrize("settings", [{}, {"denominator": "total"}, {"ridge": 0.1}, {"scale": "spread"}])
@pytest.mark.parametrize("shape", [(60, 5, 4), (20, 40, 4)])
def test_the_backward_error_is_that_of_the_eigenproblem_on_the_given_rows(settings, shape, monkeypatch):
    n, d, k = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    train = TrainingSet(X, X[:, :3] @ rng.standard_normal((3, k)) + 0.5 * rng.standard_normal((n, k)) > 0.4)
    info = BLDA(**settings).fit(train).info
    assert info.converged
    assert 0 < info.optimality < 1e-12

    def turned(whitening, between, rounding, whole=blda._parted):
        values, U = whole(whitening, between, rounding)
        return values, U + 1e-4 * np.roll(U, 1, axis=1)

    monkeypatch.setattr(blda, "_parted", turned)
    wrong = BLDA(**settings).fit(train).info
    assert not wrong.converged
    assert 1e-5 < wrong.optimality < 1e-2


def test_its_certificate_is_a_backward_error():
    assert Capabilities.of(BLDA).certificate == "backward error"


@pytest.mark.parametrize("denominator", ["within", "total"])
def test_directions_do_not_depend_on_the_scales_of_features(denominator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    Y = X @ rng.standard_normal((5, 3)) + rng.standard_normal((40, 3)) > 0.3
    plain = BLDA(denominator=denominator).fit(TrainingSet(X, Y))
    assert 0 < plain.info.optimality <= 1e-12
    for ratio in (1e4, 1e8):
        scales = np.where(np.arange(5) == 2, ratio, 1.0)
        found = BLDA(denominator=denominator).fit(TrainingSet(scales * X, Y))
        assert found.info.converged
        assert found.eigenvalues == pytest.approx(plain.eigenvalues, rel=1e-9)
        assert np.abs(found.transform(scales * X)) == pytest.approx(np.abs(plain.transform(X)), abs=1e-8)


def test_directions_that_a_huge_row_hides_are_not_converged():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    Y = X @ rng.standard_normal((5, 3)) + rng.standard_normal((40, 3)) > 0.3
    Y[2, 0] = True
    X[2] *= 1e7
    info = BLDA(denominator="total").fit(TrainingSet(X, Y)).info
    assert not info.converged
    assert [note for note in info.notes if note.startswith("row 2 (counted from 0) is")]
