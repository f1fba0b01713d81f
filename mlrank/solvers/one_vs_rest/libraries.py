"""The support vector machine of one label by LIBSVM or LIBLINEAR, and by other methods where these do not end.

The library's own tolerance is tightened until the duality gap is below `tol`; where that does not do, an interior-point
method (hinge loss) or Newton's (squared hinge) solves the label.
"""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.solvers.label_machine import LabelRows, solve_inside, solve_squared

__all__ = ["Libraries", "Machine", "nothing"]

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

    def done(self, tol: float) -> bool:
        """Return whether the relative gap is at most `tol`."""
        return self.primal - self.dual <= tol * self.primal


@dataclass(frozen=True)
class Libraries:
    """How labels are fitted one by one.

    Parameters
    ----------
    squared : whether the hinge is squared: LIBLINEAR then, else LIBSVM
    tol : float
    max_iter : most iterations of the library for one label
    """

    squared: bool
    tol: float
    max_iter: int

    def fit(self, given: LabelRows, gram: FloatArray | None, start: Machine | None = None) -> Machine:
        """Return the machine of a label; `start` is what another method has found, with the iterations it took.

        LIBSVM gets the kernel matrix `gram` where there is one, and rows else. Of a hinge loss whose bias is not free
        it knows nothing.
        """
        machine, spent, asked = (nothing(given), 0, False) if start is None else (start, start.n_iter, False)
        library, rescue = (_squared_hinge, self._newton) if self.squared else (_hinge, self._inside)
        patience = max(PATIENCE, PATIENCE_OF_ROW * len(given.sign))
        for library_tol in LIBRARY_TOLERANCES if given.free or self.squared else ():
            most = self.max_iter if asked else min(self.max_iter, patience)
            machine = _better(machine, library(given, gram, library_tol, most))
            spent += machine.n_iter
            if not machine.done(self.tol) and spent >= patience and not asked:
                asked, machine = True, _better(machine, rescue(given))
            if machine.done(self.tol) or spent >= self.max_iter:
                break
        if not machine.done(self.tol) and not asked:
            machine = _better(machine, rescue(given))
        return machine._replace(n_iter=spent)

    def _inside(self, given: LabelRows) -> Machine:
        """Solve by the interior-point method."""
        solved = solve_inside(given, 0.5 * self.tol, self.max_iter)
        if solved is None:
            return nothing(given)
        weights, intercept, beta, n_iter = solved
        return Machine(weights, intercept, *given.hinge(weights, intercept, beta), n_iter, beta)

    def _newton(self, given: LabelRows) -> Machine:
        """Solve by Newton's method."""
        solved = solve_squared(given, self.tol, self.max_iter)
        if solved is None:
            return nothing(given)
        w, b, n_iter = solved
        return Machine(w, b, *given.squared_hinge(w, b), n_iter, given.squared_dual(w, b))


def nothing(given: LabelRows) -> Machine:
    """Return weights of zero, with the bound that goes with them."""
    size = given.X.shape[0] if given.gram else given.X.shape[1]
    return Machine(np.zeros(size), 0.0, float(given.cost.sum()), 0.0, 0, np.zeros(len(given.sign)))


def _hinge(given: LabelRows, gram: FloatArray | None, library_tol: float, max_iter: int) -> Machine:
    from sklearn.svm import SVC  # a second to load, which other solvers need not

    kernel = "linear" if gram is None else "precomputed"
    weights_of = {1.0: given.positive_weight}
    svc = SVC(C=given.C, kernel=kernel, tol=library_tol, cache_size=500, max_iter=max_iter, class_weight=weights_of)
    n_iter = _fit_quietly(svc, given.X if gram is None else gram, given.sign)
    if n_iter == 0:
        return nothing(given)
    beta = np.zeros(len(given.sign))
    # LIBSVM answers sparse rows with sparse coefficients.
    beta[svc.support_] = as_dense(svc.dual_coef_)[0]
    beta, intercept = given.repaired(beta), float(svc.intercept_[0])
    weights = given.weights(beta)
    return Machine(weights, intercept, *given.hinge(weights, intercept, beta), n_iter, beta)


def _squared_hinge(given: LabelRows, gram: FloatArray | None, library_tol: float, max_iter: int) -> Machine:
    from sklearn.svm import LinearSVC

    svc = LinearSVC(
        C=given.C,
        loss="squared_hinge",
        dual=False,
        tol=library_tol,
        max_iter=max_iter,
        class_weight={1.0: given.positive_weight},
    )
    n_iter = _fit_quietly(svc, given.X, given.sign)
    if n_iter == 0:
        return nothing(given)
    w, b = svc.coef_[0], float(svc.intercept_[0])
    return Machine(w, b, *given.squared_hinge(w, b), n_iter, given.squared_dual(w, b))


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
