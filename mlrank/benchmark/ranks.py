"""Methods of the benchmark by mean rank: over the data sets on which all of them have results, and how firm that is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.benchmark.pieces import is_tuned, method_and_cut
from mlrank.metrics import METRICS
from mlrank.records import RunRecord
from mlrank.stats.ranks import critical_difference, friedman, groups, ranks_of

__all__ = ["Ranked", "ranked", "tau"]

ALPHA = 0.05


@dataclass(frozen=True)
class Ranked:
    """Mean ranks in one metric with one cut.

    Parameters
    ----------
    metric : str
    cut : "natural" or "tuned"
    methods, datasets : tuple of str
        Those that are compared, methods in the order of their mean ranks.
    scores : (n_datasets, n_methods), means over the splits
    mean_ranks : (n_methods,), 1 = best
    p : float or None
        Of Friedman's test by F; None for fewer than two data sets or three methods, or if all are tied.
    difference : float or None
        Nemenyi's critical difference; None where there is no test.
    groups : sets of methods that Nemenyi's test does not tell apart
    without : (n_datasets, n_methods)
        Mean ranks with each data set left out; None for fewer than two.
    left_out : tuple of str
        Methods and data sets that are not compared, and why.
    """

    metric: str
    cut: str
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: FloatArray
    mean_ranks: FloatArray
    p: float | None
    difference: float | None
    groups: tuple[tuple[str, ...], ...]
    without: FloatArray | None
    left_out: tuple[str, ...]


def ranked(records: Sequence[RunRecord], metric: str, cut: str, undefined: float | None = None) -> Ranked | None:
    """Return the mean ranks of the methods; None where nothing can be compared.

    A method has a score on a data set if it has one on every split. Where one is missing, the method or data set with
    the largest share of missing scores is left out, until none is missing; methods that fail often are so not compared
    by the data sets on which they do not.

    Parameters
    ----------
    records : of both cuts
    metric : name of a metric
    cut : "natural" or "tuned"
    undefined : float or None
        What an undefined term of a mean counts, by the convention of other packages; None: it is left out.
    """
    mine = [one for one in records if is_tuned(one) == (cut == "tuned")]
    datasets = list(dict.fromkeys(one.dataset.name for one in mine))
    methods = list(dict.fromkeys(method_and_cut(one)[0] for one in mine))
    scores = _scores(mine, metric, datasets, methods, undefined)
    rows, columns, left_out = _complete(scores, datasets, methods)
    if not rows or len(columns) < 2:
        return None
    scores = scores[np.ix_(rows, columns)]
    ranks = ranks_of(scores, METRICS[metric].higher_is_better)
    mean = ranks.mean(axis=0)
    order = np.argsort(mean, kind="stable")
    n, k = ranks.shape
    test = friedman(ranks) if n > 1 and k > 2 else None
    difference = critical_difference(n, k, ALPHA) if test else None
    names = tuple(methods[columns[place]] for place in order)
    mean = mean[order]
    together = () if difference is None else tuple(tuple(names[i] for i in one) for one in groups(mean, difference))
    without = None if n < 2 else (ranks.sum(axis=0)[order] - ranks[:, order]) / (n - 1)
    kept = tuple(datasets[row] for row in rows)
    p = None if test is None else float(test.f_p)
    return Ranked(metric, cut, names, kept, scores[:, order], mean, p, difference, together, without, left_out)


def _scores(
    records: Sequence[RunRecord],
    metric: str,
    datasets: Sequence[str],
    methods: Sequence[str],
    undefined: float | None,
) -> FloatArray:
    """Return the mean of each method over the splits of each data set, NaN where a split has no value."""
    found: dict[tuple[str, str], dict[str, float | None]] = {}
    splits: dict[str, set[str]] = {}
    for one in records:
        found.setdefault((one.dataset.name, method_and_cut(one)[0]), {})[one.split] = _value(one, metric, undefined)
        splits.setdefault(one.dataset.name, set()).add(one.split)
    scores = np.full((len(datasets), len(methods)), np.nan)
    for (dataset, method), by_split in found.items():
        values = [value for value in by_split.values() if value is not None]
        if len(values) == len(splits[dataset]):
            scores[datasets.index(dataset), methods.index(method)] = float(np.mean(values))
    return scores


def _value(record: RunRecord, metric: str, undefined: float | None) -> float | None:
    measured = record.metrics.get(metric)
    if measured is None or undefined is None:
        return record.value(metric)
    lacking = measured.n_total - measured.n_defined
    return ((measured.value or 0.0) * measured.n_defined + undefined * lacking) / measured.n_total


def _complete(
    scores: FloatArray, datasets: Sequence[str], methods: Sequence[str]
) -> tuple[list[int], list[int], tuple[str, ...]]:
    """Return the data sets and methods of a part without missing scores, and what was left out."""
    rows, columns, left_out = list(range(len(datasets))), list(range(len(methods))), []
    while rows and columns and np.isnan(part := scores[np.ix_(rows, columns)]).any():
        by_row, by_column = np.isnan(part).mean(axis=1), np.isnan(part).mean(axis=0)
        if by_row.max() > by_column.max():
            name = datasets[rows.pop(int(by_row.argmax()))]
            left_out.append(f"{name}: {by_row.max():.0%} of the methods have no result on all splits")
        else:
            name = methods[columns.pop(int(by_column.argmax()))]
            left_out.append(f"{name}: no result on all splits of {by_column.max():.0%} of the data sets")
    return rows, columns, tuple(left_out)


def tau(one: Ranked, other: Ranked) -> float | None:
    """Return Kendall's tau-b of two orders of the methods that both have; None where that is not defined."""
    from scipy.stats import kendalltau

    shared = [name for name in one.methods if name in other.methods]
    if len(shared) < 2:
        return None
    first, second = ([found.mean_ranks[found.methods.index(name)] for name in shared] for found in (one, other))
    value = float(kendalltau(first, second).statistic)
    return None if np.isnan(value) else value
