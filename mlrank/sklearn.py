"""The bridge to scikit-learn: any solver with any threshold as one estimator."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlrank.arrays import BoolArray, FloatArray, as_features
from mlrank.calibration import CALIBRATIONS, fit_calibration
from mlrank.errors import unknown_name
from mlrank.search.crossfit import HELDOUT_FOLDS, heldout_scores, own_scores
from mlrank.search.threads import one_thread
from mlrank.solvers import SOLVERS, Capabilities, TrainingSet
from mlrank.solvers.aliases import new_key
from mlrank.thresholds import THRESHOLDS, LabelBounds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MultiLabelRanker"]

PARTS = {"solver": SOLVERS, "threshold": THRESHOLDS}


class MultiLabelRanker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A solver and a threshold as a scikit-learn classifier for label indicators.

    Settings of the solver are keywords of their own: ``MultiLabelRanker("rank_svm", C=8)``. Those of the threshold, and
    of a solver that shares a name with a parameter here, have the part before them: ``threshold__k=3``. Grids search
    both; `set_params` also takes ``solver__C`` for ``C``. Another solver or threshold forgets the settings of the one
    before.

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
        Of the thirds; that of a solver which draws is ``solver__seed``.
    **settings
        Of the solver, by their names; of the threshold as ``threshold__NAME``.

    Attributes
    ----------
    model_ : fitted model, with ``info`` (how the fit went, and its certificate)
    calibration_ : fitted calibration, or None
    cut_ : fitted threshold
    classes_ : (n_labels,) ndarray, the names of the columns of a DataFrame Y, else their numbers
    n_features_in_ : int
    feature_names_in_ : ndarray, where X had column names

    Raises
    ------
    ValueError
        For a setting that the solver or threshold does not have; whether a value is right is known in `fit`.

    Notes
    -----
    Fits and scores have one thread, as those of experiments: several are no faster on matrices of such sizes, and slow
    where other processes have the cores. Let scikit-learn's ``n_jobs`` share the fits of a search.

    `score` is that of all classifiers there: the share of rows whose label set is exactly right. Nothing weighs rows,
    so `fit` refuses metadata such as ``sample_weight``, also where scikit-learn routes them.
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
        **settings: Any,
    ) -> None:
        self.solver = solver
        self.threshold = threshold
        self.calibrate = calibrate
        self.min_labels = min_labels
        self.max_labels = max_labels
        self.threshold_scores = threshold_scores
        self.seed = seed
        if settings:  # an attribute that no parameter has the name of: scikit-learn allows none by default
            self._settings = {self._setting(name): value for name, value in settings.items()}
            if len(self._settings) < len(settings):
                twice = next(name for name in settings if f"solver__{name}" in settings)
                raise ValueError(f"{twice!r} and 'solver__{twice}' are one setting: give one of them")

    def fit(self, X: Any, y: Any, **metadata: Any) -> "MultiLabelRanker":
        """Fit the solver and the threshold.

        Parameters
        ----------
        X : (n_samples, n_features) array, sparse matrix or DataFrame
        y : (n_samples, n_labels) indicator of 0 and 1, dense or sparse, or a DataFrame that names the labels
        **metadata
            None is taken.

        Raises
        ------
        ValueError
            If they do not fit together, or the solver can score only rows that are there when it is fitted.
        TypeError
            For metadata, such as ``sample_weight``.
        """
        if metadata:
            _refuse_metadata(metadata)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        solver, threshold = self._part("solver"), self._part("threshold")
        able = Capabilities.of(solver)
        if able.transductive:
            raise ValueError(
                f"{type(solver).__name__} scores only rows that it was given when it was fitted: it runs in "
                "experiments (mlrank.run), and is no estimator"
            )
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
        if (how == "heldout" or self.calibrate) and train.n_samples < HELDOUT_FOLDS:
            raise ValueError(f"held-out scores need {HELDOUT_FOLDS} rows, found n_samples={train.n_samples}")
        with one_thread():
            self.model_ = solver.fit(train)
            if how == "heldout" or self.calibrate:
                heldout = heldout_scores(train, self.seed, lambda part, rows: solver.fit(part).decision_function(rows))
            scores = own_scores(self.model_, train) if how == "train" else heldout
            self.calibration_ = None
            if self.calibrate:
                self.calibration_ = fit_calibration(self.calibrate, heldout, train.Y)
                scores = self.calibration_(scores)
            self.cut_ = bounds.around(threshold.fit(scores, train.Y, train.X))
        self.classes_ = _label_names(y, train.n_labels)
        return self

    def decision_function(self, X: Any) -> "FloatArray | pd.DataFrame":
        """Return scores (n_samples, n_labels), larger = more relevant."""
        check_is_fitted(self)
        return self._out(self._scores(self._rows(X)), X)

    @property
    def predict_proba(self) -> "Callable[[Any], FloatArray | pd.DataFrame]":
        """Return probabilities (n_samples, n_labels), where `calibrate` is set or scores are shares of neighbors.

        Raises
        ------
        AttributeError
            Where they are not: scikit-learn then takes the ranker for one without probabilities.
        """
        if self.calibrate is None and not getattr(getattr(self, "model_", None), "PROBABILITIES", False):
            solver = self.solver if isinstance(self.solver, str) else type(self.solver).__name__
            raise AttributeError(
                f"no predict_proba: the scores of {solver} are no probabilities. "
                "MultiLabelRanker(..., calibrate='sigmoid') makes some"
            )
        return self.decision_function

    def predict(self, X: Any) -> "npt.NDArray[np.int64] | pd.DataFrame":
        """Return label sets as an indicator (n_samples, n_labels) of 0 and 1."""
        check_is_fitted(self)
        rows = self._rows(X)
        found: npt.NDArray[np.int64] = self.cut_(self._scores(rows), rows).astype(np.int64)
        return self._out(found, X)

    def set_output(self, *, transform: str | None = None) -> "MultiLabelRanker":
        """Choose what predictions, scores and probabilities come as.

        Parameters
        ----------
        transform : {"default", "pandas", None}
            "pandas": DataFrames with the labels as columns and the index of X; "default": arrays; None: as it is.
            The name is scikit-learn's, so that a pipeline's ``set_output`` and this one are called alike.

        Raises
        ------
        ValueError
            For another kind.
        """
        if transform not in ("default", "pandas", None):
            raise ValueError(f"transform must be 'default', 'pandas' or None, found {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # by this name, clones have it too
        return self

    def set_fit_request(self, **metadata: object) -> NoReturn:
        """Refuse metadata, as `fit` does.

        Raises
        ------
        TypeError
            Always.
        """
        _refuse_metadata(metadata)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters and the settings that were given; all of solver and threshold if `deep`."""
        params: dict[str, object] = {**super().get_params(deep=False), **self._given()}
        if deep:
            for name in PARTS:
                part = self._base(name)
                params |= {f"{name}__{field}": getattr(part, field) for field in _names(part)}
            params |= {f"{_owner(name)}__{name.rpartition('__')[2]}": value for name, value in self._given().items()}
        return params

    def set_params(self, **params: Any) -> "MultiLabelRanker":
        """Set parameters by the names that `get_params` gives.

        Raises
        ------
        ValueError
            For a name that is none, or a setting that the solver or threshold refuses.
        """
        nested: dict[str, dict[str, object]] = {name: {} for name in PARTS}
        own = self._get_param_names()
        for name, value in params.items():
            if name in own:
                setattr(self, name, value)
                if name in PARTS:
                    self._forget(name)
        for name, value in params.items():
            part, _, setting = name.partition("__")
            if setting and part in PARTS:
                nested[part][setting] = value
            elif name not in own:
                self._settings = {**self._given(), self._setting(name): value}
        for name, settings in nested.items():
            if settings:
                setattr(self, name, _changed(self._part(name), settings))
                self._forget(name)
        return self

    def _given(self) -> dict[str, Any]:
        """Return the settings that were given as keywords: of the solver by their names, others with their part."""
        return dict(getattr(self, "_settings", {}))

    def _forget(self, part: str) -> None:
        """Drop the settings of a part that another one took the place of."""
        if given := self._given():
            self._settings = {name: value for name, value in given.items() if _owner(name) != part}

    def _setting(self, name: str) -> str:
        """Return the one name of a setting; also where the solver or threshold is none itself, as `fit` says then."""
        part, _, setting = name.rpartition("__")
        if part not in ("", *PARTS):
            raise ValueError(unknown_name("parameter", name, self._get_param_names()))
        try:
            base = self._base(part or "solver")
            settings = _names(base)
        except (ValueError, TypeError):
            return name
        if setting in settings:
            shared = part == "threshold" or setting in self._get_param_names()
            return name if shared else setting
        if part:
            raise ValueError(unknown_name(f"setting of {type(base).__name__}", setting, settings))
        raise ValueError(unknown_name("parameter", name, [*self._get_param_names(), *settings]))

    def _base(self, name: str) -> Any:
        """Return the solver or the threshold without the settings that were given, whether it is an object or a key."""
        given = getattr(self, name)
        if not isinstance(given, str):
            if not is_dataclass(given) or isinstance(given, type):
                found = given.__name__ if isinstance(given, type) else f"a {type(given).__name__}"
                raise ValueError(f"{name} must be a key, or one of mlrank's with its settings, found {found}")
            return given
        given = new_key(given) if name == "solver" else given
        if given not in PARTS[name]:
            raise ValueError(unknown_name(name, given, PARTS[name]))
        return PARTS[name][given]()

    def _part(self, name: str) -> Any:
        """Return the solver or the threshold as it is fitted."""
        base = self._base(name)
        given = {key.rpartition("__")[2]: value for key, value in self._given().items() if _owner(key) == name}
        return _changed(base, given) if given else base

    def _out(self, found: Any, X: Any) -> Any:
        """Return what was found for rows, as `set_output` asks."""
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return found
        import pandas as pd

        return pd.DataFrame(found, index=X.index if isinstance(X, pd.DataFrame) else None, columns=self.classes_)

    def _scores(self, rows: Any) -> FloatArray:
        with one_thread():
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


def _owner(name: str) -> str:
    """Return the part that a setting given as a keyword belongs to."""
    return name.rpartition("__")[0] or "solver"


def _names(part: Any) -> list[str]:
    return [field.name for field in fields(part)]


def _changed(part: Any, settings: Mapping[str, Any]) -> Any:
    known = _names(part)
    for setting in settings:
        if setting not in known:
            raise ValueError(unknown_name(f"setting of {type(part).__name__}", setting, known))
    return replace(part, **settings)


def _refuse_metadata(metadata: Mapping[str, object]) -> NoReturn:
    names = ", ".join(map(repr, metadata))
    raise TypeError(f"MultiLabelRanker.fit takes no metadata, found {names}: every row counts alike in every solver")


def _label_names(y: Any, n_labels: int) -> npt.NDArray[Any]:
    """Return the names of the columns of a DataFrame, or numbers."""
    columns = getattr(y, "columns", None)
    if columns is None:
        return np.arange(n_labels)
    names = np.asarray(columns)
    if len(set(names.tolist())) < n_labels:
        twice = next(name for at, name in enumerate(names.tolist()) if name in names.tolist()[:at])
        raise ValueError(f"two columns of y have the name {twice!r}")
    return names


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
    number = given.dtype.kind in "iuf"
    others = given[~np.isin(given, (0, 1))] if number else given.ravel()
    if others.size or not number:
        found = f", found {others[:1].tolist()[0]!r}" if others.size else ""
        raise ValueError(f"Unknown label type: y must be an indicator of 0 and 1 for each label{found}")
    return np.asarray(given == 1)
