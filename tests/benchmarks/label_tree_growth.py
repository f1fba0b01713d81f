"""How the label tree grows: ``python -m tests.benchmarks.label_tree_growth`` writes tables with fitted exponents.

Rows are generated (`LargeLabels`), each size in a process of its own, so that its peak of memory is its own. One of the
numbers of rows, features and labels grows, the two others stay at --fixed; "all" lets the three grow together.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

from mlrank.solvers import SOLVERS, TrainingSet
from tests.benchmarks.large_labels import LargeLabels

TEST_PART = 1
ALONG = ("n", "d", "k", "all")


def measure(n, d, k, cluster, nonzeros, test_rows, cardinality):
    """Return seconds of processor time of a fit and of a test row, the peak of memory in GiB, and precisions."""
    warm = LargeLabels(100, 50).draw(200)
    solver = SOLVERS["label_tree"](min_weight=0.1)
    SOLVERS["label_tree"](min_weight=0.1, branching=4, leaf=10).fit(_train(*warm)).top_scores(warm[0].astype(float), 5)
    source = LargeLabels(d, k, nonzeros, cardinality, cluster)
    train = _train(*source.draw(n))
    began = time.process_time()
    model = solver.fit(train)
    fitted = time.process_time() - began
    X, Y = source.draw(test_rows, TEST_PART)
    X = X.astype(float)
    began = time.process_time()
    best = model.top_scores(X, 5)
    predicted = time.process_time() - began
    return {
        "fit": fitted,
        "row": predicted / test_rows,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "weights": int(model.weights.size),
        "gap": model.info.optimality,
        **precisions(best.labels, Y),
    }


def _train(X, Y):
    return TrainingSet(X.astype(float), Y)


def precisions(labels, Y):
    """Return precision at 1 and at 5, with the standard error of the first."""
    right = np.array([np.isin(row, Y.indices[a:b]) for row, a, b in zip(labels, Y.indptr, Y.indptr[1:], strict=False)])
    first = right[:, 0].mean()
    return {"p1": first, "se": np.sqrt(first * (1 - first) / len(right)), "p5": right[:, :5].mean()}


def exponent(sizes, values):
    """Return the slope of the line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _measured(shape, options):
    """Measure one shape in a process of its own."""
    settings = options.cluster, options.nonzeros, options.test_rows, options.cardinality
    arguments = [str(one) for one in (*shape, *settings)]
    command = [sys.executable, "-m", "tests.benchmarks.label_tree_growth", "--one", *arguments]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _table(along, sizes, options):
    print(f"\n| {'n = d = k' if along == 'all' else along} | fit, s | row, ms | peak, GiB | weights | P@1 | P@5 |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    found = []
    for size in sizes:
        shape = [size if along in (name, "all") else options.fixed for name in "ndk"]
        one = _measured(shape, options)
        found.append(one)
        cells = f"{one['fit']:.1f} | {1e3 * one['row']:.2f} | {one['peak']:.2f} | {one['weights']:,}"
        print(f"| {size:,} | {cells} | {one['p1']:.3f} ± {one['se']:.3f} | {one['p5']:.3f} |", flush=True)
    if len(sizes) > 1:
        slopes = [exponent(sizes, [one[key] for one in found]) for key in ("fit", "row", "peak", "weights")]
        print(f"| exponent | {' | '.join(f'{slope:.2f}' for slope in slopes)} | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--along", choices=ALONG, nargs="*", default=ALONG)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--fixed", type=int, default=100_000)
    parser.add_argument("--cluster", type=int, default=0, help="labels of a cluster; 0 for flat labels")
    parser.add_argument("--nonzeros", type=int, default=20)
    parser.add_argument("--cardinality", type=float, default=5.0)
    parser.add_argument("--test-rows", type=int, default=20_000)
    parser.add_argument("--one", nargs=7, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        *counts, cardinality = options.one
        print(json.dumps(measure(*map(int, counts), float(cardinality))))
        return
    for along in options.along:
        _table(along, options.sizes, options)


if __name__ == "__main__":
    main()
