"""The metrics against scikit-learn and against certified values."""

from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics as sk

from mlrank.metrics import METRICS
from mlrank.metrics.curves import auc_rank_curve, auc_rank_curve_mean
from mlrank.metrics.rankings import map_macro
from mlrank.metrics.sets import f1_macro, f1_micro, jaccard_samples, precision_macro

# Scenarios with predictions; what else lies there is of one method.
FIXTURES = sorted(
    path for path in (Path(__file__).parents[1] / "fixtures").glob("*.npz") if "met_a_S" in np.load(path).files
)
SCORED = [name for name, metric in METRICS.items() if metric.needs == "scores"]


def drawn(n_samples, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.random((n_samples, n_labels)) < 0.35
    return Y, rng.integers(-3, 4, (n_samples, n_labels)) / 2, rng.random((n_samples, n_labels)) < 0.4


class TestAgainstScikitLearn:
    """Where the conventions agree: rows and labels that are undefined here are taken out first."""

    Y, scores, Y_pred = drawn(200, 7, seed=1)
    mixed = Y.any(axis=1) & ~Y.all(axis=1)

    def value(self, name, rows=slice(None)):
        predicted = self.scores if name in SCORED else self.Y_pred
        return METRICS[name].function(self.Y[rows], predicted[rows]).value

    @pytest.mark.parametrize("average", ["macro", "micro"])
    def test_sets(self, average):
        for kind in ("f1", "precision", "recall"):
            theirs = getattr(sk, f"{kind}_score")(self.Y, self.Y_pred, average=average)
            assert self.value(f"{kind}_{average}") == pytest.approx(theirs, abs=1e-14)

    def test_rows(self):
        some = (self.Y | self.Y_pred).any(axis=1)
        Y, Y_pred = self.Y[some], self.Y_pred[some]
        assert self.value("f1_samples") == pytest.approx(sk.f1_score(Y, Y_pred, average="samples"), abs=1e-14)
        assert self.value("jaccard_samples") == pytest.approx(sk.jaccard_score(Y, Y_pred, average="samples"), abs=1e-14)
        assert self.value("subset_accuracy") == pytest.approx(sk.accuracy_score(self.Y, self.Y_pred), abs=1e-14)
        assert self.value("hamming_loss") == pytest.approx(sk.hamming_loss(self.Y, self.Y_pred), abs=1e-14)

    def test_rankings(self):
        Y, scores = self.Y[self.mixed], self.scores[self.mixed]
        theirs = {
            "auc_macro": sk.roc_auc_score(self.Y, self.scores, average="macro"),
            "auc_micro": sk.roc_auc_score(self.Y, self.scores, average="micro"),
            "auc_samples": sk.roc_auc_score(Y, scores, average="samples"),
            "map_macro": sk.average_precision_score(self.Y, self.scores, average="macro"),
            "ranking_loss": sk.label_ranking_loss(Y, scores),
        }
        for name, expected in theirs.items():
            assert self.value(name) == pytest.approx(expected, abs=1e-13), name
        nonempty = self.Y.any(axis=1)
        Y, scores = self.Y[nonempty], self.scores[nonempty]
        lrap = sk.label_ranking_average_precision_score(Y, scores)
        assert self.value("lrap") == pytest.approx(lrap, abs=1e-14)
        assert self.value("coverage") == pytest.approx(sk.coverage_error(Y, scores), abs=1e-14)
        for k in (1, 3, 5):
            assert self.value(f"ndcg_at_{k}") == pytest.approx(sk.ndcg_score(Y, scores, k=k), abs=1e-14)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("case", ["a", "b"])
def test_certified_values(path, case):
    data = np.load(path)
    Y, scores, Y_pred = data["in_Yte"] == 1, data[f"met_{case}_S"], data[f"met_{case}_P"] == 1
    topk = data[f"met_{case}_topk"] == 1
    close = {
        "f1_macro_0": f1_macro(Y, Y_pred, empty=0.0).value,
        "f1_macro_1": f1_macro(Y, Y_pred, empty=1.0).value,
        "f1_macro_skip": METRICS["f1_macro"].function(Y, Y_pred).value,
        "f1_micro": METRICS["f1_micro"].function(Y, Y_pred).value,
        "macro_precision": precision_macro(Y, Y_pred, empty=0.0).value,
        "roc_macro": METRICS["auc_macro"].function(Y, scores).value,
        "roc_micro": METRICS["auc_micro"].function(Y, scores).value,
        "rank_auc_instance": METRICS["auc_samples"].function(Y, scores).value,
        "map_group": METRICS["map_macro"].function(Y, scores).value,
        "map_index": map_macro(Y, scores, ties="index").value,
        "rank_auc_pooled": METRICS["auc_rank_curve"].function(Y, scores).value,
        "rank_auc_pooled_index": auc_rank_curve(Y, scores, ties="index").value,
        "rank_auc_curve": METRICS["auc_rank_curve_mean"].function(Y, scores).value,
        "rank_auc_curve_index": auc_rank_curve_mean(Y, scores, ties="index").value,
        "topk_jaccard_1": jaccard_samples(Y, topk, empty=1.0).value,
        "topk_jaccard_skip": jaccard_samples(Y, topk).value,
        "topk_f1_macro_0": f1_macro(Y, topk, empty=0.0).value,
        "topk_f1_micro": f1_micro(Y, topk).value,
    }
    for key, found in close.items():
        assert found == pytest.approx(float(data[f"met_{case}_{key}"]), abs=1e-12), key
