"""The bridge to scikit-learn: any solver with any threshold as one estimator."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mlrank.arrays import BoolArray, FloatArray, as_features
from mlrank.calibration import CALIBRATIONS, fit_calibration
from mlrank.errors import unknown_name
from mlrank.search.crossfit import heldout_scores, own_scores
from mlrank.solvers import SOLVERS, Capabilities, TrainingSet
from mlrank.solvers.aliases import new_key
from mlrank.thresholds import THRESHOLDS, LabelBounds

__all__ = ["MultiLabelRanker"]

PARTS = {"solver": SOLVERS, "threshold": THRESHOLDS}


def _has_probabilities(ranker: Any) -> bool:
    return ranker.calibrate is not None or bool(getattr(getattr(ranker, "model_", None), "PROBABILITIES", False))


class MultiLabelRanker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A solver and a threshold as a scikit-learn classifier for label indicators.

    Settings of both are parameters of their own, such as ``solver__C`` and ``threshold__k``, so that grids can search
    them. Setting one where a key was given makes an object of the key.

    Parameters
    ----------
    solver : key of SOLVERS, or a solver
    threshold : key of THRESHOLDS, or a threshold
        "natural" is the solver's own cut: 0 for margins, 0.5 for probabilities.
    calibrate : {"sigmoid", "isotonic", None}
        How scores become probabilities, by scores from three fits that each leave out a third of the rows. They then
        are what `decision_function` returns and thresholds cut.
    min_labels, max_labels : int, int or None
        How many labels a row gets at least and at most, by the order of its scores.
    threshold_scores : {"train", "heldout", None}
        What the threshold is fitted to: the scores of the training rows, or scores from three fits that each leave out
        a third of them; None for what suits the threshold.
    seed : int
        Of the thirds.

    Attributes
    ----------
    model_ : fitted model, with ``info`` (how the fit went, and its certificate)
    calibration_ : fitted calibration, or None
    cut_ : fitted threshold
    classes_ : (n_labels,) ndarray, the columns of Y by number
    n_features_in_ : int
    feature_names_in_ : ndarray, where X had column names

    Notes
    -----
    `score` is that of all classifiers there: the share of rows whose label set is exactly right.
    """

    def __init__(
        self,
        solver: Any = "binary_svm",
        threshold: Any = "natural",
        *,
        calibrate: str | None = None,
        min_labels: int = 0,
        max_labels: int | None = None,
        threshold_scores: str | None = None,
        seed: int = 0,
    ) -> None:
        self.solver = solver
        self.threshold = threshold
        self.calibrate = calibrate
        self.min_labels = min_labels
        self.max_labels = max_labels
        self.threshold_scores = threshold_scores
        self.seed = seed

    def fit(self, X: Any, y: Any) -> "MultiLabelRanker":
        """Fit the solver and the threshold.

        Parameters
        ----------
        X : (n_samples, n_features) array or sparse matrix
        y : (n_samples, n_labels) indicator of 0 and 1, dense or sparse

        Raises
        ------
        ValueError
            If they do not fit together, or the solver can score only rows that are there when it is fitted.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        solver, threshold = self._part("solver"), self._part("threshold")
        able = Capabilities.of(solver)
        if able.transductive:
            raise ValueError(f"{type(solver).__name__} scores only rows that it was given when it was fitted")
        if getattr(threshold, "ORACLE", False):
            raise ValueError(f"{type(threshold).__name__} looks at the true labels of the rows that it predicts")
        how = self.threshold_scores or getattr(threshold, "FIT_ON", "train")
        if how not in ("train", "heldout"):
            raise ValueError(f"threshold_scores must be 'train', 'heldout' or None, found {self.threshold_scores!r}")
        train = TrainingSet(as_features(X), _indicator(y, X.shape[0]), pairwise=able.pairwise)
        bounds = LabelBounds(self.min_labels, self.max_labels)
        bounds.check(train.n_labels)
        if self.calibrate not in (None, *CALIBRATIONS):
            raise ValueError(f"calibrate must be 'sigmoid', 'isotonic' or None, found {self.calibrate!r}")
        if hasattr(threshold, "at"):
            threshold = threshold.at(0.5 if self.calibrate else Capabilities.cut_of(solver, train))
        self.model_ = solver.fit(train)
        if how == "heldout" or self.calibrate:
            heldout = heldout_scores(train, self.seed, lambda part, rows: solver.fit(part).decision_function(rows))
        scores = own_scores(self.model_, train) if how == "train" else heldout
        self.calibration_ = None
        if self.calibrate:
            self.calibration_ = fit_calibration(self.calibrate, heldout, train.Y)
            scores = self.calibration_(scores)
        self.cut_ = bounds.around(threshold.fit(scores, train.Y, train.X))
        self.classes_ = np.arange(train.n_labels)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores (n_samples, n_labels), larger = more relevant."""
        check_is_fitted(self)
        return self._scores(self._rows(X))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities (n_samples, n_labels), where `calibrate` is set or scores are shares of neighbors."""
        return self.decision_function(X)

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return label sets as an indicator (n_samples, n_labels) of 0 and 1."""
        check_is_fitted(self)
        rows = self._rows(X)
        found: npt.NDArray[np.int64] = self.cut_(self._scores(rows), rows).astype(np.int64)
        return found

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters, those of the solver and the threshold among them if `deep`."""
        params: dict[str, object] = super().get_params(deep=False)
        if deep:
            for name in PARTS:
                part = self._part(name)
                params |= {f"{name}__{field.name}": getattr(part, field.name) for field in fields(part)}
        return params

    def set_params(self, **params: Any) -> "MultiLabelRanker":
        """Set parameters by the names that `get_params` gives.

        Raises
        ------
        ValueError
            For a name that is none, or a setting that the solver or threshold refuses.
        """
        nested: dict[str, dict[str, object]] = {name: {} for name in PARTS}
        for name, value in params.items():
            part, _, setting = name.partition("__")
            if setting and part in PARTS:
                nested[part][setting] = value
            elif name in self._get_param_names():
                setattr(self, name, value)
            else:
                raise ValueError(unknown_name("parameter", name, self.get_params()))
        for name, settings in nested.items():
            if settings:
                setattr(self, name, _changed(name, self._part(name), settings))
        return self

    def _part(self, name: str) -> Any:
        """Return the solver or the threshold itself, whether it is given or named."""
        given = getattr(self, name)
        if not isinstance(given, str):
            return given
        given = new_key(given) if name == "solver" else given
        if given not in PARTS[name]:
            raise ValueError(unknown_name(name, given, PARTS[name]))
        return PARTS[name][given]()

    def _scores(self, rows: Any) -> FloatArray:
        scores: FloatArray = self.model_.decision_function(rows)
        return scores if self.calibration_ is None else self.calibration_(scores)

    def _rows(self, X: Any) -> Any:
        return as_features(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = Capabilities.of(self._part("solver")).pairwise
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        return tags


def _changed(name: str, part: Any, settings: dict[str, object]) -> Any:
    known = [field.name for field in fields(part)]
    for setting in settings:
        if setting not in known:
            raise ValueError(unknown_name(f"setting of {type(part).__name__}", setting, known))
    return replace(part, **settings)


def _indicator(y: Any, n_samples: int) -> BoolArray:
    """Return an indicator of 0 and 1 as bool."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    given = y.toarray() if issparse(y) else np.asarray(y)
    if given.ndim != 2:
        raise ValueError(f"Unknown label type: y must be an indicator (n_samples, n_labels), found shape {given.shape}")
    if given.shape[0] != n_samples:
        raise ValueError(f"y has {given.shape[0]} rows, X has {n_samples}")
    if given.dtype == np.bool_:
        return given
    if given.dtype.kind not in "iuf" or not np.isin(given, (0, 1)).all():
        raise ValueError("Unknown label type: y must be an indicator of 0 and 1 for each label")
    return np.asarray(given == 1)
