"""PLST, CPLST and FaIE against their definitions in dense numpy, with n x n hat matrices."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array

from mlrank.kernels import KERNELS
from mlrank.linalg.eigen import largest
from mlrank.solvers import TrainingSet
from mlrank.solvers.label_space.cplst import CPLST
from mlrank.solvers.label_space.faie import FaIE
from mlrank.solvers.label_space.plst import PLST
from mlrank.solvers.label_space.space import HAT_BIASES, LabelSpaceSettings, label_space
from tests.solvers.problems import random_problem

SOLVERS = {"plst": PLST, "cplst": CPLST, "faie": FaIE}
GOLDEN_X = np.array([[1.0], [2.0], [-2.0], [-1.0]])
GOLDEN_Y = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=bool)


def ridge_scores(X, Z, X_new, lam):
    """Return the predictions of ridge regression with a free bias, of least norm for lam = 0."""
    center = X.mean(axis=0)
    A = np.vstack([X - center, np.sqrt(lam) * np.eye(X.shape[1])])
    B = np.vstack([Z - Z.mean(axis=0), np.zeros((X.shape[1], Z.shape[1]))])
    return (X_new - center) @ np.linalg.lstsq(A, B, rcond=1e-10)[0] + Z.mean(axis=0)


def hat_matrix(X, lam, bias="center"):
    if bias == "center":
        X = X - X.mean(axis=0)
    elif bias == "ones":
        X = np.hstack([X, np.ones((len(X), 1))])
    if lam == 0:
        return X @ np.linalg.pinv(X, rcond=1e-10)
    return X @ np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T)


def top(matrix, b):
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:b], vectors[:, ::-1][:, :b]


def reference(key, X, Y, X_new, b, lam, alpha=0.1, bias="center", coded=None):
    """Return (objective, scores) from the definitions."""
    S = np.where(Y, 1.0, -1.0)
    mean = S.mean(axis=0)
    Sc = S - mean
    H = hat_matrix(X, lam, bias)
    if key == "faie":
        T = Y.astype(float) if coded is None else coded
        values, C = top(T @ T.T + alpha * H, b)
        scores = ridge_scores(X, C, X_new, lam) @ C.T @ T
        return values.sum(), 2 * scores - 1 if coded is None else scores
    values, V = top(Sc.T @ Sc if key == "plst" else Sc.T @ H @ Sc, b)
    return values.sum(), ridge_scores(X, Sc @ V, X_new, lam) @ V.T + mean


def check(key, X, Y, b, lam, sparse=False, known=None, expected=None, **settings):
    X_new = np.random.default_rng(9).standard_normal((7, X.shape[1]))
    model = SOLVERS[key](n_components=b, lam=lam, **settings).fit(
        TrainingSet(csr_array(X) if sparse else X, Y, known=known)
    )
    names = {"alpha": "alpha", "hat_bias": "bias"}
    options = {names[name]: value for name, value in settings.items() if name in names}
    objective, scores = expected or reference(key, X, Y, X_new, b, lam, **options)
    assert model.info.objective == pytest.approx(objective, rel=1e-9)
    assert model.decision_function(X_new) == pytest.approx(scores, abs=1e-7 * np.abs(scores).max())
    return model


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (10, 30)])
@pytest.mark.parametrize("lam", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("b", [1, 3])
@pytest.mark.parametrize("key", SOLVERS)
def test_definitions(key, b, lam, shape, sparse):
    X, Y = random_problem(*shape)
    check(key, X + 0.5, Y, b, lam, sparse)


@pytest.mark.parametrize("shape", [(40, 6), (10, 30)])
@pytest.mark.parametrize("bias", ["none", "ones"])
@pytest.mark.parametrize("key", ["cplst", "faie"])
def test_other_hat_matrices(key, bias, shape):
    X, Y = random_problem(*shape)
    plain = check(key, X + 0.5, Y, 2, 0.3, hat_bias="center")
    other = check(key, X + 0.5, Y, 2, 0.3, hat_bias=bias)
    assert np.abs(plain.coef - other.coef).max() > 1e-4


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1e3])
@pytest.mark.parametrize("shape", [(60, 6), (12, 6)])
def test_code_is_that_of_the_whole_matrix(alpha, shape):
    # The first shape goes by columns, the second by rows: 6 features and 5 labels.
    X, Y = random_problem(*shape)
    check("faie", X, Y, 3, 0.2, alpha=alpha)


@pytest.mark.parametrize("shape", [(60, 6), (11, 6)])
def test_without_features_the_code_is_the_truncated_label_matrix(shape):
    X, Y = random_problem(*shape)
    T = Y.astype(float)
    U, s, Vt = np.linalg.svd(T)
    best = (U[:, :2] * s[:2]) @ Vt[:2]
    scores = FaIE(n_components=2, alpha=0.0, lam=0.0).fit(TrainingSet(X, Y)).decision_function(X)
    assert scores == pytest.approx(2 * ridge_scores(X, best, X, 0.0) - 1, abs=1e-10)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", ["plst", "cplst"])
def test_all_components_are_ridge_regression(key, sparse):
    X, Y = random_problem()
    X_new = np.random.default_rng(1).standard_normal((5, 6))
    model = SOLVERS[key](n_components=5, lam=0.7).fit(TrainingSet(csr_array(X) if sparse else X, Y))
    assert model.decision_function(X_new) == pytest.approx(
        ridge_scores(X, np.where(Y, 1.0, -1.0), X_new, 0.7), abs=1e-12
    )


def test_with_independent_rows_cplst_is_plst():
    X, Y = random_problem(10, 30)
    X_new = np.random.default_rng(1).standard_normal((5, 30))
    scores = [SOLVERS[key](n_components=2, lam=0.0).fit(TrainingSet(X, Y)).decision_function(X_new) for key in SOLVERS]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9)


def test_cplst_loses_least_of_all_directions():
    X, Y = random_problem(60, 3, 6)
    S = np.where(Y, 1.0, -1.0)
    Sc, H = S - S.mean(axis=0), hat_matrix(X, 0.0)

    def lost(V):
        Z = Sc @ V
        return np.sum((Z - H @ Z) ** 2) + np.sum((Sc - Z @ V.T) ** 2)

    space = label_space(TrainingSet(X, Y), LabelSpaceSettings.of(CPLST()), S)
    ours = lost(largest(space.explained(0.0), 2, 1e-12)[1])
    rng = np.random.default_rng(0)
    others = [np.linalg.qr(rng.standard_normal((6, 2)))[0] for _ in range(500)]
    assert ours < lost(top(Sc.T @ Sc, 2)[1])
    assert ours <= min(lost(V) for V in others)


def test_golden_values():
    train = TrainingSet(GOLDEN_X, GOLDEN_Y)
    S = np.where(GOLDEN_Y, 1.0, -1.0)
    space = label_space(train, LabelSpaceSettings.of(PLST()), S)
    values, V = largest(space.scatter(), 3, 1e-12)
    # Labels of +1 and -1 have twice the singular values of labels of 0 and 1, and the same vectors.
    assert np.sqrt(values) / 2 == pytest.approx([1.522737, 0.656712], abs=1e-6)
    assert np.abs(V[:, 0]) == pytest.approx([0.410934, 0.644645, 0.644645], abs=1e-6)
    raw = label_space(train, LabelSpaceSettings.of(CPLST(hat_bias="none")), S)
    values, V = largest(raw.explained(0.1), 1, 1e-12)
    assert values[0] / 4 == pytest.approx(2.178218, abs=1e-6)
    assert np.abs(V[:, 0]) == pytest.approx([0.426401, 0.639602, 0.639602], abs=1e-6)
    code = FaIE(n_components=2, alpha=1.0, lam=0.1, hat_bias="none").fit(train)
    assert code.info.objective == pytest.approx(4.957782 + 2.775930, abs=2e-6)


def test_golden_code():
    H = hat_matrix(GOLDEN_X, 0.1, "none")
    T = GOLDEN_Y.astype(float)
    C = top(T @ T.T + H, 1)[1]
    assert np.abs(C[:, 0]) == pytest.approx([0.633709, 0.664009, 0.024177, 0.396132], abs=1e-6)
    assert np.abs(C.T @ T)[0] == pytest.approx([1.69385, 1.297718, 0.42031], abs=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
@pytest.mark.parametrize(
    ("key", "bias"), [("plst", "center"), *((key, bias) for key in ("cplst", "faie") for bias in HAT_BIASES)]
)
def test_kernels(key, bias, kernel):
    """A kernel does what its feature space does: rows of the root of the whole kernel matrix, new rows among them."""
    X, Y = random_problem(20, 4)
    X_all = np.vstack([X, np.random.default_rng(3).standard_normal((5, 4))])
    K = KERNELS[kernel](X_all, X_all, 0.5, 2, 1.0)
    values, vectors = np.linalg.eigh(K)
    rows = vectors * np.sqrt(np.maximum(values, 0.0))
    settings = {} if key == "plst" else {"hat_bias": bias}
    model = SOLVERS[key](n_components=2, lam=0.3, kernel=kernel, gamma=0.5, degree=2, **settings).fit(TrainingSet(X, Y))
    objective, scores = reference(key, rows[:20], Y, rows[20:], 2, 0.3, bias=bias)
    assert model.info.objective == pytest.approx(objective, rel=1e-9)
    assert model.decision_function(X_all[20:]) == pytest.approx(scores, abs=1e-7)


@pytest.mark.parametrize("key", SOLVERS)
def test_linear_kernel_matrix_and_rows_agree(key):
    X, Y = random_problem(20, 4)
    plain = SOLVERS[key](n_components=2, lam=0.3).fit(TrainingSet(X, Y)).decision_function(X)
    # (0.5 x'z + 0)^1 is the linear kernel of rows scaled by the root of one half.
    scaled = {"kernel": "polynomial", "gamma": 0.5, "degree": 1, "coef0": 0.0, "lam": 0.15}
    assert SOLVERS[key](n_components=2, **scaled).fit(TrainingSet(X, Y)).decision_function(X) == pytest.approx(
        plain, abs=1e-9
    )


def test_missing_labels_are_zero_between_signs():
    X, Y = random_problem(30, 4)
    known = np.random.default_rng(0).random(Y.shape) < 0.7
    known[3] = False
    coded = np.where(known, np.where(Y, 1.0, -1.0), 0.0)
    X_new = np.random.default_rng(9).standard_normal((7, 4))
    check("faie", X, Y, 2, 0.3, known=known, expected=reference("faie", X, Y, X_new, 2, 0.3, coded=coded))
    hidden = FaIE(n_components=2).fit(TrainingSet(X, np.where(known, Y, ~Y), known=known)).coef
    assert np.array_equal(hidden, FaIE(n_components=2).fit(TrainingSet(X, Y, known=known)).coef)
    with pytest.raises(ValueError, match="coding 'zero_one' has no value for missing labels"):
        FaIE(coding="zero_one").fit(TrainingSet(X, Y, known=known))


def test_a_mask_that_hides_nothing_changes_nothing_and_signs_can_be_asked_for():
    X, Y = random_problem(30, 4)
    train = TrainingSet(X, Y, known=np.ones_like(Y))
    assert np.array_equal(FaIE().fit(train).coef, FaIE().fit(TrainingSet(X, Y)).coef)
    X_new = np.random.default_rng(9).standard_normal((7, 4))
    S = np.where(Y, 1.0, -1.0)
    check("faie", X, Y, 2, 0.3, coding="signs", expected=reference("faie", X, Y, X_new, 2, 0.3, coded=S))


@pytest.mark.parametrize("key", ["plst", "cplst"])
def test_components_beyond_the_rank_are_told(key):
    X, Y = random_problem(40, 3, 5)
    model = SOLVERS[key](n_components=40, lam=0.1).fit(TrainingSet(X, Y))
    used = 5 if key == "plst" else 3
    assert model.info.notes[0].startswith(f"40 components asked for, {used} used")
    assert model.decision_function(X) == pytest.approx(ridge_scores(X, np.where(Y, 1.0, -1.0), X, 0.1), abs=1e-12)


def test_a_code_beyond_the_rank_is_told():
    X, Y = random_problem(40, 3, 5)
    model = FaIE(n_components=40, lam=0.1).fit(TrainingSet(X, Y))
    assert model.info.notes == ("40 components asked for, 8 used: the rank of labels and features",)


@pytest.mark.parametrize("key", SOLVERS)
def test_labels_never_or_always_observed_get_their_constant(key):
    X, Y = random_problem()
    Y[:, 0], Y[:, 1] = False, True
    scores = SOLVERS[key](n_components=2).fit(TrainingSet(X, Y)).decision_function(X)
    if key != "faie":
        assert scores[:, :2] == pytest.approx(np.tile([-1.0, 1.0], (len(X), 1)), abs=1e-12)
    assert scores[:, 0] == pytest.approx(-1.0, abs=1e-9)


@pytest.mark.parametrize("key", SOLVERS)
def test_all_labels_constant(key):
    X, _ = random_problem()
    Y = np.tile([True, False], (len(X), 1))
    model = (
        SOLVERS[key](n_components=1, alpha=0.0).fit(TrainingSet(X, Y))
        if key == "faie"
        else SOLVERS[key]().fit(TrainingSet(X, Y))
    )
    assert model.decision_function(X) == pytest.approx(np.where(Y, 1.0, -1.0), abs=1e-9)


@pytest.mark.parametrize("key", SOLVERS)
def test_duplicate_and_constant_rows(key):
    X, Y = random_problem(20, 4)
    scores = SOLVERS[key](n_components=2, lam=0.1).fit(TrainingSet(np.vstack([X, X]), np.vstack([Y, Y])))
    single = SOLVERS[key](n_components=2, lam=0.05, **({"alpha": 0.05} if key == "faie" else {}))
    if key != "faie":
        # Twice the rows and twice the penalty are the same problem.
        assert scores.coef == pytest.approx(single.fit(TrainingSet(X, Y)).coef, abs=1e-9)
    flat = SOLVERS[key]().fit(TrainingSet(np.ones((20, 4)), Y)).decision_function(np.ones((3, 4)))
    assert np.isfinite(flat).all()
    if key != "faie":
        assert flat == pytest.approx(np.tile(np.where(Y, 1.0, -1.0).mean(axis=0), (3, 1)), abs=1e-12)


def test_penalty_that_is_made_safe():
    X, Y = random_problem()
    Xc = X - X.mean(axis=0)
    safe = 1e-6 * np.trace(Xc.T @ Xc) / X.shape[1]
    assert PLST(lam=safe).fit(TrainingSet(X, Y)).coef == pytest.approx(PLST().fit(TrainingSet(X, Y)).coef, rel=1e-9)


def test_a_part_of_the_labels():
    X, Y = random_problem(40, 6, 5)
    train = TrainingSet(X, Y)
    for part, count in ((0.1, 1), (0.3, 2), (0.5, 3), (0.49, 2)):
        assert np.array_equal(CPLST(n_components=part).fit(train).coef, CPLST(n_components=count).fit(train).coef)


@pytest.mark.parametrize("key", SOLVERS)
@pytest.mark.parametrize("value", [1.0, 2.5])
def test_numbers_of_components_that_could_mean_two_things_are_refused(key, value):
    with pytest.raises(ValueError, match="whole number or a part of the labels below 1"):
        SOLVERS[key](n_components=value)


@pytest.mark.parametrize("key", SOLVERS)
@pytest.mark.parametrize("value", [-1.0, "safe", float("nan"), float("inf"), None, True])
def test_penalties_out_of_range_are_refused(key, value):
    with pytest.raises(ValueError, match="lam must be 'auto' or a number"):
        SOLVERS[key](lam=value)


def test_unknown_choices_are_refused():
    with pytest.raises(ValueError, match=r"hat_bias must be one of .*, found 'centre'. Did you mean 'center'"):
        CPLST(hat_bias="centre")
    with pytest.raises(ValueError, match=r"coding must be one of .*, found 'sign'. Did you mean 'signs'"):
        FaIE(coding="sign")
    with pytest.raises(ValueError, match="alpha must be a number"):
        FaIE(alpha=-1.0)


def test_one_preparation_serves_all_penalties():
    X, Y = random_problem()
    train = TrainingSet(X, Y)
    for key, cls in SOLVERS.items():
        prepared = cls().prepare(train)
        for lam in (0.0, 1.0):
            assert np.array_equal(cls(lam=lam).fit(train, prepared).coef, cls(lam=lam).fit(train).coef), key


def test_largest_gives_orthonormal_vectors_with_a_fixed_sign():
    A = np.random.default_rng(0).standard_normal((6, 4))
    values, vectors = largest(A @ A.T, 6, 1e-10)
    assert len(values) == 4
    assert vectors.T @ vectors == pytest.approx(np.eye(4), abs=1e-12)
    assert (vectors[np.abs(vectors).argmax(axis=0), range(4)] > 0).all()
    assert np.max(subspace_angles(vectors, A)) < 1e-8


@pytest.mark.parametrize("key", ["plst", "cplst", "faie"])
def test_a_kernel_whose_rounding_hides_the_rows_certifies_nothing(key):
    X, Y = random_problem()
    X[:, 0] = 1e10  # (x'y + 1)^3 is 1e60 in every entry
    solver = SOLVERS[key](kernel="polynomial")
    lost = solver.fit(TrainingSet(X, Y)).info
    assert (lost.converged, lost.optimality) == (False, 1.0)
    same = solver.fit(TrainingSet(np.ones_like(X) * X[0], Y)).info
    assert same.converged
