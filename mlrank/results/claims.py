"""Claims: who is at work on what, so that processes on one results folder share the work instead of repeating it.

A claim is a file ``claims/<key>`` that only one process can create; it names its owner, whose own file in the same
folder says which process that is and is touched every few seconds. A claim whose owner is gone or silent is stale,
and the next process takes it over.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from mlrank.errors import UserError
from mlrank.results.files import dump_json, locked, make_folder, os_errors, write_atomic

__all__ = ["Claims", "claimed"]

OWNER = "owner-"
HEARTBEAT_SECONDS = 5.0
SILENT_SECONDS = 60.0


class Claims:
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
        self.owner = f"{OWNER}{uuid.uuid4().hex}"
        self.held: set[str] = set()
        self._ended = threading.Event()
        self._pulse = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Claims":
        make_folder(self.folder)
        write_atomic(self.folder / self.owner, dump_json(_this_process()).encode())
        self._clean()
        self._pulse.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._pulse.join()
        for key in tuple(self.held):
            self.release(key)
        with suppress(OSError):
            (self.folder / self.owner).unlink(missing_ok=True)
        with suppress(OSError, UserError):
            self._clean()
            self.folder.rmdir()  # refused while another process is at work

    def take(self, key: str) -> bool:
        """Claim `key`; return whether it is now, or was already, this process's."""
        if key in self.held:
            return True
        path = self.folder / key
        with os_errors("claim work", path):
            if not self._create(path) and not self._take_over(path):
                return False
        self.held.add(key)
        return True

    def release(self, key: str) -> None:
        """Give up a claim: the work is done, and stored."""
        self.held.discard(key)
        with suppress(OSError):
            (self.folder / key).unlink()

    def alone(self) -> bool:
        """Whether no other process is at work on the folder."""
        return not any(owner.name != self.owner and _alive(owner) for owner in self.folder.glob(f"{OWNER}*"))

    def _create(self, path: Path) -> bool:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return False
        with open(handle, "w", encoding="utf-8") as file:
            file.write(self.owner)
        return True

    def _take_over(self, path: Path) -> bool:
        """Take a stale claim; under a lock, or two processes could each remove the other's new one."""
        if _owned(path):
            return False
        with self._locked():
            if _owned(path):
                return False
            path.unlink(missing_ok=True)
            return self._create(path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            with locked(folder):
                yield
        finally:
            os.close(folder)

    def _clean(self) -> None:
        """Remove what dead processes left behind."""
        with os_errors("read the claims", self.folder), self._locked():
            for path in sorted(self.folder.iterdir()):  # claims first, then owners
                if not (_alive(path) if path.name.startswith(OWNER) else _owned(path)):
                    path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(OSError):
                (self.folder / self.owner).touch()


def claimed(folder: Path) -> set[str]:
    """Return the keys that living processes claim."""
    return {path.name for path in folder.glob("*") if not path.name.startswith(OWNER) and _owned(path)}


def _owned(claim: Path) -> bool:
    """Whether the process that made the claim is at work."""
    try:
        owner = claim.read_text(encoding="utf-8")
        # The owner's name is written right after the claim is made.
        return _recent(claim) if not owner else _alive(claim.parent / owner)
    except OSError:
        return False


def _alive(owner: Path) -> bool:
    """Whether a process runs and says so; of a process on another machine only its word is known."""
    try:
        process = json.loads(owner.read_text(encoding="utf-8"))
        heard = _recent(owner)
    except (OSError, ValueError):
        return False
    if process.get("host") != socket.gethostname():
        return heard
    return heard and process.get("started") == _started(int(process["pid"]))


def _recent(path: Path) -> bool:
    return time.time() - path.stat().st_mtime < SILENT_SECONDS


def _this_process() -> dict[str, object]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid())}


def _started(pid: int) -> str | None:
    """Return what tells a process from an earlier one of the same number; None if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]  # a zombie has ended
    except OSError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "running"
    return "running"
