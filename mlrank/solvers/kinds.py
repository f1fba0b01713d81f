"""The kinds of fitted models and projections: what ``meta()`` calls them, and the class that is made from their arrays.

A class is a frozen dataclass whose ``arrays()`` and ``meta()`` hold its fields, by their names. Fields with a default
need not be there, nor `info`, nor those that have ``arrays()`` and ``meta()`` of their own: a model in a model, or the
projection in front of one.
"""

from typing import Any

from mlrank.imported import Imported
from mlrank.solvers._transductive import TransductiveModel, all_rows, row_digests

__all__ = ["MODELS", "PROJECTED", "TransductiveModel", "all_rows", "row_digests"]

MODELS: Imported[type[Any]] = Imported(
    {
        "linear": "mlrank.solvers.base:LinearModel",
        "kernel": "mlrank.solvers._kernel_model:KernelModel",
        "compressed": "mlrank.solvers._compressed_model:CompressedModel",
        "low_rank": "mlrank.solvers._low_rank_model:LowRankWeights",
        "low_rank_factors": "mlrank.solvers._low_rank_model:LowRankModel",
        "balanced_neighbors": "mlrank.solvers.bknn:BalancedNeighbors",
        "ml_loc": "mlrank.solvers.ml_loc:LocModel",
        "neighbors": "mlrank.solvers.knn:Neighbors",
        "projected_neighbors": "mlrank.solvers._hypergraph_heads:NeighborModel",
        "transductive": "mlrank.solvers._transductive:TransductiveModel",
    }
)

PROJECTED: Imported[type[Any]] = Imported(
    {
        "linear": "mlrank.solvers._hypergraph_projection:Projection",
        "kernel": "mlrank.solvers._hypergraph_projection:KernelProjection",
    }
)
