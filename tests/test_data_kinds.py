"""Kinds of own data in every format, through every command: the same outcome, or one line that says what is wrong.

`KINDS` has what a table holds and what must come of it, written down here; `FORMATS` writes a table to a file;
`REFUSED` names the pairs that do not go together, and what is said of them.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array, issparse

from mlrank import load_dataset, run
from mlrank.config import config_of, parse_config
from mlrank.datasets.convert import convert, without
from mlrank.datasets.doctor import examine
from mlrank.datasets.loading import find_source, load_source
from mlrank.datasets.starter import starter_config
from mlrank.errors import UserError
from mlrank.experiment import plan
from mlrank.metrics import evaluate
from mlrank.models.file import load_model
from mlrank.prediction import judge, predict_file
from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.base import FitInfo

ROWS = 12
A = [round(0.25 * (7 * i % 12) - 1, 2) for i in range(ROWS)]
B = [float(5 * i % 7) for i in range(ROWS)]
HAPPY, CALM = [int(a > 0) for a in A], [int(b > 2) for b in B]
LABELS = ("happy", "calm")
Y = np.array([HAPPY, CALM], bool).T
CITIES = [("Oslo", "Rome", "Bern")[(i + i // 4) % 3] for i in range(ROWS)]
TEXTS = [("rain and sun", "sun sun", "wind")[i % 3] for i in range(ROWS)]
NAMES = [f"case {i:02}" for i in range(ROWS)]
WHO = [i % 4 for i in range(ROWS)]
TAGS = [[name for name, mark in zip(LABELS, row, strict=True) if mark] for row in Y]


def base(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": A, "b": B, **columns})


@dataclass(frozen=True)
class Sums:
    """Weights are sums of the features over the rows of a label: all of X and Y counts, and their order."""

    C: float = 1.0

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        weights = np.asarray((train.X.T @ train.Y.astype(float)).T)
        return LinearModel(weights, np.zeros(train.n_labels), FitInfo(1, 0.0, 0.0, True))


class Expected(NamedTuple):
    X: Any
    Y: Any = Y
    known: Any = None
    features: tuple[str, ...] = ("a", "b")
    labels: tuple[str, ...] = LABELS
    described: dict[str, Any] = {}  # noqa: RUF012, it is never written to


@dataclass(frozen=True)
class Kind:
    """A table, the options that it is read with, what they must give, and the columns that `init` cannot tell."""

    frame: pd.DataFrame
    options: dict[str, Any]
    expected: Expected
    labels: pd.DataFrame | None = None
    init: str | None = None
    drop: tuple[str, ...] = field(default=())


X = np.array([A, B]).T
COLUMNS = {"happy": HAPPY, "calm": CALM}
BY_NAME = {"label_columns": LABELS}
GONE = np.zeros((ROWS, 2), bool)
GONE[2, 1] = GONE[5, 0] = True
FEW = [None if i == 4 else value for i, value in enumerate(B)]
FILLED = np.array([A, [np.median([b for b in FEW if b is not None]) if b is None else b for b in FEW]]).T
TERMS = ("and", "rain", "sun", "wind")
COUNTS = [[text.split().count(term) for term in TERMS] for text in TEXTS]

KINDS = {
    "columns": Kind(base(**COLUMNS), BY_NAME, Expected(X)),
    "pattern": Kind(
        base(y_happy=HAPPY, y_calm=CALM), {"label_columns": "y_*"}, Expected(X, labels=("y_happy", "y_calm"))
    ),
    "words": Kind(
        base(happy=["yes" if y else "no" for y in HAPPY], calm=["TRUE" if y else "FALSE" for y in CALM]),
        BY_NAME,
        Expected(X),
    ),
    "own words": Kind(
        base(**{name: ["ja" if y else "nein" for y in marks] for name, marks in COLUMNS.items()}),
        {**BY_NAME, "positive": "ja"},
        Expected(X),
        init="no column looks like a label",
    ),
    "signs": Kind(base(happy=[2 * y - 1 for y in HAPPY], calm=[2 * y - 1 for y in CALM]), BY_NAME, Expected(X)),
    "list": Kind(
        base(tags=[";".join(tags) for tags in TAGS]),
        {"labels": {"column": "tags", "separator": ";", "names": list(LABELS)}},
        Expected(X),
    ),
    "second file": Kind(
        base(), {"labels": "Y.csv"}, Expected(X), labels=pd.DataFrame(COLUMNS), init="no column looks like a label"
    ),
    "unknown labels": Kind(
        base(
            **{
                name: [None if g else y for y, g in zip(marks, GONE[:, j], strict=True)]
                for j, (name, marks) in enumerate(COLUMNS.items())
            }
        ).astype({"happy": "Int64", "calm": "Int64"}),
        BY_NAME,
        Expected(X, Y & ~GONE, ~GONE),
    ),
    "missing features": Kind(base(**COLUMNS).assign(b=FEW), {**BY_NAME, "impute": "median"}, Expected(FILLED)),
    "ids": Kind(
        base(name=NAMES, **COLUMNS),
        {**BY_NAME, "id_column": "name"},
        Expected(X, described={"ids": tuple(NAMES)}),
        drop=("ids",),
    ),
    "groups": Kind(
        base(who=WHO, **COLUMNS),
        {**BY_NAME, "group_column": "who"},
        Expected(X, described={"groups": WHO}),
        drop=("groups",),
    ),
    "folds": Kind(
        base(part=[i % 2 for i in WHO], **COLUMNS)[["part", "a", "b", *LABELS]],
        {**BY_NAME, "fold_column": "part"},
        Expected(X, described={"folds": [i % 2 for i in WHO]}),
        drop=("folds",),
    ),
    "ignored": Kind(
        base(note=TEXTS, tmp_1=NAMES, **COLUMNS), {**BY_NAME, "ignore_columns": ["note", "tmp_*"]}, Expected(X)
    ),
    "categories": Kind(
        base(city=CITIES, **COLUMNS),
        {**BY_NAME, "one_hot": "city"},
        Expected(
            np.column_stack([X, [[city == name for name in ("Bern", "Oslo", "Rome")] for city in CITIES]]),
            features=("a", "b", "city=Bern", "city=Oslo", "city=Rome"),
        ),
    ),
    "text": Kind(
        base(body=TEXTS, **COLUMNS),
        {**BY_NAME, "text_columns": "body"},
        Expected(np.column_stack([X, COUNTS]), features=("a", "b", *(f"body~{term}" for term in TERMS))),
    ),
    "embeddings": Kind(
        base(v=[[a, 2 * b] for a, b in zip(A, B, strict=True)], **COLUMNS),
        BY_NAME,
        Expected(np.column_stack([X, A, 2 * np.array(B)]), features=("a", "b", "v[0]", "v[1]")),
    ),
}


def write_arff(frame, path):
    lines = ["@relation d"]
    for name in frame.columns:
        words = sorted({str(value) for value in frame[name].dropna()})
        numeric = pd.api.types.is_numeric_dtype(frame[name].dtype)
        marks = name.removeprefix("y_") in LABELS
        text = name in ("name", "note", "tmp_1", "tags", "body", "v")
        values = "string" if text else "numeric" if numeric and not marks else "{" + ",".join(words) + "}"
        lines.append(f"@attribute {name} {values}")
    cells = frame.astype(object).where(frame.notna(), None)
    quoted = [[f"'{c}'" if isinstance(c, str) else "?" if c is None else str(c) for c in row] for row in cells.values]
    path.write_text("\n".join([*lines, "@data", *(",".join(row) for row in quoted)]) + "\n")


def arrays(frame):
    """Return X and Y of a table; without columns that arrays cannot hold, so that only the options speak of them."""
    marks = [name for name in frame.columns if name.removeprefix("y_") in LABELS]
    numbers = frame[["a", "b"]].to_numpy(float)
    if not marks:
        return numbers, None
    return numbers, np.array(
        [[np.nan if pd.isna(w) else float(w in (1, "yes", "TRUE", "ja")) for w in row] for row in frame[marks].values]
    )


def write_npz(frame, path):
    X, Y = arrays(frame)
    found = {} if Y is None else {"Y": Y == 1, "label_names": LABELS}
    if Y is not None and np.isnan(Y).any():
        found["known"] = ~np.isnan(Y)
    np.savez(path, X=X, **found)


def write_mat(frame, path):
    X, Y = arrays(frame)
    savemat(path, {"X": X, "Y": np.zeros((len(X), 2)) if Y is None else Y})


def write_libsvm(frame, path):
    X, Y = arrays(frame)
    Y = np.zeros((len(X), 2)) if Y is None else Y
    rows = (
        ",".join(map(str, np.flatnonzero(y == 1))) + "".join(f" {j}:{v!r}" for j, v in enumerate(x.tolist(), 1))
        for x, y in zip(X, Y, strict=True)
    )
    path.write_text("\n".join(rows) + "\n")


# Ending, and how a frame is written.
FORMATS = {
    "csv": ("csv", lambda frame, path: frame.to_csv(path, index=False)),
    "german": ("csv", lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=",")),
    "tsv": ("tsv", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "parquet": ("parquet", lambda frame, path: frame.to_parquet(path)),
    "arff": ("arff", write_arff),
    "npz": ("npz", write_npz),
    "mat": ("mat", write_mat),
    "libsvm": ("svm", write_libsvm),
    "frame": (None, None),
}
NUMBERED = ("npz", "mat", "libsvm")
NO_EFFECT = {"one_hot", "text_columns", "id_column", "group_column", "fold_column", "ignore_columns", "positive"}
LISTS_ELSEWHERE = "column 'v' holds lists of numbers as text"
REFUSED = {
    **{
        (kind, form): f"'{option}' has no effect with format '{form}'"
        for kind, it in KINDS.items()
        for form in NUMBERED
        for option in NO_EFFECT & it.options.keys()
    },
    ("missing features", "libsvm"): "'impute' has no effect with format 'libsvm'",
    ("second file", "arff"): "Y.csv:1:1: not well-formed XML",
    **{("second file", form): "Y.csv:6:1: label '0,1' is named twice" for form in ("mat", "libsvm")},
    **{("list", form): "a column of labels goes with csv, tsv, parquet" for form in NUMBERED},
    **{("embeddings", form): LISTS_ELSEWHERE for form in ("csv", "german", "tsv")},
    ("embeddings", "arff"): "attribute 'v' has type string, which holds no numbers: name it among ignore_columns",
}
# What a format cannot even say.
NOTHING = {("unknown labels", "libsvm"), *(("embeddings", form) for form in NUMBERED)}
PAIRS = [(kind, form) for kind in KINDS for form in FORMATS if (kind, form) not in NOTHING]


def source(kind, form, folder):
    """Return what `load_dataset` takes for a kind in a format: the data, and options."""
    ending, write = FORMATS[form]
    options = dict(kind.options)
    if form in NUMBERED:
        options.pop("label_columns", None)
    if kind.labels is not None:
        kind.labels.to_csv(folder / "Y.csv", index=False)
        options["labels"] = folder / "Y.csv"
    if form == "frame":
        return kind.frame, {**options, **({"labels": kind.labels} if kind.labels is not None else {})}
    path = folder / f"d.{ending}"
    write(kind.frame, path)
    return path, options


def same(data, expected, numbered=False):
    X, Y = (part.toarray() if issparse(part) else part for part in (data.X, data.Y))
    np.testing.assert_array_equal(X, np.asarray(expected.X, float))
    np.testing.assert_array_equal(Y, expected.Y)
    np.testing.assert_array_equal(np.ones(Y.shape) if data.known is None else data.known, known_of(expected))
    assert numbered or (data.feature_names, data.label_names) == (expected.features, expected.labels)
    for name in ("ids", "groups", "folds"):
        found, right = getattr(data, name), expected.described.get(name)
        assert (found if found is None else list(found)) == (right if right is None else list(right))


def known_of(expected):
    return np.ones(expected.Y.shape, bool) if expected.known is None else expected.known


def configured(entry):
    methods = {"M": {"solver": "tests.test_data_kinds:Sums"}}
    split = {"kind": "predefined"} if entry.get("fold_column") else {"kind": "kfold", "folds": 2}
    data = {"name": "e", "datasets": [entry], "split": split, "methods": methods, "unknown_labels": "absent"}
    return config_of(data, "e")


@pytest.fixture(scope="module")
def model_of(tmp_path_factory):
    """Return a function that trains a model on a kind, as a frame, once."""

    @cache
    def trained(name):
        folder = tmp_path_factory.mktemp("model")
        frame, options = source(KINDS[name], "frame", folder)
        results = run(configured({"frame": frame, "name": "d", **options}), folder / "r")
        assert all(record.done for record in results.records), [record.error for record in results.records]
        return load_model(results.folder.model_path("d", results.records[0].split, "M"))

    return trained


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_each_kind_in_each_format_through_each_command(tmp_path, model_of, name, form):
    kind = KINDS[name]
    data, options = source(kind, form, tmp_path)
    expected, numbered = kind.expected, form in NUMBERED
    entry = {"frame": data, **options} if form == "frame" else {"train": str(data), **options}
    if (name, form) in REFUSED:
        for command in (lambda: load_dataset(data, **options), lambda: plan(configured(stringed(entry)))):
            with pytest.raises(UserError) as caught:
                command()
            assert REFUSED[name, form] in str(caught.value)
            assert "\n" not in str(caught.value)
        return
    loaded = load_dataset(data, **options)
    same(loaded, expected, numbered)
    (planned,) = plan(configured(stringed(entry)))  # train
    same(planned.dataset, expected, numbered)
    if form != "frame":
        place = find_source(data, **options)  # check
        assert not examine(load_source(place), place).failed
    model = model_of(name)
    raw = np.asarray(expected.X, float)
    if name == "missing features":
        raw = np.array([A, [np.nan if b is None else b for b in FEW]]).T
    X = csr_array(raw) if model.header.sparse else raw
    scores = model.decision_function(X)
    by_number = {"zero_based": False} if form == "libsvm" else {}
    if form in ("mat", "npz"):
        return  # their columns have numbers for names, which no option maps to those of the model
    if form != "frame":
        predict_file(model, data, tmp_path / "p.csv", scores=True, id_column=options.get("id_column"), **by_number)
        found = pd.read_csv(tmp_path / "p.csv")
        if "id_column" in options:
            assert found.pop("name").tolist() == NAMES
        np.testing.assert_allclose(found[list(expected.labels)].to_numpy(), scores, rtol=0, atol=1e-12)
        if not numbered:
            judged = judge(model, data, **{key: kept for key, kept in options.items() if key == "labels"})
            known = None if expected.known is None else expected.known
            weights = np.array(model.header.propensities)
            measured = evaluate(expected.Y, scores, model.predict(X), known, propensities=weights)
            for metric, value in measured.items():
                np.testing.assert_allclose(judged.metrics[metric].value, value.value, rtol=0, atol=1e-12)
    else:
        np.testing.assert_allclose(model.decision_function(data), scores, rtol=0, atol=1e-12)
    if form in ("csv", "arff", "frame"):
        converted(tmp_path, kind, loaded)
    if form in ("csv", "german", "parquet"):
        started(tmp_path, kind, data)


def stringed(entry):
    """Return an entry with its paths as text, as YAML has them."""
    return {key: str(value) if isinstance(value, Path) else value for key, value in entry.items()}


def converted(folder, kind, data):
    for target in ("csv", "npz"):
        if data.text or (target == "npz" and kind.drop):
            reason = "keep the texts" if data.text else f"--drop {kind.drop[0]}"
            with pytest.raises(UserError, match=reason):
                convert(data, folder / f"new.{target}", target)
        if not data.text:
            left = without(data, kind.drop) if target == "npz" else data
            options = convert(left, folder / f"new.{target}", target)
            again = load_dataset(options.pop("train"), **options)
            described = {} if target == "npz" else kind.expected.described
            same(again, kind.expected._replace(described=described, labels=data.label_names), False)


def started(folder, kind, path):
    if kind.init is not None:
        with pytest.raises(UserError, match=kind.init):
            starter_config(path)
        return
    (planned,) = plan(parse_config(starter_config(path), "c.yaml"))
    names = planned.dataset.label_names
    order = [names.index(name) for name in sorted(names)]
    assert {name.removeprefix("y_") for name in names} == set(LABELS)
    np.testing.assert_array_equal(planned.dataset.Y[:, order], kind.expected.Y[:, ::-1])
