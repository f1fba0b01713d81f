"""The machines of some labels, as a process makes them that shares a fit, and those of all labels joined."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mlrank.arrays import IntArray
from mlrank.solvers.one_vs_rest.libraries import Machine
from mlrank.solvers.one_vs_rest.rows import Machines

__all__ = ["LabelMachines", "join_machines", "stacked"]


class LabelMachines(NamedTuple):
    """Machines, and the labels (n_machines,) that they are for."""

    labels: IntArray
    machines: Machines


def join_machines(parts: Sequence[LabelMachines]) -> LabelMachines:
    """Return the machines of several parts in the order of their labels."""
    if len(parts) == 1 and (np.diff(parts[0].labels) > 0).all():
        return parts[0]
    labels = np.concatenate([part.labels for part in parts])
    order = np.argsort(labels)
    *dense, betas = zip(*(part.machines for part in parts), strict=True)
    W, b, primal, dual, n_iter = (np.concatenate(values)[order] for values in dense)
    if issparse(betas[0]):
        beta = csr_array(csr_array(vstack(betas, format="csr"))[order])
    else:
        beta = np.concatenate(betas)[order]
    return LabelMachines(labels[order], Machines(W, b, primal, dual, n_iter, beta))


def stacked(machines: Sequence[Machine], n_weights: int, n_samples: int) -> Machines:
    """Return machines that were fitted one by one as arrays."""
    W, beta = np.empty((len(machines), n_weights)), np.empty((len(machines), n_samples))
    for place, machine in enumerate(machines):
        W[place], beta[place] = machine.weights, machine.beta
    b, primal, dual = (np.array([getattr(one, name) for one in machines]) for name in ("intercept", "primal", "dual"))
    return Machines(W, b, primal, dual, np.array([one.n_iter for one in machines], dtype=np.int64), beta)
