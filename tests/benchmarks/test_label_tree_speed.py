"""The label tree on generated rows: how it grows, how fast a row is, and other programs on the same rows."""

import pytest

from mlrank.solvers import SOLVERS, TrainingSet
from tests.benchmarks.clock import best
from tests.benchmarks.label_tree_growth import exponent, precisions
from tests.benchmarks.large_labels import LargeLabels
from tests.benchmarks.tree_peers import PEERS, is_here, run_peer

SIZES = (3_000, 10_000, 30_000)
# In all three of rows, features and labels: linear, and the logarithm of the levels.
MOST_EXPONENT = 1.6
ROW_SECONDS = 1e-3
# Other programs at their defaults, which leave out weights below 0.1 too.
PEER_TIME, PEER_PRECISION = {"libpecos": 0.4, "Omikuji": 0.9, "napkinXC": 0.4}, 0.003


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
@pytest.mark.parametrize("peer", PEERS)
def test_it_is_as_precise_as_other_trees_in_less_time(peer, cluster, tmp_path):
    if not is_here(peer):
        pytest.skip(f"{peer} is not here")
    (X, Y), (X_test, Y_test) = drawn(10_000, cluster), drawn(10_000, cluster, part=1, n=20_000)
    fitted(*drawn(500))
    seconds, found = run_peer(peer, X, Y, X_test, tmp_path)
    ours, model = best(lambda: fitted(X, Y))
    mine, its = precisions(model.top_scores(X_test, 5).labels, Y_test), precisions(found, Y_test)
    print(f"\nlabel_tree {ours:.2f} s, P@1 {mine['p1']:.4f}, P@5 {mine['p5']:.4f};", end=" ")
    print(f"{peer} {seconds:.2f} s, P@1 {its['p1']:.4f}, P@5 {its['p5']:.4f}")
    assert ours < PEER_TIME[peer] * seconds
    assert mine["p1"] > its["p1"] - PEER_PRECISION
