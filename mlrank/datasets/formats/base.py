"""What a file format is: one `Format` object says how its files are recognized, read, streamed and written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.datasets.columns import ListColumn, TextColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.missing import Impute
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.formats.text import file_stem
from mlrank.errors import UserError
from mlrank.labels import LabelMatrix

__all__ = ["Columns", "Format", "LoadOptions", "Source", "StreamRequest", "TextStyle", "WriteJob", "as_dataset"]

# Arguments of `load_dataset`, by name: paths, text, numbers and lists of names.
LoadOptions = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """The files of one data set and what the user says about them.

    Parameters
    ----------
    parts : tuple of Path
        The training part, then the test part if there is one; the first decides names, width and index base for all.
    labels : Path, tuple of Path, ListColumn or None
        Mulan XML, or a text file with one label name a line; or a table of labels for each part; or the column of a
        table that lists the labels of each row.
    zero_based : bool or None
        For formats with numbered features and labels: whether they count from 0; None: the training part decides.
    features : Path or None
        A text file with one feature name a line, for formats that number features.
    label_columns : int, tuple of str or None
        Which columns are labels: the first n, for -n the last n, or those named, where y_* names several.
    variables : mapping or None
        Which variables of a MATLAB file hold "X", "Y", "X_test", "Y_test".
    impute : "mean", "median", "zero", mapping or None
        How missing features are filled, a mapping by the value of each feature's name; None: they are refused.
    ignore_columns : tuple of str or None
        Columns of a table that are neither labels nor features; x_* names several.
    id_column, group_column, fold_column : str or None
        Columns that name the rows, group them, and divide them into folds.
    text_columns : tuple of TextColumn or None
        Columns of text, of which the terms are counted.
    one_hot : True, tuple of str or None
        Columns of categories, which become a feature of 0 and 1 for each value; True: all columns of text.
    positive : tuple of str or None
        Words that mean that a row has a label.
    header : bool or None
        Whether the first line of separated text names the columns.
    separator, decimal, thousands : str or None
        What stands between cells, before fractions and between thousands; None: as the text tells.
    only : tuple of str or None
        The features that are asked for; other columns are not looked at. None: all.
    text : tuple of TextColumn
        The columns of text that `only` counts the terms of.
    """

    parts: tuple[Path, ...]
    labels: Path | tuple[Path, ...] | ListColumn | None = None
    zero_based: bool | None = None
    features: Path | None = None
    label_columns: int | tuple[str, ...] | None = None
    variables: Mapping[str, str] | None = None
    impute: Impute | None = None
    ignore_columns: tuple[str, ...] | None = None
    id_column: str | None = None
    group_column: str | None = None
    fold_column: str | None = None
    text_columns: tuple[TextColumn, ...] | None = None
    one_hot: bool | tuple[str, ...] | None = None
    positive: tuple[str, ...] | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    only: tuple[str, ...] | None = None
    text: tuple[TextColumn, ...] = ()

    @property
    def name_file(self) -> Path | None:
        """The file of the labels' names."""
        return self.labels if isinstance(self.labels, Path) else None

    @property
    def label_files(self) -> tuple[Path, ...]:
        """The files of labels or of their names."""
        if isinstance(self.labels, Path):
            return (self.labels,)
        return self.labels if isinstance(self.labels, tuple) else ()


def as_dataset(
    source: Source,
    X: Features,
    Y: LabelMatrix,
    label_names: tuple[str, ...],
    feature_names: tuple[str, ...],
    sizes: Sequence[int],
    *,
    notes: Iterable[str] = (),
    known: BoolArray | None = None,
    official: tuple[IntArray, IntArray] | None = None,
    fill: FloatArray | None = None,
) -> Dataset:
    """Return what was read of a source as a data set, named and described after its files; no array is copied.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each part; two parts make the official split.
    official : (train_rows, test_rows), optional
        For files that hold a split themselves.
    """
    if len(sizes) == 2:
        n_train, n_samples = sizes[0], sum(sizes)
        official = (np.arange(n_train, dtype=np.int64), np.arange(n_train, n_samples, dtype=np.int64))
    files = " and ".join(part.name for part in source.parts)
    return Dataset(
        file_stem(source.parts[0])[0],
        X,
        Y,
        known,
        label_names,
        feature_names,
        official,
        f"file{'s' * (len(source.parts) > 1)} {files}",
        fill,
        tuple(notes),
    )


@dataclass(frozen=True)
class TextStyle:
    """How separated text is written; None: as the text tells.

    Parameters
    ----------
    header : bool or None
        Whether the first line names the columns.
    separator, decimal, thousands : str or None
        What stands between cells, before fractions and between thousands.
    """

    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None


@dataclass(frozen=True)
class StreamRequest:
    """The rows of one file to be read block by block.

    Parameters
    ----------
    path : Path
    selection : Selection
        The columns that the blocks are to have.
    zero_based : bool or None
        Whether numbered features count from 0; None: the numbers are the features' names.
    rows : int
        Number of rows that a block has at most, where the format allows to say so.
    n_bytes : int
        How much text is read at a time, where the format is text.
    notes : list of str
        Receives messages about the file, some of them after its last row.
    id_column : str or None
        Column that names the rows.
    ids : list of str
        Receives the names of the rows of each block.
    style : TextStyle
        How the file is written, where it is separated text.
    """

    path: Path
    selection: Selection
    zero_based: bool | None
    rows: int
    n_bytes: int
    notes: list[str]
    id_column: str | None = None
    ids: list[str] = field(default_factory=list)
    style: TextStyle = TextStyle()


@dataclass(frozen=True)
class WriteJob:
    """What to write, and the paths: `train`, and beside it names that begin with the same stem."""

    dataset: Dataset
    train: Path

    def beside(self, ending: str) -> Path:
        """Return the path of a further file."""
        return self.train.with_name(self.train.stem + ending)

    def parts(self) -> Iterator[tuple[Path, range]]:
        """Yield the path and the rows of each part.

        Raises
        ------
        UserError
            If the test rows do not follow the training rows, which two files cannot say.
        """
        n, official = self.dataset.n_samples, self.dataset.official
        if official is None:
            yield self.train, range(n)
            return
        if not np.array_equal(np.concatenate(official), np.arange(n)):
            raise UserError("the rows of the official split are mixed, which two files cannot hold; npz can")
        n_train = len(official[0])
        yield self.train, range(n_train)
        yield self.beside("-test" + self.train.suffix), range(n_train, n)

    def options(self, **more: Any) -> LoadOptions:
        """Return the arguments of `load_dataset` beside the training part's path."""
        test = {} if self.dataset.official is None else {"test": self.beside("-test" + self.train.suffix)}
        return {**test, **more}


@dataclass(frozen=True)
class Columns:
    """Where the columns of a file are declared, for messages.

    Parameters
    ----------
    lines : mapping from the name of a column to its line
    head : int or None
        The line of all others; None where the format has no lines.
    labels : bool
        Whether `lines` has the labels as well.
    """

    lines: Mapping[str, int] = field(default_factory=dict)
    head: int | None = None
    labels: bool = False


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    key : str
    endings : tuple of str
        Endings of its files.
    options : tuple of str
        The fields of `Source`, beside its parts, that it takes; others would have no effect and are refused.
    read : function of a Source
        Returns all parts as one Dataset; raises UserError at the first thing that cannot be understood.
    stream : function of a StreamRequest
        Yields the features of a file block by block and ignores its labels. A missing value is NaN, and refused where
        the selection has nothing to fill it with.
    write : function of a WriteJob
        Writes a data set and returns the arguments with which `load_dataset` reads it; raises UserError where the
        format cannot hold it.
    written : str
        The ending of files that it writes. Where several formats write the same, the first in FORMATS is preferred.
    sniff : function of (path, Source), optional
        Returns the key of the format of a file, for formats that share an ending.
    no_effect : mapping, optional
        Why an option that it does not take has no effect, by its name, where the bare fact would not help.
    numbered : bool
        Whether features and labels have numbers in place of names.
    by_columns : str or None
        Key of the format that reads the same files by `label_columns`.
    columns : function of a path, optional
        Returns where the columns are declared.
    row_lines : function of a path, optional
        Yields the numbers of the lines that are rows; None where rows have no lines.
    """

    key: str
    endings: tuple[str, ...]
    options: tuple[str, ...]
    read: Callable[[Source], Dataset]
    stream: Callable[[StreamRequest], Iterator[Features]]
    write: Callable[[WriteJob], LoadOptions]
    written: str
    sniff: Callable[[Path, Source], str] | None = None
    no_effect: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = False
    by_columns: str | None = None
    columns: Callable[[Path], Columns] = lambda path: Columns()
    row_lines: Callable[[Path], Iterator[int]] | None = None
