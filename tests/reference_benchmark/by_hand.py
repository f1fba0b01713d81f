"""Ten published cells beside scikit-learn run by hand: no scaling, search, cut or metric of mlrank is used.

``python -m tests.reference_benchmark.by_hand [FOLDER]`` where the data are at hand prints a line for each cell and
metric, and exits with 1 where one differs by more than ALLOWED or a cell is not there.

The best machine of a rare label can have weights of 0: it gives every row the same score, and any solver's AUC of it is
that of rounding. Where there are such labels, the published fit is made again, and AUC compared over the others.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss, label_ranking_average_precision_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from mlrank.benchmark import benchmark_folder, published_records, read_rows
from mlrank.benchmark.pieces import is_tuned
from mlrank.benchmark.rows import PublishedRows
from mlrank.datasets import load_dataset
from mlrank.records import RunRecord
from mlrank.solvers import SOLVERS, TrainingSet

# Data set, fold and method; cuts are natural ones.
CELLS = [
    ("emotions", 0, "kNN"),
    ("scene", 1, "kNN"),
    ("yeast", 2, "kNN"),
    ("emotions", 3, "Logistic"),
    ("scene", 4, "Logistic"),
    ("emotions", 0, "Exact logistic"),
    ("scene", 1, "Exact logistic"),
    ("yeast", 2, "Exact logistic"),
    ("emotions", 3, "Binary-SVM"),
    ("yeast", 4, "Binary-SVM"),
]
# Solvers stop at a relative gap of 1e-3: near a cut or a tie a row may fall on the other side.
ALLOWED = 0.005
# Between the least and greatest score of a label, where the margin of a machine is 2 wide.
FLAT = 0.5

Fitted = tuple[np.ndarray, np.ndarray]


def _knn(settings: dict[str, Any], X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> Fitted:
    model = KNeighborsClassifier(settings["n_neighbors"], algorithm="brute").fit(X, Y)
    scores = np.stack([found[:, 1] for found in model.predict_proba(X_test)], axis=1)
    return scores, scores > 0.5


def _logistic(settings: dict[str, Any], X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> Fitted:
    models = [LogisticRegression(C=settings["C"], max_iter=200).fit(X, y) for y in Y.T]
    scores = np.stack([model.predict_proba(X_test)[:, 1] for model in models], axis=1)
    return scores, scores > 0.5


def _exact_logistic(settings: dict[str, Any], X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> Fitted:
    models = [LogisticRegression(C=settings["C"], max_iter=100_000, tol=1e-8).fit(X, y) for y in Y.T]
    scores = np.stack([model.decision_function(X_test) for model in models], axis=1)
    return scores, scores > 0.0


def _svm(settings: dict[str, Any], X: np.ndarray, Y: np.ndarray, X_test: np.ndarray) -> Fitted:
    models = [SVC(C=settings["C"], kernel="linear", tol=1e-6).fit(X, y) for y in Y.T]
    scores = np.stack([model.decision_function(X_test) for model in models], axis=1)
    return scores, scores > 0.0


BY_HAND: dict[str, Callable[..., Fitted]] = {
    "kNN": _knn,
    "Logistic": _logistic,
    "Exact logistic": _exact_logistic,
    "Binary-SVM": _svm,
}
METRICS: dict[str, Callable[..., float]] = {
    "f1_micro": lambda Y, scores, sets: f1_score(Y, sets, average="micro"),
    "f1_macro": lambda Y, scores, sets: f1_score(Y, sets, average="macro"),
    "hamming_loss": lambda Y, scores, sets: hamming_loss(Y, sets),
    "lrap": lambda Y, scores, sets: label_ranking_average_precision_score(Y, scores),
    "auc_macro": lambda Y, scores, sets: roc_auc_score(Y, scores),
}


def compared(record: RunRecord, rows: PublishedRows, fold: int) -> dict[str, tuple[float, float]]:
    """Return the published value of each metric, and that by hand."""
    data = load_dataset(record.dataset.name)
    X, Y = np.asarray(data.X)[rows.rows], np.asarray(data.Y, dtype=int)[rows.rows]
    test = rows.folds == fold
    scaler = MinMaxScaler().fit(X[~test])
    X_train, X_test = scaler.transform(X[~test]), scaler.transform(X[test])
    scores, sets = BY_HAND[record.method](dict(record.searched), X_train, Y[~test], X_test)
    found = {name: (record.value(name) or 0.0, metric(Y[test], scores, sets)) for name, metric in METRICS.items()}
    flat = np.ptp(scores, axis=0) < FLAT if record.method == "Binary-SVM" else np.zeros(Y.shape[1], dtype=bool)
    if flat.any():
        again = SOLVERS["binary_svm"](**record.searched).fit(TrainingSet(X_train, Y[~test].astype(bool)))
        ours = again.decision_function(X_test)
        auc_published, auc_again = found.pop("auc_macro")[0], float(roc_auc_score(Y[test], ours))
        if abs(auc_published - auc_again) > 1e-9:
            raise RuntimeError(f"{record.label}: AUC {auc_published} is published, and {auc_again} when fitted again")
        rest = Y[test][:, ~flat]
        name = f"auc of {rest.shape[1]}"
        found[name] = (float(roc_auc_score(rest, ours[:, ~flat])), float(roc_auc_score(rest, scores[:, ~flat])))
    return found


def main(folder: Path) -> int:
    """Compare the cells; return how to exit."""
    runs = {(one.dataset.name, one.split, one.method): one for one in published_records(folder) if not is_tuned(one)}
    largest, n_compared = 0.0, 0
    for rows in read_rows(folder):
        for fold, method in ((fold, method) for dataset, fold, method in CELLS if dataset == rows.dataset):
            if record := runs.get((rows.dataset, rows.splits[fold][0], method)):
                n_compared += 1
                for name, (ours, by_hand) in compared(record, rows, fold).items():
                    largest = max(largest, abs(ours - by_hand))
                    print(f"{record.label:40} {name:13} {ours:.6f} {by_hand:.6f} {ours - by_hand:+.6f}")
    print(f"{n_compared} of {len(CELLS)} cells, largest difference {largest:.6f}, allowed {ALLOWED}")
    return int(largest > ALLOWED or n_compared < len(CELLS))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else benchmark_folder()))
