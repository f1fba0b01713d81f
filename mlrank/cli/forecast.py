"""``--dry-run``: every fit with its time and memory, and nothing run."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.experiment.forecast import CellForecast
    from mlrank.records import RunRecord
    from mlrank.search import PilotFits

__all__ = ["duration", "forecast_values", "show_forecast"]


def show_forecast(
    config: "ExperimentConfig", results: Path, jobs: int, as_json: bool, stored: "Sequence[RunRecord]" = ()
) -> None:
    """Print what running `config` would take on `jobs` workers; as JSON, with every fit.

    Parameters
    ----------
    stored : runs that count as those of the results folder where that has none
    """
    from mlrank.cli.terminal import new_console
    from mlrank.experiment.forecast import forecast
    from mlrank.records import dump_json

    if as_json:
        print(dump_json(forecast_values(config, results, jobs, stored=stored)), end="")
        return
    with new_console(stderr=True).status("pilot fits on few rows") as status:

        def notify(label: str) -> None:
            status.update(f"pilot fits on few rows: {label}")

        found = forecast(config, results, notify=notify, stored=stored)
    fitting, _, seconds = _together(found, jobs)
    _print_table(found)
    n_left, n_fits = sum(cell.n_left for cell in found), sum(cell.n_fits for cell in found)
    why = "" if fitting == jobs else f" ({jobs} would not fit into memory)"
    workers = f"{fitting} worker{'s'[: fitting > 1]}{why}"
    print(f"{n_left} of {n_fits} fits are left: about {duration(seconds)} with {workers}")


def forecast_values(
    config: "ExperimentConfig",
    results: Path,
    jobs: int,
    pilots: "dict[str, PilotFits] | None" = None,
    stored: "Sequence[RunRecord]" = (),
) -> dict[str, Any]:
    """Return what running `config` would take on `jobs` workers, with every fit, as JSON values; see `forecast`."""
    from mlrank.experiment.forecast import forecast

    found = forecast(config, results, pilots, stored=stored)
    fitting, memory, seconds = _together(found, jobs)
    total = {"jobs": fitting, "memory_available": memory, "seconds": seconds}
    return {"cells": [_plain(cell) for cell in found], **total}


def _together(found: list["CellForecast"], jobs: int) -> tuple[int, float | None, float | None]:
    """Return how many of `jobs` workers fit into memory, that memory, and the seconds they take, None if unknown."""
    from mlrank.hardware import available_memory
    from mlrank.search import workers_that_fit

    memory = available_memory()
    fitting = workers_that_fit(jobs, max(cell.bytes for cell in found), memory)
    known = _sum(cell.seconds for cell in found)
    return fitting, memory, None if known is None else known / fitting


def _plain(cell: "CellForecast") -> dict[str, object]:
    return asdict(cell) | {"seconds": cell.seconds}


def _print_table(found: list["CellForecast"]) -> None:
    """Print a row for each method on each data set: its splits take about the same."""
    from mlrank.cli.grids import print_table

    alike: dict[str, list[CellForecast]] = {}
    for cell in found:
        alike.setdefault(cell.of, []).append(cell)
    sums = [(_sum(cell.search.seconds for cell in cells), len(cells)) for cells in alike.values()]
    each = _durations([None if one is None else one / n for one, n in sums])
    total = _durations([_sum(cell.seconds for cell in cells) for cells in alike.values()])
    rows = []
    for (of, cells), one, all_left in zip(alike.items(), each, total, strict=True):
        n_measured = sum(cell.measured for cell in cells)
        origin = "finished fits" if n_measured == len(cells) else "a pilot fit"
        if 0 < n_measured < len(cells):
            origin += f", finished ones of {n_measured} splits"
        n_fits, n_left = sum(cell.n_fits for cell in cells), sum(cell.n_left for cell in cells)
        memory = f"{max(cell.bytes for cell in cells) / 1e6:,.0f} MB"
        rows.append((of, str(len(cells)), str(n_fits), str(n_left), one, origin, all_left, memory))
    header = ("data set / method", "splits", "fits", "left", "a fit", "from", "all", "memory")
    print_table(header, rows, "lrrrrlrr")


def _sum(times: Iterable[float | None]) -> float | None:
    """Return the sum of times; None if one is unknown."""
    total = 0.0
    for seconds in times:
        if seconds is None:
            return None
        total += seconds
    return total


def _durations(column: Sequence[float | None]) -> list[str]:
    """Return times in the unit of the longest, with a decimal at most, as they are estimates.

    >>> _durations([0.0123, None, 300.0]), _durations([0.0123, 0.0])
    (['<0.1 min', 'unknown', '5.0 min'], ['12 ms', '0 ms'])
    """
    from mlrank.tables.columns import digits_alike

    known = [seconds for seconds in column if seconds is not None]
    size, unit = _unit(max(known, default=0.0))
    show = digits_alike([seconds / size for seconds in known], most=1)
    return ["unknown" if seconds is None else f"{show(seconds / size)} {unit}" for seconds in column]


def _unit(seconds: float) -> tuple[float, str]:
    """Return the seconds of the unit that a time is shown in, and its name."""
    units = ((1.0, 1e-3, "ms"), (120.0, 1.0, "s"), (7200.0, 60.0, "min"))
    return next(((size, unit) for limit, size, unit in units if seconds < limit), (3600.0, "h"))


def duration(seconds: float | None) -> str:
    """Return a time with the precision that an estimate has.

    >>> [duration(value) for value in (None, 0.0123, 4.56, 112, 200, 9000)]
    ['unknown', '12 ms', '4.6 s', '110 s', '3.3 min', '2.5 h']
    """
    if seconds is None:
        return "unknown"
    size, unit = _unit(seconds)
    return f"{float(f'{seconds / size:.2g}'):g} {unit}"
