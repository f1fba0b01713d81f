"""Published results beside one's own: the same numbers as in the pieces, refused where rows or versions differ."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from mlrank import load_benchmark
from mlrank.benchmark import Pieces, benchmark_frame, check_same, in_metrics, published_beside, published_records
from mlrank.benchmark.verify import other_kernels, verified
from mlrank.cli import app
from mlrank.config.names import solver_class
from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.search.estimates import USUAL_OPERATIONS
from mlrank.solvers import Capabilities
from tests.reference_benchmark.conftest import command

# The real pieces: to the package those are published that a fixture here has made.
PUBLISHED = Path(__file__).parents[2] / "results" / "benchmark" / "cells"


def test_the_table_has_every_number_once(made):
    frame, records = load_benchmark(), Pieces(made.out / "cells").read()
    n_metrics = len(records[0].metrics)
    n_sets = sum(METRICS[name].needs == "sets" for name in records[0].metrics)
    assert len(frame) == 2 * 2 * (n_metrics + n_sets)
    assert not frame.duplicated(["dataset", "split", "method", "cut", "metric"]).any()
    assert set(frame["method"]) == {"kNN", "PLST"}
    for record in records:
        method, cut = record.method.removesuffix(" tuned"), "tuned" if "tuned" in record.method else "natural"
        mine = frame[(frame["split"] == record.split) & (frame["method"] == method) & (frame["cut"] == cut)]
        values = dict(zip(mine["metric"], mine["value"], strict=True))
        assert {name for name in record.metrics if cut == "natural" or METRICS[name].needs == "sets"} == set(values)
        for name, value in values.items():
            assert value == record.value(name) or (math.isnan(value) and record.value(name) is None)
        assert set(mine["fit_seconds"]) == {record.time.fit}
        assert set(mine["peak_memory"].dropna()) <= {record.time.peak_memory}
        assert set(mine["rows_hash"]) == {record.rows}
        assert json.loads(mine["software"].iloc[0])["numpy"] == record.software.packages["numpy"]


def test_the_scores_of_a_tuned_cut_are_there_where_the_natural_one_has_none(made):
    tuned = [record for record in published_records() if "tuned" in record.method]
    assert set(benchmark_frame(tuned)["metric"]) == set(tuned[0].metrics)


def test_like_cuts_are_set_beside_each_other(made):
    records = published_records()
    natural = [replace(record, experiment="mine") for record in records if record.method == "kNN"]
    found, notes = published_beside(natural)
    assert {record.method for record in found} == {"kNN", "PLST"}
    assert notes == []
    assert {record.method for record in published_beside(natural, ["plst"])[0]} == {"PLST"}
    both, _ = published_beside([*natural, *(record for record in records if record.method == "kNN tuned")])
    assert {record.method for record in both} == {"kNN", "kNN tuned", "PLST", "PLST tuned"}
    elsewhere = replace(natural[0], dataset=replace(natural[0].dataset, name="mine"))
    assert published_beside([*natural, elsewhere])[1] == ["nothing is published for mine yet"]
    with pytest.raises(UserError, match=r"unknown method of the benchmark 'plts'\. Did you mean 'plst'"):
        published_beside(natural, ["plts"])


def test_a_model_is_compared_once_in_a_metric_of_its_scores(made):
    records = published_records()
    assert {one.method for one in in_metrics(records, ["lrap"])} == {"kNN", "PLST"}
    both = {"kNN", "kNN tuned", "PLST", "PLST tuned"}
    for columns in (["f1_macro"], ["lrap", "f1_macro"], ["lrap", "fit_seconds"]):
        assert {one.method for one in in_metrics(records, columns)} == both
    assert {one.method for one in in_metrics(records, ["lrap"], {None, "PLST tuned"})} == both - {"kNN tuned"}
    natural = next(one for one in records if one.method == "PLST")
    failed = replace(natural, status="failed", error="x", info=None, metrics={})
    kept = in_metrics([failed if one is natural else one for one in records], ["lrap"])
    assert [one.split for one in kept if one.method == "PLST tuned"] == [natural.split]


def test_a_method_without_a_result_on_some_split_is_left_out_by_name(made, monkeypatch):
    records = published_records()
    failed = next(place for place, record in enumerate(records) if record.method == "PLST")
    records[failed] = replace(records[failed], status="failed", error="x", info=None, metrics={})
    monkeypatch.setattr("mlrank.benchmark.published.published_records", lambda folder: records)
    found, notes = published_beside([record for record in records if record.method == "kNN"])
    assert {record.method for record in found} == {"kNN"}
    assert notes == ["PLST of the benchmark left out: it has no result on all splits of yeast"]


def test_other_data_rows_and_versions_are_refused_with_what_differs(made):
    records = published_records()
    one = records[0]
    for changed, found in (
        (replace(one, dataset=replace(one.dataset, hash="abc")), f"hash is abc, the published one {one.dataset.hash}"),
        (replace(one, inputs={**one.inputs, "rows": "abc"}), f"hash is abc, the published one {one.rows}"),
        (replace(one, software=replace(one.software, mlrank="0.0.1")), "made by mlrank 0.0.1, the benchmark by 0."),
        (replace(one, dataset=replace(one.dataset, name="mine")), "no data set of mine is in the benchmark"),
    ):
        with pytest.raises(UserError, match=re.escape(found)):
            check_same([changed], records)


def test_own_method_is_run_on_the_published_rows_and_compared(made, tmp_path, capsys):
    words = ("--solver", "ml_knn", "--settings", "n_neighbors: [3, 5]")
    command("run", *words, "--results", tmp_path, "--jobs", 1, "--quiet")
    printed = capsys.readouterr().out
    assert "PLST" in printed
    assert "ml_knn" in printed
    text = (tmp_path / "benchmark-ml_knn" / "comparison.tex").read_text()
    assert text.count(r"\toprule") == 2
    of_sets, of_scores = text.split(r"\bottomrule")[:2]
    assert [part.count("PLST tuned &") for part in (of_sets, of_scores)] == [1, 0]
    run = str(tmp_path / "benchmark-ml_knn")
    app(["table", run, "--with", "benchmark:plst", "--format", "csv", "--metric", "lrap"], standalone_mode=False)
    shown = capsys.readouterr().out
    value = sum(r.value("lrap") for r in published_records() if r.method == "PLST") / 2
    assert f"{value:.10f}"[:10] in shown
    assert "kNN," not in shown.replace("ml_knn", "")
    app(["compare", run, "--with", "benchmark", "--metric", "lrap", "--control", "ml_knn"], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "kNN" in shown
    assert "tuned" not in shown
    # One's own method is set against each published one, and these are not compared with one another.
    app(["compare", run, "--with", "benchmark", "--metric", "f1_macro"], standalone_mode=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "ml_knn (control)" in shown
    assert (shown.count("corrected resampled t"), shown.count("after Holm over 5 pairs")) == (5, 5)
    app(["compare", run, "--with", "benchmark", "--metric", "lrap", "--control", "ml_knn tuned"], standalone_mode=False)
    assert "PLST tuned" not in (shown := capsys.readouterr().out)
    assert "ml_knn tuned" in shown
    with pytest.raises(UserError, match="--with takes benchmark"):
        app(["table", run, "--with", "bench"], standalone_mode=False)


def test_a_sample_made_again_agrees_to_the_last_digit(made, tmp_path, capsys):
    assert command("verify", "--sample", 3, "--results", tmp_path, "--jobs", 1, "--quiet") == 0
    assert "3 of 3 runs agree to the last digit, 3 of 3 within 1e-06" in capsys.readouterr().out


def test_what_does_not_agree_is_counted(made):
    record = published_records()[0]
    value = record.metrics["lrap"]
    near, far = (
        replace(record, metrics={**record.metrics, "lrap": replace(value, value=value.value + step)})
        for step in (1e-9, 1e-3)
    )
    assert [verified(record, one).is_equal for one in (record, near, far)] == [True, False, False]
    assert [verified(record, one).is_close for one in (record, near, far)] == [True, True, False]
    none = replace(record, metrics={**record.metrics, "lrap": replace(value, value=None)})
    assert verified(record, none).largest == math.inf
    assert not verified(record, replace(record, searched={"n_neighbors": 99})).same_settings
    assert verified(record, None).reason == f"no run of today has its key {record.key}"


@pytest.mark.parametrize(
    ("then", "note"),
    [
        (("openblas 0.3.31 SkylakeX", "openblas 0.3.30 SkylakeX"), ""),
        (("openblas 0.3.30 Haswell", "openblas 0.3.31 Haswell"), "OPENBLAS_CORETYPE=Haswell takes the former"),
        (("openblas 0.3.30 Haswell", "openblas 0.3.30 Zen"), "sums differ"),
        (("mkl 2024.1",), "published with mkl 2024.1, made again with openblas"),
    ],
)
def test_other_kernels_are_named_with_what_takes_the_same(made, then, note):
    (record, *_) = Pieces(made.out / "cells").read()
    one, other = (
        replace(record, software=replace(record.software, blas=blas))
        for blas in (then, ("openblas 0.3.30 SkylakeX", "openblas 0.3.31 SkylakeX"))
    )
    found = other_kernels([one], [other])
    assert (note in found) if note else not found
    assert ("CORETYPE" in found) == ("CORETYPE" in note)


def test_estimates_of_different_methods_can_be_compared(tmp_path):
    # What a run takes is foretold from the methods that it has made; an operation of their estimates took .025 to 3 ns.
    for name in ("scene", "yeast"):
        (tmp_path / name).symlink_to(PUBLISHED / name)
    speeds = {}
    for record in Pieces(tmp_path).read():
        if record.status == "done" and "tuned" not in record.method:
            kind, shape = solver_class(record.solver), record.dataset
            rows, features, labels = round(0.8 * shape.n_samples), shape.n_features, shape.n_labels
            if Capabilities.of(kind).estimates_cost:
                operations = kind(**record.settings).cost(rows, features, labels)[0]
            else:
                operations = USUAL_OPERATIONS * rows * features * labels
            speeds.setdefault(record.method, []).append(operations / record.time.fit)
    assert len(speeds) == 32
    middle = {method: median(found) for method, found in speeds.items()}
    assert {method: speed for method, speed in middle.items() if not 3e8 < speed < 4e10} == {}
