"""Readers for ARFF files: Mulan's (labels named by an XML file), MEKA's (labels first or last) and Clus' (classes).

A nominal feature with the values 0 and 1 is one column of these numbers; any other nominal feature becomes one 0/1
column per declared value, named ``attribute=value``. A file of sparse rows gives a csr_array, in which an attribute
that a row leaves out has its first declared value, or 0 if it is numeric. A missing label (?) is an unknown entry.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.datasets.arff_header import Header, read_header
from mlrank.datasets.arff_layout import Layout, clus_layout, columns_layout, like_labels, make_plan, mulan_layout
from mlrank.datasets.arff_rows import rows_for
from mlrank.datasets.files import shown
from mlrank.datasets.growth import Growth
from mlrank.datasets.labels import LabelTree, read_label_xml
from mlrank.datasets.parsed import Parsed, Source
from mlrank.errors import UserError

__all__ = ["meka_labels", "read_clus", "read_meka", "read_mulan"]

_MEKA = re.compile(r"-C\s+(-?\d+)(?![\d.])(.*)")


def read_mulan(source: Source) -> Parsed:
    """Read Mulan's ARFF; the XML file `source.labels` names the labels, which may stand anywhere.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    if source.labels is None:
        raise UserError(_which_labels(source.parts[0]), source.parts[0])
    tree = read_label_xml(source.labels)
    told: list[str] = []

    def layout_of(header: Header) -> Layout:
        told.extend(_forgotten(like_labels(header, set(tree.names)), tree))
        return mulan_layout(header, tree)

    parsed = _read(source, layout_of)
    return replace(parsed, notes=(*parsed.notes, *told))


def read_meka(source: Source) -> Parsed:
    """Read MEKA's ARFF: "-C n" in the relation's name says that the first n attributes are labels, "-C -n" the last n.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    return _read(source, lambda header: columns_layout(header, _meka_count(header, source)))


def meka_labels(relation: str) -> int | None:
    """Return what a relation's name says in MEKA's way about the labels; None if it says nothing.

    >>> meka_labels("'Music: -C -6'"), meka_labels("weather")
    (-6, None)
    """
    match = _MEKA.search(relation)
    return int(match[1]) if match else None


def _meka_count(header: Header, source: Source) -> int | tuple[str, ...]:
    if source.label_columns is not None:
        return source.label_columns
    match = _MEKA.search(header.relation)
    if not match:
        raise UserError("the relation's name has no -C n, by which MEKA says which attributes are labels", header.path)
    if "filters" in match[2]:
        message = f"the relation's name says -C {match[1]} and names later filters, which may have moved the labels"
        raise UserError(f"{message}: give the Mulan XML file as labels, or set label_columns", header.path)
    return int(match[1])


def read_clus(source: Source) -> Parsed:
    """Read Clus' hierarchical ARFF, in which a row's paths mark their classes and all ancestors of these.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    return _read(source, clus_layout)


def _which_labels(path: Path) -> str:
    beside = sorted(entry.name for entry in path.parent.glob("*.xml"))
    hint = f", perhaps {beside[0]}" if len(beside) == 1 else ""
    return f"an ARFF file does not say which attributes are labels: name the Mulan XML file that does as labels{hint}"


def _forgotten(names: list[str], tree: LabelTree) -> list[str]:
    if not names:
        return []
    listed = ", ".join(shown(name) for name in names[:3]) + ("" if len(names) < 4 else f" and {len(names) - 3} more")
    return [f"among the labels stand features with the values 0,1 that {tree.path.name} does not name: {listed}"]


def _notes(header: Header) -> list[str]:
    split = re.search(r"-split-\w+\s+\S+", header.relation)
    return [f"the relation's {split[0].rstrip(chr(39))} is not applied"] if split else []


def _read(source: Source, layout_of: Callable[[Header], Layout]) -> Parsed:
    header, blocks = read_header(source.parts[0])
    layout = layout_of(header)
    rows, blocks = rows_for(layout, blocks, Growth(source.parts))
    keep = source.impute is not None
    sizes = [rows.read(blocks, make_plan(header, layout, keep), header)]
    for path in source.parts[1:]:
        later, blocks = read_header(path)
        sizes.append(rows.read(blocks, make_plan(later, layout, keep), later))
    X, Y = rows.finish()
    added = _mark_ancestors(Y, layout.parents)
    # In Clus' format that ancestors belong to a row is the meaning of a path; in Mulan's it is our doing.
    nested = [f"{added} ancestor labels marked"] if added and len(layout.label_attributes) > 1 else []
    known = rows.gaps.known(Y.shape)
    if known is not None:
        known |= Y
    X, fill, filled = rows.gaps.fill(X, source.impute, sizes[0], layout.feature_names)
    notes = (*nested, *filled, *_notes(header))
    return Parsed(X, Y, layout.label_names, layout.feature_names, tuple(sizes), notes, known, fill=fill)


def _mark_ancestors(Y: BoolArray, parents: tuple[int, ...]) -> int:
    before = int(np.count_nonzero(Y))
    for label in reversed(range(len(parents))):
        if parents[label] >= 0:
            Y[:, parents[label]] |= Y[:, label]
    return int(np.count_nonzero(Y)) - before
