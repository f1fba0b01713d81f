"""Feature scaling, fitted on the training part only: ``SCALERS["standard"]().fit(X_train)(X_test)``.

Sparse features are never made dense, so they are never shifted: `standard` then only divides by the standard
deviation and `minmax` by the largest absolute value; `Scaling.note` says so for the tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features

__all__ = [
    "SCALERS",
    "SCALINGS",
    "LogTermScaling",
    "LogTfidf",
    "MinMax",
    "NoScaling",
    "Scaler",
    "Scaling",
    "Standard",
    "TermBlock",
    "TermScaling",
    "UnitL1",
    "UnitL2",
    "fit_scaling",
]


class Scaling(Protocol):
    """A fitted scaler."""

    @property
    def n_constant(self) -> int:
        """Number of features that are constant on the training part and so were not stretched."""
        ...

    @property
    def note(self) -> str:
        """What a table must say about the scaling beside its name; may be empty."""
        ...

    def __call__(self, X: Features) -> Features:
        """Return scaled features of the same kind, ndarray or csr_array."""
        ...

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return the arrays that define the scaling."""
        ...

    def meta(self) -> Mapping[str, object]:
        """Return the rest of what defines it, as JSON values; "scaling" names its kind."""
        ...


class Scaler(Protocol):
    """A way to scale features."""

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling that suits (n_samples, n_features) training features."""
        ...


@dataclass(frozen=True)
class ColumnScaling:
    """``(X - shift) / divisor`` for each feature; no shift for sparse features.

    Parameters
    ----------
    shift : (n_features,) ndarray or None
    divisor : (n_features,) ndarray, 1 where the feature is constant
    n_constant : int
    note : str
    """

    shift: FloatArray | None
    divisor: FloatArray
    n_constant: int
    note: str

    def __call__(self, X: Features) -> Features:
        """Return scaled features of the kind (ndarray or csr_array) the scaling was fitted to."""
        X = as_features(X)
        if X.shape[1] != self.divisor.size:
            raise ValueError(f"the scaling was fitted to {self.divisor.size} features, found {X.shape[1]}")
        if issparse(X) != (self.shift is None):
            raise ValueError("the scaling was fitted to the other kind of features: dense and sparse do not mix")
        if issparse(X):
            return csr_array((X.data / self.divisor[X.indices], X.indices, X.indptr), shape=X.shape)
        scaled = X - self.shift
        scaled /= self.divisor  # a quotient by itself would be one more array of the size of X
        return scaled

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `divisor` and, where there is one, `shift`."""
        return {"divisor": self.divisor} if self.shift is None else {"divisor": self.divisor, "shift": self.shift}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of scaling and its note."""
        return {"scaling": "columns", "n_constant": self.n_constant, "note": self.note}


@dataclass(frozen=True)
class RowScaling:
    """Each row divided by its l1 or l2 norm; rows of zeros stay.

    Parameters
    ----------
    order : 1 or 2
    """

    order: int
    n_constant: int = 0
    note: str = ""

    def __call__(self, X: Features) -> Features:
        """Return features of the same kind whose rows have norm 1 or 0."""
        X = as_features(X)
        largest = _no_zeros(_row_max(X))
        # Dividing by the largest entry first keeps squares of huge and tiny numbers in range.
        X = _divide_rows(X, largest)
        magnitude = abs(X) if self.order == 1 else X * X
        total = np.asarray(magnitude.sum(axis=1))
        return _divide_rows(X, _no_zeros(total if self.order == 1 else np.sqrt(total)))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of scaling and the order of the norm."""
        return {"scaling": "rows", "order": self.order}


@dataclass(frozen=True)
class Untouched:
    """Features as they are."""

    n_constant: int = 0
    note: str = ""

    def __call__(self, X: Features) -> Features:
        """Return `X` itself."""
        return as_features(X)

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of scaling."""
        return {"scaling": "none"}


@dataclass(frozen=True)
class NoScaling:
    """Leave the features as they are."""

    def fit(self, X_train: Features) -> Scaling:
        """Return the identity."""
        return Untouched()


@dataclass(frozen=True)
class Standard:
    """Give every feature mean 0 and standard deviation 1 (divisor n_samples) on the training part.

    Constant features are centred and not stretched. Sparse features are divided and not centred.
    """

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling of (n_samples, n_features) training features."""
        X_train = as_features(X_train)
        low, high = _column_range(X_train)
        mean = np.asarray(X_train.mean(axis=0))
        if not issparse(X_train):
            return _columns(mean, X_train.std(axis=0), low == high, "")
        stored = np.bincount(X_train.indices, minlength=mean.size)
        # Squared deviations of the stored entries and of the zeros apart: E[x^2] - mean^2 would cancel.
        squares = np.bincount(X_train.indices, (X_train.data - mean[X_train.indices]) ** 2, minlength=mean.size)
        variance = (squares + (X_train.shape[0] - stored) * mean**2) / X_train.shape[0]
        return _columns(None, np.sqrt(variance), low == high, "sparse features: divided, not centred")


@dataclass(frozen=True)
class MinMax:
    """Map every feature's range on the training part to [0, 1]; test values may fall outside.

    Constant features become 0 and are not stretched. Sparse features are divided by their largest absolute
    value, which maps them into [-1, 1] and keeps zeros.
    """

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling of (n_samples, n_features) training features."""
        X_train = as_features(X_train)
        low, high = _column_range(X_train)
        if not issparse(X_train):
            return _columns(low, high - low, low == high, "")
        largest = np.maximum(abs(low), abs(high))
        return _columns(None, largest, low == high, "sparse features: divided by the largest absolute value")


@dataclass(frozen=True)
class UnitL2:
    """Divide every row by its Euclidean norm; rows of zeros stay."""

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling; it depends on no training data."""
        return RowScaling(2)


@dataclass(frozen=True)
class UnitL1:
    """Divide every row by the sum of its absolute values; rows of zeros stay."""

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling; it depends on no training data."""
        return RowScaling(1)


@dataclass(frozen=True)
class TermScaling:
    """TF-IDF of the terms of texts, fitted on the training part, before another scaling.

    Counts are multiplied by ``log((1 + n) / (1 + df)) + 1``, with df the number of the n training rows that have the
    term, and by 0 for a term that is not used; then each row of a text is divided by its Euclidean norm. So does
    scikit-learn's TfidfVectorizer with its defaults.

    Parameters
    ----------
    weights : (n_features,) ndarray, 1 for features that are no terms
    blocks : (n_texts, 2) int64 ndarray
        First feature of each text, and the one behind its last.
    inner : fitted scaling
    """

    weights: FloatArray
    blocks: IntArray
    inner: Scaling

    @property
    def n_constant(self) -> int:
        """Number of features that the inner scaling found constant."""
        return self.inner.n_constant

    @property
    def note(self) -> str:
        """How many terms are used."""
        terms = np.concatenate([self.weights[first:last] for first, last in self.blocks])
        used = f"TF-IDF of {int((terms > 0).sum())} terms of the training part"
        return f"{used}; {self.inner.note}" if self.inner.note else used

    def __call__(self, X: Features) -> Features:
        """Return the weighted and scaled features of the same kind, ndarray or csr_array."""
        found = csr_array(X, dtype=np.float64, copy=True)
        found.data *= self.weights[found.indices]
        found.eliminate_zeros()
        rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
        for first, last in self.blocks:
            inside = (found.indices >= first) & (found.indices < last)
            norms = np.sqrt(np.bincount(rows[inside], found.data[inside] ** 2, minlength=found.shape[0]))
            found.data[inside] /= norms[rows[inside]]
        return self.inner(found if issparse(X) else found.toarray())

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that define the scaling."""
        return {"weights": self.weights, "blocks": self.blocks}

    def meta(self) -> Mapping[str, object]:
        """Return its kind."""
        return {"scaling": "terms"}


@dataclass(frozen=True)
class LogTermScaling:
    """Logarithms of counts times the weights of their terms, each row divided by its Euclidean norm.

    Parameters
    ----------
    weights : (n_features,) ndarray
    """

    weights: FloatArray
    n_constant: int = 0
    note: str = ""

    def __call__(self, X: Features) -> Features:
        """Return scaled features of the same kind, ndarray or csr_array."""
        X = as_features(X)
        if not issparse(X):
            dense = np.sign(X) * np.log1p(abs(X)) * self.weights
            return _divide_rows(dense, _no_zeros(_norms(dense)))
        data = np.sign(X.data) * np.log1p(abs(X.data)) * self.weights[X.indices]
        weighted = csr_array((data, X.indices, X.indptr), shape=X.shape)
        return _divide_rows(weighted, _no_zeros(_norms(weighted)))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return the arrays that define the scaling."""
        return {"weights": self.weights}

    def meta(self) -> Mapping[str, object]:
        """Return its kind."""
        return {"scaling": "log_terms"}


@dataclass(frozen=True)
class LogTfidf:
    """Take counts of terms by their logarithm and rarity, rows then of length one.

    A count becomes log(1 + count) (log((1 + n) / (1 + df)) + 1), with df the number of the n training rows that have
    the term; so no term has weight 0. A value below 0, which is no count, is taken with its sign. After Salton &
    Buckley, "Term-weighting approaches in automatic text retrieval", Information Processing & Management 24, 1988; the
    smoothed rarity is scikit-learn's.
    """

    def fit(self, X_train: Features) -> Scaling:
        """Return the scaling of (n_samples, n_features) training features."""
        X_train = as_features(X_train)
        n, d = X_train.shape
        if issparse(X_train):
            rows = np.bincount(X_train.indices[X_train.data != 0], minlength=d)
        else:
            rows = np.count_nonzero(X_train, axis=0)
        return LogTermScaling(np.log((1 + n) / (1 + rows)) + 1)


class TermBlock(NamedTuple):
    """The features of a text, first to last - 1; how many terms are used, and of how many rows each must be."""

    first: int
    last: int
    max_features: int | None
    min_rows: int


def fit_scaling(name: str, X_train: Features, text: Sequence[TermBlock] = ()) -> Scaling:
    """Return the scaling of that name for training features, behind the weighting of terms where there are texts."""
    if not text:
        return SCALERS[name]().fit(X_train)
    X = csr_array(X_train)
    rows, totals = np.bincount(X.indices[X.data > 0], minlength=X.shape[1]), X.sum(axis=0)
    weights = np.ones(X.shape[1])
    for block in text:
        part = slice(block.first, block.last)
        used = rows[part] >= max(block.min_rows, 1)
        if block.max_features is not None:
            order = np.argsort(-np.where(used, np.asarray(totals)[part], 0), kind="stable")
            used[order[block.max_features :]] = False
        weights[part] = np.where(used, np.log((1 + X.shape[0]) / (1 + rows[part])) + 1, 0)
    blocks = np.array([(block.first, block.last) for block in text], np.int64)
    terms = TermScaling(weights, blocks, Untouched())
    return TermScaling(weights, blocks, SCALERS[name]().fit(terms(X_train)))


SCALERS: Mapping[str, type[Scaler]] = {
    "none": NoScaling,
    "standard": Standard,
    "minmax": MinMax,
    "l2": UnitL2,
    "l1": UnitL1,
    "log_tfidf": LogTfidf,
}

# Fitted scalings by what their ``meta()["scaling"]`` says.
SCALINGS: Mapping[str, type[Scaling]] = {
    "columns": ColumnScaling,
    "rows": RowScaling,
    "none": Untouched,
    "terms": TermScaling,
    "log_terms": LogTermScaling,
}


def _columns(shift: FloatArray | None, divisor: FloatArray, constant: BoolArray, note: str) -> ColumnScaling:
    # A spread too small to divide by underflows to 0 although the feature varies a little.
    still = constant | (divisor == 0)
    return ColumnScaling(shift, np.where(still, 1.0, divisor), int(still.sum()), note)


def _column_range(X: Features) -> tuple[FloatArray, FloatArray]:
    if issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


def _row_max(X: Features) -> FloatArray:
    largest = abs(X).max(axis=1)
    return np.asarray(largest.toarray().ravel() if issparse(X) else largest)


def _norms(X: Features) -> FloatArray:
    squares = X.multiply(X) if issparse(X) else X * X
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()))


def _no_zeros(divisor: FloatArray) -> FloatArray:
    return np.where(divisor == 0, 1.0, divisor)


def _divide_rows(X: Features, divisor: FloatArray) -> Features:
    if issparse(X):
        return csr_array((X.data / np.repeat(divisor, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return X / divisor[:, None]
