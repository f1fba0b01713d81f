"""``train --dry-run``: the fits, their estimates, and nothing written."""

import json
import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.search import Chain, Pilot, PilotFits, Point, Task, TaskData, pilots, workers_that_fit
from mlrank.search.estimates import LIBRARY_BYTES, PROCESS_BYTES
from mlrank.search.pilots import PilotFit
from mlrank.solvers import SOLVERS
from mlrank.thresholds import THRESHOLDS
from tests.cli.test_commands import mlrank, write_config  # noqa: F401  a fixture
from tests.experiment.small import Costly, Hopeless, Looks, small_data
from tests.soak.memory import measured

# That of a solver which does not say what it loads.
OWN_PROCESS = PROCESS_BYTES + LIBRARY_BYTES["numba"]


def test_dry_run_lists_every_fit_and_writes_nothing(mlrank, finished, tmp_path):  # noqa: F811
    config = write_config(tmp_path / "c.yaml")
    code, out, _ = mlrank("train", config, "--dry-run", "--json", "--jobs", 1)
    found = json.loads(out)
    assert (code, found["jobs"]) == (0, 1)
    svm, hlap = found["cells"]
    assert (svm["n_fits"], svm["n_left"], hlap["n_fits"]) == (10, 10, 25)
    assert {(fit["fold"], fit["settings"]["C"]) for fit in svm["fits"]} == {
        (f, C) for f in range(3) for C in (0.1, 1, 10)
    }
    assert svm["seconds"] == pytest.approx(9 * svm["search"]["seconds"] + svm["refit"]["seconds"])
    assert not (tmp_path / "results").exists()
    shutil.copytree(finished, tmp_path / "results")
    _, out, _ = mlrank("train", config, "--dry-run", "--jobs", 1)
    assert "0 of 35 fits are left: about 0 ms with 1 worker\n" in out
    assert "finished fits" in out


def test_splits_of_a_method_share_a_row(mlrank, tmp_path):  # noqa: F811
    config = write_config(tmp_path / "c.yaml", split="{kind: kfold, folds: 4}")
    found = json.loads(mlrank("train", config, "--dry-run", "--json", "--jobs", 1)[1])["cells"]
    assert len(found) == 8
    code, out, _ = mlrank("train", config, "--dry-run", "--jobs", 1)
    rows = [line.split() for line in out.splitlines() if " / " in line and "data set" not in line]
    assert code == 0
    assert [row[2:6] for row in rows] == [["Binary-SVM", "4", "40", "40"], ["Rank-HLapSVM", "4", "100", "100"]]
    svm = [cell for cell in found if "Binary" in cell["cell"]]
    assert {cell["of"] for cell in svm} == {f"{rows[0][0]} / Binary-SVM"}
    assert f"{sum(cell['n_fits'] for cell in found)} of 140 fits are left" in out


def chain_of(solver, scale="none", scores="train", calibrate=None, threshold="zero"):
    return Chain(solver, THRESHOLDS[threshold], scores, scale, None, calibrate)


def task_of(chain, n=300, settings=None, **more):
    return Task(chain, (Point(settings or {}, {}, "key", 0),), np.arange(n), np.arange(1), "f1_micro", **more)


def pilot_of(solver, scale="none", scores="train", calibrate=None, threshold="zero", **more):
    return Pilot(task_of(chain_of(solver, scale, scores, calibrate, threshold), **more), TaskData(*small_data(n=300)))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        # Costs n ** 2: 1 s at 100 rows and 4 s at 200 are all growth, so six times 200 rows take 36 times as long.
        ((1.0, 4.0), (144.0, 0.25)),
        # 3.5 s and 5 s: 3 s whatever the rows, and 0.5 s (n / 100) ** 2.
        ((3.5, 5.0), (3.0 + 72.0, 3.0 + 0.125)),
        # A longer fit on fewer rows tells nothing of growth.
        ((3.0, 2.0), (2.0, 2.0)),
        # More growth than the cost says is taken for the cost's: the longer fit counts.
        ((0.1, 4.0), (144.0, 0.25)),
    ],
)
def test_a_pilot_grows_as_the_solver_says_beside_what_does_not_grow(seconds, expected):
    pilot = pilot_of(Costly)
    pilot.fits = PilotFits((PilotFit(100, seconds[0]), PilotFit(200, seconds[1])))
    assert pilot.estimate(1200, trial=True).seconds == pytest.approx(expected[0])
    assert pilot.estimate(50, trial=True).seconds == pytest.approx(expected[1])
    data_bytes = 1200 * (2 * 5 * 8 + 9 * 4)
    assert pilot.memory(1200) == OWN_PROCESS + 1200 * 1000 + data_bytes


@dataclass(frozen=True)
class CountsStored:
    """Costs an operation and a byte for each number of X that is stored."""

    def fit(self, train, prepared=None):
        raise AssertionError("an estimate of memory fits nothing")

    def cost(self, n_samples, n_features, n_labels, density=1.0):
        return (density * n_samples * n_features,) * 2


@pytest.mark.parametrize(("sparse", "stored"), [(True, 20), (False, 50)])
def test_a_solver_that_counts_what_is_stored_is_told_of_sparse_rows(sparse, stored):
    X = np.zeros((300, 50))
    X[:, :20] = 1.0
    pilot = Pilot(
        task_of(chain_of(CountsStored)), TaskData(csr_array(X) if sparse else X, np.ones((300, 4), dtype=bool))
    )
    row = 12 * 20 if sparse else 8 * 50
    assert pilot.work(1000) == 1000 * stored
    assert pilot.memory(1000) == pytest.approx(OWN_PROCESS + 1000 * (stored + 2 * row + 9 * 4))


def test_label_trees_of_large_label_spaces_fit_in_two_workers():
    # As dense rows and weights these would be 240 GB; a fit to them was seen to take .61 GiB in all.
    size, rng = 100_000, np.random.default_rng(0)
    columns, labels = rng.integers(size, size=(2, 1000, 20))
    X = csr_array((np.ones(20_000), columns.ravel(), np.arange(0, 20_001, 20)), shape=(1000, size))
    Y = csr_array((np.ones(5000, dtype=bool), labels[:, :5].ravel(), np.arange(0, 5001, 5)), shape=(1000, size))
    task = task_of(chain_of(SOLVERS["label_tree"]), 1000, {"min_weight": 0.1})
    assert 0.6 * 2**30 < Pilot(task, TaskData(X, Y)).memory(size) < 1.5 * 2**30


# All growth, with the square of the rows: 1 s at 100. Scoring takes 10 ms a row by a model of 200 rows, all growth too.
GROWING = PilotFits((PilotFit(100, 1.0, 0.005), PilotFit(200, 4.0, 0.01)), trial_judging=0.25, run_judging=2.0)


def test_rows_are_scored_and_judged_and_the_training_rows_for_a_cut_that_is_fitted():
    pilot = pilot_of(Costly, threshold="per_label_f1")
    pilot.fits = GROWING
    test, own, judging = 40 * 0.06, 1200 * 0.06, 2.0
    assert pilot.estimate(1200, 40).seconds == pytest.approx(144.0 + own + test + judging)
    assert pilot.estimate(1200, 40, trial=True).seconds == pytest.approx(144.0 + own + test + 0.25)
    pilot.task = replace(pilot.task, metric="lrap")  # of a search that compares scores no fit needs a cut
    assert pilot.estimate(1200, 40, trial=True).seconds == pytest.approx(144.0 + test + 0.25)
    assert pilot.estimate(1200, 40).seconds == pytest.approx(144.0 + own + test + judging)
    given = pilot_of(Costly, scores="heldout")
    given.fits = GROWING
    assert given.estimate(1200, 40).seconds == pytest.approx(144.0 + test + judging)


@pytest.mark.parametrize(("limit", "mean"), [(None, (144.0 + 72.0 + 576.0) / 3), (200.0, (144.0 + 72.0 + 200.0) / 3)])
def test_a_fit_takes_the_mean_of_the_points_of_its_search_within_the_limit(limit, mean):
    pilot = pilot_of(Costly)
    pilot.task = replace(pilot.task, metric="lrap", time_limit=limit)
    pilot.fits = PilotFits((PilotFit(100, 1.0), PilotFit(200, 4.0)), relative=(1.0, 0.5, 4.0))
    assert pilot.estimate(1200, trial=True).seconds == pytest.approx(mean)


@pytest.mark.parametrize("asked", [{"scores": "heldout", "threshold": "per_label_f1"}, {"calibrate": "sigmoid"}])
def test_heldout_scores_take_three_fits_to_two_thirds_of_the_rows(asked):
    pilot = pilot_of(Costly, **asked)
    pilot.fits = GROWING
    heldout = 3 * 64.0 + 3 * 400 * 0.04
    assert pilot.estimate(1200).seconds == pytest.approx(144.0 + heldout + 2.0)
    assert pilot.estimate(1200, trial=True).seconds == pytest.approx(144.0 + heldout + 0.25)
    # A search that compares scores needs no cut, and so no held-out scores for it; calibrated scores do need them.
    pilot.task = replace(pilot.task, metric="lrap")
    uncut = 144.0 if "scores" in asked else 144.0 + heldout
    assert pilot.estimate(1200, trial=True).seconds == pytest.approx(uncut + 0.25)
    assert pilot.estimate(1200).seconds == pytest.approx(144.0 + heldout + 2.0)
    more = pilot.memory(1200) - pilot_of(Costly).memory(1200)
    assert more == ("calibrate" in asked) * LIBRARY_BYTES["scikit-learn"]


def test_pilots_fit_scaled_rows_and_their_share_of_unlabeled_ones(monkeypatch):
    seen = []

    def fit(self, train, prepared=None):
        unlabeled = None if train.X_unlabeled is None else len(train.X_unlabeled)
        seen.append((train.n_samples, unlabeled, float(np.abs(train.X.mean(axis=0)).max())))
        return plain(self, train, prepared)

    plain = Looks.fit
    monkeypatch.setattr(Looks, "fit", fit)
    pilot = pilot_of(Looks, "standard", unlabeled=np.arange(100, 300))
    assert [one.rows for one in pilot.fits.sizes] == [150, 300]
    assert [sizes for *sizes, _ in seen] == [[150, 100]] * 2 + [[300, 200]] * 2
    assert max(mean for *_, mean in seen) < 1e-12
    assert pilot.memory(300) == OWN_PROCESS + 2 * 500 * (2 * 5 * 8 + 9 * 4)


class Clock:
    """A clock on which time passes only where it is spent."""

    def __init__(self):
        self.now = 0.0

    def process_time(self):
        return self.now

    def taking(self, seconds, function):
        """Return a function that takes so many seconds."""

        def spend(*given):
            self.now += seconds
            return function(*given)

        return spend


CLOCK = Clock()


@dataclass(frozen=True)
class Slow(SOLVERS["binary_svm"]):
    """As Binary-SVM, but takes `C` seconds, its model takes two, and with 3 it fails."""

    def fit(self, train, prepared=None):
        if self.C == 3:
            raise RuntimeError("no way")
        return SlowModel(CLOCK.taking(self.C, super().fit)(train, prepared))


class SlowModel:
    def __init__(self, model):
        self.model, self.info = model, model.info

    def decision_function(self, X):
        return CLOCK.taking(2.0, self.model.decision_function)(X)


def test_pilots_time_points_of_the_search_scoring_and_judging(monkeypatch):
    monkeypatch.setattr(pilots, "time", CLOCK)
    for name, seconds in (("search_value", 0.25), ("judged", 5.0)):
        monkeypatch.setattr(pilots, name, CLOCK.taking(seconds, getattr(pilots, name)))
    X, Y = small_data(n=300)
    task = replace(task_of(chain_of(Slow), settings={"C": 1.0}), test=np.arange(300))
    others = [Point({"C": value}, {}, "key", 0) for value in (4.0, 3.0)]  # the last one fails, and is left out
    found = PilotFits.of(task, TaskData(X, Y), others)
    assert found == PilotFits((PilotFit(150, 1.0, 0.02), PilotFit(300, 1.0, 0.02)), (1.0, 4.0), 0.25, 5.0)


def test_a_pilot_that_fails_gives_no_time():
    assert pilot_of(Hopeless).estimate(1000).seconds is None


def test_workers_are_as_many_as_fit_into_memory():
    assert workers_that_fit(8, 1e9, 5e9) == 4  # 80 % of 5 GB, 1 GB each
    assert workers_that_fit(2, 1e9, 5e9) == 2
    assert workers_that_fit(64, 0.0, 10 * PROCESS_BYTES) == 8  # a process takes what it takes
    assert workers_that_fit(8, 1e12, 5e9) == 1
    assert workers_that_fit(8, 1e12, None) == 8


@pytest.mark.parametrize("solver", ["plst", "rank_svm"])
def test_the_memory_is_that_of_the_whole_process(solver):
    said, used = measured(solver, 600, 40, 8)  # `make soak` has all solvers, at two sizes
    assert used / 1.5 < said < used * 1.5
