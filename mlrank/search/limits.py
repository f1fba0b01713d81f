"""A time limit for a block of code, in any thread."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["TimeLimit", "time_limit"]

AGAIN_SECONDS = 0.5


class TimeLimit(Exception):
    """A fit took longer than it may."""

    def __init__(self, message: str = "the fit took longer than its time limit") -> None:
        super().__init__(message)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimit inside the block once `seconds` have passed.

    The exception arrives when compiled code returns to Python, at the latest after one pass of a solver or one label
    of a library. Alarm signals would reach the main thread alone, and a cluster's workers fit in other threads.

    Python drops an exception that arrives in a destructor, a callback or a tracer, and a library may catch it. So it is
    raised again every AGAIN_SECONDS until the block has ended.
    """
    if seconds is None:
        yield
        return
    watch = _Watch(threading.get_ident(), seconds)
    watch.start()
    try:
        try:
            watch.guard.release()
            yield
        finally:
            watch.end()
    except TimeLimit:
        watch.end()  # it may have arrived before the first was through
        raise TimeLimit(f"the fit took longer than the time limit of {seconds:g} s") from None


class _Watch(threading.Thread):
    """Raises TimeLimit in another thread, some seconds after its guard is released and again from then on."""

    def __init__(self, thread: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self.thread, self.seconds = thread, seconds
        self.guard, self.ended = threading.Lock(), threading.Event()
        self.guard.acquire()

    def run(self) -> None:
        """Wait and raise, until told to end."""
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
