"""Where the values of a configuration stand in its file, for mistakes that show only with the data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mlrank.errors import UserError
from mlrank.yamlfile import Positions

__all__ = ["Places"]


@dataclass(frozen=True)
class Places:
    """Positions of values, None if there is no file to look at; equal to any other, as they are no part of a config."""

    positions: Positions | None = field(default=None, compare=False)

    @contextmanager
    def errors_at(self, *where: str | int, about: str = "") -> Iterator[None]:
        """Give a UserError of the block the place of the value at `where`, unless it tells of a place in another file.

        A file that is not there has none, so its name is what is wrong. A setting that the error names is looked for
        inside the value; `about` is put before the message.
        """
        try:
            yield
        except UserError as error:
            if error.path is not None and Path(error.path).exists():
                raise
            message, inner = f"{about}{error}", (error.setting,) if error.setting else ()
            placed = self.positions.error(message, *where, *inner) if self.positions else UserError(message)
            raise placed from error
