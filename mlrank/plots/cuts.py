"""Threshold curves: metrics of label sets as one threshold for all scores rises."""

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.metrics.sets import Confusion, f1_macro, f1_micro, precision_micro, recall_micro
from mlrank.plots.panels import Curve, Level, Panel, PanelFigure
from mlrank.plots.runs import ArraysOf, done_runs, origin
from mlrank.records.run import RunRecord
from mlrank.stored import Arrays

__all__ = ["threshold_figure"]

SHOWN = {"f1_micro": f1_micro, "f1_macro": f1_macro, "precision_micro": precision_micro, "recall_micro": recall_micro}
N_THRESHOLDS = 61


def threshold_figure(records: Sequence[RunRecord], arrays: ArraysOf, dataset: str) -> PanelFigure:
    """Return metrics of the labels scored above a threshold, against that threshold, a panel for each method.

    Parameters
    ----------
    arrays : function from a record to its arrays
    dataset : name of the data set
    """
    mine = [record for record in done_runs(records) if record.dataset.name == dataset]
    panels = []
    for method in dict.fromkeys(record.method for record in mine):
        runs = [record for record in mine if record.method == method]
        panels.append(Panel(method, _curves([arrays(run) for run in runs]), tuple(_levels(runs))))
    notes = (
        "Every label scored above the threshold is predicted; means over the splits.",
        "Level lines: the label sets of the run, by its own threshold.",
        "The curves look at the true labels of the test rows: their best point is no result.",
        origin(mine),
    )
    title = f"Metrics against one threshold for all scores, {dataset}"
    return PanelFigure(title, tuple(panels), "threshold", "value", notes, one_legend=True)


def _levels(runs: Sequence[RunRecord]) -> list[Level]:
    levels = []
    for metric in ("f1_micro", "f1_macro"):
        values = [value for run in runs if (value := run.value(metric)) is not None]
        if values:
            levels.append(Level(f"{metric} of the run", fmean(values), of=metric))
    return levels


def _curves(stored: Sequence[Arrays]) -> tuple[Curve, ...]:
    """Return the curves over the thresholds between the 1st and the 99th percentile of the scores."""
    pooled = np.concatenate([np.ravel(found["scores"]) for found in stored])
    finite = pooled[np.isfinite(pooled)]
    low, high = np.percentile(finite, [1, 99])
    thresholds = np.linspace(low, high, N_THRESHOLDS)
    found = np.array([_values(part, thresholds) for part in stored])
    defined = np.sum(~np.isnan(found), axis=0)
    means = np.divide(np.nansum(found, axis=0), defined, out=np.full(defined.shape, np.nan), where=defined > 0)
    return tuple(
        Curve(name, tuple(map(float, thresholds)), tuple(map(float, row)), kind="plain")
        for name, row in zip(SHOWN, means, strict=True)
    )


def _values(found: Arrays, thresholds: FloatArray) -> list[list[float]]:
    truth, scores, known = found["Y_true"], found["scores"], found.get("known")
    confusions = [Confusion(truth, scores > threshold, known) for threshold in thresholds]
    return [[metric(truth, confusion).value for confusion in confusions] for metric in SHOWN.values()]
