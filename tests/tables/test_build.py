from dataclasses import replace

import pytest

from mlrank.errors import UserError
from mlrank.records.run import TimeInfo
from mlrank.tables import build_tables

SHOWN = ["f1_macro", "ranking_loss"]


def only(records, metrics=SHOWN):
    (table,) = build_tables(records, metrics)
    return table


def values(make, method, numbers, **changes):
    return [make(method, f"r{place}", metrics={"f1_macro": number}, **changes) for place, number in enumerate(numbers)]


def test_mean_and_sample_standard_deviation_over_splits(make):
    table = only(values(make, "A", [0.1, 0.2, 0.6]))
    cell = table.rows[0].cells[0]
    assert cell.value == pytest.approx(0.3, abs=1e-15)
    # deviations -0.2, -0.1, 0.3: squares sum to 0.14, divided by 2
    assert cell.std == pytest.approx(0.07**0.5, abs=1e-15)
    assert cell.n == 3
    assert table.notes[0] == "mean ± standard deviation over 3 splits (r0, r1, r2)"


def test_one_split_has_no_standard_deviation(make):
    table = only([make()])
    assert table.rows[0].cells[0].std is None
    assert table.notes[0] == "1 split (official), so no standard deviation"


def test_many_splits_are_named_briefly(make):
    table = only(values(make, "A", [0.1] * 10))
    assert table.notes[0] == "mean ± standard deviation over 10 splits (r0, r1, ..., r9)"


def best(table, place=0):
    return [row.method for row in table.rows if row.cells[place].best]


def test_best_follows_the_direction_of_the_metric(make):
    records = [
        make("A", metrics={"f1_macro": 0.4, "ranking_loss": 0.1}),
        make("B", metrics={"f1_macro": 0.5, "ranking_loss": 0.2}),
    ]
    table = only(records)
    assert best(table, 0) == ["B"]
    assert best(table, 1) == ["A"]


def test_ties_are_all_best(make):
    # 0.1 + 0.2 differs from 0.3 in the last bit: the same up to rounding
    table = only([make("A", metrics={"f1_macro": 0.1 + 0.2}), make("B", metrics={"f1_macro": 0.3}), make("C")])
    assert best(table) == ["C"]
    table = only([make("A", metrics={"f1_macro": 0.1 + 0.2}), make("B", metrics={"f1_macro": 0.3})])
    assert best(table) == ["A", "B"]


def test_a_difference_too_small_to_be_shown_is_no_tie(make):
    table = only([make("A", metrics={"f1_macro": 0.50000001}), make("B", metrics={"f1_macro": 0.5})])
    assert best(table) == ["A"]


def test_a_single_row_is_not_best_of_anything(make):
    assert best(only([make("A")])) == []


def test_an_oracle_threshold_competes_in_metrics_of_scores_only(make):
    oracle = {"kind": "oracle_size", "oracle": True}
    records = [
        make("O", threshold=oracle, metrics={"f1_macro": 0.9, "ranking_loss": 0.0}),
        make("A", metrics={"f1_macro": 0.4}),
        make("B", metrics={"f1_macro": 0.5}),
    ]
    table = only(records)
    assert best(table, 0) == ["B"]
    assert best(table, 1) == ["O"]
    assert table.rows[0].oracle
    assert any(note.startswith("* the threshold looks at the true labels") for note in table.notes)


def test_a_failed_split_leaves_the_mean_to_the_others_and_the_row_out_of_the_contest(make):
    broken = make("A", "r1", status="failed", error="Traceback:\n  line\nMemoryError: 3 GB\n", metrics={})
    table = only([make("A", "r0", metrics={"f1_macro": 0.9}), broken, *values(make, "B", [0.1, 0.2])])
    row = table.rows[0]
    assert (row.n_done, row.n_failed, row.cells[0].value, row.cells[0].std) == (1, 1, 0.9, None)
    assert best(table) == []
    assert "A: 1 of 2 fits failed (MemoryError: 3 GB)" in table.notes
    assert any("cannot be best" in note for note in table.notes)


def test_a_failed_record_may_lack_what_only_a_fit_can_tell(make):
    failed = replace(make("A", status="failed", error="ValueError: x"), info=None, metrics={}, time=TimeInfo())
    row = only([failed, make("B")]).rows[0]
    assert (row.n_done, row.n_failed, row.settings, row.fit_seconds, row.optimality) == (0, 1, "", None, None)
    assert [cell.value for cell in row.cells] == [None, None]


def test_a_method_run_on_fewer_splits_is_told(make):
    table = only([*values(make, "A", [0.1, 0.2]), *values(make, "B", [0.9])])
    assert "B: run on 1 of 2 splits only" in table.notes
    assert best(table) == []


def test_a_method_without_a_run_on_one_dataset_has_an_empty_row(make):
    other = {"name": "scene"}
    tables = build_tables([make("A"), make("B"), make("B", dataset=other)], SHOWN)
    assert [table.dataset for table in tables] == ["yeast", "scene"]
    assert [row.method for row in tables[1].rows] == ["A", "B"]
    assert tables[1].rows[0].cells[0].value is None
    assert "A: no run" in tables[1].notes
    assert not any("cannot be best" in note for note in tables[1].notes)


def test_experiments_on_the_same_data_share_a_table(make):
    table = only([make("A", metrics={"f1_macro": 0.4}), make("B", experiment="other", metrics={"f1_macro": 0.5})])
    assert table.experiment == "demo + other"
    assert [(row.label, row.experiment) for row in table.rows] == [("A", "demo"), ("B", "other")]
    assert best(table) == ["B"]
    assert not any(note.startswith("warning") for note in table.notes)


def test_experiments_on_other_versions_of_the_data_have_tables_of_their_own(make):
    tables = build_tables([make("A"), make("B", experiment="other", dataset={"hash": "11ee"})], SHOWN)
    assert [(table.experiment, [row.label for row in table.rows]) for table in tables] == [
        ("demo", ["A"]),
        ("other", ["B"]),
    ]


def test_methods_of_one_name_in_two_experiments_are_told_apart(make):
    elsewhere = make("A", experiment="other", dataset={"name": "scene", "hash": "22"})
    records = [make("A"), make("B"), make("A", experiment="other"), elsewhere]
    yeast, scene = build_tables(records, SHOWN)
    assert [row.label for row in yeast.rows] == ["A (demo)", "B", "A (other)"]
    assert [row.label for row in scene.rows] == ["A (other)"]


def test_experiments_with_other_splits_are_warned_of_and_not_compared(make):
    table = only([make("A", inputs={"rows": "x1"}), make("B", experiment="other", inputs={"rows": "x2"})])
    assert table.notes[0] == (
        "warning: the experiments do not share their splits (demo: official; other: official): "
        "means are over different rows"
    )
    assert best(table) == []
    assert [row.cells[0].std for row in table.rows] == [None, None]
    assert not any("run on" in note or "no run" in note for note in table.notes)


def test_the_second_is_marked_where_somebody_is_worse(make):
    def seconds(*numbers):
        table = only([make(name, metrics={"f1_macro": number}) for name, number in zip("ABCD", numbers, strict=False)])
        return [row.method for row in table.rows if row.cells[0].second]

    assert seconds(0.3, 0.5, 0.4) == ["C"]
    assert seconds(0.5, 0.4) == []  # the second of two is the last
    assert seconds(0.5, 0.5, 0.4) == []  # two firsts leave no second
    assert seconds(0.5, 0.4, 0.4) == []
    assert seconds(0.5, 0.4, 0.4, 0.3) == ["B", "C"]
    assert seconds(0.5, 0.5, 0.5) == []


def test_the_second_follows_the_direction_and_the_rules_of_the_contest(make):
    oracle = {"kind": "oracle_size", "oracle": True}
    records = [
        make("O", threshold=oracle, metrics={"f1_macro": 0.45, "ranking_loss": 0.15}),
        make("A", metrics={"f1_macro": 0.5, "ranking_loss": 0.1}),
        make("B", metrics={"f1_macro": 0.4, "ranking_loss": 0.2}),
        make("C", metrics={"f1_macro": 0.3, "ranking_loss": 0.3}),
    ]
    table = only(records)
    assert [row.method for row in table.rows if row.cells[0].second] == ["B"]
    assert [row.method for row in table.rows if row.cells[1].second] == ["O"]


def timed(make, method, seconds, **changes):
    return [
        make(method, f"r{place}", time={"fit": second, "peak_memory": 10**8}, **changes)
        for place, second in enumerate(seconds)
    ]


def test_costs_are_medians_with_quartiles(make):
    table = only(timed(make, "A", [4.0, 1.0, 2.0, 3.0, 10.0]), ["fit_seconds", "peak_memory", "predict_seconds"])
    fit, memory, predict = table.rows[0].cells
    assert (fit.value, fit.low, fit.high, fit.std, fit.n) == (3.0, 2.0, 4.0, None, 5)
    assert (memory.value, memory.n) == (10**8, 5)
    assert predict.value == 0.0
    assert "times and memory: median [lower quartile, upper quartile] over the splits" in table.notes
    assert any(note.startswith("peak_memory: the most that the process held") for note in table.notes)


def test_one_split_has_no_quartiles(make):
    cell = only(timed(make, "A", [4.0]), ["fit_seconds"]).rows[0].cells[0]
    assert (cell.value, cell.low, cell.high) == (4.0, None, None)


def test_the_fastest_is_one_that_reached_its_tolerance(make):
    records = [*timed(make, "A", [1.0, 1.0], info={"converged": False}), *timed(make, "B", [2.0, 2.0])]
    table = only([*records, *timed(make, "C", [3.0, 3.0])], ["fit_seconds"])
    assert best(table) == ["B"]


def test_times_of_different_machines_are_warned_of_and_not_compared(make):
    records = [make("A", time={"machine": "one, 2 cores"}), make("B", time={"machine": "two, 4 cores"})]
    table = only(records, ["fit_seconds", "f1_macro"])
    assert table.notes[0] == (
        "warning: rows differ in machine (A: one, 2 cores; B: two, 4 cores): their times cannot be compared"
    )
    assert best(table, 0) == []
    assert best(table, 1) == ["A", "B"]
    assert table.notes[-3:-1] == (
        "machine: one, 2 cores; every fit with 1 thread",
        "machine: two, 4 cores; every fit with 1 thread",
    )


def made_by(make, method, split="official", **software):
    return make(method, split, software=software, time={"machine": "one, 2 cores"})


def test_the_software_of_all_rows_is_named_once(make):
    software = {"packages": {"mlrank": "0.1.0", "numpy": "2.4.6"}, "blas": ["openblas 0.3.30"] * 2}
    table = only([made_by(make, "A", **software), made_by(make, "B", **software)])
    assert table.notes[-2:] == (
        "machine: one, 2 cores; every fit with 1 thread",
        "software: Python 3.11.7, mlrank 0.1.0, numpy 2.4.6, openblas 0.3.30, commit 111111111111",
    )
    assert not any(note.startswith("warning") for note in table.notes)


def test_rows_of_other_software_are_named_with_what_differs(make):
    old, new = {"packages": {"numpy": "2.3.0", "scipy": "1.13"}}, {"packages": {"numpy": "2.4.6", "scipy": "1.13"}}
    records = [
        *(made_by(make, "A", split, **old) for split in ("r0", "r1")),
        made_by(make, "B", "r0", **old),
        made_by(make, "B", "r1", **new),
        *(made_by(make, "C", split, **new, threads=2) for split in ("r0", "r1")),
    ]
    table = only(records)
    assert [note for note in table.notes if note.startswith("warning")] == [
        "warning: rows differ in numpy (A, B [r0]: 2.3.0; B [r1], C: 2.4.6)",
        "warning: rows differ in threads of a fit (A, B: 1; C: 2)",
    ]
    # What differs is not part of what all rows share.
    assert table.notes[-2:] == (
        "machine: one, 2 cores; every fit with 1 or 2 threads",
        "software: Python 3.11.7, mlrank 0.1.0, scipy 1.13, commit 111111111111",
    )


def test_a_package_that_only_some_runs_had_is_a_difference(make):
    table = only([made_by(make, "A", packages={"numpy": "2.0.0"}), made_by(make, "B")])
    assert table.notes[0] == "warning: rows differ in numpy (A: 2.0.0; B: none)"


def test_a_cost_that_was_not_recorded_is_told(make):
    table = only([make("A", time={"peak_memory": None}), make("B", time={"peak_memory": 5})], ["peak_memory"])
    assert [cell.value for row in table.rows for cell in row.cells] == [None, 5]
    assert "A: peak_memory not recorded on 1 of 1 splits" in table.notes


def test_the_convention_is_that_of_the_metrics_shown(make):
    def convention(*names):
        return next((note for note in only([make()], names).notes if note.startswith("convention")), None)

    assert "ranking_loss counts a tied pair in full" in convention("f1_macro", "ranking_loss")
    assert "coverage counts from 1" in convention("coverage")
    assert "tied" not in convention("f1_macro")
    assert convention("fit_seconds") is None


def test_the_grade_of_the_data_is_said(make):
    assert "data grade: read, not generated (yeast of Elisseeff & Weston)" in only([make()]).notes
    generated = only([make(dataset={"stand_in": True, "source": "a generator"})])
    assert "data grade: stand-in, generated: not comparable with published numbers (a generator)" in generated.notes


def test_an_undefined_value_is_skipped_counted_and_not_best(make):
    undefined = {"value": None, "n_defined": 0, "n_total": 14, "unit": "labels"}
    records = [make("A", "r0", metrics={"f1_macro": 0.9}), make("A", "r1", metrics={"f1_macro": undefined})]
    table = only([*records, *values(make, "B", [0.1, 0.2]), *values(make, "C", [0.1, 0.1])])
    cell = table.rows[0].cells[0]
    assert (cell.value, cell.std, cell.n) == (0.9, None, 1)
    assert "A: f1_macro undefined on 1 of 2 splits" in table.notes
    assert "f1_macro over 0 to 14 for A, 14 for B, 14 for C, of 14 labels" in table.notes
    assert best(table) == ["B"]


def test_metrics_that_leave_labels_out_say_so(make):
    def auc(n_defined):
        return {"auc_macro": {"value": 0.7, "n_defined": n_defined, "n_total": 60, "unit": "labels"}}

    table = only([make("A", metrics=auc(58)), make("B", metrics=auc(58))], ["auc_macro", "f1_macro"])
    assert "auc_macro over 58 of 60 labels" in table.notes
    assert not any(note.startswith("f1_macro") for note in table.notes)
    table = only([make("A", "r0", metrics=auc(58)), make("A", "r1", metrics=auc(60))], ["auc_macro"])
    assert "auc_macro over 58 to 60 of 60 labels" in table.notes


def test_a_metric_that_an_old_run_does_not_hold_is_told(make):
    old = make("A")
    old = replace(old, metrics={name: value for name, value in old.metrics.items() if name != "f1_macro"})
    table = only([old, make("B")])
    assert table.rows[0].cells[0].value is None
    assert "A: f1_macro not stored on 1 of 1 splits" in table.notes


def test_chosen_settings_are_the_commonest_and_say_how_common(make):
    chosen = [{"C": 8.0, "lam": 1}, {"C": 64.0, "lam": 1}, {"C": 8.0, "lam": 1}]
    table = only([make("A", f"r{place}", searched=found) for place, found in enumerate(chosen)])
    assert table.rows[0].settings == "C=8 (2 of 3), lam=1"


def test_settings_that_are_all_different_show_the_first(make):
    table = only([make("A", f"r{place}", searched={"C": value}) for place, value in enumerate([4.0, 2.0])])
    assert table.rows[0].settings == "C=4 (1 of 2)"


def test_nothing_searched_shows_nothing(make):
    assert only([make("A")]).rows[0].settings == ""


def test_fit_time_is_the_median_and_the_certificate_the_worst(make):
    records = [
        make("A", f"r{place}", time={"fit": seconds}, info={"optimality": gap})
        for place, (seconds, gap) in enumerate([(1.0, 1e-4), (2.0, 9e-4), (60.0, 2e-4)])
    ]
    row = only(records).rows[0]
    assert (row.fit_seconds, row.optimality) == (2.0, 9e-4)


def test_one_unknown_certificate_makes_the_worst_unknown(make):
    records = [make("A", "r0", info={"optimality": None}), make("A", "r1")]
    assert only(records).rows[0].optimality is None


def test_fits_that_did_not_converge_are_counted(make):
    records = [make("A", "r0", info={"converged": False}), make("A", "r1"), make("B", "r0"), make("B", "r1")]
    table = only(records)
    assert [row.n_not_converged for row in table.rows] == [1, 0]
    assert "† A: 1 of 2 fits stopped before the tolerance was reached" in table.notes


def test_what_fits_say_about_themselves_is_passed_on_once(make):
    records = [make("A", "r0", info={"notes": ["weights vanish"]}), make("A", "r1", info={"notes": ["weights vanish"]})]
    notes = only([*records, make("B", "r0", info={"notes": []}), make("B", "r1")]).notes
    assert [note for note in notes if "vanish" in note] == ["A: weights vanish (2 of 2 fits)"]


def test_the_title_says_what_the_data_are(make):
    assert only([make()]).title == (
        "demo: yeast, 2417 rows (1500 train, 917 test), 103 features, 14 labels, 4.24 per row; "
        "yeast of Elisseeff & Weston"
    )


def test_the_title_spans_folds_of_different_sizes(make):
    records = [make("A", "r0", dataset={"n_train": 1611}), make("A", "r1", dataset={"n_train": 1612})]
    assert "(1611 to 1612 train, 917 test)" in only(records).title


@pytest.mark.parametrize("source", ["stand-in data (seed 0)", "made by a generator"])
def test_stand_in_data_are_named_in_the_title(make, source):
    table = only([make(dataset={"stand_in": True, "source": source})])
    assert table.title.count("stand-in data") == 1
    assert table.stand_in


def test_changes_to_the_data_search_and_thresholds_are_noted(make):
    search = {"n_trials": 20, "n_failed": 1, "n_not_converged": 2, "n_undefined": 3}
    changes = {"dataset": {"changes": ["12 rows without a label left out", "scaled to [0, 1]"]}}
    midpoint = {"kind": "svr_midpoint"}
    records = [
        make("A", "r0", search=search, **changes),
        make("A", "r1", search=search, **changes),
        make("B", "r0", threshold=midpoint, search={"n_trials": 4}, **changes),
        make("B", "r1", threshold=midpoint, search={"n_trials": 4}, **changes),
    ]
    notes = [note for note in only(records).notes if not note.startswith(("convention", "data grade"))]
    assert notes[1:] == [
        "data: 12 rows without a label left out",
        "data: scaled to [0, 1]",
        "search by f1_micro over 5 folds; trials per split: A 20, B 4",
        "A: 2 of 40 search trials failed",
        "A: 4 of 40 search trials did not converge",
        "A: 6 of 40 search trials left its metric undefined in some terms, which count as the worst value",
        "thresholds: zero (train scores) for A; svr_midpoint (train scores) for B",
        "certificate: worst distance from the optimum over the splits, a gap, residual or backward error; fit: median",
        "software: Python 3.11.7, mlrank 0.1.0, commit 111111111111",
    ]


def test_a_threshold_of_every_method_is_named_once(make):
    assert "thresholds: zero (train scores) for every method" in only([make("A"), make("B")]).notes


def test_rows_of_different_code_or_data_are_warned_of_first(make):
    records = [make("A"), make("B", software={"commit": None, "mlrank": "0.2.0"}, dataset={"hash": "other"})]
    assert only(records).notes[:3] == (
        "warning: rows differ in mlrank (A: 0.1.0; B: 0.2.0)",
        "warning: rows differ in commit (A: 111111111111; B: no commit)",
        "warning: rows come from 2 different versions of the data",
    )


def test_an_unknown_metric_is_named_with_the_nearest(make):
    with pytest.raises(UserError, match=r"unknown metric 'f1_makro'. Did you mean 'f1_macro'\?"):
        build_tables([make()], ["f1_makro"])


def test_no_records_no_tables():
    assert build_tables([], SHOWN) == []
