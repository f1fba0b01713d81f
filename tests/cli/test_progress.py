"""What a run tells while it goes, on a terminal and elsewhere, and what it logs."""

import io
import json

import pytest
from rich.console import Console
from rich.progress import Progress

from mlrank.cli.progress import _Reporter
from tests.cli.test_commands import mlrank, write_config  # noqa: F401  a fixture


def reporter(terminal, jobs=2):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=200, color_system=None)
    return _Reporter(Progress(console=console, disable=True), console, jobs), console.file


def trial(named, seconds, error=None):
    return {"kind": "trial", **named, "record": {"error": error, "time": {"fit": seconds, "threshold": 0.0}}}


# Names may hold what stands between them in a line.
A = {"dataset": "d / e", "split": "r0", "method": "A / b"}
AGAIN, B = A | {"split": "r1"}, A | {"method": "B"}
MISSING = [A | {"fits": 6}, AGAIN | {"fits": 4}, B | {"fits": 6}]
PLAN = {"kind": "plan", "total": 20, "done": 4, "missing": MISSING, "jobs": 2, "jobs_wanted": 8}
BEST = {"kind": "best", **A, "metric": "f1_micro", "value": 0.5, "settings": {"C": 8}}


def test_the_time_left_comes_from_the_fits_of_each_method():
    found, out = reporter(terminal=False)
    found.notify(PLAN)
    assert found._time_left() == ""
    found.notify(trial(A, 10.0))
    # 9 fits of a method of which one took 10 s, and 6 of one that is not known yet, taken for such.
    assert found._time_left() == "about 0:01:15 left"
    found.notify(trial(A, 30.0, error="it failed"))
    found.notify(trial(B, 100.0))
    # 8 fits of 20 s, half of them on another split, and 5 of 100 s on 2 workers.
    assert found._time_left() == "about 0:05:30 left"
    assert (found.done, found.failed) == (7, 1)
    assert out.getvalue() == "20 fits, 4 of them already done\n2 of 8 workers: more would not fit into memory\n"


def test_settings_without_effect_are_told():
    found, out = reporter(terminal=False)
    found.notify({**PLAN, "jobs_wanted": 2, "idle": {"A": ["gamma"], "B": ["degree", "coef0"]}})
    assert out.getvalue().splitlines()[1:] == [
        "A: gamma has no effect on its fits",
        "B: degree, coef0 have no effect on its fits",
    ]


def test_one_fit_is_not_several():
    found, out = reporter(terminal=False)
    found.notify({"kind": "plan", "total": 1, "done": 0, "missing": {}})
    assert out.getvalue() == "1 fit\n"


def test_an_interrupt_before_the_plan_counts_no_fits(capsys):
    found, _ = reporter(terminal=False)
    found.tell_interrupted()
    found.notify(PLAN)
    found.tell_interrupted()
    assert capsys.readouterr().err == (
        "mlrank: interrupted before the first fit, the same command goes on from there\n"
        "mlrank: interrupted; 4 of 20 fits are done and kept, the same command goes on from there\n"
    )


def test_without_a_terminal_a_line_comes_now_and_then(monkeypatch):
    found, out = reporter(terminal=False)
    found.notify(PLAN)
    monkeypatch.setattr("mlrank.cli.progress.LINE_SECONDS", -1.0)
    found.notify(trial(A, 1.0, error="it failed"))
    found.notify(BEST)
    found.notify({"kind": "run", **A, "record": {"error": None, "status": "done"}})
    lines = out.getvalue().splitlines()[2:]
    assert lines == ["5/20 fits, 1 failed, about 0:00:08 left", "6/20 done: d / e / r0 / A / b, about 0:00:07 left"]


def test_runs_tell_the_time_left_where_nothing_is_searched():
    found, out = reporter(terminal=False, jobs=1)
    found.notify({"kind": "plan", "total": 2, "done": 0, "missing": [A | {"fits": 1}, AGAIN | {"fits": 1}]})
    time = {"search": 0.0, "fit": 5.0, "threshold": 1.0, "predict": 2.0, "peak_memory": 1 << 30, "machine": "m"}
    for named in (A, AGAIN):
        found.notify({"kind": "run", **named, "record": {"error": None, "status": "done", "time": time}})
    assert out.getvalue().splitlines() == [
        "2 fits",
        "1/2 done: d / e / r0 / A / b, about 0:00:08 left",
        "2/2 done: d / e / r1 / A / b",
    ]


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
