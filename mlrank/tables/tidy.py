"""Results as one long table that any tool opens: a row for each data set, split, method and metric."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS, own_names
from mlrank.records.run import RunRecord

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TIDY_COLUMNS", "TIDY_FORMATS", "tidy_bytes", "tidy_format", "tidy_frame"]

TIDY_FORMATS = ("csv", "parquet", "json")

# Name and pandas type of each column, in order; new ones are appended.
TIDY_COLUMNS: Mapping[str, str] = {
    "dataset": "object",
    "split": "object",
    "method": "object",
    "solver": "object",
    "metric": "object",
    "value": "float64",
    "n_defined": "Int64",
    "n_total": "Int64",
    "unit": "object",
    "higher_is_better": "bool",
    "status": "object",
    "fit_seconds": "float64",
    "converged": "boolean",
    "optimality": "float64",
    "n_iter": "Int64",
    "threshold": "object",
    "oracle_threshold": "bool",
    "chosen_settings": "object",
    "stand_in": "bool",
    "dataset_hash": "object",
    "experiment": "object",
    "key": "object",
    "error": "object",
    "machine": "object",
    "mlrank": "object",
    "commit": "object",
    "certificate_kind": "object",
}


def tidy_frame(records: Sequence[RunRecord], metrics: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return a row for each run and metric, runs in their order and metrics in that of `METRICS`.

    The columns are `TIDY_COLUMNS`. `value` is NaN where the metric is undefined or the run failed, `n_defined` of
    `n_total` terms (each a `unit`) entered it; `chosen_settings` is what the search chose, as JSON; `error` is the last
    line of the error of a failed run; `mlrank` and `commit` are the version that made the run; `certificate_kind` is
    what `optimality` is, "gap", "residual" or "backward error". Whatever is not known is missing (None, NaN or NA).

    Parameters
    ----------
    records : run records as ``RunFolder.runs()`` returns them
    metrics : names of the metrics; None: all

    Raises
    ------
    UserError
        For a name that is no metric.
    """
    import pandas as pd

    for name in metrics or ():
        if name not in METRICS:
            raise UserError(unknown_name("metric", name, METRICS))
    own = own_names(name for record in records for name in record.metrics)
    names = [name for name in (*METRICS, *own) if metrics is None or name in metrics]
    rows = [_row(record, name) for record in records for name in names if not record.done or name in record.metrics]
    return pd.DataFrame(rows, columns=list(TIDY_COLUMNS)).astype(dict(TIDY_COLUMNS))


def _row(record: RunRecord, metric: str) -> tuple[object, ...]:
    values: tuple[object, ...] = (None,) * 4
    info: tuple[object, ...] = (None,) * 3
    if record.done:
        measured, fit = record.metrics[metric], record.fit
        values = (measured.value, measured.n_defined, measured.n_total, measured.unit)
        info = (fit.converged, fit.optimality, fit.n_iter)
    return (
        *(record.dataset.name, record.split, record.method, record.solver, metric, *values),
        *(METRICS[metric].higher_is_better, record.status, record.time.fit, *info),
        *(record.threshold.kind, record.threshold.oracle, json.dumps(dict(record.searched))),
        *(record.dataset.stand_in, record.dataset.hash, record.experiment, record.key),
        *(None if record.done else record.reason, record.time.machine),
        *(record.software.mlrank, record.software.commit),
        record.fit.certificate if record.done else None,
    )


def tidy_bytes(frame: "pd.DataFrame", fmt: str) -> bytes:
    """Return a frame as a file's content; numbers keep every digit.

    Parameters
    ----------
    fmt : one of TIDY_FORMATS
        CSV leaves missing values empty, JSON is a list of objects with null for them.

    Raises
    ------
    ValueError
        For another format.
    UserError
        For parquet where pyarrow is not installed.
    """
    if fmt not in TIDY_FORMATS:
        raise ValueError(unknown_name("format of a tidy table", fmt, TIDY_FORMATS))
    if fmt == "csv":
        return bytes(frame.to_csv(index=False, lineterminator="\n"), "utf-8")
    if fmt == "json":
        plain = frame.astype(object).where(frame.notna(), None)
        return f"{json.dumps(plain.to_dict(orient='records'), indent=1, allow_nan=False)}\n".encode()
    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, engine="pyarrow", index=False)
    except ImportError as error:
        raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]") from error
    return buffer.getvalue()


def tidy_format(fmt: str | None, out: Path | None) -> str:
    """Return the format that was asked for, or that of the file's ending, or CSV.

    Raises
    ------
    UserError
        If it is none of TIDY_FORMATS, or parquet is to be printed.
    """
    chosen = fmt or (out.suffix.lstrip(".").lower() if out is not None else "csv")
    if chosen not in TIDY_FORMATS:
        raise UserError(unknown_name("format of a tidy table", chosen, TIDY_FORMATS))
    if chosen == "parquet" and out is None:
        raise UserError("parquet is no text: name a file with --out FILE")
    return chosen
