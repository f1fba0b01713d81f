"""Retired words, for which the field has its own, stay out of the package and its pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each with the word to use. A word counts also as a part of a name: `_told`, `wanted_labels`.
RETIRED = {
    "desk": "coordinator",
    "shelf": "fit cache",
    "twins": "equivalent points",
    "wanted": "selected, requested or expected",
    "told": "reported",
    "said": "note or message",
}
WORDS = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(RETIRED)})(?![A-Za-z])", re.IGNORECASE)
# As names alone, since both are ordinary words besides: a cache called `keep`, a module `_eight`.
NAMES = re.compile(r"\b(?:\w*[a-z]Keep|keeps?(?==[^=])|(?<=\.)keeps?|_eight)\b")


def sources() -> list[Path]:
    package = [path for path in (ROOT / "mlrank").rglob("*.py") if "share" not in path.parts]
    written = ("build", "copied", "gallery", "api")
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in written]
    return sorted([*package, *pages, ROOT / "README.md", *(ROOT / "configs").rglob("*.yaml")])


def retired_words(text: str) -> list[str]:
    return WORDS.findall(text) + NAMES.findall(text)


def test_retired_words_stay_out():
    found = []
    for path in sources():
        text = path.read_text("utf-8")
        if retired_words(text):
            lines = enumerate(text.splitlines(), start=1)
            found += [
                f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for number, line in lines if retired_words(line)
            ]
    assert len(sources()) > 100
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "the desk",
        "_Shelf()",
        "twins_of(x)",
        "labels_wanted",
        "it is told",
        "FileKeep()",
        "f(keep=None)",
        "task.keep",
        "_eight.py",
    ],
)
def test_a_planted_word_is_seen(text):
    assert retired_words(text)


@pytest.mark.parametrize("text", ["the folder retold", "unwanted", "a desktop", "it keeps rows", "eight bytes"])
def test_other_words_pass(text):
    assert not retired_words(text)
