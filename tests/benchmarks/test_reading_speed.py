"""Reading speed and memory against the obvious alternatives, interleaved in one run; parsed copies are left out.

Needs MLRANK_DATA (the folder of the data files) and, for ARFF, liac-arff (`pip install mlrank[bench]`).
Run with OPENBLAS_NUM_THREADS=1.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets import cache
from mlrank.datasets.formats import read
from mlrank.datasets.formats.base import Source

pytestmark = pytest.mark.skipif("MLRANK_DATA" not in os.environ, reason="set MLRANK_DATA to the folder of data files")
ROUNDS = 9


def data(*names):
    paths = [Path(os.environ["MLRANK_DATA"]) / name for name in names]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"{', '.join(names)}: not in MLRANK_DATA")
    return paths


def compare(title, ours, theirs, rounds=ROUNDS, clock=time.perf_counter):
    """Return the ratio of the best times of two functions that take turns."""
    ours(), theirs()
    times = np.empty((rounds, 2))
    for row in times:
        for place, function in enumerate((ours, theirs)):
            start = clock()
            function()
            row[place] = clock() - start
    (best, other), (median, other_median) = times.min(axis=0), np.median(times, axis=0)
    print(f"\n{title}: {best * 1e3:.1f} ms against {other * 1e3:.1f} ms: {other / best:.1f} times as fast", end=" ")
    print(f"(medians: {median * 1e3:.1f}, {other_median * 1e3:.1f}, {other_median / median:.1f})")
    return other / best


@pytest.mark.parametrize("name", ["scene", "delicious"])
def test_arff_against_liac_arff(name):
    arff = pytest.importorskip("arff", reason="liac-arff is not installed: pip install mlrank[bench]")
    train, test, labels = data(*(f"{name}/{name}{end}" for end in ("-train.arff", "-test.arff", ".xml")))
    mode = {"scene": arff.DENSE, "delicious": arff.LOD}[name]

    def theirs():
        for path in (train, test):
            with open(path) as file:
                arff.load(file, return_type=mode)

    ratio = compare(f"{name}, ARFF", lambda: read("mulan", Source((train, test), labels)), theirs)
    assert ratio >= 10


def test_libsvm_against_scikit_learn():
    from sklearn.datasets import load_svmlight_files

    train, test = data("yeast/yeast_train.svm", "yeast/yeast_test.svm")
    ratio = compare(
        "yeast, LIBSVM",
        lambda: read("libsvm", Source((train, test))),
        lambda: load_svmlight_files([str(train), str(test)], multilabel=True),
    )
    assert ratio >= 1


def test_a_parsed_copy_of_delicious_takes_less_than_50_ms(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    train, test, labels = data(
        "delicious/delicious-train.arff", "delicious/delicious-test.arff", "delicious/delicious.xml"
    )
    load_dataset(train, test=test, labels=labels)
    assert len(list((cache.cache_folder() / "parsed").iterdir())) == 1
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        load_dataset(train, test=test, labels=labels)
        times.append(time.perf_counter() - start)
    print(f"\nparsed copy of delicious: {min(times) * 1e3:.1f} ms (median {np.median(times) * 1e3:.1f})")
    assert min(times) < 0.05


# Peak memory above what the same imports and a tiny file need, in units of the final arrays.
PEAK = """
import sys
from pathlib import Path
from mlrank.datasets.formats.base import Source
from mlrank.datasets.formats import read
from scipy.sparse import issparse
key, tiny, *names = sys.argv[1:]
labels = Path(names.pop()) if names[-1].endswith((".xml", ".labels.txt")) else None
status = lambda: dict(line.split(":") for line in open("/proc/self/status"))
number = lambda key: int(status()[key].split()[0]) * 1024
read(key, Source((Path(tiny),), None if key == "libsvm" else Path(tiny).with_suffix(".xml")))
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
before = number("VmRSS")
parsed = read(key, Source(tuple(map(Path, names)), labels, False if key == "libsvm" else None))
X = parsed.X
parts = (X.data, X.indices, X.indptr) if issparse(X) else (X,)
size = sum(part.nbytes for part in parts) + parsed.Y.nbytes
print(number("VmHWM") - before, size)
"""
TINY = {
    "mulan": "@attribute x numeric\n@attribute l {0,1}\n@data\n1,1\n",
    "libsvm": "0 1:1\n",
}


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("mulan", ["scene/scene-train.arff", "scene/scene-test.arff", "scene/scene.xml"]),
        ("mulan", ["delicious/delicious-train.arff", "delicious/delicious-test.arff", "delicious/delicious.xml"]),
        ("libsvm", ["yahoo/yahoo_science_full.svm.xz", "yahoo/yahoo_science_full.labels.txt"]),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure peaks")
def test_peak_memory(tmp_path, key, names):
    tiny = tmp_path / "tiny.arff"
    tiny.write_text(TINY[key])
    tiny.with_suffix(".xml").write_text('<labels><label name="l"/></labels>')
    words = [key, str(tiny), *map(str, data(*names))]
    output = subprocess.run([sys.executable, "-c", PEAK, *words], check=True, capture_output=True, text=True).stdout
    peak, size = map(int, output.split())
    print(f"\n{names[0]}: peak {peak / 1e6:.1f} MB, arrays {size / 1e6:.1f} MB: {peak / size:.2f} times")
    assert peak < 3 * size


def test_time_is_linear_in_bytes(tmp_path):
    line = ",".join(["0.123456"] * 100) + ",1\n"
    head = "".join(f"@attribute f{j} numeric\n" for j in range(100)) + "@attribute l {0,1}\n@data\n"
    (tmp_path / "n.xml").write_text('<labels><label name="l"/></labels>')
    times = []
    for rows in (5_000, 20_000, 80_000):
        (tmp_path / "d.arff").write_text(head + line * rows)
        source = Source((tmp_path / "d.arff",), tmp_path / "n.xml")
        read("mulan", source)
        rounds = []
        for _ in range(5):
            start = time.perf_counter()
            read("mulan", source)
            rounds.append(time.perf_counter() - start)
        times.append(min(rounds) / rows)
    print("\nmicroseconds a row of 100 numbers:", ", ".join(f"{1e6 * seconds:.2f}" for seconds in times))
    assert max(times) < 2 * min(times)


@pytest.mark.parametrize("digits", [6, 17])
def test_csv_against_pandas(tmp_path, digits):
    # 100 MB of numbers as people write them: of a few digits, or all of them.
    import pandas as pd

    rng = np.random.default_rng(0)
    block = "\n".join(
        ",".join([*(f"{value:.{digits}g}" for value in rng.normal(size=100)), *"0100000010"]) for _ in range(1000)
    )
    path = tmp_path / "d.csv"
    with open(path, "w") as file:
        file.write(",".join([*(f"x{j}" for j in range(100)), *(f"l{j}" for j in range(10))]) + "\n")
        for _ in range(int(1e8 // len(block))):
            file.write(block + "\n")
    source = Source((path,), label_columns=-10)
    title = f"CSV of {path.stat().st_size / 1e6:.0f} MB, {digits} digits, CPU seconds against pandas.read_csv"
    ratio = compare(title, lambda: read("csv", source), lambda: pd.read_csv(path), clock=time.process_time)
    assert ratio >= 1
