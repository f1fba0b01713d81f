"""Where tasks run: in this process, in worker processes of this machine, or on a Dask cluster.

Every fit has one BLAS, OpenMP and numba thread wherever it runs, so that results do not depend on the place, and
threads times workers stay within the cores.
"""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from mlrank.processes import begin_uncollected
from mlrank.search.fits import work
from mlrank.search.limits import end_process_that_hangs
from mlrank.search.neighbor_cache import MemoryNeighborCache
from mlrank.search.shared_memory import Filed, SharedData, map_folder
from mlrank.search.sharing import let_go
from mlrank.search.task_data import TaskData
from mlrank.search.tasks import Part, Refit, Result, Task
from mlrank.search.threads import one_thread

__all__ = ["Pool", "growing_pool", "local_pool", "pools_ahead"]

# When a pool that begins in this process starts workers: after so many seconds of fits, about what the start takes, or
# before a fit of more operations by its solver's estimate, which takes a few seconds at most, and little memory.
SECONDS_HERE = 1.0
OPERATIONS_HERE = 1e8

# Arrays of so many bytes take less time by a file than through a pipe.
FILED_BYTES = 2**20

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
_ENVIRONMENT = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES} | {
    # A worker that keeps what a fit needs is no leak: it would be ended, with a warning, after each fit of much memory.
    "LOKY_MAX_MEMORY_LEAK_SIZE": "1e18"
}


class Pool(Protocol):
    """Runs tasks. `size` workers are at it; `depth` tasks may be handed over at a time."""

    @property
    def size(self) -> int:
        """Number of workers."""
        ...

    @property
    def depth(self) -> int:
        """Number of tasks that keep all workers busy."""
        ...

    def load(self, task_data: TaskData) -> None:
        """Hand out the data that the tasks to come are about."""
        ...

    def submit(self, task: Task) -> "Future[list[Result]]":
        """Start a task; its future has what `mlrank.search.fits.work` returns."""
        ...

    def submit_alone(self, task: Task) -> "Future[list[Result]]":
        """Start a task that was lost, where the death of no other worker can end it."""
        ...

    def mend(self) -> None:
        """Make the pool fit for use after a task was lost."""
        ...


class SerialPool:
    """Runs each task at once, in this process."""

    size = depth = 1

    def load(self, task_data: TaskData) -> None:
        """Keep the data, and what tasks find of the neighbours of their rows."""
        self.data = replace(task_data, neighbor_cache=MemoryNeighborCache())

    def submit(self, task: Task) -> "Future[list[Result]]":
        """Run the task; its future is done."""
        future: Future[list[Result]] = Future()
        future.set_result(work(task, self.data))
        return future

    submit_alone = submit

    def mend(self) -> None:
        """Do nothing: what happens here, happens to the caller."""


class ProcessPool:
    """Worker processes on this machine, which map the data from files."""

    def __init__(self, size: int, folder: Path, executor: Any) -> None:
        self.size, self.depth, self.folder, self.executor = size, 2 * size, folder, executor
        self.single: Any = None

    def load(self, task_data: TaskData) -> None:
        """Write the data to files."""
        self.data = SharedData.write(self.folder, task_data)

    def submit(self, task: Task) -> "Future[list[Result]]":
        """Start the task as soon as a worker is free."""
        self._end_single()
        return self._start(task, self.executor)

    def submit_alone(self, task: Task) -> "Future[list[Result]]":
        """Start the task in a worker of its own: the death of one worker ends what all of an executor are at."""
        if self.single is None:
            self.single = _executor(1)
        return self._start(task, self.single)

    def _start(self, task: Task, executor: Any) -> "Future[list[Result]]":
        found: Future[list[Result]] = Future()
        try:
            sent: Future[list[Result] | Filed] = executor.submit(_shared_work, task, self.data)
        except BrokenExecutor as error:  # found out since the last task came back
            found.set_exception(error)
        else:
            sent.add_done_callback(partial(_pass_on, task, found))
        return found

    def mend(self) -> None:
        """Start other workers."""
        self.stop()
        self.executor = _executor(self.size)

    def stop(self) -> None:
        """End the workers at once: what they have done has come back, or is no longer needed."""
        self._end_single()
        self.executor.shutdown(wait=True, kill_workers=True)

    def _end_single(self) -> None:
        if self.single is not None:
            self.single.shutdown(wait=True, kill_workers=True)
            self.single = None


class GrowingPool:
    """Runs tasks in this process, and in `size` workers from the first large fit on, or once fits have taken long."""

    def __init__(self, size: int, folder: Path) -> None:
        self.size, self.folder, self.seconds = size, folder, 0.0
        self.pool: SerialPool | ProcessPool = SerialPool()

    @property
    def depth(self) -> int:
        """One task as long as they run here."""
        return self.pool.depth

    def load(self, task_data: TaskData) -> None:
        """Keep the data for workers to come, or write them for those that are there."""
        self.task_data = task_data
        self.pool.load(task_data)

    def submit(self, task: Task) -> "Future[list[Result]]":
        """Run the task here, or start it in a worker."""
        long = self.seconds > SECONDS_HERE or task.operations > OPERATIONS_HERE
        if long and isinstance(self.pool, SerialPool):
            self.pool = ProcessPool(self.size, self.folder, _executor(self.size))
            self.pool.load(self.task_data)
        started = time.perf_counter()
        future = self.pool.submit(task)
        self.seconds += time.perf_counter() - started
        return future

    def submit_alone(self, task: Task) -> "Future[list[Result]]":
        """Start a task that a worker had, in one of its own."""
        return self.pool.submit_alone(task)

    def mend(self) -> None:
        """Start other workers."""
        self.pool.mend()

    def stop(self) -> None:
        """End the workers, if there are any."""
        if isinstance(self.pool, ProcessPool):
            self.pool.stop()


def _executor(size: int) -> Any:
    """Return worker processes, which start with the first call that they are given."""
    # Loky is what joblib runs on. Joblib itself can neither start workers ahead nor tell which task a dead worker had.
    from loky import ProcessPoolExecutor

    # By its name: a worker that is sent the function itself imports this module, and what that needs, before the call.
    start = (__name__, _start_worker.__name__, os.getpid())
    return ProcessPoolExecutor(max_workers=size, initializer=begin_uncollected, initargs=start, env=_ENVIRONMENT)


@contextmanager
def local_pool(jobs: int, ahead: Any = None) -> Iterator[Pool]:
    """Give a pool of `jobs` workers on this machine, those started `ahead` if any; they end with the block."""
    if jobs == 1:
        with one_thread():
            yield SerialPool()
        return
    with map_folder() as folder:
        pool = ProcessPool(jobs, folder, ahead or _executor(jobs))
        try:
            yield pool
        finally:
            pool.stop()


@contextmanager
def growing_pool(jobs: int) -> Iterator[Pool]:
    """Give a pool for a few short tasks: its workers are started only if they turn out to be long.

    What ends this process ends its caller, so tasks must be of code that does not.
    """
    if jobs == 1:
        with local_pool(1) as pool:
            yield pool
        return
    with map_folder() as folder, one_thread():
        growing = GrowingPool(jobs, folder)
        try:
            yield growing
        finally:
            growing.stop()


@contextmanager
def pools_ahead(jobs: int, classes: Sequence[type]) -> Iterator[Callable[[int], AbstractContextManager[Pool]]]:
    """Start `jobs` worker processes, which load the modules of `classes`; give what makes a pool of that many or fewer.

    They end with the block at the latest.
    """
    ahead = _executor(jobs)
    calls: list[Future[None]] = []

    def end() -> None:
        # The executor's thread fails if it is to kill the workers before it has looked at every call.
        while not all(call.running() or call.done() for call in calls):
            time.sleep(0.001)
        ahead.shutdown(wait=True, kill_workers=True)

    def pool(size: int) -> AbstractContextManager[Pool]:
        if size == jobs:
            return local_pool(size, ahead)
        end()
        return local_pool(size)

    try:
        calls += [ahead.submit(_load, *classes) for _ in range(jobs)]
        yield pool
    finally:
        end()


def _load(*classes: type) -> None:
    """Have the classes loaded, as they are once a worker gets here, and kept out of the collection after each call."""
    gc.freeze()


def _pass_on(task: Task, found: "Future[list[Result]]", sent: "Future[list[Result] | Filed]") -> None:
    """Give a future what a worker has sent or left in a file; only then are the task's parts no longer needed."""
    try:
        results = sent.result()
        results = results.take() if isinstance(results, Filed) else results
        let_go(task.parts)
    except BaseException as error:
        found.set_exception(error)
    else:
        found.set_result(results)


def _shared_work(task: Task, data: SharedData) -> list[Result] | Filed:
    first = not gc.isenabled()
    if first:  # what the first task has loaded stays, and need not be looked through again and again
        gc.freeze()
        gc.enable()
    results = [_with_file(result, data.folder) for result in work(_without_files(task), data.open())]
    sent = _in_file(results, data.folder)
    if first:  # some solvers load their libraries as they fit
        gc.freeze()
    return sent


def _in_file(results: list[Result], folder: str) -> list[Result] | Filed:
    """Return results as they are, or, if they hold large arrays, in a file that has room for them."""
    refits = [one for one in results if isinstance(one, Refit)]
    given = [*(one.arrays for one in refits), *(one.fit.arrays for one in refits if one.fit is not None)]
    if sum(array.nbytes for arrays in given for array in arrays.values()) < FILED_BYTES:
        return results
    return Filed.write(folder, results) or results


def _with_file(result: Result, folder: str) -> Result:
    """Return what a block came to with the solved part in a file, if there is room for it."""
    if not isinstance(result, Part) or result.failed:
        return result
    filed = Filed.write(folder, result.solved)
    return result if filed is None else replace(result, solved=filed)


def _without_files(task: Task) -> Task:
    """Return a task with the solved parts of its fit that lie in files, or without any if one cannot be read.

    The fit is then made whole, as it is where a block has failed.
    """
    try:
        parts = [replace(one, solved=one.solved.read()) if isinstance(one.solved, Filed) else one for one in task.parts]
    except OSError:
        return replace(task, parts=())
    return replace(task, parts=tuple(parts))


def _start_worker(parent: int) -> None:
    """Leave interrupts to the parent, hold every library to one thread, end when a fit hangs or the parent is gone.

    Garbage is not collected until the modules of the first task are loaded.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    end_process_that_hangs()
    import scipy.linalg  # noqa: F401  its BLAS must be there to be limited

    threadpool_limits(1)


def _end_with(parent: int) -> None:
    """End this process once its parent is gone; on Windows, where a child keeps its parent's number, after its task."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
