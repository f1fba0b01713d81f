"""What holds for every test."""

import os
import tempfile

import pytest


@pytest.fixture(scope="session", autouse=True)
def nothing_is_written_to_the_users_cache():
    """Keep parsed copies and downloads of a test run in a folder of its own."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
