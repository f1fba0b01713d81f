"""Hypergraph spectral learning."""

from mlrank.solvers.hypergraph.heads import NeighborModel
from mlrank.solvers.hypergraph.hypergraph_spectral import HypergraphSpectral

__all__ = [
    "HypergraphSpectral",
    "NeighborModel",
]
