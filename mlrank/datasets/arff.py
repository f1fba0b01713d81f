"""Readers for ARFF files: Mulan's (labels named by an XML file) and Clus' (one hierarchical attribute).

A nominal feature with the values 0 and 1 is one column of these numbers; any other nominal feature becomes one 0/1
column per declared value, named ``attribute=value``. A file of sparse rows gives a csr_array, in which an attribute
that a row leaves out has its first declared value, or 0 if it is numeric.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.datasets.arff_header import Header, read_header
from mlrank.datasets.arff_layout import Layout, clus_layout, make_plan, mulan_layout
from mlrank.datasets.arff_rows import rows_for
from mlrank.datasets.labels import read_label_xml
from mlrank.datasets.parsed import Parsed, Source
from mlrank.errors import UserError

__all__ = ["read_clus", "read_mulan"]


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
    return _read(source, lambda header: mulan_layout(header, tree))


def read_clus(source: Source) -> Parsed:
    """Read Clus' hierarchical ARFF, in which a row's paths mark their classes and all ancestors of these.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    if source.labels is not None:
        raise UserError("a Clus file declares its classes itself: leave out the label file", source.labels)
    return _read(source, clus_layout)


def _which_labels(path: Path) -> str:
    beside = sorted(entry.name for entry in path.parent.glob("*.xml"))
    hint = f", perhaps {beside[0]}" if len(beside) == 1 else ""
    return f"an ARFF file does not say which attributes are labels: name the Mulan XML file that does as labels{hint}"


def _read(source: Source, layout_of: Callable[[Header], Layout]) -> Parsed:
    if source.zero_based is not None:
        raise UserError("zero_based is for formats that number their features; ARFF names them", source.parts[0])
    header, blocks = read_header(source.parts[0])
    layout = layout_of(header)
    rows, blocks = rows_for(layout, blocks)
    sizes = [rows.read(blocks, make_plan(header, layout), header)]
    for path in source.parts[1:]:
        header, blocks = read_header(path)
        sizes.append(rows.read(blocks, make_plan(header, layout), header))
    X, Y = rows.finish()
    added = _mark_ancestors(Y, layout.parents)
    # In Clus' format that ancestors belong to a row is the meaning of a path; in Mulan's it is our doing.
    nested = added and len(layout.label_attributes) > 1
    notes = (f"{added} ancestor labels marked",) if nested else ()
    return Parsed(X, Y, layout.label_names, layout.feature_names, tuple(sizes), notes)


def _mark_ancestors(Y: BoolArray, parents: tuple[int, ...]) -> int:
    before = int(np.count_nonzero(Y))
    for label in reversed(range(len(parents))):
        if parents[label] >= 0:
            Y[:, parents[label]] |= Y[:, label]
    return int(np.count_nonzero(Y)) - before
