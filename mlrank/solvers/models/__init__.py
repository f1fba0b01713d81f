"""What several solvers return, and the kinds of models and projections: the class for what their ``meta()`` says.

A class is a frozen dataclass whose ``arrays()`` and ``meta()`` hold its fields, by their names. Fields with a default
need not be there, nor `info`, nor those that have ``arrays()`` and ``meta()`` of their own: a model in a model, or the
projection in front of one.
"""

from typing import Any

from mlrank.imported import Imported
from mlrank.solvers.models.dual import DUALS, DualPoint
from mlrank.solvers.models.kernel import KernelModel
from mlrank.solvers.models.linear import LinearModel, LowRankModel, LowRankWeights, SparseLinearModel
from mlrank.solvers.models.projections import KernelProjection, Projection, asked_and_seen
from mlrank.solvers.models.top import best_in_blocks, top_scores
from mlrank.solvers.models.transductive import TransductiveModel, all_rows, row_digests

__all__ = [
    "DUALS",
    "MODELS",
    "PROJECTED",
    "DualPoint",
    "KernelModel",
    "KernelProjection",
    "LinearModel",
    "LowRankModel",
    "LowRankWeights",
    "Projection",
    "SparseLinearModel",
    "TransductiveModel",
    "all_rows",
    "asked_and_seen",
    "best_in_blocks",
    "row_digests",
    "top_scores",
]

MODELS: Imported[type[Any]] = Imported(
    {
        "linear": "mlrank.solvers.models.linear:LinearModel",
        "sparse_linear": "mlrank.solvers.models.linear:SparseLinearModel",
        "kernel": "mlrank.solvers.models.kernel:KernelModel",
        "compressed": "mlrank.solvers.sparse_bayes.model:CompressedModel",
        "low_rank": "mlrank.solvers.models.linear:LowRankWeights",
        "low_rank_factors": "mlrank.solvers.models.linear:LowRankModel",
        "balanced_neighbors": "mlrank.solvers.neighbors.bknn:BalancedNeighbors",
        "ml_loc": "mlrank.solvers.ml_loc.ml_loc:LocModel",
        "label_tree": "mlrank.solvers.label_tree.model:TreeModel",
        "neighbors": "mlrank.solvers.neighbors.knn:Neighbors",
        "counted_neighbors": "mlrank.solvers.neighbors.ml_knn:CountedNeighbors",
        "regressed_neighbors": "mlrank.solvers.neighbors.iblr:RegressedNeighbors",
        "projected_neighbors": "mlrank.solvers.hypergraph.heads:NeighborModel",
        "transductive": "mlrank.solvers.models.transductive:TransductiveModel",
    }
)

PROJECTED: Imported[type[Any]] = Imported(
    {
        "linear": "mlrank.solvers.models.projections:Projection",
        "kernel": "mlrank.solvers.models.projections:KernelProjection",
    }
)
