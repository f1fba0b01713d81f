import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.blda import BLDA
from mlrank.solvers.neighbors import class_neighbors
from mlrank.solvers.neighbors.bknn import BalancedKNN
from mlrank.solvers.neighbors.class_neighbors import ClassNeighbors
from mlrank.solvers.neighbors.knn import KNN
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import SCENARIOS, load, random_problem


def squares_of(X, Z):
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


def brute_nearest(Z, Y, X, count, own=None):
    """Return per class and scored row the sorted (squared distance, row) pairs of the `count` nearest, at most."""
    squares = squares_of(X, Z)
    listed = {}
    for q in range(Y.shape[1]):
        for i in range(len(X)):
            rows = [j for j in np.flatnonzero(Y[:, q]) if own is None or j != own[i]]
            listed[q, i] = sorted((squares[i, j], int(j)) for j in rows)[:count]
    return listed


def brute_scores(Z, Y, X, b, sigma, own=None, mean=False):
    """Return f of eq. 4 and 5 in extended precision, from the formula as printed."""
    listed = brute_nearest(Z, Y, X, b, own)
    s = np.zeros((len(X), Y.shape[1]), dtype=np.longdouble)
    for (q, i), pairs in listed.items():
        s[i, q] = sum(np.exp(-np.longdouble(square) / (2 * np.longdouble(sigma))) for square, _ in pairs)
        if mean and pairs:
            s[i, q] /= len(pairs)
    average = s.mean(axis=1, keepdims=True)
    return ((s - average) / average).astype(float)


def found_nearest(neighbors, X, count, own=None):
    blocks = list(neighbors.blocks(X, count, own))
    squares, rows = (np.concatenate([getattr(near, name) for near in blocks], axis=2) for name in ("squares", "rows"))
    assert [near.block.start for near in blocks[1:]] == [near.block.stop for near in blocks[:-1]]
    return squares, rows


def assert_nearest(Z, Y, X, count, own=None, sparse=False, exact=False):
    """Compare with brute force; where distances are `exact`, of equally near rows the first must have been taken."""
    convert = csr_array if sparse else np.array
    squares, rows = found_nearest(ClassNeighbors(convert(Z), Y), convert(X), count, own)
    for (q, i), pairs in brute_nearest(Z, Y, X, count, own).items():
        near = sorted(zip(squares[q, :, i].tolist(), rows[q, :, i].tolist(), strict=True))
        none = count - len(pairs)
        assert near[len(pairs) :] == [(np.inf, -1)] * none
        assert not exact or near[: len(pairs)] == pairs
        np.testing.assert_allclose([a for a, _ in near[: len(pairs)]], [a for a, _ in pairs], rtol=1e-14, atol=0)
        for square, row in near[: len(pairs)]:
            assert Y[row, q]
            assert own is None or row != own[i]
            assert square == pytest.approx(squares_of(X[i : i + 1], Z[row : row + 1])[0, 0], rel=1e-14, abs=0)


def fit(X, Y, **given):
    return BalancedKNN(**given).fit(TrainingSet(X, Y))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_certified_scores(scenario, sparse):
    data = load(scenario)
    convert = csr_array if sparse else np.array
    X, Y, X_test = convert(data["in_X"]), data["in_Y"] == 1, data["in_Xte"]
    model = fit(X, Y, n_neighbors=int(data["in_b"]), width=float(data["in_sigma"]))
    own = fit(X, Y, n_neighbors=int(data["in_b"]), width=float(data["in_sigma"]), self_neighbor=True)
    np.testing.assert_allclose(model.training_scores(), data["bknn_loo_f"], atol=1e-9)
    np.testing.assert_allclose(own.training_scores(), data["bknn_self_f"], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), data["bknn_self_f"], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(convert(X_test)), data["bknn_fte"], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(convert(X_test + 200)), data["bknn_fte_far"], atol=2e-9)
    cut = THRESHOLDS["adaptive_f"]().fit(model.training_scores(), Y, X)
    np.testing.assert_allclose(cut.thresholds, data["bknn_loo_h"], atol=1e-9)
    assert np.array_equal(cut(model.decision_function(convert(X_test)), None), data["bknn_pred_te"] == 1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_scores_are_those_of_the_formula(seed, n, d, k, b, sparse, own, counts):
    rng = np.random.default_rng(seed)
    # Whole numbers make many equal rows and many equal distances.
    Z = rng.integers(0, 3, (n, d)).astype(float) if counts else rng.standard_normal((n, d))
    Y = rng.random((n, k)) < rng.choice([0.2, 0.5, 0.9])
    X = Z if own else Z[rng.integers(0, n, 7)] + rng.integers(0, 2, (7, d))
    exclude = np.arange(n) if own else None
    convert = csr_array if sparse else np.array
    assert_nearest(Z, Y, X, b, exclude, sparse, exact=counts)
    for aggregate in ("sum", "mean"):
        model = fit(convert(Z), Y, n_neighbors=b, width=1.5, aggregate=aggregate)
        scores = model.training_scores() if own else model.decision_function(convert(X))
        with np.errstate(invalid="ignore"):
            expected = brute_scores(Z, Y, X, b, 1.5, exclude, mean=aggregate == "mean")
        nothing = np.isnan(expected).all(axis=1)
        assert not scores[nothing].any()
        np.testing.assert_allclose(scores[~nothing], expected[~nothing], atol=1e-12)
        np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("spread", [1e-3, 1e-6])
def test_neighbors_that_float32_cannot_tell_apart(sparse, spread):
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((4, 5)) * 1e3
    Z = np.repeat(centers, 30, axis=0) + spread * rng.standard_normal((120, 5))
    Y = rng.random((120, 3)) < 0.5
    assert len(np.unique(Z.astype(np.float32), axis=0)) < 120 or spread > 1e-6
    assert_nearest(Z, Y, Z, 4, np.arange(120), sparse)
    assert_nearest(Z, Y, centers + 2 * spread, 4, None, sparse)


@pytest.mark.parametrize("sparse", [False, True])
def test_neighbors_over_many_orders_of_magnitude(sparse):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((60, 4)) * 10.0 ** rng.integers(-6, 7, (60, 1))
    Y = rng.random((60, 3)) < 0.4
    assert_nearest(Z, Y, Z, 3, np.arange(60), sparse)
    assert_nearest(Z, Y, rng.standard_normal((9, 4)) * 10.0 ** np.arange(-4, 5)[:, None], 3, None, sparse)
    assert_nearest(Z, Y, np.array([[1e60, 0, 0, 0], [1e18, 1e18, 0, 0]]), 3, None, sparse)
    # So far away that all distances are one number.
    assert_nearest(Z, Y, np.array([[1e60, 0, 0, 0], [0, -1e55, 0, 0]]), 3, None, sparse, exact=True)


def test_far_from_the_origin_and_from_each_other():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((80, 6)) + 1e7
    Y = rng.random((80, 4)) < 0.3
    assert_nearest(Z, Y, Z[:20] + 0.1, 5)
    # Where float64 tells distances apart, but barely.
    Z = Z - 1e7
    longest = np.sqrt((Z**2).sum(axis=1)).max()
    assert_nearest(Z, Y, longest * np.array([[3e15, 1e15, 0, 0, 0, 0], [0, 1e15, 0, -2e15, 0, 0]]), 5)


def test_small_blocks_and_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(3)
    Z, Y = rng.standard_normal((90, 3)), rng.random((90, 2)) < 0.6
    whole = fit(Z, Y).training_scores()
    monkeypatch.setattr(class_neighbors, "BLOCK_ROWS", 7)
    for chunk_keys, kept_keys in ((21, 1), (21, 70), (140, 600)):
        monkeypatch.setattr(class_neighbors, "CHUNK_KEYS", chunk_keys)
        monkeypatch.setattr(class_neighbors, "KEPT_KEYS", kept_keys)
        monkeypatch.setattr(class_neighbors, "FOUND", kept_keys)
        assert_nearest(Z, Y, Z, 3, np.arange(90))
        assert_nearest(Z.round(), Y, Z.round(), 3, np.arange(90))
    np.testing.assert_allclose(fit(Z, Y).training_scores(), whole, atol=1e-12)


def test_memory_does_not_grow_with_the_rows_that_are_scored():
    rng = np.random.default_rng(4)
    Z, Y = rng.standard_normal((40_000, 3)), rng.random((40_000, 2)) < 0.3
    model = fit(Z, Y, width=1.0)
    model.decision_function(Z[:2])
    tracemalloc.start()
    model.decision_function(rng.standard_normal((1500, 3)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # all distances at a time would take 480 MB


@pytest.mark.parametrize("scale", [1e20, 1e100, 1e140])
def test_scores_far_away_are_finite(scale):
    X, Y = random_problem()
    model = fit(X, Y)
    scores = model.decision_function(X * scale)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)
    tiny = fit(X / scale, Y)
    np.testing.assert_allclose(tiny.training_scores(), model.training_scores(), atol=1e-8)
    assert np.isfinite(tiny.decision_function(X)).all()


def test_rows_so_large_that_distances_overflow_are_refused():
    X, Y = random_problem()
    model = fit(X, Y, width=1.0)
    with pytest.raises(ValueError, match=r"X must have finite entries below 1e\+150"):
        model.decision_function(X * 1e160)
    with pytest.raises(ValueError, match=r"X must have finite entries below 1e\+150"):
        fit(np.where(X == X[3, 0], 1e200, X), Y, width=1.0).training_scores()


@pytest.mark.parametrize("key", ["bknn", "knn"])
@pytest.mark.parametrize("n_features", [1, 3])
def test_rows_of_another_width_are_refused(key, n_features):
    model = SOLVERS[key]().fit(TrainingSet(np.eye(4), np.eye(4, dtype=bool)))
    with pytest.raises(ValueError, match=f"X must have the 4 features of the training rows, found {n_features}"):
        model.decision_function(np.ones((2, n_features)))


def test_the_width_is_the_median_squared_distance_to_the_nearest_row_unless_given():
    X, Y = random_problem(n=30)
    labeled = np.flatnonzero(Y.any(axis=1))
    squares = squares_of(X[labeled], X[labeled])
    np.fill_diagonal(squares, np.inf)
    median = np.median(squares.min(axis=1))
    assert fit(X, Y).width == pytest.approx(2 * median)
    assert fit(X, Y, width=3.0).width == 6.0
    assert fit(X, Y, width=3.0, width_power=2).width == 18.0
    assert fit(X, Y, width_power=2).width == fit(X, Y).width


def test_scores_do_not_depend_on_place_and_unit_of_the_features():
    X, Y = random_problem()
    plain = fit(X, Y).training_scores()
    np.testing.assert_allclose(fit(1e-3 * X + 5.0, Y).training_scores(), plain, atol=1e-8)


def test_duplicates_are_neighbors_of_each_other_and_leave_a_positive_width():
    X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [3.0]])
    Y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], dtype=bool)
    model = fit(X, Y, n_neighbors=2)
    # nearest squares 0, 0, 0, 0, 1, 4: the median is 0, of those above it 2.5
    assert model.width == 5.0
    # row 0 leaves itself out, not its doubles: labels at squares (0, 0) and (0, 1)
    s = np.array([2.0, 1 + np.exp(-1 / 5)])
    np.testing.assert_allclose(model.training_scores()[0], s / s.mean() - 1, atol=1e-15)
    same = fit(np.ones((4, 2)), np.eye(4, 3, dtype=bool) | np.eye(4, 3, 1, dtype=bool))
    assert same.width == 2.0
    assert np.isfinite(same.training_scores()).all()


def test_labels_with_few_or_no_rows_and_rows_without_labels():
    X, Y = random_problem(n=40, k=5)
    Y[:10] = False
    Y[:, 1] = False
    Y[:, 2] = False
    Y[[20, 30], 2] = True
    model = fit(X, Y, n_neighbors=5, width=2.0)
    assert model.info.notes == ("2 of 5 labels have fewer than 5 rows",)
    scores = model.decision_function(X)
    assert (scores[:, 1] == -1).all()
    np.testing.assert_allclose(scores, brute_scores(X, Y, X, 5, 2.0), atol=1e-12)
    part = fit(X[10:], Y[10:], n_neighbors=5, width=2.0)
    assert part.decision_function(X).tobytes() == scores.tobytes()
    assert fit(X[10:], Y[10:]).width == fit(X, Y).width
    fair = fit(X, Y, n_neighbors=5, width=2.0, aggregate="mean").decision_function(X)
    assert fair[:, 2].mean() > scores[:, 2].mean()
    cut = THRESHOLDS["adaptive_f"]().fit(model.training_scores(), Y, X)
    assert cut.thresholds[1] == np.inf


def test_without_any_labeled_row_every_label_scores_zero():
    X, Y = random_problem()
    model = fit(X, np.zeros_like(Y))
    assert not model.decision_function(X).any()
    assert not model.training_scores().any()
    single = fit(X[:1], np.ones((1, 2), dtype=bool))
    assert not single.training_scores().any()
    assert not single.decision_function(X).any()


def test_a_copy_that_is_sent_holds_the_training_rows_once():
    X, Y = random_problem()
    model = fit(X, Y)
    fresh, scores = pickle.dumps(model), model.decision_function(X)
    assert pickle.dumps(model) == fresh
    assert pickle.loads(fresh).decision_function(X).tobytes() == scores.tobytes()


def test_a_projection_goes_in_front():
    X, Y = random_problem(n=60)
    projection = BLDA(scale="spread").fit(TrainingSet(X, Y))
    plain = fit(projection.transform(X), Y, n_neighbors=3)
    for project in (BLDA(scale="spread"), {"scale": "spread"}):
        solver = BalancedKNN(n_neighbors=3, project=project)
        model = solver.fit(TrainingSet(X, Y))
        assert solver.project == BLDA(scale="spread")
        assert (
            model.decision_function(X[:9]).tobytes() == plain.decision_function(projection.transform(X[:9])).tobytes()
        )
        assert model.training_scores().tobytes() == plain.training_scores().tobytes()
    sparse = BalancedKNN(n_neighbors=3, project=BLDA(scale="spread")).fit(TrainingSet(csr_array(X), Y))
    np.testing.assert_allclose(
        sparse.decision_function(csr_array(X)), plain.decision_function(plain.X_train), atol=1e-9
    )
    noted = BalancedKNN(project={"n_components": 9}).fit(TrainingSet(X, Y))
    assert noted.info.notes == ("4 directions instead of 9: the class means span no more",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a number above 0, found 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number, found 2.5"),
        ({"width": 0}, "width must be a number above 0, found 0"),
        ({"width": "auto"}, "width must be a number above 0, found 'auto'"),
        ({"width_power": 3}, "width_power must be 1 or 2, found 3"),
        ({"aggregate": "max"}, "aggregate must be one of sum, mean, found 'max'"),
        ({"project": {"ridge": -1}}, "ridge must be a number, 0 or above, found -1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        BalancedKNN(**wrong)


def brute_knn(Z, Y, X, count, own=None):
    listed = brute_nearest(Z, np.ones((len(Z), 1), dtype=bool), X, count, own)
    return np.array([Y[[j for _, j in listed[0, i]]].mean(axis=0) for i in range(len(X))])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
def test_plain_neighbors_are_those_of_brute_force_with_ties_by_number(sparse, counts):
    rng = np.random.default_rng(6)
    Z = rng.integers(0, 2, (70, 4)).astype(float) if counts else rng.standard_normal((70, 4))
    Y, X = rng.random((70, 3)) < 0.4, Z[::-1][:25] + (0 if counts else 0.1)
    convert = csr_array if sparse else np.array
    model = KNN(n_neighbors=7).fit(TrainingSet(convert(Z), Y))
    np.testing.assert_allclose(model.decision_function(convert(X)), brute_knn(Z, Y, X, 7), atol=1e-15)
    np.testing.assert_allclose(model.training_scores(), brute_knn(Z, Y, Z, 7, np.arange(70)), atol=1e-15)


def test_of_two_equal_rows_the_one_with_the_lower_number_is_nearer():
    rng = np.random.default_rng(7)
    Z, Y = np.repeat(rng.standard_normal((200, 3)), 2, axis=0), rng.random((400, 3)) < 0.5
    X = rng.standard_normal((50, 3))
    scores = KNN(n_neighbors=3).fit(TrainingSet(Z, Y)).decision_function(X)
    np.testing.assert_allclose(scores, brute_knn(Z, Y, X, 3), atol=1e-15)


def test_plain_neighbors_of_fewer_rows_than_asked_for():
    X, Y = random_problem(n=4)
    model = KNN(n_neighbors=10).fit(TrainingSet(X, Y))
    np.testing.assert_allclose(model.decision_function(X[:1]), Y.mean(axis=0)[None])
    np.testing.assert_allclose(model.training_scores()[0], Y[1:].mean(axis=0))
    assert model.info.notes == ("4 rows, fewer than 10 neighbors",)
    alone = KNN().fit(TrainingSet(X[:1], np.ones((1, 2), dtype=bool)))
    assert not alone.training_scores().any()
    with pytest.raises(ValueError, match=r"n_neighbors must be a whole number, found 1\.5"):
        KNN(n_neighbors=1.5)


def test_they_are_known_by_their_keys():
    assert SOLVERS["bknn"] is BalancedKNN
    assert SOLVERS["knn"] is KNN
