"""Where the problems of a config are gathered, so that all of them are told at once."""

from mlrank.errors import UserError
from mlrank.yamlfile import Positions

__all__ = ["Report"]


class Report:
    """Problems found so far, and where the values of the file stand.

    `stored` says that the file is that of a results folder, so that no code which it names may be imported.
    """

    def __init__(self, positions: Positions, stored: bool = False) -> None:
        self.positions, self.stored = positions, stored
        self.problems: list[UserError] = []

    def __call__(self, message: str, *where: str | int, key: bool = False) -> None:
        """Note a problem with the value (or the key) at a place of the file."""
        self.problems.append(self.positions.error(message, *where, key=key))
