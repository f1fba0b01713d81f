"""Which known name a wrong one is taken for: what a user of other packages would type."""

import pytest

from mlrank.errors import unknown_name
from mlrank.metrics import METRICS


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        ("micro_auc", " Did you mean 'auc_micro'?"),  # by letters alone f1_micro would be nearer
        ("Macro-F1", " Did you mean 'f1_macro'?"),
        ("f1", " Did you mean 'f1_macro', 'f1_micro' or 'f1_samples'?"),
        ("map", " Did you mean 'map_macro'?"),
        ("average_precision", " Did you mean 'lrap' or 'map_macro'?"),
        ("label ranking average precision", " Did you mean 'lrap'?"),
        ("exact_match", " Did you mean 'subset_accuracy'?"),
        ("accuracy", " Did you mean 'jaccard_samples' or 'subset_accuracy'?"),
        ("rankingloss", " Did you mean 'ranking_loss'?"),
        ("nonsense", ""),
    ],
)
def test_a_metric_is_found_by_its_words_and_by_what_others_call_it(found, hint):
    assert unknown_name("metric", found, METRICS).partition(" Known:")[0] == f"unknown metric '{found}'.{hint}"


def test_many_names_are_listed_by_a_command():
    told = unknown_name("data set", "yest", ["yeast", "scene"], "mlrank datasets list")
    assert told == "unknown data set 'yest'. Did you mean 'yeast'? 'mlrank datasets list' lists what is known."
