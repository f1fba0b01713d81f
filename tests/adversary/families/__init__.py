"""The families of solvers, one module each; a new one is a module here and its line below."""

from tests.adversary.families import binary, blocks, logistic, mlr, rank, ridge, roc, slrm, spectral, trees

__all__ = ["FAMILIES", "VARIANTS"]

FAMILIES = {
    "rank": rank.FAMILY,
    "rank_penalty": rank.PENALTY,
    "binary": binary.FAMILY,
    "mlr": mlr.FAMILY,
    "roc": roc.FAMILY,
    "slrm": slrm.FAMILY,
    "slrm_losses": slrm.LOSSES,
    "graphs": slrm.GRAPHS,
    "ridge": ridge.FAMILY,
    "ridge_auto": ridge.AUTO,
    "ridge_kernels": ridge.KERNELS,
    "subspace": ridge.SUBSPACE,
    "compressed": ridge.COMPRESSED,
    "hypergraph": spectral.HYPERGRAPH,
    "blda": spectral.BLDA,
    "completion": blocks.COMPLETION,
    "local": blocks.LOCAL,
    "trees": trees.FAMILY,
    "logistic": logistic.FAMILY,
}
# (family, variant)
VARIANTS = tuple((name, variant) for name, family in FAMILIES.items() for variant in family.solvers)
