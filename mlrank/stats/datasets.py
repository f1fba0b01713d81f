"""Methods compared over several data sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.stats.bayes import Beliefs, bayes_signed_rank
from mlrank.stats.exact import exact_friedman_p
from mlrank.stats.gather import Repeats
from mlrank.stats.paired import Interval, SignedRank, hodges_lehmann, signed_rank
from mlrank.stats.ranks import Friedman, critical_difference, friedman, groups, holm, nemenyi, ranks_of, z_tests

__all__ = ["AgainstControl", "DatasetPair", "OverDatasets", "compare_datasets"]


@dataclass(frozen=True)
class AgainstControl:
    """A method's mean rank against the control's: z-test, corrected by Holm over all methods but the control."""

    method: str
    rank_difference: float
    z: float
    p: float
    p_holm: float


@dataclass(frozen=True)
class DatasetPair:
    """Two methods over the data sets; differences are first minus second, turned so that above 0 the first is better.

    Parameters
    ----------
    difference : Interval
        Hodges-Lehmann estimate.
    wilcoxon : SignedRank or None
        None if the two are equal everywhere.
    p_holm : float or None
        Wilcoxon's p, corrected over all pairs.
    p_nemenyi : float or None
        None for two methods.
    beliefs : Beliefs
        Bayesian signed-rank test.
    """

    first: str
    second: str
    difference: Interval
    wilcoxon: SignedRank | None
    p_holm: float | None
    p_nemenyi: float | None
    beliefs: Beliefs


@dataclass(frozen=True, repr=False)
class OverDatasets:
    """One metric of several methods over several data sets.

    Parameters
    ----------
    scores, ranks : (n_datasets, n_methods), means over the splits, and ranks with 1 = best
    mean_ranks : (n_methods,)
    friedman : Friedman or None
        None for two methods, or if all are tied everywhere.
    exact_p : float or None
        Of Friedman's statistic, over all orders of the ranks; None where there is no test or too many orders.
    critical_difference : float or None
    groups : sets of methods that Nemenyi's test does not tell apart
    control : str
    control_was_named : bool
        Whether it was named beforehand; otherwise it is the method with the best mean rank.
    rope : float
        Half the width of what counts as practically equal.
    n_equal : int
        On how many data sets all methods are tied.
    """

    metric: str
    higher_is_better: bool
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: FloatArray
    ranks: FloatArray
    mean_ranks: FloatArray
    friedman: Friedman | None
    exact_p: float | None
    alpha: float
    critical_difference: float | None
    groups: tuple[tuple[str, ...], ...]
    control: str
    control_was_named: bool
    against_control: tuple[AgainstControl, ...]
    pairs: tuple[DatasetPair, ...]
    rope: float
    n_equal: int
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        from mlrank.stats.words import say_datasets

        return "\n".join(say_datasets(self))


def compare_datasets(
    found: Sequence[Repeats],
    *,
    control: str | None = None,
    alpha: float = 0.05,
    rope: float = 0.01,
    seed: int = 0,
    against_control: bool = False,
) -> OverDatasets:
    """Compare methods by their means over the splits of each data set.

    Parameters
    ----------
    found : one per data set, two or more, all with the same methods
    control : the method the others are set against; None: the one with the best mean rank
    alpha : level of the tests
    rope : differences from -rope to rope are practically 0
    seed : of the draws of the Bayesian test
    against_control : whether the control's pairs alone are tested, and Holm's correction is over these

    Raises
    ------
    UserError
        If the control is none of the methods.
    ValueError
        For a single data set.
    """
    if len(found) < 2:
        raise ValueError("a comparison over data sets needs two of them")
    methods, metric = found[0].methods, found[0].metric
    check_control(control, methods)
    scores = np.array([repeats.values.mean(axis=0) for repeats in found])
    higher = METRICS[metric].higher_is_better
    ranks = ranks_of(scores, higher)
    mean_ranks = ranks.mean(axis=0)
    n, k = ranks.shape
    overall = friedman(ranks) if k > 2 else None
    difference = critical_difference(n, k, alpha) if overall else None
    place = methods.index(control) if control else int(np.argmin(mean_ranks))
    return OverDatasets(
        metric=metric,
        higher_is_better=higher,
        methods=methods,
        datasets=tuple(repeats.dataset for repeats in found),
        scores=scores,
        ranks=ranks,
        mean_ranks=mean_ranks,
        friedman=overall,
        exact_p=exact_friedman_p(ranks) if overall else None,
        alpha=alpha,
        critical_difference=difference,
        groups=()
        if difference is None
        else tuple(tuple(methods[i] for i in g) for g in groups(mean_ranks, difference)),
        control=methods[place],
        control_was_named=control is not None,
        against_control=_against(methods, mean_ranks, place, n) if overall else (),
        pairs=_pairs(
            methods,
            pairs_of(k, place if against_control else None),
            scores if higher else -scores,
            mean_ranks if overall else None,
            alpha,
            rope,
            seed,
        ),
        rope=rope,
        n_equal=int(np.count_nonzero(np.ptp(ranks, axis=1) == 0)),
        notes=tuple(note for repeats in found for note in repeats.notes),
    )


def check_control(control: str | None, methods: Sequence[str]) -> None:
    """Raise a UserError unless the control is one of the methods, or None."""
    if control is not None and control not in methods:
        raise UserError(unknown_name("control", control, methods))


def _against(methods: Sequence[str], mean_ranks: FloatArray, place: int, n: int) -> tuple[AgainstControl, ...]:
    z, p = z_tests(mean_ranks, place, n)
    others = [i for i in range(len(methods)) if i != place]
    corrected = holm([float(p[i]) for i in others])
    return tuple(
        AgainstControl(methods[i], float(mean_ranks[i] - mean_ranks[place]), float(z[i]), float(p[i]), after)
        for i, after in zip(others, corrected, strict=True)
    )


def pairs_of(n_methods: int, control: int | None) -> list[tuple[int, int]]:
    """Return all pairs of places, or those of the control alone."""
    pairs = combinations(range(n_methods), 2)
    return [pair for pair in pairs if control is None or control in pair]


def _pairs(
    methods: Sequence[str],
    places: Sequence[tuple[int, int]],
    turned: FloatArray,
    mean_ranks: FloatArray | None,
    alpha: float,
    rope: float,
    seed: int,
) -> tuple[DatasetPair, ...]:
    tests = [signed_rank(turned[:, i] - turned[:, j]) for i, j in places]
    corrected = iter(holm([test.p for test in tests if test]))
    apart = None if mean_ranks is None else nemenyi(mean_ranks, turned.shape[0])
    pairs = []
    for (i, j), test in zip(places, tests, strict=True):
        d = turned[:, i] - turned[:, j]
        interval, beliefs = hodges_lehmann(d, 1 - alpha), bayes_signed_rank(d, rope, seed)
        p_nemenyi = None if apart is None else float(apart[i, j])
        p_holm = next(corrected) if test else None
        pairs.append(DatasetPair(methods[i], methods[j], interval, test, p_holm, p_nemenyi, beliefs))
    return tuple(pairs)
