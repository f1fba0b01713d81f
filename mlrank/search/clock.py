"""The clock of fits. It stands still while code is compiled: that happens once, and is nothing that a fit takes."""

import sys
import time

__all__ = ["fit_clock"]


def fit_clock() -> float:
    """Return seconds since some moment, less those in which this process compiled code."""
    # numba, which that module needs, takes half a second to load, and many solvers do without it.
    compiling = getattr(sys.modules.get("mlrank.compiled"), "COMPILING", None)
    return time.perf_counter() - (compiling.seconds if compiling else 0.0)
