"""What is printed can neither control the terminal nor fail for its encoding, wherever the text comes from."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from mlrank.errors import escaped_lines

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["new_console", "safe_output"]


class _EscapingStream:
    """A text stream that writes control characters as escapes, and raises broken pipes without their number.

    By the number typer would end with exit code 1, though a reader that has read enough, as `head` does, is no error.
    Consoles of rich write to the stream behind it, since they style text by such characters; `new_console` makes those
    that escape the text itself.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        try:
            return self.rich_proxied_file.write(escaped_lines(text))
        except BrokenPipeError:
            raise BrokenPipeError from None

    def flush(self) -> None:
        try:
            self.rich_proxied_file.flush()
        except BrokenPipeError:
            raise BrokenPipeError from None

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def safe_output() -> Iterator[None]:
    """Escape control characters in what the block prints, and replace characters that the terminal has not."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.stdout, sys.stderr = (cast(TextIO, _EscapingStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def new_console(**settings: Any) -> "Console":
    """Return a console of rich that escapes control characters in what it prints; the settings are those of rich."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class _EscapingConsole(Console):
        def print(self, *objects: Any, **how: Any) -> None:
            # Before lines are measured and cut.
            super().print(*(escaped_lines(part) if isinstance(part, str) else part for part in objects), **how)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # as from any other print

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=escaped_lines(segment.text))

    return _EscapingConsole(**settings)
