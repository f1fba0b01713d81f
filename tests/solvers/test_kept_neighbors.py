"""A fit that takes the neighbors of its rows from another fold's is the fit that finds them itself."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.search.neighbor_cache import MemoryNeighborCache
from mlrank.solvers import TrainingSet
from mlrank.solvers.propagation.mcgf import MCGF
from mlrank.solvers.propagation.smse import SMSE
from mlrank.solvers.slrm.slrm import SLRM

SOLVERS = {
    "slrm": SLRM(lam=0.1),
    "slrm, one width": SLRM(lam=0.1, width=2.0, symmetrize="mutual"),
    "smse": SMSE(n_neighbors=4),
    "smse, mean width": SMSE(n_neighbors=4, graph="gaussian"),
    "mcgf": MCGF(n_neighbors=4),
    "mcgf, cosines": MCGF(n_neighbors=4, graph="cosine"),
}
RNG = np.random.default_rng(2)
ROWS = {
    "normal": RNG.standard_normal((60, 7)),
    "ties": np.round(RNG.standard_normal((60, 6))),
    "equal rows": np.repeat(RNG.standard_normal((6, 3)), 10, axis=0),
    "one of each": np.repeat(np.eye(2, 6), 100, axis=0),
}
Y = RNG.random((200, 3)) < 0.4


class Counted(MemoryNeighborCache):
    """Counts what is made."""

    made = 0

    def __call__(self, key, make):
        def counted():
            self.made += 1
            return make()

        return super().__call__(key, counted)


def folds(X):
    """Training sets with the same rows, each with others among the unlabeled ones."""
    place = np.arange(X.shape[0])
    for fold in range(3):
        held = place % 3 == fold
        yield TrainingSet(X[~held], Y[: len(held)][~held], X[held])


def scores(solver, train):
    return solver.fit(train).decision_function(train.X_unlabeled)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", list(ROWS))
@pytest.mark.parametrize("name", list(SOLVERS))
def test_folds_share_neighbors_and_get_their_own_bits(name, rows, sparse):
    X, solver, keep = ROWS[rows], SOLVERS[name], Counted()
    for train in folds(csr_array(X) if sparse else X):
        assert np.array_equal(scores(solver, replace(train, neighbor_cache=keep)), scores(solver, train))
    # Where a scale is zero, the neighbors of the different rows are needed too.
    assert keep.made == len(keep.kept) in (1, 2)


def test_other_rows_or_numbers_of_neighbors_have_their_own():
    rows, keep = ROWS["normal"], Counted()
    for X, k in ((rows, 8), (rows, 9), (rows[:-1], 8), (rows + 1e-15, 8), (rows[::-1], 8)):
        scores(SMSE(n_neighbors=k), next(replace(train, neighbor_cache=keep) for train in folds(X)))
    assert keep.made == 4


def test_hidden_labels_leave_the_neighbors():
    train, keep = next(folds(ROWS["ties"])), Counted()
    hidden = replace(train, neighbor_cache=keep).hide_labels(np.arange(5))
    assert np.array_equal(scores(SLRM(), hidden), scores(SLRM(), train.hide_labels(np.arange(5))))
    scores(SLRM(), replace(train, neighbor_cache=keep))
    assert keep.made == 1
