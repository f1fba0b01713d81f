"""The kinds of fitted models and projections: what ``meta()`` calls them, and the class that is made from their arrays.

A class is a frozen dataclass whose ``arrays()`` and ``meta()`` hold its fields, by their names. Fields with a default
need not be there, nor `info`, nor those that have ``arrays()`` and ``meta()`` of their own: a model in a model, or the
projection in front of one.
"""

from typing import Any

from mlrank.solvers._compressed_model import CompressedModel
from mlrank.solvers._hypergraph_heads import NeighborModel
from mlrank.solvers._hypergraph_projection import KernelProjection, Projection
from mlrank.solvers._kernel_model import KernelModel
from mlrank.solvers._transductive import TransductiveModel, all_rows, row_digests
from mlrank.solvers.base import LinearModel
from mlrank.solvers.bknn import BalancedNeighbors
from mlrank.solvers.knn import Neighbors
from mlrank.solvers.ml_loc import LocModel
from mlrank.solvers.slrm import LowRankModel

__all__ = ["MODELS", "PROJECTED", "TransductiveModel", "all_rows", "row_digests"]

MODELS: dict[str, type[Any]] = {
    "linear": LinearModel,
    "kernel": KernelModel,
    "compressed": CompressedModel,
    "low_rank": LowRankModel,
    "balanced_neighbors": BalancedNeighbors,
    "ml_loc": LocModel,
    "neighbors": Neighbors,
    "projected_neighbors": NeighborModel,
    "transductive": TransductiveModel,
}

PROJECTED: dict[str, type[Any]] = {"linear": Projection, "kernel": KernelProjection}
