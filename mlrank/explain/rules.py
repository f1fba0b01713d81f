"""How other packages take the cases that the definition of a metric leaves open, and the value under their rules.

scikit-learn 1.9 was run; Mulan and MEKA are as the code in their public repositories has it (mulan.evaluation and
meka.core.Metrics), not every release alike. Where a package has no such metric, or one that is not the same beyond the
open cases, no value is given.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.metrics import METRICS
from mlrank.metrics.rankings import Rankings
from mlrank.metrics.sets import Confusion, average, ratio

__all__ = ["PACKAGES", "Rule", "rules_of", "value_under"]

PACKAGES = ("mlrank", "scikit-learn", "Mulan", "MEKA")

Own = Callable[[Confusion], float]


@dataclass(frozen=True)
class Rule:
    """What a package does in the open cases of a metric.

    Parameters
    ----------
    words : str
    arguments : dict or None
        For the metric's function; None where no value can be given.
    strict : bool
        Whether one undefined term makes the whole value undefined.
    ties : {"", "later", "earlier"}
        Of labels with equal scores, the one whose column is later (or earlier) ranks higher; "": ties are kept.
    own : function of the counts, optional
        Takes the place of the metric's function.
    """

    words: str
    arguments: Mapping[str, object] | None = field(default_factory=dict)
    strict: bool = False
    ties: str = ""
    own: Own | None = None


def _mulan_macro(part: str) -> Own:
    """Return precision or recall over labels: 1 for a label neither true nor predicted, 0 where it is 0/0 otherwise."""

    def compute(counts: Confusion) -> float:
        label = counts.by_label
        neither = (label.predicted + label.relevant) == 0
        terms = ratio(label.hits, getattr(label, part))
        terms = np.where(neither, 1.0, np.where(np.isnan(terms), 0.0, terms))
        return average(terms, "labels", math.nan).value

    return compute


def _mulan_micro(part: str) -> Own:
    def compute(counts: Confusion) -> float:
        hits, predicted, relevant = (int(count[0]) for count in counts.pooled)
        if predicted + relevant == 0:
            return 1.0
        divisor = predicted if part == "predicted" else relevant
        return hits / divisor if divisor else 0.0

    return compute


_ABSENT = Rule("has no such metric", None)
_SAME = Rule("the same")
_ZERO = Rule("0 where it is undefined", {"empty": 0.0})
_ONE = Rule("1 where both sets are empty", {"empty": 1.0})
_NEITHER = "1 where nothing is true and nothing predicted, 0 where only its divisor is 0"
_STRICT = Rule("undefined as soon as one term is", strict=True)
_WEKA = Rule("Weka's area of each label: undefined as soon as one label has one class", strict=True)
_ODD_RANKS = "takes positions of a sorting for ranks, so it is another quantity; a row without relevant labels counts 1"

# Per metric: scikit-learn, Mulan, MEKA.
_RULES: dict[str, tuple[Rule, Rule, Rule]] = {
    "f1_macro": (_ZERO, Rule("1 for a label neither present nor predicted", {"empty": 1.0}), _ZERO),
    "f1_micro": (_ZERO, Rule("1 if nothing is true and nothing predicted", {"empty": 1.0}), _ZERO),
    "f1_samples": (_ZERO, _ONE, Rule("0 where both sets are empty", {"empty": 0.0})),
    "precision_macro": (
        _ZERO,
        Rule(_NEITHER, own=_mulan_macro("predicted")),
        Rule("divides the sum over labels by the number of rows, so it is another quantity", None),
    ),
    "recall_macro": (
        _ZERO,
        Rule(_NEITHER, own=_mulan_macro("relevant")),
        Rule("divides the sum over labels by the number of rows, so it is another quantity", None),
    ),
    "precision_micro": (_ZERO, Rule(_NEITHER, own=_mulan_micro("predicted")), _ZERO),
    "recall_micro": (_ZERO, Rule(_NEITHER, own=_mulan_micro("relevant")), _ZERO),
    "jaccard_samples": (_ZERO, Rule("not looked up", None), _ONE),
    "subset_accuracy": (_SAME, _SAME, _SAME),
    "hamming_loss": (_SAME, _SAME, _SAME),
    "auc_macro": (_STRICT, _WEKA, _WEKA),
    "auc_micro": (_SAME, _SAME, _ABSENT),
    "auc_samples": (_STRICT, _ABSENT, _ABSENT),
    "map_macro": (
        Rule("0 for a label without positives", {"empty": 0.0}),
        Rule("not looked up", None),
        Rule("Weka's area under the precision-recall curve, which is another quantity", None),
    ),
    "lrap": (
        Rule("1 for a row without relevant labels", {"empty": 1.0}),
        Rule("rows without relevant labels are left out; of tied labels the later column ranks higher", ties="later"),
        Rule(_ODD_RANKS, None),
    ),
    "ranking_loss": (
        Rule("0 for a row without pairs; a tied pair counts in full", {"empty": 0.0, "tie": 1.0}),
        Rule("0 for a row without pairs; of tied labels the later column ranks higher", {"empty": 0.0}, ties="later"),
        Rule(
            "0 for a row without pairs; a tied pair counts by the order of an unstable sorting, one half here",
            {"empty": 0.0, "tie": 0.5},
        ),
    ),
    "one_error": (
        _ABSENT,
        Rule(
            "a row without relevant labels is an error; of tied labels the later column is first",
            {"empty": 1.0},
            ties="later",
        ),
        Rule(
            "a row without relevant labels is an error; of tied labels the earlier column is first",
            {"empty": 1.0},
            ties="earlier",
        ),
    ),
    "coverage": (
        Rule("0 for a row without relevant labels; depth counts from 1", {"empty": 0.0, "first": 1}),
        Rule(
            "0 for a row without relevant labels; depth counts from 0; of tied labels the later column ranks higher",
            {"empty": 0.0, "first": 0},
            ties="later",
        ),
        _ABSENT,
    ),
    "brier": (Rule("of one label at a time: brier_score_loss", None), _ABSENT, _ABSENT),
    "log_loss": (Rule("of one label at a time", None), _ABSENT, Rule("not looked up", None)),
    **{
        f"ndcg_at_{k}": (Rule("0 for a row without relevant labels", {"empty": 0.0}), _ABSENT, _ABSENT)
        for k in (1, 3, 5)
    },
}


def rules_of(metric: str) -> dict[str, Rule]:
    """Return the rule of each of PACKAGES; ours is the definition itself."""
    others = _RULES.get(metric, (_ABSENT, _ABSENT, _ABSENT))
    return dict(zip(PACKAGES, (Rule("as defined above"), *others), strict=True))


def value_under(
    rule: Rule, metric: str, Y: BoolArray, predicted: BoolArray | FloatArray, known: BoolArray | None = None
) -> float | None:
    """Return the value of a metric under a rule; NaN where it is undefined, None where the rule has none.

    Parameters
    ----------
    Y, predicted : (n_samples, n_labels), true label sets, and scores or label sets as the metric needs
    known : (n_samples, n_labels) bool ndarray, optional
        Which entries of `Y` count; the packages know no such mask, so it is applied before their rules.
    """
    if rule.arguments is None:
        return None
    kind = METRICS[metric]
    if kind.needs == "sets":
        counts = Confusion(Y, np.asarray(predicted, dtype=np.bool_), known)
        if rule.own is not None:
            return rule.own(counts)
        return kind.function(Y, counts, **rule.arguments).value
    scores = np.asarray(predicted, dtype=np.float64)
    found = kind.function(Y, Rankings(Y, _untied(scores, rule.ties), known), **rule.arguments)
    return math.nan if rule.strict and found.n_defined < found.n_total else found.value


def _untied(scores: FloatArray, ties: str) -> FloatArray:
    """Return scores in the same order, without ties: of equal ones the later or the earlier column is larger."""
    if not ties:
        return scores
    step = 1 if ties == "later" else -1
    order = np.argsort(scores[:, ::step], axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")[:, ::step]
    return np.asarray(place, dtype=np.float64)
