"""What this process runs on: the processor, the memory that is left, and the most that it has held."""

import os
import platform
from pathlib import Path

__all__ = ["available_memory", "cpu_model", "machine_name", "peak_memory", "reset_peak_memory"]

_CLEAR, _STATUS, _LIMITS = (Path("/proc/self") / name for name in ("clear_refs", "status", "limits"))


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


def available_memory() -> float | None:
    """Return the bytes that this process and its children may still take; None where the system does not tell."""
    limits = (_meminfo(), _control_group(), _address_space())
    return min((value for value in limits if value is not None), default=None)


def _meminfo() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _control_group() -> float | None:
    """Return what is left of a container's memory."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return float(most) - float(used) if most != "max" else None
    except (OSError, ValueError):
        return None


def _address_space() -> float | None:
    """Return what is left of the limit that ``ulimit -v`` sets."""
    try:
        limits = _LIMITS.read_text(encoding="ascii").splitlines()
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    most = next((line.split()[3] for line in limits if line.startswith("Max address space")), "unlimited")
    used = next((float(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize:")), None)
    return None if most == "unlimited" or used is None else float(most) - used
