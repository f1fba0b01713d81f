"""The label tree on generated rows: how it grows, how fast a row is, and libpecos on the same rows where it is here."""

import numpy as np
import pytest

from mlrank.solvers import SOLVERS, TrainingSet
from tests.benchmarks.clock import best
from tests.benchmarks.label_tree_growth import exponent, precisions
from tests.benchmarks.large_labels import LargeLabels

SIZES = (3_000, 10_000, 30_000)
# In all three of rows, features and labels: linear, and the logarithm of the levels.
MOST_EXPONENT = 1.6
ROW_SECONDS = 1e-3
# libpecos at its defaults, which leave out weights below 0.1 too.
PECOS_TIME, PECOS_PRECISION = 0.4, 0.003


def drawn(size, cluster=0, part=0, n=None):
    X, Y = LargeLabels(size, size, cluster=cluster).draw(n or size, part)
    return X.astype(float), Y


def fitted(X, Y):
    return SOLVERS["label_tree"](min_weight=0.1).fit(TrainingSet(X, Y))


@pytest.mark.usefixtures("one_thread")
def test_time_grows_hardly_faster_than_rows():
    fitted(*drawn(500))
    seconds = [best(lambda size=size: fitted(*drawn(size)))[0] for size in SIZES]
    print(f"\nlabel_tree, n = d = k = {SIZES}: {[f'{one:.2f} s' for one in seconds]}, {exponent(SIZES, seconds):.2f}")
    assert exponent(SIZES, seconds) < MOST_EXPONENT


@pytest.mark.usefixtures("one_thread")
def test_a_single_row_takes_less_than_a_millisecond():
    model, (X, _) = fitted(*drawn(10_000)), drawn(10_000, part=1, n=200)
    rows = [X[[row]] for row in range(X.shape[0])]
    model.top_scores(rows[0], 5)
    seconds, _ = best(lambda: [model.top_scores(row, 5) for row in rows])
    print(f"\nlabel_tree, a row of 10 000 labels alone: {1e3 * seconds / len(rows):.2f} ms")
    assert seconds / len(rows) < ROW_SECONDS


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("cluster", [0, 50])
def test_it_is_as_precise_as_pecos_in_less_time(cluster):
    xlinear = pytest.importorskip("pecos.xmc.xlinear.model")
    from pecos.xmc import Indexer, LabelEmbeddingFactory

    (X, Y), (X_test, Y_test) = drawn(10_000, cluster), drawn(10_000, cluster, part=1, n=20_000)

    def theirs():
        single, labels = _float32(X), _float32(Y)
        chain = Indexer.gen(LabelEmbeddingFactory.create(labels, single, method="pifa"), threads=1)
        return xlinear.XLinearModel.train(single, labels, C=chain, threads=1)

    fitted(*drawn(500))
    ours, model = best(lambda: fitted(X, Y))
    seconds, other = best(theirs, repeats=1)
    scores = other.predict(_float32(X_test), only_topk=5, threads=1)
    found = np.full((len(scores.indptr) - 1, 5), -1)
    for row in range(len(found)):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.argsort(-scores.data[part], kind="stable")
        found[row, : order.size] = scores.indices[part][order]
    mine, its = precisions(model.top_scores(X_test, 5).labels, Y_test), precisions(found, Y_test)
    print(f"\nlabel_tree {ours:.2f} s, P@1 {mine['p1']:.4f}; libpecos {seconds:.2f} s, P@1 {its['p1']:.4f}")
    assert ours < PECOS_TIME * seconds
    assert mine["p1"] > its["p1"] - PECOS_PRECISION


def _float32(matrix):
    from scipy.sparse import csr_matrix

    return csr_matrix(matrix).astype(np.float32)
