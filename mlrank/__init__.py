"""mlrank: an experiment runner for multi-label classification and ranking."""

from typing import Any

__all__ = [
    "METRICS",
    "SOLVERS",
    "THRESHOLDS",
    "Dataset",
    "Results",
    "TrainingSet",
    "__version__",
    "evaluate",
    "load_benchmark",
    "load_dataset",
    "load_model",
    "open_results",
    "reproduce",
    "run",
    "save_model",
]

__version__ = "0.1.0"

_HOMES = {
    "Dataset": "mlrank.datasets",
    "METRICS": "mlrank.metrics",
    "Results": "mlrank.api",
    "SOLVERS": "mlrank.solvers",
    "THRESHOLDS": "mlrank.thresholds",
    "TrainingSet": "mlrank.solvers",
    "evaluate": "mlrank.api",
    "load_benchmark": "mlrank.benchmark",
    "load_dataset": "mlrank.datasets",
    "load_model": "mlrank.api",
    "open_results": "mlrank.api",
    "reproduce": "mlrank.api",
    "run": "mlrank.api",
    "save_model": "mlrank.api",
}


def __getattr__(name: str) -> Any:
    # Names are fetched on first use, so that `mlrank --help` need not import numpy.
    if name not in _HOMES:
        raise AttributeError(f"module 'mlrank' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
