"""A dense X is held once, and copied at most once on its way from the file."""

import csv
import gc
import io
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from mlrank import load_dataset
from mlrank.datasets import cache, dataset_hash, subset
from mlrank.datasets.formats import text
from mlrank.datasets.formats.frames import parquet_table

N, D, K = 6000, 100, 4
FEATURES, LABELS = [f"f{j}" for j in range(D)], [f"l{j}" for j in range(K)]

# Peak of all that is allocated while a file is read, in sizes of X.
#
# Text: X is filled in place, with room for some rows more than there are; beside it lie arrays for a block of text of
# constant size, which are kept small here.
# npz: the library reads straight into X; a mask of cells that are infinite or NaN is an eighth of X.
# MAT-files hold columns: the variable as it is stored, then X in rows, one copy; and the mask.
# Parquet: some columns at a time, through pandas; pyarrow's own memory is not seen here.
PEAKS = {"arff": 1.4, "csv": 1.5, "tsv": 1.5, "npz": 1.3, "mat": 2.3, "split.mat": 2.3, "parquet": 1.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of the same dense data in every format that holds such data, and tiny ones to load the code with."""
    folder = tmp_path_factory.mktemp("dense")
    rng = np.random.default_rng(0)
    X, Y = rng.random((N, D)), rng.random((N, K)) < 0.3
    for stem, n in (("d", N), ("tiny", 3)):
        write(folder, stem, X[:n], Y[:n])
    return folder


def write(folder, stem, X, Y):
    n, path = len(X), str(folder / stem)
    marks = Y.astype(np.uint8)
    np.savez(path + ".npz", X=X, Y=Y)
    savemat(path + ".mat", {"X": X, "Y": marks}, do_compression=True)
    half = n // 2 + 1
    parts = {"X": X[:half], "Y": marks[:half], "X_test": X[half:], "Y_test": marks[half:]}
    savemat(path + ".split.mat", parts)
    pd.concat([pd.DataFrame(X, columns=FEATURES), pd.DataFrame(Y, columns=LABELS)], axis=1).to_parquet(
        path + ".parquet"
    )
    rows = [[*x, *y] for x, y in zip(X.tolist(), marks.tolist(), strict=True)]
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows(rows)
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        with open(f"{path}.{ending}", "w", newline="") as file:
            file.write(separator.join(FEATURES + LABELS) + "\r\n" + lines.getvalue().replace(",", separator))
    with open(path + ".arff", "w", newline="") as file:
        file.write(f"@relation 'd: -C -{K}'\n")
        file.writelines(f"@attribute {name} numeric\n" for name in FEATURES)
        file.writelines(f"@attribute {name} {{0,1}}\n" for name in LABELS)
        file.write("@data\n")
        file.write(lines.getvalue())


def load(folder, stem, ending):
    tables = {"label_columns": -K} if ending in ("csv", "tsv", "parquet") else {}
    return load_dataset(folder / f"{stem}.{ending}", **tables)


def traced(work):
    """Return what a function returns, and the peak of what was allocated meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(autouse=True)
def small_blocks_and_no_copies_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(text, "BLOCK_SIZE", 1 << 14)
    monkeypatch.setattr(parquet_table, "BATCH_CELLS", N * 10)
    monkeypatch.setattr(cache, "LEAST_BYTES", 1 << 60)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("ending", PEAKS)
def test_reading_copies_a_dense_matrix_once_at_most(folder, ending):
    load(folder, "tiny", ending)  # code that is loaded on first use counts as well
    data, peak = traced(lambda: load(folder, "d", ending))
    assert data.X.shape == (N, D)
    assert peak <= PEAKS[ending] * data.X.nbytes, f"{peak / data.X.nbytes:.2f} times X"


def test_the_files_hold_the_same_data(folder):
    hashes = {dataset_hash(load(folder, "d", ending)) for ending in PEAKS if ending != "split.mat"}
    assert len(hashes) == 1


def test_a_parsed_copy_is_written_and_read_without_another(folder, monkeypatch):
    monkeypatch.setattr(cache, "LEAST_BYTES", 0)
    load(folder, "tiny", "csv")
    first, peak = traced(lambda: load(folder, "d", "csv"))
    # The library writes an archive in pieces of 16 MB, more than X has here.
    assert peak <= 2.2 * first.X.nbytes
    again, peak = traced(lambda: load(folder, "d", "csv"))
    assert peak <= 1.2 * first.X.nbytes
    assert dataset_hash(again) == dataset_hash(first)


def test_nothing_behind_the_reader_copies(folder):
    data = load(folder, "d", "npz")
    dataset_hash(data)
    _, peak = traced(lambda: dataset_hash(data))
    assert peak < 0.1 * data.X.nbytes
    fewer, peak = traced(lambda: subset(data, top_labels=2, seed=0)[0])
    assert peak < 0.1 * data.X.nbytes
    assert np.shares_memory(fewer.X, data.X)
