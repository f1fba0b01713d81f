"""One large fit on several workers: its blocks are tasks of their own, and what these come to is joined to the fit.

A fit is cut where it would keep its worker busy while others have nothing left to do: where it takes more operations,
by the solvers' estimates, than a worker's share of what is still waiting, itself among it. There is a block for each
worker and no more, as each scales and prepares its rows anew; solvers deal their problems out by turns, so that blocks
are about equal. Small fits stay whole, and so do those that are projected first, or made again for held-out scores. Who
solves a block gets the rows from the same maps as for any task; a solver's blocks give the same model in any number, so
that no result depends on whether its fit was cut.

Blocks are kept until the last one is there, in files where the workers are processes of this machine. A block that
fails, or whose worker dies alone, has its fit made whole: its error, too, is that of a whole fit. After a kill a fit is
either stored or made anew from its first block.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from mlrank.search.shared_memory import Filed
from mlrank.search.tasks import Part, Task
from mlrank.solvers import Capabilities
from mlrank.solvers.base import Block

__all__ = ["SharedFits", "blocks_of", "let_go", "most_blocks"]

# Operations of a block at least, about half a second's.
BLOCK_OPERATIONS = 2e8


def most_blocks(task: Task, n_workers: int) -> int:
    """Return into how many blocks a task can be cut, whatever else is waiting."""
    chain = task.chain
    if len(task.points) != 1 or task.operations < 2 * BLOCK_OPERATIONS:
        return 1
    if chain.projection is not None or chain.cross_fits or not Capabilities.of(chain.solver).blocks:
        return 1
    return min(n_workers, int(task.operations / BLOCK_OPERATIONS))


def blocks_of(task: Task, n_workers: int, operations: float) -> int:
    """Return into how many blocks to cut a task; `operations` are those of all that is waiting, itself among it."""
    return most_blocks(task, n_workers) if n_workers * task.operations > operations else 1


@dataclass
class SharedFits:
    """Fits whose blocks are being solved, by the keys of their points."""

    parts: dict[str, list[Part | None]] = field(default_factory=dict)

    def cut(self, task: Task, n_blocks: int) -> list[Task]:
        """Return the tasks of a fit's blocks."""
        self.parts[task.points[0].key] = [None] * n_blocks
        return [replace(task, block=Block(number, n_blocks)) for number in range(n_blocks)]

    def out(self, task: Task) -> bool:
        """Return whether the fit of a block is still waiting for it."""
        return task.points[0].key in self.parts

    def add(self, task: Task, part: Part) -> Task | None:
        """Take what a block came to; return the task that makes the fit as soon as nothing is missing for it.

        That is the whole fit where a block has failed, or all blocks together took longer than the fit may.
        """
        key, whole = task.points[0].key, replace(task, block=None)
        if task.block is None or key not in self.parts:
            let_go([part])
            return None
        parts = self.parts[key]
        parts[task.block.number] = part
        solved = tuple(one for one in parts if one is not None)
        if not part.failed and len(solved) < len(parts):
            return None
        del self.parts[key]
        late = task.time_limit is not None and sum(one.seconds for one in solved) > task.time_limit
        if part.failed or late:
            let_go(solved)
            return whole
        return replace(whole, parts=solved)


def let_go(parts: Iterable[Part]) -> None:
    """Remove the files of parts that nobody is going to read."""
    for part in parts:
        if isinstance(part.solved, Filed):
            part.solved.remove()
