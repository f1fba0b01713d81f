"""Help of every command on narrow and wide terminals: no name is cut and no word is lost."""

import re

import pytest
import typer
from typer.testing import CliRunner

from mlrank.cli import app


def commands(command=None, words=()):
    """Yield every command and group, with the words that call it."""
    command = command or typer.main.get_command(app)
    yield words, command
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, (*words, name))


def shown(words, columns):
    return CliRunner().invoke(app, [*words, "--help"], prog_name="mlrank", env={"COLUMNS": str(columns)}).output


# Those of the longest names; panels take rich a while.
WIDEST = [(), ("evaluate",), ("certify",), ("predict",)]


@pytest.mark.parametrize(("columns", "only"), [(40, None), (60, None), (79, WIDEST), (80, WIDEST)])
def test_help_cuts_no_name_of_an_option(columns, only):
    for words, command in commands():
        if only and words not in only:
            continue
        out = shown(words, columns)
        parameters = command.get_params(typer.Context(command))
        names = [name for one in parameters for name in one.opts if name.startswith("-") and not one.hidden]
        assert "--help" in names
        missing = [name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w…-])", out)]
        assert (words, missing) == (words, [])
        assert "…" not in out
        assert [line for line in out.splitlines() if len(line) > columns and " " in line.strip()] == [], words


def test_narrow_help_says_the_same_and_cuts_no_choice():
    for words, command in commands():
        out = " ".join(shown(words, 40).replace("|\n    ", "|").split())
        context = typer.Context(command)
        records = [one.get_help_record(context) for one in command.get_params(context)]
        texts = [command.help, command.epilog or "", *(text for record in records if record for text in record)]
        for text in texts:
            for paragraph in text.replace("`", "").split("\n\n"):
                assert " ".join(paragraph.split()) in out, words
        for name, one in getattr(command, "commands", {}).items():
            assert f" {name} {' '.join(one.help.replace('`', '').split()[:6])}" in out


def test_examples_of_narrow_help_begin_a_line_each():
    lines = shown(["train"], 60).splitlines()
    at = lines.index("Examples:")
    assert lines[at + 2 : at + 4] == ["* mlrank train quickstart", "* mlrank train my.yaml --dry-run"]
    assert lines[lines.index("  -j, --jobs N") + 1] == ("      Worker processes; 0: one for each core. [default: 0]")


@pytest.mark.parametrize("columns", [60, 100])
@pytest.mark.parametrize("words", [[], ["datasets"], ["benchmark"]])
def test_a_group_alone_shows_its_help(words, columns):
    result = CliRunner().invoke(app, words, prog_name="mlrank", env={"COLUMNS": str(columns)})
    assert result.exit_code == 0
    assert result.output.rstrip() == shown(words, columns).rstrip()
