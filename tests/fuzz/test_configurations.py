"""Configurations with values changed, or text damaged: read, or refused in printable lines."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlrank.config import ExperimentConfig, parse_config
from mlrank.errors import UserError
from mlrank.resources import shipped
from mlrank.yamlfile import dump_yaml
from tests.fuzz.limits import FUZZ, limited
from tests.fuzz.spellings import JSON, changed_value

TEXTS = [
    (shipped("configs") / "quickstart.yaml").read_text("utf-8"),
    "name: a\ndatasets: [yeast, {train: a.svm, test: b.svm, zero_based: true}]\nsplit: {kind: kfold, folds: 3}\n"
    "subset: {top_labels: 3, min_positives: 2}\nscale: standard\nsearch: {folds: 2, metric: f1_micro}\n"
    "methods:\n  A: {solver: rank_hlapsvm, C: '2^-1..2^3', lam: [1, 4], threshold: {kind: svr_midpoint}}\n"
    "  B: {solver: plst, n_components: [1, 0.5], project: {kind: blda}}\nmetrics: [f1_macro, ranking_loss]\nseed: 0\n",
]
LEAVES = st.one_of(
    JSON,
    st.sampled_from(
        ["2^-6..2^13", "2^0..2^9999", "10^400..10^401", "os:system", "..", "1e999", "\x1b[2J", "\u202e", "0x1"]
    ),
    st.sampled_from([0, -1, 10**9, 10**30, 0.5, [], {}, [[]], True]),
)


def check(text):
    with limited():
        try:
            assert isinstance(parse_config(text, "c.yaml"), ExperimentConfig)
        except UserError as error:
            for line in str(error).split("\n"):
                assert line.isprintable()
                assert len(line) < 3000


@pytest.mark.parametrize("text", TEXTS, ids=["quickstart", "many blocks"])
@FUZZ
@given(st.data())
def test_changed_values(text, data):
    values = yaml.safe_load(text)
    for _ in range(data.draw(st.integers(1, 2))):
        values = changed_value(data.draw, values, LEAVES)
    check(dump_yaml(values))


@pytest.mark.parametrize("text", TEXTS, ids=["quickstart", "many blocks"])
@FUZZ
@given(st.data())
def test_damaged_text(text, data):
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 8)))
        piece = data.draw(st.text("{}[]'\"&*!|>%#:,-\n\t \0\x1b019.e^", max_size=5) | st.text(max_size=3))
        text = text[:start] + piece + text[stop:]
    check(text)
