"""The machines of some labels, as a process makes them that shares a fit, and those of all labels joined."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse

from mlrank.solvers.models import DualPoint
from mlrank.solvers.one_vs_rest.libraries import Machine
from mlrank.solvers.one_vs_rest.rows import LabelMachines, Machines, joined

__all__ = ["dual_point_of", "join_machines", "stacked"]


def join_machines(parts: Sequence[LabelMachines]) -> LabelMachines:
    """Return the machines of several parts in the order of their labels."""
    if len(parts) == 1 and (np.diff(parts[0].labels) > 0).all():
        return parts[0]
    some = [part for part in parts if part.labels.size] or parts[:1]
    labels = np.concatenate([part.labels for part in some])
    order = np.argsort(labels)
    W, b, primal, dual, n_iter, beta = joined([part.machines for part in some], some[0].machines.W.shape)
    if beta is not None:
        beta = csr_array(beta[order]) if issparse(beta) else beta[order]
    return LabelMachines(labels[order], Machines(W[order], b[order], primal[order], dual[order], n_iter[order], beta))


def dual_point_of(found: LabelMachines, n_labels: int) -> DualPoint | None:
    """Return the dual point of the machines of some labels; None where their dual variables were not kept."""
    labels, beta = found.labels, found.machines.beta
    if beta is None:
        return None
    if not issparse(beta):
        spread = np.zeros((beta.shape[1], n_labels))
        spread[:, labels] = beta.T
        return DualPoint.of(spread)
    turned = csc_array(beta.T)
    counts = np.zeros(n_labels, dtype=turned.indptr.dtype)
    counts[labels] = np.diff(turned.indptr)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return DualPoint(csr_array(csc_array((turned.data, turned.indices, ends), shape=(turned.shape[0], n_labels))))


def stacked(machines: Sequence[Machine], n_weights: int, n_samples: int) -> Machines:
    """Return machines that were fitted one by one as arrays."""
    W, beta = np.empty((len(machines), n_weights)), np.empty((len(machines), n_samples))
    for place, machine in enumerate(machines):
        W[place], beta[place] = machine.weights, machine.beta
    b, primal, dual = (np.array([getattr(one, name) for one in machines]) for name in ("intercept", "primal", "dual"))
    return Machines(W, b, primal, dual, np.array([one.n_iter for one in machines], dtype=np.int64), beta)
