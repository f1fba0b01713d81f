"""What the machine and the installed versions were when an experiment ran."""

import os
import platform
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mlrank import __version__
from mlrank.hardware import cpu_model
from mlrank.records.run import SoftwareInfo

__all__ = ["checkout_commit", "environment", "software_info"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_PACKAGES = ("mlrank", *_LIBRARIES)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment() -> dict[str, object]:
    """Return versions, processor, threads, BLAS and commit as JSON values; no paths, no host name."""
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
        "platform": platform.platform(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "cores_allowed": _allowed_cores(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "blas": _blas(),
        "commit": checkout_commit(),
    }


def software_info() -> SoftwareInfo:
    """Return what this process makes fits with; `threads` is the most that a library may use now."""
    blas, threads = _blas(), [1]
    threads += [int(entry["num_threads"]) for entry in blas]
    if numba := sys.modules.get("numba"):
        threads.append(numba.get_num_threads())
    named = (f"{entry['internal_api']} {entry['version']} {entry['architecture'] or ''}".strip() for entry in blas)
    return replace(_installed(), blas=tuple(sorted(set(named))), threads=max(threads))


@cache
def _installed() -> SoftwareInfo:
    packages = {name: version(name) for name in _LIBRARIES}
    return SoftwareInfo(__version__, platform.python_version(), packages, commit=checkout_commit())


def checkout_commit() -> str | None:
    """Return the commit that this package is checked out at, or None for an installed package."""
    root = Path(__file__).parents[2]
    # An installed package inside somebody else's repository must not report that one's commit.
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _allowed_cores() -> int | None:
    affinity = getattr(os, "sched_getaffinity", None)  # absent outside Linux
    return len(affinity(0)) if affinity else os.cpu_count()


def _blas() -> list[dict[str, Any]]:
    import numpy  # noqa: F401  the libraries listed are the loaded ones
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "threading_layer", "architecture", "num_threads")
    found = [{key: entry.get(key) for key in keys} for entry in threadpool_info() if entry["user_api"] == "blas"]
    return sorted(found, key=repr)
