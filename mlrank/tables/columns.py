"""What a table can show of a run beside its metrics: how long it took and how much memory."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records.run import TimeInfo

__all__ = ["RUNTIMES", "Runtime", "arrow", "check_columns", "higher_is_better", "seconds"]


class Runtime(NamedTuple):
    """One cost of a run: where its record has it, how it is shown, and what it means."""

    of: Callable[[TimeInfo], float | None]
    show: Callable[[float], str]
    definition: str


def seconds(value: float) -> str:
    """Return a time in few digits.

    >>> seconds(0.0000069), seconds(0.0123), seconds(12.34), seconds(1234.5)
    ('0.0069 ms', '0.012 s', '12 s', '1234 s')
    """
    if 0 < value < 1e-4:
        return f"{value * 1e3:.2g} ms"
    return f"{value:.0f} s" if value >= 100 else f"{value:.2g} s"


def megabytes(value: float) -> str:
    """Return bytes as megabytes of 10^6.

    >>> megabytes(393_216_000)
    '393 MB'
    """
    return f"{value / 1e6:.0f} MB"


RUNTIMES: dict[str, Runtime] = {
    "fit_seconds": Runtime(
        lambda time: time.fit, seconds, "the fit on the whole training part, after an untimed one on a few rows"
    ),
    "threshold_seconds": Runtime(
        lambda time: time.threshold, seconds, "fitting the threshold, held-out scores included"
    ),
    "predict_seconds": Runtime(lambda time: time.predict, seconds, "scores and label sets of all test rows"),
    "search_seconds": Runtime(lambda time: time.search, seconds, "all fits of the search, one after the other"),
    "peak_memory": Runtime(
        lambda time: time.peak_memory,
        megabytes,
        "the most that the process held while it fitted, data and libraries included",
    ),
}


def check_columns(names: Iterable[str]) -> None:
    """Raise a UserError unless each name is a metric or one of RUNTIMES."""
    for name in names:
        if name not in METRICS and name not in RUNTIMES:
            raise UserError(unknown_name("metric", name, [*METRICS, *RUNTIMES]))


def higher_is_better(name: str) -> bool:
    """Whether a larger value of the column is the better one."""
    return name in METRICS and METRICS[name].higher_is_better


def arrow(name: str) -> str:
    """Return the column's name with an arrow to where it is better.

    >>> arrow("f1_micro"), arrow("fit_seconds")
    ('f1_micro ↑', 'fit_seconds ↓')
    """
    return f"{name} {'↑' if higher_is_better(name) else '↓'}"
