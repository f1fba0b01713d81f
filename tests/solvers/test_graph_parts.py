"""Parts of a graph that next to nothing joins: labels reach them all the same."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank import SOLVERS, TrainingSet
from mlrank.solvers.propagation.parts import part_by_part
from mlrank.solvers.propagation.systems import GraphSolution


def far_group(shift, seed=0):
    rng = np.random.default_rng(seed)
    X, near, far = (0.3 * rng.standard_normal((n, 2)) for n in (30, 10, 12))
    Y = rng.random((30, 3)) < 0.5
    Y[:, 2] = True
    return TrainingSet(X, Y, X_unlabeled=np.vstack([near, far + np.array([shift, 0.0])]))


@pytest.mark.parametrize("shift", [3.5, 4.0, 5.0, 8.0])
def test_a_label_that_all_rows_carry_reaches_a_far_group_whole(shift):
    train = far_group(shift)
    model = SOLVERS["smse"](variant="smse1", nu=0.0, n_neighbors=15).fit(train)
    scores = model.decision_function(train.X_unlabeled)
    assert model.info.converged
    assert scores[:, 2] == pytest.approx(1.0, abs=1e-7)
    # Next to nothing leaves the group, so that one score serves all of it.
    assert scores[10:] == pytest.approx(np.broadcast_to(scores[10], (12, 3)), abs=1e-6)


@pytest.mark.parametrize("weight", [1e-3, 1e-8, 1e-14])
def test_the_level_of_a_part_is_the_mean_of_what_reaches_it(weight):
    """Two rows, joined to each other by 1 and to training rows of scores 1 and 0 by `weight` and 2 `weight`."""
    A = csr_array([[1.0 + weight, -1.0], [-1.0, 1.0 + 2 * weight]])
    B, leak = np.array([[weight], [0.0]]), np.array([weight, 2 * weight])
    nothing = GraphSolution(np.zeros((2, 1)), 0, 1.0)
    found = part_by_part(A, np.zeros((1, 1)), B, nothing, 1e-10, 100, leak)
    difference = weight * (1 - 1 / 3) / (1 + weight)  # what flows from the first row to the second, nearly
    assert found.F.mean() == pytest.approx(1 / 3, rel=1e-3)
    assert found.F[0, 0] - found.F[1, 0] == pytest.approx(difference, rel=0.1, abs=1e-15)
    assert found.optimality <= 1e-10


def test_scores_of_nothing_in_a_far_group_are_not_converged():
    A = np.kron(np.eye(2), [[2.0, -1.0], [-1.0, 2.0]])
    A[1, 2] = A[2, 1] = -1e-9
    A = csr_array(A)
    B = np.array([[1.0], [0.0], [0.0], [0.0]])
    F = np.linalg.solve(A.toarray(), B)
    wrong = F.copy()
    wrong[2:] = 0.0
    assert part_by_part(A, np.zeros((1, 1)), B, GraphSolution(wrong, 1, 1e-10), 1e-6, 0).optimality == pytest.approx(1)
    mended = part_by_part(A, np.zeros((1, 1)), B, GraphSolution(wrong, 1, 1e-10), 1e-8, 100)
    assert mended.optimality <= 1e-8
    assert mended.F == pytest.approx(F, rel=1e-7)
