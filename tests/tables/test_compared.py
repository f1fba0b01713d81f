"""Comparisons as grids: methods by rank or mean, each number and test in its row."""

import pytest

from mlrank.stats import compare_datasets, compare_labels, compare_splits, gather
from mlrank.tables import (
    grid_of_datasets,
    grid_of_labels,
    grid_of_splits,
    overview_of_datasets,
    overview_of_splits,
    render_grids,
)
from tests.stats.records import arrays, names, table


def texts(grid):
    return [[cell.text for cell in row] for row in grid.rows]


@pytest.fixture
def repeats():
    scores = {
        "A": {"x": [0.50, 0.52, 0.51], "y": [0.3, 0.3, 0.3], "z": [0.6, 0.6, 0.6]},
        "B": {"x": [0.58, 0.59, 0.63], "y": [0.4, 0.4, 0.4], "z": [0.7, 0.7, 0.7]},
        "C": {"x": [0.40, 0.42, 0.45], "y": [0.4, 0.4, 0.4], "z": [0.5, 0.5, 0.5]},
    }
    return gather(table(scores), "f1_macro")[0]


def test_methods_by_mean_rank(repeats):
    grid = grid_of_datasets(compare_datasets(repeats))
    assert grid.title == "f1_macro over 3 data sets: x, y, z"
    # Ranks of B 1, 1.5, 1; of A 2, 3, 2; of C 3, 1.5, 3. z = difference / sqrt(3 * 4 / (6 * 3)).
    assert texts(grid) == [
        ["B (control)", "1.17", "3", "0.5667", "-"],
        ["A", "2.33", "0", "0.4700", "0.2"],
        ["C", "2.50", "1", "0.4411", "0.2"],
    ]
    assert [row[1].best for row in grid.rows] == [True, False, False]
    assert any(note.startswith("Mean ranks (1 = best): B 1.17") for note in grid.notes)


def test_methods_by_mean_over_splits(repeats):
    grid = grid_of_splits(compare_splits(repeats[0], control="A"))
    assert [row[0] for row in texts(grid)] == ["B", "A (control)", "C"]
    b, a, c = texts(grid)
    assert b[1:4] == ["0.6000", "0.0265", "-0.0900"]  # the control is behind B
    assert a[1:] == ["0.5100", "0.0100", "-", "-", "-", "-"]
    assert c[3] == "+0.0867"
    low, high = map(float, c[4].strip("[]").split(", "))
    assert low < 0.0867 < high
    assert (low + high) / 2 == pytest.approx(0.0867, abs=2e-4)
    assert c[6] == "0.25"  # three splits, the smallest p that Wilcoxon's test can have


def test_the_control_may_come_last(repeats):
    grid = grid_of_splits(compare_splits(repeats[0], control="C"))
    assert [row[3] for row in texts(grid)] == ["-0.1767", "-0.0867", "-"]
    assert all(row[4].startswith("[-") for row in texts(grid)[:1])


def test_a_single_split_has_empty_tests():
    (repeats,), _ = gather(table({"A": {"x": [0.5]}, "B": {"x": [0.4]}}), "f1_macro")
    assert texts(grid_of_splits(compare_splits(repeats)))[1] == ["B", "0.4000", "-", "+0.1000", "-", "-", "-"]


def test_labels_by_frequency():
    (repeats,), _ = gather(table({"A": {"x": [0.5]}, "B": {"x": [0.4]}}), "f1_macro")
    stored = {"A": arrays(0, n=200, flip=0.05), "B": arrays(1, n=200, flip=0.4)}
    (tests,) = compare_labels(repeats, lambda found: stored[found.method], names, "A")
    grid = grid_of_labels(tests, 0.05)
    counts = stored["A"]["Y_true"].sum(axis=0)
    assert [int(row[1]) for row in texts(grid)] == sorted(counts.tolist(), reverse=True)
    assert texts(grid)[0][0] == ["sea", "sun", "sky"][counts.argmax()]
    assert all(row[2].best for row in grid.rows)


def test_grids_go_into_every_format(repeats):
    grids = [grid_of_datasets(compare_datasets(repeats)), *(grid_of_splits(compare_splits(part)) for part in repeats)]
    for fmt in ("md", "latex", "html"):
        text = render_grids(grids, fmt)
        assert text.count("Mean ranks (1 = best)") == 1
        assert text.count("B (control)") >= 4


def test_metrics_by_methods_with_mean_ranks(repeats):
    grid = overview_of_datasets([compare_datasets(repeats), compare_datasets(repeats, control="A")])
    assert grid.header == ("metric", "A", "B", "C", "p (Friedman)")
    # Ranks as above; of the 6 * 6 * 6 orders, the tie kept where it is, p counts those that spread ranks as far.
    assert [row[:4] for row in texts(grid)] == [["f1_macro ↑", "2.33", "1.17", "2.50"]] * 2
    assert [cell.best for cell in grid.rows[0]] == [False, False, True, False, False]
    assert grid.rows[0][4].value == compare_datasets(repeats).exact_p


def test_what_differs_from_the_best_has_a_star():
    # Twelve data sets that agree: z = 2 / sqrt(3 * 4 / (6 * 12)) = 4.9 and 2.4, p 1e-6 and .014.
    far = {m: {f"d{i}": [v] for i in range(12)} for m, v in {"A": 0.1, "B": 0.2, "C": 0.3}.items()}
    found = compare_datasets(gather(table(far), "f1_macro")[0])
    assert texts(overview_of_datasets([found])) == [["f1_macro ↑", "3.00*", "2.00*", "1.00", "< 0.001"]]
    named = overview_of_datasets([compare_datasets(gather(table(far), "f1_macro")[0], control="B")])
    assert texts(named)[0][1:4] == ["3.00*", "2.00", "1.00*"]
    assert any("differs from the control B at 0.05" in note for note in named.notes)
    two = overview_of_datasets([compare_datasets(gather(table(far), "f1_macro", ["A", "B"])[0])])
    # All of twelve signs alike: 2 / 2^12.
    assert (two.header[-1], two.rows[0][-1].value) == ("p (Wilcoxon)", pytest.approx(2 / 4096))
    assert texts(two)[0][1:3] == ["2.00*", "1.00"]


def test_metrics_by_methods_with_means_over_splits(repeats):
    over = compare_splits(repeats[0])
    grid = overview_of_splits([over])
    assert [cell.text.rstrip("*") for cell in grid.rows[0][:4]] == ["f1_macro ↑", "0.5100", "0.6000", "0.4233"]
    (pair,) = (pair for pair in over.pairs if {pair.first, pair.second} == {"A", "B"})  # the best and the second
    assert grid.rows[0][4].value == pair.p_holm
    starred = {m for m, cell in zip(over.methods, grid.rows[0][1:], strict=False) if cell.text.endswith("*")}
    apart = {pair.first + pair.second for pair in over.pairs if pair.p_holm <= 0.05}
    assert {"AB" if m == "A" else "BC" for m in starred} == apart & {"AB", "BC"}
    single = overview_of_splits([compare_splits(gather(table({"A": {"x": [1]}, "B": {"x": [0]}}), "f1_macro")[0][0])])
    assert texts(single) == [["f1_macro ↑", "1.0000", "0.0000", "-"]]
    assert any("nothing is tested" in note for note in single.notes)


def test_tests_against_the_control_alone_are_corrected_over_its_own_pairs(repeats):
    # The best of x is B, with A at p = .065 and C at .0009: with the third pair, A and C, both would be larger.
    found, every = (compare_splits(repeats[0], against_control=only) for only in (True, False))
    assert [{pair.first, pair.second} for pair in found.pairs] == [{"A", "B"}, {"B", "C"}]
    of_all = {(pair.first, pair.second): pair for pair in every.pairs}
    assert len(of_all) == 3
    small, large = sorted(found.pairs, key=lambda pair: pair.t.p)
    assert (small.p_holm, large.p_holm) == pytest.approx((2 * small.t.p, max(2 * small.t.p, large.t.p)))
    for pair in found.pairs:
        same = of_all[pair.first, pair.second]
        assert pair.t == same.t
        assert pair.p_holm < same.p_holm
