"""What features must be for a kernel of histograms."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features

__all__ = ["check_histograms"]


def check_histograms(X: Features) -> None:
    """Raise ValueError, which says where, unless all features are at least 0."""
    values = X.data if issparse(X) else X
    least = values.min(initial=0.0)
    if least >= 0:
        return
    where = np.argmax(~(values >= 0))
    row, column = np.unravel_index(where, X.shape) if values is X else (_row_of(X, where), X.indices[where])
    found = f"{values.flat[where]:g} in row {row}, feature {column} (both counted from 0)"
    raise ValueError(f"the chi2 kernel needs features of at least 0, found {found}")


def _row_of(X: csr_array, position: Any) -> int:
    return int(np.searchsorted(X.indptr, position, side="right")) - 1
