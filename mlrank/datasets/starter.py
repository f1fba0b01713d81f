"""A first configuration for a file: what its columns seem to be, three methods, a split; each guess has a comment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from mlrank.datasets.formats import format_of
from mlrank.datasets.formats.base import LoadOptions, Source
from mlrank.datasets.formats.frames import Table, open_table
from mlrank.datasets.formats.frames.values import (
    column_words,
    guess_numerals,
    is_dates,
    is_lists,
    is_numeric,
    missing_words,
    numbers,
    plain_text,
)
from mlrank.datasets.formats.frames.words import negative_of
from mlrank.datasets.formats.text import file_stem, shown
from mlrank.datasets.loading import load_dataset
from mlrank.errors import UserError
from mlrank.yamlfile import dump_yaml

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["starter_config"]

# A column of at most so many words, in so many rows for each, has categories; one with more words in a cell is text.
MOST_CATEGORIES, ROWS_OF_CATEGORY, WORDS_OF_TEXT = 50, 5, 3


@dataclass
class Guess:
    """What the columns of a table seem to be, and a sentence on each decision."""

    options: LoadOptions = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)

    def add(self, option: str, value: Any, comment: str) -> None:
        """Set an option of the data set and say why."""
        if option in self.options and isinstance(self.options[option], list):
            self.options[option] += value
        else:
            self.options[option] = value
        self.comments.append(comment)


def starter_config(path: Path, test: Path | None = None, name: str | None = None) -> str:
    """Return the text of a configuration that trains three methods on a file.

    Parameters
    ----------
    path : the file of the training part, or of all rows
    test : the file of the test part
    name : of the experiment; the file's name if left out

    Raises
    ------
    UserError
        If no labels can be found, or the file cannot be read as guessed.
    """
    key = format_of(path, Source((path,)))
    guess = Guess()
    if key in ("csv", "tsv", "parquet"):
        guess = _guess(open_table(path, key))
    elif key == "mulan":
        beside = sorted(path.parent.glob("*.xml"))
        if len(beside) == 1:
            guess.add("labels", str(beside[0]), f"the labels are those that {beside[0].name} names")
    options = {"train": str(path), **({"test": str(test)} if test else {}), **guess.options}
    try:
        data = load_dataset(path, test=test, **guess.options)
    except UserError as error:
        if "set impute to" not in str(error):
            raise
        guess.add("impute", "median", "some values are missing and are filled with the median of the training part")
        options["impute"] = "median"
        data = load_dataset(path, test=test, **guess.options)
    stem = name or re.sub(r"[^\w.-]+", "-", file_stem(path)[0]).strip("-.") or "mine"
    return _written(stem, options, guess.comments, data)


def _written(name: str, options: LoadOptions, comments: Sequence[str], data: Any) -> str:
    spread = np.zeros(0) if issparse(data.X) else data.X.std(axis=0)
    used = spread[spread > 0]
    far = bool(used.size) and used.max() > 10 * used.min()
    few = data.n_samples < 15  # three parts of a training part of five folds would have less than four rows
    split = {"kind": "official"} if data.official else {"kind": "kfold", "folds": 2 if few else 5}
    largest = int(data.Y.sum(axis=0).max()) if data.n_labels else 0
    heads = [
        f"{data.n_samples} rows, {data.n_features} features, {data.n_labels} labels, {data.cardinality:.2f} a row; "
        f"the most frequent label has {largest} rows.",
        *(f"Guessed: {comment}." for comment in comments),
        *(f"Noted: {note}." for note in data.notes),
        "Change what is wrong; 'mlrank datasets check' looks for more, 'mlrank train FILE --dry-run' fits nothing.",
    ]
    methods = {
        "Binary-SVM": {"solver": "binary_svm", "C": [0.1, 1, 10]},
        "Rank-SVM": {"solver": "rank_svm", "C": [0.1, 1, 10], "threshold": "svr_midpoint"},
        "kNN": {"solver": "knn", "n_neighbors": [5, 10, 20]},
    }
    body = {
        "name": name,
        "datasets": [options],
        "split": split,
        **({"scale": "standard"} if far else {}),
        "methods": methods,
        "search": {"folds": 2 if few else 3, "metric": "f1_micro"},
        "metrics": ["f1_macro", "f1_micro", "auc_macro", "ranking_loss"],
    }
    return "".join(f"# {line}\n" for line in heads) + dump_yaml(body)


def _guess(table: Table) -> Guess:
    """Decide what each column is, from all rows."""
    columns: dict[str, Any] = {}
    for frame in table.batches(table.names):
        columns |= {name: frame[name] for name in frame.columns}
    guess = Guess()
    for name in table.unnamed:
        columns.pop(name)
    names = list(columns)
    how = guess_numerals(
        [columns[name] for name in names if not is_numeric(columns[name]) and not is_lists(columns[name])]
    )
    lists = [name for name in names if not _is_numbers(columns[name], how) and _is_label_list(columns[name])]
    labels = [] if lists else _label_run(names, columns)
    if lists:
        separator = _separator(columns[lists[0]])
        spec = {"column": lists[0], **({"separator": separator} if separator else {})}
        guess.add("labels", spec, f"column {shown(lists[0])} lists the labels of each row")
    elif labels:
        listed = ", ".join(map(shown, labels[:3])) + (" ..." if len(labels) > 3 else "")
        guess.add("label_columns", labels, f"the {len(labels)} columns of two values are labels: {listed}")
    else:
        raise UserError(
            "no column looks like a label (two values, or lists of labels): name the labels with label_columns",
            table.path,
        )
    for name in names:
        if name not in labels and name not in lists:
            _guess_feature(guess, name, columns[name], how)
    return guess


def _is_numbers(column: "pd.Series[Any]", how: Any) -> bool:
    """Return whether the cells of a column are numbers, such as 0,5 in a table with decimal commas."""
    if is_lists(column) or is_dates(column):
        return False
    return is_numeric(column) or (not isinstance(how, str) and not numbers(column, how)[1].any())


def _guess_feature(guess: Guess, name: str, column: "pd.Series[Any]", how: Any) -> None:
    if is_numeric(column):
        values = column.to_numpy(np.float64, na_value=np.nan)
        steps = np.diff(values)
        if len(values) > 2 and steps[0] != 0 and (steps == steps[0]).all():
            guess.add("ignore_columns", [name], f"column {shown(name)} numbers the rows and is left out")
        return
    if is_lists(column):
        return
    if is_dates(column):
        guess.add("ignore_columns", [name], f"column {shown(name)} holds dates and is left out")
        return
    if isinstance(how, str) or _is_numbers(column, how):
        return
    words = plain_text(column)
    words = words[~missing_words(words)]
    n_different, n_words = words.nunique(), float(words.str.split().str.len().mean())
    if n_words > WORDS_OF_TEXT:
        guess.add("text_columns", [name], f"column {shown(name)} is text, of which the terms are counted")
    elif n_different <= MOST_CATEGORIES and n_different * ROWS_OF_CATEGORY <= max(len(words), 2 * ROWS_OF_CATEGORY):
        guess.add("one_hot", [name], f"column {shown(name)} has {n_different} categories")
    elif n_different == len(words) and "id_column" not in guess.options:
        guess.add("id_column", name, f"column {shown(name)} names the rows")
    else:
        guess.add("ignore_columns", [name], f"column {shown(name)} holds {n_different} different words and is left out")


def _label_run(names: Sequence[str], columns: dict[str, Any]) -> list[str]:
    """Return the columns of two values that end the table, or begin it, or else all of them."""
    binary = [_is_binary(columns[name]) for name in names]
    if all(binary):
        return []
    last = len(names) - next(place for place, found in enumerate(reversed(binary)) if not found)
    first = next(place for place, found in enumerate(binary) if not found)
    if last < len(names):
        return list(names[last:])
    return list(names[:first]) if first else [name for name, found in zip(names, binary, strict=True) if found]


def _is_binary(column: "pd.Series[Any]") -> bool:
    if is_lists(column):
        return False
    if is_numeric(column):
        values = set(np.unique(column.to_numpy(np.float64, na_value=np.nan)[column.notna().to_numpy()]).tolist())
        return values in ({0.0, 1.0}, {-1.0, 1.0})
    if column.nunique() > 2 + 10:
        return False
    words, missing = column_words(column)
    found = frozenset(words[~missing])
    return len(found) == 2 and negative_of(found) is not None


def _is_label_list(column: "pd.Series[Any]") -> bool:
    if is_lists(column):
        first = next((cell for cell in column if cell is not None and not isinstance(cell, float) and len(cell)), None)
        return first is not None and all(isinstance(item, str) for item in first)
    if is_numeric(column):
        return False
    words = plain_text(column)
    if words.str.startswith("[").mean() > 0.9:
        # Lists of fractions are no labels.
        return not bool(words.str.contains(r"\d\.\d", regex=True).any())
    separator = _separator(column)
    if separator is None:
        return False
    tags = words.str.split(separator).explode().str.strip()
    # Tags are few and come again; words of a text do not.
    return tags.nunique() * 2 <= len(tags) and float(words.str.split().str.len().mean()) <= WORDS_OF_TEXT


def _separator(column: "pd.Series[Any]") -> str | None:
    if is_lists(column) or plain_text(column).str.startswith("[").mean() > 0.9:
        return None
    words = plain_text(column)
    return next((mark for mark in (";", "|", ",") if words.str.contains(mark, regex=False).mean() > 0.1), None)
