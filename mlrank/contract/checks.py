"""The checks by name: each raises Broken if the solver fails it, NotApplicable if it says nothing about it."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import FloatArray
from mlrank.contract.scales import SCALE_CHECKS
from mlrank.contract.subject import TIGHT, Broken, NotApplicable, Subject, random_problem
from mlrank.models import Fit, Predictor
from mlrank.scaling import SCALERS
from mlrank.solvers import Capabilities, Model, TrainingSet
from mlrank.solvers.base import Block, FitInfo
from mlrank.solvers.models import top_scores
from mlrank.thresholds import THRESHOLDS

__all__ = ["CHECKS"]

# How near the scores of fits must be that differ in nothing that should count: of dense and sparse rows, and of rows or
# labels in another order, where a solver that goes through them in turn stops elsewhere.
SAME, REORDERED = 1e-5, 1e-4
# Settings that say how far a fit goes and not what it fits.
FREE = ("tol", "max_iter", "seed")
# Numbers of blocks that a fit is cut into, and labels enough for several of them to have some.
BLOCK_COUNTS, MANY_LABELS = (2, 3), 70


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise Broken(message)


def _require_near(found: FloatArray, expected: FloatArray, within: float, message: str) -> None:
    _require(found.shape == expected.shape, f"{message}: shapes {found.shape} and {expected.shape}")
    apart = float(np.abs(found - expected).max())
    _require(apart <= within * (1.0 + float(np.abs(expected).max())), f"{message}: they differ by {apart:.1e}")


def check_scores(subject: Subject) -> None:
    """Scores are finite float64 of shape (n_samples, n_labels), for dense and for sparse rows."""
    X, Y = random_problem()
    for kind, rows in (("dense", X), ("sparse", csr_array(X))):
        model = subject.fit(rows, Y)
        _require(isinstance(model, Model), "the model lacks one of info, decision_function, arrays, meta")
        _require(isinstance(model.info, FitInfo), f"info is a {type(model.info).__name__}, not a FitInfo")
        shape = (7, Y.shape[1])
        for scores in (model.decision_function(rows[:7]), model.decision_function(X[:7])):
            _require(isinstance(scores, np.ndarray), f"scores of {kind} rows are a {type(scores).__name__}, no ndarray")
            _require(scores.shape == shape, f"scores of {kind} rows have shape {scores.shape} instead of {shape}")
            _require(scores.dtype == np.float64, f"scores of {kind} rows are {scores.dtype} instead of float64")
            _require(np.isfinite(scores).all(), f"scores of {kind} rows are not all finite")


def check_input(subject: Subject) -> None:
    """Features and labels are left as they were."""
    X, Y = random_problem()
    for given in (X.copy(), csr_array(X)):
        labels = Y.copy()
        subject.fit(given, labels)
        same = np.array_equal(given if isinstance(given, np.ndarray) else given.toarray(), X)
        _require(same and np.array_equal(labels, Y), "the training data were changed by the fit")


def check_sparse(subject: Subject) -> None:
    """Dense and sparse rows of equal values give the same scores."""
    X, Y = random_problem()
    dense, sparse = subject.fit(X, Y, tol=TIGHT), subject.fit(csr_array(X), Y, tol=TIGHT)
    scores = sparse.decision_function(csr_array(X))
    _require_near(scores, dense.decision_function(X), SAME, "scores of dense and of sparse rows are not the same")


def check_sparse_labels(subject: Subject) -> None:
    """Dense and sparse labels give the same scores, if the solver says that it takes them."""
    if not Capabilities.of(subject.solver).sparse_labels:
        raise NotApplicable("it takes dense labels alone")
    X, Y = random_problem()
    dense, sparse = (subject.made(tol=TIGHT).fit(TrainingSet(X, labels)) for labels in (Y, csr_array(Y)))
    message = "scores after dense and after sparse labels are not the same"
    _require_near(sparse.decision_function(X), dense.decision_function(X), SAME, message)


def check_top_scores(subject: Subject) -> None:
    """The best scores that a model gives itself are among its scores, best first."""
    X, Y = random_problem()
    model = subject.fit(X, Y)
    if not hasattr(model, "top_scores"):
        raise NotApplicable("its models have no top_scores")
    found, scores = top_scores(model, X, 3, Y.shape[1]), model.decision_function(X)
    _require(found.labels.shape == (len(X), 3), f"the best 3 labels of {len(X)} rows have shape {found.labels.shape}")
    there = found.labels >= 0
    own = np.where(there, np.take_along_axis(scores, np.maximum(found.labels, 0), axis=1), 0.0)
    _require_near(np.where(there, found.scores, 0.0), own, SAME, "the best scores are not those of their labels")


def check_repeated(subject: Subject) -> None:
    """Equal fits give equal bytes."""
    X, Y = random_problem()
    first, second = (subject.fit(X, Y).decision_function(X) for _ in range(2))
    _require(first.tobytes() == second.tobytes(), "two equal fits gave different scores; draw from a setting `seed`")


def check_pickle(subject: Subject) -> None:
    """The solver and its models can be sent to another process."""
    X, Y = random_problem()
    solver, train = pickle.loads(pickle.dumps((subject.made(), TrainingSet(X, Y))))
    again = pickle.loads(pickle.dumps(solver.fit(train))).decision_function(X)
    _require(again.tobytes() == subject.fit(X, Y).decision_function(X).tobytes(), "a copy gives other scores")


def check_label_order(subject: Subject) -> None:
    """Labels in another order give the same scores in that order."""
    if Capabilities.of(subject.solver).by_place:
        raise NotApplicable("it depends on the places of the labels")
    X, Y = random_problem()
    order = np.random.default_rng(1).permutation(Y.shape[1])
    plain = subject.fit(X, Y, tol=TIGHT).decision_function(X)
    found = subject.fit(X, Y[:, order], tol=TIGHT).decision_function(X)
    _require_near(found, plain[:, order], REORDERED, "labels in another order give other scores")


def check_row_order(subject: Subject) -> None:
    """Rows in another order give the same model."""
    able = Capabilities.of(subject.solver)
    if able.draws and able.certificate is None:
        raise NotApplicable("it draws, and has no certificate that would say how near two fits must be")
    X, Y = random_problem()
    order = np.random.default_rng(2).permutation(len(X))
    plain = subject.fit(X, Y, tol=TIGHT).decision_function(X)
    found = subject.fit(X[order], Y[order], tol=TIGHT).decision_function(X)
    _require_near(found, plain, REORDERED, "training rows in another order give another model")


def check_degenerate(subject: Subject) -> None:
    """Labels that all or no rows carry, and constant features, are fitted; the one is scored above the other."""
    X, Y = random_problem()
    X[:, 2], X[:, 3] = 0.0, 7.0
    Y[:, 0], Y[:, 1] = True, False
    model = subject.fit(X, Y, **subject.faithful)
    scores = model.decision_function(X)
    _require(model.info.converged, "a fit with degenerate labels and constant features did not converge")
    _require(np.isfinite(scores).all(), "scores are not all finite with degenerate labels and constant features")
    above = scores[:, 0].min() > scores[:, 1].max()
    _require(above, "a label that no row carries is scored as high as one that all rows carry")


def check_duplicates(subject: Subject) -> None:
    """Equal rows with opposite labels are fitted."""
    X, Y = random_problem()
    model = subject.fit(np.vstack([X, X]), np.vstack([Y, ~Y]))
    _require(model.info.converged, "a fit on equal rows with opposite labels did not converge")
    _require(np.isfinite(model.decision_function(X)).all(), "scores are not all finite")


def check_certificate(subject: Subject) -> None:
    """Converged means that the certificate is at most `tol`; a closed form has one of about 0."""
    X, Y = random_problem()
    for tol in (1e-2, 1e-6):
        info = subject.fit(X, Y, tol=tol).info
        _require(info.converged, f"a small problem did not converge to tol={tol:g}: optimality {info.optimality:.1e}")
        nothing = np.isnan(info.optimality) and Capabilities.of(subject.solver).certificate is None
        within = nothing or -1e-12 <= info.optimality <= tol
        _require(within, f"converged with optimality {info.optimality:.1e}, which is not between 0 and tol={tol:g}")
        _require(info.n_iter > 0, f"n_iter is {info.n_iter}; a closed form counts as 1")
        _require(not np.isinf(info.objective), "the objective is infinite; NaN says that there is none")
        if subject.objective is not None:
            _require(np.isnan(info.objective) != subject.objective, f"the objective is {info.objective}")


def check_giving_up(subject: Subject) -> None:
    """A fit that is cut off says that it did not converge."""
    if not {"tol", "max_iter"} <= subject.names:
        raise NotApplicable("it has no tol and max_iter, so it never gives up")
    X, Y = random_problem(n=200, m=20, k=8)
    info = subject.fit(X, Y, **(subject.hard or {}), max_iter=1, tol=1e-6).info
    below = info.optimality <= 1e-6
    _require(info.converged == below, f"converged={info.converged} with optimality {info.optimality:.1e} and tol=1e-6")
    if subject.hard is not None:
        _require(not info.converged, "one iteration was enough for a hard problem")


def check_prepare(subject: Subject) -> None:
    """What one solver prepared serves every one with equal SHARED settings: the same scores to the byte."""
    able = Capabilities.of(subject.solver)
    if not able.prepares:
        raise NotApplicable("it has nothing to prepare")
    X, Y = random_problem()
    train, solver = TrainingSet(X, Y), subject.made()
    shared = able.shared
    _require(set(shared) <= subject.names, f"SHARED names {min(set(shared) - subject.names, default='')}, no setting")
    prepared = solver.prepare(train)
    for name, value in [*_others(subject, solver, shared), ("", None)]:
        other = replace(solver, **({name: value} if name else {}))
        found, alone = (other.fit(train, *given).decision_function(X) for given in ((prepared,), ()))
        change = f" and {name}={value}, which is not among SHARED" if name else ""
        _require(found.tobytes() == alone.tobytes(), f"with what was prepared{change}, it gives other scores")


def _others(subject: Subject, solver: Any, shared: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield other values of the settings that the preparation must not depend on."""
    for name in sorted(subject.names - {*shared, *FREE}):
        value = getattr(solver, name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        for factor in (0.25, 2):
            other = type(value)(value * factor)
            with suppress(ValueError, TypeError):
                replace(solver, **{name: other})
                yield name, other


def check_known(subject: Subject) -> None:
    """Entries that are not known decide nothing."""
    if not Capabilities.of(subject.solver).uses_known:
        raise NotApplicable("it cannot leave out unknown labels, and is not given any")
    X, Y = random_problem(seed=4)
    known = np.random.default_rng(5).random(Y.shape) < 0.8
    known[0] = False
    fits = [subject.made().fit(TrainingSet(X, labels, known=known)) for labels in (Y & known, Y | ~known)]
    scores = [model.decision_function(X) for model in fits]
    _require(scores[0].tobytes() == scores[1].tobytes(), "what stands in an unknown entry changes the scores")
    absent = subject.made().fit(TrainingSet(X, Y & known)).decision_function(X)
    _require(not np.allclose(scores[0], absent, atol=1e-3), "unknown entries are taken as absent: set no USES_KNOWN")


def check_cost(subject: Subject) -> None:
    """Estimates of operations and bytes grow with the number of rows, and with those stored where they count them."""
    solver = subject.made()
    if not Capabilities.of(solver).estimates_cost:
        raise NotApplicable("it gives no estimate of its cost")
    costs = np.array([solver.cost(n, 50, 10) for n in (50, 500, 5000)])
    _require(costs.shape == (3, 2) and (costs > 0).all(), "cost(n, d, k) must return two numbers above 0")
    _require((np.diff(costs, axis=0)[:, 0] > 0).all(), "the operations do not grow with the rows")
    _require((np.diff(costs, axis=0)[:, 1] >= 0).all(), "the bytes shrink with the rows")
    if "density" in signature(solver.cost).parameters:
        sparse = np.array(solver.cost(5000, 50, 10, density=0.1))
        _require((sparse > 0).all() and (sparse <= costs[-1]).all(), "sparse rows cost more than dense ones")


def check_stored(subject: Subject) -> None:
    """Models can be stored: their kind is one that a file is opened by."""
    X, Y = random_problem()
    train = TrainingSet(X, Y)
    model = subject.made().fit(train)
    cut = THRESHOLDS["zero"]().fit(model.decision_function(X), Y, X)
    predictor = Predictor(SCALERS["none"]().fit(X), None, model, cut, False)
    try:
        again = Fit.of(predictor, X).restored().decision_function(X)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise NotApplicable(f"its models are not stored: {error}") from error
    expected = pickle.loads(pickle.dumps(model)).decision_function(X)
    _require(again.tobytes() == expected.tobytes(), "a stored model gives other scores")


def check_blocks(subject: Subject) -> None:
    """Joined blocks give the very model of a whole fit, however many blocks there are, if the solver has blocks."""
    if not Capabilities.of(subject.solver).blocks:
        raise NotApplicable("its fits are not shared by processes")
    X, Y = random_problem(k=MANY_LABELS)
    for rows in (X, csr_array(X)):
        train, solver = TrainingSet(rows, Y), subject.made()
        whole = _stored_parts(solver.fit(train))
        for count in BLOCK_COUNTS:
            parts = [pickle.loads(pickle.dumps(solver.fit_block(train, Block(i, count)))) for i in range(count)]
            _require(_stored_parts(solver.join(train, parts)) == whole, f"{count} blocks give another model than one")


def _stored_parts(model: Any) -> tuple[Any, ...]:
    """Return everything that is stored of a model, with its info and dual point, as values that compare exactly."""
    point = getattr(model, "dual_point", None)
    arrays = {**model.arrays(), **({} if point is None else point.arrays())}
    return {name: _exact(array) for name, array in arrays.items()}, dict(model.meta()), repr(model.info)


def _exact(array: Any) -> tuple[Any, ...]:
    parts = (array.indptr, array.indices, array.data) if issparse(array) else (np.asarray(array),)
    return array.shape, *((part.dtype, part.tobytes()) for part in parts)


CHECKS: dict[str, Callable[[Subject], None]] = {
    "scores": check_scores,
    "input": check_input,
    "sparse": check_sparse,
    "sparse_labels": check_sparse_labels,
    "top_scores": check_top_scores,
    "repeated": check_repeated,
    "pickle": check_pickle,
    "label_order": check_label_order,
    "row_order": check_row_order,
    "degenerate": check_degenerate,
    "duplicates": check_duplicates,
    "certificate": check_certificate,
    "giving_up": check_giving_up,
    "prepare": check_prepare,
    "known": check_known,
    "cost": check_cost,
    "blocks": check_blocks,
    "stored": check_stored,
    **SCALE_CHECKS,
}
