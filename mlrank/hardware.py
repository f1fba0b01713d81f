"""What this process runs on: the processor, and the most memory that it has held."""

import os
import platform
from pathlib import Path

__all__ = ["cpu_model", "machine_name", "peak_memory", "reset_peak_memory"]

_CLEAR, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def cpu_model() -> str:
    """Return what the processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def machine_name() -> str:
    """Return the processor and its number of cores, by which machines are distinguished; no host name."""
    cores = os.cpu_count()
    return f"{cpu_model()}, {cores} core{'' if cores == 1 else 's'}"


def reset_peak_memory() -> bool:
    """Have the system forget the most memory this process held so far; False where it cannot (Linux alone can)."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return False
    return True


def peak_memory() -> int | None:
    """Return the most bytes of memory this process held since the last reset, all that it had loaded included."""
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)
