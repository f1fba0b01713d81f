"""Splits as papers draw them: a part of each label's rows, and so many rows with one label and with several."""

import numpy as np
import pytest

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment.data import plan
from mlrank.splits import make_splits
from mlrank.yamlfile import FileErrors, dump_yaml

Y = np.random.default_rng(3).random((400, 6)) < [0.5, 0.3, 0.1, 0.05, 0.02, 0.004]


def splits(kind, **more):
    return make_splits(Y, None, 7, kind=kind, **more)


def test_per_class_trains_on_a_tenth_of_each_label():
    found = splits("per_class", parts=10, repeats=3)
    assert [split.name for split in found] == ["r0", "r1", "r2"]
    positives = Y.sum(axis=0)
    assert positives.min() < 10 < positives.max()
    for split in found:
        np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(400))
        # Every label has its part at least; a row drawn for one label counts for its others too.
        assert (Y[split.train].sum(axis=0) >= np.maximum(positives // 10, 1)).all()
        # No row is there without a label that drew it, and no more rows than the parts have together.
        assert Y[split.train].any(axis=1).all()
        assert len(split.train) <= np.maximum(-(-positives // 10), 1).sum()
    assert (found[0].train.tolist()) != (found[1].train.tolist())


def test_per_class_with_disjoint_labels_is_exact():
    labels = np.repeat(np.arange(4), [100, 25, 9, 1])
    one_hot = np.eye(4, dtype=bool)[labels]
    sizes = set()
    for seed in range(40):
        (split,) = make_splits(one_hot, None, seed, kind="per_class", parts=10)
        counts = np.bincount(labels[split.train], minlength=4)
        assert counts[[0, 2, 3]].tolist() == [10, 1, 1]
        sizes.add(int(counts[1]))
    assert sizes == {2, 3}  # 25 rows in ten parts: five parts of 3 and five of 2


def test_every_row_can_be_drawn():
    drawn = np.zeros(400, bool)
    for seed in range(80):
        drawn[make_splits(Y, None, seed, kind="per_class")[0].train] = True
    np.testing.assert_array_equal(drawn, Y.any(axis=1))


def test_strata():
    n_labels = Y.sum(axis=1)
    for split in splits("strata", single=50, multiple=30, repeats=2):
        assert np.bincount(np.minimum(n_labels[split.train], 2)).tolist() == [0, 50, 30]
        np.testing.assert_array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(400))
    first, second = (split.train.tolist() for split in splits("strata", single=50, multiple=30, repeats=2))
    assert first != second
    assert first == splits("strata", single=50, multiple=30)[0].train.tolist()


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("per_class", {"parts": 1}, "per_class needs 2 parts or more, found 1"),
        ("strata", {"single": 5}, "strata needs both single and multiple"),
        ("strata", {"single": 0, "multiple": 0}, "strata would leave 0 train and 400 test rows"),
        ("strata", {"single": 399, "multiple": 1}, "strata requires 399 rows with one label, the data has"),
    ],
)
def test_what_cannot_be_drawn(kind, more, said):
    with pytest.raises(UserError, match=said):
        splits(kind, **more)
    with pytest.raises(UserError, match="per_class would leave 1 train and 0 test rows"):
        make_splits(np.ones((1, 1), bool), None, 0, kind="per_class")


CONFIG = "name: t\ndatasets: [scene]\nmethods: {{A: {{solver: binary_svm}}}}\nsplit: {}\n"


@pytest.mark.parametrize(
    "split", ["{kind: per_class, parts: 5, repeats: 10}", "{kind: strata, single: 1600, multiple: 800}"]
)
def test_configs(split):
    config = parse_config(CONFIG.format(split), "c.yaml")
    assert parse_config(dump_yaml(config.resolved()), "again.yaml") == config


@pytest.mark.parametrize(
    ("split", "said"),
    [
        ("{kind: strata, single: 5}", "c.yaml:4:8: kind 'strata' needs 'multiple': a number of rows"),
        ("{kind: per_class, folds: 3}", "c.yaml:4:26: 'folds' has no effect with kind 'per_class', which uses parts,"),
        ("{kind: per_class, parts: 1}", "c.yaml:4:33: 'parts' must be 2 or more, found 1"),
    ],
)
def test_mistakes_in_configs(split, said):
    with pytest.raises(FileErrors) as caught:
        parse_config(CONFIG.format(split), "c.yaml")
    assert said in str(caught.value)


def test_results_say_how_the_training_rows_were_drawn(tmp_path):
    lines = "".join(f"{row % 3} 1:{row + 1}\n" for row in range(60))
    (tmp_path / "d.svm").write_text(lines)
    config = CONFIG.replace("scene", str(tmp_path / "d.svm"))
    (data,) = plan(parse_config(config.format("{kind: per_class, parts: 4}"), "c.yaml"))
    assert "trained on one of 4 parts of each label's rows, at least one row: 15 rows (seed 0)" in data.changes
    lines += "0,1 1:3\n" * 4
    (tmp_path / "d.svm").write_text(lines)
    (data,) = plan(parse_config(config.format("{kind: strata, single: 20, multiple: 2}"), "c.yaml"))
    assert "trained on 20 rows with one label and 2 with several: 22 rows (seed 0)" in data.changes


def test_more_parts_than_memory_holds_are_as_many_as_there_are_rows():
    Y = np.eye(3, dtype=bool)[np.arange(30) % 3]
    (split,) = make_splits(Y, None, 0, kind="per_class", parts=10**9)
    assert Y[split.train].sum(axis=0).tolist() == [1, 1, 1]
