"""How long class-balanced neighbours take beside a loop over the classes with scikit-learn's NearestNeighbors.

One thread, seconds of processor time, best of several, alternating in one run; both have seen the training rows before.
Rows have 120 features whose means move with the labels, and go through BLDA to K - 1 dimensions. The frequency of a
label falls as a power of its rank. The loop computes each distance once for each label that a training row carries,
ours once: so the ratio grows with the number of labels of a row. MediaMill has 101 labels, 4.4 to a row.

What a pair of rows costs, n = 40000, 100 dimensions, 101 labels, b = 5, in ns on a busy machine:

    labels of a row                               4.4     9    16
    product in float32, at 85 % of the peak       2.5   2.6   2.6
    limits, from the least of groups of rows      0.9   1.2   1.6
    comparison of all keys with limits            0.8   1.0   1.2
    what was within: again, distances, lists      1.3   1.5   1.5
    the loop                                       38    64   102
"""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.neighbors import NearestNeighbors

from mlrank.datasets import is_available, load_dataset
from mlrank.datasets.subset import subset
from mlrank.solvers import TrainingSet
from mlrank.solvers.blda import BLDA
from mlrank.solvers.neighbors.bknn import BalancedKNN
from tests.benchmarks.clock import best

pytestmark = pytest.mark.usefixtures("one_thread")

B = 5


def labelled(n, k, cardinality, rng):
    share = np.arange(1, k + 1) ** -0.9
    return rng.random((n, k)) < np.minimum(share * cardinality / share.sum(), 0.7)


def projected(n, d=100, k=101, cardinality=4.4, n_scored=2000):
    """Return training rows and labels, and rows to be scored, in the space of BLDA."""
    rng = np.random.default_rng(0)
    Y = labelled(n + n_scored, k, cardinality, rng)
    X = Y @ rng.standard_normal((k, d + 20)) + rng.standard_normal((n + n_scored, d + 20))
    projection = BLDA(n_components=min(d, k - 1), scale="spread").fit(TrainingSet(X[:n], Y[:n]))
    Z = projection.transform(X)
    return Z[:n], Y[:n], Z[n:]


def searches(Z, Y):
    """Return a search for each class that has rows."""
    numbers = np.minimum(Y.sum(axis=0), B)
    return {q: NearestNeighbors(n_neighbors=int(numbers[q])).fit(Z[Y[:, q]]) for q in np.flatnonzero(numbers)}


def by_class(searched, n_labels, X, width):
    """Return scores (n_scored, n_labels) by a search for each class."""
    squares = np.full((X.shape[0], n_labels, B), np.inf)
    for q, search in searched.items():
        squares[:, q, : search.n_neighbors] = search.kneighbors(X)[0] ** 2
    s = np.exp((squares.min(axis=(1, 2), keepdims=True) - squares) / width).sum(axis=2)
    return s / s.mean(axis=1, keepdims=True) - 1


def beside_the_loop(name, Z, Y, X, repeats=3):
    model = BalancedKNN(n_neighbors=B, width=float(Z.shape[1])).fit(TrainingSet(Z, Y))
    prepared, _ = best(lambda: model.decision_function(X[:3]), 1)
    searched = searches(Z, Y)
    ours, loop = [], []
    for _ in range(repeats):
        spent, expected = best(lambda: by_class(searched, Y.shape[1], X, model.width), 1)
        loop.append(spent)
        for _ in range(2):
            spent, scores = best(lambda: model.decision_function(X), 1)
            ours.append(spent)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    ratio = min(loop) / min(ours)
    shape = f"n {Z.shape[0]:6d}  d {Z.shape[1]:4d}  k {Y.shape[1]:3d}  {Y.sum() / len(Y):5.1f} labels per row"
    print(f"  {name:10s} {shape}  loop {min(loop):6.2f} s  ours {min(ours):5.2f} s: {ratio:5.1f} x", end="")
    print(f"   (training rows taken in: {prepared:.2f} s)")
    return ratio


def test_scoring_beside_a_loop_over_classes():
    print()
    ratios = {c: beside_the_loop("made", *projected(20_000, cardinality=c)) for c in (4.4, 10, 20)}
    more = beside_the_loop("made", *projected(40_000))
    assert min(ratios[4.4], more) >= 5
    assert ratios[20] > ratios[10] > ratios[4.4]
    assert ratios[20] >= 10


def test_scoring_mediamill_beside_a_loop_over_classes():
    if not is_available("mediamill-cut"):
        pytest.skip("set MLRANK_DATA to a folder with mediamill-cut")
    dataset = subset(load_dataset("mediamill-cut"), min_positives=6, seed=0)[0]
    projection = BLDA(scale="spread").fit(TrainingSet(dataset.X[:2000], dataset.Y[:2000]))
    Z = projection.transform(dataset.X)
    print()
    assert beside_the_loop("MediaMill", Z[:2000], dataset.Y[:2000], Z[2000:]) >= 2


def test_scoring_sparse_rows_beside_a_loop_over_classes():
    rng = np.random.default_rng(1)
    X = csr_array(random_array((5300, 5000), density=0.01, rng=rng, format="csr"))
    Y = labelled(5000, 40, 1.5, rng)
    print()
    beside_the_loop("sparse", X[:5000], Y, X[5000:])


def growth(name, values, problems):
    """Print the seconds for each of `values`; return the exponent of the power that fits them best."""
    spent = []
    for Z, Y, X in problems:
        model = BalancedKNN(n_neighbors=B, width=float(Z.shape[1])).fit(TrainingSet(Z, Y))
        model.decision_function(X[:3])
        spent.append(best(lambda: model.decision_function(X))[0])  # noqa: B023
    exponent = float(np.polyfit(np.log(values), np.log(spent), 1)[0])
    table = "  ".join(f"{value}: {time:.3f} s" for value, time in zip(values, spent, strict=True))
    print(f"  {name:24s} {table}   exponent {exponent:.2f}")
    return exponent


def test_growth():
    print()
    sizes, widths, labels = (5000, 10_000, 20_000, 40_000), (25, 50, 100, 200), (13, 25, 50, 101)
    wide = {"k": 201, "n_scored": 500}
    assert growth("training rows, d=k-1=50", sizes, [projected(n, 50, 51) for n in sizes]) < 1.2
    assert growth("dimensions, n=10000", widths, [projected(10_000, d, **wide) for d in widths]) < 1.1
    # As many labels to a row in every one: what grows are the lists.
    assert growth("labels, n=10000, d=12", labels, [projected(10_000, 12, k) for k in labels]) < 1.1


def test_memory():
    Z, Y, X = projected(40_000, 20, n_scored=2000)
    model = BalancedKNN(n_neighbors=B, width=20.0).fit(TrainingSet(Z, Y))
    model.decision_function(X[:3])
    tracemalloc.start()
    model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\n  40000 training rows, 2000 scored: at most {peak / 1e6:.0f} MB; all distances at a time would be 640 MB")
    assert peak < 200e6
