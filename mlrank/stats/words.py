"""What comparisons found, in plain sentences that may be quoted; every one names its test and its numbers."""

from collections.abc import Iterator, Sequence

from mlrank.stats.bayes import PRIOR_STRENGTH, Beliefs
from mlrank.stats.datasets import DatasetPair, OverDatasets
from mlrank.stats.paired import Interval, ResampledT
from mlrank.stats.splits import LabelTests, OverSplits, SplitPair

__all__ = ["cautions_of_datasets", "cautions_of_splits", "say_datasets", "say_labels", "say_p", "say_splits"]

# Below so many data sets the chi-square distribution of Friedman's statistic is a rough guide (Demsar 2006).
FEW_DATASETS = 10


def say_p(p: float) -> str:
    """Return a p-value in words.

    >>> say_p(0.0312), say_p(0.00002), say_p(1.0)
    ('p = 0.031', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def say_datasets(found: OverDatasets) -> Iterator[str]:
    """Yield the sentences on methods over several data sets."""
    n = len(found.datasets)
    if found.n_equal == n:
        yield f"All methods have the same {found.metric} on every data set: there is nothing to test."
        return
    if found.friedman:
        test = found.friedman
        # F's own p is 0 as soon as all data sets agree, were they only two: the exact one counts where there is one.
        p = test.f_p if found.exact_p is None else found.exact_p
        differ = "differ" if p <= found.alpha else "are not shown to differ"
        f_test = f"F({test.f_df[0]}, {test.f_df[1]}) = {test.f:.2f}, {say_p(test.f_p)}"
        exact = "" if found.exact_p is None else f"; exact {say_p(found.exact_p)}"
        yield (
            f"Over {n} data sets the {len(found.methods)} methods {differ} in {found.metric} "
            f"(Friedman chi2({test.df}) = {test.chi2:.2f}, {say_p(test.p)}; Iman-Davenport {f_test}{exact})."
        )
    order = sorted(range(len(found.methods)), key=lambda place: float(found.mean_ranks[place]))
    ranks = ", ".join(f"{found.methods[place]} {found.mean_ranks[place]:.2f}" for place in order)
    yield f"Mean ranks (1 = best): {ranks}."
    if found.critical_difference is not None:
        yield (
            f"By Nemenyi's test at {found.alpha:g} two methods differ if their mean ranks are "
            f"{found.critical_difference:.2f} or more apart (critical difference); {_grouped(found)}."
        )
        yield from _against(found)
    for pair in found.pairs:
        yield _dataset_pair(pair, found)


def _grouped(found: OverDatasets) -> str:
    if not found.groups:
        return "all methods differ"
    if len(found.groups) == 1 and len(found.groups[0]) == len(found.methods):
        return "no two methods do"
    return "not significantly different are " + "; ".join(_listed(group) for group in found.groups)


def _listed(names: Sequence[str]) -> str:
    """Return names as a list in words: "A, B and C"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _against(found: OverDatasets) -> Iterator[str]:
    how = "named beforehand" if found.control_was_named else "the best mean rank, so chosen by the same data"
    parts = []
    for test in found.against_control:
        side = "worse" if test.rank_difference > 0 else "better"
        verdict = f"ranks {side}" if test.p_holm <= found.alpha else "is not shown to differ"
        parts.append(f"{test.method} {verdict} ({say_p(test.p_holm)})")
    yield f"Against the control {found.control} ({how}), by the z-test on mean ranks with Holm: {', '.join(parts)}."


def _dataset_pair(pair: DatasetPair, found: OverDatasets) -> str:
    if pair.wilcoxon is None or pair.p_holm is None:
        return f"{pair.first} and {pair.second} have the same {found.metric} on every data set."
    test, n = pair.wilcoxon, len(found.datasets)
    turned = test.effect < 0
    ahead, behind = (pair.second, pair.first) if turned else (pair.first, pair.second)
    wins, losses = (test.losses, test.wins) if turned else (test.wins, test.losses)
    ties = f", {test.ties} tied" if test.ties else ""
    verdict, advantage = _verdict(ahead, behind, pair.p_holm, found.alpha), _advantage(ahead, pair.difference, turned)
    return (
        f"{verdict}: {ahead} is ahead on {wins} of {n} data sets, {behind} on {losses}{ties} (Wilcoxon signed-rank, "
        f"{say_p(test.p)}{_holm(pair.p_holm, len(found.pairs))}; rank-biserial correlation {abs(test.effect):.2f}); "
        f"typical {advantage}. {_beliefs(pair.beliefs, ahead, behind, turned, found.rope, _SIGNED_RANK)}"
    )


_SIGNED_RANK = f"Bayesian signed-rank test, prior weight {PRIOR_STRENGTH:g} at no difference"
_CORRELATED_T = "Bayesian correlated t-test"


def _verdict(ahead: str, behind: str, p: float, alpha: float) -> str:
    return f"{ahead} is better than {behind}" if p <= alpha else f"{ahead} is not shown to be better than {behind}"


def _holm(p: float, n_pairs: int) -> str:
    return f", {say_p(p)} after Holm over {n_pairs} pairs" if n_pairs > 1 else ""


def _advantage(ahead: str, found: Interval | ResampledT, turned: bool) -> str:
    """Say how far ahead a method is; `turned` if the numbers are those of the other one."""
    sign = -1.0 if turned else 1.0
    value = sign * (found.estimate if isinstance(found, Interval) else found.mean)
    if found.low is None or found.high is None:
        return f"advantage of {ahead} {value:.4g}, too few values for a {found.level:.0%} interval"
    low, high = sorted((sign * found.low, sign * found.high))
    return f"advantage of {ahead} {value:.4g} ({found.level:.0%} interval {low:.4g} to {high:.4g})"


def _beliefs(found: Beliefs, ahead: str, behind: str, turned: bool, rope: float, how: str) -> str:
    better, worse = (found.second, found.first) if turned else (found.first, found.second)
    odds = f"{ahead} better {better:.2f}, practically equal {found.equal:.2f}, {behind} better {worse:.2f}"
    return f"Probabilities, differences up to {rope:g} counting as none: {odds} ({how})."


def cautions_of_datasets(found: OverDatasets) -> Iterator[str]:
    """Yield what the reader of the sentences must know."""
    n = len(found.datasets)
    smallest = 2.0 ** (1 - n)
    if smallest > found.alpha:
        yield f"{n} data sets: Wilcoxon's p cannot be below {smallest:.2g}, whatever the scores"
    if found.friedman and n < FEW_DATASETS:
        rest = "" if found.exact_p is None else ", the exact one apart,"
        yield f"{n} data sets: the p-values of the tests on ranks{rest} are rough with fewer than {FEW_DATASETS}"
    if 0 < found.n_equal < n:
        yield f"all methods are tied on {found.n_equal} of {n} data sets"
    if len(found.methods) == 2:
        yield "two methods: the tests on ranks of three and more are left out"
    yield from found.notes


def say_splits(found: OverSplits) -> Iterator[str]:
    """Yield the sentences on methods over the splits of one data set."""
    n = len(found.splits)
    means = found.values.mean(axis=0)
    order = sorted(
        range(len(means)), key=lambda place: float(-means[place] if found.higher_is_better else means[place])
    )
    listed = ", ".join(f"{found.methods[place]} {means[place]:.4f}" for place in order)
    over = "1 split" if n == 1 else f"mean over {n} splits"
    yield f"On {found.dataset}, {found.metric} ({over}): {listed}."
    if n == 1:
        only = found.splits[0]
        yield f"One split ({only}) shows no spread over training sets: no test of {found.metric} is possible."
        return
    for pair in found.pairs:
        yield _split_pair(pair, found)


def _split_pair(pair: SplitPair, found: OverSplits) -> str:
    if pair.t is None or pair.p_holm is None:
        if pair.wilcoxon is None:
            return f"{pair.first} and {pair.second} have the same {found.metric} on every split."
        ahead, behind = (pair.first, pair.second) if pair.mean > 0 else (pair.second, pair.first)
        return f"{ahead} is {abs(pair.mean):.4g} ahead of {behind} on every split: without spread there is no test."
    test, turned = pair.t, pair.t.mean < 0
    ahead, behind = (pair.second, pair.first) if turned else (pair.first, pair.second)
    wilcoxon = "" if pair.wilcoxon is None else f"; Wilcoxon signed-rank {say_p(pair.wilcoxon.p)}"
    beliefs = ""
    if pair.beliefs is not None:
        beliefs = " " + _beliefs(pair.beliefs, ahead, behind, turned, found.rope, _CORRELATED_T)
    verdict, advantage = _verdict(ahead, behind, pair.p_holm, found.alpha), _advantage(ahead, test, turned)
    return (
        f"{verdict}: mean {advantage} (corrected resampled t({test.df}) = {abs(test.t):.2f}, "
        f"{say_p(test.p)}{_holm(pair.p_holm, len(found.pairs))}{wilcoxon}).{beliefs}"
    )


def cautions_of_splits(found: OverSplits) -> Iterator[str]:
    """Yield what the reader of the sentences must know."""
    if len(found.splits) > 1:
        yield (
            f"splits share training rows: the t-test counts {found.test_share:.3g} test rows for each training row "
            "(Nadeau & Bengio); Wilcoxon's p takes splits as independent and is too small"
        )
    yield from found.notes


def say_labels(found: LabelTests, alpha: float) -> Iterator[str]:
    """Yield the sentences on a method against the control, label by label."""
    tested = sum(test.p is not None for test in found.labels)
    n = len(found.labels)
    if not tested:
        yield f"{found.control} against {found.method}, label by label on {found.dataset}: no label can be tested."
        return
    how = {
        "t": f"corrected resampled t-test on each label's {found.metric}",
        "mcnemar": "McNemar's exact test on the rows got right, for these two fits and no other training rows",
    }[found.test]
    untested = f", {n - tested} cannot be tested" if tested < n else ""
    left = tested - found.n_better - found.n_worse
    yield (
        f"{found.control} against {found.method}, label by label on {found.dataset}: better on {found.n_better} of {n} "
        f"labels, worse on {found.n_worse}, no difference shown on {left}{untested} ({how}, Holm over {tested} labels, "
        f"level {alpha:g})."
    )
