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
    return mean_of_defined([POOLED[name](*apart(chain(*rows)))])


def apart(cells):
    cells = list(cells)
    return [t for t, _ in cells], [p for _, p in cells]
