"""The catalogue: what it says, where it looks, and what is said about sets that are not here."""

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets import FORMATS, dataset_hash, is_available, read_catalogue
from mlrank.datasets.catalogue import find_entry, locate
from mlrank.datasets.catalogue.label_lists import LABEL_LISTS
from mlrank.errors import UserError
from tests.datasets.writers import WEATHER, WEATHER_XML


@pytest.fixture(autouse=True)
def no_data_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-cache"))


def test_entries_are_complete_and_consistent():
    entries = read_catalogue()
    names = [*entries, *(alias for entry in entries.values() for alias in entry.aliases)]
    assert len(names) == len(set(names))
    for entry in entries.values():
        assert bool(entry.generate) != bool(entry.files)
        assert entry.format is None or entry.format in {**FORMATS, **LABEL_LISTS}
        assert (entry.format in LABEL_LISTS) == bool(entry.features)
        assert (
            (
                any(role.split()[0] == "test" for role in entry.files)
                or "n_train" in entry.generate
                or entry.generate.get("generator") == "plane"
            )
            == (entry.split == "official")
            == (entry.n_test > 0)
        )
        assert entry.format != "mulan" or "labels" in entry.files
        # Files without an address must say from which published ones they were made, or that none is known.
        own = all(file.url for file in entry.files.values()) or entry.archive or entry.generate
        assert own or entry.made_from or "no address is known" in entry.note
        assert all(file.url for file in entry.made_from)
        assert all(file.sha256 and file.bytes for form in entry.also for file in form.files.values())
        # Each file is either pinned in full or not at all, and its entry says so.
        files = [*entry.files.values(), *([entry.archive] if entry.archive else [])]
        assert all((file.sha256 is None) == (file.bytes is None) for file in files)
        assert entry.pinned or "unpinned" in entry.note
        assert entry.citation
        assert entry.embedded.keys() in (set(), entry.files.keys())


def test_the_embedded_yeast():
    yeast = load_dataset("yeast")
    assert yeast.X.shape == (2417, 103)
    assert yeast.Y.shape == (2417, 14)
    assert round(yeast.cardinality, 3) == 4.237
    train, test = yeast.official
    np.testing.assert_array_equal(train, np.arange(1500))
    np.testing.assert_array_equal(test, np.arange(1500, 2417))
    assert yeast.name == "yeast"
    assert yeast.description == "Yeast gene functions, embedded copy"
    # First and last row of the published files.
    np.testing.assert_array_equal(yeast.X[0, :3], [0.0937, 0.139771, 0.062774])
    np.testing.assert_array_equal(yeast.X[1500, :3], [0.004168, -0.170975, -0.156748])
    assert {yeast.label_names[label] for label in np.flatnonzero(yeast.Y[0])} == {"Class3", "Class4"}
    assert {yeast.label_names[label] for label in np.flatnonzero(yeast.Y[1500])} == {
        "Class7",
        "Class8",
        "Class12",
        "Class13",
    }
    positives = dict(zip(yeast.label_names, yeast.Y.sum(axis=0), strict=True))
    assert (positives["Class1"], positives["Class12"], positives["Class14"]) == (762, 1816, 34)


def test_unknown_names_and_missing_sets():
    with pytest.raises(UserError, match=r"unknown data set 'yaest'\. Did you mean 'yeast'\?"):
        load_dataset("yaest")
    with pytest.raises(UserError) as caught:
        load_dataset("emotions")
    assert str(caught.value) == (
        "data set 'emotions' is not on this machine: run 'mlrank datasets fetch emotions', "
        "or set MLRANK_DATA to a folder that holds emotions/emotions-train.arff "
        "emotions/emotions-test.arff emotions/emotions.xml"
    )
    with pytest.raises(UserError, match=r"'yahoo-arts-full' .* has no address of its own: set MLRANK_DATA"):
        load_dataset("yahoo-arts-full")
    assert find_entry("music").name == "emotions"


def test_what_can_be_loaded_from_here():
    assert is_available("yeast")
    assert is_available("imageclef-standin")
    assert not is_available("music")
    with pytest.raises(UserError, match="unknown data set"):
        is_available("nothing")


def test_settings_for_files_are_not_ignored_for_names():
    with pytest.raises(UserError, match="'yeast' is a catalogue name; labels, format can only be given with a file"):
        load_dataset("yeast", labels="x.xml", format="mulan")


@pytest.fixture
def tiny_catalogue(monkeypatch, tmp_path):
    """Put a tiny set into the catalogue's place and return a function that writes its files to a folder."""
    files = {"train": WEATHER, "test": WEATHER, "labels": WEATHER_XML}
    fields = find_entry("scene").model_dump()
    fields["files"] = {
        role: {"path": f"w/{role}", "bytes": len(text), "sha256": "0" * 64, "url": "u"} for role, text in files.items()
    }
    entry = type(find_entry("scene"))(**{**fields, "caveat": "3 of 14 days"})
    monkeypatch.setattr("mlrank.datasets.loading.find_entry", lambda name: entry)

    def write(folder, **changed):
        (folder / "w").mkdir(parents=True)
        for role, text in {**files, **changed}.items():
            (folder / "w" / role).write_text(text)

    return entry, write


def test_order_of_places(monkeypatch, tmp_path, tiny_catalogue):
    entry, write = tiny_catalogue
    assert locate(entry) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path / "cache" / "mlrank")
    assert locate(entry).where == "cache"
    assert load_dataset("scene").source == "Natural scenes, from the cache, 3 of 14 days"
    monkeypatch.setenv("MLRANK_DATA", str(tmp_path / "data"))
    with pytest.raises(UserError, match="MLRANK_DATA names no folder"):
        locate(entry)
    write(tmp_path / "data", test=WEATHER.replace("85", "11"))
    assert locate(entry).where == "MLRANK_DATA"
    data = load_dataset("scene", name="mine")
    assert (data.name, data.X[3, 3]) == ("mine", 11)
    (tmp_path / "data" / "w" / "test").unlink()
    assert locate(entry).where == "cache"  # a set is taken from one place, never mixed


def test_a_file_of_another_size_is_refused(monkeypatch, tmp_path, tiny_catalogue):
    _, write = tiny_catalogue
    monkeypatch.setenv("MLRANK_DATA", str(tmp_path))
    write(tmp_path, test=WEATHER + "\n")
    with pytest.raises(UserError) as caught:
        load_dataset("scene")
    size = len(WEATHER)
    assert str(caught.value) == (
        f"{tmp_path}/w/test: holds {size + 1} bytes, the catalogue's file has {size}: not the same file; get it again"
    )


def test_a_path_wins_where_it_looks_like_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "yeast").write_text("0 1:5\n")
    assert load_dataset("yeast").n_samples == 2417
    assert load_dataset("./yeast", format="libsvm").n_samples == 1
    assert load_dataset(tmp_path / "yeast", format="libsvm").n_samples == 1
    with pytest.raises(UserError, match=r"a\.svm: no such file"):
        load_dataset("a.svm")


@pytest.mark.parametrize(
    ("name", "said"), [("imageclef-standin", "ImageCLEF 2007"), ("mediamill-standin", "MediaMill")]
)
def test_stand_ins_are_generated_as_described(name, said):
    entry, data = find_entry(name), load_dataset(name)
    assert data.description.startswith(f"stand-in data for {said}, generated")
    assert data.stand_in
    assert [len(rows) for rows in data.official] == [entry.n_train, entry.n_test]
    assert (data.n_features, data.n_labels) == (entry.n_features, entry.n_labels)
    assert data.cardinality == pytest.approx(entry.cardinality, rel=1e-3)
    assert dataset_hash(data) == dataset_hash(load_dataset(name))
