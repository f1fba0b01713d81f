"""The columns that a table or an ARFF file declares, and which of them becomes which column of X or Y."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.frames.words import negative_of, normal_word
from mlrank.datasets.formats.names import repeated
from mlrank.datasets.formats.text import plain_name, shown
from mlrank.errors import UserError, unknown_name

__all__ = [
    "Attribute",
    "CellPlan",
    "ColumnLayout",
    "TableHeader",
    "attribute_error",
    "check_label",
    "columns_layout",
    "kind_of",
    "make_plan",
    "with_features",
]


class Attribute(NamedTuple):
    """One declared attribute.

    Parameters
    ----------
    name : str
    kind : "numeric", "nominal", "hierarchical" or "text"
    values : tuple of str
        Values of a nominal attribute or class paths of a hierarchical one, in the order declared; "string" or "date".
    line, column : int
        Where its name stands.
    """

    name: str
    kind: Literal["numeric", "nominal", "hierarchical", "text"]
    values: tuple[str, ...]
    line: int
    column: int


@dataclass(frozen=True)
class TableHeader:
    """The columns that a file declares."""

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]


class CellPlan(NamedTuple):
    """What the compiled loops are to do with the cells of each attribute; see `_cell_kernels`."""

    kind: Any
    to_y: Any
    target: Any
    first: Any
    pool: Any
    bounds: Any
    column: Any
    omitted: Any
    keep_missing: bool


@dataclass(frozen=True)
class ColumnLayout:
    """The columns of X and Y, decided by the training part's header.

    Parameters
    ----------
    header : TableHeader
        Of the training part.
    label_names, feature_names : tuple of str
    parents : tuple of int
        Position of each label's parent, smaller than its own; -1 for none.
    label_attributes : set of str
    labels : mapping from attribute name, or from class path, to column of Y
    features : mapping from (attribute, value) to column of X; value None for attributes with a single column
    """

    header: TableHeader
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    parents: tuple[int, ...]
    label_attributes: Set[str]
    labels: Mapping[str, int]
    features: Mapping[tuple[str, str | None], int]
    positive: frozenset[str] = frozenset()

    def word_notes(self) -> list[str]:
        """Describe labels of two words other than 0 and 1."""
        pairs: dict[tuple[str, ...], int] = {}
        for attribute in self.header.attributes:
            if attribute.name in self.label_attributes and kind_of(attribute) == codes.NOMINAL:
                pairs[attribute.values] = pairs.get(attribute.values, 0) + 1
        return [
            f"{count} label{'s' * (count > 1)} of {' and '.join(map(shown, pair))} read as 0 and 1"
            for pair, count in pairs.items()
        ]


def columns_layout(
    header: TableHeader, labels: int | tuple[str, ...], positive: frozenset[str] = frozenset()
) -> ColumnLayout:
    """Take the attributes named as labels, in that order; or the first n, for -n the last n, as MEKA counts.

    Raises
    ------
    UserError
        If there is no such attribute, it has other values than 0 and 1, or no feature is left.
    """
    attributes = header.attributes
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(attributes):
            most = len(attributes) - 1
            message = (
                f"{labels} says that {abs(labels)} of {len(attributes)} columns are labels; possible are 1 to {most}"
            )
            raise UserError(message, header.path)
        labels = tuple(attribute.name for attribute in (attributes[:labels] if labels > 0 else attributes[labels:]))
    declared = {attribute.name: attribute for attribute in attributes}
    if (twice := repeated(labels)) is not None:
        raise UserError(f"the label column {shown(twice)} is named twice", header.path)
    for name in labels:
        if name not in declared:
            raise UserError(unknown_name("label column", plain_name(name), map(plain_name, declared)), header.path)
        check_label(header, declared[name], positive)
    return with_features(header, labels, (-1,) * len(labels), set(labels), positive)


def make_plan(header: TableHeader, layout: ColumnLayout, keep_missing: bool = False) -> CellPlan:
    """Return what the compiled loops are to do with each attribute of this part.

    The attributes may stand in another order than in the training part, and so may the values of each. `keep_missing`:
    missing features are recorded instead of refused.

    Raises
    ------
    UserError
        If the part has other attributes or values than the training part.
    """
    roles = _roles(header, layout)
    words = [_words(attribute, kind, layout) for attribute, kind in roles]
    pool = [value for attribute in words for value, _ in attribute]
    return CellPlan(
        kind=np.array([kind for _, kind in roles], np.int8),
        to_y=np.array([attribute.name in layout.label_attributes for attribute, _ in roles]),
        target=np.array([_target(attribute, kind, layout) for attribute, kind in roles], np.int64),
        first=np.array([0, *accumulate(map(len, words))], np.int64),
        pool=np.frombuffer(b"".join(pool) or b"\0", np.uint8),
        bounds=np.array([0, *accumulate(map(len, pool))], np.int64),
        column=np.array([column for attribute in words for _, column in attribute], np.int64),
        omitted=np.array([j for j, role in enumerate(roles) if _first_is_not_zero(*role, layout)], np.int64),
        keep_missing=keep_missing,
    )


def with_features(
    header: TableHeader,
    names: tuple[str, ...],
    parents: tuple[int, ...],
    label_attributes: Set[str],
    positive: frozenset[str] = frozenset(),
) -> ColumnLayout:
    """Return the layout in which all attributes but those of labels are features; refuse one without features."""
    features: dict[tuple[str, str | None], int] = {}
    for attribute in header.attributes:
        if attribute.name not in label_attributes:
            for value in attribute.values if kind_of(attribute) == codes.NOMINAL else (None,):
                features[attribute.name, value] = len(features)
    if not features:
        raise UserError("every attribute is a label: no feature is left", header.path)
    columns = tuple(name if value is None else f"{name}={value}" for name, value in features)
    labels = {name: position for position, name in enumerate(names)}
    return ColumnLayout(header, names, columns, parents, label_attributes, labels, features, positive)


def kind_of(attribute: Attribute) -> int:
    """Return what the cells of an attribute hold, as a code."""
    if attribute.kind == "numeric":
        return codes.NUMERIC
    if attribute.kind == "hierarchical":
        return codes.CLASSES
    return codes.BINARY if attribute.values in (("0", "1"), ("1", "0")) else codes.NOMINAL


def check_label(header: TableHeader, attribute: Attribute, positive: frozenset[str] = frozenset()) -> None:
    """Refuse a label that has other values than 0 and 1, or two words of which it is known what they mean."""
    kind = kind_of(attribute)
    if kind == codes.NOMINAL and _negative(attribute, positive) is not None:
        return
    if kind not in (codes.BINARY, codes.NUMERIC):
        found = ",".join(attribute.values) or attribute.kind
        several = "; labels of several values are not supported" if len(attribute.values) > 2 else ""
        more = "; set positive to the word that means that a row has it" if len(attribute.values) == 2 else several
        message = f"label {shown(attribute.name)} must have the values 0,1, found {shown(found)}{more}"
        raise attribute_error(header, attribute, message)


def _negative(attribute: Attribute, positive: frozenset[str]) -> frozenset[str] | None:
    """Return which values of a nominal label, in their normal form, mean that a row does not have it."""
    words = [normal_word(value) for value in attribute.values]
    return negative_of(frozenset(words), positive) if len(set(words)) == len(words) else None


def _roles(header: TableHeader, layout: ColumnLayout) -> list[tuple[Attribute, int]]:
    """Return each attribute of this part with its kind, which the training part decides."""
    training = {attribute.name: attribute for attribute in layout.header.attributes}
    roles = []
    for attribute in header.attributes:
        if attribute.name not in training:
            raise attribute_error(
                header, attribute, f"attribute {shown(attribute.name)} is not in {layout.header.path.name}"
            )
        expected = training[attribute.name]
        _check_same(header, attribute, expected, layout.header.path.name)
        is_label = attribute.name in layout.label_attributes and attribute.kind == "numeric"
        roles.append((attribute, codes.BINARY if is_label else kind_of(expected)))
    for name in training.keys() - {attribute.name for attribute in header.attributes}:
        place = f"{layout.header.path.name}:{training[name].line}"
        raise UserError(f"attribute {shown(name)}, declared at {place}, is missing", header.path)
    return roles


def _check_same(header: TableHeader, attribute: Attribute, expected: Attribute, name: str) -> None:
    if attribute.kind != expected.kind:
        message = f"is {attribute.kind}, but {expected.kind} in {name}"
        raise attribute_error(header, attribute, f"attribute {shown(attribute.name)} {message}")
    declared = set(expected.values)
    for value in attribute.values:
        if value not in declared:
            message = f"has the value {shown(value)}, which {name} does not declare"
            raise attribute_error(header, attribute, f"attribute {shown(attribute.name)} {message}")


def _words(attribute: Attribute, kind: int, layout: ColumnLayout) -> list[tuple[bytes, int]]:
    """Return the attribute's values, sorted as bytes, each with its column."""
    if kind == codes.CLASSES:
        # A cell may name an ancestor that only the paths of other classes declare.
        return sorted((name.encode(), column) for name, column in layout.labels.items())
    if kind == codes.NOMINAL and attribute.name in layout.label_attributes:
        negative = _negative(attribute, layout.positive) or frozenset()
        return sorted((value.encode(), int(normal_word(value) not in negative)) for value in attribute.values)
    if kind == codes.NOMINAL:
        return sorted((value.encode(), layout.features[attribute.name, value]) for value in attribute.values)
    return []


def _target(attribute: Attribute, kind: int, layout: ColumnLayout) -> int:
    """Return the attribute's only column; the column of its first value where each has its own."""
    if kind == codes.CLASSES:
        return -1
    if attribute.name in layout.label_attributes:
        return layout.labels[attribute.name]
    return layout.features[attribute.name, attribute.values[0] if kind == codes.NOMINAL else None]


def _first_is_not_zero(attribute: Attribute, kind: int, layout: ColumnLayout) -> bool:
    one_first = attribute.values[:1] == ("1",)
    if kind == codes.NOMINAL and attribute.name in layout.label_attributes:
        return normal_word(attribute.values[0]) not in (_negative(attribute, layout.positive) or frozenset())
    return kind in (codes.NOMINAL, codes.CLASSES) or (kind == codes.BINARY and one_first)


def attribute_error(header: TableHeader, attribute: Attribute, message: str) -> UserError:
    """Return a UserError that points at the declaration of an attribute."""
    return UserError(message, header.path, attribute.line, attribute.column)
