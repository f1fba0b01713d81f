"""What a reader is given and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mlrank.arrays import BoolArray, Features

__all__ = ["Parsed", "Reader", "Source"]


@dataclass(frozen=True)
class Source:
    """The files of one data set and what the user says about them.

    Parameters
    ----------
    parts : tuple of Path
        The training part, then the test part if there is one; the first decides names, width and index base for all.
    labels : Path or None
        Mulan XML, or a text file with one label name a line.
    zero_based : bool or None
        For formats with numbered features and labels: whether they count from 0; None: the training part decides.
    """

    parts: tuple[Path, ...]
    labels: Path | None = None
    zero_based: bool | None = None


@dataclass(frozen=True)
class Parsed:
    """The arrays of all parts, one below the other.

    Parameters
    ----------
    X : (n_samples, n_features) float64 ndarray or csr_array
    Y : (n_samples, n_labels) bool ndarray
    label_names, feature_names : tuple of str
    sizes : tuple of int
        Number of rows of each part.
    notes : tuple of str
        What was decided or changed on the way, in words.
    """

    X: Features
    Y: BoolArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    sizes: tuple[int, ...]
    notes: tuple[str, ...] = ()


Reader: TypeAlias = Callable[[Source], Parsed]
