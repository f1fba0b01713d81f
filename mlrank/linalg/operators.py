"""Symmetric positive semi-definite matrices known by their products."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from mlrank.arrays import FloatArray

__all__ = ["GramOperator", "Operator", "SymmetricOperator"]


class Operator(Protocol):
    """A symmetric positive semi-definite A known by its products, in two steps."""

    def half(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the second step needs, and V'AV."""
        ...

    def rest(self, U: FloatArray) -> FloatArray:
        """Return A V from what the first step gave."""
        ...


class GramOperator(NamedTuple):
    """A = G'G, from ``first(V)`` = GV and ``second(U)`` = G'U."""

    first: Callable[[FloatArray], FloatArray]
    second: Callable[[FloatArray], FloatArray]

    def half(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return GV and V'AV."""
        U = self.first(V)
        return U, U.T @ U

    def rest(self, U: FloatArray) -> FloatArray:
        """Return G'U."""
        return self.second(U)


class SymmetricOperator(NamedTuple):
    """A given as a matrix."""

    A: FloatArray

    def half(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return AV and V'AV."""
        U = self.A @ V
        product = V.T @ U
        return U, (product + product.T) / 2

    def rest(self, U: FloatArray) -> FloatArray:
        """Return AV, which is what the first step gave."""
        return U
