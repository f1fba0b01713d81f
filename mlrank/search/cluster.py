"""A pool on a Dask cluster: the data go to each worker once, and what a lost worker held is done again elsewhere."""

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from mlrank import __version__
from mlrank.errors import UserError
from mlrank.search.fits import work
from mlrank.search.neighbor_cache import MemoryNeighborCache
from mlrank.search.task_data import TaskData
from mlrank.search.tasks import Part, Refit, Result, Task
from mlrank.search.threads import hold_numba

__all__ = ["cluster_pool"]

CONNECT_SECONDS = 30


class ClusterPool:
    """Runs tasks on the workers of a Dask scheduler, one for each of their threads.

    A task whose worker dies is given to another by the scheduler; data that were lost with their last worker are sent
    again.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.executor = client.get_executor()

    @property
    def size(self) -> int:
        """Number of threads of all workers at this moment."""
        return max(1, sum(map(int, self.client.nthreads().values())))

    @property
    def depth(self) -> int:
        """Number of tasks that keep all workers busy."""
        return 2 * self.size

    def load(self, task_data: TaskData) -> None:
        """Send the data to every worker."""
        self.task_data = replace(task_data, neighbor_cache=MemoryNeighborCache())
        self._scatter()

    def submit(self, task: Task) -> "Future[list[Result]]":
        """Start the task as soon as a worker is free."""
        # What blocks came to may be large: it goes to a worker as data do, not with the call.
        given = self.client.scatter(task, hash=False) if task.parts else task
        future: Future[list[Result]] = self.executor.submit(_cluster_work, given, self.data)
        return future

    submit_alone = submit

    def mend(self) -> None:
        """Send the data again if they were lost."""
        if self.data.status != "finished":
            self._scatter()

    def _scatter(self) -> None:
        (self.data,) = self.client.scatter([self.task_data], broadcast=True, hash=False)


@contextmanager
def cluster_pool(scheduler: str) -> Iterator[ClusterPool]:
    """Give a pool on the Dask cluster whose scheduler has the address `scheduler`, or wrote that file.

    Raises
    ------
    UserError
        If `distributed` is not installed, the scheduler does not answer, or its workers have another mlrank.
    """
    try:
        from distributed import Client
    except ImportError:
        message = "the dask backend needs the package distributed: pip install 'mlrank[distributed]'"
        raise UserError(message) from None
    connect: Any = Client
    place = {"scheduler_file": scheduler} if Path(scheduler).is_file() else {"address": scheduler}
    try:
        client = connect(**place, timeout=CONNECT_SECONDS, set_as_default=False)
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"no cluster with workers at {scheduler}: {reason}") from error
    with client:
        _check_versions(client, scheduler)
        yield ClusterPool(client)


def _check_versions(client: Any, scheduler: str) -> None:
    try:
        found = set(client.run(_version).values())
    except ImportError as error:
        raise UserError(f"a worker of {scheduler} cannot import mlrank: {error}") from error
    if found != {__version__}:
        raise UserError(f"the workers of {scheduler} have mlrank {', '.join(sorted(found))}, this is {__version__}")


def _version() -> str:
    return __version__


def _cluster_work(task: Task, task_data: TaskData) -> list[Result]:
    import numba  # noqa: F401  it has an OpenMP library that is to be limited as well
    import scipy.linalg  # noqa: F401  its BLAS must be there to be limited

    hold_numba()
    # Never undone: other threads of the worker are in the middle of fits.
    threadpool_limits(1)
    results = work(task, task_data)
    if _shares_its_process():  # the peak is then that of several fits
        return [_without_peak(result) for result in results]
    return results


def _without_peak(result: Result) -> Result:
    if isinstance(result, Refit):
        return replace(result, time=replace(result.time, peak_memory=None))
    return replace(result, peak_memory=None) if isinstance(result, Part) else result


def _shares_its_process() -> bool:
    from distributed import get_worker

    worker: Any = get_worker()
    return bool(worker.state.nthreads > 1)
