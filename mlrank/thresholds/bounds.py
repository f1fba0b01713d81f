"""Bounds on the number of labels that a row gets, which any threshold may have."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mlrank.thresholds.cuts import BoundedCut

__all__ = ["BOUNDS", "LabelBounds"]


@dataclass(frozen=True)
class LabelBounds:
    """How many labels a row gets at least and at most, by the order of its scores.

    A row that the cut gives fewer than `min_labels` gets the best scored of the others besides; one that it gives more
    than `max_labels` keeps its best scored. Of equal scores the lower label index counts as better.

    Parameters
    ----------
    min_labels : int
        1 leaves no label set empty.
    max_labels : int, optional
    """

    min_labels: int = 0
    max_labels: int | None = None

    def __post_init__(self) -> None:
        _check_whole("min_labels", self.min_labels, 0)
        if self.max_labels is not None:
            _check_whole("max_labels", self.max_labels, 1)
            if self.max_labels < self.min_labels:
                raise ValueError(
                    f"max_labels must be at least min_labels, found {self.max_labels} and {self.min_labels}"
                )

    @classmethod
    def split(cls, settings: Mapping[str, Any]) -> tuple[dict[str, Any], "LabelBounds"]:
        """Return the settings of a threshold without bounds, and the bounds among them."""
        own = {name: value for name, value in settings.items() if name not in BOUNDS}
        return own, cls(**{name: value for name, value in settings.items() if name in BOUNDS})

    def check(self, n_labels: int) -> None:
        """Raise ValueError if there are fewer than `min_labels` labels."""
        if self.min_labels > n_labels:
            raise ValueError(f"min_labels={self.min_labels} needs that many labels, found {n_labels}")

    def around(self, cut: Any) -> Any:
        """Return the cut with these bounds; itself where there are none."""
        bounded = self.min_labels > 0 or self.max_labels is not None
        return BoundedCut(cut, self.min_labels, self.max_labels) if bounded else cut


# The names of the settings, which stand beside those of a threshold.
BOUNDS = tuple(field.name for field in fields(LabelBounds))


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, found {value!r}")
