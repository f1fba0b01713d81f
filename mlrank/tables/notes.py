"""The lines below a table: everything that a reader must know before comparing its rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["notes_of"]

Record = Mapping[str, Any]
Methods = Mapping[str, Sequence[Record]]


def notes_of(by_method: Methods, metrics: Sequence[str], n_splits: int) -> list[str]:
    """Return the lines below the table of one dataset.

    Parameters
    ----------
    by_method : the records of each method; an empty list for a method without a run
    metrics : the metrics shown
    n_splits : number of different splits over all methods
    """
    records = [record for found in by_method.values() for record in found]
    done = {method: [r for r in found if r["status"] == "done"] for method, found in by_method.items()}
    return [
        *_mixed(records),
        *_splits(records, n_splits),
        *_missing(by_method, n_splits),
        *_metrics(done, metrics),
        *_data(records),
        *_search(done),
        *_projections(by_method),
        *_thresholds(by_method),
        *_fits_themselves(done),
        *_convergence(done),
    ]


def _mixed(records: Sequence[Record]) -> Iterator[str]:
    """Warn where rows were not made by the same code on the same data."""
    commits = sorted({(record["commit"] or "no commit")[:12] for record in records})
    if len(commits) > 1:
        yield f"warning: rows come from different commits ({', '.join(commits)})"
    versions = sorted({record["version"] for record in records})
    if len(versions) > 1:
        yield f"warning: rows come from different versions of mlrank ({', '.join(versions)})"
    hashes = {record["dataset"]["hash"] for record in records}
    if len(hashes) > 1:
        yield f"warning: rows come from {len(hashes)} different versions of the data"


def _splits(records: Sequence[Record], n_splits: int) -> Iterator[str]:
    names = list(dict.fromkeys(record["split"] for record in records))
    shown = ", ".join(names if n_splits <= 6 else [*names[:2], "...", names[-1]])
    if n_splits == 1:
        yield f"1 split ({shown}), so no standard deviation"
    else:
        yield f"mean ± standard deviation over {n_splits} splits ({shown})"


def _missing(by_method: Methods, n_splits: int) -> Iterator[str]:
    incomplete = False
    for method, found in by_method.items():
        failed = sum(record["status"] != "done" for record in found)
        if failed:
            error = next(record["error"] for record in found if record["status"] != "done")
            yield f"{method}: {failed} of {n_splits} {_fits(n_splits)} failed ({_last_line(error)})"
        if len(found) < n_splits:
            what = "no run" if not found else f"run on {len(found)} of {n_splits} splits only"
            yield f"{method}: {what}"
        incomplete |= failed > 0 or len(found) < n_splits
    if incomplete and n_splits > 1:
        yield "methods without a result on every split have means over different splits and cannot be best"


def _fits(count: int) -> str:
    return "fit" if count == 1 else "fits"


def _last_line(error: str | None) -> str:
    lines = (error or "").strip().splitlines()
    return lines[-1].strip() if lines else "no message"


def _metrics(done: Methods, metrics: Sequence[str]) -> Iterator[str]:
    """Tell where a metric left labels or rows out, or was undefined on a whole split."""
    for metric in metrics:
        values = {
            method: [record["metrics"][metric] for record in found if metric in record["metrics"]]
            for method, found in done.items()
        }
        yield from _counts(metric, values)
        for method, found in values.items():
            undefined = sum(value["value"] is None for value in found)
            if undefined:
                yield f"{method}: {metric} undefined on {undefined} of {len(found)} splits"
            if len(found) < len(done[method]):
                absent = len(done[method]) - len(found)
                yield f"{method}: {metric} not stored on {absent} of {len(done[method])} splits"


def _counts(metric: str, values: Methods) -> Iterator[str]:
    """Tell over how many labels or rows a metric was averaged; per method where that depends on predictions."""
    counted = [value for found in values.values() for value in found]
    if all(value["n_defined"] == value["n_total"] for value in counted):
        return
    totals = f"{_span(value['n_total'] for value in counted)} {counted[0]['unit']}"
    spans = {method: _span(value["n_defined"] for value in found) for method, found in values.items() if found}
    if len(set(spans.values())) == 1:
        yield f"{metric} over {next(iter(spans.values()))} of {totals}"
    else:
        yield f"{metric} over {', '.join(f'{span} for {method}' for method, span in spans.items())}, of {totals}"


def _span(numbers: Iterable[int]) -> str:
    found = list(numbers)
    low, high = min(found), max(found)
    return f"{low}" if low == high else f"{low} to {high}"


def _data(records: Sequence[Record]) -> Iterator[str]:
    for change in dict.fromkeys(change for record in records for change in record["dataset"]["changes"]):
        yield f"data: {change}"


def _search(done: Methods) -> Iterator[str]:
    searched = {method: [r["search"] for r in found if r["search"]] for method, found in done.items()}
    kinds: dict[str, list[str]] = {}
    for method, found in searched.items():
        trials = _span(search["n_trials"] for search in found) if found else "0"
        if trials != "0":
            kind = f"search by {found[0]['metric']} over {found[0]['folds']} folds"
            kinds.setdefault(kind, []).append(f"{method} {trials}")
    for kind, methods in kinds.items():
        yield f"{kind}; trials per split: {', '.join(methods)}"
    for method, found in searched.items():
        total = sum(search["n_trials"] for search in found)
        for key, what in (("n_failed", "failed"), ("n_not_converged", "did not converge")):
            count = sum(search[key] for search in found)
            if count:
                yield f"{method}: {count} of {total} search trials {what}"


def _projections(by_method: Methods) -> Iterator[str]:
    """Say what rows went through before a solver, and which fits saw the test rows."""
    for method, found in by_method.items():
        for kind in dict.fromkeys((record.get("projection") or {}).get("kind") for record in found):
            if kind:
                yield f"{method}: rows are projected by {kind} before the solver, fitted on the training part"
    seeing = [method for method, found in by_method.items() if any(record.get("transductive") for record in found)]
    if seeing:
        yield f"‡ the fit sees the features of the test rows, not their labels: {', '.join(seeing)}"


def _thresholds(by_method: Methods) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for method, found in by_method.items():
        for kind in dict.fromkeys(_threshold(record["threshold"]) for record in found):
            kinds.setdefault(kind, []).append(method)
    if kinds:
        yield "thresholds: " + "; ".join(f"{kind} for {', '.join(methods)}" for kind, methods in kinds.items())
    if any(record["threshold"]["oracle"] for found in by_method.values() for record in found):
        yield "* the threshold looks at the true labels of the test rows, so metrics of label sets cannot be best"


def _threshold(threshold: Mapping[str, Any]) -> str:
    if threshold["oracle"] or not threshold["scores"]:
        return str(threshold["kind"])
    return f"{threshold['kind']} ({threshold['scores']} scores)"


def _fits_themselves(done: Methods) -> Iterator[str]:
    """Pass on what fits said about themselves; the same words on several splits are said once."""
    for method, found in done.items():
        said = [note for record in found for note in record["info"].get("notes") or ()]
        for note in dict.fromkeys(said):
            yield f"{method}: {note} ({said.count(note)} of {len(found)} {_fits(len(found))})"


def _convergence(done: Methods) -> Iterator[str]:
    for method, found in done.items():
        short = sum(not record["info"]["converged"] for record in found)
        if short:
            yield f"† {method}: {short} of {len(found)} {_fits(len(found))} stopped before the tolerance was reached"
    if any(done.values()):
        yield "certificate: worst distance from the optimum over the splits, by each solver's own measure; fit: median"
