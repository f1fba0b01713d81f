"""One finished run of the small experiment, for the commands that read what training leaves."""

import shutil
import sys

import pytest

from mlrank.cli import main
from tests.cli.test_commands import write_config, write_data


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """What the small experiment leaves in its folder of results, run once by the command line; tests copy it."""
    folder = tmp_path_factory.mktemp("finished")
    write_data(folder)
    write_config(folder / "c.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLRANK_DATA", raising=False)
        patch.setattr(sys, "argv", ["mlrank", "train", "c.yaml", "--jobs", "1", "--quiet"])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert not stopped.value.code
    return folder / "results"


@pytest.fixture
def trained(finished, mlrank, tmp_path):
    """The configuration of the small experiment, with the results that training leaves beside it."""
    shutil.copytree(finished, tmp_path / "results")
    return write_config(tmp_path / "c.yaml")
