"""What every solver is given and gives back.

A solver is a frozen dataclass of settings with ``fit(train, prepared=None) -> Model``. It may have ``prepare(train)``
together with ``SHARED``, the settings on which the preparation depends: the search then prepares once per fold and
hands the result to every grid point with equal SHARED values. ``fit(train)`` alone gives the same model.

A fit that consists of many independent problems, as one machine for each label, may be shared by processes: the solver
then has ``fit_block(train, block, prepared=None)``, which solves the problems of a `Block` and returns anything that
pickles, and ``join(train, parts) -> Model``, which makes the model of what all blocks gave, in their order, and may
spend it. The model has the same bytes for any number of blocks: what is solved side by side is one
problem, cut at places that the training set alone decides.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features, read_only, take_rows
from mlrank.errors import not_among
from mlrank.kernels import KERNELS
from mlrank.labels import LabelMatrix, as_labels, dense_labels, labels_of_rows, sparse_labels

__all__ = [
    "WHOLE",
    "Block",
    "Capabilities",
    "CertificateKind",
    "FitInfo",
    "Model",
    "ModelArrays",
    "ModelMeta",
    "NeighborCache",
    "Solver",
    "TrainingSet",
    "check_choices",
    "check_components",
    "check_count",
    "check_kernel",
    "check_not_negative",
    "check_positive",
    "n_components_of",
    "never_known",
    "relative_gap",
    "unknown_label_notes",
]


# (key, make) -> arrays that were made before under the key, or those of make().
Arrays: TypeAlias = tuple[np.ndarray[Any, Any], ...]
CertificateKind: TypeAlias = Literal["gap", "residual", "backward error"]
NeighborCache: TypeAlias = Callable[[str, Callable[[], Arrays]], Arrays]
# What defines a model: arrays, and for the rest JSON values.
ModelArrays: TypeAlias = Mapping[str, np.ndarray[Any, Any] | csr_array]
ModelMeta: TypeAlias = Mapping[str, str | int | float | bool | None]


class Block(NamedTuple):
    """A share of a fit's independent problems: every `n_blocks`-th of them from `number` on, which is below that."""

    number: int
    n_blocks: int

    def of(self, problems: Any) -> Any:
        """Return those of a sequence or an array of problems that are in the block.

        >>> Block(1, 3).of(range(8))
        range(1, 8, 3)
        """
        return problems[self.number :: self.n_blocks]


WHOLE = Block(0, 1)


@dataclass(frozen=True)
class TrainingSet:
    """Training data; the arrays are handed out read-only.

    Parameters
    ----------
    X : (n_samples, n_features) float64 ndarray or csr_array
    Y : (n_samples, n_labels) bool ndarray or csr_array
        As given. A solver reads `dense_Y`, or where it declares ``SPARSE_LABELS`` this or `sparse_Y`.
    X_unlabeled : (n_unlabeled, n_features), optional
        Rows whose labels a transductive solver may not see.
    known : (n_samples, n_labels) bool ndarray, optional
        False where an entry of `Y` is missing; `Y` is made False there, whatever was given. Only with a dense `Y`.
    pairwise : bool
        Whether X is the kernel matrix of the rows, for a solver of kernel "precomputed": part of the rows then have
        their own columns alone.
    neighbor_cache : callable, optional
        (key, make) -> the arrays that were made before under `key`, or else those of ``make()``. The key must name all
        that they depend on. It holds neighbors of rows, which are the same in each fold of a split.
    feature_names : tuple of str, optional
        What notes call the features; of a kernel matrix there are none.

    Raises
    ------
    ValueError
        If shapes disagree or there is no row, feature or label.
    """

    X: Features
    Y: LabelMatrix
    X_unlabeled: Features | None = None
    known: BoolArray | None = None
    pairwise: bool = False
    neighbor_cache: NeighborCache | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        X, Y = as_features(self.X), as_labels(self.Y)
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, Y has {Y.shape[0]}")
        if 0 in X.shape or 0 in Y.shape:
            raise ValueError(f"nothing to learn from: X has shape {X.shape}, Y has shape {Y.shape}")
        if self.feature_names is not None and len(self.feature_names) != X.shape[1]:
            raise ValueError(f"{len(self.feature_names)} feature names for {X.shape[1]} features")
        if self.known is not None and self.known.shape != Y.shape:
            raise ValueError(f"known has shape {self.known.shape}, Y has shape {Y.shape}")
        if self.known is not None:
            if issparse(Y):
                raise ValueError("unknown entries of sparse labels are not supported: give a dense Y with `known`")
            Y = Y & self.known
        object.__setattr__(self, "X", read_only(X))
        object.__setattr__(self, "Y", read_only(Y))
        if self.X_unlabeled is not None:
            unlabeled = as_features(self.X_unlabeled)
            if unlabeled.shape[1] != X.shape[1]:
                raise ValueError(f"X_unlabeled has {unlabeled.shape[1]} features, X has {X.shape[1]}")
            object.__setattr__(self, "X_unlabeled", read_only(unlabeled))
        if self.known is not None:
            object.__setattr__(self, "known", read_only(self.known))

    @property
    def n_samples(self) -> int:
        """Number of training rows."""
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features, without any bias."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @property
    def has_sparse_labels(self) -> bool:
        """Whether labels are held sparse: an array of n_samples n_labels numbers is too large then."""
        return bool(issparse(self.Y))

    @cached_property
    def dense_Y(self) -> BoolArray:
        """The labels as a read-only bool ndarray.

        Raises
        ------
        UserError
            If they are sparse, and dense ones need more memory than there is.
        """
        return np.asarray(read_only(dense_labels(self.Y, "dense labels, which this solver needs,")))

    @cached_property
    def sparse_Y(self) -> csr_array:
        """The labels as a read-only canonical csr_array of bool with int32 indices that stores True alone."""
        found: csr_array = read_only(sparse_labels(self.Y))
        return found

    def hide_labels(self, rows: IntArray) -> "TrainingSet":
        """Return a copy in which `rows` keep their features (as unlabeled rows) and lose their labels."""
        from scipy.sparse import vstack

        kept = np.setdiff1d(np.arange(self.n_samples), rows)
        hidden = self.features(rows, kept)
        if self.X_unlabeled is not None:
            stack = vstack if issparse(hidden) else np.vstack
            unlabeled = self.X_unlabeled[:, kept] if self.pairwise else self.X_unlabeled
            hidden = stack([hidden, unlabeled])
        return replace(self.take(kept), X_unlabeled=hidden, neighbor_cache=self.neighbor_cache)

    def take(self, rows: IntArray) -> "TrainingSet":
        """Return `rows` with their labels, without unlabeled rows."""
        known = None if self.known is None else self.known[rows]
        X, names = self.features(rows, rows), self.feature_names
        return TrainingSet(X, labels_of_rows(self.Y, rows), known=known, pairwise=self.pairwise, feature_names=names)

    def features(self, rows: IntArray, trained: IntArray) -> Features:
        """Return `rows` as a model fitted on the rows `trained` takes them."""
        return take_rows(self.X, rows, trained if self.pairwise else None)


@dataclass(frozen=True)
class FitInfo:
    """How a fit went.

    Parameters
    ----------
    n_iter : int
        Passes over the data (or the method's own unit, named in its module docstring).
    objective : float
        Primal objective with the constants of the paper's equation; NaN where there is none.
    optimality : float
        How far the result is at most from the optimum, recomputed from the result itself: a relative duality gap, a
        relative residual, or the backward error of a closed form; the solver's ``CERTIFICATE`` says which, and the
        docstring of its module defines it. NaN where nothing is solved. Tables and reports call it the certificate.
    converged : bool
        Whether `optimality` is at most the solver's `tol`.
    notes : tuple of str
        What the reader of a table must know about this fit.
    """

    n_iter: int
    objective: float
    optimality: float
    converged: bool
    notes: tuple[str, ...] = ()


@runtime_checkable
class Model(Protocol):
    """A fitted solver.

    It may have ``top_scores(X, k) -> TopScores`` as well, the best scored labels of each row, where it finds them
    without all scores of a row; `mlrank.solvers.models.top_scores` asks for it.
    """

    @property
    def info(self) -> FitInfo:
        """How the fit went."""
        ...

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels), larger = more relevant."""
        ...

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the model."""
        ...

    def meta(self) -> ModelMeta:
        """Return the rest of what defines the model, as JSON values."""
        ...


class Solver(Protocol):
    """A frozen dataclass of settings; `Capabilities` explains its class attributes and its optional methods."""

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = False
    CERTIFICATE: ClassVar[CertificateKind | None] = None
    NATURAL_CUT: ClassVar[float] = 0.0
    SPARSE_LABELS: ClassVar[bool] = False
    LOADS: ClassVar[tuple[str, ...]] = ("numba",)

    def fit(self, train: TrainingSet, prepared: Any = None) -> Model:
        """Fit the solver on `train`; `prepared` is what ``prepare(train)`` returned, if anything."""
        ...


@dataclass(frozen=True)
class Capabilities:
    """What a solver can do beside ``fit``, read from its class: the only place that looks for optional parts.

    Parameters
    ----------
    shared : tuple of str
        Class attribute ``SHARED``: the settings that ``prepare`` depends on.
    uses_unlabeled : bool
        ``USES_UNLABELED``: fits use the rows of ``TrainingSet.X_unlabeled``, the test rows among them.
    transductive : bool
        ``TRANSDUCTIVE``: models score only rows that were in the training set, with labels or without. A solver that
        uses unlabeled rows and scores any row is semi-supervised instead.
    uses_known : bool
        ``USES_KNOWN``: fits leave out the entries that are False in ``TrainingSet.known``. Other solvers get them as
        absent labels.
    prepares : bool
        Whether it has ``prepare(train)``, whose result serves all fits with equal `shared` settings.
    draws : bool
        Whether it has a setting `seed`.
    estimates_cost : bool
        Whether it has ``cost(n_samples, n_features, n_labels) -> (operations, bytes)``, perhaps with a fourth argument
        ``density=1.0``, the stored part of sparse rows; an operation takes about a nanosecond.
    has_canonical : bool
        Whether it has ``canonical()``, which returns the solver with every setting that has no effect at its default.
        Grid points that agree then are fitted once. The result may be another solver of SOLVERS: both then draw with
        the same seed.
    certificate : "gap", "residual", "backward error" or None
        ``CERTIFICATE``: what ``FitInfo.optimality`` is. A gap bounds the objective: no weights have one below
        ``objective * (1 - optimality)``. A residual is that of the equations that a fit solves step by step, a backward
        error that of a closed form. None where nothing is solved, and for a solver that does not say. Where settings
        decide, a solver has ``certificate_kind()`` as well, which is asked of an instance.
    states_objective : bool
        Whether it has ``objective_of(model, train)``, the objective of any model of its kind on a training set from its
        definition: ``mlrank check-solver`` and ``mlrank certify --trust`` then hold fits to it.
    loads : tuple of str
        ``LOADS``: what a process loads for a fit to dense rows without a kernel and what takes much memory, "numba"
        (compiled loops), "scikit-learn" or both. A class that declares nothing is taken to load numba.
    kernel : str or None
        The kernel; the default one where the solver is given as a class, None where it has no such setting.
    natural_cut : float or None
        ``NATURAL_CUT``: the score above which a label is taken for relevant where nothing else says so, 0 for margins
        (and a class that declares nothing), 0.5 for probabilities and shares. None for a solver that has the method
        ``natural_cut(train)`` instead, because the cut depends on settings or on the training rows; see `cut_of`.
    by_place : bool
        ``BY_PLACE``: labels in another order may get other scores, as where draws or chains follow their places.
    sparse_labels : bool
        ``SPARSE_LABELS``: fits read ``TrainingSet.Y`` or ``sparse_Y`` and make no array of n_samples * n_labels
        entries. Other solvers get dense labels, if there is the memory for them.
    blocks : bool
        Whether it has ``fit_block`` and ``join``: several processes may then share one fit.
    """

    shared: tuple[str, ...]
    uses_unlabeled: bool
    transductive: bool
    uses_known: bool
    prepares: bool
    draws: bool
    estimates_cost: bool
    has_canonical: bool
    certificate: CertificateKind | None
    states_objective: bool
    loads: tuple[str, ...]
    kernel: str | None
    natural_cut: float | None = 0.0
    by_place: bool = False
    sparse_labels: bool = False
    blocks: bool = False

    @classmethod
    def of(cls, solver: Any) -> "Capabilities":
        """Return the capabilities of a solver or of a class of solvers, also of a user's own.

        >>> from mlrank.solvers import SOLVERS
        >>> slrm = Capabilities.of(SOLVERS["slrm"])
        >>> slrm.uses_unlabeled, slrm.transductive
        (True, False)
        """
        kind = solver if isinstance(solver, type) else type(solver)
        if kind not in _CAPABILITIES:
            _CAPABILITIES[kind] = cls._of_class(kind)
        found = _CAPABILITIES[kind]
        if solver is kind:
            return found
        kernel, certificate = getattr(solver, "kernel", None), found.certificate
        if hasattr(solver, "certificate_kind"):
            certificate = solver.certificate_kind()
        if (kernel, certificate) == (found.kernel, found.certificate):
            return found
        return replace(found, kernel=kernel, certificate=certificate)

    @classmethod
    def _of_class(cls, kind: type[Any]) -> "Capabilities":
        settings = {one.name for one in fields(kind)} if is_dataclass(kind) else set()
        return cls(
            shared=tuple(getattr(kind, "SHARED", ())),
            uses_unlabeled=bool(getattr(kind, "USES_UNLABELED", False)),
            transductive=bool(getattr(kind, "TRANSDUCTIVE", False)),
            uses_known=bool(getattr(kind, "USES_KNOWN", False)),
            prepares=hasattr(kind, "prepare"),
            draws="seed" in settings,
            estimates_cost=hasattr(kind, "cost"),
            has_canonical=hasattr(kind, "canonical"),
            certificate=getattr(kind, "CERTIFICATE", None),
            states_objective=hasattr(kind, "objective_of"),
            loads=tuple(getattr(kind, "LOADS", ("numba",))),
            kernel=getattr(kind, "kernel", None),
            natural_cut=None if hasattr(kind, "natural_cut") else float(getattr(kind, "NATURAL_CUT", 0.0)),
            by_place=bool(getattr(kind, "BY_PLACE", False)),
            sparse_labels=bool(getattr(kind, "SPARSE_LABELS", False)),
            blocks=hasattr(kind, "fit_block") and hasattr(kind, "join"),
        )

    @classmethod
    def cut_of(cls, solver: Any, train: TrainingSet) -> float:
        """Return the natural cut of a solver's scores after a fit to `train`.

        >>> from mlrank.solvers import SOLVERS
        >>> train = TrainingSet(np.eye(2), np.eye(2, dtype=bool))
        >>> [Capabilities.cut_of(SOLVERS[key](), train) for key in ("rank_svm", "knn", "faie")]
        [0.0, 0.5, 0.5]
        """
        declared = cls.of(solver).natural_cut
        return float(solver.natural_cut(train)) if declared is None else declared

    @property
    def pairwise(self) -> bool:
        """Whether rows are those of a kernel matrix, in training and in scoring: a column for each training row."""
        return self.kernel == "precomputed"


# Of each class that was asked for; a search asks for every fit.
_CAPABILITIES: WeakKeyDictionary[type[Any], Capabilities] = WeakKeyDictionary()


def check_positive(solver: Any, *names: str) -> None:
    """Raise ValueError unless each named setting is a finite number above zero."""
    for name in names:
        if not _number(value := getattr(solver, name)) or value <= 0:
            raise ValueError(f"{name} must be a number above 0, found {value!r}")


def check_count(solver: Any, *names: str) -> None:
    """Raise ValueError unless each named setting is a whole number above zero."""
    check_positive(solver, *names)
    for name in names:
        if int(value := getattr(solver, name)) != value:
            raise ValueError(f"{name} must be a whole number, found {value!r}")


def check_not_negative(solver: Any, *names: str) -> None:
    """Raise ValueError unless each named setting is a finite number, zero or above."""
    for name in names:
        if not _number(value := getattr(solver, name)) or value < 0:
            raise ValueError(f"{name} must be a number, 0 or above, found {value!r}")


def check_choices(solver: Any, choices: Mapping[str, Collection[Any]]) -> None:
    """Raise ValueError unless each setting named in `choices` has one of the values listed for it."""
    for name, known in choices.items():
        if getattr(solver, name) not in known:
            raise ValueError(not_among(name, getattr(solver, name), known))


def check_kernel(solver: Any, precomputed: bool = False) -> None:
    """Raise ValueError unless `kernel` is a key of KERNELS, or "precomputed" where allowed, and its constants make one.

    A polynomial with a negative constant, or of a broken degree, is no inner product of rows: dual problems are then
    not convex, and a decomposition of the matrix loses the part of its negative eigenvalues.
    """
    check_choices(solver, {"kernel": (*KERNELS, "precomputed") if precomputed else tuple(KERNELS)})
    check_positive(solver, "gamma", "degree")
    if solver.kernel == "polynomial":
        check_not_negative(solver, "coef0")
        if solver.degree != int(solver.degree):
            raise ValueError(f"degree must be a whole number, found {solver.degree!r}")


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / primal; 0 where the primal is 0, as both then are, and nan where it is nan.

    A primal below 0 is rounding, which certifies nothing: the gap then is 1.
    """
    if primal <= 0:
        return 0.0 if primal == 0 else 1.0
    return (primal - dual) / primal


def check_components(solver: Any, name: str = "n_components") -> None:
    """Raise ValueError unless a setting is a whole number, or a part of the labels between 0 and 1."""
    check_positive(solver, name)
    value = getattr(solver, name)
    if isinstance(value, float) and value >= 1 and (value == 1 or not value.is_integer()):
        raise ValueError(f"{name} must be a whole number or a part of the labels below 1, found {value!r}")


def n_components_of(value: float, n_labels: int) -> int:
    """Return a number of components; a part of the labels is rounded half up, to 1 at least.

    >>> [n_components_of(value, 23) for value in (0.05, 0.1, 0.5, 4)]
    [1, 2, 12, 4]
    """
    if value >= 1:
        return int(value)
    return max(1, int(np.floor(value * n_labels + 0.5)))


def never_known(train: TrainingSet) -> BoolArray:
    """Return which labels are missing in every row."""
    if train.known is None:
        return np.zeros(train.n_labels, np.bool_)
    return np.asarray(~train.known.any(axis=0))


def unknown_label_notes(train: TrainingSet, rows_count: str, labels_score: str) -> tuple[str, ...]:
    """Return a note for rows without any known label and one for labels known in no row.

    `rows_count` says how such rows count, `labels_score` how such labels are scored.
    """
    if train.known is None:
        return ()
    n_rows, n_labels = int((~train.known.any(axis=1)).sum()), int(never_known(train).sum())
    rows = f"{n_rows} of {train.n_samples} rows have no known label: {rows_count}"
    labels = f"{n_labels} of {train.n_labels} labels are known in no row: {labels_score}"
    return (rows,) * (n_rows > 0) + (labels,) * (n_labels > 0)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))
