"""A benchmark of two methods on sixty rows, run once in a folder of its own."""

from types import SimpleNamespace

import pytest

from mlrank.cli import app

CONFIG = """
name: reference-benchmark
datasets: [{name: yeast, subset: {rows: 60, top_labels: 3}}]
split: {kind: kfold, folds: 2}
scale: minmax
methods:
  kNN: {solver: knn, n_neighbors: [3, 5]}
  kNN tuned: {solver: knn, n_neighbors: [3, 5], threshold: {kind: per_label_f1, scores: heldout}}
  PLST: {solver: plst, lam: [0.1, 10]}
  PLST tuned: {solver: plst, lam: [0.1, 10], threshold: {kind: per_label_f1, scores: heldout}}
search: {folds: 2, metric: lrap}
metrics: [f1_macro, lrap]
seed: 0
"""


def command(*words):
    return app(["benchmark", *map(str, words)], standalone_mode=False)


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    """A checkout with a benchmark that has been run: its folder, that of its pieces, and that of the results."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "configs").mkdir()
    (root / "configs" / "benchmark.yaml").write_text(CONFIG)
    out = root / "results" / "benchmark"
    with pytest.MonkeyPatch.context() as patch:
        for module in ("own", "published"):
            patch.setattr(f"mlrank.benchmark.{module}.shipped", lambda folder: root / folder)
        command("run", "--out", out, "--results", root / "runs", "--jobs", 1, "--quiet")
        yield SimpleNamespace(root=root, out=out, runs=root / "runs")
