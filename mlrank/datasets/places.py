"""Where in the files a row, a feature or a label of a data set stands, for reports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mlrank.datasets.arff_header import read_header
from mlrank.datasets.files import Block, read_blocks
from mlrank.datasets.labels import read_labels, read_names
from mlrank.datasets.parsed import Source

__all__ = ["Places"]

_ARFF = ("clus", "meka", "mulan")
# Number of lines before the rows, and what a line begins with that is none.
_SKIPPED: Mapping[str, tuple[int, bytes]] = {"libsvm": (0, b"#"), "xmc": (1, b"#"), "csv": (1, b"\n")}


@dataclass(frozen=True)
class Places:
    """Positions "file:line" in the files of a data set of the format `key`; without lines where the format has none.

    `sizes` are the numbers of rows of the parts.
    """

    key: str
    source: Source
    sizes: tuple[int, ...]

    def rows(self, wanted: Iterable[int]) -> dict[int, str]:
        """Return the positions of rows."""
        found: dict[int, str] = {}
        start = 0
        for path, size in zip(self.source.parts, self.sizes, strict=False):
            here = sorted(row - start for row in set(wanted) if start <= row < start + size)
            found |= {row + start: place for row, place in self._in_part(path, here).items()}
            start += size
        return {row: found.get(row, f"row {row + 1}") for row in wanted}

    def features(self, names: Iterable[str]) -> dict[str, str]:
        """Return the positions of features."""
        if self.key in _ARFF:
            known = _attributes(self.source.parts[0])
        elif self.source.features:
            known = _lines_of(self.source.features, read_names(self.source.features, "feature").places)
        else:
            known = {}
        # A column of a nominal attribute is named attribute=value.
        return {name: known.get(name) or known.get(name.rpartition("=")[0]) or self._head() for name in names}

    def labels(self, names: Iterable[str]) -> dict[str, str]:
        """Return the positions of labels."""
        if self.source.labels:
            tree = read_labels(self.source.labels)
            known = {name: f"{tree.path}:{line}" for name, (line, _) in zip(tree.names, tree.places, strict=True)}
        else:
            known = _attributes(self.source.parts[0]) if self.key == "meka" else {}
        return {name: known.get(name) or self._head() for name in names}

    def _head(self) -> str:
        """Return where the columns are declared."""
        if not self.source.parts:
            return "generated"
        if self.key == "clus":
            attributes = read_header(self.source.parts[0])[0].attributes
            line = next(attribute.line for attribute in attributes if attribute.kind == "hierarchical")
            return f"{self.source.parts[0]}:{line}"
        return f"{self.source.parts[0]}:1" if self.key in ("csv", "xmc") else str(self.source.parts[0])

    def _in_part(self, path: Path, rows: list[int]) -> dict[int, str]:
        if not rows or self.key not in (*_ARFF, *_SKIPPED):
            return {row: f"{path} (row {row + 1})" for row in rows}
        lines = _row_lines(path, self.key, rows)
        return {row: f"{path}:{line}" for row, line in lines.items()}


def _attributes(path: Path) -> dict[str, str]:
    return {attribute.name: f"{path}:{attribute.line}" for attribute in read_header(path)[0].attributes}


def _lines_of(path: Path, places: Iterable[tuple[int, int]]) -> dict[str, str]:
    names = read_names(path, "feature").names
    return {name: f"{path}:{line}" for name, (line, _) in zip(names, places, strict=True)}


def _row_lines(path: Path, key: str, rows: list[int]) -> dict[int, int]:
    """Return the lines of rows, given in rising order."""
    skip, mark = _SKIPPED.get(key, (0, b"%"))
    blocks: Iterable[Block] = read_header(path)[1] if key in _ARFF else read_blocks(path)
    found: dict[int, int] = {}
    row, wanted = 0, iter(rows)
    target = next(wanted)
    for block in blocks:
        for offset, line in enumerate(block.text.split(b"\n")[:-1]):
            number = block.line + offset
            # A LIBSVM row of nothing at all is a blank; in the other formats such a line is no row.
            empty = line in (b"", b"\r") if key in ("libsvm", "xmc") else not line.strip()
            if number <= skip or empty or line.lstrip().startswith(mark):
                continue
            if row == target:
                found[row] = number
                following = next(wanted, None)
                if following is None:
                    return found
                target = following
            row += 1
    return found
