"""Methods that differ in the threshold alone share the trials of a search that compares scores; so does no other."""

import pytest

from mlrank.experiment import run, stored_trials
from mlrank.experiment.events import BestEvent, PlanEvent, RunEvent, TrialEvent
from mlrank.experiment.forecast import forecast
from mlrank.records import RunFolder
from tests.experiment.small import small_config

TEXT = """
name: small
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  As it is: {{solver: binary_svm, C: [0.1, 1, 10]}}
  Tuned:    {{solver: binary_svm, C: [0.1, 1, 10], threshold: {{kind: per_label_f1, scores: heldout}}}}
search: {{folds: 3, metric: lrap}}
seed: 3
"""
KFOLD = "{kind: kfold, folds: 2}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    config, events = small_config(folder, split=KFOLD, text=TEXT), []
    forecasted = forecast(config, folder / "results")
    return config, run(config, folder / "results", notify=events.append), events, forecasted


def test_trials_are_made_once_and_count_once(made):
    _, folder, events, forecasted = made
    assert sum(isinstance(event, TrialEvent) for event in events) == len(folder.journal.read()) == 2 * 3 * 3
    (plan,) = (event for event in events if isinstance(event, PlanEvent))
    assert plan.total == sum(cell.n_fits for cell in forecasted) == 2 * 3 * 3 + 2 * 2
    assert sum(entry.fits for entry in plan.missing) == sum(cell.n_left for cell in forecasted) == plan.total


def test_what_is_announced_is_made_where_runs_are_stored_without_their_trials(made, tmp_path):
    config, folder, _, _ = made
    apart, events = RunFolder.create(tmp_path, config.name), []
    for record in folder.runs():
        if record.method == "As it is":
            apart.write_run(record, {})
    run(config, tmp_path, notify=events.append)
    (plan,) = (event for event in events if isinstance(event, PlanEvent))
    assert plan.total - plan.done == len(events) - 1 - sum(isinstance(event, BestEvent) for event in events)
    assert plan.total - plan.done == 2 * 3 * 3 + 2


def test_both_choose_the_same_and_cut_differently(made):
    _, folder, _, _ = made
    runs = {(record.split, record.method): record for record in folder.runs()}
    trials = stored_trials(folder)
    for split in ("r0f0", "r0f1"):
        plain, tuned = runs[split, "As it is"], runs[split, "Tuned"]
        assert plain.searched == tuned.searched
        assert plain.value("lrap") == tuned.value("lrap")
        assert plain.value("f1_macro") != tuned.value("f1_macro")
        for method in ("As it is", "Tuned"):
            assert len([t for t in trials if (t.split, t.method) == (split, method)]) == 3 * 3


def test_a_search_by_label_sets_has_trials_of_its_own_for_each_threshold(tmp_path):
    config = small_config(tmp_path, text=TEXT.replace("lrap", "f1_micro"))
    assert sum(cell.n_fits for cell in forecast(config, tmp_path / "results")) == 2 * (3 * 3 + 1)


def test_methods_are_finished_one_after_the_other_where_that_is_asked_for(tmp_path):
    from mlrank.experiment import run_experiment

    config, events = small_config(tmp_path, text=TEXT), []
    run_experiment(config, tmp_path / "results", notify=events.append, by_method=True)
    order = [
        (event.run.method, isinstance(event, RunEvent)) for event in events if isinstance(event, TrialEvent | RunEvent)
    ]
    assert order == [("As it is", False)] * 9 + [("As it is", True), ("Tuned", True)]


def test_a_data_set_may_have_a_subset_of_its_own(tmp_path):
    from mlrank.experiment import plan

    text = TEXT.replace("test: {test}}}]", "test: {test}, subset: {{rows: 40, top_labels: 2}}}}]").replace(
        "seed: 3", "seed: 3\nsubset: {{rows: 30}}"
    )
    (data,) = plan(small_config(tmp_path, split=KFOLD, text=text))
    assert data.dataset.Y.shape == (40, 2)
    assert any("kept the 2 most frequent" in change for change in data.changes)
