"""The long table of results: every number is that of a record, in each format that is written."""

import io
import json
import sys

import pandas as pd
import pytest

import mlrank
from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.records import RunFolder
from mlrank.tables import TIDY_COLUMNS, tidy_bytes, tidy_format, tidy_frame

THIRD = 1 / 3
GAP, NOT_CONVERGED = {"certificate": "gap"}, {"converged": False, "certificate": "backward error"}


@pytest.fixture
def records(make):
    undefined = {"value": None, "n_defined": 0, "n_total": 14, "unit": "labels"}
    return [
        make('say "A", B', "r0", metrics={"f1_macro": THIRD}, searched={"C": 8.0, "kernel": "rbf"}, info=GAP),
        make("B", "r0", metrics={"auc_macro": undefined}, info=NOT_CONVERGED, threshold={"oracle": True}),
        make("C", "r0", status="failed", error="Traceback:\nValueError: x", info=None, software={"commit": None}),
    ]


def test_a_row_for_each_run_and_metric_with_the_values_of_the_records(records):
    frame = tidy_frame(records)
    assert list(frame.columns) == list(TIDY_COLUMNS)
    assert frame.dtypes.astype(str).to_dict() == dict(TIDY_COLUMNS)
    stored = [name for name in METRICS if name in records[0].metrics]
    assert frame["metric"].tolist() == [*stored, *stored, *METRICS]
    for record in records[:2]:
        rows = frame[frame["method"] == record.method].set_index("metric")
        for name, measured in record.metrics.items():
            row = rows.loc[name]
            value = row["value"]
            assert (None if pd.isna(value) else value) == measured.value
            assert (row["n_defined"], row["n_total"], row["unit"]) == (measured.n_defined, measured.n_total, "labels")
            assert row["higher_is_better"] == METRICS[name].higher_is_better
            assert (row["fit_seconds"], row["optimality"]) == (record.time.fit, record.fit.optimality)
            assert row["certificate_kind"] == record.fit.certificate
            assert (row["converged"], row["oracle_threshold"]) == (record.fit.converged, record.threshold.oracle)
            assert json.loads(row["chosen_settings"]) == record.searched
            assert (row["mlrank"], row["commit"], row["key"]) == ("0.1.0", "1" * 40, record.key)
    failed = frame[frame["method"] == "C"]
    assert failed["status"].eq("failed").all()
    assert failed["error"].eq("ValueError: x").all()
    assert failed[["value", "n_defined", "converged", "optimality", "commit"]].isna().all(axis=None)


def test_metrics_can_be_chosen(records):
    frame = tidy_frame(records, ["ranking_loss", "f1_macro"])
    assert (
        frame["metric"].tolist() == ["ranking_loss", "f1_macro"] * 3
        or frame["metric"].tolist() == [name for name in METRICS if name in ("ranking_loss", "f1_macro")] * 3
    )
    with pytest.raises(UserError, match=r"unknown metric 'f1'"):
        tidy_frame(records, ["f1"])
    assert tidy_frame([]).shape == (0, len(TIDY_COLUMNS))


def same(found, frame):
    assert list(found.columns) == list(frame.columns)
    found = found.astype(dict(TIDY_COLUMNS))
    for name in TIDY_COLUMNS:
        assert found[name].isna().tolist() == frame[name].isna().tolist(), name
        assert found[name].dropna().tolist() == frame[name].dropna().tolist(), name


def test_files_hold_every_digit_and_every_missing_value(records):
    frame = tidy_frame(records)
    text = pd.read_csv(io.BytesIO(tidy_bytes(frame, "csv")), dtype="object")
    flags = [name for name, kind in TIDY_COLUMNS.items() if kind in ("bool", "boolean")]
    same(text.assign(**{name: text[name].map({"True": True, "False": False}) for name in flags}), frame)
    rows = json.loads(tidy_bytes(frame, "json"))
    assert [list(row) for row in rows] == [list(TIDY_COLUMNS)] * len(frame)
    same(pd.DataFrame(rows), frame)
    pytest.importorskip("pyarrow")
    same(pd.read_parquet(io.BytesIO(tidy_bytes(frame, "parquet"))), frame)


def test_parquet_without_its_package_is_one_line(records, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"Parquet needs the package pyarrow: install mlrank\[parquet\]"):
        tidy_bytes(tidy_frame(records), "parquet")


def test_the_format_is_that_asked_for_or_of_the_file(tmp_path):
    assert tidy_format(None, None) == "csv"
    assert tidy_format(None, tmp_path / "a.JSON") == "json"
    assert tidy_format("csv", tmp_path / "a.json") == "csv"
    with pytest.raises(UserError, match="parquet is no text: name a file with --out FILE"):
        tidy_format("parquet", None)
    for fmt, out in (("md", None), (None, tmp_path / "a.xlsx")):
        with pytest.raises(UserError, match="unknown format of a tidy table"):
            tidy_format(fmt, out)


def test_a_notebook_gets_the_same_frame(tmp_path, records):
    folder = RunFolder.create(tmp_path, "demo")
    folder.write_config({"name": "demo", "datasets": ["yeast"], "methods": {"B": {}}, "metrics": ["f1_macro"]})
    for record in records:
        folder.write_run(record, {})
    results = mlrank.open_results(folder.path)
    pd.testing.assert_frame_equal(results.to_pandas(), tidy_frame(folder.runs()))
    assert set(results.to_pandas("f1_macro")["metric"]) == {"f1_macro"}
