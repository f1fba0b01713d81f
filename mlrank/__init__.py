"""mlrank: an experiment runner for multi-label classification and ranking."""

from typing import Any

__all__ = ["SOLVERS", "Dataset", "TrainingSet", "__version__", "load_dataset"]

__version__ = "0.1.0"

_HOMES = {
    "Dataset": "mlrank.datasets",
    "SOLVERS": "mlrank.solvers",
    "TrainingSet": "mlrank.solvers",
    "load_dataset": "mlrank.datasets",
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use, so that `mlrank --help` need not import numpy.
    if name not in _HOMES:
        raise AttributeError(f"module 'mlrank' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
