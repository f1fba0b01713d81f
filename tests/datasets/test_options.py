"""What a config can say about data files reaches the readers."""

import numpy as np
import pytest

from mlrank.config import parse_config
from mlrank.experiment.data import plan
from mlrank.yamlfile import FileErrors, dump_yaml
from tests.datasets.writers import put

CONFIG = """
name: t
datasets: [{{{data}}}]
split: {{kind: official}}
methods: {{A: {{solver: binary_svm}}}}
"""


def config_of(data):
    return parse_config(CONFIG.format(data=data), "c.yaml")


def test_options_reach_the_readers_and_survive_writing(tmp_path):
    train, test = put(tmp_path, a_csv="x,l,m\n1,0,1\n,1,0\n5,1,1\n", b_csv="m,x,l\n1,2,0\n")
    config = config_of(f"train: {train}, test: {test}, label_columns: [m, l], impute: mean")
    (data,) = plan(config)
    np.testing.assert_array_equal(data.dataset.X.ravel(), [1, 3, 5, 2])
    assert data.dataset.label_names == ("m", "l")
    assert parse_config(dump_yaml(config.resolved()), "again.yaml") == config
    config = config_of(f"train: {train}, test: {test}, label_columns: -2, impute: median")
    assert parse_config(dump_yaml(config.resolved()), "again.yaml") == config
    variables = config_of('train: a.mat, variables: {X: data, Y: "target\'"}, features: f.txt')
    assert parse_config(dump_yaml(variables.resolved()), "again.yaml") == variables


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("train: a, impute: avg", "c.yaml:3:31: unknown way to impute 'avg'. Known: mean, median, zero."),
        ("train: a, variables: {Z: b}", "c.yaml:3:34: unknown role of a variable 'Z'. Known: X, X_test, Y, Y_test."),
        (
            "train: a, variables: b",
            "c.yaml:3:34: 'variables' must be a mapping such as {X: data, Y: target}, found 'b'",
        ),
        (
            "train: a, label_columns: 1.5",
            "c.yaml:3:38: 'label_columns' must be n for the first n columns, -n for the last",
        ),
        ("train: a, label_columns: 0", "c.yaml:3:38: 'label_columns' must be n for"),
        ("train: a, label_columns: [1]", "c.yaml:3:38: 'label_columns' must be n for"),
    ],
)
def test_wrong_options_are_refused_where_they_stand(data, said):
    with pytest.raises(FileErrors) as caught:
        config_of(data)
    assert str(caught.value).startswith(said)
