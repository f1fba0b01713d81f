"""Data sets of a configuration in Python that lie in memory, apart from the values that a file can hold."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

__all__ = ["HeldData", "held_data"]


class HeldData:
    """Data in memory, with labels and a test part where they are apart; equal to nothing else."""

    def __init__(self, data: Any, labels: Any = None, test: Any = None) -> None:
        self.data, self.labels, self.test = data, labels, test

    def arguments(self) -> dict[str, object]:
        """Return what is given to `load_dataset` beside the data."""
        return {key: value for key, value in (("labels", self.labels), ("test", self.test)) if value is not None}


def held_data(entry: Any) -> tuple[Any, HeldData | None]:
    """Return an entry of "datasets" as values that a file can hold, and the data in memory that were among them."""
    if isinstance(entry, (str, PathLike)) or entry is None:
        return entry, None
    if not isinstance(entry, Mapping):
        plain = isinstance(entry, (bool, int, float)) or (isinstance(entry, (list, tuple)) and not entry)
        return (entry, None) if plain else ({"in_memory": True}, HeldData(entry))
    if "data" in entry and "target" in entry:
        return {"in_memory": True}, HeldData(entry)
    if "frame" not in entry:
        return entry, None
    values = {key: value for key, value in entry.items() if key != "frame"}
    apart = {key: values.pop(key) for key in ("labels", "test") if key in values and not _is_plain(values[key])}
    return {**values, "in_memory": True}, HeldData(entry["frame"], **apart)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, PathLike, Mapping)) or value is None
