import numba
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture
def one_thread():
    """Hold every library to one thread."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with threadpool_limits(1):
        yield
    numba.set_num_threads(before)
