"""One thread for each fit, so that threads times workers stay within the cores and no number depends on the place.

BLAS and OpenMP libraries are held for a whole pool. Numba is held before each fit, if it is loaded by then: most
solvers do without it, and it takes half a second to load.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["hold_numba", "one_thread"]


def hold_numba() -> None:
    """Hold numba to one thread in fits of this thread, if it is loaded."""
    numba = _loaded_numba()
    if numba is not None and numba.get_num_threads() > 1:
        numba.set_num_threads(1)
        threadpool_limits(1)  # of the OpenMP library that it has just loaded, too


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP libraries to one thread in the block; numba has those back at its end that it had before."""
    import scipy.linalg  # noqa: F401  its BLAS must be there to be limited

    numba, before = _loaded_numba(), None
    if numba is not None:
        before = numba.get_num_threads()
        numba.set_num_threads(1)
    try:
        with threadpool_limits(1):  # after numba, which has loaded an OpenMP library by now
            yield
    finally:
        numba = _loaded_numba()
        if numba is not None:
            numba.set_num_threads(before or numba.config.NUMBA_NUM_THREADS)


def _loaded_numba() -> Any:
    if "numba" not in sys.modules:
        return None
    import numba  # another thread may be in the middle of loading it

    return numba
