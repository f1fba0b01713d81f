"""Text from data, models and results folders on the terminal: escapes shown, never obeyed, whatever the encoding."""

import io
import sys

import numpy as np
import pytest

from mlrank.cli import main
from mlrank.cli.terminal import new_console, safe_output

HOSTILE = "a\x1b[2J\x9b31m\u202eb\x07"
SHOWN = r"a\x1b[2J\x9b31m\u202eb\x07"


class Terminal(io.TextIOWrapper):
    """A stream of bytes that says that it is a terminal."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self):
        return True

    def text(self):
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def files(tmp_path):
    """A data set of hostile names, and a file that is refused with one."""
    X, Y = np.arange(12.0).reshape(6, 2), np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1]])
    np.savez(tmp_path / "d.npz", X=X, Y=Y, label_names=[HOSTILE, "[red]ü█[/red]"], feature_names=[f"f{HOSTILE}", "g"])
    (tmp_path / "d.csv").write_text(f"x{HOSTILE},l\n1,?\n?,1\n", encoding="utf-8")
    return tmp_path


def printed(monkeypatch, words, encoding="utf-8"):
    """Return what a command prints to a terminal, stdout and stderr."""
    out, err = Terminal(encoding), Terminal(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "argv", ["mlrank", *map(str, words)])
    monkeypatch.setenv("TERM", "xterm-256color")
    with pytest.raises(SystemExit):
        main()
    return out.text(), err.text()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_names_of_a_data_set_are_shown_escaped(monkeypatch, files, encoding):
    out, _ = printed(monkeypatch, ["datasets", "check", files / "d.npz"], encoding)

    assert r"a\x1b[2J\x9b31m\u202e" in out
    for raw in ("\x1b[2J", "\x9b", "\u202e", "\x07"):
        assert raw not in out
    # The commands' own colours are there.
    assert "\x1b[1m" in out
    assert "[red]" in out


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_messages_about_a_file_are_shown_escaped(monkeypatch, files, encoding):
    _, err = printed(monkeypatch, ["datasets", "check", files / "d.csv", "--label-columns", "-1"], encoding)
    assert SHOWN in err
    assert err.count("\n") == 1
    assert err.strip("\n").isprintable()


def test_json_stays_json_on_every_terminal(monkeypatch, files):
    import json

    out, _ = printed(monkeypatch, ["datasets", "check", files / "d.npz", "--json"], "ascii")
    names = [row["label"] for row in json.loads(out)["facts"]["label_frequencies"]]
    assert sorted(names) == sorted([HOSTILE, "[red]ü█[/red]"])


def test_pages_about_a_data_set_have_no_control_characters(monkeypatch, files):
    printed(monkeypatch, ["datasets", "check", files / "d.npz", "--html", files / "d.html"])
    page = (files / "d.html").read_text("utf-8")
    assert SHOWN in page
    assert all(line.isprintable() for line in page.split("\n"))


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["datasets", "list"],
        ["datasets", "info", "yeast"],
        ["explain"],
        ["explain", "ranking_loss"],
        ["reproduce", "--list"],
        ["check-solver", "nothing"],
        ["no-such-command"],
        ["train", "é.yaml"],
        ["status", "é"],
    ],
)
def test_no_command_stops_for_the_encoding(monkeypatch, tmp_path, words):
    monkeypatch.chdir(tmp_path)
    out, err = printed(monkeypatch, words, "ascii")
    assert out or err
    assert "Traceback" not in err


def test_streams_are_themselves_again(monkeypatch):
    stream = Terminal("utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    with safe_output():
        print(HOSTILE, "\ttab", "no\u00a0break")
        sys.stdout.writelines(["a\r", "b\n"])
    assert sys.stdout is stream
    assert stream.text() == f"{SHOWN} \ttab no\u00a0break\na\\rb\n"


def test_a_console_escapes_text_and_keeps_its_style():
    stream = Terminal("utf-8")
    console = new_console(file=stream, force_terminal=True, color_system="standard", highlight=False)
    console.print("a\x1b[2Jb", style="red", markup=False)
    assert stream.text() == "\x1b[31ma\\x1b[2Jb\x1b[0m\n"
