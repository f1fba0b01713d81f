"""Binary-SVM: one independent support vector machine for each label.

For each label, with signs s_i = +1 or -1 and costs c_i = C, or C times `positive_weight` where s_i = 1::

    loss="hinge"          min_w,b  1/2 |w|^2 + sum_i c_i max(0, 1 - s_i f(x_i))              a free bias
    ... bias="augmented"  min_w,b  1/2 (|w|^2 + b^2) + sum_i c_i max(0, 1 - s_i f(x_i))      a constant feature's weight
    loss="squared_hinge"  min_w,b  1/2 (|w|^2 + b^2) + sum_i c_i max(0, 1 - s_i f(x_i))^2    the same

`objective` is the sum over labels and `optimality` the relative duality gap of that sum, computed in double precision
from the given rows at the weights and dual variables that were found; each label's own gap is below `tol`. Weights that
`min_weight` leaves out are left out of both, and the bound stands: the gap tells what they were worth.

Linear machines of all labels are fitted together: on dense rows, and on narrow sparse ones with a free bias or many
nonzeros, by Newton steps (one_vs_rest/newton.py, rows.py); on other sparse rows with an augmented bias by dual
coordinate descent (one_vs_rest/sparse.py): side by side, or where C times the largest squared length of a row is above
8 one by one, and by Newton steps what this leaves of narrow rows. A label whose gap is not reached, as where features
are on scales far apart, is left to LIBLINEAR for the squared hinge, to LIBSVM for the hinge; and where these do not
end, to an interior-point method or Newton's (one_vs_rest/libraries.py, label_machine.py). LIBSVM also fits the machines
of kernels, and linear ones with a free bias on many sparse rows.

A label that every training row carries, or none, has no machine: its score is the constant +1 or -1 (-1 as well if it
is known of no row). A label of which some rows are unknown has a machine on its known rows.

Cost: linear, some 20 products of the rows with as many vectors as there are labels, and as many systems of the rows
within bounds. Kernels: their matrix, n x n, is computed once for all labels, and what it is made of, distances or inner
products, once for all C and gamma.
References: Chang & Lin, LIBSVM, 2001; Fan et al., LIBLINEAR, JMLR 2008; those of one_vs_rest/newton.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, take_rows
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.exact import long_kernel
from mlrank.kernels.rows import KernelRows
from mlrank.labels import columns_of, label_counts
from mlrank.solvers.base import (
    WHOLE,
    Block,
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_kernel,
    check_not_negative,
    check_positive,
    relative_gap,
)
from mlrank.solvers.label_machine import LabelRows
from mlrank.solvers.models import KernelModel, LinearModel, SparseLinearModel
from mlrank.solvers.one_vs_rest import (
    LabelMachines,
    Libraries,
    Machine,
    MachineRows,
    Machines,
    SparseMachineRows,
    dual_point_of,
    join_machines,
    pruned,
    stacked,
    suits_newton,
)
from mlrank.solvers.scales import scale_notes

__all__ = ["BinarySVM", "KernelModel"]

Prepared: TypeAlias = KernelRows | MachineRows | SparseMachineRows
AnyModel: TypeAlias = LinearModel | SparseLinearModel | KernelModel
LOSSES = ("hinge", "squared_hinge")
BIASES = ("auto", "free", "augmented")
BACKENDS = ("compiled", "libsvm", "liblinear")
# Over the rows of each label, as the cost model counts them.
PASSES = 30.0
# An n x n kernel matrix of 6000 rows takes 288 MB.
GRAM_ROWS = 6000
# The smaller side of dense rows that Newton's method takes.
SIDE = 2500


@dataclass(frozen=True)
class BinarySVM:
    """One support vector machine for each label.

    Use it as the reference that papers compare with: each label by itself, exact, on dense and sparse rows.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    kernel : str
        linear, rbf, polynomial, chi2 or additive_chi2; or precomputed: the rows of X then are those of the kernel
        matrix. The squared hinge loss is linear only.
    gamma, degree, coef0 : float, int, float
        Of the kernel: exp(-gamma D) for rbf and chi2, (gamma x'z + coef0)^degree for polynomial.
    loss : {"hinge", "squared_hinge"}
        The first is LIBSVM's, the second LIBLINEAR's, and faster on many rows.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most Newton steps for one label, or iterations of a library.
    bias : {"auto", "free", "augmented"}
        Whether its square costs what that of a weight does: "auto" is "free" for the hinge loss, and "augmented", the
        only one, for the squared hinge. An augmented one is linear only.
    positive_weight : float
        What C is multiplied by for the rows that have a label.
    min_weight : float
        Weights of at most this size are left out of the model, which is stored without them, at a price that the gap
        states; 0 leaves all. Linear only.
    backend : {"compiled", "libsvm", "liblinear"}
        "compiled" fits linear machines together; the libraries, of which LIBSVM has the hinge loss and LIBLINEAR the
        squared one, are there to compare with.

    References
    ----------
    Chang and Lin, "LIBSVM: a library for support vector machines", 2001. Fan, Chang, Hsieh, Wang and Lin, "LIBLINEAR: a
    library for large linear classification", JMLR 9 (2008). Keerthi and DeCoste, "A modified finite Newton method for
    fast solution of large scale linear SVMs", JMLR 6 (2005).
    """

    C: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    loss: str = "hinge"
    tol: float = 1e-3
    max_iter: int = 1_000_000
    bias: str = "auto"
    positive_weight: float = 1.0
    min_weight: float = 0.0
    backend: str = "compiled"

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "degree", "coef0", "loss", "bias", "positive_weight", "backend")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    SPARSE_LABELS: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    LOADS: ClassVar[tuple[str, ...]] = ("numba",)

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter", "positive_weight")
        check_not_negative(self, "min_weight")
        check_kernel(self, precomputed=True)
        check_choices(self, {"loss": LOSSES, "bias": BIASES, "backend": BACKENDS})
        for name in ("loss", "bias"):
            value = getattr(self, name)
            if value in ("squared_hinge", "augmented") and self.kernel != "linear":
                raise ValueError(f"{name} {value!r} is linear only, found kernel {self.kernel!r}")
        if self.min_weight > 0 and self.kernel != "linear":
            raise ValueError(f"min_weight is linear only, found kernel {self.kernel!r}")
        if self.squared and self.bias == "free":
            raise ValueError("loss 'squared_hinge' has no free bias, found bias 'free'")
        if self.backend == ("libsvm" if self.squared else "liblinear"):
            raise ValueError(f"backend {self.backend!r} does not have the loss {self.loss!r}")
        if self.backend == "libsvm" and not self.free:
            raise ValueError("backend 'libsvm' has a free bias alone, found bias 'augmented'")

    @property
    def squared(self) -> bool:
        """Whether the hinge is squared."""
        return self.loss == "squared_hinge"

    @property
    def free(self) -> bool:
        """Whether the bias costs nothing."""
        return self.bias == "free" or (self.bias == "auto" and not self.squared)

    def canonical(self) -> "BinarySVM":
        """Return the solver with what has no effect at its default: constants of other kernels, a bias by name."""
        same = replace(self, bias="auto") if replace(self, bias="auto").free == self.free else self
        return canonical(same)

    def prepare(self, train: TrainingSet) -> Prepared | None:
        """Return the rows of linear machines, or what makes kernel matrices for every gamma where these are used."""
        if self.kernel == "linear" and self.backend == "compiled":
            sparse = issparse(train.X)
            if suits_newton(train.X, self.free) if sparse else min(train.X.shape) <= SIDE:
                return MachineRows(train, self.loss, self.free, self.positive_weight)
            if sparse and not self.free:
                return SparseMachineRows(train, self.loss, self.positive_weight)
        if self.squared or not self.free or (self.kernel == "linear" and train.n_samples > GRAM_ROWS):
            return None
        return KernelRows(train.X, self.kernel, self.degree, self.coef0)

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        if self.squared or (self.kernel == "linear" and self.backend == "compiled"):
            cells = density * n_samples * n_features
            # Signs and dual variables, which are sparse where labels are: beyond 2^28 entries.
            labels = 16.0 * min(float(n_samples) * n_labels, 2.0**28)
            return PASSES * cells * n_labels, 16.0 * cells + labels + 8.0 * n_features * n_labels
        operations = float(n_samples) ** 2 * (n_features + n_labels)
        if self.kernel == "linear" and n_samples > GRAM_ROWS:
            return operations, 16.0 * n_samples * n_features
        # The kernel matrix and its base.
        return operations, (16.0 if self.kernel == "linear" else 24.0) * n_samples**2

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> AnyModel:
        """Fit one machine for each label of `train`.

        Raises
        ------
        ValueError
            If the kernel is not defined for the rows, or a precomputed one is none.
        """
        shared = self.prepare(train) if prepared is None else prepared
        part = self._machines(train, WHOLE, shared, prepared is None)
        return self._joined(train, [part], shared)

    def fit_block(self, train: TrainingSet, block: Block, prepared: Prepared | None = None) -> LabelMachines:
        """Return the machines of a block of labels; see `fit`."""
        return self._machines(train, block, self.prepare(train) if prepared is None else prepared, prepared is None)

    def join(self, train: TrainingSet, parts: Sequence[LabelMachines]) -> AnyModel:
        """Return the model of the machines of all blocks."""
        if self.kernel == "linear":
            return self._joined(train, parts, None)
        rows = KernelRows(train.X, self.kernel, self.degree, self.coef0, keep_bases=False)
        return self._joined(train, parts, rows)

    def _joined(self, train: TrainingSet, parts: Sequence[LabelMachines], shared: Prepared | None) -> AnyModel:
        found = join_machines(parts)
        labels, machines = found
        intercept = np.where(label_counts(train.Y) > 0, 1.0, -1.0)
        intercept[labels] = machines.b
        weights = machines.W
        if len(labels) < train.n_labels:  # else they are all there, in order, and as large as anything here
            weights = np.zeros((train.n_labels, machines.W.shape[1]))
            weights[labels] = machines.W
        point = dual_point_of(found, train.n_labels)
        info = self._info(float(machines.primal.sum()), float(machines.dual.sum()), int(machines.n_iter.sum()), train)
        if self.kernel == "linear":
            return pruned(LinearModel(weights, intercept, info, dual_point=point), train, self)
        assert isinstance(shared, KernelRows)
        return replace(KernelModel.of(shared, weights, intercept, self.gamma, info), dual_point=point)

    def _machines(self, train: TrainingSet, block: Block, shared: Prepared | None, forget: bool) -> LabelMachines:
        """Fit the labels of a block; what kernel matrices are made of is forgotten where nobody else needs it."""
        if isinstance(shared, (MachineRows, SparseMachineRows)):
            return self._fit_together(train, shared, block)
        gram = None if shared is None else shared.gram(self.gamma)
        if shared is not None and forget:
            shared.forget()
        known = np.ones_like(train.dense_Y) if train.known is None else train.known
        labels = block.of(np.flatnonzero(train.dense_Y.any(axis=0) & (~train.dense_Y & known).any(axis=0)))
        found = [self._fit_known(train.X, gram, train.dense_Y[:, one], known[:, one]) for one in labels]
        size = train.n_features if self.kernel == "linear" else train.n_samples
        return LabelMachines(labels, stacked(found, size, train.n_samples))

    def _fit_together(self, train: TrainingSet, rows: MachineRows | SparseMachineRows, block: Block) -> LabelMachines:
        """Fit all labels of a block at once, and one by one those of which the gap is not reached so."""
        labels, found = rows.fit(self.C, self.tol, int(self.max_iter), block)
        primal, dual, n_iter = found.primal.copy(), found.dual.copy(), found.n_iter.copy()
        short = np.flatnonzero((primal - dual > self.tol * primal) & (n_iter < self.max_iter))
        gram: FloatArray | None = None
        if short.size and self.free and train.n_samples <= GRAM_ROWS:
            gram = KernelRows(train.X, "linear").gram(self.gamma)
        W, b, beta = found.W, found.b, np.empty((len(short), train.n_samples))
        for place, number in enumerate(short):
            label = labels[number]
            relevant = np.asarray(columns_of(train.Y)[:, [label]].toarray()).ravel()
            known = np.ones(train.n_samples, dtype=np.bool_) if train.known is None else train.known[:, label]
            start = Machine(
                W[number],
                float(b[number]),
                float(primal[number]),
                float(dual[number]),
                int(n_iter[number]),
                found.beta_of(int(number), train.n_samples),
            )
            machine = self._fit_known(train.X, gram, relevant, known, start)
            W[number], b[number], beta[place] = machine.weights, machine.intercept, machine.beta
            primal[number], dual[number] = machine.primal, machine.dual
            n_iter[number] = machine.n_iter
        return LabelMachines(labels, Machines(W, b, primal, dual, n_iter, found.replaced(list(short), beta)))

    def _info(self, primal: float, dual: float, n_iter: int, train: TrainingSet) -> FitInfo:
        gap = relative_gap(primal, dual)
        return FitInfo(n_iter, primal, gap, gap <= self.tol, scale_notes(train, gap <= self.tol))

    def _fit_known(
        self,
        X: Features,
        gram: FloatArray | None,
        relevant: BoolArray,
        known: BoolArray,
        start: Machine | None = None,
    ) -> Machine:
        """Fit a label on the rows of which it is known."""
        if known.all():
            return self._fit_label(X, gram, relevant, start)
        rows = np.flatnonzero(known)
        part = None if gram is None else gram[np.ix_(rows, rows)]
        columns = rows if self.kernel == "precomputed" else None
        start = None if start is None else start._replace(beta=start.beta[rows])
        machine = self._fit_label(take_rows(X, rows, columns), part, relevant[rows], start)
        machine = machine._replace(beta=_spread(machine.beta, rows, len(relevant)))
        if self.kernel == "linear":
            return machine
        return machine._replace(weights=_spread(machine.weights, rows, len(relevant)))

    def _fit_label(
        self, X: Features, gram: FloatArray | None, relevant: BoolArray, start: Machine | None = None
    ) -> Machine:
        if relevant.all() or not relevant.any():
            size = X.shape[1] if self.kernel == "linear" else X.shape[0]
            return Machine(np.zeros(size), 1.0 if relevant.any() else -1.0, 0.0, 0.0, 0, np.zeros(len(relevant)))
        sign, exact = np.where(relevant, 1.0, -1.0), partial(long_kernel, Kernel.of(self), X)
        linear = self.kernel == "linear"
        rows = X if linear or gram is None else gram
        given = LabelRows(rows, not linear, exact, sign, self.C, self.positive_weight, self.free)
        return Libraries(self.squared, self.tol, int(self.max_iter)).fit(given, gram, start)


def _spread(values: FloatArray, rows: IntArray, n: int) -> FloatArray:
    spread = np.zeros(n)
    spread[rows] = values
    return spread
