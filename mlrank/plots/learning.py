"""Learning curves: a metric against the number of training rows."""

from collections.abc import Iterator, Sequence
from statistics import fmean, stdev

from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.runs import by_size, check_metric, done_runs, origin
from mlrank.records.run import RunRecord

__all__ = ["learning_figure"]


def learning_figure(records: Sequence[RunRecord], metric: str) -> PanelFigure:
    """Return a metric against the number of training rows, a panel for each data set.

    A method is the same in all experiments: they give its curve points at different numbers of rows.

    Raises
    ------
    UserError
        If no method was trained on two numbers of rows of one data set.
    """
    check_metric(metric)
    done = done_runs(records)
    panels = []
    for dataset in dict.fromkeys(record.dataset.name for record in done):
        mine = [record for record in done if record.dataset.name == dataset]
        curves = tuple(_curves(mine, metric))
        if any(len(curve.x) > 1 for curve in curves):
            panels.append(Panel(dataset, curves))
    if not panels:
        raise UserError(
            "no learning curve: no method was trained on two numbers of rows of one data set; "
            "give results of experiments with different 'train' in their split"
        )
    arrow = "higher" if METRICS[metric].higher_is_better else "lower"
    notes = ("Bars: standard deviation over the splits of that size.", origin(done))
    title = f"Learning curves, {metric} ({arrow} is better)"
    return PanelFigure(title, tuple(panels), "training rows", metric, notes, log_x=True, same_y=False)


def _curves(records: Sequence[RunRecord], metric: str) -> Iterator[Curve]:
    for method in dict.fromkeys(record.method for record in records):
        x, y, spread = [], [], []
        for size, group in by_size([r for r in records if r.method == method], "n_train").items():
            values = [value for record in group if (value := record.value(metric)) is not None]
            if values:
                x.append(size)
                y.append(fmean(values))
                spread.append(stdev(values) if len(values) > 1 else 0.0)
        if x:
            yield Curve(method, tuple(x), tuple(y), tuple(spread) if any(spread) else None)
