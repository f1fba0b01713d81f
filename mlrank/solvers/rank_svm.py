"""Rank-SVM by dual coordinate descent, or by Frank and Wolfe's method.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 9; Elisseeff & Weston,
NIPS 2001), with relevant labels y_i and irrelevant labels z_i of row i::

    min_W  P(W) = 1/2 sum_p |w_p|^2 + C sum_i 1/(|y_i||z_i|) sum_{p in y_i, q in z_i} max(0, 1 - (w_p - w_q)'x_i)

The dual has one variable for each pair, 0 <= alpha_ipq <= C/(|y_i||z_i|), and with beta of eq. 15 and W = beta'X::

    max_alpha  D(alpha) = sum alpha - 1/2 sum_p |w_p|^2

`optimality` is the relative duality gap (P - D) / P, computed from scratch in double precision; the solver stops on it.
One iteration is one pass over the instances, re-permuted every time: in the printed order 1..n Algorithm 1 needs
some eighty times as many passes. Between rounds of passes one matrix product gives the gap and, from the same scores,
the labels that may still move; only those are swept (shrinking, with everything rechecked before the solver may stop).
Rows are swept with a flattened spectrum, which takes 2 to 60 times fewer passes on real data (_rank_svm_rows.py, for
sparse rows _rank_svm_sparse.py).

Rows with no label or with all labels hold no pair and do not enter. The bias is the last weight and penalised like the
others, as in eq. 8 (`bias="augmented"`), or absent (`bias="none"`), or not penalised (`bias="free"`), as Elisseeff and
Weston have it: the dual then has the constraints sum_i beta_ip = 0, and its certificate is of dual variables that meet
them (_rank_svm_repair.py). A kernel makes w'x an inner product in its space; the rows then are the scaled eigenvectors
of the kernel matrix (_rank_svm_gram.py).

Cost of a pass: O(n (active labels) m + pairs), with m the nonzeros of a row if sparse; of a round: two products of
2 n m k flops; once for all C: rotating dense rows, O(n m min(n, m)), or n^3 for kernels. Memory: 8 bytes for each pair,
beside two copies of dense rows, scores and weights.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mlrank.solvers._kernel_model import KernelModel
from mlrank.solvers._rank_svm_descent import Solution, descend
from mlrank.solvers._rank_svm_settings import Prepared, check_settings, cost, fitted, prepare_plain
from mlrank.solvers._rank_svm_wolfe import frank_wolfe
from mlrank.solvers.base import LinearModel, TrainingSet

__all__ = ["ALGORITHMS", "RankSVM", "solve"]

ALGORITHMS = {"dcd": descend, "frank_wolfe": frank_wolfe}


def solve(prepared: Prepared, solver: Any) -> Solution:
    """Solve eq. 9 for prepared rows by the solver's algorithm."""
    return ALGORITHMS[solver.algorithm](prepared.rows, prepared.pairs, solver)


@dataclass(frozen=True)
class RankSVM:
    """Rank-SVM (eq. 9).

    Parameters
    ----------
    C : float
        Weight of the loss, above 0. It multiplies a sum over rows, so it is not rescaled with their number.
    kernel : str
        A key of KERNELS, or "precomputed": the rows of X then are those of the kernel matrix.
    gamma, degree, coef0 : float, int, float
        Of the kernel.
    bias : {"augmented", "free", "none"}
        A penalised bias, as in eq. 8 (K + 1 for kernels), one that is not penalised, or none.
    algorithm : {"dcd", "frank_wolfe"}
        Dual coordinate descent, or the method of Elisseeff and Weston, to be compared with.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most passes over the rows, or steps of Frank and Wolfe's method.
    seed : int
        Of the order of visits.
    order : {"permuted", "cyclic"}
        For the paper's sake (ERRATA 0.10): "cyclic" is Algorithm 1 as printed, which visits all pairs of the rows
        1..n in this order.
    stop : {"gap", "step"}, eps : float
        For the paper's sake (ERRATA 0.9): "step" stops as soon as a pass changes alpha by less than `eps`, as printed;
        the certificate says how far that is from the optimum.
    C_scale : {"sum", "mean"}
        For the paper's sake (ERRATA 0.22): "mean" divides C by the number of rows.
    """

    C: float = 1.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    bias: str = "augmented"
    algorithm: str = "dcd"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0
    order: str = "permuted"
    stop: str = "gap"
    eps: float = 1e-3
    C_scale: str = "sum"

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "bias")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self)

    def prepare(self, train: TrainingSet) -> Prepared:
        """List the label pairs and rotate the rows, the same for every C."""
        return prepare_plain(train, self)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        return cost(self, n_samples, n_features, n_labels)

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel | KernelModel:
        """Solve eq. 9 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or the problem does not fit into memory.
        """
        ready = prepared or self.prepare(train)
        return fitted(solve(ready, self), ready, self, train)
