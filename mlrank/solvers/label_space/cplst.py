"""Conditional principal label space transformation (CPLST): label directions that features can predict.

Problem (Chen & Lin, "Feature-aware label space dimension reduction for multi-label classification", NIPS 2012; eq. 20
of the SLRM paper), with labels Y of +1 and -1, centered labels Yc = Y - 1m', n_components orthonormal columns V and the
hat matrix H = Xc (Xc'Xc + lam I)^-1 Xc' of the rows::

    max_V  trace(V'Yc'H Yc V)            encode Z = Yc V            decode scores = Zhat V' + m

Zhat is the ridge regression of Z on the rows, with a free bias and the same `lam`. V minimizes
|Z - HZ|^2 + |Yc - Z V'|^2, the sum of what prediction and what encoding lose, where H is a projection (lam = 0). With
as many components as Yc'H Yc has rank, CPLST is ridge regression on all labels. Where the rows are linearly
independent and lam goes to 0, H is the identity on centered columns and CPLST is PLST.

`hat_bias` says of which rows H is made: centered ones; rows as they are; or rows with a column of ones, whose weight is
penalized as others are. The paper's derivation assumes one of the first two on data with mean zero, programs differ.

`objective` is the maximum. It is a closed form: `optimality` is the larger of the certificate of the regression (see
`mlrank.solvers.ridge`) and a hundred times the residual of the eigenvectors V, relative to the largest eigenvalue, with
H applied by products with the rows. No matrix of n x n is formed where there are more
rows than features: with the decomposition U S V' of the rows, Yc'H Yc = (U'Yc)' S^2 (S^2 + lam)^-1 (U'Yc).
"""

from dataclasses import dataclass
from typing import ClassVar

from mlrank.solvers.base import CertificateKind, TrainingSet
from mlrank.solvers.label_space.space import LabelSpace, LabelSpaceSettings, label_space, project, signs, solved
from mlrank.solvers.models import KernelModel, LinearModel

__all__ = [
    "CPLST",
]


@dataclass(frozen=True)
class CPLST:
    """Conditional principal label space transformation with ridge regression.

    Use it for many labels, in place of PLST where features predict some directions of the labels better than others.

    Parameters
    ----------
    n_components : int or float
        Directions of the labels that are kept; a number below 1 is a part of the labels, rounded half up, at least 1.
    lam : float or "auto"
        Ridge weight in the regression and in H, 0 or above; "auto" is plain regression made safe:
        1e-6 trace(Xc'Xc) / n_features.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial; with a kernel H is K(K + lam I)^-1.
    hat_bias : {"center", "none", "ones"}
        The rows of which H is made.

    References
    ----------
    Chen and Lin, "Feature-aware label space dimension reduction for multi-label classification", NIPS 2012.
    """

    n_components: int | float = 0.5
    lam: float | str = "auto"
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    hat_bias: str = "center"

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "hat_bias")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    CERTIFICATE: ClassVar[CertificateKind | None] = "backward error"
    LOADS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        LabelSpaceSettings.of(self)

    def prepare(self, train: TrainingSet) -> LabelSpace:
        """Decompose the rows, which n_components and lam share."""
        return label_space(train, LabelSpaceSettings.of(self), signs(train))

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        return LabelSpaceSettings.of(self).cost(n_samples, n_features, n_labels)

    def fit(self, train: TrainingSet, prepared: LabelSpace | None = None) -> LinearModel | KernelModel:
        """Find the directions of the labels and the regression onto them."""
        settings = LabelSpaceSettings.of(self)
        space = self.prepare(train) if prepared is None else prepared
        return solved(space, lambda one: project(train, settings, one, explained=True))
