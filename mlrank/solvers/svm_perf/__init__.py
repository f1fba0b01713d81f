"""SVM-perf with the ROC-area loss."""

from mlrank.solvers.svm_perf.svm_perf import SVMPerfROC

__all__ = [
    "SVMPerfROC",
]
