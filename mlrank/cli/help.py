"""Help on narrow terminals: a list of options below one another, since columns side by side would cut their names."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from textwrap import TextWrapper
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["CommandLine"]

# Columns from which on every name fits into the panels of typer, for each command.
PANEL_COLUMNS = 80


class _Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, ctx, formatter, super().format_help)


class _Group(TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, ctx, formatter, super().format_help)


class CommandLine(typer.Typer):
    """Commands whose help loses no name of an option, however narrow the terminal; a group alone shows its help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_Group, **settings)

    def command(self, *name: Any, **settings: Any) -> Callable[..., Any]:
        """Register a function as a command; the settings are those of typer."""
        return super().command(*name, cls=_Command, **settings)


def _write_help(command: Any, ctx: Any, formatter: Any, in_panels: Callable[[Any, Any], None]) -> None:
    from rich.console import Console

    if (width := Console().width) >= PANEL_COLUMNS:
        in_panels(ctx, formatter)
    else:
        formatter.write("\n".join(_lines(command, ctx, width)))


def _lines(command: Any, ctx: Any, width: int) -> Iterator[str]:
    """Yield the help of a command in lines of so many characters, but for longer words."""
    yield from _wrapped(command.get_usage(ctx), width, 0, 2)
    yield from _prose(command.help or "", width)
    arguments = [parameter for parameter in command.get_params(ctx) if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.get_params(ctx) if parameter not in arguments]
    yield from _entries("Arguments", [parameter.get_help_record(ctx) for parameter in arguments], width)
    yield from _entries("Options", [parameter.get_help_record(ctx) for parameter in options], width)
    commands = [command.get_command(ctx, name) for name in getattr(command, "commands", ())]
    shown = [(one.name, _first_paragraph(one.help or "")) for one in commands if not one.hidden]
    yield from _entries("Commands", shown, width)
    yield from _prose(command.epilog or "", width)


def _prose(text: str, width: int) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).replace("`", "").split("\n\n") if text else ():
        yield ""
        first, *items = f"\n{paragraph}".split("\n* ")
        yield from _wrapped(first, width, 0, 0)
        for item in items:
            yield from _wrapped(f"* {item}", width, 0, 2)


def _entries(title: str, entries: Sequence[tuple[str, str] | None], width: int) -> Iterator[str]:
    if shown := [entry for entry in entries if entry is not None]:
        yield from ("", f"{title}:")
        for name, text in shown:
            # Between two choices a line may break, but not within one.
            yield from (line.replace("| ", "|") for line in _wrapped(name.replace("|", "| "), width, 2, 4))
            yield from _wrapped(text, width, 6, 6)


def _wrapped(text: str, width: int, first: int, others: int) -> list[str]:
    wrapper = TextWrapper(
        width=width,
        initial_indent=" " * first,
        subsequent_indent=" " * others,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapper.wrap(" ".join(text.split()))


def _first_paragraph(text: str) -> str:
    return inspect.cleandoc(text).split("\n\n")[0].replace("`", "")
