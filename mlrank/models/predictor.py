"""What turns features into scores and label sets: scaling, projection, model and cut, together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, as_features
from mlrank.errors import UserError
from mlrank.labels import TopScores
from mlrank.models.parts import PARTS, pack, restore
from mlrank.solvers import FitInfo
from mlrank.solvers.models import TransductiveModel, asked_and_seen, best_in_blocks, top_scores
from mlrank.thresholds.cuts import CountedSets, counted_sets, looks_at_truth

__all__ = ["Fit", "Predictor", "probe_rows"]

# A restored model must give the scores of this many rows again, but for rounding; of fewer where there are more scores.
PROBE_ROWS, PROBE_SCORES = 20, 1 << 20
PROBE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Predictor:
    """The parts of a fit; each may be restored from a file.

    Parameters
    ----------
    scaling : fitted scaling
    projection : with ``.transform(X)``, or None
    model : Model
    cut : Cut
    sparse : bool
        Of which kind the training rows were. Rows of the other kind are turned into it.
    calibration : fitted calibration, or None
        What turns the model's scores into probabilities, which are the predictor's scores then.
    """

    scaling: Any
    projection: Any
    model: Any
    cut: Any
    sparse: bool
    calibration: Any = None

    @property
    def gives_probabilities(self) -> bool:
        """Whether scores are probabilities: calibrated ones, or shares of neighbors."""
        return self.calibration is not None or bool(getattr(self.model, "PROBABILITIES", False))

    @property
    def info(self) -> FitInfo:
        """How the fit went."""
        found: FitInfo = self.model.info
        return found

    @property
    def transductive(self) -> bool:
        """Whether it can score only rows that were there when it was fitted."""
        return isinstance(self.model, TransductiveModel)

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels), larger = more relevant."""
        return self._scored(X)[0]

    @property
    def finds_best(self) -> bool:
        """Whether the best scores of a row are found without all others."""
        return self.calibration is None and hasattr(self.model, "top_scores")

    def top_scores(self, X: Features, k: int, n_labels: int) -> TopScores:
        """Return the `k` best scored labels of each row; all scores of a block of rows are made where they must be."""
        X = as_features(X)
        if not self.finds_best:
            return best_in_blocks(self.decision_function, X, k, n_labels)
        return top_scores(self.model, self._asked_and_seen(X)[0], k, n_labels)

    def predict(
        self, X: Features, Y: BoolArray | None = None, known: BoolArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Return scores and label sets, both (n_samples, n_labels); see `counted`."""
        scores, counted = self.counted(X, Y, known)
        return scores, counted.sets

    def counted(
        self, X: Features, Y: BoolArray | None = None, known: BoolArray | None = None
    ) -> tuple[FloatArray, CountedSets]:
        """Return scores (n_samples, n_labels) and label sets, with how many of them bounds changed.

        Parameters
        ----------
        X : (n_samples, n_features) ndarray or csr_array
        Y, known : true labels and which of them count, which only a threshold that looks at them needs

        Raises
        ------
        UserError
            If such a threshold is not given them.
        """
        if Y is None and looks_at_truth(self.cut):
            raise UserError(
                "the threshold of this model looks at the true number of labels, so it has no label sets for rows of "
                "unknown labels; ask for scores or for the best labels instead"
            )
        scores, seen = self._scored(X)
        return scores, counted_sets(self.cut, scores, seen, Y, known)

    def _scored(self, X: Features) -> tuple[FloatArray, Features]:
        asked, seen = self._asked_and_seen(X)
        scores = self.model.decision_function(asked)
        return scores if self.calibration is None else self.calibration(scores), seen

    def _asked_and_seen(self, X: Features) -> tuple[Features, Features]:
        return asked_and_seen(self.scaling(self._as_trained(as_features(X))), self.projection, self.model)

    def _as_trained(self, X: Features) -> Features:
        if issparse(X) == self.sparse:
            return X
        return csr_array(X) if self.sparse else X.toarray()


@dataclass(frozen=True)
class Fit:
    """A predictor as JSON values and arrays, small enough to be sent between processes.

    Parameters
    ----------
    parts : dict, by the names of PARTS
    arrays : dict of ndarray
    sparse : bool
    """

    parts: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    sparse: bool

    @classmethod
    def of(cls, predictor: Predictor, probe: Features) -> "Fit":
        """Take a predictor apart.

        Parameters
        ----------
        predictor : Predictor
        probe : some rows as they come, that it can score; see `probe_rows`

        Raises
        ------
        ValueError
            If a part of it cannot be stored, or does not come back as it was.
        """
        parts: dict[str, Any] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        for role in PARTS:
            part = getattr(predictor, role)
            if part is not None:
                packed = pack(role, part)
                parts[role] = packed.meta
                arrays |= {f"{role}.{name}": value for name, value in packed.arrays.items()}
        fit = cls(parts, arrays, predictor.sparse)
        fit._check(predictor, probe)
        return fit

    def _check(self, predictor: Predictor, probe: Features) -> None:
        restored = self.restored()
        scores, again = predictor.decision_function(probe), restored.decision_function(probe)
        if scores.shape == again.shape:
            apart, largest = float(np.abs(scores - again).max()), float(np.abs(scores).max())
            if apart <= PROBE_TOLERANCE * (1 + largest):
                return
        other, own = type(restored.model).__name__, type(predictor.model).__name__
        if other != own or scores.shape != again.shape:
            raise ValueError(
                f"a model of other scores came back: its kind is that of the class {other}, it is of the class {own}"
            )
        if not np.isfinite(apart):
            raise ValueError("its scores are not finite numbers: features are too large; `scale: standard`")
        raise ValueError(
            f"its scores come from sums that cancel: computed anew, scores of up to {largest:.2g} differ by "
            f"{apart:.2g}. Features are on scales that are too far apart, or too far from zero; `scale: standard`"
        )

    def restored(self) -> Predictor:
        """Put the predictor together again.

        Raises
        ------
        ValueError, KeyError, TypeError
            If the parts and arrays are not what `of` made.
        """
        return restored(self.parts, self.arrays, self.sparse)


def probe_rows(n_labels: int) -> int:
    """Return how many rows show whether a restored model is the same.

    >>> probe_rows(100), probe_rows(100_000), probe_rows(10_000_000)
    (20, 10, 1)
    """
    return max(1, min(PROBE_ROWS, PROBE_SCORES // n_labels))


def restored(parts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], sparse: bool) -> Predictor:
    """Put a predictor together; see `Fit.restored`."""
    used: set[str] = set()
    found = {role: restore(role, parts[role], arrays, used) if role in parts else None for role in PARTS}
    if parts.keys() - PARTS.keys() or any(found[role] is None for role in ("scaling", "model", "cut")):
        raise ValueError("a model has a scaling, a model, a cut, and perhaps a projection and a calibration")
    if unknown := arrays.keys() - used:
        raise ValueError(f"the array {min(unknown)} belongs to no part")
    return Predictor(**found, sparse=sparse)
