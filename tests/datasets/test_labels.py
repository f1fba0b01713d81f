"""Label names: Mulan XML and plain text."""

import pytest

from mlrank.datasets.formats.names import read_labels
from mlrank.errors import UserError
from tests.datasets.writers import put, xml_of

BOMB = """<?xml version="1.0"?>
<!DOCTYPE labels [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<labels><label name="&b;"/></labels>"""
OUTSIDE = '<!DOCTYPE labels SYSTEM "file:///etc/hostname">\n<labels><label name="a"/></labels>'


def refused(folder, content, name="n_xml"):
    (path,) = put(folder, **{name: content})
    with pytest.raises(UserError) as caught:
        read_labels(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), path.name)


def test_names_in_order_with_escapes(tmp_path):
    names = ["b", "a", "Swainson's Thrush", 'the "quoted" <one>', "A & B", "ü", " x "]
    (path,) = put(tmp_path, n_xml=xml_of(names))
    tree = read_labels(path)
    assert tree.names == tuple(names)
    assert set(tree.parents) == {-1}
    assert tree.places[2] == (5, 3)


def test_nesting_a_prefix_and_no_newline_at_the_end(tmp_path):
    xml = '<m:labels xmlns:m="u"><m:label name="1"><m:label name="1/2"/></m:label><m:label name="3"/></m:labels>'
    (path,) = put(tmp_path, n_xml=xml)
    tree = read_labels(path)
    assert tree.names == ("1", "1/2", "3")
    assert tree.parents == (-1, 0, -1)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_declared_encoding_is_followed(tmp_path, encoding):
    xml = f'<?xml version="1.0" encoding="{encoding}"?><labels><label name="\xe9"/></labels>'
    if encoding == "utf-16":
        assert "UTF-16" in refused(tmp_path, xml.encode(encoding))
        return
    (path,) = put(tmp_path, n_xml=xml.encode(encoding))
    assert read_labels(path).names == ("é",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "n.xml:1:1: not well-formed XML: no element found"),
        ("<labels>\n<label name='a'>\n</labels>", "n.xml:3:3: not well-formed XML: mismatched tag"),
        (
            "<labels><label name='a'/>\n<label name='b'/><label name='a'/></labels>",
            "n.xml:2:18: label 'a' is named twice, first in line 1",
        ),
        ("<labels>\n <label id='a'/></labels>", "n.xml:2:2: this <label> has no name attribute"),
        ("<labels><lable name='a'/></labels>", "n.xml:1:9: expected the element <label>, found <lable>"),
        ("<html/>", "n.xml:1:1: expected the element <labels>, found <html>"),
        ("<labels/>", "n.xml:1:1: names no label"),
        (BOMB, "n.xml:1:1: document types and entities are not allowed"),
        (OUTSIDE, "n.xml:1:1: document types and entities are not allowed"),
        ("<?xml version='1.0' encoding='nonsense'?><labels/>", "n.xml:1:"),
        (b"<labels><label name='\xff'/></labels>", "n.xml:1:"),
    ],
)
def test_mistakes_in_xml(tmp_path, content, said):
    assert refused(tmp_path, content).startswith(said)


def test_plain_text(tmp_path):
    (path,) = put(tmp_path, n_txt="first\r\nsecond, with 'more'\r\n ü \r\n\r\n")
    assert read_labels(path).names == ("first", "second, with 'more'", "ü")
    assert refused(tmp_path, "a\n\nb\n", "n_txt").startswith("n.txt:2:1: empty line")
    assert refused(tmp_path, "a\nb\na\n", "n_txt") == "n.txt:3:1: label 'a' is named twice, first in line 1"
    assert refused(tmp_path, b"a\nb\xffc\n", "n_txt") == "n.txt:2:2: not UTF-8 text; convert the file to UTF-8"
    assert refused(tmp_path, "", "n_txt").startswith("n.txt:1:1: empty line")
