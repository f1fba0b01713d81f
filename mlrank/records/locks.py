"""WorkLocks: who is at work on what, so that processes on one results folder share the work instead of repeating it.

A claim is a file ``claims/<key>`` that only one process can create; it names its owner, whose own file in the same
folder says which process that is and is touched every few seconds. It is a second name of that file where the file
system has such: a new file takes up to half a millisecond, more than the rest of a small fit. A claim whose owner is
gone or silent is stale, and the next process takes it over. How long an owner has been silent is seen by watching its
file: clocks may jump, and those of two machines differ.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from mlrank.errors import UserError
from mlrank.processes import locked, process_started, signals_held
from mlrank.records.atomic import dump_json, make_folder, os_errors, write_atomic

__all__ = ["WorkLocks", "held_keys"]

OWNER = "owner-"
# The lock file of a results folder, beside its journal and its folder of claims.
LOCK = ".lock"
HEARTBEAT_SECONDS = 5.0
SILENT_SECONDS = 60.0


class WorkLocks:
    """The claims of this process on the work of one results folder; a context manager.

    Parameters
    ----------
    folder : Path
        Where the claims of all processes are.

    Raises
    ------
    UserError
        If the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = folder.with_name(LOCK)
        self.owner = f"{OWNER}{uuid.uuid4().hex}"
        self._words = dump_json({"owner": self.owner, **_this_process()}).encode()
        self.held: set[str] = set()
        self._watch = _Watch()
        self._ended = threading.Event()
        self._pulse = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "WorkLocks":
        make_folder(self.folder.parent)
        # Under the lock: another process may be removing the folder as it ends.
        with os_errors("read the claims", self.folder), locked(self._lock):
            self._register()
            self._clean()
        self._pulse.start()
        return self

    def _register(self) -> None:
        write_atomic(self.folder / self.owner, self._words)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._pulse.join()
        for key in tuple(self.held):
            self.release(key)
        with suppress(OSError), locked(self._lock):
            (self.folder / self.owner).unlink(missing_ok=True)
            self._clean()
            self.folder.rmdir()  # refused while another process is at work

    def take(self, key: str) -> bool:
        """Claim `key`; return whether it is now, or was already, this process's."""
        return bool(self.take_all([key]))

    def take_all(self, keys: Iterable[str]) -> list[str]:
        """Claim each of `keys`; return those that are now, or were already, this process's."""
        asked = list(keys)
        paths = {key: self.folder / key for key in asked if key not in self.held}
        # An interrupt right after a file is made would leave a claim without a name, which counts as alive for long.
        with signals_held():
            for key, path in paths.items():
                if self._create(path):
                    self.held.add(key)
        for key, path in paths.items():
            if key not in self.held and self._take_over(path):
                self.held.add(key)
        return [key for key in asked if key in self.held]

    def release(self, key: str) -> None:
        """Give up a claim: the work is done, and stored."""
        if key in self.held:
            self.held.discard(key)
            with suppress(OSError):
                (self.folder / key).unlink()

    def _create(self, path: Path) -> bool:
        try:
            os.link(self.folder / self.owner, path)
            return True
        except FileExistsError:
            return False
        except (OSError, NotImplementedError):  # a file system without second names, or one that has too many
            return self._create_file(path)

    def _create_file(self, path: Path) -> bool:
        with os_errors("claim work", path):
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                return False
            try:
                os.write(handle, self._words)
            except OSError:
                path.unlink()
                raise
            finally:
                os.close(handle)
        return True

    def _take_over(self, path: Path) -> bool:
        """Take a stale claim; under a lock, or two processes could each remove the other's new one."""
        with os_errors("claim work", path):
            if _owned(path, self._watch.silent):
                return False
            with locked(self._lock):
                if _owned(path, self._watch.silent):
                    return False
                with signals_held():
                    path.unlink(missing_ok=True)
                    return self._create(path)

    def _clean(self) -> None:
        """Remove what dead processes left behind; under the lock."""
        for path in sorted(self.folder.iterdir()):  # claims first, then owners
            in_use = _alive if path.name.startswith(OWNER) else _owned
            if not in_use(path, self._watch.silent):
                path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            try:
                os.utime(self.folder / self.owner)
            except FileNotFoundError:
                # This process was stopped for so long that it counted as dead: its claims may be others' by now.
                self.held.clear()
                with suppress(OSError, UserError), locked(self._lock):
                    self._register()
            except OSError:
                pass


class _Watch:
    """Tells how long files have not been touched, by a clock that only goes forward."""

    def __init__(self) -> None:
        self.seen: dict[Path, tuple[int, float]] = {}

    def silent(self, path: Path) -> bool:
        """Whether a file was not touched for long; at the first look it never is."""
        touched, now = path.stat().st_mtime_ns, time.monotonic()
        if path not in self.seen or self.seen[path][0] != touched:
            self.seen[path] = touched, now
        return now - self.seen[path][1] >= SILENT_SECONDS


def held_keys(folder: Path) -> set[str]:
    """Return the keys that living processes claim.

    There is but one look, so of processes on other machines it goes by the clock: good enough to be shown.
    """
    return {path.name for path in folder.glob("*") if not path.name.startswith(OWNER) and _owned(path, _looks_old)}


def _looks_old(path: Path) -> bool:
    return abs(time.time() - path.stat().st_mtime) >= SILENT_SECONDS


def _owned(claim: Path, silent: Callable[[Path], bool]) -> bool:
    """Whether the process that made the claim is at work."""
    try:
        words = claim.read_text(encoding="utf-8")
        # Where it is a file of its own, it is written right after it is made.
        return _alive(claim.parent / json.loads(words)["owner"], silent) if words else not silent(claim)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _alive(owner: Path, silent: Callable[[Path], bool]) -> bool:
    """Whether a process runs and says so; of a process on another machine only its word is known."""
    try:
        process = json.loads(owner.read_text(encoding="utf-8"))
        heard = not silent(owner)
    except (OSError, ValueError):
        return False
    if process.get("host") != socket.gethostname():
        return heard
    return heard and process.get("started") == process_started(int(process["pid"]))


def _this_process() -> dict[str, object]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": process_started(os.getpid())}
