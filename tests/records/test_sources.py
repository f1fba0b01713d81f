"""Files behind a class of the user's own: found without running them, and only those that its module uses."""

import sys
from pathlib import Path

import pytest

from mlrank.errors import UserError
from mlrank.records import sources
from mlrank.records.sources import source_hashes

FILES = {
    "mine.py": "import json\nimport helper\nfrom tools.deep import thing\nraise RuntimeError('this was run')\n",
    "helper.py": "import other\nimport mine\nfrom mlrank.errors import UserError\n",
    "other.py": "x = 1\n",
    "unused.py": "x = 1\n",
    "mlrank/errors.py": "x = 1\n",
    "tools/__init__.py": "raise RuntimeError('this was run')\n",
    "tools/deep.py": "from . import near\nfrom .near import far\nfrom .. import nowhere\n",
    "tools/near.py": "import unused.x\n",
    "tools/alone.py": "def broken(:\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    sources._first_hashes.cache_clear()
    return tmp_path


def test_a_module_counts_with_all_that_it_imports_from_its_folder(folder):
    names = ["helper.py", "mine.py", "other.py", "tools/__init__.py", "tools/deep.py", "tools/near.py", "unused.py"]
    assert list(source_hashes("mine:Solver")) == names
    assert "mine" not in sys.modules


def test_of_a_package_its_own_files_count(folder):
    (folder / "tools/deep.py").write_text("import helper\nfrom tools import near\n")
    assert list(source_hashes("tools.deep:Solver")) == ["tools/__init__.py", "tools/deep.py", "tools/near.py"]
    assert list(source_hashes("tools.alone:Solver")) == ["tools/__init__.py", "tools/alone.py"]
    assert list(source_hashes("tools:Solver")) == ["tools/__init__.py"]


def test_an_edit_changes_the_hash_of_its_file_alone(folder):
    before = source_hashes("mine:Solver")
    (folder / "other.py").write_text("x = 2\n")
    after = source_hashes("mine:Solver")
    assert {name for name in before if before[name] != after[name]} == {"other.py"}


def test_of_installed_modules_their_neighbors_do_not_count(folder, monkeypatch):
    place = folder / "site-packages"
    place.mkdir()
    (place / "single.py").write_text("import beside\n")
    (place / "beside.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(place))
    assert list(source_hashes("single:Solver")) == ["single.py"]


def test_what_has_no_file_has_no_hashes(folder):
    assert source_hashes("no_such_module:Solver") == {}
    assert source_hashes("builtins:Solver") == {}


def test_an_edit_after_the_import_is_refused(folder):
    (folder / "fresh.py").write_text("x = 1\n")
    import fresh

    try:
        assert list(source_hashes("fresh:Solver")) == ["fresh.py"]
        Path(fresh.__file__).write_text("x = 2\n")
        with pytest.raises(UserError, match=r"'fresh:Solver': fresh.py changed after it was imported; start Python"):
            source_hashes("fresh:Solver")
    finally:
        del sys.modules["fresh"]
