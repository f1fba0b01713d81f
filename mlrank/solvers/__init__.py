"""Solvers by key. Adding one: a file here, or a folder whose ``__init__`` names its classes, and a line below."""

from typing import Any

from mlrank.imported import Imported
from mlrank.solvers.base import Capabilities, FitInfo, Model, Solver, TrainingSet
from mlrank.solvers.models import LinearModel

__all__ = ["PROJECTIONS", "SOLVERS", "Capabilities", "FitInfo", "LinearModel", "Model", "Solver", "TrainingSet"]

SOLVERS: Imported[type[Any]] = Imported(
    {
        "binary_svm": "mlrank.solvers.binary_svm:BinarySVM",
        "logistic": "mlrank.solvers.logistic:Logistic",
        "rank_svm": "mlrank.solvers.rank_svm.rank_svm:RankSVM",
        "rank_hlapsvm": "mlrank.solvers.rank_svm.rank_hlapsvm:RankHLapSVM",
        "hypergraph_spectral": "mlrank.solvers.hypergraph.hypergraph_spectral:HypergraphSpectral",
        "slrm": "mlrank.solvers.slrm.slrm:SLRM",
        "plst": "mlrank.solvers.label_space.plst:PLST",
        "cplst": "mlrank.solvers.label_space.cplst:CPLST",
        "faie": "mlrank.solvers.label_space.faie:FaIE",
        "ml_loc": "mlrank.solvers.ml_loc.ml_loc:MLLOC",
        "matrix_completion": "mlrank.solvers.matrix_completion:MatrixCompletion",
        "bayes_cs": "mlrank.solvers.sparse_bayes.compressed_sensing:SparseBayesianCS",
        "mlr": "mlrank.solvers.mlr.mlr:MultiLabelRanking",
        "svm_perf": "mlrank.solvers.svm_perf.svm_perf:SVMPerfROC",
        "bknn": "mlrank.solvers.neighbors.bknn:BalancedKNN",
        "knn": "mlrank.solvers.neighbors.knn:KNN",
        "ml_knn": "mlrank.solvers.neighbors.ml_knn:MLKNN",
        "iblr_ml": "mlrank.solvers.neighbors.iblr:IBLR",
        "label_powerset": "mlrank.solvers.baselines.powerset:LabelPowerset",
        "rakel": "mlrank.solvers.baselines.powerset:RAkEL",
        "classifier_chains": "mlrank.solvers.baselines.chains:ClassifierChains",
        "calibrated_ranking": "mlrank.solvers.baselines.calibrated_ranking:CalibratedRanking",
        "smse": "mlrank.solvers.propagation.smse:SMSE",
        "mcgf": "mlrank.solvers.propagation.mcgf:MCGF",
        "label_tree": "mlrank.solvers.label_tree.label_tree:LabelTree",
        "shared_subspace": "mlrank.solvers.shared_subspace:SharedSubspace",
    }
)

# What rows may be sent through before a solver: frozen settings, ``fit(train) -> Projection``.
PROJECTIONS: Imported[type[Any]] = Imported({"blda": "mlrank.solvers.blda:BLDA"})
