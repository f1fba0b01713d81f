"""Feature-aware implicit label space encoding (FaIE): code vectors that both labels and features explain.

Problem (Lin, Ding, Hu & Wang, "Multi-label classification via feature-aware implicit label space encoding", ICML 2014;
eq. 21 of the SLRM paper), with coded labels Y, not centered, and the hat matrix H = Xc (Xc'Xc + lam I)^-1 Xc'::

    max_C  trace(C'(Y Y' + alpha H) C),  C'C = I            decode scores = Chat D,  D = C'Y

C, (n_samples, n_components), is the code itself, without an encoder, and Chat the ridge regression of C on the rows,
with a free bias and the same `lam`. Labels are coded 0 and 1, and scores are given back as 2 score - 1, so that 0
stands for one half; with missing labels they are coded +1, -1 and 0 where missing, and scores are left as they are.

The n x n matrix need not be formed: with the decomposition U S V' of the rows, C holds the left singular vectors of
B = [Y, sqrt(alpha) U S (S^2 + lam)^-1/2], whose k + r columns have a small Gram matrix in which the code, its decoder D
and its regression can be computed; C itself certifies them. Where n_samples is less than k + r the n x n matrix is the
smaller one.

`objective` is the maximum. It is a closed form: `optimality` is the larger of the certificate of the regression (see
`mlrank.solvers.ridge`) and a hundred times the residual of the eigenvectors C, relative to the largest eigenvalue, with
H applied by products with the rows.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.kernels import Kernel
from mlrank.linalg.eigen import largest
from mlrank.solvers.base import (
    CertificateKind,
    TrainingSet,
    check_choices,
    check_not_negative,
    n_components_of,
    unknown_label_notes,
)
from mlrank.solvers.label_space.space import (
    LabelSpace,
    LabelSpaceSettings,
    eigen_error,
    fit_info,
    label_space,
    signs,
    solved,
    truncated,
)
from mlrank.solvers.models import KernelModel, LinearModel

__all__ = [
    "FaIE",
]

CODINGS = ("auto", "zero_one", "signs")
# Of the largest eigenvalue: directions below it, divided by their length, would be rounding.
NOISE = 1e-12


class Code(NamedTuple):
    """What a model needs of the code C: C itself, eigenvalues, D = C'Y, U'C and the column means of C."""

    C: FloatArray
    values: FloatArray
    decoder: FloatArray
    parts: FloatArray
    mean: FloatArray


@dataclass(frozen=True)
class FaIE:
    """Feature-aware implicit label space encoding with ridge regression.

    Use it for many labels, beside PLST and CPLST: the code of a row needs no encoder of its labels.

    Parameters
    ----------
    n_components : int or float
        Columns of the code; a number below 1 is a part of the labels, rounded half up, at least 1.
    lam : float or "auto"
        Ridge weight in the regression and in H, 0 or above; "auto" is plain regression made safe:
        1e-6 trace(Xc'Xc) / n_features.
    alpha : float
        Weight of what features can predict, 0 or above; with 0 the code is that of the labels alone.
    coding : {"auto", "zero_one", "signs"}
        "auto" is "zero_one" where all labels are known, and "signs" with 0 for the missing ones otherwise.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial; with a kernel H is K(K + lam I)^-1.
    hat_bias : {"center", "none", "ones"}
        H is made of centered rows, rows as they are, or rows with a column of ones.

    References
    ----------
    Lin, Ding, Hu and Wang, "Multi-label classification via feature-aware implicit label space encoding", ICML 2014.
    """

    n_components: int | float = 0.5
    lam: float | str = "auto"
    alpha: float = 0.1
    coding: str = "auto"
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    hat_bias: str = "center"

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "hat_bias", "coding")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "backward error"
    LOADS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        LabelSpaceSettings.of(self)
        check_not_negative(self, "alpha")
        check_choices(self, {"coding": CODINGS})

    def prepare(self, train: TrainingSet) -> LabelSpace:
        """Decompose the rows, which n_components, lam and alpha share.

        Raises
        ------
        ValueError
            If labels are missing and the coding has no value for them.
        """
        return label_space(train, LabelSpaceSettings.of(self), self._coded(train))

    def natural_cut(self, train: TrainingSet) -> float:
        """Return the middle between the codes of absent and present labels."""
        return 0.0 if self._has_signs(train) else 0.5

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        operations, memory = LabelSpaceSettings.of(self).cost(n_samples, n_features, n_labels)
        rank = n_samples if self.kernel != "linear" else min(n_samples, n_features)
        size = float(min(n_samples, n_labels + rank))
        return operations + 10.0 * size**3, memory + 24.0 * size**2

    def fit(self, train: TrainingSet, prepared: LabelSpace | None = None) -> LinearModel | KernelModel:
        """Find the code of the rows and the regression onto it."""
        space = self.prepare(train) if prepared is None else prepared
        return solved(space, lambda one: self._fitted(train, one))

    def _fitted(self, train: TrainingSet, space: LabelSpace) -> LinearModel | KernelModel:
        lam, requested = space.rows.penalty(self.lam), n_components_of(self.n_components, train.n_labels)
        size = sum(space.hat.parts.shape)
        find = _code_of_rows if train.n_samples < size else _code_of_columns
        code = find(space, self.alpha, lam, requested)
        ridge = space.rows.certified(space.rows.coef(code.parts, lam), code.C, lam)
        explained, error = space.hat.times(code.C, lam, ridge)
        product = space.Y @ code.decoder.T + self.alpha * explained
        errors = [ridge.error, error, eigen_error(product, code.C, code.values)]
        coef, level = code.decoder.T @ ridge.coef, code.mean @ code.decoder
        if not self._has_signs(train):
            coef, level = 2.0 * coef, 2.0 * level - 1.0
        notes = truncated(requested, len(code.values), "labels and features")
        notes += unknown_label_notes(train, "their targets are 0", "their scores are 0")
        info = fit_info(train, space.rows, float(code.values.sum()), errors, notes)
        return space.rows.model(train.X, coef, level, Kernel.of(self), info)

    def _has_signs(self, train: TrainingSet) -> bool:
        missing = train.known is not None and not train.known.all()
        if missing and self.coding == "zero_one":
            raise ValueError("coding 'zero_one' has no value for missing labels; use 'signs' or 'auto'")
        return missing or self.coding == "signs"

    def _coded(self, train: TrainingSet) -> FloatArray:
        if not self._has_signs(train):
            return train.dense_Y.astype(np.float64)
        return signs(train) if train.known is None else np.where(train.known, signs(train), 0.0)


def _code_of_columns(space: LabelSpace, alpha: float, lam: float, count: int) -> Code:
    """Find the code by B'B, for more rows than columns of B; C = B W / sigma."""
    root = np.sqrt(alpha * space.hat.space.shrunk(lam))
    k = len(space.gram)
    corner = root[:, None] * space.hat.parts
    values, W = largest(np.block([[space.gram, corner.T], [corner, np.diag(root**2)]]), count, NOISE)
    W = W / np.sqrt(values)
    labels, rows = W[:k], root[:, None] * W[k:]
    mean = space.mean @ labels + (space.hat.ones @ rows) / len(space.Y)
    decoder = space.gram @ labels + space.hat.parts.T @ rows
    C = space.Y @ labels + space.hat.space.left_times(rows)
    return Code(C, values, decoder.T, space.parts @ labels + space.hat.across(rows), mean)


def _code_of_rows(space: LabelSpace, alpha: float, lam: float, count: int) -> Code:
    """Find the code by the n x n matrix BB'."""
    U = space.hat.space.left()
    matrix = space.Y @ space.Y.T + (U * (alpha * space.hat.space.shrunk(lam))) @ U.T
    values, C = largest(matrix, count, NOISE)
    return Code(C, values, C.T @ space.Y, space.rows.parts(C), C.mean(axis=0))
