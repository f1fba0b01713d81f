"""Binary-SVM: one independent support vector machine for each label, solved by LIBSVM or LIBLINEAR.

For each label, with signs s_i = +1 or -1::

    loss="hinge"          min_w,b  1/2 |w|^2 + C sum_i max(0, 1 - s_i f(x_i))            bias free      (LIBSVM)
    loss="squared_hinge"  min_w,b  1/2 (|w|^2 + b^2) + C sum_i max(0, 1 - s_i f(x_i))^2  bias penalized (LIBLINEAR)

`objective` is the sum over labels and `optimality` the relative duality gap of that sum, computed from the given rows
at the weights and dual variables that the library returns (label_machine.py). The library's own tolerance is tightened
until each label's gap is below `tol`; where that does not do, an interior-point method or Newton's solves the label.

A label that every training row carries, or none, has no machine: its score is the constant +1 or -1 (-1 as well if it
is known of no row). A label of which some rows are unknown has a machine on its known rows.

Cost: the kernel matrix, n x n, is computed once for all labels, and what it is made of, distances or inner products,
once for all C and gamma; the linear kernel has it up to n = 6000 alone, beyond, LIBSVM works on rows.
References: Chang & Lin, LIBSVM, 2001; Fan et al., LIBLINEAR, JMLR 2008.
"""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, take_rows
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.exact import long_kernel
from mlrank.kernels.rows import KernelRows
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_kernel,
    check_positive,
    relative_gap,
)
from mlrank.solvers.label_machine import LabelRows, balanced, solve_inside, solve_squared
from mlrank.solvers.models import DualPoint, KernelModel, LinearModel
from mlrank.solvers.scales import scale_notes

__all__ = ["BinarySVM", "KernelModel"]

LOSSES = ("hinge", "squared_hinge")
# An n x n kernel matrix of 6000 rows takes 288 MB.
GRAM_ROWS = 6000
# Tolerances handed to the library, one after the other, until the duality gap is small enough: LIBSVM's own measure is
# some ten to fifty times larger than the relative gap, so the first is often enough.
LIBRARY_TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9)
# Iterations of the library for one label, at least and for each row, after which another method is asked.
PATIENCE, PATIENCE_OF_ROW = 100_000, 1000


class Machine(NamedTuple):
    """One label's solution: `weights` are dual coefficients s_i alpha_i for kernels, or w; `beta` has the bound's."""

    weights: FloatArray
    intercept: float
    primal: float
    dual: float
    n_iter: int
    beta: FloatArray


@dataclass(frozen=True)
class BinarySVM:
    """One support vector machine for each label.

    Use it as the reference that papers compare with: each label by itself, exact, on dense and sparse rows.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    kernel : str
        A key of KERNELS, or "precomputed": the rows of X then are those of the kernel matrix. The squared hinge loss is
        linear only.
    gamma, degree, coef0 : float, int, float
        Of the kernel.
    loss : {"hinge", "squared_hinge"}
        The first is LIBSVM's, with a free bias; the second LIBLINEAR's, with a penalized one, and faster on many rows.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most iterations of the library for one label.

    References
    ----------
    Chang and Lin, "LIBSVM: a library for support vector machines", 2001. Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a
    library for large linear classification", JMLR 9 (2008).
    """

    C: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    loss: str = "hinge"
    tol: float = 1e-3
    max_iter: int = 1_000_000

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "degree", "coef0", "loss")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    LOADS: ClassVar[tuple[str, ...]] = ("numba", "scikit-learn")

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        check_kernel(self, precomputed=True)
        check_choices(self, {"loss": LOSSES})
        if self.loss == "squared_hinge" and self.kernel != "linear":
            raise ValueError(f"loss 'squared_hinge' is linear only, found kernel {self.kernel!r}")

    def canonical(self) -> "BinarySVM":
        """Return the solver with what has no effect at its default: constants of other kernels."""
        return canonical(self)

    def prepare(self, train: TrainingSet) -> KernelRows | None:
        """Return what makes kernel matrices for every gamma, where they are used and small enough."""
        if self.loss == "squared_hinge" or (self.kernel == "linear" and train.n_samples > GRAM_ROWS):
            return None
        return KernelRows(train.X, self.kernel, self.degree, self.coef0)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        if self.loss == "squared_hinge":
            return float(n_samples) * n_features * n_labels, 16.0 * n_samples * n_features
        operations = float(n_samples) ** 2 * (n_features + n_labels)
        if self.kernel == "linear" and n_samples > GRAM_ROWS:
            return operations, 16.0 * n_samples * n_features
        # The kernel matrix and its base.
        return operations, (16.0 if self.kernel == "linear" else 24.0) * n_samples**2

    def fit(self, train: TrainingSet, prepared: KernelRows | None = None) -> LinearModel | KernelModel:
        """Fit one machine for each label of `train`.

        Raises
        ------
        ValueError
            If the kernel is not defined for the rows, or a precomputed one is none.
        """
        shared = self.prepare(train) if prepared is None else prepared
        gram = None if shared is None else shared.gram(self.gamma)
        if shared is not None and prepared is None:
            shared.forget()
        known = np.ones_like(train.dense_Y) if train.known is None else train.known
        labels = zip(train.dense_Y.T, known.T, strict=True)
        kernel = Kernel.of(self)
        machines = [self._fit_known(train.X, gram, kernel, relevant, rows) for relevant, rows in labels]
        weights = np.array([machine.weights for machine in machines])
        intercept = np.array([machine.intercept for machine in machines])
        info = self._info(machines, train)
        point = DualPoint.of(np.array([machine.beta for machine in machines]).T)
        if self.kernel == "linear":
            return LinearModel(weights, intercept, info, dual_point=point)
        assert shared is not None
        return replace(KernelModel.of(shared, weights, intercept, self.gamma, info), dual_point=point)

    def _info(self, machines: list[Machine], train: TrainingSet) -> FitInfo:
        primal = sum(machine.primal for machine in machines)
        gap = relative_gap(primal, sum(machine.dual for machine in machines))
        notes = scale_notes(train, gap <= self.tol)
        return FitInfo(sum(machine.n_iter for machine in machines), primal, gap, gap <= self.tol, notes)

    def _fit_known(
        self, X: Features, gram: FloatArray | None, kernel: Kernel, relevant: BoolArray, known: BoolArray
    ) -> Machine:
        """Fit on the rows of which the label is known."""
        if known.all():
            return self._fit_label(X, gram, kernel, relevant)
        rows = np.flatnonzero(known)
        part = None if gram is None else gram[np.ix_(rows, rows)]
        columns = rows if self.kernel == "precomputed" else None
        machine = self._fit_label(take_rows(X, rows, columns), part, kernel, relevant[rows])
        machine = machine._replace(beta=_spread(machine.beta, rows, len(relevant)))
        if self.kernel == "linear":
            return machine
        return machine._replace(weights=_spread(machine.weights, rows, len(relevant)))

    def _fit_label(self, X: Features, gram: FloatArray | None, kernel: Kernel, relevant: BoolArray) -> Machine:
        if relevant.all() or not relevant.any():
            size = X.shape[1] if self.kernel == "linear" else X.shape[0]
            return Machine(np.zeros(size), 1.0 if relevant.any() else -1.0, 0.0, 0.0, 0, np.zeros(len(relevant)))
        sign, exact = np.where(relevant, 1.0, -1.0), partial(long_kernel, kernel, X)
        linear = self.kernel == "linear"
        given = LabelRows(X if linear or gram is None else gram, not linear, exact, sign, self.C)
        fit, rescue = (self._hinge, self._hinge_inside) if self.loss == "hinge" else (self._squared_hinge, self._newton)
        machine, spent, asked = _nothing(given), 0, False
        patience = max(PATIENCE, PATIENCE_OF_ROW * len(sign))
        for library_tol in LIBRARY_TOLERANCES:
            machine = _better(machine, fit(given, gram, library_tol, self.max_iter if asked else patience))
            spent += machine.n_iter
            if not self._done(machine) and spent >= patience and not asked:
                asked, machine = True, _better(machine, rescue(given))
            if self._done(machine) or spent >= self.max_iter:
                break
        if not self._done(machine) and not asked:
            machine = _better(machine, rescue(given))
        return machine._replace(n_iter=spent)

    def _done(self, machine: Machine) -> bool:
        return machine.primal - machine.dual <= self.tol * machine.primal

    def _hinge(self, given: LabelRows, gram: FloatArray | None, library_tol: float, max_iter: int) -> Machine:
        from sklearn.svm import SVC  # a second to load, which other solvers need not

        kernel = "linear" if gram is None else "precomputed"
        svc = SVC(C=self.C, kernel=kernel, tol=library_tol, cache_size=500, max_iter=min(self.max_iter, max_iter))
        n_iter = _fit_quietly(svc, given.X if gram is None else gram, given.sign)
        if n_iter == 0:
            return _nothing(given)
        beta = np.zeros(len(given.sign))
        # LIBSVM answers sparse rows with sparse coefficients.
        beta[svc.support_] = as_dense(svc.dual_coef_)[0]
        beta, intercept = balanced(beta), float(svc.intercept_[0])
        weights = given.weights(beta)
        return Machine(weights, intercept, *given.hinge(weights, intercept, beta), n_iter, beta)

    def _hinge_inside(self, given: LabelRows) -> Machine:
        """Solve by the interior-point method."""
        solved = solve_inside(given, 0.5 * self.tol, self.max_iter)
        if solved is None:
            return _nothing(given)
        weights, intercept, beta, n_iter = solved
        return Machine(weights, intercept, *given.hinge(weights, intercept, beta), n_iter, beta)

    def _squared_hinge(self, given: LabelRows, gram: FloatArray | None, library_tol: float, max_iter: int) -> Machine:
        from sklearn.svm import LinearSVC

        svc = LinearSVC(
            C=self.C, loss="squared_hinge", dual=False, tol=library_tol, max_iter=min(self.max_iter, max_iter)
        )
        n_iter = _fit_quietly(svc, given.X, given.sign)
        if n_iter == 0:
            return _nothing(given)
        w, b = svc.coef_[0], float(svc.intercept_[0])
        return Machine(w, b, *given.squared_hinge(w, b), n_iter, given.squared_dual(w, b))

    def _newton(self, given: LabelRows) -> Machine:
        """Solve by Newton's method."""
        solved = solve_squared(given, self.max_iter)
        if solved is None:
            return _nothing(given)
        w, b, n_iter = solved
        return Machine(w, b, *given.squared_hinge(w, b), n_iter, given.squared_dual(w, b))


def _spread(values: FloatArray, rows: IntArray, n: int) -> FloatArray:
    spread = np.zeros(n)
    spread[rows] = values
    return spread


def _nothing(given: LabelRows) -> Machine:
    """Return weights of zero, with the bound that goes with them."""
    size = given.X.shape[0] if given.gram else given.X.shape[1]
    return Machine(np.zeros(size), 0.0, given.C * len(given.sign), 0.0, 0, np.zeros(len(given.sign)))


def _better(machine: Machine, other: Machine) -> Machine:
    """Return the weights of lower objective with the larger bound of both, and the iterations of the other."""
    least = machine if machine.primal < other.primal else other
    most = machine if machine.dual > other.dual else other
    bound = most if most.dual <= least.primal else least
    return least._replace(dual=bound.dual, beta=bound.beta, n_iter=other.n_iter)


def _fit_quietly(svc: Any, X: Features, sign: FloatArray) -> int:
    """Fit, and return the number of iterations; 0 where the library finds no finite weights."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        # The certificate shows that iterations ran out.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            svc.fit(X, sign)
        except ValueError as error:
            if "not finite" not in str(error):
                raise
            return 0
    return max(1, int(np.max(svc.n_iter_)))
