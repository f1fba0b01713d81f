"""A time limit for a block of code, in any thread."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["TimeLimit", "time_limit"]


class TimeLimit(Exception):
    """A fit took longer than it may."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeLimit inside the block once `seconds` have passed.

    The exception arrives when compiled code returns to Python, at the latest after one pass of a solver or one label
    of a library. Alarm signals would reach the main thread alone, and a cluster's workers fit in other threads.
    """
    if seconds is None:
        yield
        return
    thread, guard, state = threading.get_ident(), threading.Lock(), {"over": False, "fired": False}

    def fire() -> None:
        with guard:
            if not state["over"]:
                state["fired"] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeLimit))

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except TimeLimit:
        raise TimeLimit(f"the fit took longer than the time limit of {seconds:g} s") from None
    finally:
        with guard:
            state["over"] = True
        timer.cancel()
        if state["fired"]:
            # It may be on its way still: the block ended at the last moment.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)
