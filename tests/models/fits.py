"""Fits of every solver on a small problem, ready to be stored."""

from dataclasses import fields

import numpy as np
from scipy.sparse import csr_array

from mlrank.models import Fit, Predictor
from mlrank.models.file import model_content
from mlrank.records.atomic import write_archive
from mlrank.scaling import SCALERS
from mlrank.solvers import PROJECTIONS, SOLVERS, TrainingSet
from mlrank.solvers.models import TransductiveModel
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import random_problem

N_TRAIN = 30
# Settings that lead to models of another kind than the defaults do; a kernel is tried wherever there is one.
OTHERS = {
    "binary_svm": [{"min_weight": 0.05}],
    "bknn": [{"project": {"n_components": 2}}],
    "hypergraph_spectral": [{"head": "knn"}, {"head": "knn", "kernel": "rbf", "gamma": 0.1}, {"head": "ridge"}],
}


# Their models are not stored.
OVER_ESTIMATORS = {"label_powerset", "rakel", "classifier_chains", "calibrated_ranking"}


def variants():
    """Return (key, settings) for every solver whose models are stored, and kind of model."""
    found = []
    for key, solver in SOLVERS.items():
        if key in OVER_ESTIMATORS:
            continue
        found.append((key, {}))
        if {"kernel", "gamma"} <= {field.name for field in fields(solver)}:
            found.append((key, {"kernel": "rbf", "gamma": 0.1}))
        found += [(key, settings) for settings in OTHERS.get(key, ())]
    return found


def name_of(variant):
    key, settings = variant
    return "-".join([key, *(str(value) if isinstance(value, str) else name for name, value in settings.items())])


def fitted(key, settings=None, *, sparse=False, scale="none", projection=None, threshold="zero"):
    """Return (predictor, scaled training set, all rows) of one fit; the rows behind N_TRAIN have no labels in it."""
    X, Y = random_problem()
    X = np.abs(X)  # some kernels need features that are not negative
    rows = csr_array(X) if sparse else X
    scaling = SCALERS[scale]().fit(rows[:N_TRAIN])
    cls = SOLVERS[key]
    unlabeled = scaling(rows[N_TRAIN:]) if getattr(cls, "USES_UNLABELED", False) else None
    train = TrainingSet(scaling(rows[:N_TRAIN]), Y[:N_TRAIN], unlabeled)
    before = PROJECTIONS[projection]().fit(train) if projection else None
    seen = train
    if before is not None:
        beside = None if unlabeled is None else before.transform(unlabeled)
        seen = TrainingSet(before.transform(train.X), train.Y, beside)
    model = cls(**(settings or {})).fit(seen)
    cut = THRESHOLDS[threshold]().fit(model.decision_function(seen.X), seen.Y, seen.X)
    if before is not None and isinstance(model, TransductiveModel):
        model = model.of_rows(train)
    return Predictor(scaling, before, model, cut, sparse), train, rows


def about(key="rank_svm", settings=None, **changes):
    """Return the header fields of a fit on the small problem."""
    return {
        "experiment": "small",
        "method": key,
        "split": "official",
        "solver": {"kind": key, "settings": settings or {}},
        "threshold": {"kind": "zero", "settings": {}, "scores": "train", "oracle": False},
        "scale": "none",
        "projection": None,
        "data": {"name": "small", "source": "made for tests", "hash": "0123456789abcdef", "n_train": N_TRAIN},
        "label_names": ["red", "green", "blue", "<b>", "ünïcode"],
        "feature_names": [str(number) for number in range(1, 7)],
        "config": None,
        "commit": None,
        **changes,
    }


def stored(path, key="rank_svm", settings=None, header=None, **how):
    """Fit, write the model to `path`, and return what `fitted` does."""
    predictor, train, rows = fitted(key, settings, **how)
    write_archive(path, model_content(Fit.of(predictor, rows), about(key, settings, **(header or {}))))
    return predictor, train, rows
