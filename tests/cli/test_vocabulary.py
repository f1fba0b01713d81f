"""The options of all commands: one name for one thing, and help with examples."""

import re
from collections import defaultdict

import pytest
import typer.main

from mlrank.cli import app
from mlrank.datasets.formats import FORMATS
from mlrank.metrics import METRICS
from mlrank.plots import KINDS
from mlrank.recipes import recipes
from mlrank.solvers import SOLVERS


def commands(command, words=("mlrank",)):
    """Yield (words, command) of every command that does something."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield " ".join(words), command
    for name, sub in (inner or {}).items():
        yield from commands(sub, (*words, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def options(command):
    """Yield the options that help shows."""
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def test_all_commands_are_walked():
    assert {"mlrank train", "mlrank predict", "mlrank datasets convert", "mlrank reproduce"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_formats_that_are_read_are_from_and_formats_that_are_written_are_format(name):
    for option in options(COMMANDS[name]):
        about = f"{' '.join(option.opts)} {option.help}"
        reads = re.search(r"[Ff]ormat of the data that are read", about)
        if reads or "--from" in option.opts:
            assert reads
            assert option.opts == ["--from"]
        elif "--format" in option.opts:
            assert option.opts == ["--format", "-f"]
        else:
            assert not re.search(r"\b[Ff]ormat (of|to)\b", about), about


READ_FILES = ("mlrank predict", "mlrank evaluate", "mlrank datasets check", "mlrank datasets convert")


@pytest.mark.parametrize("name", READ_FILES)
def test_commands_that_read_data_files_take_their_format(name):
    assert {"--from", "--zero-based"} <= {word for option in options(COMMANDS[name]) for word in option.opts}


def test_an_option_is_of_one_kind_in_all_commands():
    kinds = defaultdict(set)
    for command in COMMANDS.values():
        for option in options(command):
            short = tuple(word for word in option.opts if not word.startswith("--"))
            long = next(word for word in option.opts if word.startswith("--"))
            kinds[long].add((getattr(option, "is_flag", False), option.multiple and long != "--format", short))
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}


def test_short_forms_stand_for_one_option():
    meant = defaultdict(set)
    for command in COMMANDS.values():
        for option in options(command):
            long = next(word for word in option.opts if word.startswith("--"))
            for word in option.opts:
                if not word.startswith("--"):
                    meant[word].add(long)
    assert {word: found for word, found in meant.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_option_is_a_phrase_and_each_command_has_examples_of_itself(name):
    command = COMMANDS[name]
    examples = re.findall(r"\* `([^`]*)`", command.help.split("Examples:")[1])
    assert examples
    assert all(name in example for example in examples)
    for option in options(command):
        assert re.match(r"[A-Z0-9a-z:]", option.help or ""), option.opts
        assert option.help.endswith(".")


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (("datasets", "check", "no.dat"), "--format", "--from"),
        (("datasets", "convert", "yeast", "no.dat"), "--to", "--format"),
    ],
)
def test_old_spellings_work_and_are_not_shown(words, old, new):
    from typer.testing import CliRunner

    def outcome(option):
        return str(CliRunner().invoke(app, [*words, option, "nonsense"]).exception)

    assert outcome(old) == outcome(new)
    assert "nonsense" in outcome(new)
    command = COMMANDS["mlrank " + " ".join(words[:2])]
    assert old == "--format" or all(old not in option.opts for option in options(command))


def test_help_names_the_keys_of_what_has_keys():
    shown = {
        name: " ".join(f"{one.help} {command.help} {command.epilog}" for one in command.params)
        for name, command in COMMANDS.items()
    }
    keys = {
        "evaluate": METRICS,
        "table": METRICS,
        "compare": METRICS,
        "report": METRICS,
        "plot": [*METRICS, *KINDS],
        "datasets check": FORMATS,
        "datasets convert": FORMATS,
        "predict": FORMATS,
        "check-solver": SOLVERS,
        "reproduce": recipes(),
    }
    for name, names in keys.items():
        text = next(text for command, text in shown.items() if command.endswith(name))
        assert [key for key in names if not re.search(rf"\b{re.escape(key)}\b", text)] == [], name
