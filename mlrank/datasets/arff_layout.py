"""Which attribute of an ARFF file becomes which column of X or Y."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

import numpy as np

from mlrank.datasets import _codes as codes
from mlrank.datasets.arff_header import Attribute, Header
from mlrank.datasets.files import shown
from mlrank.datasets.labels import LabelTree
from mlrank.errors import UserError, unknown_name

__all__ = ["Layout", "clus_layout", "columns_layout", "like_labels", "make_plan", "mulan_layout"]


class Plan(NamedTuple):
    """What the compiled loops are to do with the cells of each attribute; see `_arff_kernels`."""

    kind: Any
    to_y: Any
    target: Any
    first: Any
    pool: Any
    bounds: Any
    column: Any
    omitted: Any
    keep_gaps: bool
    empty_is_gap: bool


@dataclass(frozen=True)
class Layout:
    """The columns of X and Y, decided by the training part's header.

    Parameters
    ----------
    header : Header
        Of the training part.
    label_names, feature_names : tuple of str
    parents : tuple of int
        Position of each label's parent, smaller than its own; -1 for none.
    label_attributes : set of str
    labels : mapping from attribute name, or from class path, to column of Y
    features : mapping from (attribute, value) to column of X; value None for attributes with a single column
    """

    header: Header
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    parents: tuple[int, ...]
    label_attributes: Set[str]
    labels: Mapping[str, int]
    features: Mapping[tuple[str, str | None], int]


def mulan_layout(header: Header, tree: LabelTree) -> Layout:
    """Take the attributes that the XML names as labels, in its order, and all others as features.

    Raises
    ------
    UserError
        If a label is no attribute, has other values than 0 and 1, or no feature is left.
    """
    attributes = {attribute.name: attribute for attribute in header.attributes}
    for name, place in zip(tree.names, tree.places, strict=True):
        if name not in attributes:
            near = unknown_name("label", _plain(name), map(_plain, attributes)).partition(" Known:")[0].rstrip(".")
            raise UserError(f"{near}: no attribute of {header.path.name} has that name", tree.path, *place)
        _check_label(header, attributes[name])
    for attribute in header.attributes:
        if attribute.kind == "hierarchical":
            message = "a hierarchical attribute declares the labels itself: leave out the label file (format clus)"
            raise _error(header, attribute, message)
    return _with_features(header, tree.names, tree.parents, set(tree.names))


def like_labels(header: Header, labels: Set[str]) -> list[str]:
    """Return the features that may be labels whose names were forgotten: with the values 0,1, in a row with labels.

    The row begins or ends the file; where every attribute is in it, nothing tells features from labels.
    """
    found: dict[str, None] = {}
    for attributes in (header.attributes, header.attributes[::-1]):
        row = list(takewhile(lambda attribute: _kind(attribute) == codes.BINARY, attributes))
        rest = [attribute.name for attribute in row if attribute.name not in labels]
        if len(rest) < len(row) < len(attributes):
            found |= dict.fromkeys(rest)
    return [attribute.name for attribute in header.attributes if attribute.name in found]


def columns_layout(header: Header, labels: int | tuple[str, ...]) -> Layout:
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
    found = {attribute.name: attribute for attribute in attributes}
    for place, name in enumerate(labels):
        if name not in found:
            raise UserError(unknown_name("label column", _plain(name), map(_plain, found)), header.path)
        if name in labels[:place]:
            raise UserError(f"the label column {shown(name)} is named twice", header.path)
        _check_label(header, found[name])
    return _with_features(header, labels, (-1,) * len(labels), set(labels))


def clus_layout(header: Header) -> Layout:
    """Take every declared class and its ancestors as labels, in order of first mention, ancestors first.

    Raises
    ------
    UserError
        If there is not exactly one hierarchical attribute.
    """
    found = [attribute for attribute in header.attributes if attribute.kind == "hierarchical"]
    if not found:
        raise UserError("no attribute of type hierarchical, which a Clus file needs", header.path)
    if len(found) > 1:
        raise _error(header, found[1], f"a second hierarchical attribute; {shown(found[0].name)} is one already")
    paths = [path.split("/") for path in found[0].values]
    names = tuple(dict.fromkeys(name for path in paths for name in accumulate(path, "{}/{}".format)))
    position = {name: place for place, name in enumerate(names)}
    parents = tuple(position.get(name.rpartition("/")[0], -1) for name in names)
    return _with_features(header, names, parents, {found[0].name})


def make_plan(header: Header, layout: Layout, keep_gaps: bool = False, empty_is_gap: bool = False) -> Plan:
    """Say for the compiled loops what to do with each attribute of this part.

    The attributes may stand in another order than in the training part, and so may the values of each. `keep_gaps`:
    missing features are noted instead of refused; `empty_is_gap`: a cell of nothing is missing.

    Raises
    ------
    UserError
        If the part has other attributes or values than the training part.
    """
    roles = _roles(header, layout)
    words = [_words(attribute, kind, layout) for attribute, kind in roles]
    pool = [value for attribute in words for value, _ in attribute]
    return Plan(
        kind=np.array([kind for _, kind in roles], np.int8),
        to_y=np.array([attribute.name in layout.label_attributes for attribute, _ in roles]),
        target=np.array([_target(attribute, kind, layout) for attribute, kind in roles], np.int64),
        first=np.array([0, *accumulate(map(len, words))], np.int64),
        pool=np.frombuffer(b"".join(pool) or b"\0", np.uint8),
        bounds=np.array([0, *accumulate(map(len, pool))], np.int64),
        column=np.array([column for attribute in words for _, column in attribute], np.int64),
        omitted=np.array([j for j, role in enumerate(roles) if _first_is_not_zero(*role)], np.int64),
        keep_gaps=keep_gaps,
        empty_is_gap=empty_is_gap,
    )


def _with_features(
    header: Header, names: tuple[str, ...], parents: tuple[int, ...], label_attributes: Set[str]
) -> Layout:
    features: dict[tuple[str, str | None], int] = {}
    for attribute in header.attributes:
        if attribute.name not in label_attributes:
            for value in attribute.values if _kind(attribute) == codes.NOMINAL else (None,):
                features[attribute.name, value] = len(features)
    if not features:
        raise UserError("every attribute is a label: no feature is left", header.path)
    columns = tuple(name if value is None else f"{name}={value}" for name, value in features)
    labels = {name: position for position, name in enumerate(names)}
    return Layout(header, names, columns, parents, label_attributes, labels, features)


def _kind(attribute: Attribute) -> int:
    if attribute.kind == "numeric":
        return codes.NUMERIC
    if attribute.kind == "hierarchical":
        return codes.CLASSES
    return codes.BINARY if attribute.values in (("0", "1"), ("1", "0")) else codes.NOMINAL


def _check_label(header: Header, attribute: Attribute) -> None:
    if _kind(attribute) not in (codes.BINARY, codes.NUMERIC):
        found = ",".join(attribute.values) or attribute.kind
        more = "; labels of several values are not supported" if len(attribute.values) > 2 else ""
        message = f"label {shown(attribute.name)} must have the values 0,1, found {shown(found)}{more}"
        raise _error(header, attribute, message)


def _roles(header: Header, layout: Layout) -> list[tuple[Attribute, int]]:
    """Return each attribute of this part with its kind, which the training part decides."""
    training = {attribute.name: attribute for attribute in layout.header.attributes}
    roles = []
    for attribute in header.attributes:
        if attribute.name not in training:
            raise _error(header, attribute, f"attribute {shown(attribute.name)} is not in {layout.header.path.name}")
        expected = training[attribute.name]
        _check_same(header, attribute, expected, layout.header.path.name)
        is_label = attribute.name in layout.label_attributes and attribute.kind == "numeric"
        roles.append((attribute, codes.BINARY if is_label else _kind(expected)))
    for name in training.keys() - {attribute.name for attribute in header.attributes}:
        place = f"{layout.header.path.name}:{training[name].line}"
        raise UserError(f"attribute {shown(name)}, declared at {place}, is missing", header.path)
    return roles


def _check_same(header: Header, attribute: Attribute, expected: Attribute, name: str) -> None:
    if attribute.kind != expected.kind:
        message = f"is {attribute.kind}, but {expected.kind} in {name}"
        raise _error(header, attribute, f"attribute {shown(attribute.name)} {message}")
    declared = set(expected.values)
    for value in attribute.values:
        if value not in declared:
            message = f"has the value {shown(value)}, which {name} does not declare"
            raise _error(header, attribute, f"attribute {shown(attribute.name)} {message}")


def _words(attribute: Attribute, kind: int, layout: Layout) -> list[tuple[bytes, int]]:
    """Return the attribute's values, sorted as bytes, each with its column."""
    if kind == codes.CLASSES:
        # A cell may name an ancestor that only the paths of other classes declare.
        return sorted((name.encode(), column) for name, column in layout.labels.items())
    if kind == codes.NOMINAL:
        return sorted((value.encode(), layout.features[attribute.name, value]) for value in attribute.values)
    return []


def _target(attribute: Attribute, kind: int, layout: Layout) -> int:
    """Return the attribute's only column; the column of its first value where each has its own."""
    if kind == codes.CLASSES:
        return -1
    if attribute.name in layout.label_attributes:
        return layout.labels[attribute.name]
    return layout.features[attribute.name, attribute.values[0] if kind == codes.NOMINAL else None]


def _first_is_not_zero(attribute: Attribute, kind: int) -> bool:
    one_first = attribute.values[:1] == ("1",)
    return kind in (codes.NOMINAL, codes.CLASSES) or (kind == codes.BINARY and one_first)


def _plain(name: str) -> str:
    return shown(name)[1:-1]


def _error(header: Header, attribute: Attribute, message: str) -> UserError:
    return UserError(message, header.path, attribute.line, attribute.column)
