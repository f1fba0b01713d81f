"""Processes that share files: locks that end with their holder, interrupts that wait, and whether a process runs."""

import gc
import hashlib
import importlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["begin_uncollected", "has_ended", "locked", "process_name", "process_started", "signals_held"]

# Seconds between two attempts to get a lock that another process holds.
POLL_SECONDS = 0.01

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file `path`, which is made if it is missing: one process or thread at a time.

    The system frees the lock when its holder ends, however it ends. The file stays: if it were removed, another process
    could lock a new file while a third still waits for the old one.

    Raises
    ------
    OSError
        If the file cannot be opened, or its file system has no locks.
    """
    from filelock import lock_descriptor, unlock_descriptor

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        lock_descriptor(descriptor, poll_interval=POLL_SECONDS)
        try:
            yield
        finally:
            unlock_descriptor(descriptor)  # Windows frees the lock of a closed file only some time later
    finally:
        os.close(descriptor)


@contextmanager
def signals_held() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until the block ends, so that what it does is done whole or not at all.

    A signal mask would not do: it holds for one thread, and the system gives the signal to another. In threads other
    than the main one nothing is held, because Python never interrupts them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {number: signal.signal(number, lambda number, _: arrived.append(number)) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for late in arrived:
            signal.raise_signal(late)


def process_name() -> str:
    """Return a name of this process that no other has: a digest of its machine, its number and its start."""
    return f"{_machine()}-{os.getpid()}-{process_started(os.getpid())}"


def has_ended(name: str) -> bool | None:
    """Return whether the process of a name has ended; None where that cannot be seen: it is of another machine."""
    machine, _, process = name.partition("-")
    pid, _, started = process.partition("-")
    if machine != _machine() or not pid.isdigit():
        return None
    now = process_started(int(pid))
    return None if now == "running" else now != started


def _machine() -> str:
    return hashlib.blake2b(socket.gethostname().encode(), digest_size=3).hexdigest()


def process_started(pid: int) -> str | None:
    """Return what distinguishes a process from an earlier one with the same number; None if no such process runs.

    Where the start of a process is unknown the answer is "running"; on Windows it always is, because the signal that
    asks elsewhere whether a process exists ends it there.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]  # a zombie has ended
    except OSError:
        pass
    if sys.platform != "win32":
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except OSError:  # it belongs to another user
            pass
    return "running"


def begin_uncollected(module: str, function: str, *arguments: object) -> None:
    """Turn off garbage collection, import a module and call a function of it: the first that a new process does.

    While modules are loaded, collections find next to nothing and take a fifth of the time. The function says when
    they begin again.
    """
    gc.disable()
    getattr(importlib.import_module(module), function)(*arguments)
