"""Generated rows of very many labels, flat or in clusters, in blocks of rows, so that a million need little memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

__all__ = ["LargeLabels"]

ROWS_AT_ONCE = 50_000
# Features of a label of its own, and of those, for labels in clusters, from the features of its cluster.
OWN, SHARED, POOL = 12, 8, 40
# Part of a row's features that comes from its labels, and part of its labels from the cluster it is about.
SIGNAL, INSIDE = 0.7, 0.8


@dataclass(frozen=True)
class LargeLabels:
    """Rows with a few labels each, whose features are those of their labels and noise.

    Labels and features are popular by a power law of exponent 1/2. A row draws its labels, then `nonzeros` features,
    seven of ten from those of its labels; values are lognormal and rows of unit length. What is drawn twice is merged.

    Parameters
    ----------
    n_features, n_labels : int
    nonzeros : int
        Features drawn for a row.
    cardinality : float
        Mean number of labels drawn for a row.
    cluster : int
        Labels of a cluster, which share features and occur together; 0 for none.
    seed : int
    """

    n_features: int
    n_labels: int
    nonzeros: int = 20
    cardinality: float = 5.0
    cluster: int = 0
    seed: int = 0

    def draw(self, n_rows: int, part: int = 0) -> tuple[csr_array, csr_array]:
        """Return X (n_rows, n_features) float32 and Y (n_rows, n_labels) bool; other parts are other rows."""
        blocks = list(self.blocks(n_rows, part))
        X, Y = (vstack([block[which] for block in blocks], format="csr") for which in range(2))
        return X, Y

    def blocks(self, n_rows: int, part: int = 0) -> Iterator[tuple[csr_array, csr_array]]:
        """Yield the rows of `draw` block by block."""
        rng = np.random.default_rng((self.seed, 0))
        labels, features = rng.permutation(self.n_labels), rng.permutation(self.n_features)
        own = features[_popular(rng, self.n_features, (self.n_labels, OWN))].astype(np.int32)
        if self.cluster:
            # The labels of a cluster follow one another before they are numbered at random.
            pools = features[_popular(rng, self.n_features, (-(-self.n_labels // self.cluster), POOL))]
            group = np.arange(self.n_labels) // self.cluster
            own[:, :SHARED] = pools[group[:, None], rng.integers(POOL, size=(self.n_labels, SHARED))]
        rng = np.random.default_rng((self.seed, 1 + part))
        for begin in range(0, n_rows, ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, n_rows - begin)
            counts = 1 + rng.poisson(self.cardinality - 1, n)
            row = np.repeat(np.arange(n), counts)
            drawn = self._labels(rng, n, row)
            first = np.cumsum(counts) - counts
            of = drawn[first[:, None] + (rng.random((n, self.nonzeros)) * counts[:, None]).astype(np.int64)]
            found = own[of, rng.integers(OWN, size=of.shape)]
            noise = features[_popular(rng, self.n_features, of.shape)]
            columns = np.where(rng.random(of.shape) < SIGNAL, found, noise).astype(np.int32)
            X = _merged(np.repeat(np.arange(n), self.nonzeros), columns.ravel(), (n, self.n_features))
            X.data[:] = rng.lognormal(0.0, 0.5, X.nnz)
            X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
            Y = _merged(row, labels[drawn].astype(np.int32), (n, self.n_labels))
            yield X, Y.astype(bool)

    def _labels(self, rng, n, row):
        if not self.cluster:
            return _popular(rng, self.n_labels, row.size)
        n_clusters = -(-self.n_labels // self.cluster)
        # Clusters are as popular as labels; a label within its cluster too.
        about = _popular(rng, n_clusters, n)[row] * self.cluster + _popular(rng, self.cluster, row.size)
        anywhere = _popular(rng, self.n_labels, row.size)
        return np.where((rng.random(row.size) < INSIDE) & (about < self.n_labels), about, anywhere)


def _popular(rng, n, size):
    """Draw numbers below n, number i with a probability that falls as 1 / sqrt(i + 1)."""
    return np.minimum((rng.random(size) ** 2 * n).astype(np.int64), n - 1)


def _merged(rows, columns, shape):
    matrix = csr_array((np.ones(rows.size, np.float32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix
