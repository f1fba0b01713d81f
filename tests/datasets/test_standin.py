"""Stand-in data: sizes met, same bytes from the same seed, correlated labels, features that know of them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank.datasets import dataset_hash, generate
from mlrank.datasets.generated.standin import features_like

SIZES = {"n_samples": 900, "n_features": 60, "n_labels": 24, "cardinality": 3.2, "n_groups": 6}


def dense(data):
    return data.X.toarray() if issparse(data.X) else data.X


def scores_of(data, train, test, rank=None):
    """Return ridge regression scores of the test rows; their label part projected to `rank` directions if given."""
    X = dense(data)
    X = (X - X[train].mean(axis=0)) / (X[train].std(axis=0) + 1e-12)
    target = data.Y[train] - data.Y[train].mean(axis=0)
    coef = np.linalg.solve(X[train].T @ X[train] + 10.0 * np.eye(X.shape[1]), X[train].T @ target)
    if rank is not None:
        directions = np.linalg.svd(X[train] @ coef, full_matrices=False)[2][:rank]
        coef = coef @ directions.T @ directions
    return X[test] @ coef


def auc(scores, positive):
    """Return the share of pairs (positive, negative) in the right order, averaged over labels."""
    values = []
    for score, label in zip(scores.T, positive.T, strict=True):
        if label.any() and not label.all():
            above = score[label][:, None] - score[~label][None, :]
            values.append(((above > 0) + 0.5 * (above == 0)).mean())
    return float(np.mean(values))


@pytest.mark.parametrize("kind", ["dense", "counts", "words"])
@pytest.mark.parametrize("seed", range(3))
def test_sizes_cardinality_and_frequencies(kind, seed):
    data = generate("g", **SIZES, kind=kind, n_train=500, seed=seed)
    assert data.X.shape == (900, 60)
    assert data.Y.shape == (900, 24)
    assert data.cardinality == pytest.approx(3.2, rel=1e-3)
    assert data.Y.sum(axis=0).min() >= 5
    assert data.Y.any(axis=1).all()
    assert [len(rows) for rows in data.official] == [500, 400]
    assert data.stand_in


@pytest.mark.parametrize("power", [0.0, 0.4, 0.8])
def test_frequencies_follow_the_power_law(power):
    positives = generate("g", **{**SIZES, "n_labels": 100, "cardinality": 8.0}, power=power, seed=0).Y.sum(axis=0)
    slope = np.polyfit(np.log(np.arange(1, 101)), np.log(positives), 1)[0]
    # Rows that would be empty are filled without regard to the law; with this many labels they are few.
    assert slope == pytest.approx(-power, abs=0.05)


@pytest.mark.parametrize("cardinality", [1.1, 1.5, 4.0, 12.0])
def test_cardinality_over_its_range(cardinality):
    data = generate("g", **{**SIZES, "cardinality": cardinality}, seed=1)
    assert data.cardinality == pytest.approx(cardinality, rel=0.02)


def test_the_least_number_of_positives_is_kept_for_rare_labels():
    data = generate("g", **{**SIZES, "cardinality": 1.2}, power=3.0, least_positives=11, seed=0)
    assert data.Y.sum(axis=0).min() >= 11
    assert data.cardinality == pytest.approx(1.2, rel=1e-3)


@pytest.mark.parametrize("kind", ["counts", "words"])
def test_counts_are_whole_numbers(kind):
    data = generate("g", **SIZES, kind=kind, seed=0)
    assert issparse(data.X)
    assert (data.X.data > 0).all()
    assert (data.X.data == np.round(data.X.data)).all()


@pytest.mark.parametrize("kind", ["dense", "counts", "words"])
def test_same_seed_same_bytes(kind):
    first = generate("g", **SIZES, kind=kind, seed=5)
    assert dataset_hash(first) == dataset_hash(generate("g", **SIZES, kind=kind, seed=5))
    assert dataset_hash(first) != dataset_hash(generate("g", **SIZES, kind=kind, seed=6))


@pytest.mark.parametrize("noise", [0.5, 8.0])
def test_histograms_of_words_are_as_full_however_large_the_noise(noise):
    data = generate("g", **{**SIZES, "n_features": 2000}, kind="words", noise=noise, seed=0)
    assert data.X.sum(axis=1).mean() == pytest.approx(300, abs=2)
    # Log rates have variance 1 + 1, the mean rate of 2000 bins is 0.15: how many are not empty.
    z = np.random.default_rng(0).standard_normal(1_000_000)
    filled = 2000 * (1 - np.exp(-0.15 * np.exp(np.sqrt(2) * z - 1))).mean()
    assert data.X.nnz / 900 == pytest.approx(filled, rel=0.04)


class TestFeaturesForGivenLabels:
    Y = generate("g", **SIZES, seed=7).Y

    @pytest.mark.parametrize("kind", ["dense", "counts"])
    def test_equal_arguments_give_equal_features_that_know_of_the_labels(self, kind):
        X, again = (features_like(self.Y, n_features=80, noise=2.0, kind=kind, seed=1) for _ in range(2))
        assert (X != again).sum() == 0
        train, test = np.arange(600), np.arange(600, 900)
        data = replace(generate("g", **SIZES, seed=7), X=X, feature_names=tuple(map(str, range(80))))
        real = auc(scores_of(data, train, test), self.Y[test])
        rng = np.random.default_rng(0)
        blind = replace(data, Y=self.Y[rng.permutation(900)])
        assert real > 0.65 > 0.55 > auc(scores_of(blind, train, test), blind.Y[test])

    def test_histograms_hold_as_many_counts_as_asked_for(self):
        X = features_like(self.Y, n_features=500, kind="counts", counts_per_row=77, seed=1)
        assert X.sum(axis=1).mean() == pytest.approx(77, abs=1)
        assert (X.data == np.round(X.data)).all()
        rows = features_like(np.vstack([self.Y, self.Y]), n_features=500, kind="counts", seed=1)
        # Rows are drawn some at a time, and none is drawn twice.
        assert rows.shape == (1800, 500)
        assert (rows[:900] != rows[900:]).sum() > 900


def lift_in_and_between_groups(correlation):
    """Return how often two labels occur together over how often they would if independent, as two means."""
    data = generate("g", **SIZES, group_correlation=correlation, seed=3)
    Y = data.Y.astype(float)
    lift = (Y.T @ Y / len(Y)) / np.outer(Y.mean(axis=0), Y.mean(axis=0))
    groups = np.array([name.rpartition(" ")[2] for name in data.label_names])
    same = groups[:, None] == groups[None, :]
    apart = ~np.eye(len(groups), dtype=bool)
    return lift[same & apart].mean(), lift[~same].mean()


def test_labels_of_a_group_occur_together_as_far_as_the_correlation_says():
    strong, strong_between = lift_in_and_between_groups(0.9)
    weak, _ = lift_in_and_between_groups(0.4)
    none, none_between = lift_in_and_between_groups(0.0)
    assert strong > 2 * weak > 2.0
    assert strong_between < 1.0
    # Without correlation both are the same number up to chance: independent, less what filling empty rows does.
    assert none == pytest.approx(none_between, rel=0.1)


@pytest.mark.parametrize("kind", ["dense", "counts", "words"])
def test_features_know_of_the_labels(kind):
    """A linear method must do much better than on the same data with the rows of Y shuffled."""
    data = generate("g", **SIZES, kind=kind, seed=2)
    train, test = np.arange(600), np.arange(600, 900)
    real = auc(scores_of(data, train, test), data.Y[test])
    rng = np.random.default_rng(0)
    shuffled = []
    for _ in range(10):
        blind = replace(data, Y=data.Y[rng.permutation(900)])
        shuffled.append(auc(scores_of(blind, train, test), blind.Y[test]))
    assert real > np.mean(shuffled) + 10 * np.std(shuffled)


def test_sharing_across_labels_pays_if_and_only_if_they_are_correlated():
    """Scores projected to as many directions as there are groups, against scores of labels one by one."""
    gains = {}
    for correlation in (0.0, 0.9):
        data = generate("g", **SIZES, group_correlation=correlation, noise=2.0, seed=4)
        train, test = np.arange(450), np.arange(450, 900)
        alone = auc(scores_of(data, train, test), data.Y[test])
        gains[correlation] = auc(scores_of(data, train, test, rank=SIZES["n_groups"]), data.Y[test]) - alone
    assert gains[0.0] < 0 < gains[0.9]


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_correlation": 1.0},
        {"group_correlation": -0.1},
        {"n_groups": 0},
        {"n_groups": 25},
        {"cardinality": 0.9},
        {"cardinality": 13.0},
        {"cardinality": 1.0},
        {"cardinality": 1.1, "least_positives": 100},
        {"n_train": 0},
        {"n_train": 900},
    ],
)
def test_what_no_data_can_have(wrong):
    with pytest.raises(ValueError, match="must lie"):
        generate("g", **{**SIZES, **wrong}, seed=0)
