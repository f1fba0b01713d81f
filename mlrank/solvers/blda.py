"""Class-balanced linear discriminant analysis (BLDA), a projection of rows for multi-label data.

Wang, Ding and Huang, "Multi-label classification: inconsistency and class balanced k-nearest neighbor", AAAI 2010.
Scatters are summed label by label, so a row counts once for each label that it carries (eq. 1 to 3), with n_k rows of
mean m_k carrying label k and the mean m of all these copies::

    S_b = sum_k n_k (m_k - m)(m_k - m)'      S_w = sum_k sum_{i: Y_ik} (x_i - m_k)(x_i - m_k)'      S_t = S_b + S_w

    max_U  trace(U'S_b U),  U'D U = I,  D = S_w or S_t, or either with a ridge

It is ordinary discriminant analysis of rows repeated once for each label. Rows without labels and labels without rows
count for nothing. S_w^+ of a singular S_w throws away the directions in which classes do not scatter, often the best
ones; S_t^+ keeps them, and gives the same directions where S_w is regular on the range of S_t.

`objective` is the maximum. It is a closed form: with U and its eigenvalues, `optimality` is the larger of the entries
of U'DU - I and, for each direction u, |S_b u - eigenvalue D u| / |S_b u|, by products with the rows as they were given
and with features divided by their lengths. Where S_w is singular and S_t is not, no direction reaches a part of S_b u:
only what lies along U then counts. It has converged up to 1e-6.

A direction lies in the span of the rows less m, so with fewer labeled rows than features everything is computed in
coordinates of that span, and sparse rows are only ever multiplied. Cost: min(n, d)^2 max(n, d) + min(n, d)^3.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.sparse import diags_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, as_features
from mlrank.errors import UserError
from mlrank.linalg import CenteredRows, without_constants
from mlrank.solvers.base import CertificateKind, FitInfo, TrainingSet, check_choices, check_not_negative, check_positive
from mlrank.solvers.models import Projection
from mlrank.solvers.scales import scale_notes

__all__ = ["BLDA", "Projection"]

DENOMINATORS = ("auto", "within", "total")
SCALES = ("metric", "spread")
# Eigenvalues below this part of the largest count as zero.
RANK_TOLERANCE = 1e-10
# Class means that scatter less than this part of the rows, in squares, differ by rounding alone.
MEANS_TOLERANCE = 1e-24
# The certificate up to which a closed form counts as solved.
TOL = 1e-6
# Features whose lengths are so many times apart are brought to one length.
APART = 1e3


class Scatters(NamedTuple):
    """S_t and a factor B of S_b = B'B, in coordinates of the span that the columns of `basis` times the rows give.

    Parameters
    ----------
    total : (r, r) ndarray
    between : (n_labels, r) ndarray, row k is sqrt(n_k)(m_k - m)
    incidence : (n_rows, n_labels) ndarray, which takes the rows of a label together: B = incidence' rows
    lift : (n_rows, r) ndarray, or None where coordinates are features
        The columns of X_weighted' @ lift are the axes of the coordinates.
    rows : rows less m, each times the square root of its number of labels, by products
    """

    total: FloatArray
    between: FloatArray
    incidence: FloatArray
    lift: FloatArray | None
    rows: "WeightedRows"

    def features(self, U: FloatArray) -> FloatArray:
        """Return the directions `U`, given in coordinates, as directions of features."""
        return U if self.lift is None else self.rows.transpose_times(self.lift @ U)

    def error(self, U: FloatArray, eigenvalues: FloatArray, metric: "Metric") -> float:
        """Return the backward error of directions (n_features, r), by products with the rows."""
        outputs = self.rows.times(U)
        means = self.incidence.T @ outputs
        between, total = self.rows.transpose_times(self.incidence @ means), self.rows.transpose_times(outputs)
        D = total - metric.within * between + metric.ridge * U
        apart = float(np.abs(U.T @ D - np.eye(U.shape[1])).max())
        rest = between - D * eigenvalues
        if metric.singular:
            rest, between = U.T @ rest, U.T @ between
        else:  # features count alike, whatever their scale
            lengths = self.rows.centered.lengths[:, None]
            rest, between = (
                np.divide(part, lengths, out=np.zeros_like(part), where=lengths > 0) for part in (rest, between)
            )
        size = np.linalg.norm(between, axis=0)
        return max(apart, float((np.linalg.norm(rest, axis=0) / np.where(size > 0, size, 1.0)).max()))


class Metric(NamedTuple):
    """D = S_t - within S_b + ridge I, and whether it is singular where S_t is not."""

    within: float
    ridge: float
    singular: bool


class WeightedRows:
    """diag(root) (X - 1 mean'), by products only where X is sparse."""

    def __init__(self, X: Features, root: FloatArray, mean: FloatArray) -> None:
        self.centered = CenteredRows(X, mean)
        self.root = root

    def transpose_times(self, V: FloatArray) -> FloatArray:
        """Return the product of the transposed rows with `V`."""
        return self.centered.transpose_times(self.root[:, None] * V)

    def times(self, V: FloatArray) -> FloatArray:
        """Return the product of the rows with `V`."""
        return self.root[:, None] * self.centered.times(V)

    def gram(self, dual: bool) -> FloatArray:
        """Return the matrix of inner products of rows, or of columns."""
        if dual:
            return self.root[:, None] * self.centered.gram(dual=True) * self.root
        rows = self.centered.rows
        if not issparse(rows):
            weighted = self.root[:, None] * rows
            return np.asarray(weighted.T @ weighted)
        scaled = diags_array(self.root) @ rows
        offset = self.centered.offset
        # The mean is that of the weighted rows, so what it takes off is one outer product.
        gram: FloatArray = (scaled.T @ scaled).toarray() - float(self.root @ self.root) * np.outer(offset, offset)
        return gram


@dataclass(frozen=True)
class BLDA:
    """Directions that part the classes of multi-label data (eq. 1 to 3).

    Use it before neighbors or any other solver, where features are many and few directions part the labels.

    Parameters
    ----------
    n_components : int or None
        Most directions; None for n_labels - 1 as in the paper. There are never more than the rank of S_b, and the
        notes of the projection say so where there are fewer than asked for.
    denominator : {"auto", "within", "total"}
        D of the module's docstring: S_w, S_t, or for "auto" S_w unless it is singular where S_t is not, and then S_t.
    ridge : float
        Times the mean of D's diagonal added to that diagonal; 0 leaves directions without any scatter out.
    scale : {"metric", "spread"}
        U'DU = I, or that times the number of labels carried, so that the projected columns have a variance of one
        within the classes (or in all) whatever the number of rows.

    Notes
    -----
    Projected rows are U'(x - m): those of the paper but for one constant, which distances do not see.

    References
    ----------
    Wang, Ding and Huang, "Multi-label classification: inconsistency and class balanced k-nearest neighbor", AAAI 2010.
    """

    n_components: int | None = None
    denominator: str = "auto"
    ridge: float = 0.0
    scale: str = "metric"

    CERTIFICATE: ClassVar[CertificateKind] = "backward error"

    def __post_init__(self) -> None:
        if self.n_components is not None:
            check_positive(self, "n_components")
            if int(self.n_components) != self.n_components:
                raise ValueError(f"n_components must be a whole number, found {self.n_components!r}")
        check_not_negative(self, "ridge")
        check_choices(self, {"denominator": DENOMINATORS, "scale": SCALES})

    def fit(self, train: TrainingSet) -> Projection:
        """Find the directions of `train`; what comes back has ``.transform(X)``.

        Raises
        ------
        UserError
            If all classes have the same mean, such as with one label or none: there is no direction then.
        """
        carried = train.dense_Y.sum(axis=1)
        labeled = np.flatnonzero(carried)
        if not labeled.size:
            raise UserError(f"blda needs rows with labels, found none among {train.n_samples}")
        X, weight = without_constants(train.X[labeled]), carried[labeled].astype(np.float64)
        mean = np.asarray(weight @ X).ravel() / weight.sum()
        unit = self._unit(X, mean)
        if unit is not None:
            X, mean = as_features(X @ diags_array(1.0 / unit)) if issparse(X) else X / unit, mean / unit
        scatters = _scatters(X, train.dense_Y[labeled], weight, mean)
        eigenvalues, U, metric = self._directions(scatters, train.n_features)
        r = min(self.n_components or train.n_labels - 1, train.n_labels - 1, len(eigenvalues))
        if r == 0:
            raise UserError(f"blda needs labels whose rows differ in the mean, found none among {train.n_labels}")
        coef = scatters.features(U[:, :r])
        error = scatters.error(coef, eigenvalues[:r], metric)
        if unit is not None:
            coef, mean = coef / unit[:, None], mean * unit
        coef = _with_signs(coef)
        if self.scale == "spread":
            coef *= np.sqrt(weight.sum())
        asked = self.n_components or train.n_labels - 1
        fewer = f"{r} directions instead of {asked}: the class means span no more"
        notes = (fewer,) * (r < asked) + scale_notes(train, error <= TOL)
        info = FitInfo(1, float(eigenvalues[:r].sum()), error, error <= TOL, notes)
        return Projection(coef, -(mean @ coef), eigenvalues[:r], info)

    def _unit(self, X: Features, mean: FloatArray) -> FloatArray | None:
        """Return lengths of features that are far apart, on which directions do not depend without a ridge."""
        if self.ridge > 0 or X.shape[0] < X.shape[1]:
            return None
        lengths = CenteredRows(X, mean).lengths
        used = lengths[lengths > 0]
        if not used.size or used.max() <= APART * used.min():
            return None
        return np.where(lengths > 0, lengths, 1.0)

    def _directions(self, scatters: Scatters, n_features: int) -> tuple[FloatArray, FloatArray, Metric]:
        """Return eigenvalues, largest first, and U in coordinates, with all directions of S_b, and what D is."""
        total, between = scatters.total, scatters.between
        rounding = MEANS_TOLERANCE * float(np.trace(total))
        if np.vdot(between, between) <= rounding:
            return np.zeros(0), np.zeros((len(total), 0)), Metric(0.0, 0.0, True)
        within = total - between.T @ between
        # What this difference rounds to where nothing is left.
        noise = len(total) * np.finfo(np.float64).eps * float(np.trace(total))
        D = total if self.denominator == "total" else within
        part = float(self.denominator != "total")
        ridge = self.ridge * float(np.trace(D)) / n_features if self.ridge > 0 else 0.0
        if ridge > 0:
            D = D + ridge * np.eye(len(D))
        whitening, singular = _whitening(D, noise), False
        if self.denominator != "total" and whitening.shape[1] < len(total):
            wider = _whitening(total, noise)
            singular = wider.shape[1] > whitening.shape[1]
            if singular and self.denominator == "auto":
                whitening, part, ridge, singular = wider, 0.0, 0.0, False
        metric = Metric(part, ridge, singular)
        return (*_parted(whitening, between, rounding), metric)


def _scatters(X: Features, Y: BoolArray, weight: FloatArray, mean: FloatArray) -> Scatters:
    rows = WeightedRows(X, np.sqrt(weight), mean)
    counts = Y.sum(axis=0)
    # Column k of `incidence` takes the rows of label k together: sqrt(n_k)(m_k - m) is a product with weighted rows.
    scale = np.divide(1.0, np.sqrt(counts), out=np.zeros(len(counts)), where=counts > 0)
    incidence = Y * scale / np.sqrt(weight)[:, None]
    if X.shape[0] >= X.shape[1]:
        return Scatters(rows.gram(dual=False), rows.transpose_times(incidence).T, incidence, None, rows)
    values, vectors = eigh(rows.gram(dual=True), driver="evd", overwrite_a=True, check_finite=False)
    keep = values > max(RANK_TOLERANCE * values[-1], 0.0)
    values, vectors = values[keep], vectors[:, keep]
    root = np.sqrt(values)
    return Scatters(np.diag(values), (incidence.T @ vectors) * root, incidence, vectors / root, rows)


def _whitening(D: FloatArray, noise: float) -> FloatArray:
    """Return T of full column rank with T'DT = I and the range of D, but for eigenvalues up to `noise`."""
    if not D.size:
        return D
    values, vectors = eigh(D, driver="evd", check_finite=False)
    keep = values > max(RANK_TOLERANCE * values[-1], noise)
    whitening: FloatArray = vectors[:, keep] / np.sqrt(values[keep])
    return whitening


def _parted(whitening: FloatArray, between: FloatArray, rounding: float) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of S_b in the whitened space that are above zero, largest first, and their directions."""
    longest = float(np.einsum("ij,ij->j", whitening, whitening).max(initial=0.0))
    _, values, turn = svd(between @ whitening, full_matrices=False, check_finite=False)
    eigenvalues = values**2
    r = int((eigenvalues > max(RANK_TOLERANCE * eigenvalues[:1].sum(), rounding * longest)).sum())
    return eigenvalues[:r], whitening @ turn[:r].T


def _with_signs(coef: FloatArray) -> FloatArray:
    """Return `coef` with the entry of largest size of each column positive."""
    largest = np.take_along_axis(coef, np.abs(coef).argmax(axis=0)[None], axis=0)
    return coef * np.where(largest < 0, -1.0, 1.0)
