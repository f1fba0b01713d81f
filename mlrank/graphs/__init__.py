"""Nearest-neighbor graphs: exact neighbors, edge weights, degrees, Laplacians and what is computed from them.

A graph is its adjacency matrix, a symmetric csr_array with a zero diagonal; no (n_samples, n_samples) matrix is formed.
"""

from mlrank.graphs.laplacian import LAPLACIANS, component_of, degrees, laplacian, laplacian_product, without_means
from mlrank.graphs.neighbors import knn
from mlrank.graphs.ties import knn_in_order, knn_with_ties
from mlrank.graphs.weights import GRAPHS, SYMMETRIZE, Finder, cosine_graph, gaussian_graph, self_tuning_graph

__all__ = [
    "GRAPHS",
    "LAPLACIANS",
    "SYMMETRIZE",
    "Finder",
    "component_of",
    "cosine_graph",
    "degrees",
    "gaussian_graph",
    "knn",
    "knn_in_order",
    "knn_with_ties",
    "laplacian",
    "laplacian_product",
    "self_tuning_graph",
    "without_means",
]
