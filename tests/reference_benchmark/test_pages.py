"""The pages say what the records say: ranks by a plain count, what is missing by name, and who ran it."""

import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from mlrank import load_benchmark
from mlrank.benchmark import published_records
from mlrank.benchmark.pages import write_pages
from mlrank.benchmark.ranks import ranked, tau
from mlrank.metrics import METRICS
from tests.reference_benchmark.conftest import command

# Means of four methods on four data sets; higher is better.
SCORES = {
    "a": [0.9, 0.8, 0.7, 0.9],
    "b": [0.8, 0.9, 0.6, 0.7],
    "c": [0.7, 0.6, 0.8, 0.6],
    "d": [0.1, 0.2, 0.1, 0.1],
}


@pytest.fixture(scope="module")
def records(made):
    """Records of four data sets, with two splits around each mean; the tuned cuts have half of each metric."""
    model = {bool("tuned" in one.method): one for one in published_records()}
    found = []
    for method, scores in SCORES.items():
        for number, score in enumerate(scores):
            for tuned, one in model.items():
                for split, step in (("r0f0", -0.01), ("r0f1", 0.01)):
                    value = (score + step) * (0.5 if tuned else 1.0)
                    metrics = {name: replace(entry, value=value) for name, entry in one.metrics.items()}
                    data = replace(one.dataset, name=f"set{number}")
                    name = f"{method} tuned" if tuned else method
                    key = f"{name}{number}{split}"
                    found.append(replace(one, method=name, split=split, metrics=metrics, dataset=data, key=key))
    return found


def failed(records, chosen):
    return [
        replace(one, status="failed", error="Traceback\nTimeLimit: too slow", info=None, metrics={})
        if chosen(one)
        else one
        for one in records
    ]


@pytest.mark.parametrize("metric", ["lrap", "ranking_loss"])
def test_mean_ranks_are_a_count_of_who_is_better(records, metric):
    sign = METRICS[metric].sign
    found = ranked(records, metric, "natural")
    count = {
        one: np.mean([1 + sum(sign * SCORES[other][i] > sign * SCORES[one][i] for other in SCORES) for i in range(4)])
        for one in SCORES
    }
    assert dict(zip(found.methods, found.mean_ranks, strict=True)) == pytest.approx(count)
    assert list(found.mean_ranks) == sorted(found.mean_ranks)
    # The textbook's formula of Friedman's statistic, and of F by Iman and Davenport.
    n, k = 4, 4
    chi2 = 12 * n / (k * (k + 1)) * (sum(rank**2 for rank in count.values()) - k * (k + 1) ** 2 / 4)
    from scipy.stats import f

    assert found.p == pytest.approx(f.sf((n - 1) * chi2 / (n * (k - 1) - chi2), k - 1, (k - 1) * (n - 1)))
    # Without a data set: ranks of the three others, counted anew.
    for left in range(4):
        rest = [i for i in range(4) if i != left]
        for place, one in enumerate(found.methods):
            ranks = [1 + sum(sign * SCORES[other][i] > sign * SCORES[one][i] for other in SCORES) for i in rest]
            assert found.without[left, place] == pytest.approx(np.mean(ranks))


def test_what_is_missing_is_left_out_by_name(records):
    some = failed(records, lambda one: one.method == "c" and one.dataset.name != "set0" and one.split == "r0f1")
    found = ranked(some, "lrap", "natural")
    assert set(found.methods) == {"a", "b", "d"}
    assert found.left_out == ("c: no result on all splits of 75% of the data sets",)
    hard = failed(records, lambda one: one.dataset.name == "set2" and one.method in ("a", "b", "d"))
    found = ranked(hard, "lrap", "natural")
    assert found.datasets == ("set0", "set1", "set3")
    assert found.left_out == ("set2: 75% of the methods have no result on all splits",)
    assert ranked(failed(records, lambda one: True), "lrap", "natural") is None


def test_agreement_of_two_orders_is_kendalls_count(records):
    up, down = ranked(records, "lrap", "natural"), ranked(records, "ranking_loss", "natural")
    assert tau(up, up) == pytest.approx(1.0)
    pairs = list(combinations(SCORES, 2))
    rank = [dict(zip(one.methods, one.mean_ranks, strict=True)) for one in (up, down)]
    signs = [np.sign((rank[0][x] - rank[0][y]) * (rank[1][x] - rank[1][y])) for x, y in pairs]
    untied = np.prod([sum(one[x] != one[y] for x, y in pairs) for one in rank])
    assert tau(up, down) == pytest.approx(sum(signs) / np.sqrt(untied))


def half_undefined(records, method):
    """Half of the terms of a method's F1 are undefined; none of any other."""
    found = []
    for one in records:
        metrics = {
            name: replace(entry, n_defined=1 if one.method == method and name == "f1_macro" else 2, n_total=2)
            for name, entry in one.metrics.items()
        }
        found.append(replace(one, metrics=metrics))
    return found


@pytest.mark.parametrize("undefined", [0.0, 1.0])
def test_undefined_terms_count_as_a_convention_says(records, undefined, tmp_path):
    some = half_undefined(records, "b")
    found = ranked(some, "f1_macro", "natural", undefined)
    changed = {**SCORES, "b": [(score + undefined) / 2 for score in SCORES["b"]]}
    for name, column in zip(found.methods, found.scores.T, strict=True):
        assert column == pytest.approx(changed[name])
    better = [
        [[np.sign(np.round(y - x, 9)) for x, y in zip(changed[name], changed[other], strict=True)] for other in SCORES]
        for name in SCORES
    ]
    # A tie is half a rank, and so is a method beside itself.
    count = dict(zip(SCORES, 0.5 + (np.array(better) / 2 + 0.5).sum(axis=1).mean(axis=1), strict=True))
    assert dict(zip(found.methods, found.mean_ranks, strict=True)) == pytest.approx(count)
    write_pages(tmp_path, some)
    (row,) = (line for line in (tmp_path / "sensitivity.md").read_text().splitlines() if "| natural | " in line)
    cells = [cell.strip() for cell in row.strip("| ").split("|")]
    assert cells[:3] == ["f1_macro", "natural", "12.5%"]
    before = ranked(some, "f1_macro", "natural")
    change = {name: count[name] - dict(zip(before.methods, before.mean_ranks, strict=True))[name] for name in SCORES}
    name, moved = cells[4 if undefined == 0 else 6].split()
    assert abs(change[name]) == max(map(abs, change.values()))
    assert float(moved) == pytest.approx(change[name], abs=0.005)
    assert float(cells[3 if undefined == 0 else 5]) == pytest.approx(tau(before, found), abs=0.005)


def test_pages_say_who_ran_it_what_failed_and_why(records, tmp_path):
    some = failed(records, lambda one: one.method == "d tuned" and one.dataset.name == "set1")
    written = write_pages(tmp_path, some)
    texts = {path.name: path.read_text() for path in written}
    pages = [name for name in texts if name.endswith(".md")]
    assert len(pages) == 6
    for name in pages:
        assert "mlrank's authors ran this benchmark" in "\n".join(texts[name].splitlines()[:6])
    assert "64 runs: 4 data sets, 4 methods with two cuts, 2 folds; 62 have results, 2 failed" in texts["README.md"]
    (row,) = (line for line in texts["failures.md"].splitlines() if "d tuned" in line)
    assert [cell.strip() for cell in row.strip("| ").split("|")] == [
        "d tuned",
        "set1",
        "2",
        "0",
        "0",
        "TimeLimit: too slow (2)",
    ]
    assert "| method | set0 | set0, tuned | set1 |" in " ".join(texts["tables.md"].split())
    for figure in ("speed.svg", "ranks-lrap-natural.svg", "ranks-f1_macro-tuned.svg"):
        assert "<svg" in texts[figure]
        assert any(figure in texts[name] for name in pages)


def test_pages_of_a_single_data_set_test_nothing(made, tmp_path):
    texts = {path.name: path.read_text() for path in write_pages(tmp_path, published_records())}
    assert "nothing is tested" in texts["ranks.md"]
    assert "One data set: none can be left out." in texts["sensitivity.md"]


def test_the_command_writes_the_table_in_two_formats_and_the_pages(made, tmp_path, capsys):
    import pandas as pd

    shutil.copytree(made.out, tmp_path / "benchmark")
    command("pages", "--out", tmp_path / "benchmark")
    assert "failures.md" in capsys.readouterr().out
    frame = load_benchmark()
    for read, name in ((pd.read_csv, "benchmark.csv.xz"), (pd.read_parquet, "benchmark.parquet")):
        stored = read(tmp_path / "benchmark" / name)
        assert list(stored.columns) == list(frame.columns)
        assert stored["value"].equals(frame["value"])
        assert list(stored["key"]) == list(frame["key"])
