"""One file from the network: resumed where it broke off, checked before it is believed, moved into place when whole."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlrank.datasets.catalogue import PinnedFile
from mlrank.errors import UserError, os_errors

__all__ = ["download", "file_hash"]

# Bytes of a file that are here, and its size or None where nobody knows.
Notify = Callable[[int, int | None], None]

# How often in turn an address may give nothing new before it is given up.
PATIENCE = 3
# Seconds to wait for a connection, and for the next bytes.
TIMEOUT = (10.0, 60.0)
# A file whose size the catalogue does not know may not be larger than this.
MOST_BYTES = 1 << 33
# What came of a piece when a connection breaks is lost, so pieces are small.
_PIECE = 1 << 13


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file in hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(
    file: PinnedFile, addresses: Sequence[str], target: Path, notify: Notify = lambda here, size: None
) -> None:
    """Get a file from the first of several addresses that has it right.

    What an address sent wrong is kept beside the target under the name TARGET.wrong-HASH.

    Raises
    ------
    UserError
        If none has it, with what each of them did, or the file cannot be written.
    """
    import requests

    with os_errors("make the folder", target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for address in addresses:
        try:
            _Download(file, target.with_name(target.name + ".part"), target, notify).get(address)
        except (_FailedError, requests.RequestException) as error:
            reasons.append(f"{address}: {' '.join(str(error).split())[:200]}")
        except OSError as error:  # of the disk, so that no other address helps; what is here is gone on from later
            raise UserError(f"cannot write the file: {(error.strerror or str(error)).lower()}", target) from error
        else:
            return
    raise UserError(f"cannot get {file.path}: {'; '.join(reasons)}")


class _FailedError(Exception):
    """Why an address is given up."""


class _Download:
    """A download that goes on behind what is in the file `part`, and moves it to `target` when it is whole."""

    def __init__(self, file: PinnedFile, part: Path, target: Path, notify: Notify) -> None:
        self.file, self.part, self.target, self.notify = file, part, target, notify

    def get(self, address: str) -> None:
        """Get the file from an address."""
        import requests

        failures, here = 0, -1
        while True:
            try:
                self._go_on(address)
                break
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                now = self._here()
                failures = failures + 1 if now <= here else 0
                here = now
                if failures >= PATIENCE:
                    raise _FailedError(f"broke off {failures + 1} times in turn at byte {now}") from error
        self._check(address)
        os.replace(self.part, self.target)

    def _here(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _go_on(self, address: str) -> None:
        import requests

        here = self._here()
        if self.file.bytes is not None and here >= self.file.bytes:
            return
        # Compressed on the way, the bytes could not be counted.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={here}-"} if here else {})
        with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if here and (answer.status_code == 416 or not _continues(answer, here)):
                # The address cannot go on from here, or has another file: begin anew.
                self.part.unlink()
                if answer.status_code == 416:
                    raise requests.ConnectionError("the range asked for is not there")
                here = 0
            if answer.status_code not in (200, 206):
                raise _FailedError(f"answered {answer.status_code} {answer.reason}")
            self._append(answer, here)

    def _append(self, answer: Any, here: int) -> None:
        import requests

        length = answer.headers.get("Content-Length", "")
        size = self.file.bytes or (here + int(length) if length.isdigit() else None)
        most = self.file.bytes or MOST_BYTES
        with open(self.part, "ab") as file:
            for piece in answer.iter_content(_PIECE):
                here += len(piece)
                if here > most:
                    self.part.unlink()
                    raise _FailedError(f"sends more than the {most} bytes that are expected")
                file.write(piece)
                self.notify(here, size)
        if size is not None and here < size:
            raise requests.ConnectionError(f"ended after {here} of {size} bytes")

    def _check(self, address: str) -> None:
        if self.file.sha256 is None:
            return
        digest = file_hash(self.part)
        if digest != self.file.sha256:
            aside = self.target.with_name(f"{self.target.name}.wrong-{digest[:8]}")
            os.replace(self.part, aside)
            raise _FailedError(f"sent another file (sha256 {digest}), kept as {aside}")


def _continues(answer: Any, here: int) -> bool:
    """Return whether an answer holds the bytes from `here` on, and not the file from its beginning."""
    given = str(answer.headers.get("Content-Range", ""))
    return answer.status_code == 206 and given.startswith(f"bytes {here}-")
