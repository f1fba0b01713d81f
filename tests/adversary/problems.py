"""Badly scaled problems, drawn from a seed: the same seed and name give the same problem."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from mlrank.solvers import Capabilities, TrainingSet

__all__ = ["FORMS", "NAMES", "AdversaryProblem", "draw", "dressed"]


@dataclass(frozen=True)
class AdversaryProblem:
    """Rows with labels, and what is odd about them.

    name : what is odd, as the report shows it
    X, Y : training rows and labels; X_new : rows without labels, which transductive solvers see
    ratio : largest over smallest scale among columns or rows; offsets count in units of the spread
    odd_rows, odd_columns : their numbers; a rival may leave them out
    factor : what the weight of the loss or of the penalty is multiplied by
    form : a key of FORMS, how rows are handed over
    """

    name: str
    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray
    ratio: float = 1.0
    odd_rows: tuple[int, ...] = ()
    odd_columns: tuple[int, ...] = ()
    factor: float = 1.0
    form: str = "dense"

    def training_set(self, solver, nonnegative=False, form=None) -> TrainingSet:
        """Return the training set as `solver` takes it."""
        X, X_new = (abs(X) if nonnegative else X for X in (self.X, self.X_new))
        able = Capabilities.of(solver)
        if able.pairwise:
            K = X @ X.T
            return TrainingSet((K + K.T) / 2, self.Y, pairwise=True)
        unlabeled = dressed(X_new, form or self.form) if able.uses_unlabeled else None
        return TrainingSet(dressed(X, form or self.form), self.Y, X_unlabeled=unlabeled)

    def without_odd(self) -> "AdversaryProblem":
        """Return the problem with zeros for odd columns and without odd rows."""
        X, X_new, kept = self.X.copy(), self.X_new.copy(), np.ones(len(self.X), dtype=bool)
        X[:, list(self.odd_columns)] = X_new[:, list(self.odd_columns)] = 0.0
        kept[list(self.odd_rows)] = False
        return replace(self, X=X[kept], Y=self.Y[kept], X_new=X_new, odd_rows=(), odd_columns=())


def _unsorted_csr(X):
    """Return CSR rows whose indices fall, with some zeros stored."""
    stored = X != 0
    stored[:, :1] = True
    indices = [np.flatnonzero(row)[::-1] for row in stored]
    data = [row[columns] for row, columns in zip(X, indices, strict=True)]
    pointers = np.concatenate([[0], np.cumsum([len(columns) for columns in indices])])
    return csr_array((np.concatenate(data), np.concatenate(indices), pointers), shape=X.shape)


FORMS: dict[str, Callable] = {
    "dense": np.array,
    "csr": csr_array,
    "float32": lambda X: X.astype(np.float32),
    "unsorted_csr": _unsorted_csr,
}


def dressed(X, form):
    """Return `X` in one of FORMS."""
    return FORMS[form](X)


@dataclass
class _Draft:
    """A well scaled problem that is about to be spoiled."""

    rng: np.random.Generator
    n: int = 24
    d: int = 6
    k: int = 3
    odd: dict = field(default_factory=dict)

    def __post_init__(self):
        self.X = self.rng.standard_normal((self.n + 5, self.d))
        W = self.rng.standard_normal((self.d, self.k))
        noise = 0.7 * self.rng.standard_normal((self.n, self.k))
        self.Y = self.X[: self.n] @ W / np.sqrt(self.d) + noise > 0.3
        # Ranking needs a row with a relevant and an irrelevant label.
        if self.k > 1:
            self.Y[0], self.Y[0, 0] = False, True

    def finished(self, name, **odd) -> AdversaryProblem:
        return AdversaryProblem(name, self.X[: self.n], self.Y, self.X[self.n :], **self.odd, **odd)


def _column(draft, ratio):
    draft.X[:, 1] *= ratio
    return {"ratio": ratio, "odd_columns": (1,)}


def _row(draft, ratio):
    draft.X[2] *= ratio
    return {"ratio": ratio, "odd_rows": (2,)}


def _cell(draft, ratio):
    draft.X[3, 2] = ratio
    return {"ratio": ratio, "odd_rows": (3,), "odd_columns": (2,)}


def _offset(draft, ratio):
    draft.X[:, 0] += ratio
    return {"ratio": ratio, "odd_columns": (0,)}


def _all_offset(draft, ratio):
    draft.X += ratio
    return {"ratio": ratio}


def _columns(draft, ratio):
    draft.X *= np.logspace(-np.log10(ratio) / 2, np.log10(ratio) / 2, draft.d)
    return {"ratio": ratio}


def _unix_time(draft, ratio):
    draft.X[:, 0] = 1.7e9 + ratio * draft.X[:, 0]
    return {"ratio": 1.7e9, "odd_columns": (0,)}


def _duplicates(draft, ratio):
    draft.X[:, 3] = draft.X[:, 4]
    draft.X[5:10], draft.Y[5:10] = draft.X[10:15], ~draft.Y[10:15]
    return {}


def _constant(draft, ratio):
    draft.X[:, 1], draft.X[:, 2] = 7.0, 0.0
    draft.X[4], draft.X[5] = 0.0, 3.0
    return {}


def _labels(draft, ratio):
    draft.Y[:, 0], draft.Y[:, 1], draft.Y[:, 2] = True, False, False
    draft.Y[6, 2] = True
    return {}


def _parts(draft, ratio):
    draft.X[::2] += ratio
    return {"ratio": ratio}


def _plain(draft, ratio):
    return {}


def _factor(draft, ratio):
    return {"factor": ratio}


RATIOS = (1e2, 1e4, 1e6, 1e8, 1e10)
# What is spoiled and how, for each name; the shapes, where they are not those of a draft.
_KINDS: dict[str, tuple[Callable, tuple[float, ...]]] = {
    "one column times": (_column, RATIOS),
    "one row times": (_row, RATIOS),
    "one cell of": (_cell, RATIOS),
    "one column plus": (_offset, RATIOS),
    "all features plus": (_all_offset, RATIOS),
    "columns apart by": (_columns, (1e2, 1e4, 1e6, 1e8, 1e16)),
    "a Unix time with deviation": (_unix_time, (1e3, 1e7)),
    "duplicate rows and columns": (_duplicates, (1.0,)),
    "constant and zero rows and columns": (_constant, (1.0,)),
    "labels of all, no and one row": (_labels, (1.0,)),
    "two groups of rows apart by": (_parts, (3.5, 30.0, 1e4)),
    "loss or penalty times": (_factor, (1e-6, 1e-4, 1e-2, 1e2, 1e4, 1e6)),
}
_SHAPES = {
    "fewer rows than features": {"n": 8, "d": 20},
    "as many rows as features": {"n": 12, "d": 12},
    "far more rows than features": {"n": 150, "d": 3},
    "one label": {"k": 1},
    "two labels": {"k": 2},
    "fifty labels": {"k": 50},
}
# name -> (spoil, ratio, shape); shapes come plain and with a column of 1e4.
_RECIPES = {
    **{
        f"{name} {ratio:g}" if len(ratios) > 1 else name: (spoil, ratio, {})
        for name, (spoil, ratios) in _KINDS.items()
        for ratio in ratios
    },
    **{name: (_plain, 1.0, shape) for name, shape in _SHAPES.items()},
    **{f"{name}, one column times 1e4": (_column, 1e4, shape) for name, shape in _SHAPES.items()},
}
NAMES = tuple(_RECIPES)


def draw(name: str, seed: int, form: str = "dense") -> AdversaryProblem:
    """Return the problem of this name and seed, its rows in the given form."""
    spoil, ratio, shape = _RECIPES[name]
    draft = _Draft(np.random.default_rng([seed, zlib.crc32(name.encode())]), **shape)
    odd = spoil(draft, ratio)
    if form == "float32":
        draft.X = draft.X.astype(np.float32).astype(np.float64)
    return draft.finished(name, form=form, **odd)
