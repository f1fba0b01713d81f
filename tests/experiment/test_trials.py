"""Trials read back with their settings are the ones that were made, and the data are not needed for it."""

import pytest

from mlrank.experiment import run, stored_trials
from mlrank.experiment.events import TrialEvent
from tests.experiment.small import CONFIG, small_config

# Without a penalty (lam = 0) nu has no effect: such points are fitted once. Settings of one value are not searched.
FIXED = (
    CONFIG.replace("lam: [0, 1],", "lam: [0, 1], nu: [0.5, 2],")
    .replace("C: [0.1, 1, 10]", "C: [0.1, 1, 10], tol: 0.01")
    .replace("svr_midpoint, ", "svr_midpoint, epsilon: 0.2, ")
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trials")
    events = []
    config = small_config(folder, split="{kind: kfold, folds: 2, repeats: 1}", text=FIXED)
    found = run(config, folder / "results", notify=events.append)
    for path in folder.glob("*.svm"):
        path.unlink()
    return found, [event for event in events if isinstance(event, TrialEvent)]


def test_every_trial_is_found_with_its_settings(made):
    folder, events = made
    trials = stored_trials(folder)
    fitted = {event.record.key: event.settings for event in events}
    assert {trial.record.key for trial in trials} == set(fitted)
    for trial in trials:
        if trial.method == "Binary-SVM":
            assert {**trial.settings, "tol": 0.01} == fitted[trial.record.key]
    # 2 splits x 3 folds x (3 points + 2 * 2 * 2 * 2 points), of which 2 * 2 are not fitted but have another's value
    assert len(trials) == 2 * 3 * (3 + 16)
    assert len(fitted) == 2 * 3 * (3 + 12)


def test_settings_of_parts_are_named_as_in_a_run(made):
    folder, _ = made
    records = {(record.split, record.method): record for record in folder.runs()}
    for trial in stored_trials(folder):
        record = records[trial.split, trial.method]
        assert set(trial.settings) == set(record.searched)
        assert trial.metric == "f1_micro"


def test_the_chosen_point_has_the_best_mean(made):
    folder, _ = made
    trials = stored_trials(folder)
    for record in folder.runs():
        mine = [t for t in trials if (t.split, t.method) == (record.split, record.method)]
        means = {}
        for trial in mine:
            means.setdefault(tuple(sorted(trial.settings.items())), []).append(trial.record.value)
        means = {point: sum(values) / len(values) for point, values in means.items()}
        assert max(means.values()) == pytest.approx(record.search.best)
        assert means[tuple(sorted(record.searched.items()))] == pytest.approx(record.search.best)
