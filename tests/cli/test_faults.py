"""What the system refuses, and signals: one line, and nothing half written."""

import builtins
import io
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from mlrank import cli
from mlrank.datasets import load_dataset
from mlrank.datasets.convert import convert
from mlrank.datasets.formats import FORMATS
from mlrank.errors import UserError
from tests.experiment.kills import ROOT, slow_config, start


@pytest.fixture
def mlrank(monkeypatch, capsys, tmp_path):
    """Run the command line and return (exit code, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["mlrank", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code or 0, capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PermissionError(13, "Permission denied", "x.svm"), "mlrank: x.svm: permission denied"),
        (OSError(28, "No space left on device"), "mlrank: cannot write the output: no space left on device"),
        (MemoryError("Unable to allocate 72.8 TiB"), "mlrank: not enough memory: Unable to allocate 72.8 TiB"),
        (MemoryError(), "mlrank: not enough memory: none is left"),
        (RuntimeError("cannot cache function 'f': no locator available"), "mlrank: compiled code can be stored"),
    ],
)
def test_what_no_module_tells_is_told_in_one_line(mlrank, monkeypatch, error, line):
    def fail(**options):
        raise error

    monkeypatch.setattr(cli, "app", fail)
    code, err = mlrank("train", "c.yaml")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith(line)


def test_a_mistake_of_ours_is_not_hidden(mlrank, monkeypatch):
    def fail(**options):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(RuntimeError, match="a mistake"):
        cli.main()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk here that is always full")
def test_output_to_a_full_disk_is_one_line(tmp_path):
    command = [sys.executable, "-m", "mlrank", "--version"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "mlrank: cannot write the output: no space left on device\n")


def test_sigterm_says_what_is_kept_and_leaves_nothing(tmp_path):
    process = start(slow_config(tmp_path), tmp_path / "r", "--jobs", "1")
    journal = tmp_path / "r/small/trials.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.startswith("mlrank: interrupted; ")
    assert "of 62 fits are done and kept" in err
    assert err.count("\n") == 1
    left = [(p.name, p.read_text()) for p in (tmp_path / "r/small/claims").glob("*")]
    assert not left
    assert not (tmp_path / "r/small/claims").exists()
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(("key", "size"), [*((key, 0) for key in sorted(FORMATS)), ("csv", 20_000), ("npz", 20_000)])
def test_converting_onto_a_full_disk_is_one_line_and_leaves_what_was_there(tmp_path, key, size):
    data = load_dataset("yeast")
    rows = np.flatnonzero(data.Y.any(axis=1))[:300]
    data = replace(data, X=data.X[rows], Y=data.Y[rows], official=None)
    target = tmp_path / f"y{FORMATS[key].written}"
    target.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot write the file: ") as told:
            convert(data, target, key, replace_files=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "\n" not in str(told.value)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_text() == "old"


@pytest.mark.parametrize("ending", ["svm", "arff", "csv", "npz", "mat", "parquet", "txt"])
def test_a_file_that_may_not_be_read_is_one_line(mlrank, tmp_path, monkeypatch, ending):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(b"1 1:1\n" * 100_000)
    _forbid(monkeypatch, path)
    code, err = mlrank("datasets", "check", path)
    assert (code, err.count("\n")) == (1, 1)
    assert "permission denied" in err


def _forbid(monkeypatch, path):
    """Refuse to open a file, as the system does unless root asks."""
    intact = io.open

    def refuse(file, *args, **options):
        if str(file) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return intact(file, *args, **options)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)


def test_a_page_on_a_full_disk_leaves_the_old_one(mlrank, tmp_path, monkeypatch):
    page = tmp_path / "y.html"
    page.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, err = mlrank("datasets", "check", "yeast", "--html", page)
    assert (code, err) == (1, f"mlrank: {page}: cannot write the file: no space left on device\n")
    assert page.read_text() == "old"
