"""The table of formats: one object says all of a format, and what it says holds together."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from mlrank import load_dataset
from mlrank.datasets import formats
from mlrank.datasets.formats import FORMATS, Source, format_of, format_to_write
from mlrank.errors import UserError


@pytest.mark.parametrize("key", FORMATS)
def test_a_format_is_consistent(key):
    form = FORMATS[key]
    assert form.key == key
    assert set(form.options) <= {field.name for field in fields(Source)} - {"parts"}
    assert not set(form.no_effect) & set(form.options)
    assert "label_columns" in FORMATS[form.by_columns].options if form.by_columns else True
    assert all(ending == ending.lower() and ending.startswith(".") for ending in (*form.endings, form.written))


def test_formats_that_share_an_ending_tell_files_apart():
    for ending in {ending for form in FORMATS.values() for ending in form.endings}:
        sharing = [form for form in FORMATS.values() if ending in form.endings]
        assert len(sharing) == 1 or (None not in {form.sniff for form in sharing}), ending


@pytest.mark.parametrize("key", FORMATS)
def test_every_ending_written_has_a_format(key):
    written = format_to_write(Path(f"a{FORMATS[key].written}"), None)
    assert written.written == FORMATS[key].written


def test_one_line_in_the_table_adds_a_format(monkeypatch, tmp_path):
    names = {"key": "plain", "endings": (".plain",), "written": ".plain"}
    plain = replace(FORMATS["csv"], **names, no_effect={"zero_based": "no numbers"})
    monkeypatch.setitem(formats.FORMATS, "plain", plain)
    path = tmp_path / "d.plain"
    path.write_text("a,l\n1,1\n2,0\n")
    assert format_of(path, Source((path,))) == "plain"
    assert load_dataset(path, label_columns=["l"]).X.ravel().tolist() == [1, 2]
    with pytest.raises(UserError, match="no numbers"):
        load_dataset(path, label_columns=["l"], zero_based=True)
    with pytest.raises(UserError, match=r"Did you mean 'plain'"):
        load_dataset(path, label_columns=["l"], format="plan")
