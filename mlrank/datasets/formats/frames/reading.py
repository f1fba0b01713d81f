"""From tables to a data set: which columns are labels, features, ids, groups and folds, and what they hold."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse, vstack

from mlrank.arrays import BoolArray, Features
from mlrank.datasets.columns import ListColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Source, as_dataset
from mlrank.datasets.formats.frames.features import (
    Categories,
    Feature,
    Lists,
    Number,
    Terms,
    check_feature_names,
    either_way,
    features_by_name,
    mostly_zeros,
    not_dates,
)
from mlrank.datasets.formats.frames.labels import (
    LabelsRead,
    by_number,
    label_names_of,
    read_label_columns,
    read_list_column,
)
from mlrank.datasets.formats.frames.plain import PlainTable, plain_table
from mlrank.datasets.formats.frames.tables import Table, TextTable, cell_error
from mlrank.datasets.formats.frames.values import (
    Numerals,
    guess_numerals,
    is_dates,
    is_lists,
    is_numeric,
    missing_words,
    numbers,
    numerals_set,
    plain_text,
)
from mlrank.datasets.formats.missing import MissingValues
from mlrank.datasets.formats.names import matching_names, read_labels
from mlrank.datasets.formats.room import check_columns
from mlrank.datasets.formats.selection import listed
from mlrank.datasets.formats.text import plain_name, shown
from mlrank.errors import UserError, unknown_name
from mlrank.labels import stacked_labels
from mlrank.room import check_room

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMN_OPTIONS", "read_tables"]

# The fields of Source that say what columns are, which every format of named columns takes.
COLUMN_OPTIONS = (
    "labels",
    "label_columns",
    "impute",
    "ignore_columns",
    "id_column",
    "group_column",
    "fold_column",
    "text_columns",
    "one_hot",
    "positive",
    "decimal",
    "thousands",
)
_NO_CELLS = np.zeros(0, np.int64)


class Roles(NamedTuple):
    """What the columns of the training part are; `labels` is None where another file has them."""

    labels: tuple[str, ...] | ListColumn | None
    features: tuple[str, ...]
    ignored: tuple[str, ...]


def read_tables(
    source: Source, tables: Sequence[Table], labels: LabelsRead | None = None, sparse: bool = False
) -> Dataset:
    """Return the tables of a source's parts as one data set.

    Parameters
    ----------
    source : Source
    tables : the training part, and perhaps the test part
    labels : those of another file, if they are not in the tables
    sparse : whether X is to be sparse whatever the columns are

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with its place and the option that would settle it.
    """
    roles = roles_of(source, tables[0], labels is not None)
    if source.only is None:
        for table in tables[1:]:
            _check_same(roles, tables[0], table, source)
    notes = [note for table in tables for note in table.notes]
    if roles.ignored and source.only is None:
        notes.append(f"{len(roles.ignored)} column{'s' * (len(roles.ignored) > 1)} ignored: {listed(roles.ignored)}")
    for table in tables:
        if isinstance(table, TextTable):
            table.planned = frozenset((*roles.features, *(roles.labels if isinstance(roles.labels, tuple) else ())))
    plain = _numbers_alone(source, tables, roles)
    if plain is None:
        columns = _features(source, tables, roles) if source.only is None else _asked_for(source, tables[0])
        X, missing, sizes = _values(source, tables, columns, sparse)
        if isinstance(roles.labels, ListColumn):
            labels = read_list_column(tables, roles.labels)
        elif labels is None:
            labels = read_label_columns(tables, sizes, roles.labels or (), source.positive or ())
    else:
        (X, missing, sizes, labels), columns = plain, [Number(name) for name in roles.features]
    _check_rows(source, labels, sizes)
    if source.only is None:
        check_feature_names(columns, tables[0])
    names = tuple(name for feature in columns for name in feature.names)
    notes += [*labels.notes, *_feature_notes(columns)]
    X, fill, filled = missing.fill(X, source.impute, sizes[0], names)
    text = tuple(feature.text for feature in columns if isinstance(feature, Terms))
    made = as_dataset(
        source,
        X,
        stacked_labels([Y for Y, _ in labels.parts]),
        labels.names,
        names,
        sizes,
        notes=[*notes, *filled],
        known=_known(labels),
        fill=fill,
    )
    rows = _rows_described(source, tables)
    return replace(made, text=text, **rows)


def _numbers_alone(
    source: Source, tables: Sequence[Table], roles: Roles
) -> tuple[Features, MissingValues, list[int], LabelsRead] | None:
    """Read tables of text that hold numbers alone; None if they are others, or hold anything else."""
    special = (source.only, source.one_hot, source.text_columns, source.positive, source.decimal, source.thousands)
    if any(option is not None for option in special) or not isinstance(roles.labels, tuple):
        return None
    missing, start = MissingValues(), 0
    found: list[PlainTable] = []
    for table in tables:
        read = plain_table(table, roles.features, roles.labels) if isinstance(table, TextTable) else None
        if read is None:
            return None
        rows, places = read.missing
        if rows.size and source.impute is None:
            raise _is_missing(table, roles.features[int(places[0])], int(rows[0]))
        missing.add_cells((start + rows, places), (_NO_CELLS, _NO_CELLS))
        found.append(read)
        start += len(read.X)
    labels = LabelsRead([(part.Y, None if part.known.all() else part.known) for part in found], roles.labels, [])
    X = found[0].X if len(found) == 1 else np.concatenate([part.X for part in found])
    return X, missing, [len(part.X) for part in found], labels


def roles_of(source: Source, table: Table, labels_elsewhere: bool = False) -> Roles:
    """Return what the columns of a table are, as the options say.

    Raises
    ------
    UserError
        If an option names a column that is not there, or one column has two parts.
    """
    special = {
        "id_column": source.id_column,
        "group_column": source.group_column,
        "fold_column": source.fold_column,
    }
    for option, name in special.items():
        if name is not None and name not in table.names:
            raise UserError(f"{option}: {unknown_name('column', name, map(plain_name, table.names))}", table.path)
    ignored = _matching("ignore_columns", source.ignore_columns or (), table)
    ignored = tuple(dict.fromkeys((*table.unnamed, *ignored)))
    aside = {*ignored, *filter(None, special.values())}
    among = [name for name in table.names if name not in aside]
    labels: tuple[str, ...] | ListColumn | None
    if labels_elsewhere:
        labels = None
    elif isinstance(source.labels, ListColumn):
        labels = source.labels
    elif source.label_columns is not None:
        if source.labels is not None:
            raise UserError("give either label_columns or labels", table.path)
        labels = label_names_of(table, source.label_columns, among)
    elif source.labels is not None:
        assert not isinstance(source.labels, tuple)
        labels = label_names_of(table, read_labels(source.labels).names, among)
    else:
        message = (
            "a table does not say which columns are labels: give label_columns, or a file of their names as labels"
        )
        raise UserError(message, table.path)
    taken = {labels.column} if isinstance(labels, ListColumn) else set(labels or ())
    if both := sorted(taken & aside):
        raise UserError(f"column {shown(both[0])} cannot be a label and be left out of the features too", table.path)
    features = tuple(name for name in among if name not in taken)
    text = [column.column for column in source.text_columns or ()]
    for option, names in (("text_columns", text), ("one_hot", _names_in(source.one_hot))):
        for name in names:
            if name not in features:
                known = unknown_name("feature column", name, map(plain_name, features))
                raise UserError(f"{option}: {known}", table.path)
    if not features:
        raise UserError("every column is a label: no feature is left", table.path)
    return Roles(labels, features, ignored)


def _names_in(value: Any) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _matching(option: str, given: Sequence[str], table: Table) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(matching_names(given, table.names)))
    there = set(table.names)
    for name in found:
        if name not in there:
            raise UserError(f"{option}: {unknown_name('column', name, map(plain_name, table.names))}", table.path)
    return found


def _check_same(roles: Roles, first: Table, later: Table, source: Source) -> None:
    """Refuse a part that lacks a column of the training part, or has one more."""
    needed = set(roles.features) | set(filter(None, (source.group_column, source.fold_column, source.id_column)))
    if isinstance(roles.labels, tuple):
        needed |= set(roles.labels)
    there = set(later.names)
    for name in first.names:
        if name in needed and name not in there:
            raise UserError(f"attribute {shown(name)}, declared in {first.path.name}, is missing", later.path)
    known = {*first.names, *later.unnamed}
    ignored = set(source.ignore_columns or ())
    for name in later.names:
        if name not in known and not any(fnmatchcase(name, pattern) for pattern in ignored):
            raise UserError(f"attribute {shown(name)} is not in {first.path.name}", later.path)


def _features(source: Source, tables: Sequence[Table], roles: Roles) -> list[Feature]:
    """Return what the feature columns hold, by the training part."""
    table, text = tables[0], {item.column: item for item in source.text_columns or ()}
    hot = set(_names_in(source.one_hot))
    unclear: list[tuple[int, str, Any]] = []
    found: list[Feature] = []
    plain = tuple(name for name in roles.features if name not in text and name not in hot)
    for frame in table.batches(plain):
        for name in frame.columns:
            column = frame[name]
            if not is_numeric(column):
                unclear.append((len(found), name, column))
            found.append(Number(name))
    how = _numerals(source, table, [column for _, _, column in unclear])
    for place, name, column in unclear:
        if is_lists(column):
            found[place] = Lists.of(table, name, column)
        elif is_dates(column):
            raise not_dates(table, name)
        elif source.one_hot is True and numbers(column, how)[1].any():
            found[place] = Categories.of(table, name, column)
        else:
            found[place] = Number(name, how)
    if how.decimal != ".":
        # What was taken for a fraction, in any part, may be thousands.
        for place, feature in enumerate(found):
            if isinstance(feature, Number) and any(_fractions(part, feature.column) for part in tables):
                found[place] = Number(feature.column, how, as_written=True)
    found += [Categories.of(table, name, cells) for name, cells in _as_written(table, sorted(hot)).items()]
    texts = [_as_written(part, list(text)) for part in tables]
    found += [Terms.of(table, item, [cells[name] for cells in texts]) for name, item in text.items()]
    order = {name: place for place, name in enumerate(roles.features)}
    return sorted(found, key=lambda feature: order[feature.column])


def _as_written(table: Table, names: Sequence[str]) -> dict[str, "pd.Series[Any]"]:
    """Return columns as they are written, all in one pass over the table."""
    return {name: frame[name] for frame in table.batches(names, as_written=True) for name in frame.columns}


def _fractions(table: Table, name: str) -> bool:
    """Return whether a column of text was read as fractions, all of it or, in some of several files, a part."""
    if not table.is_text or name not in table.names:
        return False
    column = next(table.batches([name]))[name]
    return column.dtype.kind == "f" or (
        not is_numeric(column) and any(isinstance(cell, float) and cell == cell for cell in column)
    )


def _asked_for(source: Source, table: Table) -> list[Feature]:
    """Return the features that are asked for by name, as far as they are there."""
    found, _ = features_by_name(source.only or (), table.names, source.text)
    plain = [feature for feature, _ in found if isinstance(feature, Number)]
    text = [frame[name] for frame in table.batches([f.column for f in plain]) for name in frame.columns]
    how = _numerals(source, table, [column for column in text if not is_numeric(column)])
    for feature in plain:
        feature.how = how
    return [feature for feature, _ in found]


def _numerals(source: Source, table: Table, columns: Sequence["pd.Series[Any]"]) -> Numerals:
    """Return how the numbers of a table are written, as the options say or as its cells tell."""
    if (fixed := numerals_set(source.decimal, source.thousands, table.path)) is not None:
        return fixed
    candidates = [column for column in columns if not is_lists(column) and not is_dates(column)]
    how = guess_numerals(candidates)
    if isinstance(how, str):
        raise either_way(how, table.path)
    return how


def _values(
    source: Source, tables: Sequence[Table], columns: Sequence[Feature], sparse: bool
) -> tuple[Features, MissingValues, list[int]]:
    """Return X of all parts, the missing cells and the numbers of rows."""
    width = sum(len(feature.names) for feature in columns)
    check_columns(width, "feature", tables[0].path)
    sparse = sparse or mostly_zeros(columns)
    missing, parts, sizes, start = MissingValues(), [], [], 0
    for table in tables:
        X = _part_values(source, table, columns, missing, start, sparse)
        if X.shape[0] == 0:
            raise UserError("no rows after the header", table.path)
        parts.append(X)
        sizes.append(X.shape[0])
        start += X.shape[0]
    if len(parts) == 1:
        return parts[0], missing, sizes
    return (csr_array(vstack(parts, format="csr")) if sparse else np.concatenate(parts)), missing, sizes


def _part_values(
    source: Source, table: Table, columns: Sequence[Feature], missing: MissingValues, first_row: int, sparse: bool
) -> Features:
    firsts = np.concatenate([[0], np.cumsum([len(feature.names) for feature in columns])])
    X: Any = None
    blocks: dict[int, Any] = {}
    for places, frame in _batches(table, columns):
        if X is None and not sparse:
            check_room(len(frame) * int(firsts[-1]) * 8, f"{len(frame)} rows of {firsts[-1]} features", table.path)
            X = np.empty((len(frame), int(firsts[-1])))
        run = places == list(range(places[0], places[-1] + 1)) and all(
            isinstance(columns[place], Number) and is_numeric(frame.iloc[:, i]) for i, place in enumerate(places)
        )
        if run:
            found = [(places, frame.to_numpy(np.float64, na_value=np.nan))]
            if np.isinf(found[0][1]).any():
                run = False
        if not run:
            found = [([place], frame.iloc[:, i]) for i, place in enumerate(places)]
        for some, values in found:
            if run:
                rows, cells = np.nonzero(np.isnan(values))
            else:
                encoded = columns[some[0]].encode(table, values)
                values, rows = encoded.values, np.flatnonzero(encoded.missing)
                rows, cells = np.repeat(rows, values.shape[1]), np.tile(np.arange(values.shape[1]), rows.size)
            at = int(firsts[some[0]])
            if rows.size:
                if source.impute is None:
                    place = int(np.searchsorted(firsts, at + int(cells[0]), side="right")) - 1
                    raise _is_missing(table, columns[place].column, int(rows[0]))
                missing.add_cells((first_row + rows, at + cells), (_NO_CELLS, _NO_CELLS))
            if sparse:
                blocks[at] = csr_array(values if issparse(values) else np.nan_to_num(values, nan=0.0))
            else:
                X[:, at : at + values.shape[1]] = values.toarray() if issparse(values) else values
                X[rows, at + cells] = 0.0
    if sparse:
        return csr_array(hstack([blocks[at] for at in sorted(blocks)], format="csr"))
    return X if X is not None else np.empty((0, int(firsts[-1])))


def _batches(table: Table, columns: Sequence[Feature]) -> Iterator[tuple[list[int], "pd.DataFrame"]]:
    """Yield the columns of features with their places, numbers apart from what must be read as it is written."""
    places = {feature.column: place for place, feature in enumerate(columns)}
    written = [feature.column for feature in columns if feature.as_written]
    plain = [feature.column for feature in columns if not feature.as_written]
    for names, as_written in ((plain, False), (written, True)):
        if names:
            for frame in table.batches(names, as_written):
                yield [places[name] for name in frame.columns], frame


def _is_missing(table: Table, name: str, row: int) -> UserError:
    message = f"the value of {shown(name)} is missing: set impute to mean, median or zero to have it filled"
    return cell_error(table, row, name, message)


def _check_rows(source: Source, labels: LabelsRead, sizes: Sequence[int]) -> None:
    found = [Y.shape[0] for Y, _ in labels.parts]
    if found != list(sizes):
        pairs = next((pair for pair in zip(found, sizes, strict=False) if pair[0] != pair[1]), (sum(found), sum(sizes)))
        raise UserError(f"the labels have {pairs[0]} rows, the features {pairs[1]}", source.parts[0])


def _known(labels: LabelsRead) -> BoolArray | None:
    if all(known is None for _, known in labels.parts):
        return None
    whole = [np.ones(Y.shape, np.bool_) if known is None else known for Y, known in labels.parts]
    return np.concatenate(whole)


def _feature_notes(columns: Sequence[Feature]) -> list[str]:
    notes = []
    how = next((f.how for f in columns if isinstance(f, Number) and f.how != Numerals()), None)
    if how is not None:
        notes.append(how.note)
    categories = [feature for feature in columns if isinstance(feature, Categories)]
    if categories:
        n = sum(len(feature.values) for feature in categories)
        plural = "columns" if len(categories) > 1 else "column"
        notes.append(f"{len(categories)} {plural} of categories became {n} features of 0 and 1")
    if unknown := sum(feature.n_unknown for feature in categories):
        notes.append(f"{unknown} cells hold categories that the training part does not have: all their features are 0")
    for feature in columns:
        if isinstance(feature, Terms):
            notes.append(f"text in {shown(feature.column)}: {len(feature.terms)} terms")
    return notes


def _rows_described(source: Source, tables: Sequence[Table]) -> dict[str, Any]:
    """Return ids, groups and folds of the rows, where columns are named for them."""
    columns = {"ids": source.id_column, "groups": source.group_column, "folds": source.fold_column}
    named = {option: name for option, name in columns.items() if name is not None}
    written = [_as_written(table, list(dict.fromkeys(named.values()))) for table in tables]
    found: dict[str, Any] = {}
    for option, name in named.items():
        words: list[str] = []
        for table, its in zip(tables, written, strict=True):
            cells = plain_text(its[name])
            gone = missing_words(cells)
            if option != "ids" and gone.any():
                row = int(np.flatnonzero(gone)[0])
                raise cell_error(table, row, name, f"the {option[:-1]} of the row is missing in {shown(name)}")
            words += cells.tolist()
        if option == "ids":
            found[option] = tuple(words)
            continue
        # Folds in the order of numbers, where they are numbers.
        different = sorted(set(words), key=by_number)
        places = {word: place for place, word in enumerate(different)}
        found[option] = np.array([places[word] for word in words], np.int64)
        if option == "folds" and len(different) < 2:
            raise UserError(f"fold_column {shown(name)} has one value, so there is one fold alone", tables[0].path)
    return found
