"""Predictors without features: their values by hand, and what becomes of printed numbers below them."""

from dataclasses import replace

import numpy as np
import pytest

from mlrank.config import config_of
from mlrank.recipes import CELL_VERDICTS, compare
from mlrank.recipes.constants import (
    PRIOR_ORDER,
    PRIOR_SETS,
    below_constants,
    constant_predictions,
    constant_values,
    unattainable,
)

TRAIN = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.bool_)
TEST = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1]], dtype=np.bool_)


def written(path, Y):
    """Write label sets with one feature as the libsvm format has them."""
    rows = [f"{','.join(map(str, np.flatnonzero(row)))} 1:{number + 1}" for number, row in enumerate(Y)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def values_of(tmp_path, threshold, *metrics):
    files = {"train": written(tmp_path / "a.svm", TRAIN), "test": written(tmp_path / "b.svm", TEST)}
    methods = {"A": {"solver": "binary_svm", "threshold": threshold}}
    mapping = {"name": "tiny", "datasets": [files], "split": {"kind": "official"}, "methods": methods}
    return constant_values(config_of(mapping, "here"), metrics)


def test_values_are_those_computed_by_hand(tmp_path):
    found = values_of(tmp_path, "zero", "f1_micro", "f1_macro", "precision_macro", "auc_macro", "hamming_loss")
    micro = {name: float(values[0]) for name, values in found["f1_micro"].items()}
    # Every label: 6 true of 12. The first: 3 true of 4, 6 to be found.
    assert micro == pytest.approx({"no label": 0, "every label": 12 / 18, "the most frequent label": 6 / 10})
    macro = found["f1_macro"]
    assert macro["every label"] == pytest.approx((6 / 7 + 4 / 6 + 2 / 5) / 3)
    assert macro["the most frequent label"] == pytest.approx(6 / 7 / 3)
    # The precision of labels that are never predicted is undefined; it counts as 0 and does not flatter the mean.
    assert found["precision_macro"]["the most frequent label"] == pytest.approx(3 / 4 / 3)
    assert found["auc_macro"] == {PRIOR_ORDER: pytest.approx(0.5)}
    assert found["hamming_loss"]["no label"] == pytest.approx(6 / 12)


def test_true_sizes_are_given_to_all_or_to_none(tmp_path):
    (values,) = values_of(tmp_path, "oracle_size", "f1_micro")["f1_micro"].items()
    # {0}, {0, 1}, {0}, {0, 1} against {0}, {0, 1}, {1}, {0, 2}: 4 of 6.
    assert (values[0], float(values[1][0])) == (PRIOR_SETS, pytest.approx(8 / 12))


def test_unknown_training_entries_do_not_count():
    known = np.ones_like(TRAIN)
    known[:3, 0] = False
    scores = constant_predictions(TRAIN, TEST, False, known)
    assert scores[PRIOR_ORDER][0] == pytest.approx([0, 2 / 4, 1 / 4])
    assert scores["the most frequent label"].tolist() == [[False, True, False]] * 4


TWO = np.array([0.4, 0.5])


@pytest.mark.parametrize(
    ("metric", "printed", "words"),
    [
        ("f1_micro", (0.2, 0.3, None), "the best number printed 0.3 in f1_micro is below the 0.4500"),
        ("f1_micro", (0.2, 0.4), ""),  # as good on one split
        ("f1_micro", (0.2, 0.399), "the best number printed 0.399"),
        ("f1_micro", (0.2, 0.3996), ""),  # .3996 may be .3996 or .4 in three digits
        ("f1_micro", (0.2, 0.45), ""),
        ("f1_micro", (None,), ""),
        ("hamming_loss", (0.6, 0.7), "the best number printed 0.6 in hamming_loss is above the 0.4500"),
        ("hamming_loss", (0.45, 0.7), ""),
        ("f1_macro", (0.1,), ""),  # no predictor there
    ],
)
def test_a_column_is_not_attainable_if_its_best_is_worse_on_every_split(metric, printed, words):
    constants = {"f1_micro": {"x": TWO, "y": TWO - 0.3}, "hamming_loss": {"x": TWO}, "f1_macro": {}}
    found = unattainable(metric, printed, constants, 3)
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_single_numbers_are_noted():
    lines = list(below_constants("f1_micro", {"A": 0.2, "B": 0.6, "C": None}, {"f1_micro": {"x": TWO}}, 3))
    assert lines == ["A's 0.2 in f1_micro is below the 0.4500 of predicting x for every row of the same data"]


def test_the_verdict_comes_before_ours_and_on_the_papers_data_alone(recipe, over_splits):
    """The recipe prints f1_macro .5 and .625, and a ranking loss of .2."""
    records = over_splits({"A": {"f1_macro": 0.5, "ranking_loss": 0.2}, "B": {"f1_macro": 0.625}})
    constants = {"f1_macro": {"x": np.array([0.7])}, "ranking_loss": {"x": np.array([0.3])}}
    found = compare(recipe, recipe.data[1], records, constants)
    assert [cell.verdict for cell in found.cells] == ["not attainable as named", "matches", "not attainable as named"]
    assert found.cells[0].verdict in CELL_VERDICTS
    assert not any(note.startswith("as printed") for note in found.notes)  # the column says it already
    assert "ours: matches, the paper's number in the 3 decimals" in found.cells[0].reason
    between = compare(recipe, recipe.data[1], records, {"f1_macro": {"x": np.array([0.6])}})
    assert {cell.verdict for cell in between.cells} == {"matches"}
    assert "as printed: A's 0.5 in f1_macro is below the 0.6000 of predicting x for every row of the same data" in (
        between.notes
    )
    related = recipe.data[1].model_copy(update={"grade": "related"})
    others = compare(recipe, related, records, constants)
    assert {cell.verdict for cell in others.cells} == {"close"}
    made_up = [replace(record, dataset=replace(record.dataset, stand_in=True)) for record in records]
    assert {cell.verdict for cell in compare(recipe, recipe.data[1], made_up, constants).cells} == {"not comparable"}
