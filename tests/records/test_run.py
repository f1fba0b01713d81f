"""Records keep every field through JSON, and refuse what is not one."""

import json

import pytest

from mlrank.metrics import MetricValue
from mlrank.records.run import (
    ComponentInfo,
    DataInfo,
    FitRecord,
    MetricRecord,
    RunRecord,
    SearchInfo,
    SoftwareInfo,
    ThresholdInfo,
    TimeInfo,
    TrialRecord,
)
from mlrank.solvers import FitInfo
from mlrank.stored import dump_json

RUN = RunRecord(
    experiment="demo",
    dataset=DataInfo("yeast", "embedded", "h", 9, 6, 3, 4, 2, 1.5, True, ("scaled",)),
    split="r0f1",
    method="Rank-SVM",
    solver="rank_svm",
    settings={"C": 1.0, "kernel": "linear", "seed": None},
    threshold=ThresholdInfo("svr_midpoint", "heldout", {"C": 2}, oracle=True),
    search=SearchInfo("f1_micro", "staged", 3, 9, 1, 2, 4, 0.25),
    software=SoftwareInfo("0.2", "3.11.7", {"numpy": "2.0"}, ("openblas 0.3",), 1, "c0ffee"),
    key="k",
    inputs={"data": "h", "method.C": [1, 2]},
    status="done",
    searched={"C": 1.0},
    projection=ComponentInfo("blda", {"n_components": 5}),
    transductive=True,
    info=FitRecord(3, None, 1e-4, True, ("a note",)),
    metrics={"lrap": MetricRecord(None, 0, 3, "rows"), "f1_micro": MetricRecord(0.5, 1, 1, "all")},
    time=TimeInfo(1.0, 0.5, 0.25, 0.125, 2**33, "some CPU"),
)
TRIAL = TrialRecord("k", 0.5, None, True, 1e-4, 7, 2, TimeInfo(fit=1.0, threshold=0.5))


@pytest.mark.parametrize("record", [RUN, TRIAL, TrialRecord("k", error="ValueError: x")])
def test_json_keeps_every_field(record):
    assert type(record).from_json(json.loads(dump_json(record.to_json()))) == record


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"split": None}, "split: "),
        ({"status": "begun"}, "status: "),
        ({"dataset": {"name": "yeast"}}, "dataset.source: Field required"),
        ({"metrics": {"lrap": 3}}, "metrics.lrap: "),
        ({"novelty": 1}, "unknown field 'novelty'"),
    ],
)
def test_what_is_no_record_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        RunRecord.from_json(RUN.to_json() | changed)
    with pytest.raises(ValueError, match="key: Field required"):
        TrialRecord.from_json({"value": 1.0})


def test_values_and_reasons():
    assert RUN.value("f1_micro") == 0.5
    assert RUN.value("lrap") is RUN.value("coverage") is None
    failed = RunRecord.from_json(
        RUN.to_json() | {"status": "failed", "info": None, "error": "Trace\n  x\nOSError: no\n"}
    )
    assert failed.reason == "OSError: no"
    with pytest.raises(ValueError, match="the run yeast / r0f1 / Rank-SVM failed"):
        _ = failed.fit
    assert TRIAL.seconds == 1.5


def test_nan_is_stored_as_none():
    assert FitRecord.of(FitInfo(1, float("nan"), float("inf"), False)) == FitRecord(1, None, None, False)
    assert MetricRecord.of(MetricValue(float("nan"), 0, 2, "labels")) == MetricRecord(None, 0, 2, "labels")
