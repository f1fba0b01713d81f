"""What a run tells while it goes, on a terminal and elsewhere, and what it logs."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.progress import Progress

from mlrank.cli.progress import _Reporter
from mlrank.cli.timeleft import TimeLeft
from mlrank.experiment.events import BestEvent, MissingFits, PlanEvent, RunEvent, RunName, TrialEvent
from mlrank.records import TrialRecord
from mlrank.records.run import TimeInfo
from tests.cli.test_commands import mlrank, write_config  # noqa: F401  a fixture
from tests.stats.records import record


class Clock:
    """A clock that shows what it is set to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def in_words(seconds):
    return f"about 0:{seconds // 60:02.0f}:{round(seconds) % 60:02} left"


def reporter(terminal, jobs=2):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None)
    return _Reporter(Progress(console=console, disable=True), console, jobs, Clock()), console.file


def finished(run, error=None):
    return RunEvent(
        run,
        record(
            run.method,
            run.dataset,
            run.split,
            None if error else 0.5,
            error=error,
            time={"fit": None, "threshold": None, "predict": None},
        ),
    )


def trial(run, seconds, error=None):
    return TrialEvent(run, TrialRecord("k", error=error, time=TimeInfo(fit=seconds, threshold=0.0)), {})


# Names may hold what stands between them in a line.
A = RunName("d / e", "r0", "A / b")
AGAIN, B = A._replace(split="r1"), A._replace(method="B")
MISSING = (MissingFits(A, 6), MissingFits(AGAIN, 4), MissingFits(B, 6))
PLAN = PlanEvent(20, 4, MISSING, jobs=2, jobs_requested=8)
BEST = BestEvent(A, "f1_micro", 0.5, {"C": 8})


def test_the_time_left_is_that_of_the_work_done_for_the_work_missing():
    found, out = reporter(terminal=False)
    found.notify(PLAN)
    assert str(found.left) == ""
    found.clock.now = 20.0
    found.notify(trial(A, 10.0))
    # One fit of 10 s was done after 20, 10 of them to load code; missing are 9 of its method, and 6 of one that is not
    # known yet, taken for such. The other worker has been at one for 20 s, so 2 s are left of it: (14 * 10 + 2) / 2.
    assert str(found.left) == "about 0:01:11 left"
    found.notify(trial(A, 30.0, error="it failed"))
    found.notify(trial(B, 100.0))
    found.clock.now = 23.0
    # 140 s of fits and 10 s of loading seem to have been in 40 s of two workers; missing are 8 of 20 s, half of them
    # on another split, and 5 of 100 s; two run for 3 s. It counts 1 - exp(-1) after 3 s.
    now = ((8 * 20 + 5 * 100) * 40 / 150 - 2 * 3) / 2
    assert str(found.left) == in_words(math.exp(-1) * (71 - 3) + (1 - math.exp(-1)) * now)
    assert (found.done, found.failed) == (7, 1)
    assert out.getvalue().startswith(
        "20 fits, 4 of them already done\n2 of 8 workers: more would not fit into memory\n"
    )


def test_no_time_left_is_told_in_the_first_seconds():
    clock = Clock()
    left = TimeLeft(1, clock)
    left.expect("A", 100)
    clock.now = 1.9
    left.count("A", 1.9)
    assert str(left) == ""
    clock.now = 2.1
    assert str(left) == "about 0:03:08 left"  # 99 of 1.9 s


def test_fits_for_which_workers_load_code_do_not_count_as_they_are():
    clock = Clock()
    left = TimeLeft(2, clock)
    left.expect("A", 108)
    left.expect("B", 8)
    for clock.now in (59.0, 59.0, 60.0, 60.0, 61.0, 61.0):
        left.count("A", 1.0)  # two workers loaded code for 58 s
    # 102 of A are missing, and 8 of B, which take as long.
    assert str(left) == "about 0:00:55 left"
    for clock.now in (70.0, 70.0, 71.0, 71.0):
        left.count("A", 9.0 if clock.now == 70.0 else 1.0)  # what a fit measures may have a part of it, too
    assert left._expected(clock.now) == (98 + 8) / 2
    for clock.now in (72.5, 72.5):
        left.count("A", 1.0)
    # 0.5 s came on top of one of the last four fits of each worker, and as much comes on top of what is missing.
    assert left.on_top["A"][-4:] == [0.0, 0.0, 0.5, 0.5]


def test_kinds_that_are_not_known_yet_take_what_the_cost_model_says():
    clock = Clock()
    left = TimeLeft(1, clock)
    left.expect(("d", "A"), 4, 10.0, "A")
    left.expect(("e", "A"), 5, 200.0, "A")  # of 20 times the work
    left.expect(("d", "B"), 6, 5.0, "B")
    for clock.now in (3.0, 6.0):
        left.count(("d", "A"), 3.0)
    # 0.3 s an operation: 2 fits of 3 s and 5 of 60 s of A, and 6 of 1.5 s of B.
    assert str(left) == "about 0:05:15 left"
    left.count(("d", "B"), 6.0)
    clock.now = 9.0
    # 12 s of fits in 6 s by the clock: A is as before, B known, and the worker has been at one of 60 s for 3 s.
    now = (6 + 300 + 5 * 6) / 2 - 3
    assert str(left) == in_words(math.exp(-1) * (315 - 3) + (1 - math.exp(-1)) * now)


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_time_left_is_within_three_times_of_the_truth_after_the_first_tenth(seed, jobs):
    # Three methods on two data sets, of work over three orders of magnitude, in the order of a run: the cost model is
    # wrong by up to 1.6 times for a method, fits of a kind differ by a third, workers load code for 100 s a method,
    # and each fit has a fifth of a second on top.
    rng = np.random.default_rng(seed)
    clock = Clock()
    left = TimeLeft(jobs, clock)
    queue = []
    for rows in (1.0, 30.0):
        search, last = [], []
        for method, work in zip("ABC", rng.permutation([0.05, 0.5, 5.0]), strict=True):
            wrong = 1.6 ** rng.uniform(-1, 1)
            for kind, fits, share, into in (("search", 40, 0.7, search), ("last", 1, 1.0, last)):
                left.expect((rows, method, kind), fits, 1e6 * rows * work * share, method)
                seconds = rows * work * share * wrong * np.exp(rng.normal(0, 0.3, fits))
                into += [((rows, method, kind), second) for second in seconds]
        queue += [*search, *last]
    free, ends, loaded = [0.0] * jobs, [], set()
    for kind, seconds in queue:
        worker = int(np.argmin(free))
        free[worker] += seconds + 0.2 + 100.0 * ((worker, kind[1]) not in loaded)
        loaded.add((worker, kind[1]))
        ends.append((free[worker], kind, seconds))
    total, errors = max(free), []
    for end, kind, seconds in sorted(ends):
        clock.now = end
        left.count(kind, seconds)
        text = str(left)
        if 0.1 * total <= end < total:
            hours, minutes, rest = map(int, text.removeprefix("about ").removesuffix(" left").split(":"))
            forecast, truth = 3600 * hours + 60 * minutes + rest, total - end
            # Of the last twentieth nobody knows how far the fits that are running have come.
            errors.append(max(forecast, total / 20) / max(truth, total / 20))
    assert len(errors) > 10
    assert 1 / 3 < min(errors)
    assert max(errors) < 3


def test_a_method_that_is_not_begun_takes_what_is_usual_for_its_operations():
    # 1 and 100 seconds an operation: 10 in the geometric mean, whatever the number of fits.
    clock = Clock()
    left = TimeLeft(1, clock)
    for method, fits, work in (("A", 8, 1.0), ("B", 2, 1.0), ("C", 3, 5.0)):
        left.expect(method, fits, work, method)
    for method, fits, seconds in (("A", 8, 1.0), ("B", 2, 100.0)):
        for _ in range(fits):
            clock.now += seconds
            left.count(method, seconds)
    assert str(left) == in_words(3 * 5 * 10)


def test_a_new_forecast_moves_the_time_left_by_the_seconds_since_the_last():
    clock = Clock()
    left = TimeLeft(1, clock)
    left.expect("A", 11)
    clock.now = 10.0
    left.count("A", 10.0)
    assert str(left) == "about 0:01:40 left"
    clock.now = 10.5
    assert str(left) == "about 0:01:40 left"
    # Nine fits more at once: a forecast of 1 s counts 1 - exp(-3 / 3) after 3 s, and the old one is 97 s by then.
    for _ in range(9):
        left.count("A", 0.05)
    clock.now = 13.0
    assert str(left) == f"about 0:00:{97 * math.exp(-1) + 0.25 * (1 - math.exp(-1)):.0f} left"
    clock.now = 1000.0
    assert str(left) == "about 0:01:39 left"  # a fit of 1 s has run for 990
    left.count("A", 1.0)
    assert str(left) == ""


def test_settings_without_effect_are_told():
    found, out = reporter(terminal=False)
    found.notify(replace(PLAN, jobs_requested=2, idle={"A": ("gamma",), "B": ("degree", "coef0")}))
    assert out.getvalue().splitlines()[1:] == [
        "A: gamma has no effect on its fits",
        "B: degree, coef0 have no effect on its fits",
    ]


def test_one_fit_is_not_several():
    found, out = reporter(terminal=False)
    found.notify(PlanEvent(1, 0))
    assert out.getvalue() == "1 fit\n"


def test_an_interrupt_before_the_plan_counts_no_fits(capsys):
    found, _ = reporter(terminal=False)
    found.report_interrupt()
    found.notify(PLAN)
    found.report_interrupt()
    assert capsys.readouterr().err == (
        "mlrank: interrupted before the first fit, the same command goes on from there\n"
        "mlrank: interrupted; 4 of 20 fits are done and kept, the same command goes on from there\n"
    )


def test_without_a_terminal_there_is_a_line_at_most_every_ten_seconds_and_one_at_the_end():
    found, out = reporter(terminal=False)
    found.notify(replace(PLAN, jobs_requested=2))
    for number in range(15):
        found.clock.now = 4.0 * (number + 1)
        found.notify(trial(A, 1.0) if number % 2 else finished(AGAIN))
        found.notify(BEST)
    found.clock.now += 1.0
    found.notify(finished(B))
    lines = out.getvalue().splitlines()
    told = [line.split(" fits")[0] for line in lines]
    assert told == ["20", "7/20", "10/20", "13/20", "16/20", "19/20", "20/20"]
    assert lines[1].endswith(" left: d / e / r1 / A / b")
    assert lines[-1] == "20/20 fits"


def test_without_a_terminal_every_failure_is_told_at_once_but_not_again():
    found, out = reporter(terminal=False)
    found.notify(replace(PLAN, jobs_requested=2))
    for _ in range(2):
        found.notify(trial(A, 1.0, error="Traceback:\nValueError: it failed"))
    found.notify(trial(B, 1.0, error="ValueError: it failed"))
    found.notify(finished(A, error="ValueError: another"))
    found.clock.now = 11.0
    found.notify(finished(B))
    lines = out.getvalue().splitlines()[1:]
    assert lines[:3] == [
        "failed: d / e / r0 / A / b: ValueError: it failed",
        "failed: d / e / r0 / B: ValueError: it failed",
        "failed: d / e / r0 / A / b: ValueError: another",
    ]
    assert lines[3].startswith("9/20 fits, 4 failed, about 0:")
    assert len(lines) == 4


def test_runs_tell_the_time_left_where_nothing_is_searched():
    found, out = reporter(terminal=False, jobs=1)
    found.notify(PlanEvent(2, 0, (MissingFits(A, 1), MissingFits(AGAIN, 1))))
    time = {"search": 0.0, "fit": 5.0, "threshold": 1.0, "predict": 2.0, "peak_memory": 1 << 30, "machine": "m"}
    for run in (A, AGAIN):
        found.clock.now += 12.0
        found.notify(RunEvent(run, record(run.method, run.dataset, run.split, 0.5, time=time)))
    assert found.left.seconds == {("d / e", "A / b", True): [8.0, 8.0]}
    assert out.getvalue().splitlines() == ["2 fits", "1/2 fits, about 0:00:08 left: d / e / r0 / A / b", "2/2 fits"]


def test_a_terminal_shows_the_best_so_far():
    found, out = reporter(terminal=True)
    found.notify(PLAN)
    found.notify(BEST)
    assert "d / e / r0 / A / b: best so far f1_micro 0.5000 with C=8" in out.getvalue()


@pytest.mark.parametrize(("level", "kinds"), [("debug", {"plan", "trial", "best", "run"}), ("error", set())])
def test_the_log_has_what_the_level_says(mlrank, tmp_path, level, kinds):  # noqa: F811
    mlrank("train", write_config(tmp_path / "c.yaml"), "--jobs", 1, "--quiet", "--log-level", level)
    path = tmp_path / "results/small/log.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert {event["kind"] for event in events} == kinds
    code, _, err = mlrank("train", "c.yaml", "--log-level", "debg")
    assert (code, err.startswith("mlrank: unknown log level 'debg'. Did you mean 'debug'?")) == (1, True)
