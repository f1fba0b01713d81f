"""Comparisons in several metrics on one page: a row for each metric, a column for each method, and the test of all."""

from collections.abc import Iterator, Sequence

import numpy as np

from mlrank.stats import OverDatasets, OverSplits, cautions_of_datasets, cautions_of_splits
from mlrank.tables.arrange import NONE, Grid, Shown
from mlrank.tables.columns import arrow
from mlrank.tables.compared import show_p

__all__ = ["overview_of_datasets", "overview_of_splits"]


def overview_of_datasets(found: Sequence[OverDatasets]) -> Grid:
    """Return the mean rank of each method in each metric, and whether the methods differ."""
    methods = tuple(dict.fromkeys(name for over in found for name in over.methods))
    rows = []
    for over in found:
        ranks = dict(zip(over.methods, map(float, over.mean_ranks), strict=True))
        texts = {name: f"{rank:.2f}" for name, rank in ranks.items()}
        cells = _cells(methods, ranks, texts, min(ranks.values()), _apart(over))
        rows.append((Shown(arrow(over.metric)), *cells, _p(_overall(over))))
    pair = all(len(over.methods) == 2 for over in found)
    test = "Wilcoxon's signed-rank test" if pair else "Friedman's test, exact where that can be counted, else by F"
    how = "Wilcoxon's test" if pair else "the z-test on mean ranks"
    datasets = tuple(dict.fromkeys(name for over in found for name in over.datasets))
    notes = (
        "mean ranks, 1 = best; bold: the best of its row",
        f"p: of {test}",
        _star(found[0], f"{how}, Holm"),
        *_once(cautions_of_datasets(over) for over in found),
    )
    title = f"{_metrics(len(found))} over {len(datasets)} data sets: {', '.join(datasets)}"
    header = ("metric", *methods, f"p ({'Wilcoxon' if pair else 'Friedman'})")
    return Grid(title, header, "l" + "r" * (len(methods) + 1), tuple(rows), _general(notes, found))


def overview_of_splits(found: Sequence[OverSplits]) -> Grid:
    """Return the mean of each method in each metric over the splits of one data set, and whether the first leads."""
    methods = tuple(dict.fromkeys(name for over in found for name in over.methods))
    rows = []
    for over in found:
        means = dict(zip(over.methods, map(float, over.values.mean(axis=0)), strict=True))
        texts = {name: f"{mean:.4f}" for name, mean in means.items()}
        best = max(means.values()) if over.higher_is_better else min(means.values())
        cells = _cells(methods, means, texts, best, _apart(over))
        rows.append((Shown(arrow(over.metric)), *cells, _p(_lead(over))))
    first, n = found[0], max(len(over.splits) for over in found)
    remark: tuple[str, ...] = ("one split shows no spread over training sets: nothing is tested",)
    if n > 1:
        remark = (
            "p: of the corrected resampled t-test of the best against the second, Holm over all pairs",
            _star(first, "corrected resampled t-test, Holm"),
        )
    notes = ("means; bold: the best of its row", *remark, *_once(cautions_of_splits(over) for over in found))
    title = f"{_metrics(len(found))} on {first.dataset}, {n} split{'s'[: n > 1]}"
    return Grid(title, ("metric", *methods, "p"), "l" + "r" * (len(methods) + 1), tuple(rows), _general(notes, found))


def _cells(
    methods: Sequence[str], values: dict[str, float], texts: dict[str, str], best: float, apart: set[str]
) -> Iterator[Shown]:
    """Yield the cells of a row, with a star behind what differs."""
    for name in methods:
        if name in values:
            yield Shown(texts[name] + "*" * (name in apart), values[name] == best, value=values[name])
        else:
            yield Shown(NONE)


def _apart(over: OverDatasets | OverSplits) -> set[str]:
    """Return the methods that are shown to differ from the control, be they better or worse."""
    if isinstance(over, OverDatasets) and over.against_control:
        return {test.method for test in over.against_control if test.p_holm <= over.alpha}
    beside = [pair for pair in over.pairs if over.control in (pair.first, pair.second)]
    different = [pair for pair in beside if pair.p_holm is not None and pair.p_holm <= over.alpha]
    return {pair.second if pair.first == over.control else pair.first for pair in different}


def _overall(over: OverDatasets) -> float | None:
    if over.friedman:
        return over.friedman.f_p if over.exact_p is None else over.exact_p
    only = over.pairs[0].wilcoxon if len(over.pairs) == 1 else None
    return only.p if only else None


def _lead(over: OverSplits) -> float | None:
    """Return p of the best method against the second."""
    means = over.values.mean(axis=0)
    order = np.argsort(-means if over.higher_is_better else means, kind="stable")
    ahead = {over.methods[place] for place in order[:2]}
    return next(pair.p_holm for pair in over.pairs if {pair.first, pair.second} == ahead)


def _metrics(n: int) -> str:
    return f"{n} metric{'s'[: n > 1]}"


def _p(value: float | None) -> Shown:
    return Shown(NONE) if value is None else Shown(show_p(value), value=value)


def _star(over: OverDatasets | OverSplits, how: str) -> str:
    other = f"the control {over.control}" if over.control_was_named else "the best"
    return f"* differs from {other} at {over.alpha:g} ({how})"


def _once(groups: Iterator[Iterator[str]]) -> Iterator[str]:
    yield from dict.fromkeys(line for lines in groups for line in lines)


def _general(notes: Sequence[str], found: Sequence[OverDatasets] | Sequence[OverSplits]) -> tuple[str, ...]:
    """Return the notes, but instead of those on single metrics and data sets, which may be many, how many they are."""
    single = {note for over in found for note in over.notes}
    kept = tuple(note for note in notes if note not in single)
    n = len(single)
    return (*kept, f"{n} note{'s'[: n > 1]} on single metrics and data sets left to the details") if n else kept
