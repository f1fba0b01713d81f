"""The problems of a configuration, gathered so that all of them are reported at once."""

from mlrank.errors import UserError
from mlrank.yamlfile import Positions

__all__ = ["Findings"]


class Findings:
    """The problems of a configuration so far, and where its values stand.

    `stored` says that the configuration is that of a results folder, so no code that it names may be imported.
    """

    def __init__(self, positions: Positions, stored: bool = False) -> None:
        self.positions, self.stored = positions, stored
        self.problems: list[UserError] = []

    def __call__(self, message: str, *where: str | int, key: bool = False) -> None:
        """Add a problem with the value (or the key) at a place of the configuration."""
        self.problems.append(self.positions.error(message, *where, key=key))
