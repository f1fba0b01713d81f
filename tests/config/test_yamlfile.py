import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.errors import UserError
from mlrank.scalars import plain_scalar
from mlrank.yamlfile import _READ_OTHERWISE, FileErrors, document_of, dump_yaml, load_yaml, parse_yaml


def told(text: str) -> list[str]:
    """Return the lines of all problems of a text."""
    try:
        document = parse_yaml(text, "f.yaml")
    except UserError as error:
        return [str(error)]
    return [str(problem) for problem in document.problems]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("~", None),
        ("null", None),
        ("", None),
        ("1e-3", 0.001),
        ("1.0e3", 1000.0),
        ("1E+2", 100.0),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("010", 10),
        ("-7", -7),
        ("+7", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("2026-11-01", "2026-11-01"),
        ("1.2.3", "1.2.3"),
        ("e5", "e5"),
        (".", "."),
        ("=", "="),
        ("٣", "٣"),
    ],
)
def test_core_schema(word, value):
    found = plain_scalar(word)
    assert found == value
    assert type(found) is type(value)
    assert parse_yaml(f"a: {word}", "f").data == {"a": value}
    assert parse_yaml(f"a: '{word}'", "f").data == {"a": word}


def test_nan():
    assert math.isnan(parse_yaml("a: .nan", "f").data["a"])


def test_positions_of_keys_and_values():
    positions = parse_yaml("a:\n  b: [1,\n      {c: 2}]\n'd': x\n", "f").positions
    assert positions.values[("a", "b")] == (2, 6)
    assert positions.values[("a", "b", 0)] == (2, 7)
    assert positions.values[("a", "b", 1, "c")] == (3, 11)
    assert positions.keys[("a", "b", 1, "c")] == (3, 8)
    assert positions.keys[("d",)] == (4, 1)
    assert str(positions.error("bad", "a", "b", 1, "c", key=True)) == "f:3:8: bad"
    # What is absent is placed at what would hold it.
    assert str(positions.error("absent", "a", "b", 1, "z", 4)) == "f:3:7: absent"
    assert str(positions.error("absent", "zz")) == "f:1:1: absent"


def test_aliases_share_a_value():
    document = parse_yaml("a: &x [1, 2]\nb: *x\n", "f")
    assert document.data == {"a": [1, 2], "b": [1, 2]}
    assert document.positions.values[("b", 1)] == (1, 11)


def test_keys_are_text():
    assert parse_yaml("1: a\ntrue: b\n010: c\n", "f").data == {"1": "a", "true": "b", "010": "c"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "f.yaml:1:1: the file is empty, 'key: value' lines were expected"),
        ("# only a comment\n", "f.yaml:1:1: the file is empty, 'key: value' lines were expected"),
        ("- a\n", "f.yaml:1:1: the top level must be made of 'key: value' lines"),
        ("\n  word", "f.yaml:2:3: the top level must be made of 'key: value' lines"),
        ("a: 1\nb:\n\tc: 1\n", "f.yaml:3:1: a tab cannot indent or separate YAML; use spaces"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document begins here; a file holds one"),
        ("a: [1, 2\n", "f.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: b: c", "f.yaml:1:5: not valid YAML: mapping values are not allowed here"),
        ("a: *x", "f.yaml:1:4: not valid YAML: found undefined alias 'x'"),
        ("a: x\x00", "f.yaml:1:5: the character U+0000 is not allowed"),
        ('a: 1\nb: "\\UFFFFFFFF"', "f.yaml:2:7: not valid YAML: a number here is out of range"),
        ('a: "\\ud800"', "f.yaml:1:4: half of a surrogate pair is not text"),
        ("a: &x [*x]", "f.yaml:1:4: aliases lead to a value that contains itself"),
        ("a: " + "[" * 60, "f.yaml:1:53: values are nested more than 50 deep"),
        ("a: 1\na: 2\n", "f.yaml:2:1: the key 'a' is repeated; it is first given at 1:1"),
        ("a: {b: 1, 'b': 2}\n", "f.yaml:1:11: the key 'b' is repeated; it is first given at 1:5"),
        (
            "a: !!python/object/apply:os.system [echo]",
            "f.yaml:1:4: tags are not allowed, found '!!python/object/apply:os.system'; write the plain value",
        ),
        ("a: !!int 3", "f.yaml:1:4: tags are not allowed, found '!!int'; write the plain value"),
        ("a: ! 3", "f.yaml:1:4: tags are not allowed, found '!'; write the plain value"),
        ("? [1]\n: 2", "f.yaml:1:3: a key must be a word, found a list or mapping"),
        ("x: &d {a: 1}\ny:\n  <<: *d\n", "f.yaml:3:3: merge keys ('<<') are not supported; write the keys out"),
        ('"a\\nb": 1', "f.yaml:1:1: a key must be printable text, found 'a\\nb'"),
        ("'': 1", "f.yaml:1:1: a key must be printable text, found ''"),
        ("a: 9223372036854775808", "f.yaml:1:4: whole numbers must stay within 64 bits; write 1e30 for a large one"),
        ("a: -" + "9" * 5000, "f.yaml:1:4: whole numbers must stay within 64 bits; write 1e30 for a large one"),
        ("a: 0x" + "f" * 5000, "f.yaml:1:4: whole numbers must stay within 64 bits; write 1e30 for a large one"),
    ],
)
def test_bad_text(text, line):
    assert told(text) == [line]


def test_alias_bomb_is_capped():
    bomb = "a: &a [x]\n" + "".join(
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )
    (line,) = told(bomb)
    assert line.endswith("more than 100000 values once aliases are written out")


def test_long_alias_chain_is_capped():
    chain = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 200))
    (line,) = told(chain)
    assert line.endswith("aliases lead to values nested more than 50 deep")


def test_all_problems_of_a_file_at_once_and_in_order(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_text("a: 1\nb: !!str x\na: 2\n? [q]\n: 1\n")
    with pytest.raises(FileErrors) as caught:
        load_yaml(path)
    error = caught.value
    assert [(problem.line, problem.column) for problem in error.problems] == [(2, 4), (3, 1), (4, 3)]
    assert str(error) == "\n".join(str(problem) for problem in error.problems)
    assert (error.path, error.line, error.column) == (path, 2, 4)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_unreadable_files(tmp_path):
    def line(path):
        with pytest.raises(UserError) as caught:
            load_yaml(path)
        return str(caught.value)

    assert line(tmp_path / "none.yaml") == f"{tmp_path}/none.yaml: there is no such file"
    assert line(tmp_path) == f"{tmp_path}: this is a folder, a YAML file was expected"
    assert line("a\x00b") == r"a\x00b: the file cannot be read: embedded null byte"
    bad = tmp_path / "bad.yaml"
    bad.write_bytes("a: 1\r\nb: é".encode() + b"\xff")
    assert line(bad) == f"{bad}:2:5: the byte 0xff is not UTF-8 text; save the file as UTF-8"


def test_byte_order_mark_is_read_over(tmp_path):
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    data, positions = load_yaml(path)
    assert data == {"a": 1}
    assert positions.keys[("a",)] == (1, 1)


text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
words = st.sampled_from(
    [
        "no",
        "1e3",
        "1E5",
        "0o17",
        "010",
        "0x1f",
        "~",
        "true",
        ".5",
        "5.",
        "=",
        "<<",
        "1_0",
        "2001-01-01",
        "- a",
        "a: b",
        "#",
    ]
)
leaves = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | text | words


def mappings(values):
    keys = (text | words).filter(lambda key: key.isprintable() and key.strip() and key != "<<")
    return st.dictionaries(keys, values, max_size=4)


data = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | mappings(inner), max_leaves=12)


@settings(max_examples=200, deadline=None)
@given(mappings(data).filter(bool))
def test_dump_reads_back_as_the_same_data(value):
    def typed(item):
        if isinstance(item, dict):
            return [(key, typed(inner)) for key, inner in item.items()]
        return [typed(inner) for inner in item] if isinstance(item, list) else (type(item), item)

    document = parse_yaml(dump_yaml(value), "f.yaml")
    assert document.problems == []
    assert typed(document.data) == typed(value)
    assert typed(document_of(value, "mapping").data) == typed(value)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}&*!?,|>'\"%@#\n\t 01.e~<\\xU\x00\u2028é"), max_size=40) | st.text(max_size=60))
def test_any_text_is_data_or_a_one_line_error(source):
    for line in told(source):
        assert re.fullmatch(r"f\.yaml:[0-9]+:[0-9]+: [^\n\r\x85\u2028\u2029]+", line)


def read_by(pattern, source, monkeypatch):
    """Return what a text gives where `pattern` chooses the texts for the parser in Python."""
    monkeypatch.setattr("mlrank.yamlfile._READ_OTHERWISE", pattern)
    try:
        document = parse_yaml(source, "f.yaml")
    except UserError as error:
        return str(error)
    return repr(document.data), document.positions, [str(problem) for problem in document.problems]


EVERY = re.compile("")
TEXTS = [path.read_text("utf-8") for path in sorted(Path(__file__).parents[2].glob("configs/**/*.yaml"))]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no parser in C here")
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_the_parser_in_c_gives_what_that_in_python_gives(data):
    """Texts of any signs, and parts of our own files with a sign or two changed: most of these can be read."""
    signs = st.sampled_from("ab:-[]{},|>'\"%@#\n 01.e~<+\\xU&*!?\té\ufeff\u2028\x85😀")
    source = data.draw(st.text(signs, max_size=40) | st.sampled_from(TEXTS).flatmap(lambda text: damaged(text, signs)))
    with pytest.MonkeyPatch.context() as patch:
        assert read_by(_READ_OTHERWISE, source, patch) == read_by(EVERY, source, patch)


@st.composite
def damaged(draw, text, signs):
    start = text.rfind("\n", 0, draw(st.integers(0, len(text)))) + 1
    part = text[start : start + draw(st.integers(0, 300))]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(part)))
        part = part[:place] + draw(signs) + part[place + draw(st.integers(0, 1)) :]
    return part


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no parser in C here")
@pytest.mark.parametrize(
    "source",
    [
        "a: &b [1, *b]",
        "a: {b: , c: 1}",
        "a: {b: }",
        "- a:",
        "? a",
        "a: |# no\n  b",
        "a: >\n  b\n  c\n",
        "a: [x?y]",
        "a: b\tc",
        "a: !t b",
        "!*x*: 1",
        "a: !*x*=!b c",
        "a: " + "[" * 60,
        "a: " + "- " * 60 + "1",
        "😀é: [é, 😀, x]",
        "a: 'x\n\n  y' \nb: \"\\x41\\u00e9\"",
    ],
)
def test_both_parsers_place_and_refuse_alike(source, monkeypatch):
    assert read_by(_READ_OTHERWISE, source, monkeypatch) == read_by(EVERY, source, monkeypatch)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML has no parser in C here")
def test_configurations_are_read_by_the_parser_in_c(monkeypatch):
    slow = [read_by(EVERY, text, monkeypatch) for text in TEXTS]
    monkeypatch.undo()
    monkeypatch.setattr("mlrank.yamlfile._Loader", None)  # the one in Python
    assert len(TEXTS) > 20
    assert [read_by(_READ_OTHERWISE, text, monkeypatch) for text in TEXTS] == slow


def test_dump_differs_from_pyyaml_only_in_quotes():
    assert dump_yaml({"b": "1e3", "a": ["x", 1]}) == "b: '1e3'\na:\n- x\n- 1\n"
    assert yaml.safe_load(dump_yaml({"a": 1.5, "b": None})) == {"a": 1.5, "b": None}


def test_a_mapping_of_python_becomes_plain_data():
    given = {"a": (1, np.int64(2)), "b": np.float64(0.5), "c": {"d": Path("x") / "y"}, "e": True}
    data = document_of(given, "mapping").data
    assert data == {"a": [1, 2], "b": 0.5, "c": {"d": str(Path("x") / "y")}, "e": True}
    assert [type(value) for value in (*data["a"], data["b"], data["e"])] == [int, int, float, bool]


def test_every_value_that_yaml_could_not_hold_is_named_by_its_keys():
    ring = []
    ring += [ring, ring]
    given = {"a": {"b": [1, {2}]}, "c": 2**63, 3: "x", "d": "\ud800", "ring": ring}
    with pytest.raises(FileErrors) as caught:
        document_of(given, "experiment")
    assert [str(problem) for problem in caught.value.problems] == [
        "experiment: a.b.1: set is no plain value",
        "experiment: c: whole numbers must stay within 64 bits; write 1e30 for a large one",
        "experiment: a key must be printable text, found 3",
        "experiment: d: half of a surrogate pair is not text",
        "experiment: ring.0: a value contains itself",
        "experiment: ring.1: a value contains itself",
    ]


def test_a_deep_mapping_is_refused():
    deep = {}
    for _ in range(60):
        deep = {"a": deep}
    with pytest.raises(FileErrors, match="nested more than 50 deep"):
        document_of(deep, "mapping")
