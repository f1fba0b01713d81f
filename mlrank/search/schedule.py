"""Handing out tasks: parts of a long one go to idle workers, and what a dead worker held is done again."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from mlrank.search.fits import died
from mlrank.search.pools import Pool
from mlrank.search.tasks import Result, Task

__all__ = ["execute"]

Finished = tuple[Task, list[Result]]


def execute(tasks: Sequence[Task], pool: Pool, admit: Callable[[Task], Task]) -> Iterator[Finished]:
    """Run tasks and yield (part of a task, its results) in the order in which they finish.

    Parameters
    ----------
    tasks : their points may come back in several parts
    pool : has the data loaded
    admit : asked right before a task is started; returns it with the points that are still to be done here

    A task whose worker died is tried again point by point, one at a time; a point whose worker dies then has failed.
    """
    waiting, suspects, broken = deque(tasks), deque[Task](), False
    running: dict[Future[list[Result]], Task] = {}
    while waiting or suspects or running:
        if suspects and not running:
            if broken:  # now that all it ran has come back: the tasks of a broken pool fail together
                pool.mend()
                broken = False
            yield _try_alone(suspects.popleft(), pool)
            continue
        while waiting and not suspects and len(running) < pool.depth:
            _spread(waiting, pool, len(running))
            task = admit(waiting.popleft())
            if task.points:
                running[pool.submit(task)] = task
        for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
            task = running.pop(future)
            if future.cancelled() or future.exception() is not None:
                suspects += (task.of([point]) for point in task.points)
                broken = True
                continue
            results = future.result()
            if len(results) < len(task.points):
                waiting.appendleft(task.of(task.points[len(results) :]))
            yield task.of(task.points[: len(results)]), results


def _spread(waiting: deque[Task], pool: Pool, n_running: int) -> None:
    """Split the longest tasks until each idle worker has one, and all end together where parts cost nothing."""
    while len(waiting) < pool.depth:
        longest = max(range(len(waiting)), key=lambda i: len(waiting[i].points))
        task = waiting[longest]
        points = task.points
        if len(points) < 2 or (len(waiting) >= pool.size - n_running and task.chain.prepares):
            return
        middle = (len(points) + 1) // 2
        waiting[longest] = task.of(points[:middle])
        waiting.append(task.of(points[middle:]))


def _try_alone(task: Task, pool: Pool) -> Finished:
    try:
        return task, pool.submit(task).result()
    except Exception as error:  # the pool's own failure: those of the fit are results
        pool.mend()
        return task, [died(task, error)]
