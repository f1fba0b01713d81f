"""What a table can show of a run beside its metrics: how long it took and how much memory."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records.run import TimeInfo

__all__ = ["RUNTIMES", "Runtime", "arrow", "check_columns", "digits_alike", "higher_is_better"]


class Runtime(NamedTuple):
    """One cost of a run: where its record has it, what shows all values of a column alike, and what it means."""

    of: Callable[[TimeInfo], float | None]
    alike: Callable[[Sequence[float]], Callable[[float], str]]
    definition: str


def seconds_alike(values: Sequence[float]) -> Callable[[float], str]:
    """Return what shows times in one unit: seconds, or milliseconds if all are below a tenth of one.

    >>> [seconds_alike([0.0000069, 0.0123])(value) for value in (0.0000069, 0.0123)]
    ['0.007 ms', '12.300 ms']
    >>> [seconds_alike([0.3, 0.33, 1.0])(value) for value in (0.3, 0.33, 1.0)]
    ['0.30 s', '0.33 s', '1.00 s']
    """
    size, unit = (1.0, "s") if max(values, default=1.0) >= 0.1 else (1e-3, "ms")
    show = digits_alike([value / size for value in values])
    return lambda value: f"{show(value / size)} {unit}"


def digits_alike(values: Sequence[float], most: int = 3) -> Callable[[float], str]:
    """Return what shows numbers of 0 and above with as many decimals: `most`, or so many that the least has two digits.

    Where the largest is 100 or more, the least has one digit.

    >>> [digits_alike([0.0123, 1234.5])(value) for value in (0.0123, 1.0, 1234.5)]
    ['0.01', '1.00', '1234.50']
    >>> [digits_alike([0.0123, 12.0], most=1)(value) for value in (0.0, 0.0123, 12.0)]
    ['0.0', '<0.1', '12.0']
    >>> [digits_alike([34.5, 80.0])(value) for value in (34.5, 80.0)]
    ['34', '80']
    """
    above = [value for value in values if value > 0]
    n_digits = 1 if max(above, default=0.0) >= 100 else 2
    first = int(f"{min(above, default=1.0):.{n_digits - 1}e}".partition("e")[2])
    decimals = min(max(n_digits - 1 - first, 0), most)
    least = 0.1**decimals
    return lambda value: f"<{least:.{decimals}f}" if 0 < value < least / 2 else f"{value:.{decimals}f}"


def megabytes_alike(values: Sequence[float]) -> Callable[[float], str]:
    """Return what shows bytes as megabytes of 10^6.

    >>> megabytes_alike([393_216_000])(393_216_000)
    '393 MB'
    """
    return lambda value: f"{value / 1e6:.0f} MB"


RUNTIMES: dict[str, Runtime] = {
    "fit_seconds": Runtime(
        lambda time: time.fit, seconds_alike, "the fit on the whole training part, after an untimed one on a few rows"
    ),
    "threshold_seconds": Runtime(
        lambda time: time.threshold, seconds_alike, "fitting the threshold, held-out scores included"
    ),
    "predict_seconds": Runtime(lambda time: time.predict, seconds_alike, "scores and label sets of all test rows"),
    "search_seconds": Runtime(lambda time: time.search, seconds_alike, "all fits of the search, one after the other"),
    "peak_memory": Runtime(
        lambda time: time.peak_memory,
        megabytes_alike,
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
