"""The figures of stored runs by kind, each with the name of its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlrank.errors import UserError, unknown_name
from mlrank.plots.convergence import convergence_figure
from mlrank.plots.cuts import threshold_figure
from mlrank.plots.files import AnyFigure
from mlrank.plots.labels import frequency_figure, together_figure
from mlrank.plots.learning import learning_figure
from mlrank.plots.ranks import critical_figure
from mlrank.plots.reliability import reliability_figure
from mlrank.plots.runs import ArraysOf, NamesOf, check_metric, done_runs
from mlrank.plots.scaling import scaling_figure
from mlrank.plots.sensitivity import heat_figures, sensitivity_figure
from mlrank.records.run import RunRecord, SearchTrial
from mlrank.stats import compare_datasets, gather

__all__ = ["KINDS", "Material", "figures_of_kind"]


@dataclass(frozen=True)
class Material:
    """What figures are drawn from.

    Parameters
    ----------
    records : run records
    metrics : names of the metrics to draw
    trials : as `mlrank.experiment.stored_trials` returns them
    arrays : function from a record to its arrays
    label_names : function from a record to the names of the labels of its data
    named : whether the metrics were asked for by name, so that none may be passed over
    """

    records: Sequence[RunRecord]
    metrics: Sequence[str]
    trials: Sequence[SearchTrial]
    arrays: ArraysOf
    label_names: NamesOf
    named: bool = False

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets with a finished run."""
        return list(dict.fromkeys(record.dataset.name for record in done_runs(self.records)))


# By kind: what is drawn.
KINDS: Mapping[str, str] = {
    "learning": "a metric against the number of training rows",
    "sensitivity": "the search's metric along each setting, and for pairs of settings",
    "convergence": "certificate and objective against iterations and seconds",
    "runtime": "seconds of a fit against rows, features and labels, with exponents",
    "labels": "F1 (or another metric) of each label against its frequency",
    "threshold": "F1, precision and recall against one threshold for all scores",
    "reliability": "how often labels are relevant that have a probability, against it",
    "cooccurrence": "which labels occur together",
    "correlation": "how labels are correlated",
    "critical": "mean ranks over data sets with critical differences",
}


def figures_of_kind(kind: str, given: Material) -> dict[str, AnyFigure]:
    """Return the figures of a kind by name.

    Raises
    ------
    UserError
        If there is no such kind, or the runs do not have what it needs.
    """
    if kind not in KINDS:
        raise UserError(unknown_name("kind of figure", kind, [*KINDS, "all"]))
    for metric in given.metrics:
        check_metric(metric)
    if kind == "learning":
        return {f"learning-{metric}": learning_figure(given.records, metric) for metric in given.metrics}
    if kind == "convergence":
        return {kind: convergence_figure(given.trials, given.records)}
    if kind == "runtime":
        return {kind: scaling_figure(given.records)}
    if kind == "labels":
        usual = [metric for metric in given.metrics if metric.endswith("_macro")] or ["f1_macro"]
        shown = given.metrics if given.named else usual
        return {f"labels-{metric}": frequency_figure(given.records, given.arrays, metric) for metric in shown}
    if kind == "threshold":
        return {f"threshold-{name}": threshold_figure(given.records, given.arrays, name) for name in given.datasets}
    if kind == "reliability":
        return {f"reliability-{name}": reliability_figure(given.records, given.arrays, name) for name in given.datasets}
    if kind in ("cooccurrence", "correlation"):
        return {f"{kind}-{name}": _together(kind, name, given) for name in given.datasets}
    return _sensitivity(given) if kind == "sensitivity" else _critical(given)


def _together(kind: str, dataset: str, given: Material) -> AnyFigure:
    return together_figure(given.records, given.arrays, dataset, given.label_names, kind)


def _sensitivity(given: Material) -> dict[str, AnyFigure]:
    figures: dict[str, AnyFigure] = {}
    for dataset in dict.fromkeys(trial.dataset for trial in given.trials):
        trials = [trial for trial in given.trials if trial.dataset == dataset]
        runs = [record for record in given.records if record.dataset.name == dataset]
        figures[f"sensitivity-{dataset}"] = sensitivity_figure(trials, runs)
        maps = heat_figures(trials, runs)
        figures |= {f"sensitivity-{dataset}-{method}": figure for method, figure in maps.items()}
    if not figures:
        raise UserError("no sensitivity to settings: no search has tried two values of a setting")
    return figures


def _critical(given: Material) -> dict[str, AnyFigure]:
    figures: dict[str, AnyFigure] = {}
    for metric in given.metrics:
        repeats, left_out = gather(given.records, metric)
        if len(repeats) < 2:
            why = f" ({'; '.join(left_out)})" if left_out else ""
            raise UserError(f"critical differences are over two data sets and more, found {len(repeats)}{why}")
        figures[f"critical-{metric}"] = critical_figure(compare_datasets(repeats))
    return figures
