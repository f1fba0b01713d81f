"""Histograms on which kernels and MLR are timed, and LIBSVM one-vs-all brought to the same certified gap."""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from mlrank.arrays import as_features
from tests.benchmarks.clock import best

BINS = 5000
# Part of the words of an image that come from its classes: of the "plain" ones one label a class is easily told.
SIGNALS = {"plain": 0.9, "middling": 0.4, "faint": 0.15}
# LIBSVM's tolerances, coarse to fine: the first that reaches the gap is the one whose time counts.
TOLERANCES = tuple(0.5 * 2.0**-i for i in range(16))


class Baseline(NamedTuple):
    seconds: float
    gap: float
    tolerance: float
    support: float


def scattered(n, d=BINS, share=0.05, seed=0):
    """Return rows that sum to 1, with the given share of nonzeros, anywhere."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < share)
    return as_features(csr_array(X / X.sum(axis=1, keepdims=True)))


def images(n, n_labels, signal, seed=0, words=900, topics=30):
    """Return (X, Y): histograms that sum to 1, of words from topics of the classes and of the background.

    As in VOC, two images in three have one class; common words are those of all topics.
    """
    rng = np.random.default_rng(seed)
    common = rng.permutation(1 / (20 + np.arange(BINS)))
    topic = common * rng.gamma(0.5, size=(topics, BINS))
    topic /= topic.sum(axis=1, keepdims=True)
    classes = rng.dirichlet(np.full(topics, 0.2), size=n_labels)
    frequency = 1 / np.sqrt(np.arange(1, n_labels + 1))
    Y, X = np.zeros((n, n_labels), dtype=bool), np.zeros((n, BINS))
    for i in range(n):
        count = 1 if rng.random() < 2 / 3 else min(n_labels - 1, 2 + rng.poisson(0.6))
        own = rng.choice(n_labels, count, replace=False, p=frequency / frequency.sum())
        Y[i, own] = True
        mixture = signal * rng.dirichlet(np.full(count, 3.0)) @ classes[own]
        mixture += (1 - signal) * rng.dirichlet(np.full(topics, 0.3))
        probability = mixture @ topic
        X[i] = rng.multinomial(words, probability / probability.sum())
    return as_features(csr_array(X / X.sum(axis=1, keepdims=True))), Y


def blobs(n, n_labels, spread, seed=0):
    """Return (X, Y): normal clouds in 20 dimensions, one for each class, a third of the points half way between two.

    Few of them are support vectors, which is what LIBSVM is best at.
    """
    rng = np.random.default_rng(seed)
    centres, first = spread * rng.standard_normal((n_labels, 20)), rng.integers(0, n_labels, n)
    second = np.where(rng.random(n) < 1 / 3, rng.integers(0, n_labels, n), first)
    Y = np.zeros((n, n_labels), dtype=bool)
    Y[np.arange(n), first] = Y[np.arange(n), second] = True
    return 0.5 * (centres[first] + centres[second]) + rng.standard_normal((n, 20)), Y


def one_vs_all(K, Y, C, gap, tolerances=TOLERANCES):
    """Fit LIBSVM for each class on K, at the coarsest tolerance that reaches the relative gap of the sum over classes.

    Only the library's own fits at that tolerance count, neither the search for it nor the certificates.
    """
    for tolerance in tolerances:
        seconds, primal, dual, support = 0.0, 0.0, 0.0, 0
        for relevant in Y.T:
            sign = np.where(relevant, 1.0, -1.0)
            svc = SVC(C=C, kernel="precomputed", tol=tolerance, cache_size=2000)
            seconds += best(lambda svc=svc, sign=sign: svc.fit(K, sign), 1)[0]
            weights = np.zeros(len(sign))
            weights[svc.support_] = svc.dual_coef_[0]
            outputs = K @ weights
            square = float(weights @ outputs)
            primal += 0.5 * square + C * float(np.maximum(0, 1 - sign * (outputs + svc.intercept_[0])).sum())
            dual += float(np.abs(weights).sum()) - 0.5 * square
            support += len(svc.support_)
        if primal - dual <= gap * primal:
            break
    return Baseline(seconds, (primal - dual) / primal, tolerance, support / Y.shape[1])


def with_its_own_kernel(X, Y, C, gamma, tolerance):
    """Return the seconds of LIBSVM on sparse rows, which evaluates the kernel anew for each class.

    The kernel is exp(-gamma' |u - v|^2) of the rows' roots, with gamma' = 2 gamma: as wide as the chi2 kernel, and
    cheaper, since it takes no divisions; LIBSVM has no chi2 kernel of its own.
    """
    roots = X.copy()
    roots.data = np.sqrt(roots.data)
    seconds = 0.0
    for relevant in Y.T:
        svc = SVC(C=C, kernel="rbf", gamma=2 * gamma, tol=tolerance, cache_size=2000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds += best(lambda svc=svc, relevant=relevant: svc.fit(roots, relevant), 1)[0]
    return seconds
