import numba
import pytest
import scipy.linalg  # noqa: F401  its library must be loaded to be limited, and solvers load it late
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_thread():
    """Hold every library to one thread."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with threadpool_limits(1):
        yield
    numba.set_num_threads(before)
