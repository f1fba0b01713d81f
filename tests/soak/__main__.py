"""What results survive: thousands of fits, kills, stops, and disks, clocks and folders that change under a run.

Every disturbed run must end with the bytes of one that was left alone, or report what is wrong in one line and end so
when it is started again. ``python -m tests.soak SEED`` prints what came of each and fails if one did neither.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from mlrank.config import load_config, parse_config
from mlrank.experiment import run
from mlrank.experiment.events import TrialEvent
from mlrank.records import RunFolder
from tests.experiment.kills import ROOT, journal_keys, slow_config, start
from tests.experiment.small import small_data, worker_pids, write_libsvm
from tests.experiment.test_run import contents

FITS = 3000
MANY = """
name: many
datasets: [{{train: {train}, test: {test}}}]
split: {{kind: official}}
methods:
  Rank-SVM: {{solver: rank_svm, C: {values}, threshold: svr_midpoint}}
  Binary-SVM: {{solver: binary_svm, C: {values}}}
  PLST: {{solver: plst, lam: {values}}}
  kNN: {{solver: bknn, width: {values}}}
search: {{folds: 5}}
"""
# What memory may grow by between a third of a method's fits and the last: allocators keep some pages.
GROWTH_MB = 5.0


class Soak:
    """A folder with an experiment, what it gives when it is left alone, and what came of each disturbance."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, np.random.default_rng(seed)
        self.config = slow_config(folder)
        os.chdir(folder)
        self.whole = contents(run(load_config(self.config), folder / "whole"))
        self.count, self.failures = 0, 0

    def results(self) -> Path:
        """Return a results folder of its own for the next disturbance."""
        self.count += 1
        return self.folder / f"r{self.count}"

    def begin(self, results, *words):
        """Start a run and wait for its first trials."""
        process = start(self.config, results, *words)
        deadline = time.monotonic() + 120
        while len(journal_keys(results)) < 3 and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        time.sleep(self.rng.uniform(0, 1.5))
        return process

    def judge(self, what, results, *processes):
        """Tell how runs ended; those that did not end well must have said so in one line, and a new start mends it."""
        lines = []
        for process in processes:
            _, err = process.communicate(timeout=300)
            if process.returncode not in (0, -signal.SIGKILL):
                lines.append(err.strip())
        words = ("--retry-failed",) if any("failed" in line for line in lines) else ()
        again = start(self.config, results, "--jobs", "2", *words)
        _, err = again.communicate(timeout=300)
        same = again.returncode == 0 and contents(RunFolder(results / "small")) == self.whole
        left = [str(path) for path in results.rglob("*.part")] + [str(path) for path in results.rglob("claims")]
        good = same and not left and all(line.count("\n") == 0 and line for line in lines)
        said = "; ".join(line.replace(str(self.folder), "") for line in lines)
        self.report(what, good, f"reported: {said}" if lines else "same bytes", err, left)

    def report(self, what, good, outcome, *details):
        """Print a line for a disturbance."""
        self.failures += not good
        print(f"{what}: {outcome if good else 'LOST'}", *(() if good else (outcome, *details)), flush=True)


def fits(soak: Soak) -> None:
    """Memory and file handles do not grow over thousands of fits in one process."""
    X, Y = small_data()
    train, test = soak.folder / "many-train.svm", soak.folder / "many-test.svm"
    write_libsvm(train, X[:60], Y[:60])
    write_libsvm(test, X[60:], Y[60:])
    values = [round(0.01 * 1.05**i, 6) for i in range(FITS // 20)]
    seen = defaultdict(list)

    def look(event):
        if isinstance(event, TrialEvent):
            status = Path("/proc/self/status").read_text()
            size = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1e3
            seen[event.run.method].append((size, len(os.listdir("/proc/self/fd"))))

    run(parse_config(MANY.format(train=train, test=test, values=values), "many.yaml"), soak.folder / "many", 1, look)
    for method, sizes in seen.items():  # what a method loads counts once, before its first third is made
        (first, handles), (last, handles_then) = sizes[len(sizes) // 3], sizes[-1]
        outcome = f"{first:.0f} MB and {handles} handles after a third, {last:.0f} MB and {handles_then} after all"
        good = last - first < GROWTH_MB and handles_then == handles
        soak.report(f"{len(sizes)} fits of {method} in one process", good, outcome)


def kills(soak: Soak) -> None:
    """The process, one of two processes, and workers are killed."""
    for jobs, times in (("1", 10), ("2", 10)):
        for number in range(times):
            results = soak.results()
            process = soak.begin(results, "--jobs", jobs)
            process.kill()
            soak.judge(f"kill {number + 1} of a run with {jobs} worker(s)", results, process)
    for number in range(8):
        results = soak.results()
        other, process = start(soak.config, results, "--jobs", "1"), soak.begin(results, "--jobs", "2")
        process.kill()
        soak.judge(f"kill {number + 1} of one of two processes", results, process, other)
    for times in (1, 1, 1, 2, 2, 2):
        results = soak.results()
        process = soak.begin(results, "--jobs", "2")
        for _ in range(times):
            for pid in worker_pids(process.pid)[:1]:
                os.kill(pid, signal.SIGKILL)
            time.sleep(soak.rng.uniform(0.5, 3.0))
        soak.judge(f"a worker killed {times} time(s)", results, process)


def dask(soak: Soak) -> None:
    """A worker of a cluster is killed."""
    import distributed

    for number in range(3):
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster:
            with distributed.Client(cluster, set_as_default=False) as client:
                pids = list(client.run(os.getpid).values())
            results = soak.results()
            process = soak.begin(results, "--backend", "dask", "--scheduler", cluster.scheduler_address)
            os.kill(pids[number % 2], signal.SIGKILL)
            soak.judge(f"kill {number + 1} of a Dask worker", results, process)


def stops(soak: Soak) -> None:
    """A process is stopped, for a while and for so long that it counts as dead, and goes on."""
    for seconds in (3, 75):
        results = soak.results()
        other, process = start(soak.config, results, "--jobs", "1"), soak.begin(results, "--jobs", "1")
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)
        soak.judge(f"one of two processes stopped for {seconds} s", results, process, other)


def disks(soak: Soak) -> None:
    """The disk is full or read-only, the journal is garbled, the folder is moved, and clocks are set."""
    results = soak.results()
    command = f"ulimit -f 8; exec {sys.executable} -m mlrank train c.yaml --results {results} --jobs 1 --quiet"
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(["bash", "-c", f"trap '' XFSZ; {command}"], env=environment, **piped)
    soak.judge("a full disk", results, process)

    process = start(soak.config, Path("/proc/none"), "--jobs", "1")
    _, err = process.communicate()
    soak.report("a read-only disk", process.returncode == 1 and err.count("\n") == 1, f"reported: {err.strip()}")

    results = soak.results()
    process = soak.begin(results, "--jobs", "1")
    process.kill()
    process.communicate()
    journal = results / "small" / "trials.jsonl"
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([lines[0], b"{garbled", *lines[2:]]))
    _, err = start(soak.config, results, "--jobs", "1").communicate()
    soak.report("a garbled journal", err.count("\n") == 1 and ":2: " in err, f"reported: {err.strip()}")
    journal.write_bytes(b"\n".join([lines[0], *lines[2:-1]]) + b"\n" + lines[1][:20])
    soak.judge("a journal with a torn line", results)

    results, away = soak.results(), soak.folder / "away"
    process = soak.begin(results, "--jobs", "1")
    (results / "small").rename(away)
    process.wait()
    shutil.rmtree(results / "small", ignore_errors=True)
    away.rename(results / "small")
    soak.judge("a folder moved away and back", results, process)

    for hours in (-24, 24):
        results = soak.results()
        other, process = start(soak.config, results, "--jobs", "1"), soak.begin(results, "--jobs", "1")
        for owner in (results / "small" / "claims").glob("owner-*"):
            stamp = time.time() + 3600 * hours
            os.utime(owner, (stamp, stamp))
        soak.judge(f"file clocks set {hours:+} hours", results, process, other)


def versions(soak: Soak) -> None:
    """Two versions share a folder, and one of another format comes."""
    results = soak.results()
    newer = f"import sys, mlrank; mlrank.__version__ = '99'; sys.argv = {['mlrank', 'train', 'c.yaml', '--quiet']}"
    newer += f" + ['--jobs', '1', '--results', {str(results)!r}]; from mlrank.cli import main; main()"
    process = soak.begin(results, "--jobs", "1")
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", newer], env=os.environ | {"PYTHONPATH": str(ROOT)}, **piped)
    soak.judge("two versions on one folder", results, process, other)
    mark = results / "small" / "format.json"
    mark.write_text(json.dumps({"format": 99}))
    _, err = start(soak.config, results, "--jobs", "1").communicate()
    soak.report("a newer format", err.count("\n") == 1 and "a newer version" in err, f"reported: {err.strip()}")


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time())
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), seed)
        for part in (fits, kills, dask, stops, disks, versions):
            part(soak)
        os.chdir(ROOT)
    print(f"{soak.failures} disturbances lost anything")
    raise SystemExit(1 if soak.failures else 0)
