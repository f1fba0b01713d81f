"""What certifies the fits of each solver, or why they cannot be certified."""

from collections.abc import Mapping

from mlrank.certify.closed import certify_compressed, certify_faie, certify_label_space, certify_subspace
from mlrank.certify.graphs import certify_mcgf, certify_smse
from mlrank.certify.lowrank import certify_slrm
from mlrank.certify.margins import certify_binary, certify_hlapsvm, certify_mlr, certify_perf, certify_rank
from mlrank.certify.proof import Certifier
from mlrank.certify.regressions import certify_logistic
from mlrank.certify.trees import certify_tree

__all__ = ["BLOCKWISE", "CERTIFIERS", "REASONS"]

CERTIFIERS: Mapping[str, Certifier] = {
    "binary_svm": certify_binary,
    "logistic": certify_logistic,
    "rank_svm": certify_rank,
    "rank_hlapsvm": certify_hlapsvm,
    "mlr": certify_mlr,
    "svm_perf": certify_perf,
    "slrm": certify_slrm,
    "plst": certify_label_space,
    "cplst": certify_label_space,
    "faie": certify_faie,
    "shared_subspace": certify_subspace,
    "bayes_cs": certify_compressed,
    "smse": certify_smse,
    "mcgf": certify_mcgf,
    "label_tree": certify_tree,
}
# Those that need products with a kernel matrix alone, and not the matrix.
BLOCKWISE = frozenset({"binary_svm", "logistic", "rank_svm", "rank_hlapsvm", "mlr", "svm_perf"})
# The other solvers.
REASONS: Mapping[str, str] = {
    "knn": "neighbors are exact: there is nothing to certify",
    "bknn": "neighbors are exact: there is nothing to certify",
    "ml_knn": "probabilities are counted: there is nothing to certify",
    "iblr_ml": "scikit-learn fits its regressions and gives no certificate",
    **dict.fromkeys(
        ("label_powerset", "rakel", "classifier_chains", "calibrated_ranking"),
        "the estimators inside give no certificate",
    ),
    "ml_loc": "its problem is not convex, and models hold no codes of the training rows",
    "matrix_completion": "models hold the completed labels and not the completed features",
    "hypergraph_spectral": "models hold directions and their classifier as one product",
}
