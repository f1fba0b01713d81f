"""SLRM with other losses and with masked labels, and what it says about labels, against definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mlrank.solvers.base import FitInfo, TrainingSet
from mlrank.solvers.models import LinearModel
from mlrank.solvers.slrm.admm import LOSSES, moved_dual
from mlrank.solvers.slrm.slrm import SLRM, label_correlation, related_labels
from mlrank.solvers.slrm.split import nearest_to_least
from tests.solvers.problems import random_problem
from tests.solvers.slrm_reference import entry_loss, minimum, objective
from tests.solvers.test_slrm import TIGHT, parts, semi_supervised

NAMES = list(LOSSES)


def some_known(shape=(25, 5), seed=5):
    known = np.random.default_rng(seed).random(shape) < 0.7
    known[3], known[:, 1] = False, True
    return known


@pytest.mark.parametrize("u_step", ["eigen", "products"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize(("lam", "gamma"), [(1.0, 0.3), (4.0, 0.0)])
def test_proximal_gradient_steps_find_the_same(loss, masked, lam, gamma, u_step):
    known = some_known() if masked else None
    train = semi_supervised(known=known)
    Xl, targets, M = parts(train)
    counted = np.ones(targets.shape, bool) if known is None else known
    V = minimum(Xl, targets, counted, M, lam, gamma, loss, steps=4000)
    model = SLRM(lam, gamma, loss=loss, missing="mask", u_step=u_step, **TIGHT).fit(train)
    assert model.info.converged
    best = objective(V, Xl, targets, counted, M, lam, gamma, loss)
    assert model.info.objective == pytest.approx(best, rel=2e-10)
    assert np.allclose(model.coef.T, V, atol=5e-4)
    assert model.rank == np.linalg.matrix_rank(V, 1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_missing_labels_have_no_loss_whatever_missing_says(loss):
    train = semi_supervised(known=some_known())
    first, second = (SLRM(1.0, loss=loss, missing=missing).fit(train) for missing in ("zero", "mask"))
    assert first.coef.tobytes() == second.coef.tobytes()


def test_with_all_labels_known_a_mask_changes_nothing():
    train = semi_supervised(known=np.ones((25, 5), bool))
    assert SLRM(missing="mask").fit(train).coef.tobytes() == SLRM().fit(train).coef.tobytes()


@given(st.integers(0, 100), st.sampled_from(NAMES), st.sampled_from([0.1, 3.0]), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_the_certificate_holds_at_every_step(seed, loss, lam, n_iter):
    known = some_known((14, 4), seed)
    train = semi_supervised(24, 14, 5, 4, seed, known=known)
    Xl, targets, M = parts(train)
    V = minimum(Xl, targets, known, M, lam, 0.5, loss, steps=3000)
    best = objective(V, Xl, targets, known, M, lam, 0.5, loss)
    info = SLRM(lam, 0.5, loss=loss, missing="mask", tol=1e-12, max_iter=n_iter).fit(train).info
    assert info.objective >= best * (1 - 1e-9)
    assert info.objective * (1 - info.optimality) <= best * (1 + 1e-9)


@pytest.mark.parametrize("loss", NAMES)
def test_losses_their_gradients_curvatures_and_conjugates(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random((6, 4)) < 0.5, 1.0, -1.0)
    known = rng.random((6, 4)) < 0.8
    y[~known] = 0.0
    made = LOSSES[loss](y, known)
    F = 2 * rng.standard_normal((6, 4))
    values, slopes = entry_loss(loss, F, y)
    assert made.value(F) == pytest.approx(values[known].sum())
    assert np.allclose(made.gradient(F), np.where(known, slopes, 0.0))
    G = F + rng.standard_normal((6, 4))
    step = G - F
    above = made.value(F) + (made.gradient(F) * step).sum() + made.curvature / 2 * (step**2).sum()
    assert made.value(G) <= above
    A = 0.7 * made.gradient(F)
    by_search = sum(
        -minimize_scalar(lambda f, a=a, s=s: entry_loss(loss, f, s)[0] - a * f, bounds=(-60, 60), method="bounded").fun
        for a, s, told in zip(A.ravel(), y.ravel(), known.ravel(), strict=True)
        if told
    )
    assert made.conjugate(A) == pytest.approx(by_search, abs=1e-5)


def test_outputs_far_from_zero_do_not_overflow():
    y = np.array([[1.0, -1.0]])
    made = LOSSES["logistic"](y)
    F = np.array([[-1e4, 1e4]])
    assert made.value(F) == pytest.approx(2e4)
    assert np.allclose(made.gradient(F), -y)
    assert made.conjugate(made.gradient(F)) == 0.0


def with_weights(coef):
    coef = np.array(coef, dtype=float)
    return LinearModel(coef, np.zeros(len(coef)), FitInfo(1, 0.0, 0.0, True))


def test_label_correlations_are_cosines_of_the_weights():
    model = with_weights([[1, 0, 0], [3, 4, 0], [-2, 0, 0], [0, 0, 0]])
    expected = [[1, 0.6, -1, 0], [0.6, 1, -0.6, 0], [-1, -0.6, 1, 0], [0, 0, 0, 0]]
    assert np.allclose(label_correlation(model), expected)


def test_related_labels_are_the_most_alike_and_ties_keep_their_order():
    model = with_weights([[1, 0], [3, 4], [0, 1], [3, 4], [-1, 0]])
    related = related_labels(model, ["sky", "tree", "road", "bush", "book"], n_related=2)
    assert [name for name, _ in related["sky"]] == ["tree", "bush"]
    assert related["tree"] == (("bush", pytest.approx(1.0)), ("road", pytest.approx(0.8)))
    assert related["book"] == ()
    with pytest.raises(ValueError, match="the model has 5 labels, found 1 names"):
        related_labels(model, ["sky"])


def test_labels_of_one_group_are_found_related():
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((2, 8))
    X = rng.standard_normal((200, 8))
    latent = X @ direction.T
    Y = np.column_stack([latent[:, g] + 0.3 * rng.standard_normal(200) > 0 for g in (0, 0, 1, 1)])
    train = semi_supervised()
    model = SLRM(5.0, 0.1).fit(type(train)(X[:80], Y[:80], X[80:]))
    related = related_labels(model, "abcd", n_related=1)
    assert [names[0][0] for names in related.values()] == ["b", "a", "d", "c"]


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_the_copy_of_the_outputs_minimizes_the_loss_and_its_distance(name):
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((6, 3)) < 0.5, 1.0, -1.0)
    Y[0, 1] = 0.0
    loss, Z, weights = LOSSES[name](Y), 3.0 * rng.standard_normal((6, 3)), 10.0 ** rng.uniform(-8, 1, (6, 1))
    F = nearest_to_least(loss, Z, weights)
    assert loss.gradient(F) + weights * (F - Z) == pytest.approx(np.zeros((6, 3)), abs=1e-9)
    assert F[0, 1] == Z[0, 1]


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_a_cell_of_1e5_does_not_keep_a_loss_from_its_minimum(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 8))
    Y = (X @ rng.standard_normal((8, 3)) / 3 + 0.3 * rng.standard_normal((100, 3))) > 0.3
    X[3, 2] = 1e5
    model = SLRM(gamma=0.0, loss=name).fit(TrainingSet(X, Y))
    margin = np.where(Y, 1.0, -1.0) * (X @ model.coef.T)
    loss = np.logaddexp(0.0, -margin) if name == "logistic" else np.maximum(0.0, 1.0 - margin) ** 2
    assert model.info.converged
    assert model.info.objective == pytest.approx(loss.sum() + np.linalg.svd(model.coef)[1].sum(), rel=1e-8)
    without = SLRM(gamma=0.0, loss=name).fit(TrainingSet(np.delete(X, 3, axis=0), np.delete(Y, 3, axis=0)))
    assert without.info.objective * (1 - without.info.optimality) <= model.info.objective


def test_a_logistic_loss_with_next_to_no_penalty_reaches_its_optimum():
    """Its curvature is far below the bound that the steps of the multipliers use: a thousand of them do not do."""
    X, Y = random_problem(n=24, m=6)
    model = SLRM(lam=1e-3, gamma=0.0, loss="logistic").fit(TrainingSet(X, Y))
    assert model.info.converged
    V, signs = model.coef.T, np.where(Y, 1.0, -1.0)
    gradient = -X.T @ (signs / (1.0 + np.exp(signs * (X @ V))))
    # V has full rank: its nuclear norm has the gradient L R' of its singular vectors.
    left, values, right = np.linalg.svd(V, full_matrices=False)
    assert len(values) == np.linalg.matrix_rank(V) == model.rank
    assert np.abs(gradient + 1e-3 * left @ right).max() < 1e-5
    expected = np.logaddexp(0.0, -signs * (X @ V)).sum() + 1e-3 * values.sum()
    assert model.info.objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_moved_dual_point_is_a_bound(loss):
    train = semi_supervised()
    problem = SLRM(loss=loss).prepare(train)
    system, lam = problem.system(0.3), 0.5
    least = SLRM(lam, 0.3, loss=loss, **TIGHT).fit(train).info.objective
    curvature = np.array(problem.loss.curvature)
    V = np.random.default_rng(0).standard_normal((system.size, 5))
    near = system.lower(SLRM(lam, 0.3, loss=loss).fit(train).coef.T)
    assert moved_dual(system, curvature, problem.loss, 0.1 * V, lam, 50).bound <= least
    assert 0.999 * least <= moved_dual(system, curvature, problem.loss, near, lam).bound <= least * (1 + 1e-9)
