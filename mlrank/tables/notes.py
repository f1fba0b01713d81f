"""The lines below a table: everything that a reader must know before comparing its rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mlrank.metrics import METRICS
from mlrank.records.run import MetricRecord, RunRecord, ThresholdInfo
from mlrank.tables.columns import RUNTIMES
from mlrank.tables.provenance import named_splits, software_notes, warnings_of_differences

__all__ = ["CERTIFICATE", "notes_of", "split_of"]

Methods = Mapping[str, Sequence[RunRecord]]
CERTIFICATE = (
    "certificate: worst distance from the optimum over the splits, a gap, residual or backward error; fit: median"
)
"""The note on the column of certificates."""


def split_of(record: RunRecord) -> tuple[str, str | None]:
    """Return what tells splits apart: the name, and a hash of the rows where the record has one."""
    return record.split, record.rows


def notes_of(by_method: Methods, columns: Sequence[str]) -> list[str]:
    """Return the lines below the table of one dataset.

    Parameters
    ----------
    by_method : the records of each row; an empty list for a method without a run
    columns : the metrics and costs shown
    """
    records = [record for found in by_method.values() for record in found]
    done = {method: [r for r in found if r.done] for method, found in by_method.items()}
    metrics = [name for name in columns if name in METRICS]
    return [
        *_mixed(by_method, records),
        *_splits(records),
        *_missing(by_method, records),
        *_best(done, metrics),
        *_metrics(done, metrics),
        *_convention([name for name in metrics if METRICS[name].of_best or not _best_alone(done)]),
        *_data(records),
        *_search(done),
        *_projections(by_method),
        *_calibrations(by_method),
        *_thresholds(by_method),
        *_label_sets(done),
        *_fits_themselves(done),
        *_convergence(done),
        *_costs(columns, done),
        *software_notes(by_method),
    ]


def _mixed(by_method: Methods, records: Sequence[RunRecord]) -> Iterator[str]:
    """Warn where rows were not made by the same software, on the same data, on the same machine."""
    yield from warnings_of_differences(by_method)
    hashes = {record.dataset.hash for record in records}
    if len(hashes) > 1:
        yield f"warning: rows come from {len(hashes)} different versions of the data"


def _splits(records: Sequence[RunRecord]) -> Iterator[str]:
    by_experiment: dict[str, dict[tuple[str, str | None], None]] = {}
    for record in records:
        by_experiment.setdefault(record.experiment, {})[split_of(record)] = None
    if len({frozenset(found) for found in by_experiment.values()}) > 1:
        shown = "; ".join(f"{name}: {_named(list(found))}" for name, found in by_experiment.items())
        yield f"warning: the experiments do not share their splits ({shown}): means are over different rows"
        return
    names = list(next(iter(by_experiment.values())))
    if len(names) == 1:
        yield f"1 split ({_named(names)}), so no standard deviation"
    else:
        yield f"mean ± standard deviation over {len(names)} splits ({_named(names)})"


def _named(splits: Sequence[tuple[str, str | None]]) -> str:
    return named_splits([name for name, _ in splits])


def _missing(by_method: Methods, records: Sequence[RunRecord]) -> Iterator[str]:
    n_splits = len({split_of(record) for record in records})
    incomplete = False
    for method, found in by_method.items():
        # Of its own experiment: where experiments differ in their splits, another note says so.
        expected = len({split_of(r) for r in records if not found or r.experiment == found[0].experiment})
        failed = sum(not record.done for record in found)
        if failed:
            reason = next(record.reason for record in found if not record.done).strip()
            yield f"{method}: {failed} of {expected} {_fits(expected)} failed ({reason})"
        if len(found) < expected:
            what = "no run" if not found else f"run on {len(found)} of {expected} splits only"
            yield f"{method}: {what}"
        incomplete |= len(found) - failed < n_splits
    if incomplete and n_splits > 1:
        yield "methods without a result on every split have means over different splits and cannot be best"


def _fits(count: int) -> str:
    return "fit" if count == 1 else "fits"


def _best(done: Methods, metrics: Sequence[str]) -> Iterator[str]:
    """Say where the best scores of a row alone are stored and judged, and which metrics they leave open."""
    depths = {record.n_best for found in done.values() for record in found if record.n_best is not None}
    if not depths:
        return
    yield (
        f"very many labels: the best {_span(depths)} scores of each row are kept, label sets are chosen among them, "
        "and metrics are computed from them"
    )
    if lacking := [name for name in metrics if not METRICS[name].of_best]:
        yield f"not computed, as all scores would be needed: {', '.join(lacking)}"


def _best_alone(done: Methods) -> bool:
    """Return whether every run kept the best scores of each row alone."""
    every = [record.n_best for found in done.values() for record in found]
    return bool(every) and None not in every


def _metrics(done: Methods, metrics: Sequence[str]) -> Iterator[str]:
    """Note where a metric left labels or rows out, or was undefined on a whole split."""
    improbable: dict[str, list[str]] = {}
    for metric in metrics:
        if not METRICS[metric].of_best and _best_alone(done):
            continue  # another note says why no run has it
        values = {
            method: [record.metrics[metric] for record in found if metric in record.metrics]
            for method, found in done.items()
        }
        yield from _counts(metric, values)
        for method, found in values.items():
            undefined = sum(value.value is None for value in found)
            if undefined == len(found) > 0 and METRICS[metric].needs == "probabilities":
                improbable.setdefault(method, []).append(metric)
            elif undefined:
                yield f"{method}: {metric} undefined on {undefined} of {len(found)} splits"
            if len(found) < len(done[method]):
                absent = len(done[method]) - len(found)
                yield f"{method}: {metric} not stored on {absent} of {len(done[method])} splits"
    for names in dict.fromkeys(map(tuple, improbable.values())):
        alike = [method for method, found in improbable.items() if tuple(found) == names]
        yield f"{', '.join(names)} undefined for {', '.join(alike)}, whose scores are no probabilities"


def _counts(metric: str, values: Mapping[str, Sequence[MetricRecord]]) -> Iterator[str]:
    """Note over how many labels or rows a metric was averaged; per method where that depends on predictions."""
    counted = [value for found in values.values() for value in found]
    if all(value.n_defined == value.n_total or value.unit == "all" for value in counted):
        return
    totals = f"{_span(value.n_total for value in counted)} {counted[0].unit}"
    spans = {method: _span(value.n_defined for value in found) for method, found in values.items() if found}
    if len(set(spans.values())) == 1:
        yield f"{metric} over {next(iter(spans.values()))} of {totals}"
    else:
        yield f"{metric} over {', '.join(f'{span} for {method}' for method, span in spans.items())}, of {totals}"


def _span(numbers: Iterable[int]) -> str:
    found = list(numbers)
    low, high = min(found), max(found)
    return f"{low}" if low == high else f"{low} to {high}"


def _convention(metrics: Sequence[str]) -> Iterator[str]:
    """Name the rules that the metrics shown follow where packages differ."""
    rules = [rule for key, rule in _RULES.items() if any(key in name and ":" not in name for name in metrics)]
    if rules:
        yield f"convention: {'; '.join(rules)} ('mlrank explain METRIC' shows the rules of other packages)"


_RULES = {
    "": "what is undefined is left out of a mean, neither 0 nor 1",
    "ranking_loss": "ranking_loss counts a tied pair in full",
    "auc": "auc counts a tied pair one half",
    "coverage": "coverage counts from 1",
    "one_error": "one_error shares a tie at the top",
}


def _data(records: Sequence[RunRecord]) -> Iterator[str]:
    for record in {record.dataset.name: record for record in records}.values():
        stand_in = record.dataset.stand_in
        what = "stand-in, generated: not comparable with published numbers" if stand_in else "read, not generated"
        yield f"data grade: {what} ({record.dataset.source})"
    for change in dict.fromkeys(change for record in records for change in record.dataset.changes):
        yield f"data: {change}"


def _search(done: Methods) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for method, found in done.items():
        trials = _span(record.search.n_trials for record in found) if found else "0"
        if trials != "0":
            search = found[0].search
            kinds.setdefault(f"search by {search.metric} over {search.folds} folds", []).append(f"{method} {trials}")
    for kind, methods in kinds.items():
        yield f"{kind}; trials per split: {', '.join(methods)}"
    for method, found in done.items():
        searches = [record.search for record in found]
        total = sum(search.n_trials for search in searches)
        counts = {
            "failed": sum(search.n_failed for search in searches),
            "did not converge": sum(search.n_not_converged for search in searches),
            "left its metric undefined in some terms, which count as the worst value": sum(
                search.n_undefined for search in searches
            ),
        }
        for what, count in counts.items():
            if count:
                yield f"{method}: {count} of {total} search trials {what}"


def _projections(by_method: Methods) -> Iterator[str]:
    """Say what rows went through before a solver, and which fits saw the test rows."""
    for method, found in by_method.items():
        for kind in dict.fromkeys(record.projection.kind for record in found if record.projection):
            yield f"{method}: rows are projected by {kind} before the solver, fitted on the training part"
    seeing = [method for method, found in by_method.items() if any(record.transductive for record in found)]
    if seeing:
        yield f"‡ the fit sees the features of the test rows, not their labels: {', '.join(seeing)}"


def _calibrations(by_method: Methods) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for method, found in by_method.items():
        for kind in dict.fromkeys(record.calibration for record in found if record.calibration):
            kinds.setdefault(kind, []).append(method)
    for kind, methods in kinds.items():
        yield f"probabilities: scores calibrated by {kind}, fitted to heldout scores, for {', '.join(methods)}"


def _thresholds(by_method: Methods) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for method, found in by_method.items():
        for kind in dict.fromkeys(_threshold(record) for record in found):
            kinds.setdefault(kind, []).append(method)
    if kinds:
        alike = len(kinds) == 1 and len(by_method) > 1
        users = {kind: "every method" if alike else ", ".join(methods) for kind, methods in kinds.items()}
        yield "thresholds: " + "; ".join(f"{kind} for {methods}" for kind, methods in users.items())
    if any(record.threshold.oracle for found in by_method.values() for record in found):
        yield "* the threshold looks at the true labels of the test rows, so metrics of label sets cannot be best"


def _threshold(record: RunRecord) -> str:
    threshold = record.threshold
    value = threshold.settings.get("value") if threshold.kind == "constant" else record.sets and record.sets.natural_cut
    if isinstance(value, int | float):
        kind = f"{threshold.kind} {value:g}"
    elif threshold.oracle or not threshold.scores:
        kind = threshold.kind
    else:
        kind = f"{threshold.kind} ({threshold.scores} scores)"
    return kind + _bounds(threshold)


def _bounds(threshold: ThresholdInfo) -> str:
    least, most = threshold.settings.get("min_labels"), threshold.settings.get("max_labels")
    if not least and most is None:
        return ""
    return f", {f'{least or 0} or more' if most is None else f'{least or 0} to {most}'} labels a row"


def _label_sets(done: Methods) -> Iterator[str]:
    """Note what bounds did to label sets, and labels that a threshold gives to all rows or to none."""
    sets = {method: [record.sets for record in found if record.sets] for method, found in done.items()}
    bounded, constant = [], []
    for method, found in sets.items():
        filled, shortened = [one.n_filled for one in found], [one.n_shortened for one in found]
        if any((*filled, *shortened)):
            rows = _span(one.n_rows for one in found)
            bounded.append(f"{method} {_span(filled)} filled up and {_span(shortened)} shortened, of {rows}")
        always, never = [one.n_always for one in found], [one.n_never for one in found]
        if any((*always, *never)):
            labels = _span(one.n_labels for one in found)
            constant.append(f"{method} {_span(always)} for all and {_span(never)} for none, of {labels}")
    if bounded:
        yield f"label sets changed to keep the bounds on labels, by the order of scores: {'; '.join(bounded)}"
    if constant:
        yield f"labels wrongly predicted for all rows alike, or for none: {'; '.join(constant)}"


def _fits_themselves(done: Methods) -> Iterator[str]:
    """Pass on the notes of fits; the same note of several splits is given once."""
    for method, found in done.items():
        noted = [note for record in found for note in record.fit.notes]
        for note in dict.fromkeys(noted):
            yield f"{method}: {note} ({noted.count(note)} of {len(found)} {_fits(len(found))})"


def _convergence(done: Methods) -> Iterator[str]:
    for method, found in done.items():
        short = sum(not record.fit.converged for record in found)
        if short:
            yield f"† {method}: {short} of {len(found)} {_fits(len(found))} stopped before the tolerance was reached"
    if any(done.values()):
        yield CERTIFICATE


def _costs(columns: Sequence[str], done: Methods) -> Iterator[str]:
    shown = [name for name in columns if name in RUNTIMES]
    if shown and any(len(found) > 1 for found in done.values()):
        yield "times and memory: median [lower quartile, upper quartile] over the splits"
    for name in shown:
        yield f"{name}: {RUNTIMES[name].definition}"
        for method, found in done.items():
            absent = sum(RUNTIMES[name].of(record.time) is None for record in found)
            if absent:
                yield f"{method}: {name} not recorded on {absent} of {len(found)} splits"
