import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mlrank.records.run import MetricRecord
from tests.tables.conftest import make_record

RECIPE = """\
name: tiny
title: A tiny table
paper: Somebody, 2000
table: Table 9
protocol: [nothing was left open]
data:
  - {dataset: user, grade: same-source, note: your files, how_to: use --data}
  - {dataset: real, grade: exact, note: the files of the paper, how_to: fetch real, subset: {rows: 10}}
  - {dataset: fake, grade: stand-in, note: made up, how_to: it is generated}
experiment:
  split: {kind: holdout, train: 6, test: 4}
  subset: {rows: 20, top_labels: 3}
  methods:
    A: {solver: binary_svm}
    B: {solver: rank_svm, threshold: svr_midpoint}
grids:
  coarse: {A: {C: [1, 8]}, B: {C: 8}}
  paper: {B: {C: "2^0..2^3"}}
expected:
  A: {f1_macro: 0.5, ranking_loss: 0.2}
  B: {f1_macro: 0.625}
claims:
  - {text: "B > A", metrics: [f1_macro, ranking_loss], order: [B, A]}
"""


# Test rows for each training row in the records that `make` makes.
SHARE = 4 / 6
# What is added to each method's value on each split: means stay, differences vary a little.
JITTER = {"A": (0, 2, -2, 0), "B": (1, 0, 0, -1), "D": (0, -1, 0, 1), "E": (1, 1, -1, -1)}


def p_above(d):
    """Return the one-sided p of Nadeau & Bengio's test, from their formula."""
    t = np.mean(d) / math.sqrt((1 / len(d) + SHARE) * np.var(d, ddof=1))
    return stats.t.sf(t, len(d) - 1)


def on_splits(method, value):
    """Return the values on four splits of a method whose mean is `value`."""
    return value + np.array(JITTER[method]) / 256


@pytest.fixture
def over_splits(make):
    """Make records of each method on four splits, {method: {metric: mean}}."""

    def records(means, **settings):
        return [
            make(
                method,
                f"r{i}",
                **{m: None if v is None else on_splits(method, v)[i] for m, v in of.items()},
                **settings,
            )
            for method, of in means.items()
            for i in range(4)
        ]

    return records


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    return tmp_path


@pytest.fixture
def recipe(folder):
    from mlrank.recipes import load_recipe

    return load_recipe("tiny", folder)


@pytest.fixture
def make():
    """Make a run record with what a comparison reads."""

    def record(method, split="r0", dataset="real", stand_in=False, status="done", n_defined=4, **metrics):
        data = {"name": dataset, "stand_in": stand_in, "n_train": 6, "n_test": 4}
        values = {name: MetricRecord(value, n_defined, 4, "labels") for name, value in metrics.items()}
        return replace(make_record(method, split, status=status, dataset=data), metrics=values)

    return record
