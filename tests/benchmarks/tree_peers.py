"""Label trees of other programs on the same rows: one tree, one thread, otherwise their defaults.

Each runs in a process of its own, as this file, which therefore needs NumPy and SciPy alone. Omikuji and napkinXC come
with the extra "bench". libpecos asks for NumPy 1, so that the variable PECOS_PYTHON names a Python that has it: with
`numpy<2`, `scipy<1.14`, scikit-learn and libpecos.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

__all__ = ["PEERS", "is_here", "run_peer"]

# Labels that a program keeps on each level as it predicts, as `label_tree` does, and those that it finds.
BEAM, BEST = 20, 5

Fitted = tuple[float, Callable[[csr_matrix], Any]]


def is_here(peer: str) -> bool:
    """Return whether there is a Python that has a program."""
    return "PECOS_PYTHON" in os.environ if peer == "libpecos" else find_spec(peer.lower()) is not None


def run_peer(peer: str, X: Any, Y: Any, X_test: Any, folder: Path) -> tuple[float, np.ndarray]:
    """Return the seconds of processor time of a fit, and the five best labels of other rows, -1 where there are fewer.

    Raises
    ------
    subprocess.CalledProcessError
        If the program fails, or is not there.
    """
    paths = [str(folder / name) for name in ("X.npz", "Y.npz", "X_test.npz", "found.npy")]
    for path, matrix in zip(paths, (X, Y, X_test), strict=False):
        save_npz(path, csr_matrix(matrix, dtype=np.float32), compressed=False)
    python = os.environ["PECOS_PYTHON"] if peer == "libpecos" else sys.executable
    command = [python, __file__, peer, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]), np.load(paths[-1])


def _pecos(X: csr_matrix, Y: csr_matrix, folder: Path) -> Fitted:
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    started = time.process_time()
    chain = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), threads=1)
    model = XLinearModel.train(X, Y, C=chain, threads=1)
    seconds = time.process_time() - started

    def best(X: csr_matrix) -> list[np.ndarray]:
        scores = model.predict(X, only_topk=BEST, beam_size=BEAM, threads=1)
        rows = zip(*(np.split(part, scores.indptr[1:-1]) for part in (scores.indices, scores.data)), strict=True)
        return [labels[np.argsort(-values, kind="stable")] for labels, values in rows]

    return seconds, best


def _omikuji(X: csr_matrix, Y: csr_matrix, folder: Path) -> Fitted:
    import omikuji

    path = folder / "train.txt"
    with open(path, "w", encoding="utf-8") as file:
        print(X.shape[0], X.shape[1], Y.shape[1], file=file)
        for row, labels in zip(_rows(X), _rows(Y), strict=True):
            print(",".join(str(label) for label, _ in labels), *(f"{j}:{value:.7g}" for j, value in row), file=file)
    settings = omikuji.Model.default_hyper_param()
    settings.n_trees = 1
    started = time.process_time()
    model = omikuji.Model.train_on_data(str(path), settings, 1)
    seconds = time.process_time() - started
    return seconds, lambda X: [[label for label, _ in model.predict(row, BEAM, BEST)] for row in _rows(X)]


def _napkinxc(X: csr_matrix, Y: csr_matrix, folder: Path) -> Fitted:
    from napkinxc.models import PLT

    labels = [[label for label, _ in row] for row in _rows(Y)]
    started = time.process_time()
    model = PLT(str(folder / "model"), seed=0, threads=1)
    model.fit(X, labels)
    return time.process_time() - started, lambda X: model.predict(X, top_k=BEST)


PEERS = {"libpecos": _pecos, "Omikuji": _omikuji, "napkinXC": _napkinxc}


def _rows(matrix: csr_matrix) -> list[list[tuple[int, float]]]:
    columns, values, ends = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    pairs = list(zip(columns, values, strict=True))
    return [pairs[begin:end] for begin, end in pairwise(ends)]


def main(peer: str, *paths: str) -> None:
    """Fit a program to rows and labels, print the seconds that it took, and write the best labels of other rows."""
    X, Y, X_test = (csr_matrix(load_npz(path)) for path in paths[:3])
    seconds, best = PEERS[peer](X, Y, Path(paths[0]).parent)
    found = np.full((X_test.shape[0], BEST), -1)
    for place, labels in enumerate(best(X_test)):
        found[place, : len(labels)] = labels
    np.save(paths[3], found)
    print(seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
