"""Figures of single labels: how well the rare ones are predicted, and which go together."""

from collections.abc import Sequence

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.errors import UserError
from mlrank.plots.heat import HeatFigure, HeatPanel
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.runs import ArraysOf, NamesOf, check_metric, done_runs, origin
from mlrank.records.run import RunRecord
from mlrank.stats import by_label
from mlrank.stored import Arrays

__all__ = ["frequency_figure", "jaccard", "phi", "together_figure"]

MOST_LABELS = 40


def frequency_figure(records: Sequence[RunRecord], arrays: ArraysOf, metric: str = "f1_macro") -> PanelFigure:
    """Return a metric of each label against how frequent it is among the test rows, a panel for each data set.

    Parameters
    ----------
    arrays : function from a record to its arrays
    metric : one that is averaged over labels

    Raises
    ------
    UserError
        For a metric that is no average over labels.
    """
    check_metric(metric)
    if not metric.endswith("_macro"):
        raise UserError(f"{metric} is not averaged over labels; such metrics are f1_macro, auc_macro, map_macro")
    done = done_runs(records)
    panels = []
    for dataset in dict.fromkeys(record.dataset.name for record in done):
        mine = [record for record in done if record.dataset.name == dataset]
        methods = dict.fromkeys(record.method for record in mine)
        curves = (_of_method(method, [r for r in mine if r.method == method], arrays, metric) for method in methods)
        panels.append(Panel(dataset, tuple(curves)))
    name = metric.removesuffix("_macro")
    notes = (
        "A point is a label: its value where it is defined, and its frequency, both averaged over the splits.",
        origin(done),
    )
    title = f"{name} of each label against its frequency"
    x_label = "share of the test rows that have the label"
    return PanelFigure(title, tuple(panels), x_label, f"{name} of the label", notes, log_x=True)


def _of_method(method: str, records: Sequence[RunRecord], arrays: ArraysOf, metric: str) -> Curve:
    stored = [arrays(record) for record in records]
    values = np.array([by_label(found, metric) for found in stored])
    shares = np.mean([_shares(found) for found in stored], axis=0)
    counts = np.sum(~np.isnan(values), axis=0)
    shown = (counts > 0) & (shares > 0)
    means = np.nansum(values[:, shown], axis=0) / counts[shown]
    return Curve(method, tuple(map(float, shares[shown])), tuple(map(float, means)), kind="points")


def _shares(found: Arrays) -> FloatArray:
    known = found.get("known")
    if known is None:
        return np.asarray(found["Y_true"].mean(axis=0), dtype=np.float64)
    return np.asarray((found["Y_true"] & known).sum(axis=0) / np.maximum(1, known.sum(axis=0)), dtype=np.float64)


def together_figure(
    records: Sequence[RunRecord],
    arrays: ArraysOf,
    dataset: str,
    label_names: NamesOf,
    kind: str = "cooccurrence",
) -> HeatFigure:
    """Return which labels of a data set go together among the test rows of its runs.

    Parameters
    ----------
    label_names : function from a record to the names of the labels of its data
    kind : {"cooccurrence", "correlation"}
        The share of the rows with either label that have both (Jaccard index), or the correlation (phi coefficient).

    Raises
    ------
    UserError
        If some label entries are unknown: pairs would be over different rows.
    """
    mine = [record for record in done_runs(records) if record.dataset.name == dataset]
    Y = _true_labels(mine, arrays)
    counts = Y.sum(axis=0)
    kept = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    kept = kept[counts[kept] > 0]
    values = (jaccard if kind == "cooccurrence" else phi)(Y[:, kept])
    np.fill_diagonal(values, np.nan)
    called = label_names(mine[0])
    names = tuple(called[label] for label in kept)
    what = {"cooccurrence": "share with both among the rows with either", "correlation": "correlation (phi)"}[kind]
    notes = [f"The true labels of {Y.shape[0]} test rows, most frequent label first."]
    if len(kept) < Y.shape[1]:
        notes.append(f"{len(kept)} of {Y.shape[1]} labels are shown: the most frequent, and none without a row.")
    rows = tuple(tuple(map(float, row)) for row in values)
    panel = HeatPanel("", "label", "label", names, names, rows)
    title = {"cooccurrence": "Labels that occur together", "correlation": "Correlation of labels"}[kind]
    notes.append(origin(mine))
    return HeatFigure(f"{title}, {dataset}", (panel,), what, balanced=kind == "correlation", notes=tuple(notes))


def _true_labels(records: Sequence[RunRecord], arrays: ArraysOf) -> BoolArray:
    """Return the true label sets of all test rows, each row once."""
    found: dict[str, Arrays] = {}
    for record in records:
        if record.split not in found:
            found[record.split] = arrays(record)
    if any("known" in part for part in found.values()):
        raise UserError("some label entries are unknown: the runs do not show which labels occur together")
    rows = np.concatenate([part["rows"] for part in found.values()])
    _, first = np.unique(rows, return_index=True)
    return np.asarray(np.concatenate([part["Y_true"] for part in found.values()])[first])


def jaccard(Y: BoolArray) -> FloatArray:
    """Return for each pair of labels the share of the rows with either that have both; NaN where neither has a row."""
    numbers = Y.astype(np.float64)
    both = numbers.T @ numbers
    either = np.diag(both)[:, None] + np.diag(both)[None, :] - both
    return np.asarray(np.divide(both, either, out=np.full_like(both, np.nan), where=either > 0))


def phi(Y: BoolArray) -> FloatArray:
    """Return the correlation of each pair of labels as 0 and 1; NaN for a label that all rows have, or none."""
    centred = Y - Y.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    product = np.outer(spread, spread)
    return np.asarray(np.divide(centred.T @ centred, product, out=np.full_like(product, np.nan), where=product > 0))
