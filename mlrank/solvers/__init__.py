"""Solvers by key. Adding one: a file here, and its line below."""

from typing import Any

from mlrank.solvers.base import FitInfo, LinearModel, Model, Solver, TrainingSet
from mlrank.solvers.binary_svm import BinarySVM
from mlrank.solvers.bknn import BalancedKNN
from mlrank.solvers.blda import BLDA
from mlrank.solvers.cplst import CPLST
from mlrank.solvers.faie import FaIE
from mlrank.solvers.hypergraph_spectral import HypergraphSpectral
from mlrank.solvers.knn import KNN
from mlrank.solvers.matrix_completion import MatrixCompletion
from mlrank.solvers.mcgf import MCGF
from mlrank.solvers.miml import SparseBayesianCS
from mlrank.solvers.ml_loc import MLLOC
from mlrank.solvers.mlr import MultiLabelRanking
from mlrank.solvers.plst import PLST
from mlrank.solvers.rank_hlapsvm import RankHLapSVM
from mlrank.solvers.rank_svm import RankSVM
from mlrank.solvers.shared_subspace import SharedSubspace
from mlrank.solvers.slrm import SLRM
from mlrank.solvers.smse import SMSE
from mlrank.solvers.svm_perf import SVMPerfROC

__all__ = ["PROJECTIONS", "SOLVERS", "FitInfo", "LinearModel", "Model", "Solver", "TrainingSet"]

SOLVERS: dict[str, type[Any]] = {
    "binary_svm": BinarySVM,
    "rank_svm": RankSVM,
    "rank_hlapsvm": RankHLapSVM,
    "hypergraph_spectral": HypergraphSpectral,
    "slrm": SLRM,
    "plst": PLST,
    "cplst": CPLST,
    "faie": FaIE,
    "ml_loc": MLLOC,
    "matrix_completion": MatrixCompletion,
    "miml": SparseBayesianCS,
    "mlr": MultiLabelRanking,
    "svm_perf": SVMPerfROC,
    "bknn": BalancedKNN,
    "knn": KNN,
    "smse": SMSE,
    "mcgf": MCGF,
    "shared_subspace": SharedSubspace,
}

# What rows may be sent through before a solver: frozen settings, ``fit(train) -> Projection``.
PROJECTIONS: dict[str, type[Any]] = {"blda": BLDA}
