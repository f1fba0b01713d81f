"""The graph on all rows of a semi-supervised fit, and what its solvers say about it."""

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mlrank.arrays import Features, FloatArray, IntArray, take_rows
from mlrank.graphs import GRAPHS, SYMMETRIZE, Finder, knn, knn_in_order, knn_with_ties
from mlrank.solvers.base import FitInfo, NeighborCache, TrainingSet, check_choices, check_positive
from mlrank.solvers.models import TransductiveModel, all_rows, row_digests

__all__ = [
    "GRAPH_SETTINGS",
    "GraphSettings",
    "RowGraph",
    "neighbor_finder",
    "too_few_rows",
]

# The settings of a solver that its graph depends on.
GRAPH_SETTINGS = ("graph", "n_neighbors", "scale_neighbor", "width", "symmetrize")
# Iterations of conjugate gradients that most graphs need, for the forecast.
USUAL_ITERATIONS = 50


class RowGraph(NamedTuple):
    """A graph on the training rows and, below them, the unlabeled ones.

    Parameters
    ----------
    A : (n_rows, n_rows) csr_array, adjacency
    digests : (n_rows, 16) uint8 ndarray, by which a row is found again
    n_train : int
    notes : tuple of str
    """

    A: csr_array
    digests: npt.NDArray[np.uint8]
    n_train: int
    notes: tuple[str, ...]

    def model(self, scores: FloatArray, info: FitInfo) -> TransductiveModel:
        """Return the model with these scores of all rows."""
        return TransductiveModel(self.digests, self.n_train, scores, info)

    def out_of_reach(self, part: IntArray) -> IntArray:
        """Return the rows in connected parts of the graph that hold no training row."""
        return np.flatnonzero(~np.isin(part, part[: self.n_train]))


@dataclass(frozen=True)
class GraphSettings:
    """The settings that SMSE and MCGF share, checked: their graph of rows. Both solvers explain them.

    Raises
    ------
    ValueError
        If the settings make no graph.
    """

    graph: str
    n_neighbors: int
    scale_neighbor: int
    width: float | None
    symmetrize: str

    @classmethod
    def of(cls, solver: Any) -> "GraphSettings":
        """Return the shared settings of a solver."""
        return cls(*(getattr(solver, name) for name in GRAPH_SETTINGS))

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "scale_neighbor"):
            if not isinstance(value := getattr(self, name), int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, found {value!r}")
        check_choices(self, {"graph": GRAPHS, "symmetrize": SYMMETRIZE})
        if self.width is not None:
            check_positive(self, "width")
            if self.graph == "self_tuning":
                raise ValueError("width goes with graph 'gaussian' or 'cosine': graph 'self_tuning' finds its own")

    def build(self, train: TrainingSet) -> RowGraph:
        """Build the graph on all rows of `train`, with labels or without."""
        rows = all_rows(train)
        scale = self.scale_neighbor if self.graph == "self_tuning" else self.width
        if self.graph == "cosine" and scale is None:
            scale = 1.0
        A = GRAPHS[self.graph](rows, self.n_neighbors, scale, self.symmetrize, neighbor_finder(train))
        return RowGraph(A, row_digests(rows), train.n_samples, too_few_rows(self.n_neighbors, rows.shape[0]))

    def cost(self, n: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow: distances, then products of the graph with all labels."""
        edges = 2.0 * self.n_neighbors * n
        operations = float(n) ** 2 * (n_features + 10) + USUAL_ITERATIONS * n_labels * (edges + 10.0 * n)
        return operations, 16.0 * n * n_features + 24.0 * edges + 56.0 * n * n_labels


def too_few_rows(n_neighbors: int, n_rows: int) -> tuple[str, ...]:
    """Return the note that a row has fewer others than the neighbors it should choose, if so."""
    if n_neighbors < n_rows:
        return ()
    return (f"{n_neighbors} neighbors asked for, {n_rows - 1} other rows there: each row is joined to all",)


def neighbor_finder(train: TrainingSet) -> Finder:
    """Return `knn`, which uses the neighbor cache of the training set, if there is one."""
    return knn if train.neighbor_cache is None else partial(_cached_knn, train.neighbor_cache)


def _cached_knn(cache: NeighborCache, X: Features, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    """Return what `knn` returns; distances are computed once for all matrices of the same rows, in whatever order."""
    digests = row_digests(X)
    order = np.lexsort(digests.view(np.uint64).T)
    key = blake2b(digests[order].tobytes(), digest_size=16).hexdigest()
    found = cache(f"neighbors-{n_neighbors}-{key}", lambda: knn_with_ties(take_rows(X, order), n_neighbors))
    if not found[0].size:  # too many are equally near
        return knn(X, n_neighbors)
    return knn_in_order((found[0], found[1], found[2]), order, n_neighbors)
