"""Fetching from a server that drops, truncates, redirects and corrupts."""

import hashlib
import io
import json
import tarfile
import zipfile

import pytest
from typer.testing import CliRunner

from mlrank import load_dataset
from mlrank.cli.datasets import app
from mlrank.datasets import read_catalogue
from mlrank.datasets.catalogue import Entry, PinnedFile, entries, find_entry, unpack
from mlrank.datasets.catalogue.download import download
from mlrank.datasets.catalogue.fetch import addresses, fetch, fetchable, files_to_fetch
from mlrank.errors import UserError
from tests.datasets.servers import serving
from tests.datasets.writers import WEATHER, WEATHER_XML

CONTENT = bytes(range(256)) * 1000
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server():
    with serving({"a": CONTENT}) as state:
        yield state


def pinned(server, path="a", content=CONTENT, **more):
    sha256 = hashlib.sha256(content).hexdigest()
    return PinnedFile(**({"path": path, "bytes": len(content), "sha256": sha256, "url": server.url(path)} | more))


def get(server, folder, file=None, urls=None):
    file = file or pinned(server)
    seen = []
    download(file, urls or [file.url], folder / "in" / "a", lambda here, size: seen.append((here, size)))
    assert (folder / "in" / "a").read_bytes() == CONTENT
    assert sorted(path.name for path in (folder / "in").iterdir() if ".wrong" not in path.name) == ["a"]
    return seen


def test_a_file_arrives_whole_and_progress_is_told(tmp_path, server):
    seen = get(server, tmp_path)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [here for here, _ in seen] == sorted(here for here, _ in seen)
    assert server.asked == [("a", None)]


@pytest.mark.parametrize("fault", [100_000, "truncate"])
def test_what_breaks_off_is_resumed(tmp_path, server, fault):
    server.faults["a"] = [fault, fault]
    get(server, tmp_path)
    ranges = [asked for _, asked in server.asked]
    assert ranges[0] is None
    starts = [int(asked.removeprefix("bytes=").rstrip("-")) for asked in ranges[1:]]
    assert starts == ([98_304, 196_608] if fault == 100_000 else [len(CONTENT) // 2, len(CONTENT) * 3 // 4])


def test_a_part_from_an_earlier_run_is_used(tmp_path, server):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.part").write_bytes(CONTENT[:5000])
    get(server, tmp_path)
    assert server.asked == [("a", "bytes=5000-")]


@pytest.mark.parametrize("fault", ["ignore range", "elsewhere"])
def test_an_answer_that_begins_elsewhere_is_not_appended(tmp_path, server, fault):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.part").write_bytes(CONTENT[:5000])
    server.faults["a"] = [fault]
    if fault == "elsewhere":
        with pytest.raises(UserError, match=r"sent another file|sends more"):
            get(server, tmp_path)
        get(server, tmp_path)  # what was wrong is out of the way
    else:
        get(server, tmp_path)


def test_redirects_are_followed_also_when_resuming(tmp_path, server):
    server.files["b"] = CONTENT
    server.faults = {"a": ["302 /b", "301 /b"], "b": [100_000]}
    get(server, tmp_path)
    assert server.asked == [("a", None), ("b", None), ("a", "bytes=98304-"), ("b", "bytes=98304-")]


def test_mirrors_are_tried_in_turn_and_go_on_where_the_first_broke_off(tmp_path, server):
    server.files["m"] = CONTENT
    server.faults["a"] = [70_000, 0, 0, 0, 0]
    get(server, tmp_path, urls=[server.url("gone"), server.url("a"), server.url("m")])
    assert server.asked[0] == ("gone", None)
    assert server.asked[-1] == ("m", "bytes=65536-")
    assert [path for path, _ in server.asked].count("a") == 4


def test_a_wrong_file_is_refused_kept_aside_and_the_next_address_asked(tmp_path, server):
    server.files["m"] = CONTENT
    server.faults["a"] = ["corrupt"]
    get(server, tmp_path, urls=[server.url("a"), server.url("m")])
    (aside,) = (tmp_path / "in").glob("a.wrong-*")
    assert aside.read_bytes() == bytes([CONTENT[0] ^ 1]) + CONTENT[1:]


def test_what_every_address_did_is_told(tmp_path, server):
    server.faults = {"a": ["corrupt"], "b": ["503"], "c": ["more"]}
    server.files |= {"b": CONTENT, "c": CONTENT}
    with pytest.raises(UserError) as caught:
        get(server, tmp_path, urls=[server.url(name) for name in ("a", "b", "c", "gone")])
    message = str(caught.value)
    assert "\n" not in message
    for said in (
        "/a: sent another file (sha256",
        "/b: answered 503",
        "/c: sends more than the 256000",
        "/gone: answered 404",
    ):
        assert said in message
    assert not (tmp_path / "in" / "a").exists()


def test_an_address_that_gives_nothing_is_given_up(tmp_path, server):
    server.faults["a"] = [0] * 20
    with pytest.raises(UserError, match="broke off 4 times in turn at byte 0"):
        get(server, tmp_path)


def test_a_full_disk_is_one_line_and_what_came_is_gone_on_from(tmp_path, server, monkeypatch):
    def full(*names):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mlrank.datasets.catalogue.download.os.replace", full)
        with pytest.raises(UserError, match=r"a: cannot write the file: no space left on device$"):
            get(server, tmp_path)
    get(server, tmp_path)
    assert server.asked == [("a", None)]
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UserError, match="a file stands where a folder is needed"):
        get(server, tmp_path / "taken")


def test_an_unpinned_file_is_taken_whole(tmp_path, server):
    server.faults["a"] = [1000]
    get(server, tmp_path, pinned(server, bytes=None, sha256=None))


@pytest.fixture
def weather(server):
    """Return an entry whose files the server has."""
    files = {"train": WEATHER, "test": WEATHER, "labels": WEATHER_XML}
    server.files |= {f"w/{role}": text.encode() for role, text in files.items()}
    fields = find_entry("scene").model_dump() | {"name": "weather", "title": "Weather", "by_hand": ()}
    fields["files"] = {role: pinned(server, f"w/{role}", text.encode()) for role, text in files.items()}
    return Entry(**fields)


def test_an_entry_is_fetched_once(tmp_path, server, weather):
    said = fetch(weather, folder=tmp_path)
    assert said == [f"{tmp_path}/w/{role} fetched" for role in ("train", "test", "labels")]
    asked = len(server.asked)
    assert fetch(weather, folder=tmp_path) == [f"{tmp_path}/w/{role} is here" for role in ("train", "test", "labels")]
    assert len(server.asked) == asked
    (tmp_path / "w" / "test").write_text("mine")
    said = fetch(weather, folder=tmp_path)
    assert "was another file" in said[1]
    (aside,) = (tmp_path / "w").glob("test.wrong-*")
    assert aside.read_text() == "mine"
    assert (tmp_path / "w" / "test").read_text() == WEATHER


def test_mirrors_hold_the_catalogues_paths(tmp_path, server, weather):
    files = {role: file.model_copy(update={"url": server.url("gone")}) for role, file in weather.files.items()}
    entry = weather.model_copy(update={"files": files})
    assert addresses(files["test"], ["http://m/", "http://n"])[1:] == ["http://m/w/test", "http://n/w/test"]
    fetch(entry, folder=tmp_path, mirrors=[server.address])
    assert (tmp_path / "w" / "labels").read_text() == WEATHER_XML


def test_unpinned_entries_are_refused_unless_asked_for(tmp_path, server, weather):
    files = {role: file.model_copy(update={"sha256": None, "bytes": None}) for role, file in weather.files.items()}
    entry = weather.model_copy(update={"files": files})
    with pytest.raises(UserError, match=r"'weather' is unpinned: .* Give --unpinned"):
        fetch(entry, folder=tmp_path)
    assert server.asked == []
    said = fetch(entry, folder=tmp_path, unpinned=True)
    digest = hashlib.sha256(WEATHER.encode()).hexdigest()
    assert said[0] == f"{tmp_path}/w/train fetched, sha256 {digest} (unpinned)"
    assert fetch(entry, folder=tmp_path, unpinned=True)[0] == f"{tmp_path}/w/train is here, sha256 {digest} (unpinned)"
    # The hash of the first fetch stays: another file is told, also where it comes from the same address later.
    (tmp_path / "w" / "train").unlink()
    server.files["w/train"] = b"changed"
    other = hashlib.sha256(b"changed").hexdigest()
    with pytest.raises(UserError, match=f"fetched first: sha256 {other}, and {digest} in train.sha256"):
        fetch(entry, folder=tmp_path, unpinned=True)


def test_fetched_sets_load_by_name(tmp_path, monkeypatch, server, weather):
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(entries, "read_catalogue", lambda: {"weather": weather})
    monkeypatch.setenv("COLUMNS", "300")
    result = CliRunner().invoke(app, ["fetch", "weather"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert load_dataset("weather").source == "Weather, from the cache"
    listed = CliRunner().invoke(app, ["fetch", "weather", "--list"]).output
    assert weather.files["test"].sha256 in listed
    assert server.url("w/test") in listed
    plain = json.loads(CliRunner().invoke(app, ["fetch", "weather", "--list", "--json"]).output)
    assert [file["path"] for file in plain[0]["files"]] == ["w/train", "w/test", "w/labels"]


def test_a_set_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, server, weather):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files = {role: file.model_copy(update={"url": server.url("gone")}) for role, file in weather.files.items()}
    broken = weather.model_copy(
        update={"name": "broken", "files": {"train": files["train"].model_copy(update={"path": "x"})}}
    )
    monkeypatch.setattr(entries, "read_catalogue", lambda: {"broken": broken, "weather": weather})
    result = CliRunner().invoke(app, ["fetch", "broken", "weather", "--quiet"])
    assert isinstance(result.exception, UserError)
    assert "cannot get x" in str(result.exception)
    assert (tmp_path / "mlrank" / "w" / "labels").is_file()


def test_what_cannot_be_fetched_says_why():
    entries = read_catalogue()
    assert fetchable(entries["imageclef-standin"]) == "generated: there is nothing to fetch"
    assert "no address" in fetchable(entries["iaprtc12"])
    assert [file.path for file in files_to_fetch(entries["yahoo-arts"])] == [
        "yahoo_arts/zz5000_Arts.mat",
        "yahoo_arts/yahoo-arts.xml",
    ]
    for name in ("imageclef2007", "voc2007", "eurlex4k-xmc", "mediamill"):
        assert fetchable(entries[name]) is None


def zip_of(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def test_an_archive_is_unpacked_beside_itself(tmp_path, server, weather):
    content = zip_of(**{"D/train": WEATHER, "D/test": WEATHER, "D/labels": WEATHER_XML})
    server.files["w.zip"] = content
    files = {role: PinnedFile(path=f"w/D/{role}") for role in ("train", "test", "labels")}
    archive = pinned(server, "w.zip", content)
    entry = weather.model_copy(update={"files": files, "archive": archive})
    assert fetch(entry, folder=tmp_path)[-1] == f"unpacked to {tmp_path}/w"
    assert (tmp_path / "w" / "D" / "test").read_text() == WEATHER
    assert fetch(entry, folder=tmp_path) == [f"{tmp_path}/w.zip is here"]
    files["test"] = PinnedFile(path="w/D/other")
    with pytest.raises(UserError, match=r"w\.zip: lacks w/D/other; it holds w/D/labels, w/D/test, w/D/train"):
        fetch(entry, folder=tmp_path)


def tar_of(*infos):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for info in infos:
            archive.addfile(info, io.BytesIO(b"x" * info.size))
    return file.getvalue()


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return info


def linked_zip():
    info = zipfile.ZipInfo("l")
    info.external_attr = 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (zip_of(**{"../x": "a"}), r"'\.\./x', which leads out"),
        (zip_of(**{"a/../../x": "a"}), "which leads out"),
        (zip_of(**{"/x": "a"}), "which leads out"),
        (zip_of(**{"a\\..\\x": "a"}), "which leads out"),
        (zip_of(**{"C:x": "a"}), "which leads out"),
        (linked_zip(), "'l', which is a link"),
        (tar_of(member("ok"), member("../x")), "which leads out"),
        (tar_of(member("/x")), "which leads out"),
        (tar_of(member("l", tarfile.SYMTYPE, "/etc/passwd")), "which is a link or device"),
        (tar_of(member("l", tarfile.LNKTYPE, "ok")), "which is a link or device"),
        (tar_of(member("d", tarfile.CHRTYPE)), "which is a link or device"),
        (zip_of(a="x" * 200), "unpacks to more than 100 bytes"),
        (zip_of(a="x" * 60, b="x" * 60), "unpacks to more than 100 bytes"),
        (zip_of(**{f"f{n}": "" for n in range(11)}), "holds more than 10 files"),
        (tar_of(member("a"), member("a")), "cannot be unpacked"),
        (zip_of(a="x" * 50).replace(b"xxx", b"xyx"), "cannot be unpacked"),
        (b"Rar!\x1a\x07\x01\x00", "is no zip or tar archive: unpack it by hand"),
    ],
    # Archives hold the time, and the processes of a parallel run must agree on names.
    ids=lambda value: value if isinstance(value, str) else "archive",
)
def test_hostile_archives_leave_nothing_behind(tmp_path, monkeypatch, content, said):
    monkeypatch.setattr(unpack, "MOST_BYTES", 100)
    monkeypatch.setattr(unpack, "MOST_MEMBERS", 10)
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UserError, match=said):
        unpack.unpack(tmp_path / "a.zip", tmp_path / "to" / "here")
    assert list((tmp_path / "to").iterdir()) == []


def test_a_good_tar_is_unpacked(tmp_path):
    (tmp_path / "a.tgz").write_bytes(tar_of(member("d", tarfile.DIRTYPE), member("d/x"), member("e/y")))
    unpack.unpack(tmp_path / "a.tgz", tmp_path / "to")
    assert sorted(str(path.relative_to(tmp_path / "to")) for path in (tmp_path / "to").rglob("*")) == [
        "d",
        "d/x",
        "e",
        "e/y",
    ]


def test_reproduce_fetches_what_its_recipe_wants(tmp_path, monkeypatch, server, weather):
    from importlib import import_module

    reproduce = import_module("mlrank.cli.reproduce")
    from mlrank.recipes import load_recipe

    monkeypatch.delenv("MLRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    recipe = load_recipe("imageclef")
    entry = weather.model_copy(update={"name": "imageclef2007"})
    for module in ("mlrank.recipes.run", "mlrank.datasets.catalogue.entries"):
        monkeypatch.setattr(f"{module}.read_catalogue", lambda: {"imageclef2007": entry})
    assert "imageclef2007" in [option.dataset for option in recipe.data]
    reproduce._fetch(recipe, True)
    assert (tmp_path / "mlrank" / "w" / "labels").is_file()
    asked = len(server.asked)
    reproduce._fetch(recipe, True)
    assert len(server.asked) == asked
