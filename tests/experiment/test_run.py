"""The whole chain: the same bytes for any number of workers, nothing lost, nothing computed twice, failures kept."""

import json
import signal

import numpy as np
import pytest

from mlrank.config import parse_config
from mlrank.datasets import load_dataset
from mlrank.experiment import plan, run
from mlrank.experiment.events import BestEvent, PlanEvent, TrialEvent
from mlrank.metrics import METRICS, evaluate
from mlrank.records import RunFolder
from mlrank.records.journal import Journal
from mlrank.records.run import MetricRecord, SearchInfo
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.splits import kfold
from mlrank.thresholds import THRESHOLDS
from tests.experiment.small import CONFIG, small_config, small_data, write_libsvm

SILENT = {"time", "software"}


def contents(folder):
    """Everything that a run leaves but timings and the software: records and the bytes of arrays and models."""
    records = [{key: value for key, value in record.to_json().items() if key not in SILENT} for record in folder.runs()]
    files = [path for ending in ("npz", "model") for path in sorted(folder.path.glob(f"runs/*/*/*.{ending}"))]
    return json.dumps(records, sort_keys=True), {path.relative_to(folder.path): path.read_bytes() for path in files}


def trials(folder):
    return {key: record.value for key, record in folder.journal.read().items()}


def test_one_and_two_workers_leave_the_same_bytes(tmp_path):
    config = small_config(tmp_path, split="{kind: kfold, folds: 2}")
    one, two = run(config, tmp_path / "one", jobs=1), run(config, tmp_path / "two", jobs=2)
    assert contents(one) == contents(two)
    assert trials(one) == trials(two)
    assert len(one.runs()) == 2 * 2
    assert len([path for path in contents(one)[1] if path.suffix == ".model"]) == 2 * 2


def test_methods_of_equal_settings_have_a_run_each(tmp_path):
    methods = "methods:\n" + "".join(f"  {name}: {{{{solver: knn, threshold: zero}}}}\n" for name in ("one", "other"))
    text = CONFIG.partition("methods:")[0] + methods
    assert [run.method for run in run(small_config(tmp_path, text=text), tmp_path / "r", jobs=1).runs()] == [
        "one",
        "other",
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The small experiment and the folder that it leaves, which tests read alone."""
    folder = tmp_path_factory.mktemp("whole")
    config = small_config(folder, scale="none")
    return config, run(config, folder / "whole", jobs=1)


def test_runs_know_the_names_of_their_labels_and_features(whole):
    config, folder = whole
    (data,) = plan(config)
    for record in folder.runs():
        assert folder.names(record) == (data.dataset.label_names, data.dataset.feature_names, None)


# As the small experiment, with fewer fits.
FEW = CONFIG.replace("lam: [0, 1], ", "").replace("C: [0.1, 1, 10]", "C: 1")


class Cut(Exception):
    pass


@pytest.mark.parametrize("after", [1, 7, 16, 34])
def test_a_run_cut_anywhere_goes_on_and_ends_the_same(tmp_path, whole, after):
    config, expected = whole
    seen = []

    def cut(event):
        if not isinstance(event, BestEvent):
            seen.append(event)
        if len(seen) == after + 1:
            raise Cut

    with pytest.raises(Cut):
        run(config, tmp_path / "cut", jobs=1, notify=cut)
    before = RunFolder(tmp_path / "cut" / "small").journal.read()
    events = []
    resumed = run(config, tmp_path / "cut", jobs=1, notify=events.append)
    redone = {event.record.key for event in events if isinstance(event, TrialEvent)}
    assert not redone & set(before)
    done = len(before) + (after == 34)
    assert events[0].idle == {}
    missing = sum(entry.fits for entry in events[0].missing)
    assert (events[0].total, events[0].done, missing) == (35, done, 35 - done)
    assert contents(resumed) == contents(expected)


def test_a_finished_run_is_not_touched_again(tmp_path):
    config = small_config(tmp_path, text=FEW)
    folder = run(config, tmp_path / "r", jobs=1)
    stamps = {path: path.stat().st_mtime_ns for path in folder.path.glob("runs/*/*/*")}
    events = []
    run(config, tmp_path / "r", jobs=1, notify=events.append)
    assert [type(event) for event in events] == [PlanEvent]
    assert not (folder.path / "claims").exists()
    assert {path: path.stat().st_mtime_ns for path in folder.path.glob("runs/*/*/*")} == stamps


def test_runs_of_an_earlier_configuration_are_kept_on_disk_but_not_shown(tmp_path):
    three = small_config(tmp_path, split="{kind: kfold, folds: 3}", text=FEW)
    two = small_config(tmp_path, split="{kind: kfold, folds: 2}", text=FEW.replace("Binary-SVM", "Other"))
    run(three, tmp_path / "r", jobs=1)
    folder = run(two, tmp_path / "r", jobs=1)
    alone = run(two, tmp_path / "alone", jobs=1)
    assert contents(folder)[0] == contents(alone)[0]
    assert "Binary-SVM" not in (folder.path / "tables" / "part-train.md").read_text()
    assert len(list(folder.path.glob("runs/*/*/Binary-SVM.json"))) == 3
    assert contents(run(three, tmp_path / "r", jobs=1))[0] == contents(run(three, tmp_path / "new", jobs=1))[0]


def test_changed_data_are_fitted_again(tmp_path):
    config = small_config(tmp_path, text=FEW)
    first = run(config, tmp_path / "r", jobs=1).runs()[0].metrics
    X, Y = small_data(seed=1)
    write_libsvm(tmp_path / "part-test.svm", X[60:], Y[60:])
    events = []
    second = run(config, tmp_path / "r", jobs=1, notify=events.append).runs()[0].metrics
    assert events[0].done == 0
    assert first != second


def test_the_choice_is_the_best_mean_over_folds_recomputed_by_hand(whole):
    config, folder = whole
    (data,) = plan(config)
    train_rows, test_rows = data.splits[0].train, data.splits[0].test
    X, Y = data.dataset.X, data.dataset.Y
    record = next(record for record in folder.runs() if record.method == "Binary-SVM")
    from mlrank.experiment.cell import cells

    folds = next(iter(cells(config, data))).folds
    assert sorted(np.concatenate([test for _, test in folds])) == sorted(train_rows)
    means = {}
    for C in (0.1, 1.0, 10.0):
        values = []
        for inner, held in folds:
            model = SOLVERS["binary_svm"](C=C).fit(TrainingSet(X[inner], Y[inner]))
            values.append(METRICS["f1_micro"].function(Y[held], model.decision_function(X[held]) > 0).value)
        means[C] = np.mean(values)
    best = max(means, key=means.get)
    assert record.searched == {"C": best}
    assert record.search.best == pytest.approx(means[best], abs=1e-15)
    model = SOLVERS["binary_svm"](C=best).fit(TrainingSet(X[train_rows], Y[train_rows]))
    assert folder.run_arrays(record)["scores"] == pytest.approx(model.decision_function(X[test_rows]), abs=1e-9)


def test_stored_metrics_are_those_of_the_stored_arrays(whole):
    _, folder = whole
    for record in folder.runs():
        arrays = folder.run_arrays(record)
        given = arrays["Y_true"], arrays["scores"], arrays["Y_pred"]
        for name, found in evaluate(*given, propensities=arrays["propensities"]).items():
            assert record.metrics[name] == MetricRecord.of(found)
            assert (record.metrics[name].value is None) == bool(np.isnan(found.value))


def test_scaling_is_fitted_on_the_training_part_alone(tmp_path):
    config = small_config(tmp_path, scale="standard", text=FEW)
    folder = run(config, tmp_path / "r", jobs=1)
    (data,) = plan(config)
    train, test = data.splits[0].train, data.splits[0].test
    X, Y = np.asarray(data.dataset.X.toarray()), data.dataset.Y
    deviation = X[train].std(axis=0)  # the file is sparse: divided, not centred
    record = next(record for record in folder.runs() if record.method == "Binary-SVM")
    model = SOLVERS["binary_svm"](C=record.settings["C"]).fit(TrainingSet(X[train] / deviation, Y[train]))
    assert folder.run_arrays(record)["scores"] == pytest.approx(model.decision_function(X[test] / deviation), abs=1e-6)
    assert "sparse features: divided, not centred" in record.dataset.changes


def test_a_threshold_on_held_out_scores_never_sees_scores_of_fitted_rows(tmp_path):
    text = CONFIG.split("methods:")[0] + (
        "methods:\n  SVM: {{solver: rank_svm, C: 1, threshold: {{kind: per_label_f1, scores: heldout}}}}\nseed: 3\n"
    )
    config = small_config(tmp_path, scale="none", text=text)
    folder = run(config, tmp_path / "r", jobs=1)
    (data,) = plan(config)
    train, test = data.splits[0].train, data.splits[0].test
    X, Y = data.dataset.X, data.dataset.Y
    from mlrank.experiment.cell import cells

    point = next(iter(cells(config, data))).refit(0)
    scores = np.full(Y[train].shape, np.nan)
    for inner, held in kfold(Y[train], 3, point.seed, True):
        part = TrainingSet(X[train[inner]], Y[train[inner]])
        scores[held] = SOLVERS["rank_svm"](seed=point.seed).fit(part).decision_function(X[train[held]])
    cut = THRESHOLDS["per_label_f1"]().fit(scores, Y[train], X[train])
    (record,) = folder.runs()
    arrays = folder.run_arrays(record)
    assert np.array_equal(arrays["Y_pred"], cut(arrays["scores"], X[test]))
    assert record.threshold.scores == "heldout"


FAILING = CONFIG.split("methods:")[0] + (
    "methods:\n"
    "  All: {{solver: 'tests.experiment.small:Means', shift: [2, 5]}}\n"
    "  Some: {{solver: 'tests.experiment.small:Means', shift: [0, 2, 0.25]}}\n"
    "search: {{folds: 2}}\nseed: 3\n"
)


def test_an_interrupt_while_fits_are_journalled_waits_until_they_are_counted(tmp_path, monkeypatch):
    def interrupted(journal, *trials):
        append(journal, *trials)
        signal.raise_signal(signal.SIGINT)

    append, events = Journal.append, []
    monkeypatch.setattr(Journal, "append", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(small_config(tmp_path), tmp_path / "r", 1, events.append)
    finally:
        signal.signal(signal.SIGINT, before)
    counted = [event.record.key for event in events if isinstance(event, TrialEvent)]
    assert len(counted) > 1
    assert sorted(counted) == sorted(RunFolder(tmp_path / "r" / "small").journal.read())


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures_are_kept_and_the_others_go_on(tmp_path, jobs):
    folder = run(small_config(tmp_path, text=FAILING), tmp_path / "r", jobs=jobs)
    every, some = folder.runs()
    assert (every.status, every.metrics, every.info) == ("failed", {}, None)
    assert "RuntimeError: this one always fails" in every.error
    assert every.search.n_failed == 4
    assert some.status == "done"
    assert some.search == SearchInfo("f1_micro", folds=2, n_trials=6, n_failed=2, best=some.search.best)
    assert some.searched["shift"] in (0, 0.25)
    assert "failed" in (folder.path / "tables" / "part-train.md").read_text()


def test_a_label_without_positives_in_training_is_told(tmp_path):
    config = small_config(tmp_path, text=FEW)
    X, Y = small_data()
    Y = Y.copy()
    Y[:60, 1] = False
    write_libsvm(tmp_path / "part-train.svm", X[:60], Y[:60])
    write_libsvm(tmp_path / "part-test.svm", X[60:], Y[60:])
    record = run(config, tmp_path / "r", jobs=1).runs()[0]
    assert "1 of 4 labels have no positive training row in some split" in record.dataset.changes


def test_seeds_depend_on_the_seed_of_the_experiment_and_on_nothing_else_of_it(tmp_path):
    from mlrank.experiment.cell import cells

    config = small_config(tmp_path)
    (data,) = plan(config)

    def trial_points(found):
        return [
            cell.trial(index, fold)
            for cell in cells(found, data)
            for fold in cell.searched_folds
            for index in range(len(cell.grid))
        ]

    points = trial_points(config)
    renamed = config.model_copy(update={"name": "other"})
    again = trial_points(renamed)
    assert points == again
    reseeded = trial_points(config.model_copy(update={"seed": 4}))
    assert not {point.seed for point in points} & {point.seed for point in reseeded}
    assert len({point.key for point in points}) == len(points)
    # Points that differ in the threshold alone share their fit, hence its seed.
    assert len({point.seed for point in points}) == 3 * (3 + 4)


def test_without_a_penalty_rank_hlapsvm_draws_as_rank_svm(tmp_path):
    """Their results then are the same to the last bit, at whatever nu, but each has its own keys."""
    from mlrank.experiment.cell import cells

    methods = """
  Rank-SVM: {{solver: rank_svm, C: [0.1, 1]}}
  Rank-HLapSVM: {{solver: rank_hlapsvm, C: [0.1, 1], lam: [0, 1], nu: [0.5, 2]}}
search"""
    config = small_config(tmp_path, text=CONFIG[: CONFIG.index("\n  Binary")] + methods + CONFIG.split("search")[1])
    (data,) = plan(config)
    plain, penalised = cells(config, data)
    seeds, keys = {}, set()
    for cell in (plain, penalised):
        for index, point in enumerate(cell.grid):
            trial = cell.trial(index, 0)
            seeds.setdefault((point.settings["C"], point.settings.get("lam", 0)), set()).add(trial.seed)
            keys.add(trial.key)
    assert [len(seeds[C, lam]) for C in (0.1, 1) for lam in (0, 1)] == [1, 2, 1, 2]
    assert len(set.union(*seeds.values())) == 6
    assert len(keys) == 2 + 8


def test_embedded_data_need_no_files():
    text = "name: y\ndatasets: [yeast]\nsplit: {kind: official}\nmethods: {A: {solver: rank_svm}}\n"
    (data,) = plan(parse_config(text, "y.yaml"))
    assert data.dataset.Y.shape == (2417, 14)
    assert [len(part) for part in load_dataset("yeast").official] == [data.splits[0].train.size, 917]
