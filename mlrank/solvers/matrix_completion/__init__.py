"""Matrix completion."""

from mlrank.solvers.matrix_completion.matrix_completion import MatrixCompletion
from mlrank.solvers.matrix_completion.problem import Completion, CompletionPoint, simplex_rows

__all__ = ["Completion", "CompletionPoint", "MatrixCompletion", "simplex_rows"]
