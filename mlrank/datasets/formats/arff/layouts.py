"""Which attributes of an ARFF file are labels: as Mulan's XML names them, or as Clus declares classes."""

from collections.abc import Set
from itertools import accumulate, takewhile

from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.layout import (
    ColumnLayout,
    TableHeader,
    attribute_error,
    check_label,
    kind_of,
    with_features,
)
from mlrank.datasets.formats.names import LabelTree
from mlrank.datasets.formats.text import plain_name, shown
from mlrank.errors import UserError, unknown_name

__all__ = ["clus_layout", "like_labels", "mulan_layout"]


def mulan_layout(header: TableHeader, tree: LabelTree, positive: frozenset[str] = frozenset()) -> ColumnLayout:
    """Take the attributes that the XML names as labels, in its order, and all others as features.

    Raises
    ------
    UserError
        If a label is no attribute, has other values than 0 and 1, or no feature is left.
    """
    attributes = {attribute.name: attribute for attribute in header.attributes}
    for name, place in zip(tree.names, tree.places, strict=True):
        if name not in attributes:
            near = (
                unknown_name("label", plain_name(name), map(plain_name, attributes)).partition(" Known:")[0].rstrip(".")
            )
            raise UserError(f"{near}: no attribute of {header.path.name} has that name", tree.path, *place)
        check_label(header, attributes[name], positive)
    for attribute in header.attributes:
        if attribute.kind == "hierarchical":
            message = "a hierarchical attribute declares the labels itself: leave out the label file (format clus)"
            raise attribute_error(header, attribute, message)
    return with_features(header, tree.names, tree.parents, set(tree.names), positive)


def like_labels(header: TableHeader, labels: Set[str]) -> list[str]:
    """Return the features that may be labels whose names were forgotten: with the values 0,1, in a row with labels.

    The row begins or ends the file; where every attribute is in it, nothing tells features from labels.
    """
    names: dict[str, None] = {}
    for attributes in (header.attributes, header.attributes[::-1]):
        row = list(takewhile(lambda attribute: kind_of(attribute) == codes.BINARY, attributes))
        rest = [attribute.name for attribute in row if attribute.name not in labels]
        if len(rest) < len(row) < len(attributes):
            names |= dict.fromkeys(rest)
    return [attribute.name for attribute in header.attributes if attribute.name in names]


def clus_layout(header: TableHeader) -> ColumnLayout:
    """Take every declared class and its ancestors as labels, in order of first mention, ancestors first.

    Raises
    ------
    UserError
        If there is not exactly one hierarchical attribute.
    """
    classes = [attribute for attribute in header.attributes if attribute.kind == "hierarchical"]
    if not classes:
        raise UserError("no attribute of type hierarchical, which a Clus file needs", header.path)
    if len(classes) > 1:
        raise attribute_error(
            header, classes[1], f"a second hierarchical attribute; {shown(classes[0].name)} is one already"
        )
    paths = [path.split("/") for path in classes[0].values]
    names = tuple(dict.fromkeys(name for path in paths for name in accumulate(path, "{}/{}".format)))
    position = {name: place for place, name in enumerate(names)}
    parents = tuple(position.get(name.rpartition("/")[0], -1) for name in names)
    return with_features(header, names, parents, {classes[0].name})
