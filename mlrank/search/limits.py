"""A time limit for a block of code, in any thread."""

import ctypes
import faulthandler
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

__all__ = ["TimeLimit", "end_process_that_hangs", "is_over_limit", "time_limit"]

AGAIN_SECONDS = 0.5
# A process that is to end with a block that hangs does so at twice its limit, but not earlier than this after it.
GRACE_SECONDS = 3.0
# What errors of fits over the limit say, stored ones too.
OVER = "took longer than the time limit"


class TimeLimit(Exception):
    """A fit took longer than it may."""

    def __init__(self, message: str = "the fit took longer than its time limit") -> None:
        super().__init__(message)


def is_over_limit(error: str | None) -> bool:
    """Return whether the stored error of a fit says that it took longer than it may."""
    return error is not None and OVER in error


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimit inside the block once `seconds` have passed.

    The exception arrives when compiled code returns to Python: loops of this package do after half a second, see
    `mlrank.arrays.in_pieces`, libraries after one label or one decomposition. Alarm signals would reach the main thread
    alone, and a cluster's workers fit in other threads.

    Python drops an exception that arrives in a destructor, a callback or a tracer, and a library may catch it. So it is
    raised again every AGAIN_SECONDS until the block has ended. What never returns to Python is ended with its process,
    in a process that has been set up for it.
    """
    if seconds is None:
        yield
        return
    watch = _Watch(threading.get_ident(), seconds)
    watch.start()
    if _last_words is not None:
        faulthandler.dump_traceback_later(seconds + max(seconds, GRACE_SECONDS), exit=True, file=_last_words)
    try:
        try:
            watch.guard.release()
            yield
        finally:
            watch.end()
    except TimeLimit:
        watch.end()  # it may have arrived before the first was through
        raise TimeLimit(f"the fit {OVER} of {seconds:g} s") from None
    finally:
        if _last_words is not None:
            faulthandler.cancel_dump_traceback_later()


# Where a process that ends itself says where it was; None in one that does not.
_last_words: IO[str] | None = None


def end_process_that_hangs() -> None:
    """Have this process end when a block outlives twice its time limit: for workers, one block at a time.

    A thread of the interpreter could not see to it: library code that hangs may hold the interpreter's lock.
    """
    global _last_words
    _last_words = open(os.devnull, "w")  # noqa: SIM115  it is for as long as the process lives


class _Watch(threading.Thread):
    """Raises TimeLimit in another thread, some seconds after its guard is released and again from then on."""

    def __init__(self, thread: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.thread, self.seconds = thread, seconds
        self.guard, self.ended = threading.Lock(), threading.Event()
        self.guard.acquire()

    def run(self) -> None:
        """Wait and raise, until it has to end."""
        with self.guard:
            wait = self.seconds
        while not self.ended.wait(wait):
            with self.guard:
                if not self.ended.is_set():
                    target, what = ctypes.c_ulong(self.thread), ctypes.py_object(TimeLimit)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(target, what)
            wait = AGAIN_SECONDS

    def end(self) -> None:
        """Raise no more; what has not arrived yet arrives here."""
        while not self.ended.is_set():
            with suppress(TimeLimit), self.guard:
                self.ended.set()
        # Python looks for such exceptions where a loop turns. Taking one back instead would leave its signal standing,
        # and Python 3.11 does not get on from there under a tracer.
        for _ in range(2):
            pass
