"""Runs in processes of their own that are killed, and what must be true afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.experiment.small import CONFIG, small_data, write_libsvm

ROOT = Path(__file__).parents[2]
SHIFTS = ", ".join(str(3 * i) for i in range(6))
SLOW = CONFIG.replace(
    "{{solver: binary_svm, C: [0.1, 1, 10]}}",
    f"{{{{solver: 'tests.experiment.small:Slow', shift: [{SHIFTS}], threshold: {{{{kind: top_k, k: [1, 2]}}}}}}}}",
)


def slow_config(folder):
    X, Y = small_data()
    write_libsvm(folder / "train.svm", X[:60], Y[:60])
    write_libsvm(folder / "test.svm", X[60:], Y[60:])
    path = folder / "c.yaml"
    path.write_text(SLOW.format(train="train.svm", test="test.svm", split="{kind: official}", scale="none"))
    return path


def start(config, results, *words):
    command = [sys.executable, "-m", "mlrank", "train", str(config), "--results", str(results), "--quiet", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=config.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")


def journal_keys(results):
    path = results / "small" / "trials.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line)["key"] for line in lines]


def kill_at_random(config, results, rng, times, most_jobs=2):
    """Start a run and kill it, `times` times, then let it finish; no finished trial is made again."""
    caught = 0
    for _ in range(times):
        process = start(config, results, "--jobs", str(rng.integers(1, most_jobs + 1)))
        folder = results / "small"
        deadline = time.monotonic() + 30
        while not (folder / "claims").exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 2.0))
        process.send_signal(signal.SIGKILL)
        caught += process.wait() == -signal.SIGKILL
        process.communicate()
    finish(start(config, results, "--jobs", str(most_jobs)))
    keys = journal_keys(results)
    assert len(keys) == len(set(keys)), "a finished trial was made again"
    assert not list(results.rglob("*.part"))
    assert not (results / "small" / "claims").exists()
    return caught
