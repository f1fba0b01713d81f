"""Reliability: how often labels are relevant that have a probability, against that probability."""

from collections.abc import Sequence

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.errors import UserError
from mlrank.metrics.probabilities import N_BINS, reliability
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.runs import ArraysOf, done_runs, origin
from mlrank.records.run import RunRecord

__all__ = ["reliability_figure"]


def reliability_figure(records: Sequence[RunRecord], arrays: ArraysOf, dataset: str) -> PanelFigure:
    """Return the share of relevant labels against the probability, a panel for each method, entries of splits pooled.

    Parameters
    ----------
    arrays : function from a record to its arrays
    dataset : name of the data set

    Raises
    ------
    UserError
        If the scores of no method are probabilities.
    """
    mine = [record for record in done_runs(records) if record.dataset.name == dataset]
    panels, without = [], []
    for method in dict.fromkeys(record.method for record in mine):
        p, y = _entries([record for record in mine if record.method == method], arrays)
        if p.size and p.min() >= 0.0 and p.max() <= 1.0:
            panels.append(Panel(method, (_curve(p, y), Curve("perfect", (0.0, 1.0), (0.0, 1.0), kind="plain"))))
        else:
            without.append(method)
    if not panels:
        raise UserError(f"no reliability on '{dataset}': no method has probabilities; 'calibrate: sigmoid' makes some")
    notes = [f"{N_BINS} bins of equal width over all rows and labels; a point is the mean of a bin that has entries."]
    if without:
        notes.append(f"Without probabilities: {', '.join(without)}.")
    title = f"Reliability of probabilities, {dataset}"
    shown = (*notes, origin(mine))
    return PanelFigure(title, tuple(panels), "probability", "share of relevant labels", shown, one_legend=True)


def _curve(p: FloatArray, y: FloatArray) -> Curve:
    _, mean, frequency, _ = reliability(p, y)
    return Curve("method", tuple(map(float, mean)), tuple(map(float, frequency)))


def _entries(runs: Sequence[RunRecord], arrays: ArraysOf) -> tuple[FloatArray, FloatArray]:
    """Return the scores and the truth of all known entries of some runs."""
    scores, truth = [], []
    for run in runs:
        found = arrays(run)
        known = found.get("known", np.ones(found["Y_true"].shape, np.bool_))
        scores.append(found["scores"][known])
        truth.append(found["Y_true"][known].astype(np.float64))
    return np.concatenate(scores), np.concatenate(truth)
