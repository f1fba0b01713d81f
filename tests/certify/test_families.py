"""Each family recomputed: what the solver reports comes out again, and planted faults do not."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from mlrank.certify import CERTIFIERS, plain
from mlrank.certify.margins import _fits, _pair_threshold_loss
from mlrank.certify.plain import LONG, kernel_values
from mlrank.certify.planes import pair_shares
from mlrank.errors import UserError
from mlrank.kernels import Kernel
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.models import DualPoint

# Settings by solver; with "known", on labels of which some are unknown.
SETTINGS = {
    "binary_svm": [
        {},
        {"kernel": "rbf", "known": True, "positive_weight": 3.0},
        {"loss": "squared_hinge", "positive_weight": 0.2},
        {"bias": "augmented", "known": True},
        {"C": 1e-3},
    ],
    "logistic": [{}, {"known": True, "positive_weight": 3.0}, {"bias": "augmented", "C": 100.0}],
    "rank_svm": [
        {},
        {"known": True, "C_scale": "mean"},
        {"bias": "free"},
        {"kernel": "rbf", "C": 0.01},
        {"kernel": "polynomial", "degree": 2, "bias": "free"},
    ],
    "rank_hlapsvm": [
        {"nu": 0.1, "known": True},
        {"lam": 0.01, "bias": "free"},
        {"kernel": "rbf", "nu": 0.1},
        {"distance": "euclid", "nu": 0.1, "bias": "none"},
        {"lam": 0.0},
    ],
    "mlr": [
        {"kernel": "linear", "bias": "augmented", "correlation": 0.3},
        {"kernel": "rbf", "known": True},
        {"kernel": "linear", "formulation": "exact"},
        {"kernel": "rbf", "correlation": 0.3, "C_convention": "eq2"},
        {"kernel": "rbf", "halve": True, "bias": "augmented"},
        {"kernel": "linear", "halve": True},
    ],
    "svm_perf": [{"kernel": "rbf"}, {"kernel": "polynomial", "known": True}, {"C_convention": "unit"}],
    "slrm": [
        {},
        {"known": True, "objective": 8},
        {"gamma": 0.0, "center": True},
        {"lam": 1000.0},
        {"lam": 0.0},
        {"loss": "logistic", "known": True},
        {"loss": "squared_hinge", "gamma": 0.0},
        {"missing": "mask", "known": True, "width": 1.0},
    ],
    "plst": [{}, {"n_components": 2, "lam": 1.0}, {"kernel": "rbf", "lam": 1.0}],
    "cplst": [{"n_components": 2, "hat_bias": "ones"}, {"n_components": 2, "kernel": "rbf"}],
    "faie": [{"n_components": 2}, {"known": True, "hat_bias": "none"}, {"n_components": 2, "kernel": "rbf"}],
    "shared_subspace": [{}, {"alpha": 0.01, "beta": 1e-3, "rank": 2}, {"kernel": "rbf", "alpha": 0.1, "beta": 0.1}],
    "bayes_cs": [{}],
    "smse": [{}, {"coding": "signs", "graph": "gaussian"}, {"variant": "smse1", "nu": 0.0}, {"variant": "smse1"}],
    "mcgf": [{}, {"variant": "sylvester"}, {"coding": "zero_one"}],
    "label_tree": [
        {"branching": 2, "leaf": 2, "tol": 1e-8, "max_iter": 10**5},
        {"branching": 2, "leaf": 1, "C": 5.0, "tol": 1e-9, "max_iter": 10**5},
    ],
}
# The bounds of these come from weights alone, and prove no more than this where the multipliers of the fit prove tol.
WEAKER = {"label_tree": 1e-3}
CASES = [(key, settings) for key, several in SETTINGS.items() for settings in several]


def training_set(known=False, sparse=False):
    rng = np.random.default_rng(0)
    n, d, k = 60, 6, 5
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k)) > 0.4
    Y[0], Y[1] = False, True
    mask = rng.random(Y.shape) < 0.85 if known else None
    return TrainingSet(csr_array(X) if sparse else X, Y, rng.standard_normal((20, d)), mask)


def fitted(key, settings, **data):
    settings = dict(settings)
    train = training_set(settings.pop("known", False), **data)
    solver = SOLVERS[key](**settings)
    return solver, solver.fit(train), train


def test_every_solver_with_a_certifier_is_tested():
    assert set(SETTINGS) == set(CERTIFIERS)


@pytest.mark.parametrize(("key", "settings"), CASES, ids=lambda value: str(value))
def test_what_a_solver_reports_comes_out_again(key, settings):
    solver, model, train = fitted(key, settings)
    proof, info = CERTIFIERS[key](solver, model, train), model.info
    assert info.converged
    assert proof.objective == pytest.approx(info.objective, rel=1e-9, abs=1e-12 * proof.scale)
    if key in WEAKER:
        assert -1e-12 <= proof.certificate <= WEAKER[key]
    elif proof.rebuilt:  # may prove more
        assert proof.certificate <= info.optimality * 1.001 + 1e-12
    elif proof.kind == "gap":  # the best part of a dual point may be more than the whole
        part = 0.05 if settings.get("loss") == "squared_hinge" else 1e-3
        assert proof.certificate == pytest.approx(info.optimality, rel=part, abs=1e-8)
        assert proof.certificate <= info.optimality * 1.001 + 1e-8
    elif proof.kind == "residual":
        assert proof.certificate == pytest.approx(info.optimality, rel=0.7, abs=1e-10)
    else:
        assert 0 <= proof.certificate <= info.optimality + 1e-12


@pytest.mark.parametrize("key", ["binary_svm", "logistic", "rank_svm", "slrm", "plst"])
def test_sparse_rows_are_certified_as_dense_ones(key):
    solver, model, train = fitted(key, {}, sparse=True)
    proof = CERTIFIERS[key](solver, model, train)
    assert proof.objective == pytest.approx(model.info.objective, rel=1e-9)
    assert proof.certificate <= model.info.optimality + 1e-6


@pytest.mark.parametrize("key", list(SETTINGS))
def test_weights_that_are_a_hundredth_off_are_found_out(key):
    solver, model, train = fitted(key, SETTINGS[key][0])
    name = next(name for name in ("left", "coef", "dual", "weights", "scores") if name in vars(model))
    proof = CERTIFIERS[key](solver, replace(model, **{name: 1.01 * getattr(model, name)}), train)
    info = model.info
    other = abs(proof.objective - info.objective) > 1e-6 * abs(info.objective)
    assert other or proof.certificate > info.optimality + 1e-4


@pytest.mark.parametrize(
    ("key", "settings"), [(key, SETTINGS[key][1]) for key in ("binary_svm", "logistic", "rank_svm", "mlr")]
)
@pytest.mark.parametrize("change", ["larger", "smaller", "of other rows"])
def test_planted_dual_points_prove_less_than_is_claimed(key, settings, change):
    solver, model, train = fitted(key, settings)
    point = model.dual_point.beta
    beta = point.toarray() if hasattr(point, "toarray") else point.astype(float)
    planted = {"larger": 1.5 * beta, "smaller": 0.5 * beta, "of other rows": beta[::-1]}[change]
    proof = CERTIFIERS[key](solver, replace(model, dual_point=DualPoint.of(planted)), train)
    assert proof.certificate > 10 * model.info.optimality


def test_sums_fit_pairs_exactly_where_a_linear_program_says_so():
    rng = np.random.default_rng(1)
    outcomes = set()
    for _ in range(60):
        a, b, cap = int(rng.integers(1, 4)), int(rng.integers(1, 4)), 1.0
        r = rng.integers(0, b + 1, a) * rng.choice([0.5, 1.0])
        s = rng.dirichlet(np.ones(b)) * r.sum()
        rows = [np.kron(np.eye(a)[i], np.ones(b)) for i in range(a)]
        columns = [np.kron(np.ones(a), np.eye(b)[j]) for j in range(b)]
        found = linprog(np.zeros(a * b), A_eq=np.array(rows + columns), b_eq=np.concatenate([r, s]), bounds=(0, cap))
        assert _fits(r.astype(np.longdouble), s.astype(np.longdouble), np.longdouble(cap + 1e-9)) == (found.status == 0)
        outcomes.add(found.status == 0)
    assert outcomes == {True, False}


def test_thresholds_between_huge_scores_cost_nothing():
    up = np.array([True, False, True, False])
    for scores, least in (
        ([1e30, -1e30, 2e30, -3e30], 0.0),
        ([1e30, 0.0, 1e30, 1.0], 0.0),
        ([0.0, 1.0, 0.5, 0.5], 5.0),
    ):
        assert _pair_threshold_loss(np.array(scores, np.longdouble), up, ~up) == least


@pytest.mark.parametrize("kind", ["linear", "rbf", "polynomial", "chi2", "additive_chi2"])
def test_kernels_are_those_of_the_package(kind):
    X = np.abs(np.random.default_rng(0).standard_normal((9, 3)))
    X[0, 0] = X[1, 0] = 0.0
    kernel = Kernel(kind, 0.7, 2, 0.5)

    class Settings:
        gamma, degree, coef0 = kernel.gamma, kernel.degree, kernel.coef0

    Settings.kernel = kind
    assert np.allclose(kernel_values(Settings, X.astype(np.longdouble), X[:4].astype(np.longdouble)), kernel(X, X[:4]))


def test_dual_points_take_no_more_than_the_scores_of_the_rows():
    rng = np.random.default_rng(0)
    for density in (0.0, 0.05, 0.5, 1.0):
        beta = np.where(rng.random((300, 7)) < density, rng.standard_normal((300, 7)), 0.0)
        held = DualPoint.of(beta).beta
        sparse = isinstance(held, csr_array)
        assert sparse == (density < 0.6)
        size = held.data.nbytes + held.indices.nbytes + held.indptr.nbytes if sparse else held.nbytes
        assert size <= beta.nbytes + 4 * 301
        assert np.array_equal(held.toarray() if sparse else held, beta)


def test_nothing_of_the_solvers_is_used():
    """Only what opens models and holds data: the package is another path to the same numbers."""
    allowed = {"mlrank.solvers", "mlrank.solvers.models"}
    folder = Path(__file__).parents[2] / "mlrank" / "certify"
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith(("mlrank.solvers", "mlrank.linalg")):
                assert node.module in allowed, f"{path.name} imports {node.module}"
            assert not (isinstance(node, ast.Attribute) and node.attr == "fit" and path.name != "fits.py")
            assert not (isinstance(node, ast.ImportFrom) and node.module.startswith("mlrank.kernels"))


def test_shares_of_pairs_are_the_optimum_of_a_problem_by_hand():
    """Rows 2 and -1 with one pair: the hinge 1 - 3w costs C up to w = 1/3, which is the optimum if C >= 1/9."""
    X, up, down = np.array([[2.0], [-1.0]]), np.array([True, False]), np.array([False, True])
    for C in (10.0, 0.05):
        weight = min(1 / 9, C)  # of the pair, so that w is three times as much
        shares = pair_shares(X, up, down, C, np.zeros(1), 0.999999 * (weight - 4.5 * weight**2))
        assert float(shares.total) == pytest.approx(weight, rel=1e-3)
        assert shares.sums.astype(float) == pytest.approx([float(shares.total), -float(shares.total)], rel=1e-12)


def test_a_kernel_of_many_rows_is_computed_for_each_product(monkeypatch):
    solver, model, train = fitted("rank_svm", {"kernel": "rbf", "C": 0.01})
    whole = CERTIFIERS["rank_svm"](solver, model, train)
    monkeypatch.setattr(plain, "WHOLE_ROWS", 59)
    monkeypatch.setattr(plain, "BLOCK", 7 * 60)
    assert isinstance(plain.rows_of(model, train.X).K, plain.KernelBlocks)
    parted = CERTIFIERS["rank_svm"](solver, model, train)
    assert (parted.objective, parted.certificate) == pytest.approx((whole.objective, whole.certificate), rel=1e-12)
    monkeypatch.setattr(plain, "PAIRWISE", 1.0)
    with pytest.raises(UserError, match="take too long"):
        CERTIFIERS["rank_svm"](solver, model, train)


def test_a_tree_of_other_weights_is_no_optimum_and_one_without_some_is_not_judged():
    solver, model, train = fitted("label_tree", {"branching": 2, "leaf": 2, "tol": 1e-6, "max_iter": 10**4})
    proof = CERTIFIERS["label_tree"](solver, model, train)
    weights = model.weights.copy()
    weights[weights.size // 2] += 0.01
    other = CERTIFIERS["label_tree"](solver, replace(model, weights=weights), train)
    assert other.objective > proof.objective * (1 + 1e-8)
    assert other.certificate > 2 * proof.certificate
    pruned = SOLVERS["label_tree"](branching=2, leaf=2, min_weight=0.1)
    lost = CERTIFIERS["label_tree"](pruned, pruned.fit(train), train)
    assert (lost.objective, lost.certificate) == (None, None)
    assert "min_weight" in lost.note
    with pytest.raises(ValueError, match="the model has 6 features and 5 labels"):
        CERTIFIERS["label_tree"](solver, model, TrainingSet(train.X[:, :4], train.Y))


def test_the_threshold_of_the_ranking_loss_is_the_best_of_all_kinks():
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = rng.integers(2, 14)
        up = rng.permutation(np.arange(size) < rng.integers(1, size))
        # Rounded, so that many are tied.
        scores = (rng.standard_normal(size) * 10.0 ** rng.integers(-2, 3)).round(rng.integers(0, 4)).astype(LONG)
        loss = min(
            np.maximum(0, 1 - (scores[up] - t)).sum() + np.maximum(0, 1 + (scores[~up] - t)).sum()
            for t in np.concatenate([scores - 1, scores + 1])
        )
        assert _pair_threshold_loss(scores, up, ~up) == pytest.approx(loss, rel=1e-17, abs=1e-17)
