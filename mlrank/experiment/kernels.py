"""What the kernels of an experiment's methods ask of its data, checked before the first fit."""

from scipy.sparse import issparse

from mlrank.config import ExperimentConfig, MethodConfig
from mlrank.datasets import Dataset
from mlrank.errors import UserError
from mlrank.kernels import HISTOGRAM_KERNELS
from mlrank.kernels.histograms import check_histograms
from mlrank.kernels.rows import check_gram

__all__ = ["check_kernels"]


def check_kernels(config: ExperimentConfig, dataset: Dataset) -> None:
    """Refuse data that have no kernel by some method.

    Raises
    ------
    UserError
        If they are no kernel matrix for one that is precomputed, or have, or will have, negative features for a chi2
        kernel.
    """
    checked = False
    for method in config.methods.values():
        with config.places.errors_at("methods", method.name, "kernel"):
            try:
                if method.pairwise and not checked:  # O(n^3), and the same for every method
                    _check_matrix(dataset)
                    checked = True
                elif method.projection_class is None and HISTOGRAM_KERNELS & set(method.kernels):
                    _check_features(config.scale, method, dataset)
            except ValueError as error:
                raise UserError(f"'{dataset.name}', method '{method.name}': {error}") from error


def _check_matrix(dataset: Dataset) -> None:
    X = dataset.X
    if issparse(X) or X.shape[0] != X.shape[1]:
        kind = "a sparse" if issparse(X) else "a"
        raise ValueError(
            "a precomputed kernel must be a dense square matrix, with a column for each row, training and test rows "
            f"alike; found {kind} matrix of {X.shape[0]} rows and {X.shape[1]} columns"
        )
    check_gram(X, "the rows of the data")


def _check_features(scale: str, method: MethodConfig, dataset: Dataset) -> None:
    if scale == "standard" and not issparse(dataset.X):
        raise ValueError("scale 'standard' makes features negative, which no chi2 kernel takes; write 'l1' or 'none'")
    # What is negative only after min-max scaling, in a test row, fails its fit.
    if scale != "minmax":
        check_histograms(dataset.X)
