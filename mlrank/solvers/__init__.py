"""Solvers by key. Adding one: a file here, and its line below."""

from typing import Any

from mlrank.imported import Imported
from mlrank.solvers.base import Capabilities, FitInfo, LinearModel, Model, Solver, TrainingSet

__all__ = ["PROJECTIONS", "SOLVERS", "Capabilities", "FitInfo", "LinearModel", "Model", "Solver", "TrainingSet"]

SOLVERS: Imported[type[Any]] = Imported(
    {
        "binary_svm": "mlrank.solvers.binary_svm:BinarySVM",
        "rank_svm": "mlrank.solvers.rank_svm:RankSVM",
        "rank_hlapsvm": "mlrank.solvers.rank_hlapsvm:RankHLapSVM",
        "hypergraph_spectral": "mlrank.solvers.hypergraph_spectral:HypergraphSpectral",
        "slrm": "mlrank.solvers.slrm:SLRM",
        "plst": "mlrank.solvers.plst:PLST",
        "cplst": "mlrank.solvers.cplst:CPLST",
        "faie": "mlrank.solvers.faie:FaIE",
        "ml_loc": "mlrank.solvers.ml_loc:MLLOC",
        "matrix_completion": "mlrank.solvers.matrix_completion:MatrixCompletion",
        "miml": "mlrank.solvers.miml:SparseBayesianCS",
        "mlr": "mlrank.solvers.mlr:MultiLabelRanking",
        "svm_perf": "mlrank.solvers.svm_perf:SVMPerfROC",
        "bknn": "mlrank.solvers.bknn:BalancedKNN",
        "knn": "mlrank.solvers.knn:KNN",
        "smse": "mlrank.solvers.smse:SMSE",
        "mcgf": "mlrank.solvers.mcgf:MCGF",
        "shared_subspace": "mlrank.solvers.shared_subspace:SharedSubspace",
    }
)

# What rows may be sent through before a solver: frozen settings, ``fit(train) -> Projection``.
PROJECTIONS: Imported[type[Any]] = Imported({"blda": "mlrank.solvers.blda:BLDA"})
