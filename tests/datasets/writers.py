"""Small files for the reader tests, and writers that spell the same arrays in every way the formats allow."""

from xml.sax.saxutils import quoteattr

import numpy as np

WEATHER = """@relation weather

@attribute outlook {sunny, overcast, rainy}
@attribute temperature real
@attribute windy {TRUE, FALSE}
@attribute play {0,1}
@attribute stay {0,1}

@data
sunny,85,FALSE,0,1
overcast,64.5,TRUE,1,0
rainy,-7e-1,FALSE,1,1
"""
WEATHER_XML = (
    '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="stay"/><label name="play"></label></labels>'
)


def xml_of(names):
    labels = "\n".join(f"  <label name={quoteattr(name)}></label>" for name in names)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n{labels}\n</labels>'


def put(folder, **files):
    """Write files (name with _ for the dot) and return their paths."""
    paths = []
    for name, content in files.items():
        path = folder / ".".join(name.rsplit("_", 1))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return paths


def quoted(name):
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def arff_of(X, Y, order, sparse):
    """Write ARFF with the columns of [X Y] in the given order, names f0.. and l0.., and every label {0,1}."""
    n_features = X.shape[1]
    both = np.hstack([X, Y.astype(float)])[:, order]
    names = [f"f{j}" if j < n_features else f"l{j - n_features}" for j in order]
    types = ["numeric" if j < n_features else "{0,1}" for j in order]
    head = "\n".join(f"@attribute {quoted(name)} {kind}" for name, kind in zip(names, types, strict=True))
    rows = [_sparse_row(row, types) if sparse else ",".join(map(_cell, row, types)) for row in both]
    return f"@relation r\n{head}\n@data\n" + "\n".join(rows) + "\n"


def _sparse_row(row, types):
    return "{" + ",".join(f"{j} {_cell(v, types[j])}" for j, v in enumerate(row) if v != 0) + "}"


def _cell(value, kind):
    return repr(float(value)) if kind == "numeric" else str(int(value))


def libsvm_of(X, Y, base, label_base, order):
    """Write LIBSVM with the labels of each row in the order given."""
    lines = []
    for row, labels in zip(X, Y, strict=True):
        marked = ",".join(str(label + label_base) for label in order if labels[label])
        pairs = " ".join(f"{j + base}:{float(v)!r}" for j, v in enumerate(row) if v != 0)
        lines.append(f"{marked} {pairs}")
    return "\n".join(lines) + "\n"
