"""Linear machines of all labels at once, and what solves a label alone where that fails."""

from mlrank.solvers.one_vs_rest.blocks import dual_point_of, join_machines, stacked
from mlrank.solvers.one_vs_rest.conjugate import LogisticRows
from mlrank.solvers.one_vs_rest.libraries import Libraries, Machine
from mlrank.solvers.one_vs_rest.pruning import pruned
from mlrank.solvers.one_vs_rest.rows import LabelMachines, MachineRows, Machines
from mlrank.solvers.one_vs_rest.sparse import SparseMachineRows, suits_newton

__all__ = [
    "LabelMachines",
    "Libraries",
    "LogisticRows",
    "Machine",
    "MachineRows",
    "Machines",
    "SparseMachineRows",
    "dual_point_of",
    "join_machines",
    "pruned",
    "stacked",
    "suits_newton",
]
