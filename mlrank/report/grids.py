"""The tables of a report that have a row for each run: chosen settings, certificates, failures."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlrank.records import run_label
from mlrank.tables import Grid, Shown, show_value

__all__ = ["certificates", "failures", "settings"]

Record = Mapping[str, Any]
NONE = "-"


def settings(records: Sequence[Record]) -> Grid:
    """Return what each run's search chose, its value, and the settings that were fixed."""
    rows = []
    for record in records:
        search, searched = record["search"], record["searched"]
        fixed = {name: value for name, value in record["settings"].items() if name not in searched}
        best = search["best"]
        rows.append(
            (
                *_named(record),
                Shown(_listed(searched) or NONE),
                Shown(NONE if best is None else f"{best:.4f} {search['metric']}", value=best),
                _count(search["n_trials"]),
                Shown(_threshold(record["threshold"])),
                Shown(_listed(fixed) or NONE),
            )
        )
    header = ("method", "dataset", "split", "chosen", "by the search", "trials", "threshold", "other settings")
    return Grid("What each run was made with", header, "llllrrll", tuple(rows), ())


def certificates(records: Sequence[Record]) -> Grid:
    """Return how far each finished fit came, how long it took, and what it says about itself."""
    rows = []
    for record in records:
        if record["status"] != "done":
            continue
        info, time = record["info"], record["time"]
        optimality, objective = info["optimality"], info["objective"]
        rows.append(
            (
                *_named(record),
                Shown("yes" if info["converged"] else "no †"),
                Shown(NONE if optimality is None else f"{optimality:.1e}", value=optimality),
                _count(info["n_iter"]),
                Shown(NONE if objective is None else f"{objective:.6g}", value=objective),
                Shown(f"{time['fit']:.3g}", value=time["fit"]),
                Shown("; ".join(info.get("notes") or ()) or NONE),
            )
        )
    header = (
        *("method", "dataset", "split", "reached its tolerance", "certificate", "iterations", "objective"),
        *("fit (s)", "notes"),
    )
    note = "The certificate is the solver's own measure of the distance from the optimum ('mlrank explain SOLVER')."
    return Grid("How far each fit came", header, "llllrrrrl", tuple(rows), (note,))


def failures(records: Sequence[Record]) -> list[dict[str, str]]:
    """Return each failed run: where, the last line of its traceback, and all of it."""
    return [
        {
            "where": run_label(record["dataset"]["name"], record["split"], record["method"]),
            "reason": (str(record["error"] or "").strip().splitlines() or ["no message"])[-1],
            "traceback": str(record["error"] or ""),
        }
        for record in records
        if record["status"] != "done"
    ]


def _named(record: Record) -> tuple[Shown, ...]:
    return Shown(record["method"]), Shown(record["dataset"]["name"]), Shown(record["split"])


def _count(number: int | None) -> Shown:
    return Shown(NONE if number is None else str(number), value=None if number is None else float(number))


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={show_value(value)}" for name, value in values.items())


def _threshold(threshold: Mapping[str, Any]) -> str:
    told = _listed(threshold["settings"])
    star = "*" if threshold["oracle"] else ""
    return f"{threshold['kind']}{star}{f' ({told})' if told else ''}"
