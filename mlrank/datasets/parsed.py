"""What a reader is given and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.datasets.gaps import Impute

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
    features : Path or None
        A text file with one feature name a line, for formats that number features.
    label_columns : int, tuple of str or None
        Which columns are labels: the first n, for -n the last n, or those named.
    variables : mapping or None
        Which variables of a MATLAB file hold "X", "Y", "X_test", "Y_test".
    impute : "mean", "median", "zero", mapping or None
        How missing features are filled, a mapping by the value of each feature's name; None: they are refused.
    """

    parts: tuple[Path, ...]
    labels: Path | None = None
    zero_based: bool | None = None
    features: Path | None = None
    label_columns: int | tuple[str, ...] | None = None
    variables: Mapping[str, str] | None = None
    impute: Impute | None = None


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
    known : (n_samples, n_labels) bool ndarray or None
        False where a label entry is missing; None if there is no such entry.
    official : (train_rows, test_rows) or None
        For files that hold a split themselves; else the parts make it.
    fill : (n_features,) float64 ndarray or None
        What missing cells were filled with, or would have been; None if they were to be refused.
    """

    X: Features
    Y: BoolArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    sizes: tuple[int, ...]
    notes: tuple[str, ...] = ()
    known: BoolArray | None = None
    official: tuple[IntArray, IntArray] | None = None
    fill: FloatArray | None = None


Reader: TypeAlias = Callable[[Source], Parsed]
