"""Handing out tasks: parts of a long one go to idle workers, and what a dead worker held is done again."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from mlrank.records import TrialRecord
from mlrank.search.fits import died
from mlrank.search.pools import Pool
from mlrank.search.sharing import SharedFits, blocks_of, most_blocks
from mlrank.search.tasks import Part, Point, Result, Task

__all__ = ["execute"]

Finished = tuple[Task, list[Result]]
Fit = tuple[type, str]


def execute(tasks: Sequence[Task], pool: Pool, admit: Callable[[Task], Task]) -> Iterator[Finished]:
    """Run tasks and yield (part of a task, its results) in the order in which they finish.

    Parameters
    ----------
    tasks : their points may come back in several parts
    pool : has the data loaded
    admit : asked right before a task is started; returns it with the points that are still to be done here

    A task whose worker died is tried again point by point, in a worker of its own; a point whose worker dies then has
    failed. Large fits that would be the last are shared by workers.
    """
    waiting, suspects, broken = deque(tasks), deque[Task](), False
    pieces, shared = deque[Task](), SharedFits()
    running: dict[Future[list[Result]], Task] = {}
    seconds: dict[Fit, float] = {}
    while waiting or pieces or suspects or running:
        finished: list[Finished] = []
        if suspects and not running:
            if broken:  # now that all it ran has come back: the tasks of a broken pool fail together
                pool.mend()
                broken = False
            finished.append(_try_alone(suspects.popleft(), pool))
        while (waiting or pieces) and not suspects and len(running) < pool.depth:
            if not pieces:
                _spread(waiting, pool, len(running), seconds)
                pieces += _admitted(waiting, pool, admit, shared)
            elif (task := pieces.popleft()).block is None or shared.out(task):
                running[pool.submit(task)] = task
        for future in wait(running, return_when=FIRST_COMPLETED).done if running and not finished else ():
            task = running.pop(future)
            if future.cancelled() or future.exception() is not None:
                suspects += (task.of([point]) for point in task.points)
                broken = True
            else:
                finished.append((task, future.result()))
        for task, results in finished:
            if isinstance(part := results[0], Part):
                made_of_parts = shared.add(task, part)
                pieces += [] if made_of_parts is None else [made_of_parts]
                continue
            if not task.refit:
                seconds |= _measured(task, results)
            if len(results) < len(task.points):
                waiting.appendleft(task.of(task.points[len(results) :]))
            yield task.of(task.points[: len(results)]), results


def _admitted(waiting: deque[Task], pool: Pool, admit: Callable[[Task], Task], shared: SharedFits) -> list[Task]:
    """Return what is to be started of the first task: nothing, all that is left of it, or the blocks of its fit."""
    first = waiting.popleft()
    task = admit(first)
    if not task.points:
        return []
    # Runs of many small fits do not add up what is waiting for each of them.
    if most_blocks(task, pool.size) < 2:
        return [task]
    operations = sum(one.operations * len(one.points) for one in (first, *waiting))
    n_blocks = blocks_of(task, pool.size, operations)
    return [task] if n_blocks < 2 else shared.cut(task, n_blocks)


def _spread(waiting: deque[Task], pool: Pool, n_running: int, seconds: Mapping[Fit, float]) -> None:
    """Split the longest tasks until each idle worker has one, and all end together where parts cost nothing.

    What takes longest, or nobody knows how long, comes first, so that the last parts are short.
    """
    while len(waiting) < pool.depth:
        longest = max(range(len(waiting)), key=lambda i: len(waiting[i].points))
        task = waiting[longest]
        if len(task.points) < 2 or (len(waiting) >= pool.size - n_running and task.chain.prepares):
            return
        left, right = _halves(task, seconds)
        waiting[longest] = left
        waiting.append(right)


def _halves(task: Task, seconds: Mapping[Fit, float]) -> tuple[Task, Task]:
    """Return two parts of a task that take about as long; a point of unknown time is taken for one of the longest."""
    unknown = max(seconds.values(), default=1.0)
    takes = {point.key: seconds.get(_fit(task, point), unknown) for point in task.points}
    points = sorted(task.points, key=lambda point: -takes[point.key])
    rest, middle = sum(takes.values()) / 2, 0
    while middle < len(points) - 1 and (middle == 0 or rest > 0):
        rest -= takes[points[middle].key]
        middle += 1
    return task.of(points[:middle]), task.of(points[middle:])


def _measured(task: Task, results: Sequence[Result]) -> dict[Fit, float]:
    """Return how long the fits of some points took; those on other rows will take about as long."""
    made = [result for result in results if isinstance(result, TrialRecord)]
    times = [(_fit(task, task.points[i]), result.time) for i, result in enumerate(made)]
    return {fit: time.fit + (time.threshold or 0.0) for fit, time in times if time.fit is not None}


def _fit(task: Task, point: Point) -> Fit:
    """Return what a point's fit depends on but for its rows: points that share a fit stay neighbours."""
    return task.chain.solver, f"{point.projection_settings}{point.settings}"


def _try_alone(task: Task, pool: Pool) -> Finished:
    try:
        return task, pool.submit_alone(task).result()
    except Exception as error:  # the pool's own failure: those of the fit are results
        pool.mend()
        return task, [died(task, error)]
