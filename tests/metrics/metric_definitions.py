"""The metrics written from their definitions with loops over cells, slow and without any shared code."""

import math
from fractions import Fraction
from itertools import chain, pairwise, permutations


def mean_of_defined(terms):
    defined = [float(term) for term in terms if term is not None]
    value = math.fsum(defined) / len(defined) if defined else math.nan
    return value, len(defined), len(terms)


def divide(a, b):
    return Fraction(a, b) if b else None


def table(true, pred):
    tp = sum(1 for t, p in zip(true, pred, strict=True) if t and p)
    fp = sum(1 for t, p in zip(true, pred, strict=True) if p and not t)
    fn = sum(1 for t, p in zip(true, pred, strict=True) if t and not p)
    return tp, fp, fn


def f1(true, pred):
    tp, fp, fn = table(true, pred)
    return divide(2 * tp, 2 * tp + fp + fn)


def precision(true, pred):
    tp, fp, _ = table(true, pred)
    return divide(tp, tp + fp)


def recall(true, pred):
    tp, _, fn = table(true, pred)
    return divide(tp, tp + fn)


def jaccard(true, pred):
    return divide(table(true, pred)[0], sum(table(true, pred)))


def hamming(true, pred):
    return divide(sum(1 for t, p in zip(true, pred, strict=True) if t != p), len(true))


def exact(true, pred):
    return Fraction(int(list(true) == list(pred))) if true else None


def pairs(true, scores):
    return [(scores[i], scores[j]) for i in range(len(true)) for j in range(len(true)) if true[i] and not true[j]]


def auc(true, scores):
    found = pairs(true, scores)
    return divide(sum(2 if a > b else 1 if a == b else 0 for a, b in found), 2 * len(found))


def misranked(true, scores):
    found = pairs(true, scores)
    return divide(sum(1 for a, b in found if a <= b), len(found))


def average_precision(true, scores):
    terms = []
    for i, relevant in enumerate(true):
        if relevant:
            read = [j for j in range(len(true)) if scores[j] >= scores[i]]
            terms.append(Fraction(sum(1 for j in read if true[j]), len(read)))
    return sum(terms) / len(terms) if terms else None


def orders(scores):
    """Every order of the places that ranks by falling score: all the ways to break the ties."""
    places = range(len(scores))
    return [o for o in permutations(places) if all(scores[a] >= scores[b] for a, b in pairwise(o))]


def precision_at(k):
    def term(true, scores):
        if not any(true):
            return None
        hits = [sum(1 for i in order[:k] if true[i]) for order in orders(scores)]
        return Fraction(sum(hits), len(hits) * k)

    return term


def one_error(true, scores):
    return None if not any(true) else 1 - precision_at(1)(true, scores)


def coverage(true, scores):
    if not any(true):
        return None
    lowest = min(s for t, s in zip(true, scores, strict=True) if t)
    return Fraction(sum(1 for s in scores if s >= lowest))


def ndcg_at(k):
    def gain(order, true):
        return math.fsum(1 / math.log2(place + 2) for place, i in enumerate(order[:k]) if true[i])

    def term(true, scores):
        if not any(true):
            return None
        best = max(gain(order, true) for order in permutations(range(len(true))))
        found = orders(scores)
        return math.fsum(gain(order, true) for order in found) / len(found) / best

    return term


def among(kind):
    """Which rows count: all, those with one relevant label, or those with several."""
    return {"all": lambda true: True, "single": lambda true: sum(true) == 1, "multi": lambda true: sum(true) > 1}[kind]


def expected_hits(true, scores, k):
    """How many of the first k labels are relevant, averaged over the ways to break ties."""
    found = orders(scores)
    return Fraction(sum(sum(1 for i in order[:k] if true[i]) for order in found), len(found))


def trapezoids(points):
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))


def pooled_curve(kind):
    def value(rows):
        rows = [(t, s) for t, s in rows if among(kind)(t)]
        positive, negative = sum(sum(t) for t, _ in rows), sum(len(t) - sum(t) for t, _ in rows)
        if not (positive and negative):
            return math.nan, 0, 1 if kind == "all" else len(rows)
        points = []
        for k in range(max(len(t) for t, _ in rows) + 1):
            hits = sum(expected_hits(t, s, k) for t, s in rows)
            misses = sum(min(k, len(t)) for t, _ in rows) - hits
            points.append((misses / negative, hits / positive))
        return float(trapezoids(points)), *((1, 1) if kind == "all" else (len(rows), len(rows)))

    return value


def mean_curve(rows):
    both = [(t, s) for t, s in rows if 0 < sum(t) < len(t)]
    if not both:
        return math.nan, 0, len(rows)
    points = []
    for k in range(max(len(t) for t, _ in both) + 1):
        hits = [expected_hits(t, s, k) for t, s in both]
        true_rate = sum(h / sum(t) for h, (t, _) in zip(hits, both, strict=True))
        false_rate = sum((min(k, len(t)) - h) / (len(t) - sum(t)) for h, (t, _) in zip(hits, both, strict=True))
        points.append((false_rate / len(both), true_rate / len(both)))
    return float(trapezoids(points)), len(both), len(rows)


def auc_of_rows(kind):
    return lambda rows: mean_of_defined([auc(t, s) for t, s in rows if among(kind)(t)])


# Functions of all rows at once, and what they are averaged over.
CURVES = {
    "auc_rank_curve": pooled_curve("all"),
    "auc_rank_curve_single": pooled_curve("single"),
    "auc_rank_curve_multi": pooled_curve("multi"),
    "auc_rank_curve_mean": mean_curve,
    "auc_samples_single": auc_of_rows("single"),
    "auc_samples_multi": auc_of_rows("multi"),
}
OVER_ROWS = tuple(name for name in CURVES if name != "auc_rank_curve")

ROWS = {
    "f1_samples": f1,
    "jaccard_samples": jaccard,
    "subset_accuracy": exact,
    "hamming_loss": hamming,
    "auc_samples": auc,
    "lrap": average_precision,
    "ranking_loss": misranked,
    "one_error": one_error,
    "coverage": coverage,
    **{f"precision_at_{k}": precision_at(k) for k in (1, 3, 5)},
    **{f"ndcg_at_{k}": ndcg_at(k) for k in (1, 3, 5)},
}
LABELS = {
    "f1_macro": f1,
    "precision_macro": precision,
    "recall_macro": recall,
    "auc_macro": auc,
    "map_macro": average_precision,
}
POOLED = {"f1_micro": f1, "precision_micro": precision, "recall_micro": recall, "auc_micro": auc}


def reference(name, Y, predicted, known=None):
    """Value, number of defined terms, number of terms; cells that are not known are taken out of their lists."""
    known = (Y == Y if known is None else known).tolist()
    rows = [
        [(t, p) for t, p, k in zip(*lists, strict=True) if k]
        for lists in zip(Y.tolist(), predicted.tolist(), known, strict=True)
    ]
    columns = [
        [(t, p) for t, p, k in zip(*lists, strict=True) if k]
        for lists in zip(Y.T.tolist(), predicted.T.tolist(), zip(*known, strict=True), strict=True)
    ]
    if name in ROWS:
        return mean_of_defined([ROWS[name](*apart(row)) for row in rows])
    if name in LABELS:
        return mean_of_defined([LABELS[name](*apart(column)) for column in columns])
    if name in CURVES:
        return CURVES[name]([apart(row) for row in rows])
    return mean_of_defined([POOLED[name](*apart(chain(*rows)))])


def apart(cells):
    cells = list(cells)
    return [t for t, _ in cells], [p for _, p in cells]
