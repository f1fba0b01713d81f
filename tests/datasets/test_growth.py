"""Arrays are never too small for the next block, seldom grow, and are not far too large."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlrank.datasets.formats.growth import Growth, resized
from mlrank.datasets.formats.text import LineBlock


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 400)), min_size=1, max_size=60), st.booleans())
def test_there_is_always_room(tmp_path_factory, blocks, foreseen):
    path = tmp_path_factory.getbasetemp() / "growth"
    path.write_bytes(b"x" * (sum(size for _, size in blocks) if foreseen else 0))
    growth, have, used, grown = Growth([path]), 0, 0, 0
    for added, size in blocks:
        block = LineBlock(path, b"x" * size, 1)
        growth.passed(block, used)
        room = growth.room(block, have, used, added, 8)
        assert room >= used + added
        assert room >= have
        grown += room > have
        have, used = room, used + added
    assert growth.bytes_left == 0
    if not foreseen:
        # Each time by a quarter at least: no more often than that takes to get here.
        assert grown <= 2 + np.log(max(used, 1)) / np.log(1.25)


def test_even_blocks_need_room_once(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    (tmp_path / "b").write_bytes(b"x" * 5_000)
    growth, have = Growth([tmp_path / "a", tmp_path / "b"]), 0
    block = LineBlock(tmp_path / "a", b"x" * 1000, 1)
    for number in range(15):
        growth.passed(block, 20 * number)
        room = growth.room(block, have, 20 * number, 20, 8)
        assert room == have or number == 0
        have = room
    assert 300 <= have <= 300 * 1.02 + 1


def test_packed_files_foretell_nothing(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 10_000))
    assert Growth([tmp_path / "a.gz", tmp_path / "missing"]).bytes_left == 0


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_new_rows_are_zero(shape):
    array = np.ones(shape)
    grown = resized(array, 4)
    np.testing.assert_array_equal(grown, np.vstack([np.ones(shape), np.zeros((4 - shape[0], 3))]))
    assert resized(grown, 4) is grown
    assert resized(grown, 1).shape == (1, 3)
