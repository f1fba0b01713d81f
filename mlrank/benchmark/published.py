"""What is published of the benchmark: its records, and the tidy table made of them."""

import json
import lzma
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlrank.benchmark.pieces import Pieces, is_tuned, method_and_cut
from mlrank.benchmark.rows import check_records, read_rows
from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records import RunRecord
from mlrank.resources import shipped
from mlrank.tables import tidy_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CELLS",
    "TABLE",
    "benchmark_folder",
    "benchmark_frame",
    "check_same",
    "in_metrics",
    "load_benchmark",
    "published_beside",
    "published_records",
    "write_table",
]

CELLS, TABLE = "cells", "benchmark.csv.xz"
# Columns of the tidy table of any experiment that say nothing here, or the same in every row.
_LEFT_OUT = ["unit", "higher_is_better", "oracle_threshold", "stand_in", "experiment", "mlrank", "commit", "n_iter"]


def benchmark_folder() -> Path:
    """Return where the published benchmark is.

    Raises
    ------
    ValueError
        If the installation lacks it.
    """
    return shipped("results") / "benchmark"


def published_records(folder: Path | None = None) -> list[RunRecord]:
    """Return every published run.

    Raises
    ------
    UserError
        If nothing is published, or a piece is damaged.
    """
    folder = folder or benchmark_folder()
    records = Pieces(folder / CELLS).read()
    if not records:
        raise UserError("no run of the benchmark is published yet", folder)
    return records


def load_benchmark(folder: Path | str | None = None) -> "pd.DataFrame":
    """Return the published benchmark as a table: a row for each data set, split, method, cut and metric.

    Parameters
    ----------
    folder : of another benchmark; None: the published one

    Returns
    -------
    DataFrame
        See `benchmark_frame` for its columns.

    Raises
    ------
    UserError
        If nothing is published.
    """
    return benchmark_frame(published_records(None if folder is None else Path(folder)))


def benchmark_frame(records: Sequence[RunRecord]) -> "pd.DataFrame":
    """Return runs as a tidy table: a row for each run and metric.

    The columns are those of ``mlrank table --tidy`` but for some that never vary, and: `cut` ("natural" or "tuned";
    `method` is called the same for both), `rows_hash`, `search_seconds`, `threshold_seconds`, `predict_seconds`,
    `peak_memory` in bytes, and `software`, the versions and the commit. Metrics of scores are those of the natural cut
    alone where both cuts have run: they are the same.

    Parameters
    ----------
    records : run records
    """
    import pandas as pd

    frame = tidy_frame(records)
    by_key, again = {record.key: record for record in records}, _again(records)
    runs = [by_key[key] for key in frame["key"]]
    added = {
        "cut": [method_and_cut(run)[1] for run in runs],
        "rows_hash": [run.rows for run in runs],
        "search_seconds": [run.time.search for run in runs],
        "threshold_seconds": [run.time.threshold for run in runs],
        "predict_seconds": [run.time.predict for run in runs],
        "peak_memory": [run.time.peak_memory for run in runs],
        "software": [_software(run) for run in runs],
    }
    frame = frame.assign(method=[method_and_cut(run)[0] for run in runs], **added)
    frame["peak_memory"] = frame["peak_memory"].astype("Int64")
    left_out = frame["key"].isin(again) & ~frame["metric"].map(_is_of_sets)
    kept: pd.DataFrame = frame[~left_out].drop(columns=_LEFT_OUT)
    return kept.reset_index(drop=True)


def in_metrics(
    records: Sequence[RunRecord], columns: Sequence[str], named: Collection[str | None] = ()
) -> list[RunRecord]:
    """Return the runs that are compared in metrics: each model once, where all of them are metrics of scores.

    A tuned cut changes no score: where models are ranked, or tested in pairs, it would count them twice.

    Parameters
    ----------
    records : run records
    columns : names of metrics, and of costs, which differ with the cut
    named : methods that are asked for by name: they stay
    """
    again = _again(records) if all(name in METRICS and not _is_of_sets(name) for name in columns) else frozenset()
    return [record for record in records if record.key not in again or record.method in named]


def _is_of_sets(metric: str) -> bool:
    return METRICS[metric].needs == "sets"


def _again(records: Sequence[RunRecord]) -> frozenset[str]:
    """Return the keys of the runs whose scores are those of another with its natural cut."""
    natural = {_of_model(one) for one in records if one.done and not is_tuned(one)}
    return frozenset(one.key for one in records if is_tuned(one) and _of_model(one) in natural)


def _of_model(record: RunRecord) -> tuple[str, str, str, str]:
    return record.experiment, record.dataset.name, record.split, method_and_cut(record)[0]


def _software(record: RunRecord) -> str:
    software = record.software
    parts = {"mlrank": software.mlrank, "python": software.python, **software.packages, "commit": software.commit}
    return json.dumps(parts)


def write_table(folder: Path, records: Sequence[RunRecord]) -> None:
    """Write the tidy table, as csv.xz and, where pyarrow is installed, as parquet."""
    from mlrank.records.atomic import write_atomic
    from mlrank.tables import tidy_bytes

    frame = benchmark_frame(records)
    write_atomic(folder / TABLE, lzma.compress(tidy_bytes(frame, "csv"), preset=9))
    write_atomic(folder / "benchmark.parquet", tidy_bytes(frame, "parquet"))


def check_same(records: Sequence[RunRecord], published: Sequence[RunRecord], folder: Path | None = None) -> None:
    """Refuse runs that cannot be compared with the published ones: of other data, rows, or version.

    Raises
    ------
    UserError
        The message has the hash, or version, of both.
    """
    check_records(records, read_rows(folder or benchmark_folder()))
    versions = {one.software.mlrank for one in published}
    for record in records:
        if record.software.mlrank not in versions:
            made = " and ".join(sorted(versions))
            raise UserError(
                f"{record.label} was made by mlrank {record.software.mlrank}, the benchmark by {made}: "
                "metrics may have changed; run it again with that version"
            )


def published_beside(
    records: Sequence[RunRecord], methods: Sequence[str] = (), folder: Path | None = None
) -> tuple[list[RunRecord], list[str]]:
    """Return the published runs on the data sets and splits of other runs, and what was left out of them.

    Cuts are compared with their like: those are taken that the other runs have, natural or tuned ones. A method is
    left out if it has no result on some of the splits.

    Parameters
    ----------
    records : run records
    methods : names or solvers of the methods to return; all if none is named
    folder : of another benchmark; None: the published one

    Raises
    ------
    UserError
        If the runs are on other data or rows, or of another version, or a method is unknown.
    """
    published = published_records(folder)
    check_same(records, published, folder)
    known = dict.fromkeys(name for one in published for name in (method_and_cut(one)[0], one.solver))
    for name in methods:
        if name not in known:
            raise UserError(unknown_name("method of the benchmark", name, known))
    in_benchmark = {(one.dataset.name, one.split) for one in published}
    splits = {(one.dataset.name, one.split) for one in records} & in_benchmark
    cuts = {is_tuned(one) for one in records}
    found: dict[str, dict[tuple[str, str], RunRecord]] = {}
    for one in published:
        place, names = (one.dataset.name, one.split), (method_and_cut(one)[0], one.solver)
        if place in splits and is_tuned(one) in cuts and (not methods or set(methods) & set(names)):
            found.setdefault(one.method, {})[place] = one
    alone = dict.fromkeys(one.dataset.name for one in records if (one.dataset.name, one.split) not in in_benchmark)
    kept, notes = [], [f"nothing is published for {name} yet" for name in alone]
    for method, by_place in found.items():
        lacking = sorted(splits - {place for place, one in by_place.items() if one.done})
        if lacking:
            named = ", ".join(dict.fromkeys(dataset for dataset, _ in lacking))
            notes.append(f"{method} of the benchmark left out: it has no result on all splits of {named}")
        else:
            kept += list(by_place.values())
    return kept, notes
