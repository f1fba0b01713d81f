"""Methods compared over the repeats of one data set, and label by label."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlrank.arrays import FloatArray, IntArray
from mlrank.errors import UserError
from mlrank.metrics import METRICS, measure, own_names
from mlrank.records.run import RunRecord
from mlrank.stats.bayes import Beliefs, bayes_t
from mlrank.stats.datasets import check_control, pairs_of
from mlrank.stats.gather import Repeats
from mlrank.stats.paired import ResampledT, SignedRank, mcnemar, resampled_t, signed_rank
from mlrank.stats.ranks import holm
from mlrank.stored import Arrays

__all__ = ["LabelTest", "LabelTests", "OverSplits", "SplitPair", "by_label", "compare_labels", "compare_splits"]


@dataclass(frozen=True)
class SplitPair:
    """Two methods on the same splits; differences are first minus second, turned so that above 0 the first is better.

    Parameters
    ----------
    mean : float
        Of the differences.
    t : ResampledT or None
        None for one split or differences that are all the same.
    p_holm : float or None
        The p of `t`, corrected over all pairs.
    wilcoxon : SignedRank or None
        None for one split, or if all differences are 0.
    beliefs : Beliefs or None
        Bayesian version of `t`.
    """

    first: str
    second: str
    mean: float
    t: ResampledT | None
    p_holm: float | None
    wilcoxon: SignedRank | None
    beliefs: Beliefs | None


@dataclass(frozen=True, repr=False)
class OverSplits:
    """One metric of several methods over the splits of one data set.

    Parameters
    ----------
    values : (n_splits, n_methods)
    test_share : float
        Test rows for each training row, of the corrected t-test.
    control : str
        As in `OverDatasets`, by the means.
    """

    dataset: str
    metric: str
    higher_is_better: bool
    methods: tuple[str, ...]
    splits: tuple[str, ...]
    values: FloatArray
    test_share: float
    alpha: float
    rope: float
    control: str
    control_was_named: bool
    pairs: tuple[SplitPair, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        from mlrank.stats.words import say_splits

        return "\n".join(say_splits(self))


@dataclass(frozen=True)
class LabelTest:
    """Two methods on one label, by its number and name: the mean difference in its metric, p before and after Holm.

    `p` is None where no test is possible.
    """

    label: int
    name: str
    n_positive: int
    difference: float | None
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class LabelTests:
    """A method against the control, label by label.

    Parameters
    ----------
    metric : str
        Of which the differences are, control's minus the method's, turned so that above 0 the control is better;
        "accuracy" is the share of rows got right.
    test : str
        "t" (corrected, over the splits) or "mcnemar" (rows got right, on a single split).
    labels : tuple of LabelTest
    n_better, n_worse : int
        Labels on which the control is better, and worse, at the level alpha after Holm.
    """

    dataset: str
    control: str
    method: str
    metric: str
    test: str
    labels: tuple[LabelTest, ...]
    n_better: int
    n_worse: int


def compare_splits(
    repeats: Repeats,
    *,
    control: str | None = None,
    alpha: float = 0.05,
    rope: float = 0.01,
    against_control: bool = False,
) -> OverSplits:
    """Compare methods over the splits of one data set; on a single split no test is made.

    Parameters
    ----------
    control : the method that others are set against; None: the best
    alpha : level of intervals
    rope : differences up to this are none in practice
    against_control : bool
        Whether the control's pairs alone are tested, and Holm's correction is over these, rather than all pairs.

    Raises
    ------
    UserError
        If the control is none of the methods.
    """
    check_control(control, repeats.methods)
    higher = METRICS[repeats.metric].higher_is_better
    turned = repeats.values if higher else -repeats.values
    place = repeats.methods.index(control) if control else int(np.argmax(turned.mean(axis=0)))
    return OverSplits(
        dataset=repeats.dataset,
        metric=repeats.metric,
        higher_is_better=higher,
        methods=repeats.methods,
        splits=repeats.splits,
        values=repeats.values,
        test_share=repeats.test_share,
        alpha=alpha,
        rope=rope,
        control=repeats.methods[place],
        control_was_named=control is not None,
        pairs=_pairs(repeats, turned, alpha, rope, place if against_control else None),
        notes=repeats.notes,
    )


def _pairs(
    repeats: Repeats, turned: FloatArray, alpha: float, rope: float, control: int | None
) -> tuple[SplitPair, ...]:
    """Compare all pairs of methods, or those of the control alone."""
    places = pairs_of(len(repeats.methods), control)
    differences = [turned[:, i] - turned[:, j] for i, j in places]
    tests = [resampled_t(d, repeats.test_share, 1 - alpha) for d in differences]
    corrected = iter(holm([test.p for test in tests if test]))
    pairs = []
    for (i, j), d, test in zip(places, differences, tests, strict=True):
        ranked = signed_rank(d) if d.size > 1 else None
        beliefs = bayes_t(d, repeats.test_share, rope) if test else None
        p_holm = next(corrected) if test else None
        names = repeats.methods[i], repeats.methods[j]
        pairs.append(SplitPair(*names, float(d.mean()), test, p_holm, ranked, beliefs))
    return tuple(pairs)


def compare_labels(
    repeats: Repeats,
    arrays: Callable[[RunRecord], Arrays],
    label_names: Callable[[RunRecord], Sequence[str]],
    control: str,
    alpha: float = 0.05,
) -> list[LabelTests]:
    """Compare the control with each other method label by label, corrected by Holm over the labels.

    Over several splits the differences of the label's own metric are tested (that of a macro-average; F1 or the ROC
    area for other metrics), on one split the rows on which just one of the two is right.

    Parameters
    ----------
    arrays : function from a record to its arrays
    label_names : function from a record to the names of the labels of its data

    Raises
    ------
    UserError
        If the arrays of two methods are on different rows.
    """
    own = bool(own_names([repeats.metric]))  # which has no values of single labels
    metric = repeats.metric
    if own or not metric.endswith("_macro"):
        metric = _OF_LABELS[METRICS[metric].needs]
    stored = [{method: dict(arrays(record)) for method, record in by_method.items()} for by_method in repeats.records]
    single = len(stored) == 1
    names = label_names(repeats.records[0][control])
    found = []
    for method in repeats.methods:
        if method == control:
            continue
        tests = (
            _one_split(stored[0], control, method, names)
            if single
            else _over(stored, repeats, control, method, metric, names)
        )
        corrected = iter(holm([test.p for test in tests if test.p is not None]))
        labels = tuple(test if test.p is None else replace(test, p_holm=next(corrected)) for test in tests)
        shown = [test for test in labels if test.p_holm is not None and test.p_holm <= alpha and test.difference]
        better = sum(test.difference > 0 for test in shown if test.difference is not None)
        what = ("accuracy", "mcnemar") if single else (metric, "t")
        found.append(LabelTests(repeats.dataset, control, method, *what, labels, better, len(shown) - better))
    return found


_OF_LABELS = {"sets": "f1_macro", "scores": "auc_macro"}


def _over(
    stored: Sequence[Mapping[str, Arrays]],
    repeats: Repeats,
    control: str,
    method: str,
    metric: str,
    names: Sequence[str],
) -> list[LabelTest]:
    """Test the differences of each label's metric over the splits on which both have one."""
    sign = METRICS[metric].sign
    values = np.array([[by_label(run[name], metric) for name in (control, method)] for run in stored])
    differences = sign * (values[:, 0] - values[:, 1])
    positives = np.sum([_positives(run[control]) for run in stored], axis=0)
    tests = []
    for label, column in enumerate(differences.T):
        d = column[~np.isnan(column)]
        test = resampled_t(d, repeats.test_share) if d.size > 1 else None
        mean = float(d.mean()) if d.size else None
        tests.append(LabelTest(label, names[label], int(positives[label]), mean, test.p if test else None, None))
    return tests


def _one_split(run: Mapping[str, Arrays], control: str, method: str, names: Sequence[str]) -> list[LabelTest]:
    """Test on which rows just one of the two is right, label by label."""
    ours, theirs = run[control], run[method]
    if not np.array_equal(ours["rows"], theirs["rows"]):
        raise UserError(f"the runs of {control} and {method} are on different test rows")
    known = ours.get("known")
    tests = []
    positives = _positives(ours)
    for label in range(ours["Y_true"].shape[1]):
        rows = slice(None) if known is None else known[:, label]
        truth = ours["Y_true"][rows, label]
        right = [arrays["Y_pred"][rows, label] == truth for arrays in (ours, theirs)]
        only, other, p = mcnemar(right[0], right[1])
        difference = (only - other) / max(1, truth.size)
        tests.append(LabelTest(label, names[label], int(positives[label]), difference, p, None))
    return tests


def _positives(arrays: Arrays) -> IntArray:
    known = arrays.get("known")
    return np.asarray((arrays["Y_true"] if known is None else arrays["Y_true"] & known).sum(axis=0))


def by_label(arrays: Arrays, metric: str) -> FloatArray:
    """Return a macro-averaged metric of each label by itself, NaN where it is undefined."""
    truth, known = arrays["Y_true"], arrays.get("known")
    predicted = arrays["Y_pred" if METRICS[metric].needs == "sets" else "scores"]
    columns = ([label] for label in range(truth.shape[1]))
    return np.array(
        [measure(metric, truth[:, c], predicted[:, c], None if known is None else known[:, c]).value for c in columns]
    )
