"""The compiled number scanner against Python's float and against a grammar written as a regular expression."""

import re

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlrank.datasets.formats import _scan
from mlrank.datasets.formats.numbers import reread_numbers
from mlrank.datasets.formats.text import LineBlock

GRAMMAR = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def scan(text):
    """Return what is read at the start of `text`, as (value, stop)."""
    content = text.encode() + b"\n"
    value, stop, how = _scan.number(np.frombuffer(content, np.uint8), 0)
    assert how != _scan.NO_NUMBER
    if how == _scan.REROUND:
        values = np.zeros(1)
        reread_numbers(LineBlock("f", content, 1), np.array([[0, stop, 0]]), values)
        value = values[0]
    return value, stop


def same(left, right):
    return np.float64(left).tobytes() == np.float64(right).tobytes()


@settings(deadline=None, max_examples=400)
@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
@example(2.0**53 + 1)
def test_every_float_is_read_back_from_its_shortest_text(number):
    for text in (repr(number), f"{number:.17e}", f"{number:+.6f}", f"{number:.30G}"):
        value, stop = scan(text)
        assert stop == len(text)
        assert same(value, float(text))


@settings(deadline=None, max_examples=400)
@given(
    st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True).filter(
        lambda text: GRAMMAR.fullmatch(text) and abs(float(text)) < np.inf
    )
)
@example("9007199254740993")
@example("9007199254740992e22")
@example("9007199254740993e-22")
@example("123456789012345678e1")
@example("1234567890123456789")
@example("0." + "0" * 30 + "1")
@example("1" + "0" * 30)
@example("0" * 40 + "1.5")
@example("1e-400")
@example("0e99999")
def test_rounding_is_correct_for_any_digits(text):
    value, stop = scan(text)
    assert stop == len(text)
    assert same(value, float(text))


@settings(deadline=None, max_examples=400)
@given(st.text("+-.0123456789eE ,x", max_size=8))
def test_only_the_grammar_is_a_number(text):
    expected = GRAMMAR.match(text)
    _, stop, how = _scan.number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)
    found = how != _scan.NO_NUMBER
    if re.match(r"[+-]?(\d+\.?\d*|\.\d+)[eE](?![+-]?\d)", text):
        assert not found  # an exponent without digits is not cut off silently
    elif expected is None:
        assert not found
    else:
        assert found
        assert stop == expected.end()


def test_numbers_of_all_digits_are_seldom_read_twice():
    numbers = np.random.default_rng(0).normal(size=300).tolist()
    texts = [np.frombuffer(repr(number).encode() + b"\n", np.uint8) for number in numbers]
    assert [_scan.number(text, 0)[::2] for text in texts] == [(number, _scan.EXACT) for number in numbers]
