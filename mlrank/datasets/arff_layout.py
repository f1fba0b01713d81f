"""Which attribute of an ARFF file becomes which column of X or Y."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from mlrank.datasets import _codes as codes
from mlrank.datasets.arff_header import Attribute, Header
from mlrank.datasets.files import shown
from mlrank.datasets.labels import LabelTree
from mlrank.errors import UserError, unknown_name

__all__ = ["Layout", "clus_layout", "make_plan", "mulan_layout"]


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
            near = unknown_name("label", name, attributes).partition(" Known:")[0].rstrip(".")
            raise UserError(f"{near}: no attribute of {header.path.name} has that name", tree.path, *place)
        _check_label(header, attributes[name])
    for attribute in header.attributes:
        if attribute.kind == "hierarchical":
            message = "a hierarchical attribute declares the labels itself: leave out the label file (format clus)"
            raise _error(header, attribute, message)
    return _with_features(header, tree.names, tree.parents, set(tree.names))


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


def make_plan(header: Header, layout: Layout) -> Any:
    """Say for the compiled loops what to do with each attribute of this part.

    The attributes may stand in another order than in the training part, and so may the values of each.

    Raises
    ------
    UserError
        If the part has other attributes or values than the training part.
    """
    from mlrank.datasets._arff_kernels import Plan

    _check_same(header, layout)
    words = [_words(attribute, layout) for attribute in header.attributes]
    pool = [value for attribute in words for value, _ in attribute]
    kinds = [_kind(attribute) for attribute in header.attributes]
    return Plan(
        kind=np.array(kinds, np.int8),
        to_y=np.array([attribute.name in layout.label_attributes for attribute in header.attributes]),
        target=np.array([_target(attribute, layout) for attribute in header.attributes], np.int64),
        first=np.array([0, *accumulate(map(len, words))], np.int64),
        pool=np.frombuffer(b"".join(pool) or b"\0", np.uint8),
        bounds=np.array([0, *accumulate(map(len, pool))], np.int64),
        column=np.array([column for attribute in words for _, column in attribute], np.int64),
        omitted=np.array([j for j, a in enumerate(header.attributes) if _first_is_not_zero(a)], np.int64),
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
    return codes.BINARY if set(attribute.values) == {"0", "1"} else codes.NOMINAL


def _check_label(header: Header, attribute: Attribute) -> None:
    if _kind(attribute) not in (codes.BINARY, codes.NUMERIC):
        found = ",".join(attribute.values) or attribute.kind
        raise _error(header, attribute, f"label {shown(attribute.name)} must have the values 0,1, found {shown(found)}")


def _check_same(header: Header, layout: Layout) -> None:
    training = {attribute.name: attribute for attribute in layout.header.attributes}
    part = {attribute.name for attribute in header.attributes}
    for attribute in header.attributes:
        if attribute.name not in training:
            raise _error(header, attribute, f"attribute {shown(attribute.name)} is not in {layout.header.path.name}")
        expected = training[attribute.name]
        added = [value for value in attribute.values if value not in expected.values]
        if _kind(attribute) != _kind(expected) or added:
            detail = f"has the value {shown(added[0])}, which" if added else "has another type than the one that"
            message = f"attribute {shown(attribute.name)} {detail} {layout.header.path.name}"
            raise _error(header, attribute, f"{message} {'does not declare' if added else 'declares'}")
    for name, attribute in training.items():
        if name not in part:
            place = f"{layout.header.path.name}:{attribute.line}"
            raise UserError(f"attribute {shown(name)}, declared at {place}, is missing", header.path)


def _words(attribute: Attribute, layout: Layout) -> list[tuple[bytes, int]]:
    """Return the attribute's values, sorted as bytes, each with its column."""
    if attribute.kind == "hierarchical":
        # A cell may name an ancestor that only the paths of other classes declare.
        return sorted((name.encode(), column) for name, column in layout.labels.items())
    if _kind(attribute) == codes.NOMINAL:
        return sorted((value.encode(), layout.features[attribute.name, value]) for value in attribute.values)
    return []


def _target(attribute: Attribute, layout: Layout) -> int:
    """Return the attribute's only column; the column of its first value where each has its own."""
    if attribute.kind == "hierarchical":
        return -1
    if attribute.name in layout.label_attributes:
        return layout.labels[attribute.name]
    return layout.features[attribute.name, attribute.values[0] if _kind(attribute) == codes.NOMINAL else None]


def _first_is_not_zero(attribute: Attribute) -> bool:
    kind = _kind(attribute)
    return kind in (codes.NOMINAL, codes.CLASSES) or (kind == codes.BINARY and attribute.values[0] == "1")


def _error(header: Header, attribute: Attribute, message: str) -> UserError:
    return UserError(message, header.path, attribute.line, attribute.column)
