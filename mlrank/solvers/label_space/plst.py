"""Principal label space transformation (PLST): ridge regression onto the main directions of the labels.

Problem (Tai & Lin, "Multilabel classification with principal label space transformation", Neural Computation 24, 2012),
with labels Y of +1 and -1, centered labels Yc = Y - 1m' and n_components orthonormal columns V::

    max_V  trace(V'Yc'Yc V)            encode Z = Yc V            decode scores = Zhat V' + m

Zhat is the ridge regression of Z on the rows, with a free bias and the penalty `lam`. The same V comes out with labels
of 0 and 1. Since encoding is linear, PLST is ridge regression on all labels whose weights are then projected onto V V':
with as many components as the labels have rank it is that regression itself.

`objective` is the maximum. It is a closed form: `optimality` is the certificate of the regression, at most 1e-6 where
it has converged (see `mlrank.solvers.ridge`). Cost: the smaller Gram matrix of the rows and its
eigen-decomposition, once for all settings but those of the kernel; then a k x k eigenproblem for k labels.

Sparse labels stay sparse without a kernel: V is found by products with them where labels are many, in the memory of
some 6 n_components k numbers, and its residual is part of the certificate; the weights stay two factors.
"""

from dataclasses import dataclass
from typing import ClassVar

from mlrank.labels import MOST_DENSE
from mlrank.solvers.base import CertificateKind, TrainingSet, n_components_of
from mlrank.solvers.label_space.space import LabelSpace, LabelSpaceSettings, label_space, project, signs, solved
from mlrank.solvers.label_space.sparse import SparseLabelSpace, project_sparse, sparse_label_space
from mlrank.solvers.models import KernelModel, LinearModel, LowRankModel
from mlrank.solvers.ridge import better_of

__all__ = [
    "PLST",
]


@dataclass(frozen=True)
class PLST:
    """Principal label space transformation with ridge regression.

    Use it for many labels: a regression onto few directions of the labels, in closed form.

    Parameters
    ----------
    n_components : int or float
        Directions of the labels that are kept; a number below 1 is a part of the labels, rounded half up, at least 1.
    lam : float or "auto"
        Ridge weight, 0 or above; "auto" is plain regression made safe: 1e-6 trace(Xc'Xc) / n_features.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial; with a kernel the regression is kernel ridge regression.

    References
    ----------
    Tai and Lin, "Multilabel classification with principal label space transformation", Neural Computation 24 (2012).
    """

    n_components: int | float = 0.5
    lam: float | str = "auto"
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    SPARSE_LABELS: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "backward error"
    LOADS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        LabelSpaceSettings.of(self)

    def prepare(self, train: TrainingSet) -> LabelSpace | SparseLabelSpace:
        """Decompose the rows, which n_components and lam share."""
        if train.has_sparse_labels and self.kernel == "linear":
            return sparse_label_space(train)
        return label_space(train, LabelSpaceSettings.of(self), signs(train))

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        if self.kernel != "linear" or float(n_samples) * n_labels <= MOST_DENSE:
            return LabelSpaceSettings.of(self).cost(n_samples, n_features, n_labels)
        # Labels are sparse then.
        size, cells = float(min(n_samples, n_features)), float(n_samples) * n_features
        directions = float(n_components_of(self.n_components, n_labels))
        products = 1000.0 * n_labels * directions
        factors = directions * (6.0 * n_labels + 2.0 * n_samples + n_features)
        return cells * (size + directions) + 10.0 * size**3 + products, 8.0 * (cells + 4.0 * size**2 + factors)

    def fit(
        self, train: TrainingSet, prepared: LabelSpace | SparseLabelSpace | None = None
    ) -> LinearModel | KernelModel | LowRankModel:
        """Find the directions of the labels and the regression onto them.

        Raises
        ------
        UserError
            If labels are sparse, and what a fit needs of them takes more memory than there is.
        """
        settings = LabelSpaceSettings.of(self)
        space = self.prepare(train) if prepared is None else prepared
        if isinstance(space, SparseLabelSpace):
            return better_of(lambda one: project_sparse(train, settings, one), space, lambda one: one.graded)
        return solved(space, lambda one: project(train, settings, one, explained=False))
