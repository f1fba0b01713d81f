"""Hypergraph spectral learning against fixtures, the definitions in dense numpy, and the stronger theorem."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import csr_array

from mlrank.hypergraph import expansion_factor
from mlrank.linalg import center_columns
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.hypergraph.hypergraph_spectral import HypergraphSpectral
from tests.solvers.problems import SCENARIOS, load, random_problem

EXPANSIONS = ("clique", "star", "zhou", "cca")
WAYS = {
    "direct": {"backend": "direct"},
    "iterative": {"backend": "iterative", "tol": 1e-10},
    "printed": {"algorithm": "printed"},
}


def project(X, Y, **settings):
    return HypergraphSpectral(**settings).fit_projection(TrainingSet(X, Y))


def similarity(Y, expansion):
    """Return PSP from the definitions, with plain sums over hyperedges."""
    n, k = Y.shape
    J = Y.astype(float)
    size = J.sum(axis=0)
    S = np.zeros((n, n))
    if expansion == "cca":
        centered = J - J.mean(axis=0)
        S = centered @ np.linalg.pinv(centered.T @ centered, rcond=1e-10) @ centered.T
    else:
        edges = [
            np.outer(J[:, e], J[:, e]) * (1.0 if expansion == "clique" else 1.0 / max(size[e], 1)) for e in range(k)
        ]
        if expansion == "star":  # M De^-1 M' with M = J / size and De = 1
            edges = [edge / max(size[e], 1) for e, edge in enumerate(edges)]
        degree = {
            "clique": sum(edges).sum(axis=1),
            "star": (J / np.maximum(size, 1)).sum(axis=1),
            "zhou": J.sum(axis=1),
        }[expansion]
        root = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degree])
        S = root[:, None] * sum(edges) * root
    P = np.eye(n) - 1.0 / n
    return P @ S @ P


def span(W, tol=1e-9):
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    return U[:, s > tol * s[0]]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_factor_is_the_fixture(scenario, expansion):
    f = load(scenario)
    Y = f["in_Y"].astype(bool)
    factor = expansion_factor(Y, expansion, np.ones(Y.shape[1]))
    assert factor @ factor.T == pytest.approx(f[f"hyp_S_{expansion}"], abs=1e-12)


VARIANTS = [(method, way) for method in ("exact", "lstsq") for way in WAYS if (method, way) != ("lstsq", "printed")]


@pytest.mark.parametrize(("method", "way"), VARIANTS)
@pytest.mark.parametrize("penalty", ["0", "L"])
@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize(("scenario", "sparse"), [(name, name in ("sparse", "medium", "edge")) for name in SCENARIOS])
def test_fixtures(scenario, expansion, penalty, method, way, sparse):
    f = load(scenario)
    lam = 0.0 if penalty == "0" else float(f["in_hg_lam"])
    X = csr_array(f["in_X"]) if sparse else f["in_X"]
    found = project(X, f["in_Y"].astype(bool), expansion=expansion, lam=lam, method=method, **WAYS[way])
    name = f"{'hg' if method == 'exact' else 'lshg'}_{expansion}_{penalty}"
    expected = f[f"{name}_WWt"]
    assert found.coef @ found.coef.T == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())
    Z, gram = found.transform(f["in_Xte"]), f[f"{name}_gram_te"]
    assert Z @ Z.T == pytest.approx(gram, abs=1e-6 * np.abs(gram).max())
    if method == "exact":
        assert found.eigenvalues == pytest.approx(f[f"{name}_eig"], abs=1e-7)
    assert found.info.converged


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lam", [0.0, 0.7])
@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_exact_solves_the_eigenproblem_of_the_paper(expansion, lam, way):
    X, Y = random_problem(n=25, m=7, k=4, seed=3)
    found = project(X, Y, expansion=expansion, lam=lam, **WAYS[way])
    Xc = X - X.mean(axis=0)
    M = Xc.T @ Xc + lam * np.eye(7)
    W, S = found.coef, similarity(Y, expansion)
    assert Xc.T @ S @ Xc @ W == pytest.approx(M @ W * found.eigenvalues, abs=1e-9)
    assert W.T @ M @ W == pytest.approx(np.eye(W.shape[1]), abs=1e-9)
    top = np.linalg.eigvals(np.linalg.solve(M, Xc.T @ S @ Xc)).real
    assert found.eigenvalues == pytest.approx(np.sort(top)[::-1][: W.shape[1]], abs=1e-9)
    assert found.info.objective == pytest.approx(np.trace(W.T @ Xc.T @ S @ Xc @ W), abs=1e-9)


@pytest.mark.parametrize("way", ["direct", "iterative"])
@pytest.mark.parametrize(("n", "m"), [(25, 7), (12, 30)])
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_lstsq_minimizes_the_ridge_objective(lam, n, m, way):
    X, Y = random_problem(n=n, m=m, k=4, seed=4)
    found = project(X, Y, lam=lam, method="lstsq", **WAYS[way])
    values, vectors = np.linalg.eigh(similarity(Y, "clique"))
    H = vectors[:, values > 1e-9]
    Xc = X - X.mean(axis=0)
    W = np.linalg.pinv(Xc) @ H if lam == 0 else np.linalg.solve(Xc.T @ Xc + lam * np.eye(m), Xc.T @ H)
    assert found.coef @ found.coef.T == pytest.approx(W @ W.T, abs=1e-8)
    loss = ((Xc @ W - H) ** 2).sum() + lam * (W**2).sum()
    assert found.info.objective == pytest.approx(loss, abs=1e-9)
    assert found.transform(X).mean(axis=0) == pytest.approx(np.zeros(H.shape[1]), abs=1e-12)


@pytest.mark.parametrize("rank", [2, 3, 6])
@pytest.mark.parametrize("lam", [0.0, 1e-3, 2.0, 500.0])
@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_exact_and_lstsq_span_the_same_subspace_whatever_lam_and_rank(expansion, lam, rank):
    rng = np.random.default_rng(5)
    _, Y = random_problem(n=30, k=4, seed=5)
    X = rng.standard_normal((30, rank)) @ rng.standard_normal((rank, 9))
    exact = project(X, Y, expansion=expansion, lam=lam, algorithm="printed")
    reduced = project(X, Y, expansion=expansion, lam=lam)
    lstsq = project(X, Y, expansion=expansion, lam=lam, method="lstsq")
    assert span(exact.coef).shape[1] == span(lstsq.coef).shape[1] == min(rank, 4)
    assert subspace_angles(span(exact.coef), span(lstsq.coef)).max() < 1e-6
    assert reduced.coef @ reduced.coef.T == pytest.approx(exact.coef @ exact.coef.T, abs=1e-7 * (exact.coef**2).sum())


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_exact_and_lstsq_are_one_where_rows_are_affinely_independent(expansion):
    X, Y = random_problem(n=15, m=40, k=4, seed=6)
    exact, lstsq = (project(X, Y, expansion=expansion, lam=0.0, method=method) for method in ("exact", "lstsq"))
    assert exact.coef @ exact.coef.T == pytest.approx(lstsq.coef @ lstsq.coef.T, abs=1e-10)
    fewer = project(X[:, :10], Y, expansion=expansion, lam=0.0)
    other = project(X[:, :10], Y, expansion=expansion, lam=0.0, method="lstsq")
    assert np.abs(fewer.coef @ fewer.coef.T - other.coef @ other.coef.T).max() > 1e-3


def test_rotation_does_not_change_the_scores():
    X, Y = random_problem(n=15, m=40, k=4, seed=6)
    train = TrainingSet(X, Y)
    exact, lstsq = (
        HypergraphSpectral(lam=0.0, method=method, svm_tol=1e-8).fit(train).decision_function(X)
        for method in ("exact", "lstsq")
    )
    assert exact == pytest.approx(lstsq, abs=1e-4)


@pytest.mark.parametrize("method", ["exact", "lstsq"])
@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("backend", ["direct", "iterative"])
@pytest.mark.parametrize("sparse", [False, True])
def test_kernel_form_is_the_linear_one_for_a_linear_kernel(sparse, backend, lam, method):
    if (backend, lam) == ("iterative", 0.0):
        pytest.skip("without lam a kernel system is solved directly")
    X, Y = random_problem(n=25, m=7, k=4, seed=7)
    X_test = random_problem(n=9, m=7, seed=8)[0] + 1.0
    linear = project(X, Y, lam=lam, method=method)
    # (x'z + 0)^1: a linear kernel that takes the kernel's way.
    kernel = {"kernel": "polynomial", "gamma": 1.0, "degree": 1, "coef0": 0.0}
    given = csr_array(X) if sparse else X
    found = project(given, Y, lam=lam, method=method, backend=backend, tol=1e-8, **kernel)
    Z, expected = found.transform(csr_array(X_test) if sparse else X_test), linear.transform(X_test)
    assert Z @ Z.T == pytest.approx(expected @ expected.T, abs=1e-6)
    assert found.info.objective == pytest.approx(linear.info.objective, abs=1e-9)
    assert found.info.converged
    if method == "exact":
        assert found.eigenvalues == pytest.approx(linear.eigenvalues, abs=1e-9)


def test_kernel_directions_are_orthonormal_in_feature_space():
    X, Y = random_problem(n=25, m=7, k=4, seed=7)
    found = project(X, Y, lam=0.3, kernel="rbf", gamma=0.2)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    P = np.eye(25) - 1 / 25
    K = P @ np.exp(-0.2 * squares) @ P
    A = found.dual
    assert A.T @ (K @ K + 0.3 * K) @ A == pytest.approx(np.eye(A.shape[1]), abs=1e-9)
    assert K @ similarity(Y, "clique") @ K @ A == pytest.approx((K @ K + 0.3 * K) @ A * found.eigenvalues, abs=1e-9)
    assert found.transform(X) == pytest.approx(K @ A, abs=1e-10)


def test_kernel_models_score_through_the_projection():
    X, Y = random_problem()
    solver = HypergraphSpectral(kernel="rbf", gamma=0.2, head="ridge", ridge_lam=0.1)
    train = TrainingSet(X, Y)
    model, Z = solver.fit(train), np.sqrt(len(X)) * solver.fit_projection(train).transform(X)
    design = np.hstack([Z, np.ones((len(Z), 1))])
    penalty = np.diag([0.1] * Z.shape[1] + [0.0])
    scores = design @ np.linalg.solve(design.T @ design + penalty, design.T @ Y)
    assert model.decision_function(X) == pytest.approx(scores, abs=1e-8)


def test_neighbors_in_the_projected_space():
    X, Y = random_problem()
    solver = HypergraphSpectral(head="knn", n_neighbors=3, lam=0.1)
    train = TrainingSet(X, Y)
    X_test = random_problem(seed=9)[0]
    projection = solver.fit_projection(train)
    Z, Z_test = projection.transform(X), projection.transform(X_test)
    scores = solver.fit(train).decision_function(X_test)
    for z, row in zip(Z_test, scores, strict=True):
        nearest = np.argsort(((Z - z) ** 2).sum(axis=1))[:3]
        assert row == pytest.approx(Y[nearest].mean(axis=0))
    everyone = HypergraphSpectral(head="knn", n_neighbors=1000).fit(train)
    assert everyone.decision_function(X_test[:1])[0] == pytest.approx(Y.mean(axis=0))


def test_one_preparation_serves_every_lam_and_expansion():
    X, Y = random_problem(n=60, m=25, k=6)
    train = TrainingSet(X, Y)
    for backend in ("direct", "iterative"):
        prepared = HypergraphSpectral(backend=backend).prepare(train)
        for expansion in EXPANSIONS:
            for lam in (10.0, 0.01, 1.0):
                solver = HypergraphSpectral(expansion=expansion, lam=lam, backend=backend, head="ridge")
                shared, alone = solver.fit(train, prepared), solver.fit(train)
                assert shared.coef.tobytes() == alone.coef.tobytes()
                assert shared.info == alone.info


@pytest.mark.parametrize(("n", "m"), [(60, 25), (25, 60)])
@pytest.mark.parametrize("method", ["exact", "lstsq"])
@pytest.mark.parametrize("lam", [0.0, 1e-4, 0.3])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_optimality_is_the_residual_recomputed_from_the_definitions(n, m, method, lam, tol):
    X, Y = random_problem(n=n, m=m, k=4, seed=11)
    found = project(csr_array(X), Y, method=method, lam=lam, tol=tol, backend="iterative")
    Xc, S = X - X.mean(axis=0), similarity(Y, "clique")
    M = Xc.T @ Xc + lam * np.eye(m)
    assert found.info.converged
    assert found.info.optimality <= tol
    if method == "exact":
        left = Xc.T @ S @ Xc @ found.coef
        residual = np.linalg.norm(left - M @ found.coef * found.eigenvalues) / np.linalg.norm(left)
        assert residual <= found.info.optimality * (1 + 1e-6) + 1e-10
    else:
        H = span(S)
        B = Xc.T @ H
        # H is known up to rotation: the smallest residual over rotations is that of the best fit.
        rotation = np.linalg.lstsq(B, M @ found.coef, rcond=None)[0]
        U, _, Vt = np.linalg.svd(rotation)
        right = B @ (U @ Vt)
        residual = (np.linalg.norm(right - M @ found.coef, axis=0) / np.linalg.norm(right, axis=0)).max()
        assert residual == pytest.approx(found.info.optimality, rel=1e-2, abs=1e-10)


def test_the_iteration_that_needs_little_memory_agrees(monkeypatch):
    import mlrank.solvers.hypergraph.systems as systems

    X, Y = random_problem(n=60, m=25, k=4, seed=12)
    expected = [project(X, Y, lam=lam, method="lstsq").coef for lam in (0.0, 0.5)]
    monkeypatch.setattr(systems, "BASIS_BYTES", 0)
    for shape in ("tall", "wide"):
        rows = X if shape == "tall" else np.hstack([X, np.zeros((60, 60))])
        for lam, coef in zip((0.0, 0.5), expected, strict=True):
            found = project(rows, Y, lam=lam, method="lstsq", backend="iterative", tol=1e-10)
            assert found.info.n_iter > 1
            assert found.info.converged
            assert found.coef[:25] == pytest.approx(coef, abs=1e-7)


@pytest.mark.parametrize(("n", "m"), [(60, 25), (25, 60)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_factorizing_agrees_with_eigenvectors(n, m, kernel, monkeypatch):
    import mlrank.solvers.hypergraph.systems as systems

    X, Y = random_problem(n=n, m=m, k=4, seed=12)
    settings = {"lam": 0.5, "kernel": kernel, "gamma": 0.05, "backend": "direct"}
    expected = [project(X, Y, method=method, **settings) for method in ("exact", "lstsq")]
    monkeypatch.setattr(systems, "SMALL", 0)
    monkeypatch.setattr(systems.Spectrum, "of", lambda gram: pytest.fail("decomposed"))
    for method, other in zip(("exact", "lstsq"), expected, strict=True):
        found = project(csr_array(X), Y, method=method, **settings)
        Z, expected_Z = found.transform(X), other.transform(X)
        assert Z @ Z.T == pytest.approx(expected_Z @ expected_Z.T, abs=1e-9)
        assert found.info.objective == pytest.approx(other.info.objective, abs=1e-10)
        assert found.info.converged


def test_sizes_decide_how_a_system_is_solved(monkeypatch):
    import mlrank.solvers.hypergraph.systems as systems

    X, Y = random_problem(n=60, m=40, k=3, seed=15)
    called = []
    for way in ("_direct", "_factorized", "_iterate", "_long"):
        original = getattr(systems.RidgeSystem, way)

        def spied(self, *args, way=way, original=original):
            called.append(way)
            return original(self, *args)

        monkeypatch.setattr(systems.RidgeSystem, way, spied)

    def ways(lam, **settings):
        called.clear()
        assert project(X, Y, lam=lam, method="lstsq", **settings).info.converged
        return called.copy()

    assert ways(1.0) == ways(0.0) == ["_direct"]
    monkeypatch.setattr(systems, "SMALL", 30)
    assert ways(1e4) == ["_iterate"]
    assert ways(0.0) == ["_direct"]
    assert ways(1e-3) == ["_iterate", "_direct", "_factorized"]
    monkeypatch.setattr(systems, "MEDIUM", 30)
    assert ways(1e-3) == ["_iterate", "_direct", "_factorized"]
    assert ways(0.0) == ["_iterate", "_long"]
    monkeypatch.setattr(systems, "LARGE", 30)
    assert ways(1e-3) == ["_iterate", "_long"]
    assert ways(0.0) == ["_iterate", "_long"]
    assert ways(1e-3, kernel="rbf") == ["_iterate"]
    assert ways(0.0, kernel="rbf", gamma=5.0) == ["_direct"]


def test_running_out_of_iterations_is_told():
    X, Y = random_problem(n=60, m=25, k=4)
    for method in ("exact", "lstsq"):
        info = project(X, Y, lam=1e-3, method=method, backend="iterative", max_iter=2).info
        assert not info.converged
        assert info.optimality > 1e-6


@pytest.mark.parametrize("lam", [0.0, 0.8])
@pytest.mark.parametrize("sparse", [False, True])
def test_bias_augment_penalizes_the_bias(sparse, lam):
    X, Y = random_problem(n=25, m=7, k=4, seed=13)
    X = X + 1.0
    found = project(csr_array(X) if sparse else X, Y, lam=lam, method="lstsq", bias="augment")
    values, vectors = np.linalg.eigh(similarity(Y, "clique"))
    H = vectors[:, values > 1e-9]
    design = np.hstack([X, np.ones((25, 1))])
    W = np.linalg.pinv(design.T @ design + lam * np.eye(8)) @ design.T @ H
    Z = found.transform(X)
    assert Z @ Z.T == pytest.approx(design @ W @ W.T @ design.T, abs=1e-8)
    centered = project(X, Y, lam=lam, method="lstsq").transform(X)
    assert (np.abs(Z @ Z.T - centered @ centered.T).max() > 1e-3) == (lam > 0)


def test_uncentered_factor_as_printed():
    X, Y = random_problem(n=25, m=7, k=4, seed=13)
    found = project(X, Y, lam=0.5, method="lstsq", center_H0=False)
    J = Y.astype(float)
    degree = (J @ J.T).sum(axis=1)
    root = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degree])
    U, _, _ = np.linalg.svd(J * root[:, None], full_matrices=False)
    Xc = X - X.mean(axis=0)
    W = np.linalg.solve(Xc.T @ Xc + 0.5 * np.eye(7), Xc.T @ U)
    assert found.coef @ found.coef.T == pytest.approx(W @ W.T, abs=1e-9)
    Z = Xc @ W + U.mean(axis=0)
    assert found.transform(X) @ found.transform(X).T == pytest.approx(Z @ Z.T, abs=1e-9)
    loss = ((Xc @ W - U + U.mean(axis=0)) ** 2).sum() + 0.5 * (W**2).sum()
    assert found.info.objective == pytest.approx(loss, abs=1e-9)


def test_fill_k_keeps_as_many_targets_as_labels():
    X, _ = random_problem(n=24, m=7)
    Y = np.eye(3, dtype=bool)[np.arange(24) % 3]
    assert project(X, Y, method="lstsq").coef.shape == (7, 2)
    assert project(X, Y, method="lstsq", fill="k").coef.shape == (7, 3)


def test_scale_unit_only_rescales_columns():
    X, Y = random_problem()
    metric, unit = project(X, Y), project(X, Y, scale="unit")
    assert np.linalg.norm(unit.coef, axis=0) == pytest.approx(np.ones(unit.coef.shape[1]))
    lengths = np.linalg.norm(metric.coef, axis=0)
    assert unit.coef == pytest.approx(metric.coef / lengths)
    kernel = {"kernel": "polynomial", "gamma": 1.0, "degree": 1, "coef0": 0.0}
    Z, expected = project(X, Y, scale="unit", **kernel).transform(X), unit.transform(X)
    assert Z @ Z.T == pytest.approx(expected @ expected.T, abs=1e-9)


def test_distance_weights_enter_by_the_degrees_alone():
    X, Y = random_problem(seed=14)
    equal, nothing = project(X, Y), project(X, Y, weights="distance", nu=0.0)
    assert nothing.coef == pytest.approx(equal.coef, abs=1e-10)
    far = project(X, Y, weights="distance", nu=0.3)
    assert np.abs(far.coef @ far.coef.T - equal.coef @ equal.coef.T).max() > 1e-4
    plain = project(X, Y, expansion="cca")
    assert project(X, Y, expansion="cca", weights="distance", nu=0.3).coef == pytest.approx(plain.coef)


DEGENERATE = {
    "no label at all": lambda X, Y: (X, np.zeros_like(Y)),
    "every label on every row": lambda X, Y: (X, np.ones_like(Y)),
    "one label": lambda X, Y: (X, Y[:, :1]),
    "equal labels": lambda X, Y: (X, np.repeat(Y[:, :1], 3, axis=1)),
    "constant features": lambda X, Y: (np.full_like(X, 0.1), Y),
    "zero features": lambda X, Y: (np.zeros_like(X), Y),
    "more labels than rows": lambda X, Y: (X[:4], np.tile(Y[:4], (1, 3))),
    "more labels than features": lambda X, Y: (X[:, :2], Y),
    "one row": lambda X, Y: (X[2:3], Y[2:3]),
    "two equal rows": lambda X, Y: (X[[2, 2]], Y[2:4]),
}


@pytest.mark.parametrize("problem", DEGENERATE)
@pytest.mark.parametrize("way", ["direct", "iterative", "kernel"])
# Each two of the three in all four ways.
@pytest.mark.parametrize(
    ("method", "lam", "sparse"),
    [("exact", 0.0, False), ("exact", 1.0, True), ("lstsq", 0.0, True), ("lstsq", 1.0, False)],
)
def test_degenerate_problems_have_a_defined_result(problem, method, lam, way, sparse):
    X, Y = DEGENERATE[problem](*random_problem(n=20))
    ways = {"kernel": {"kernel": "rbf", "gamma": 2.0}}
    for expansion, head in zip(EXPANSIONS, ("svm", "ridge", "knn", "ridge"), strict=True):
        settings = ways.get(way, {"backend": way}) | {"method": method, "lam": lam, "head": head}
        solver = HypergraphSpectral(expansion=expansion, **settings)
        model = solver.fit(TrainingSet(csr_array(X) if sparse else X, Y))
        scores = model.decision_function(csr_array(X) if sparse else X)
        assert scores.shape == Y.shape
        assert np.isfinite(scores).all()
        assert model.info.converged
    if problem == "no label at all":
        assert project(X, Y, method=method, lam=lam).coef.shape == (6, 0)
    if problem in ("constant features", "zero features"):
        assert np.abs(project(X, Y, method=method, lam=lam).transform(X)).max(initial=0.0) < 1e-15


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expansion": "stars"}, "expansion must be one of clique, star, zhou, cca, found 'stars'"),
        ({"method": "lsHG"}, "method must be one of exact, lstsq"),
        ({"head": "tree"}, "head must be one of svm, ridge, knn"),
        ({"lam": -1.0}, "lam must be a number, 0 or above"),
        ({"kernel": "cubic"}, "kernel must be one of"),
        ({"method": "lstsq", "algorithm": "printed"}, "algorithm 'printed' goes with method 'exact'"),
        ({"method": "lstsq", "scale": "unit"}, "scale 'unit' goes with method 'exact'"),
        ({"method": "exact", "bias": "augment"}, "bias 'augment' goes with method 'lstsq'"),
        ({"method": "exact", "fill": "k"}, "fill 'k' goes with method 'lstsq'"),
        ({"method": "exact", "center_H0": False}, "center_H0 False goes with method 'lstsq'"),
        ({"kernel": "rbf", "algorithm": "printed"}, "linear only"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        HypergraphSpectral(**settings)


@pytest.mark.parametrize("method", ["exact", "lstsq"])
@pytest.mark.parametrize("backend", ["direct", "iterative"])
def test_a_column_far_larger_than_others_does_not_hide_their_residual(method, backend):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    Y = X @ rng.standard_normal((6, 3)) + rng.standard_normal((40, 3)) > 0.3
    ratio = np.where(np.arange(6) == 1, 1e6, 1.0)
    solver = SOLVERS["hypergraph_spectral"](method=method, backend=backend, head="ridge", lam=1e-3)
    found = solver.fit_projection(TrainingSet(ratio * X, Y))
    assert found.info.converged
    # The same with columns of one scale and the penalty changed to match: a stacked problem of least squares.
    Xc = X - X.mean(axis=0)
    stacked = np.vstack([Xc, np.diag(np.sqrt(1e-3) / ratio)])
    if method == "lstsq":
        target = solver._target(TrainingSet(X, Y)).basis
        best = np.linalg.lstsq(stacked, np.vstack([target, np.zeros((6, target.shape[1]))]), rcond=None)[0]
        assert ratio[:, None] * found.coef == pytest.approx(best, abs=1e-6 * np.abs(best).max())
    else:
        H = center_columns(expansion_factor(Y, "clique", np.ones(3)))
        edges = Xc.T @ H
        values, vectors = eigh(edges @ edges.T, stacked.T @ stacked)
        assert found.eigenvalues == pytest.approx(values[::-1][: len(found.eigenvalues)], rel=1e-6)
        best = vectors[:, ::-1][:, : len(found.eigenvalues)]
        assert np.abs(ratio[:, None] * found.coef) == pytest.approx(np.abs(best), abs=1e-5 * np.abs(best).max())
