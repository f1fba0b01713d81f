"""A model judged on labelled data: every metric, on named rows."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, IntArray, take_rows
from mlrank.datasets import Dataset, dataset_hash
from mlrank.datasets.formats import FORMATS, Source, find_format, format_of
from mlrank.datasets.formats.base import LoadOptions
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.formats.text import file_stem
from mlrank.datasets.loading import find_source, load_source
from mlrank.errors import UserError, unknown_name
from mlrank.labels import MOST_BEST, LabelMatrix, labels_of_rows, take_columns
from mlrank.metrics import MetricValue, evaluate
from mlrank.models.file import StoredModel, scoring
from mlrank.prediction.files import bounds_notes
from mlrank.thresholds.cuts import check_scores, counted_best

__all__ = ["PARTS", "JudgedModel", "dataset_for_model", "judge"]

PARTS = ("all", "train", "test")


@dataclass(frozen=True)
class JudgedModel:
    """The metrics of a model on some rows.

    Parameters
    ----------
    metrics : dict of MetricValue
    title : str
        Model, data and rows.
    n_rows : int
    notes : tuple of str
    """

    metrics: dict[str, MetricValue]
    title: str
    n_rows: int
    notes: tuple[str, ...]


def judge(
    model: StoredModel,
    data: str | PathLike[str],
    *,
    part: str | None = None,
    format: str | None = None,
    **options: Any,
) -> JudgedModel:
    """Compute every metric of a model on the rows of a data set.

    Parameters
    ----------
    model : StoredModel
    data : catalogue name or file
    part : "all", "train" or "test"
        Of a data set with an official split; its test part if left out. Else all rows count.
    format, **options : as of `load_dataset`; label columns and words are those of the model by default, and missing
        features are filled as those of the training data were, where the model has the values

    Raises
    ------
    UserError
        If the data cannot be read, or have not the features and labels of the model.
    """
    dataset, by_number = _load(model, data, format, options)
    rows, part_name = _rows(dataset, part)
    selection = model.selection
    take, notes = _places(selection, dataset, by_number, options.get("zero_based"))
    X = _columns(take_rows(dataset.X, rows), take)
    Y, known, more = _labels(model, dataset, rows, by_number)
    truth = Y if known is None else Y & known
    scores: Any
    with scoring():
        if issparse(truth):
            scores = model.predictor.top_scores(X, MOST_BEST, truth.shape[1])
            counted = counted_best(model.predictor.cut, scores, truth)[1]
        else:
            scores, counted = model.predictor.counted(X, truth, known)
            check_scores(scores)
    read = [] if dataset.fill is None else [f"read from {dataset.description}"]
    notes = [*_leak(model, dataset, part), *read, *notes, *more, *bounds_notes(*counted[1:])]
    if issparse(truth):
        notes.append(f"very many labels: label sets and metrics are those of the best {MOST_BEST} scores of each row")
    about = model.header
    weights = None if about.propensities is None else np.array(about.propensities)
    metrics = evaluate(truth, scores, counted.sets, known, propensities=weights)
    fitted = [about.solver.kind, about.data.name and f"fitted to {about.data.name}", about.split]
    title = f"{about.method} ({', '.join(filter(None, fitted))}) on {dataset.name}, {part_name}"
    return JudgedModel(metrics, title, len(rows), tuple(notes))


def dataset_for_model(
    model: StoredModel, data: str | PathLike[str], *, format: str | None = None, **options: Any
) -> Dataset:
    """Load labeled data as `judge` does: label columns and filled values are those of the model by default."""
    return _load(model, data, format, options)[0]


def _load(
    model: StoredModel, data: str | PathLike[str], format: str | None, options: LoadOptions
) -> tuple[Dataset, bool]:
    """Return the data set, and whether its features and labels have numbers for names."""
    given = {name: value for name, value in options.items() if value is not None}
    path = Path(data)
    if path.is_file():
        form = find_format(format or format_of(path, Source((path,))))
        trained = _trained_with(model)
        if "one_hot" in form.options and given.keys().isdisjoint(("labels", "label_columns")):
            # Labels are written as they were in training: in one column of lists, in the same words.
            if isinstance(trained.get("labels"), dict):
                given["labels"] = trained["labels"]
            if "positive" in trained:
                given.setdefault("positive", trained["positive"])
        if form.by_columns and given.keys().isdisjoint(("labels", "label_columns")):
            given["label_columns"] = model.label_names
            format = form.by_columns
        if "one_hot" in form.options:
            # Other columns may hold anything.
            given |= {"only": model.feature_names, "text": model.text}
        if "impute" in form.options and model.fill is not None:
            given.setdefault("impute", dict(zip(model.feature_names, model.fill.tolist(), strict=True)))
    source = find_source(data, format=format, **given)
    return load_source(source), source.key in FORMATS and FORMATS[source.key].numbered


def _trained_with(model: StoredModel) -> LoadOptions:
    """Return the data set's entry in the configuration that the model was trained with; nothing if it was a name."""
    name, config = model.header.data.name, model.header.config or {}
    for entry in config.get("datasets") or ():
        if isinstance(entry, dict) and name in (entry.get("name"), file_stem(Path(str(entry.get("train"))))[0]):
            return entry
    return {}


def _rows(dataset: Dataset, part: str | None) -> tuple[IntArray, str]:
    if part is not None and part not in PARTS:
        raise UserError(unknown_name("part", part, PARTS))
    every = np.arange(dataset.n_samples, dtype=np.int64)
    if dataset.official is None:
        if part in ("train", "test"):
            raise UserError(f"'{dataset.name}' has no official split: there is no part '{part}' of it")
        return every, f"all {every.size} rows"
    chosen = {"train": dataset.official[0], "test": dataset.official[1], "all": every}[part or "test"]
    of = "training and test" if part == "all" else "training" if part == "train" else "test"
    return chosen, f"{chosen.size} {of} rows of the official split"


def _leak(model: StoredModel, dataset: Dataset, part: str | None) -> list[str]:
    """Say that the rows may be those of the fit; a subset of a data set has its name, but a hash of its own."""
    fitted, split = model.header.data, model.header.split
    of = split and f", split {split}"
    if fitted.hash == dataset_hash(dataset):
        return [f"the model was fitted to rows of these data: {fitted.n_train}{of}"]
    held_out = split == "official" and dataset.official is not None and part in (None, "test")
    if fitted.name != dataset.name or held_out:
        return []
    message = f"the model was fitted to {fitted.n_train} rows of a part or another version of '{fitted.name}'{of}"
    return [f"{message}: some of the rows judged here may be among them"]


def _labels(
    model: StoredModel, dataset: Dataset, rows: IntArray, by_number: bool
) -> tuple[LabelMatrix, BoolArray | None, list[str]]:
    expected = model.label_names
    Y, known = labels_of_rows(dataset.Y, rows), None if dataset.known is None else dataset.known[rows]
    if dataset.label_names == expected:
        return Y, known, []
    places = {name: place for place, name in enumerate(dataset.label_names)}
    missing = [name for name in expected if name not in places]
    if missing and not (by_number and all(map(str.isdigit, expected))):
        listed = ", ".join(map(repr, missing[:3]))
        raise UserError(f"'{dataset.name}' lacks {len(missing)} of the {len(expected)} labels of the model: {listed}")
    take = np.array([places.get(name, -1) for name in expected], np.int64)
    unused = len(places) - len(set(places) & set(expected))
    notes = [f"{unused} further labels of the data are none of the model and left out"] if unused else []
    if issparse(Y):  # one label without rows for all that are not there
        wide = csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], Y.shape[1] + 1))
        return take_columns(wide, np.where(take < 0, Y.shape[1], take)), None, notes
    found = Y[:, take] & (take >= 0)
    return found, None if known is None else known[:, take] | (take < 0), notes


def _places(
    selection: Selection, dataset: Dataset, by_number: bool, zero_based: bool | None
) -> tuple[IntArray | None, list[str]]:
    """Return the place of each feature; -1 for a number that a file of numbered features has no entry of.

    None: the features are the columns as they stand.
    """
    given, path = dataset.feature_names, Path(dataset.name)
    if given == selection.features:
        return None, []
    # Numbered features may themselves have been named by another file.
    if not by_number or not all(map(str.isdigit, given)):
        return selection.match(given, path)
    numbers = np.array([int(name) for name in given])
    if zero_based is not None:
        numbers = np.arange(len(given)) + (0 if zero_based else 1)
    mapping = selection.numbers(zero_based, path)
    columns = mapping.columns(numbers)
    if (wrong := np.flatnonzero(columns == -2)).size:
        raise UserError(mapping.refusal(int(numbers[wrong[0]])), path)
    take = np.full(len(selection.features), -1)
    take[columns[columns >= 0]] = np.flatnonzero(columns >= 0)
    return take, selection.describe_unused([given[place] for place in np.flatnonzero(columns < 0)])


def _columns(X: Features, take: IntArray | None) -> Features:
    if take is None or not issparse(X):
        return X if take is None else X[:, take]
    # One column of zeros for all that are not there.
    wide = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], X.shape[1] + 1))
    return wide[:, np.where(take < 0, X.shape[1], take)]
