"""Comparisons of methods as grids: mean ranks over data sets, differences over splits, label by label."""

import numpy as np

from mlrank.stats import (
    LabelTests,
    OverDatasets,
    OverSplits,
    cautions_of_datasets,
    cautions_of_splits,
    say_datasets,
    say_labels,
    say_splits,
)
from mlrank.tables.arrange import NONE, Grid, Shown

__all__ = ["grid_of_datasets", "grid_of_labels", "grid_of_splits", "show_p"]


def grid_of_datasets(found: OverDatasets) -> Grid:
    """Return methods by mean rank: wins, mean score, and the test against the control; sentences below."""
    order = [int(place) for place in np.argsort(found.mean_ranks, kind="stable")]
    firsts = (found.ranks == found.ranks.min(axis=1, keepdims=True)).sum(axis=0)
    tests = {test.method: test for test in found.against_control}
    rows = []
    for place in order:
        method = found.methods[place]
        test = tests.get(method)
        name = f"{method} (control)" if method == found.control else method
        rank, mean = float(found.mean_ranks[place]), float(found.scores[:, place].mean())
        rows.append(
            (
                Shown(name),
                Shown(f"{rank:.2f}", rank == float(found.mean_ranks.min()), value=rank),
                Shown(str(firsts[place]), value=float(firsts[place])),
                Shown(f"{mean:.4f}", value=mean),
                Shown(NONE if test is None else show_p(test.p_holm), value=None if test is None else test.p_holm),
            )
        )
    header = ("method", "mean rank", "first or tied", f"mean {found.metric}", "p against control (Holm)")
    n = len(found.datasets)
    title = f"{found.metric} over {n} data sets: {', '.join(found.datasets)}"
    return Grid(title, header, "lrrrr", tuple(rows), (*say_datasets(found), *cautions_of_datasets(found)))


def grid_of_splits(found: OverSplits) -> Grid:
    """Return methods by mean: spread, and the difference from the control with its tests; sentences below."""
    means = found.values.mean(axis=0)
    order = np.argsort(-means if found.higher_is_better else means, kind="stable")
    rows = [_split_row(found, int(place), float(means[order[0]])) for place in order]
    header = ("method", "mean", "std", "control ahead by", "interval", "p (t, Holm)", "p (Wilcoxon)")
    n = len(found.splits)
    title = f"{found.metric} on {found.dataset}, {n} split{'s' if n > 1 else ''}"
    return Grid(title, header, "lrrrrrr", tuple(rows), (*say_splits(found), *cautions_of_splits(found)))


def _split_row(found: OverSplits, place: int, best: float) -> tuple[Shown, ...]:
    method, values = found.methods[place], found.values[:, place]
    mean = float(values.mean())
    spread = f"{values.std(ddof=1):.4f}" if values.size > 1 else NONE
    start = (Shown(f"{mean:.4f}", mean == best, value=mean), Shown(spread))
    if method == found.control:
        return Shown(f"{method} (control)"), *start, *[Shown(NONE)] * 4
    pair = next(pair for pair in found.pairs if {pair.first, pair.second} == {method, found.control})
    sign = 1.0 if pair.first == found.control else -1.0
    difference = Shown(f"{sign * pair.mean:+.4f}", value=sign * pair.mean)
    test, ranked = pair.t, pair.wilcoxon
    wilcoxon = Shown(NONE) if ranked is None else Shown(show_p(ranked.p), value=ranked.p)
    if test is None or pair.p_holm is None:
        return Shown(method), *start, difference, *[Shown(NONE)] * 2, wilcoxon
    low, high = sorted((sign * test.low, sign * test.high))
    interval, corrected = Shown(f"[{low:+.4f}, {high:+.4f}]"), Shown(show_p(pair.p_holm), value=pair.p_holm)
    return Shown(method), *start, difference, interval, corrected, wilcoxon


def grid_of_labels(found: LabelTests, alpha: float) -> Grid:
    """Return labels, the most frequent first, with the difference between the control and a method."""
    rows = []
    for test in sorted(found.labels, key=lambda label: -label.n_positive):
        d, p, p_holm = test.difference, test.p, test.p_holm
        rows.append(
            (
                Shown(test.name),
                Shown(str(test.n_positive), value=float(test.n_positive)),
                Shown(NONE if d is None else f"{d:+.4f}", p_holm is not None and p_holm <= alpha, value=d),
                Shown(NONE if p is None else show_p(p), value=p),
                Shown(NONE if p_holm is None else show_p(p_holm), value=p_holm),
            )
        )
    header = ("label", "positive test rows", f"{found.metric}: {found.control} ahead by", "p", "p (Holm)")
    title = f"{found.control} against {found.method} on {found.dataset}, label by label"
    return Grid(title, header, "lrrrr", tuple(rows), tuple(say_labels(found, alpha)))


def show_p(value: float) -> str:
    """Return a p-value as a cell shows it."""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"
