"""Where in the files a row, a feature or a label of a data set stands, for reports."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mlrank.datasets.formats import FORMATS, Source
from mlrank.datasets.formats.base import Columns
from mlrank.datasets.formats.names import LabelTree, read_labels, read_names

__all__ = ["DataPositions"]


@dataclass(frozen=True)
class DataPositions:
    """Positions "file:line" in the files of a data set of the format `key`; without lines where the format has none.

    `sizes` are the numbers of rows of the parts; `key` is None for generated data.
    """

    key: str | None
    source: Source
    sizes: tuple[int, ...]

    def rows(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the positions of rows."""
        numbers = list(numbers)
        positions: dict[int, str] = {}
        start = 0
        for path, size in zip(self.source.parts, self.sizes, strict=False):
            here = sorted({row - start for row in numbers if start <= row < start + size})
            positions |= {row + start: place for row, place in self._in_part(path, here).items()}
            start += size
        return {row: positions.get(row, f"row {row + 1}") for row in numbers}

    def features(self, names: Iterable[str]) -> dict[str, str]:
        """Return the positions of features."""
        known: Mapping[str, str]
        if self._columns.lines:
            known = {name: f"{self.source.parts[0]}:{line}" for name, line in self._columns.lines.items()}
        elif self.source.features:
            known = _positions(read_names(self.source.features, "feature"))
        else:
            known = {}
        # A column of a nominal attribute is named attribute=value.
        return {name: known.get(name) or known.get(name.rpartition("=")[0]) or self._head() for name in names}

    def labels(self, names: Iterable[str]) -> dict[str, str]:
        """Return the positions of labels."""
        known: Mapping[str, str] = {}
        if self.source.name_file:
            known = _positions(read_labels(self.source.name_file))
        elif self._columns.labels:
            known = {name: f"{self.source.parts[0]}:{line}" for name, line in self._columns.lines.items()}
        return {name: known.get(name) or self._head() for name in names}

    @cached_property
    def _columns(self) -> Columns:
        """Where the columns are declared; nowhere for label lists, which are no format."""
        return FORMATS[self.key].columns(self.source.parts[0]) if self.key in FORMATS else Columns()

    def _head(self) -> str:
        """Return where columns without a place of their own are declared."""
        if not self.source.parts:
            return "generated"
        line = self._columns.head
        return str(self.source.parts[0]) if line is None else f"{self.source.parts[0]}:{line}"

    def _in_part(self, path: Path, rows: list[int]) -> dict[int, str]:
        row_lines = FORMATS[self.key].row_lines if self.key in FORMATS else None
        if not rows or row_lines is None:
            return {row: f"{path} (row {row + 1})" for row in rows}
        return {row: f"{path}:{line}" for row, line in _chosen(row_lines(path), rows)}


def _positions(tree: LabelTree) -> dict[str, str]:
    return {name: f"{tree.path}:{line}" for name, (line, _) in zip(tree.names, tree.places, strict=True)}


def _chosen(lines: Iterator[int], rows: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the row and its line, for rows in rising order."""
    chosen = iter(rows)
    target = next(chosen)
    for row, line in enumerate(lines):
        if row == target:
            yield row, line
            following = next(chosen, None)
            if following is None:
                return
            target = following
