"""Parts of a data set as papers take them: some rows, the frequent labels, the frequent features."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import IntArray, as_features, take_rows
from mlrank.datasets.dataset import Dataset
from mlrank.errors import UserError
from mlrank.labels import label_counts, labels_of_rows, row_counts, take_columns

__all__ = ["drawn_rows", "subset"]


def subset(
    dataset: Dataset,
    *,
    rows: int | None = None,
    top_labels: int | None = None,
    min_positives: int | None = None,
    top_features: int | None = None,
    seed: int,
) -> tuple[Dataset, list[str]]:
    """Sample rows, then keep labels with enough positives, then the most frequent of these, then features.

    Kept rows, labels and features stay in their order; of equally frequent ones the earlier is kept.

    Parameters
    ----------
    dataset : Dataset
    rows : int, optional
        Number of rows to draw without replacement; the official split is dropped.
    top_labels : int, optional
        Number of labels to keep, the most frequent in the rows drawn.
    min_positives : int, optional
        Least number of positive rows of a kept label.
    top_features : int, optional
        Number of features to keep, those that are not zero in the most rows.
    seed : int
        Decides which rows are drawn.

    Returns
    -------
    Dataset
    list of str
        What was changed, with counts, one sentence each.

    Raises
    ------
    UserError
        If there are not that many, or no label would be left.
    """
    changes: list[str] = []
    if rows is not None:
        dataset = _sample_rows(dataset, rows, seed, changes)
    if min_positives is not None:
        dataset = _frequent_enough(dataset, min_positives, changes)
    if top_labels is not None:
        dataset = _top_labels(dataset, top_labels, changes)
    if (min_positives is not None or top_labels is not None) and (empty := int((row_counts(dataset.Y) == 0).sum())):
        changes.append(f"{empty} {'row has' if empty == 1 else 'rows have'} no label left")
    if top_features is not None:
        dataset = _top_features(dataset, top_features, changes)
    return dataset, changes


def drawn_rows(n_samples: int, rows: int, seed: int) -> IntArray:
    """Return the numbers of so many rows out of n_samples, in order."""
    chosen: IntArray = np.sort(np.random.default_rng(seed).choice(n_samples, rows, replace=False)).astype(np.int64)
    return chosen


def _sample_rows(dataset: Dataset, rows: int, seed: int, changes: list[str]) -> Dataset:
    _check_count(dataset, "rows", rows, dataset.n_samples)
    chosen = drawn_rows(dataset.n_samples, rows, seed)
    dropped = ", dropped the official split" if dataset.official is not None else ""
    changes.append(f"drew {rows} of {dataset.n_samples} rows (seed {seed}){dropped}")
    known = None if dataset.known is None else dataset.known[chosen]
    return replace(
        dataset,
        X=take_rows(dataset.X, chosen),
        Y=labels_of_rows(dataset.Y, chosen),
        known=known,
        ids=None if dataset.ids is None else tuple(dataset.ids[row] for row in chosen),
        groups=None if dataset.groups is None else dataset.groups[chosen],
        folds=None if dataset.folds is None else dataset.folds[chosen],
        official=None,
    )


def _frequent_enough(dataset: Dataset, least: int, changes: list[str]) -> Dataset:
    positives = label_counts(dataset.Y)
    kept = np.flatnonzero(positives >= least)
    if kept.size == 0:
        most = int(positives.max())
        message = f"min_positives {least} leaves no label of '{dataset.name}': the most frequent has {most}"
        raise UserError(message, setting="min_positives")
    changes.append(f"kept the {kept.size} of {dataset.n_labels} labels with {least} positives or more")
    return _take_labels(dataset, kept)


def _top_labels(dataset: Dataset, count: int, changes: list[str]) -> Dataset:
    _check_count(dataset, "top_labels", count, dataset.n_labels)
    changes.append(f"kept the {count} most frequent of {dataset.n_labels} labels")
    return _take_labels(dataset, _most(label_counts(dataset.Y), count))


def _top_features(dataset: Dataset, count: int, changes: list[str]) -> Dataset:
    _check_count(dataset, "top_features", count, dataset.n_features)
    X = dataset.X
    used = np.bincount(X.indices[X.data != 0], minlength=X.shape[1]) if issparse(X) else np.count_nonzero(X, axis=0)
    kept = _most(used, count)
    changes.append(f"kept the {count} of {dataset.n_features} features that are not zero in the most rows")
    names = tuple(dataset.feature_names[column] for column in kept)
    fill = None if dataset.fill is None else dataset.fill[kept]
    return replace(dataset, X=as_features(X[:, kept]), feature_names=names, fill=fill)


def _take_labels(dataset: Dataset, kept: Any) -> Dataset:
    known = None if dataset.known is None else dataset.known[:, kept]
    names = tuple(dataset.label_names[label] for label in kept)
    return replace(dataset, Y=take_columns(dataset.Y, kept), known=known, label_names=names)


def _most(counts: Any, number: int) -> Any:
    return np.sort(np.argsort(-counts, kind="stable")[:number])


def _check_count(dataset: Dataset, setting: str, asked: int, available: int) -> None:
    if asked < 1:
        raise UserError(f"{setting} must be 1 or more, found {asked}", setting=setting)
    if asked > available:
        what = {"rows": "rows", "top_labels": "labels", "top_features": "features"}[setting]
        raise UserError(f"{setting} asks for {asked} of the {available} {what} of '{dataset.name}'", setting=setting)
