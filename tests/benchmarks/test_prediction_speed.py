"""Linear models against the bare product: scores through a stored model cost hardly more than ``X @ W.T + b``."""

from time import process_time

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mlrank.models import Fit, Predictor
from mlrank.models.file import load_model, model_content
from mlrank.records.atomic import write_archive
from mlrank.scaling import SCALERS
from mlrank.solvers import LinearModel
from mlrank.solvers.base import FitInfo
from mlrank.thresholds.cuts import LabelCut
from tests.models.fits import about

MOST = 1.2
REPEATS = 15
# rows, features, labels, share of entries that are not 0 (None: dense)
SHAPES = {
    "dense, as yeast": (20_000, 103, 14, None),
    "dense, wide": (4_000, 1_000, 100, None),
    "CSR, as corel5k": (20_000, 499, 374, 0.017),
    "CSR, few labels": (20_000, 5_000, 20, 0.01),
    "CSR, wide": (5_000, 50_000, 100, 0.002),
}


def stored_model(path, n_features, n_labels, sparse):
    rng = np.random.default_rng(0)
    model = LinearModel(rng.standard_normal((n_labels, n_features)), rng.standard_normal(n_labels), _info())
    X = csr_array((2, n_features)) if sparse else np.zeros((2, n_features))
    predictor = Predictor(SCALERS["none"]().fit(X), None, model, LabelCut(np.zeros(n_labels)), sparse)
    names = {"label_names": [f"l{i}" for i in range(n_labels)], "feature_names": [str(i) for i in range(n_features)]}
    fit = Fit.of(predictor, X)
    write_archive(path, model_content(fit, about(**names)))
    return load_model(path)


def _info():
    return FitInfo(1, 0.0, 0.0, True)


def best_of(*functions):
    """Return the least CPU seconds of each function, called in turn."""
    best = [np.inf] * len(functions)
    for _ in range(REPEATS):
        for place, function in enumerate(functions):
            started = process_time()
            function()
            best[place] = min(best[place], process_time() - started)
    return best


@pytest.mark.parametrize("name", SHAPES)
def test_scores_cost_what_the_product_costs(tmp_path, name):
    n, m, k, density = SHAPES[name]
    rng = np.random.default_rng(1)
    X = rng.random((n, m)) if density is None else csr_array(random_array((n, m), density=density, rng=rng))
    model = stored_model(tmp_path / "a.model", m, k, density is not None)
    W, b = np.array(model.predictor.model.coef), np.array(model.predictor.model.intercept)
    assert np.array_equal(model.decision_function(X), X @ W.T + b)
    bare, ours = best_of(lambda: X @ W.T + b, lambda: model.decision_function(X))
    print(f"\n{name:20} bare {bare * 1e3:8.2f} ms   stored model {ours * 1e3:8.2f} ms   ratio {ours / bare:.2f}")
    assert ours <= MOST * bare
