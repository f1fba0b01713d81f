"""Problems on which Rank-SVM solvers are timed: three made ones, and real ones where the data are at hand."""

import os

import numpy as np

from mlrank.datasets import is_available, load_dataset, subset
from mlrank.scaling import SCALERS

# (kind of rows, C): unit-norm rows are easy, the others hard.
MADE = {"unit": 8.0, "standardised": 8.0, "min-max": 1024.0}


def made(kind, n=2000, m=500, k=60, seed=0):
    """Return (X, Y): rows of 20 latent directions and noise; labels of falling frequency, 3.9 a row."""
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 20))
    X = latent @ rng.standard_normal((20, m)) + 2 * rng.standard_normal((n, m))
    noisy = latent @ rng.standard_normal((20, k)) + 1.5 * rng.standard_normal((n, k))
    S = noisy - 1.5 * np.linspace(0, 3, k)
    Y = S > np.sort(S.ravel())[-int(min(3.9, k / 4) * n)]
    if kind == "unit":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif kind == "standardised":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif kind == "min-max":
        X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return X, Y


def _training_part(name):
    """Return the official training part, or all rows where there is none."""
    dataset = load_dataset(name)
    rows = slice(None) if dataset.official is None else dataset.official[0]
    return dataset.X[rows], dataset.Y[rows]


def _imageclef():
    """2000 rows of the sample on which Table 1 is attempted, scaled to 0..1."""
    dataset, _ = subset(load_dataset("imageclef2007"), rows=3500, top_labels=60, seed=0)
    X = dataset.X[:2000]
    return SCALERS["minmax"]().fit(X)(X), dataset.Y[:2000]


def _mediamill():
    dataset, _ = subset(load_dataset("mediamill-cut"), min_positives=31, seed=0)
    return dataset.X[:1250], dataset.Y[:1250]


# name: (data set, function that returns (X, Y), C)
REAL = {
    "imageclef2007 sample": ("imageclef2007", _imageclef, 8.0),
    "imageclef2007 sample, C=1024": ("imageclef2007", _imageclef, 1024.0),
    "mediamill cut": ("mediamill-cut", _mediamill, 1024.0),
    "scene": ("scene", lambda: _training_part("scene"), 8.0),
    "scene, C=1024": ("scene", lambda: _training_part("scene"), 1024.0),
    "corel5k": ("corel5k", lambda: _training_part("corel5k"), 1.0),
    "bibtex": ("bibtex", lambda: _training_part("bibtex"), 1.0),
    "yahoo arts full": ("yahoo-arts-full", lambda: _training_part("yahoo-arts-full"), 1.0),
}


def real():
    """Return the real problems whose data are at hand."""
    if "MLRANK_DATA" not in os.environ:
        return {}
    return {name: entry for name, entry in REAL.items() if is_available(entry[0])}
