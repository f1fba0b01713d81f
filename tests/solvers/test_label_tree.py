"""The label tree against a plain second implementation: its nodes' optima, its scores, and its beam."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from mlrank.labels import TopScores, top_of
from mlrank.models.parts import pack, restore
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.base import Block, FitInfo
from mlrank.solvers.label_tree.label_tree import LabelTree
from mlrank.solvers.label_tree.model import TreeModel, _matrices_of
from mlrank.solvers.label_tree.tree import _deal, grow, shape_of
from tests.solvers.label_tree_reference import machines, plain_order, plain_scores, primal

SMALL = {"branching": 4, "leaf": 4}


def problem(n=120, d=15, k=30, seed=0):
    rng = np.random.default_rng(seed)
    Y = np.zeros((n, k), bool)
    for row in range(n):
        Y[row, rng.choice(k, 3, replace=False)] = True
    X = Y @ rng.standard_normal((k, d)) + 0.3 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X / np.linalg.norm(X, axis=1, keepdims=True), Y


def best(X, signs, C):
    rows = np.column_stack([X, np.ones(len(X))])

    def both(w):
        slack = np.maximum(0, 1 - signs * (rows @ w))
        return 0.5 * w @ w + C * (slack**2).sum(), w - 2 * C * rows.T @ (signs * slack)

    found = minimize(both, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    return found.x


def check_optima(X, train, C, rel):
    """Check that every machine of a tree is the optimum of its own problem, and the objective the sum over them."""
    model = LabelTree(C=C, tol=1e-9, max_iter=20_000, **SMALL).fit(train)
    assert model.info.converged
    total = 0.0
    for rows, signs, w in machines(model, X, train.Y):
        np.testing.assert_allclose(w, best(rows, signs, C), atol=2e-4 * np.abs(w).max())
        total += primal(w, rows, signs, C)
    assert model.info.objective == pytest.approx(total, rel=rel)


@pytest.mark.parametrize("C", [1.0, 8.0])
def test_every_machine_is_the_optimum_of_its_own_problem(C):
    X, Y = problem()
    check_optima(X, TrainingSet(X, Y), C, rel=1e-9)


def test_no_machine_is_farther_from_its_optimum_than_the_certificate_says():
    X, Y = problem(seed=1)
    info_of = {}
    for tol in (0.01, 2e-4):
        model = LabelTree(tol=tol, **SMALL).fit(TrainingSet(csr_array(X), csr_array(Y)))
        apart, total = [], 0.0
        for rows, signs, w in machines(model, X, Y):
            reached, least = primal(w, rows, signs, 1.0), primal(best(rows, signs, 1.0), rows, signs, 1.0)
            apart.append((reached - least) / reached)
            total += reached
        assert max(apart) <= model.info.optimality <= tol
        assert model.info.objective == pytest.approx(total, rel=1e-5)
        info_of[tol] = model.info
    assert info_of[0.01].n_iter < info_of[2e-4].n_iter
    one = LabelTree(tol=1e-3, max_iter=1, **SMALL).fit(TrainingSet(X, Y)).info
    assert (one.n_iter, one.converged) == (1, False)
    assert one.optimality > 1e-3


@pytest.mark.parametrize("spoil", [(1e4, 0.0), (1.0, 1e3)], ids=["one large column", "one far from 0"])
def test_features_out_of_scale_leave_machines_at_their_optimum(spoil):
    X, Y = problem(n=60, d=8, k=8, seed=2)
    times, plus = spoil
    X[:, 1] = times * X[:, 1] + plus
    info = LabelTree(tol=1e-3, **SMALL).fit(TrainingSet(X, Y)).info
    assert info.converged
    assert info.optimality <= 1e-3
    model = LabelTree(tol=1e-6, **SMALL).fit(TrainingSet(X, Y))
    assert model.info.converged
    total = 0.0
    for rows, signs, w in machines(model, X, Y):
        reached = primal(w, rows, signs, 1.0)
        wide = np.column_stack([rows, np.ones(len(rows))])
        pull = signs * np.maximum(0, 1 - signs * (wide @ w))
        # P - D is half the square of the gradient's length, with the multipliers that go with the weights.
        assert 0.5 * ((w - 2 * wide.T @ pull) ** 2).sum() <= 1e-6 * reached
        total += reached
    assert model.info.objective == pytest.approx(total, rel=1e-9)


def with_lone_features(n=120, of_each=8, seed=3):
    """Rows of which each has features that no other one has, in places among the others."""
    X, Y = problem(n=n, seed=seed)
    rng = np.random.default_rng(seed)
    wide = np.zeros((n, X.shape[1] + n * of_each))
    places = rng.permutation(wide.shape[1])
    wide[:, places[: X.shape[1]]] = X
    lone = places[X.shape[1] :].reshape(n, of_each)
    np.put_along_axis(wide, lone, 0.3 * rng.standard_normal((n, of_each)), axis=1)
    return wide.astype(np.float32).astype(float), Y


@pytest.mark.parametrize("C", [1.0, 8.0])
def test_weights_of_features_of_one_row_alone_are_optimal_too(monkeypatch, C):
    from mlrank.solvers.label_tree import nodes

    monkeypatch.setattr(nodes, "OPERATIONS", 0.0)  # so that no node is too small for it
    X, Y = with_lone_features()
    check_optima(X, TrainingSet(csr_array(X), Y), C, rel=1e-12)
    # In single precision too the objective is that of the weights as they are stored.
    coarse = LabelTree(C=C, **SMALL).fit(TrainingSet(csr_array(X), Y))
    assert coarse.weights.dtype == np.float32
    reached = [
        (primal(w, rows, signs, C), best(rows, signs, C), rows, signs) for rows, signs, w in machines(coarse, X, Y)
    ]
    assert coarse.info.objective == pytest.approx(sum(one[0] for one in reached), rel=1e-12)
    apart = [(value - primal(least, rows, signs, C)) / value for value, least, rows, signs in reached]
    assert max(apart) <= coarse.info.optimality <= 1e-2


@pytest.mark.parametrize("least", [0.0, 0.02])
def test_features_of_one_row_alone_are_parted_without_a_difference(monkeypatch, least):
    from mlrank.solvers.label_tree import nodes

    X, Y = with_lone_features(seed=4)
    X[5] = 0.0  # one row has nothing, and one has nothing that others have
    X[6, np.count_nonzero(X, axis=0) > 1] = 0.0
    solver, train = LabelTree(tol=1e-7, min_weight=least, **SMALL), TrainingSet(csr_array(X), Y)
    monkeypatch.setattr(nodes, "OPERATIONS", 0.0)
    parted = []
    part = nodes._part
    monkeypatch.setattr(nodes, "_part", lambda *given: (parted.append(part(*given)), parted[-1])[1])
    found = solver.fit(train)
    assert min(one[5].size for one in parted) > 0
    monkeypatch.setattr(nodes, "LONE", 2.0)
    parted.clear()
    whole = solver.fit(train)
    assert max(one[5].size for one in parted) == 0
    for name in ("order", "node_ptr", "features", "children"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    np.testing.assert_allclose(found.weights, whole.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.bias, whole.bias, rtol=0, atol=1e-9)
    assert found.info.notes == whole.info.notes
    assert found.info.optimality == pytest.approx(whole.info.optimality, rel=1e-3)
    for first, last in zip(found.node_ptr[:-1], found.node_ptr[1:], strict=True):
        assert (np.diff(found.features[first:last].astype(int) * 256 + found.children[first:last]) > 0).all()


def test_machines_do_not_depend_on_how_many_passes_a_call_makes(monkeypatch):
    from mlrank import arrays

    train = TrainingSet(*problem())
    whole = LabelTree(**SMALL).fit(train)
    monkeypatch.setattr(arrays, "PIECE", 10.0)
    assert LabelTree(**SMALL).fit(train).weights.tobytes() == whole.weights.tobytes()


@pytest.mark.parametrize("n_blocks", [2, 3, 7])
@pytest.mark.parametrize(("branching", "leaf"), [(2, 2), (4, 3), (16, 20)])
def test_blocks_grow_and_train_parts_of_one_tree(monkeypatch, branching, leaf, n_blocks):
    from mlrank.solvers.label_tree import tree as module

    halved = []
    halve = module._halve
    monkeypatch.setattr(module, "_halve", lambda *given: (halved.append(given[9] - given[7]), halve(*given)))
    train = TrainingSet(*problem(n=300, k=60, seed=n_blocks))
    solver = LabelTree(tol=1e-3, branching=branching, leaf=leaf)
    whole, all_halved = solver.fit(train), sum(halved)
    parts, work = [], []
    for number in range(n_blocks):
        halved.clear()
        parts.append(solver.fit_block(train, Block(number, n_blocks)))
        work.append(sum(halved))
    numbers = [number for part in parts for number in part.nodes]
    assert sorted(numbers) == list(range(len(numbers)))
    places = np.array([part.tree.order >= 0 for part in parts])
    assert (places.sum(axis=0) == 1).all()
    joined = solver.join(train, parts)
    for name in ("order", "leaf_ptr", "features", "children", "weights", "bias"):
        assert getattr(joined, name).tobytes() == getattr(whole, name).tobytes(), name
    # From a level with two nodes for each block on, if it is not the last, a block halves its own labels alone.
    if branching == 2:
        assert max(work) < all_halved
    prepared = solver.prepare(train)
    again = solver.join(train, [solver.fit_block(train, Block(n, n_blocks), prepared) for n in range(n_blocks)])
    assert again.weights.tobytes() == whole.weights.tobytes()


def test_nodes_are_dealt_by_their_rows_and_children():
    # A root with four nodes, of 20 labels each, that have 40, 10, 20 and 20 rows: these cost 20 times as much, and the
    # root four times the sum, 360. Dealt are 800 | 400, 400 | 360, and the last 200 to the second, which has less.
    rows = np.repeat([40, 10, 20, 20], 20) / 20
    found = _deal(rows, np.arange(0, 81, 20), np.array([4]), 2)
    assert [part.tolist() for part in found.of_levels(np.array([1, 4]))] == [[0], [0, 1, 1, 1]]
    # Each node has two children of ten labels: 12 times its rows, so 480, 120, 240 and 240 beside the same root.
    below = _deal(rows, np.arange(0, 81, 20), np.array([4, 2]), 2)
    assert [part.tolist() for part in below.of_levels(np.array([1, 4, 8]))] == [
        [1],
        [0, 1, 1, 0],
        [0, 0, 1, 1, 1, 1, 0, 0],
    ]


@pytest.mark.parametrize(("rows", "owners"), [((50, 40), [[1], [0, 1]]), ((60, 30), None)])
def test_a_node_for_each_block_is_enough_if_they_cost_about_the_same(rows, owners):
    # Nodes with two children of 20 labels each cost 22 times their rows, the root twice the 90: 1100 | 880 + 180, no
    # block more than 1.1 times the mean of 1080; but 1320 | 660 + 180.
    deal = _deal(np.repeat(rows, 40) / 40, np.arange(0, 81, 40), np.array([2, 2]), 2)
    sizes = np.array([1, 2, 4])
    assert (deal and [part.tolist() for part in deal.of_levels(sizes)][:2]) == owners
    # The last level is dealt in any case.
    assert _deal(np.repeat(rows, 40) / 40, np.arange(0, 81, 40), np.array([2]), 2) is not None


@pytest.mark.parametrize("scores", ["hinge", "logistic"])
def test_scores_are_sums_along_the_way_from_the_root(scores):
    X, Y = problem()
    model = LabelTree(scores=scores, **SMALL).fit(TrainingSet(X, Y))
    assert model.widths.tolist() == [2, 4]
    expected = plain_scores(model, X[:20])
    np.testing.assert_allclose(model.decision_function(X[:20]), expected, rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(csr_array(X[:20])), expected, rtol=1e-9)


def test_a_wide_beam_finds_the_best_labels_and_a_narrow_one_what_it_meets():
    X, Y = problem(seed=2)
    model = LabelTree(**SMALL).fit(TrainingSet(X, Y))
    wide, every = replace(model, beam=8).top_scores(X, 5), top_of(model.decision_function(X), 5)
    np.testing.assert_array_equal(wide.labels, every.labels)
    np.testing.assert_array_equal(wide.scores, every.scores)
    lost = 0
    for beam in (1, 2, 3):
        found = replace(model, beam=beam).top_scores(X[:40], 3)
        expected = top_of(np.maximum(plain_scores(model, X[:40], beam), -1e300), 3)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)
        lost += (found.labels[:, 0] != every.labels[:40, 0]).sum()
    assert lost > 0
    # More labels than the beam holds: it grows.
    assert (replace(model, beam=1).top_scores(X[:3], 30).labels >= 0).all()


def test_rows_that_follow_a_node_together_are_scored_as_each_alone(monkeypatch):
    from mlrank import arrays
    from mlrank.solvers.label_tree import model as models

    X, Y = problem(seed=3)
    model = replace(LabelTree(**SMALL).fit(TrainingSet(X, Y)), beam=2)
    together, every = model.top_scores(X, 4), model.decision_function(X)
    for name, module in (("PIECE", arrays), ("BEAM_BYTES", models)):  # a visit a call; then a row at a time, too
        monkeypatch.setattr(module, name, 1)
        assert_same(model.top_scores(X, 4), together)
        np.testing.assert_array_equal(model.decision_function(X), every)


def test_weights_are_found_in_a_matrix_or_a_table_as_where_they_lie(monkeypatch):
    from mlrank.solvers.label_tree import model as models
    from mlrank.solvers.label_tree.beam import LOOKUPS

    rng = np.random.default_rng(6)
    X, Y = problem(seed=6)
    X = csr_array(X * (rng.random(X.shape) < 0.4))
    found = {}
    for entries in (3, 0):
        monkeypatch.setattr(models, "ENTRIES", entries)
        model = replace(LabelTree(**SMALL).fit(TrainingSet(X, Y)), beam=3)
        # All nodes are matrices, or none is.
        assert ((models._matrices_of(model)[0] >= 0) == (entries > 0)).all()
        found[entries] = model.top_scores(X, 4), model.decision_function(X)
    # All rows visit the root: a table of its weights pays. A row of its own only looks up what it has.
    mean, n_weights = X.nnz / X.shape[0], model.node_ptr[1]
    assert LOOKUPS * mean * X.shape[0] > n_weights > LOOKUPS * np.diff(X.indptr).max()
    alone = [X[row : row + 1] for row in range(X.shape[0])]
    for best, every in found.values():
        for row, one in enumerate(alone):
            assert_same(model.top_scores(one, 4), TopScores(best.labels[row : row + 1], best.scores[row : row + 1]))
            np.testing.assert_array_equal(model.decision_function(one), every[row : row + 1])


def test_a_leaf_without_labels_has_no_matrix_though_a_file_gives_it_weights():
    weights = np.array([2.0, -1.0, 0.5, 0.25, 9.0])
    model = TreeModel(
        *(np.array(part) for part in ([1, 0], [0, 2, 2], [2], [0, 2, 4, 5])),
        *(np.array([0, 0, 0, 0, 0], np.int32), np.array([0, 1, 0, 1, 0], np.uint8), weights, np.zeros(4)),
        n_features=1,
        beam=2,
        scores="logistic",
        info=FitInfo(1, 0.0, 0.0, True),
    )
    assert _matrices_of(model)[0].tolist() == [0, 2, -1]
    expected = np.log(1 / (1 + np.exp(-2.0))) + np.log(1 / (1 + np.exp(-np.array([[0.25, 0.5]]))))
    np.testing.assert_allclose(model.decision_function(np.ones((1, 1))), expected, rtol=1e-12)
    assert model.top_scores(np.ones((1, 1)), 2).labels.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("order", np.uint8), ("leaf_ptr", np.uint8), ("widths", np.uint8), ("node_ptr", np.int32)),
        *(("features", np.int64), ("children", np.int8), ("weights", np.int32), ("bias", np.float16)),
    ],
)
def test_a_model_whose_arrays_have_other_types_is_refused(name, kind):
    # Products of bytes are bytes: a matrix of 256 entries would have room for none.
    parts = {
        "order": np.arange(2),
        "leaf_ptr": np.array([0, 2]),
        "widths": np.zeros(0, np.int64),
        "node_ptr": np.array([0, 128]),
        "features": np.arange(128, dtype=np.int32),
        "children": np.zeros(128, np.uint8),
        "weights": np.ones(128),
        "bias": np.zeros(2),
    }
    rest = {"n_features": 128, "beam": 1, "scores": "hinge", "info": FitInfo(1, 0.0, 0.0, True)}
    found = TreeModel(**parts, **rest).decision_function(np.ones((1, 128)))
    np.testing.assert_array_equal(found, [[0.0, -1.0]])
    with pytest.raises(ValueError, match=r"type|int32"):
        TreeModel(**{**parts, name: parts[name].astype(kind)}, **rest)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.scores, expected.scores)


@pytest.mark.parametrize(("k", "branching", "leaf"), [(30, 4, 4), (1, 2, 1), (17, 2, 1), (100, 16, 7), (256, 4, 1)])
def test_leaves_are_of_equal_size_and_hold_each_label_once(k, branching, leaf):
    rng = np.random.default_rng(k)
    X, Y = csr_array(rng.random((60, 5)) * (rng.random((60, 5)) < 0.5)), csr_array(rng.random((60, k)) < 0.1)
    tree = grow(X, Y, branching, leaf, rng)
    sizes = np.diff(tree.leaf_ptr)
    assert sorted(tree.order) == list(range(k))
    assert sizes.max() <= leaf
    assert sizes.max() - sizes.min() <= 1
    assert np.prod(tree.widths, initial=1) == len(sizes)
    assert (tree.widths[1:] == branching).all()
    halvings, _ = shape_of(k, branching, leaf)
    assert halvings == 0 or k > leaf << (halvings - 1)


def test_labels_are_halved_by_spherical_means():
    differ = 0
    for seed in range(4):
        X, Y = problem(seed=seed)
        tree = grow(csr_array(X), csr_array(Y), 2, 4, np.random.default_rng(seed))
        expected, plain = (plain_order(X, Y, 3, np.random.default_rng(seed), spherical) for spherical in (True, False))
        np.testing.assert_array_equal(tree.order, expected)
        differ += not np.array_equal(expected, plain)
    assert differ > 0


def test_labels_of_like_rows_share_a_leaf():
    # Two groups of labels, each over features of its own.
    rng = np.random.default_rng(5)
    group = rng.permutation(np.repeat(np.arange(2), 12))
    labels = rng.integers(0, 24, 400)
    X = np.zeros((400, 20))
    for row, label in enumerate(labels):
        X[row, 10 * group[label] : 10 * group[label] + 10] = rng.random(10) + 0.1
    Y = np.eye(24, dtype=bool)[labels]
    for seed in range(8):
        tree = grow(csr_array(X), csr_array(Y), 4, 12, np.random.default_rng(seed))
        assert [len({*group[leaf]}) for leaf in np.split(tree.order, tree.leaf_ptr[1:-1])] == [1, 1]


def test_small_weights_are_left_out_and_counted():
    train = TrainingSet(*problem())
    whole, part = (LabelTree(min_weight=threshold, **SMALL).fit(train) for threshold in (0.0, 0.2))
    assert whole.info.notes == ()
    large = np.abs(whole.weights) > np.float32(0.2)
    np.testing.assert_array_equal(part.weights, whole.weights[large])
    np.testing.assert_array_equal(part.features, whole.features[large])
    expected = f"left out {(~large).sum()} of {large.size} weights, which are 0.2 or less in size"
    assert part.info.notes == (expected,)
    assert part.info.objective == whole.info.objective


def test_labels_without_rows_have_finite_scores_and_are_counted():
    X, Y = problem()
    Y[:, [3, 7, 8]] = False
    model = LabelTree(**SMALL).fit(TrainingSet(X, Y))
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert scores[:, [3, 7, 8]].max() < np.median(scores.max(axis=1))
    assert model.info.notes == ("3 of 30 labels have no row: they are scored as their siblings' negatives",)
    assert np.isfinite(LabelTree(**SMALL).fit(TrainingSet(X, np.zeros_like(Y))).decision_function(X)).all()


def test_models_are_stored_and_a_broken_one_is_refused():
    X, Y = problem()
    model = LabelTree(**SMALL).fit(TrainingSet(X, Y))
    packed = pack("model", model)
    again = restore("model", packed.meta, {f"model.{name}": part for name, part in packed.arrays.items()}, set())
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.top_scores(X, 4).labels, model.top_scores(X, 4).labels)
    for name, broken in {
        "order": np.where(model.order == 3, 4, model.order),
        "node_ptr": model.node_ptr[:-1],
        "features": model.features + 15,
        "children": np.full_like(model.children, 9),
        "leaf_ptr": model.leaf_ptr + 1,
        "widths": model.widths * 2,
        "bias": model.bias[1:],
        "weights": model.weights[1:],
    }.items():
        with pytest.raises(ValueError, match="a label tree needs"):
            replace(model, **{name: broken})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"branching": 12}, "branching must be a power of 2 from 2 to 256, found 12"),
        ({"branching": 512}, "branching must be a power of 2 from 2 to 256, found 512"),
        ({"leaf": 300}, "leaf must be 256 or less, found 300"),
        ({"min_weight": -0.1}, "min_weight must be a number, 0 or above, found -0.1"),
        ({"scores": "softmax"}, "'softmax'"),
    ],
)
def test_settings_that_make_no_tree(settings, message):
    with pytest.raises(ValueError, match=message):
        SOLVERS["label_tree"](**settings)
