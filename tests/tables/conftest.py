import pytest

from mlrank.records.run import FORMAT, RunRecord

METRICS = {"f1_macro": 0.5, "f1_micro": 0.6, "auc_macro": 0.7, "ranking_loss": 0.2}


def make_record(method="A", split="official", **changes):
    """A complete run record; `metrics` replaces single values, other keys are merged into their part."""
    values = {**METRICS, **changes.pop("metrics", {})}
    record = {
        "format": FORMAT,
        "experiment": "demo",
        "dataset": {
            "name": "yeast",
            "source": "yeast of Elisseeff & Weston",
            "hash": "00ff",
            "n_samples": 2417,
            "n_train": 1500,
            "n_test": 917,
            "n_features": 103,
            "n_labels": 14,
            "cardinality": 4.2371,
            "stand_in": False,
            "changes": [],
        },
        "split": split,
        "method": method,
        "solver": "rank_svm",
        "settings": {"C": 8.0, "tol": 1e-3},
        "searched": {},
        "threshold": {"kind": "zero", "scores": "train", "settings": {}, "oracle": False},
        "status": "done",
        "error": None,
        "info": {"n_iter": 5, "objective": 1.0, "optimality": 8.1e-4, "converged": True},
        "metrics": {
            name: value
            if isinstance(value, dict)
            else {"value": value, "n_defined": 14, "n_total": 14, "unit": "labels"}
            for name, value in values.items()
        },
        "search": {
            "metric": "f1_micro",
            "folds": 5,
            "n_trials": 0,
            "n_failed": 0,
            "n_not_converged": 0,
            "best": None,
        },
        "software": {"mlrank": "0.1.0", "python": "3.11.7", "commit": "1" * 40},
        "key": f"{method}-{split}",
        "inputs": {},
        "time": {"search": 1.0, "fit": 0.25, "threshold": 0.0, "predict": 0.0},
    }
    for key, value in changes.items():
        record[key] = {**(record.get(key) or {}), **value} if isinstance(value, dict) else value
    return RunRecord.from_json(record)


@pytest.fixture
def make():
    return make_record
