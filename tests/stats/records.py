"""Run records with the scores that a test names, and the arrays behind them."""

import numpy as np

from mlrank.records.run import FORMAT, RunRecord


def record(method, dataset, split, value, metric="f1_macro", /, **changes):
    """A finished run; `value` None makes it a failed one."""
    made = {
        "format": FORMAT,
        "experiment": "demo",
        "dataset": {
            "name": dataset,
            "source": f"source of {dataset}",
            "hash": f"hash-{dataset}",
            "n_samples": 90,
            "n_train": 60,
            "n_test": 30,
            "n_features": 5,
            "n_labels": 3,
            "cardinality": 1.5,
            "stand_in": False,
            "changes": [],
        },
        "split": split,
        "method": method,
        "solver": "rank_svm",
        "settings": {"C": 1.0},
        "searched": {},
        "threshold": {"kind": "zero", "scores": "train", "settings": {}, "oracle": False},
        "transductive": False,
        "status": "failed" if value is None else "done",
        "error": "ValueError: x" if value is None else None,
        "info": None if value is None else {"n_iter": 3, "objective": 1.0, "optimality": 1e-4, "converged": True},
        "metrics": {} if value is None else {metric: {"value": value, "n_defined": 3, "n_total": 3, "unit": "labels"}},
        "search": {"metric": "f1_micro", "folds": 0, "n_trials": 0, "n_failed": 0, "n_not_converged": 0, "best": None},
        "inputs": {"rows": f"rows-{dataset}-{split}"},
        "key": f"{method}-{dataset}-{split}",
        "software": {"mlrank": "0.1.0", "python": "3.11.7", "packages": {"numpy": "2.0.0"}, "commit": "1" * 40},
        "time": {"search": 1.0, "fit": 0.5, "threshold": 0.0, "predict": 0.0},
    }
    for key, entry in changes.items():
        made[key] = {**(made.get(key) or {}), **entry} if isinstance(entry, dict) else entry
    return RunRecord.from_json(made)


def table(scores, metric="f1_macro", **changes):
    """Records of {method: {dataset: [value on each split]}}."""
    return [
        record(method, dataset, f"r{place}", value, metric, **changes)
        for method, by_dataset in scores.items()
        for dataset, values in by_dataset.items()
        for place, value in enumerate(values)
    ]


def arrays(seed, n=30, k=3, flip=0.2):
    """True labels that depend on nothing but k, and predictions that miss a share of them."""
    truth = np.random.default_rng(99).random((n, k)) < 0.4
    rng = np.random.default_rng(seed)
    predicted = truth ^ (rng.random((n, k)) < flip)
    scores = np.where(predicted, 1.0, -1.0) + 0.1 * rng.standard_normal((n, k))
    return {"Y_true": truth, "Y_pred": predicted, "scores": scores, "rows": np.arange(n)}


def names(record):
    """The names of the labels of every record."""
    return ("sea", "sun", "sky")
