"""ARFF files: Mulan's (labels named by an XML file), MEKA's (labels first or last) and Clus' (classes).

A nominal feature with the values 0 and 1 is one column of these numbers; any other nominal feature becomes one 0/1
column per declared value, named ``attribute=value``. A file of sparse rows gives a csr_array, in which an attribute
that a row leaves out has its first declared value, or 0 if it is numeric. A missing label (?) is an unknown entry.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features
from mlrank.datasets.columns import ListColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arff.header import read_header
from mlrank.datasets.formats.arff.layouts import clus_layout, like_labels, mulan_layout
from mlrank.datasets.formats.arff.table import ArffTable, text_attributes
from mlrank.datasets.formats.base import Columns, Format, LoadOptions, Source, StreamRequest, WriteJob, as_dataset
from mlrank.datasets.formats.cell_rows import labels_aside, rows_for, stream_cells
from mlrank.datasets.formats.frames import read_tables, stream_tables
from mlrank.datasets.formats.frames.labels import label_names_of
from mlrank.datasets.formats.frames.reading import roles_of
from mlrank.datasets.formats.frames.words import normal_words
from mlrank.datasets.formats.growth import Growth
from mlrank.datasets.formats.layout import ColumnLayout, TableHeader, check_label, columns_layout, make_plan
from mlrank.datasets.formats.names import LabelTree, matching_names, read_label_xml
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.formats.text import shown
from mlrank.datasets.formats.writing import entries, label_cells, refuse_unknown
from mlrank.errors import UserError
from mlrank.labels import dense_labels, labels_of, row_counts

__all__ = ["CLUS", "MEKA", "MULAN", "meka_labels"]

_TABLE_OPTIONS = ("ignore_columns", "id_column", "group_column", "fold_column", "text_columns", "one_hot")
_MEKA = re.compile(r"-C\s+(-?\d+)(?![\d.])(.*)")


def _sniff(path: Path, source: Source) -> str:
    """Return the key of the kind of ARFF, by the options given with the file or by its header."""
    if source.name_file is not None or isinstance(source.labels, ListColumn):
        return "mulan"
    if source.label_columns is not None:
        return "meka"
    header = read_header(path)[0]
    if _has_classes(header):
        return "clus"
    return "meka" if meka_labels(header.relation) is not None else "mulan"


def _has_classes(header: TableHeader) -> bool:
    return any(attribute.kind == "hierarchical" for attribute in header.attributes)


def _read_mulan(source: Source) -> Dataset:
    """Read Mulan's ARFF; the XML file `source.name_file` names the labels, which may stand anywhere."""
    if isinstance(source.labels, ListColumn):
        return _read_table(source)
    if source.name_file is None:
        raise UserError(_which_labels(source.parts[0]), source.parts[0])
    tree = read_label_xml(source.name_file)
    if _is_table(source):
        data = _read_table(replace(source, labels=None, label_columns=tree.names))
        Y = dense_labels(data.Y).copy()
        added = _mark_ancestors(Y, tree.parents)
        known = None if data.known is None else data.known | Y
        return replace(
            data, Y=Y, known=known, notes=(*([f"{added} ancestor labels marked"] if added else []), *data.notes)
        )
    forgotten: list[str] = []

    def layout_of(header: TableHeader) -> ColumnLayout:
        forgotten.extend(_forgotten(like_labels(header, set(tree.names)), tree))
        return mulan_layout(header, tree, normal_words(source.positive or ()))

    return _read(source, layout_of, forgotten)


def _read_meka(source: Source) -> Dataset:
    """Read MEKA's ARFF: "-C n" in the relation's name makes the first n attributes labels, "-C -n" the last n."""
    if _is_table(source):
        header = read_header(source.parts[0])[0]
        columns = source.label_columns or label_names_of(
            ArffTable(header.path), _meka_count(header, source), [attribute.name for attribute in header.attributes]
        )
        return _read_table(replace(source, label_columns=columns))
    return _read(
        source, lambda header: columns_layout(header, _meka_count(header, source), normal_words(source.positive or ()))
    )


def _read_clus(source: Source) -> Dataset:
    """Read Clus' hierarchical ARFF, in which a row's paths mark their classes and all ancestors of these."""
    return _read(source, clus_layout)


def _is_table(source: Source) -> bool:
    """Return whether a file is to be read as a table: an option asks for it, or it holds text that is not asked for."""
    if any(getattr(source, option) is not None for option in _TABLE_OPTIONS):
        return True
    return source.only is not None and bool(text_attributes(read_header(source.parts[0])[0]))


def _read_table(source: Source) -> Dataset:
    """Read columns as those of other tables; nominal features become one of 0 and 1 for each value that occurs."""
    tables = [ArffTable(path) for path in source.parts]
    if source.one_hot is not True and source.only is None:
        features = set(roles_of(source, tables[0]).features) - {item.column for item in source.text_columns or ()}
        hot = [name for name in tables[0].names if name in features & tables[0].nominal]
        source = replace(source, one_hot=tuple(dict.fromkeys([*(source.one_hot or ()), *hot])) or None)
    return read_tables(source, tables, sparse=tables[0].is_sparse)


def _refuse_text(header: TableHeader) -> None:
    """Refuse attributes of text where nothing says what they are."""
    for attribute in text_attributes(header):
        message = f"attribute {shown(attribute.name)} has type {attribute.values[0]}, which holds no numbers"
        cure = "name it among ignore_columns, as id_column or in text_columns"
        raise UserError(f"{message}: {cure}", header.path, attribute.line, attribute.column)


def meka_labels(relation: str) -> int | None:
    """Return what a relation's name says in MEKA's way about the labels; None if it says nothing.

    >>> meka_labels("'Music: -C -6'"), meka_labels("weather")
    (-6, None)
    """
    match = _MEKA.search(relation)
    return _count(match) if match else None


def _count(match: re.Match[str]) -> int:
    # Twelve digits are more attributes than any file has, and int() refuses thousands of them.
    return int(match[1][:12])


def _meka_count(header: TableHeader, source: Source) -> int | tuple[str, ...]:
    if source.label_columns is not None:
        if isinstance(source.label_columns, int):
            return source.label_columns
        return matching_names(source.label_columns, [attribute.name for attribute in header.attributes])
    match = _MEKA.search(header.relation)
    if not match:
        raise UserError("the relation's name has no -C n, by which MEKA says which attributes are labels", header.path)
    if "filters" in match[2]:
        count = _count(match)
        message = f"the relation's name says -C {count} and names later filters, which may have moved the labels"
        raise UserError(f"{message}: give the Mulan XML file as labels, or set label_columns", header.path)
    return _count(match)


def _which_labels(path: Path) -> str:
    beside = sorted(entry.name for entry in path.parent.glob("*.xml"))
    hint = f", perhaps {beside[0]}" if len(beside) == 1 else ""
    message = "an ARFF file does not say which attributes are labels: name the Mulan XML file that does as labels"
    return f"{message}{hint}, or the attributes in label_columns"


def _forgotten(names: list[str], tree: LabelTree) -> list[str]:
    if not names:
        return []
    listed = ", ".join(shown(name) for name in names[:3]) + ("" if len(names) < 4 else f" and {len(names) - 3} more")
    return [f"among the labels stand features with the values 0,1 that {tree.path.name} does not name: {listed}"]


def _notes(header: TableHeader) -> list[str]:
    split = re.search(r"-split-\w+\s+\S+", header.relation)
    return [f"the relation's {split[0].rstrip(chr(39))} is not applied"] if split else []


def _read(source: Source, layout_of: Callable[[TableHeader], ColumnLayout], more_notes: Iterable[str] = ()) -> Dataset:
    header, blocks = read_header(source.parts[0])
    _refuse_text(header)
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
    known = rows.missing.known(Y.shape)
    if known is not None:
        known |= Y
    X, fill, filled = rows.missing.fill(X, source.impute, sizes[0], layout.feature_names)
    notes = (*nested, *layout.word_notes(), *filled, *_notes(header), *more_notes)
    names = layout.label_names, layout.feature_names
    return as_dataset(source, X, Y, *names, sizes, notes=notes, known=known, fill=fill)


def _mark_ancestors(Y: BoolArray, parents: tuple[int, ...]) -> int:
    before = int(np.count_nonzero(Y))
    for label in reversed(range(len(parents))):
        if parents[label] >= 0:
            Y[:, parents[label]] |= Y[:, label]
    return int(np.count_nonzero(Y)) - before


def _stream(request: StreamRequest) -> Iterator[Features]:
    header, blocks = read_header(request.path)
    by_name = request.selection.text or request.id_column is not None
    if text_attributes(header) or by_name or _odd_labels(header, request.selection):
        return stream_tables(request, ArffTable(request.path))
    layout = clus_layout(header) if _has_classes(header) else labels_aside(header, request.selection)
    first, blocks = rows_for(layout, blocks, Growth(()))
    return stream_cells(request, header, layout, type(first), blocks)


def _odd_labels(header: TableHeader, selection: Selection) -> bool:
    """Return whether a label has values that only an option could explain; who reads features alone needs none."""
    labels = set(selection.labels)
    for attribute in header.attributes:
        if attribute.name in labels:
            try:
                check_label(header, attribute)
            except UserError:
                return True
    return False


def _write_mulan(job: WriteJob) -> LoadOptions:
    data, labels = job.dataset, job.beside(".xml")
    names = "\n".join(f"  <label name={quoteattr(name)}></label>" for name in data.label_names)
    head = '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">'
    labels.write_text(f"{head}\n{names}\n</labels>\n", encoding="utf-8")
    _write_rows(job, data.name, [*data.feature_names, *data.label_names], labels_first=False)
    return job.options(labels=labels, format="mulan")


def _write_meka(job: WriteJob) -> LoadOptions:
    data = job.dataset
    names = [*data.label_names, *data.feature_names]
    _write_rows(job, f"{data.name}: -C {data.n_labels}", names, labels_first=True)
    return job.options(format="meka")


def _write_rows(job: WriteJob, relation: str, names: list[str], labels_first: bool) -> None:
    data = job.dataset
    n_first = data.n_labels if labels_first else data.n_features
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"@relation {_quoted(relation)}\n\n")
            for place, name in enumerate(names):
                kind = "{0,1}" if (place < n_first) == labels_first else "numeric"
                file.write(f"@attribute {_quoted(name)} {kind}\n")
            file.write("\n@data\n")
            write = _sparse_line if issparse(data.X) else _dense_line
            file.writelines(write(data, row, labels_first) for row in rows)


def _dense_line(data: Dataset, row: int, labels_first: bool) -> str:
    features, labels = [repr(value) for value in data.X[row].tolist()], label_cells(data, row)
    return ",".join([*labels, *features] if labels_first else [*features, *labels]) + "\n"


def _sparse_line(data: Dataset, row: int, labels_first: bool) -> str:
    base, label_base = (data.n_labels, 0) if labels_first else (0, data.n_features)
    features = [f"{base + column} {value!r}" for column, value in entries(data, row)]
    labels = [f"{label_base + label} {cell}" for label, cell in enumerate(label_cells(data, row)) if cell != "0"]
    return "{" + ",".join([*labels, *features] if labels_first else [*features, *labels]) + "}\n"


def _write_clus(job: WriteJob) -> LoadOptions:
    data = job.dataset
    refuse_unknown(data, "clus")
    bare = np.flatnonzero(row_counts(data.Y) == 0)
    if bare.size:
        raise UserError(f"row {bare[0] + 1} has no label; a Clus file gives every row a class")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"@relation {_quoted(data.name)}\n\n")
            file.writelines(f"@attribute {_quoted(name)} numeric\n" for name in data.feature_names)
            file.write(f"@attribute class hierarchical {','.join(data.label_names)}\n\n@data\n")
            for row in rows:
                classes = _quoted("@".join(data.label_names[label] for label in labels_of(data.Y, row)))
                if issparse(data.X):
                    cells = [f"{column} {value!r}" for column, value in entries(data, row)]
                    file.write("{" + ",".join([*cells, f"{data.n_features} {classes}"]) + "}\n")
                else:
                    file.write(",".join([*map(repr, data.X[row].tolist()), classes]) + "\n")
    return job.options(format="clus")


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def _columns(path: Path, labels: bool = True) -> Columns:
    attributes = read_header(path)[0].attributes
    classes = next((attribute.line for attribute in attributes if attribute.kind == "hierarchical"), None)
    return Columns({attribute.name: attribute.line for attribute in attributes}, classes, labels)


def _row_lines(path: Path) -> Iterator[int]:
    for block in read_header(path)[1]:
        for number, line in enumerate(block.text.split(b"\n")[:-1], start=block.line):
            if line.strip() and not line.lstrip().startswith(b"%"):
                yield number


_ZERO_BASED = "zero_based is for formats that number their features; ARFF names them"

MULAN = Format(
    key="mulan",
    endings=(".arff",),
    options=("labels", "impute", "positive", *_TABLE_OPTIONS),
    read=_read_mulan,
    stream=_stream,
    write=_write_mulan,
    written=".arff",
    sniff=_sniff,
    no_effect={"zero_based": _ZERO_BASED},
    by_columns="meka",
    columns=_columns,
    row_lines=_row_lines,
)
MEKA = Format(
    key="meka",
    endings=(".arff",),
    options=("label_columns", "impute", "positive", *_TABLE_OPTIONS),
    read=_read_meka,
    stream=_stream,
    write=_write_meka,
    written=".arff",
    sniff=_sniff,
    no_effect={
        "labels": "a MEKA file says itself which attributes are labels: leave out the label file, or set format to "
        "mulan",
        "zero_based": _ZERO_BASED,
    },
    by_columns="meka",
    columns=_columns,
    row_lines=_row_lines,
)
CLUS = Format(
    key="clus",
    endings=(".arff",),
    options=("impute",),
    read=_read_clus,
    stream=_stream,
    write=_write_clus,
    written=".arff",
    sniff=_sniff,
    no_effect={
        "labels": "a Clus file declares its classes itself: leave out the label file",
        "zero_based": _ZERO_BASED,
    },
    columns=lambda path: _columns(path, labels=False),
    row_lines=_row_lines,
)
