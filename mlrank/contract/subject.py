"""What is checked, the problem it is checked on, and what a check says."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.solvers import TrainingSet

__all__ = ["TIGHT", "Broken", "NotApplicable", "Subject", "random_problem"]

# The tol of fits that are compared.
TIGHT = 1e-9


class Broken(Exception):
    """The solver does not do what a check asks for."""


class NotApplicable(Exception):
    """The check says nothing about this solver."""


@dataclass(frozen=True)
class Subject:
    """A solver under test, and how it differs from others.

    Parameters
    ----------
    solver : class
    settings : with which it runs on a small problem, where its defaults do not
    tight : settings beside tol that go with a small tol
    faithful : with which labels that are easy to tell apart are separated
    hard : with which one iteration is not enough
    objective : whether it minimizes anything; None if that is not known
    """

    solver: type[Any]
    settings: Mapping[str, object] = field(default_factory=dict)
    tight: Mapping[str, object] = field(default_factory=dict)
    faithful: Mapping[str, object] = field(default_factory=dict)
    hard: Mapping[str, object] | None = None
    objective: bool | None = None
    # What fits of badly scaled problems ended with, which several checks look at: see `scales`.
    odd_fits: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def names(self) -> set[str]:
        """Names of all settings."""
        return {one.name for one in fields(self.solver)}

    def made(self, **settings: Any) -> Any:
        """Return the solver with these settings; a tol is left out where it has none."""
        known = {name: value for name, value in settings.items() if name != "tol" or "tol" in self.names}
        tight = self.tight if settings.get("tol") == TIGHT else {}
        return self.solver(**{**self.settings, **known, **tight})

    def fit(self, X: Features, Y: BoolArray, **settings: Any) -> Any:
        """Return the model of rows and labels."""
        return self.made(**settings).fit(TrainingSet(X, Y))


def random_problem(n: int = 40, m: int = 6, k: int = 5, seed: int = 0) -> tuple[FloatArray, BoolArray]:
    """Return (X, Y) whose labels depend linearly on X with noise, with an empty and a full row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    X[rng.random((n, m)) < 0.3] = 0.0
    Y = X @ rng.standard_normal((m, k)) + 0.5 * rng.standard_normal((n, k)) > 0.4
    Y[0], Y[1] = False, True
    return X, Y
