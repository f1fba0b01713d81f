"""Strategies for files: right in outline, with cells, names and sizes that are seldom right."""

import struct
import zlib
from io import BytesIO

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tests.fuzz.hostile_files import element, matrix, npz

NUMBERS = st.one_of(
    st.integers(-3, 12).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        [
            "0",
            "1",
            "-1",
            "+5",
            ".5",
            "5.",
            "1e",
            "1e5",
            "1e-400",
            "1e308",
            "1e400",
            "-0",
            "00",
            "9007199254740993",
            "nan",
            "inf",
            "-inf",
            "0x10",
            "1_0",
            "?",
            "１",
            "1.2.3",
            "--1",
        ]
    ),
    st.integers(300, 320).map(lambda n: "9" * n),
    st.sampled_from(["", " ", "\t", "'1'", '"1"', "1 1", "%", "#", "{", "}", "\0", "\x1b[2J", "a" * 300]),
)
CELLS = st.one_of(st.sampled_from(["0", "1", "2.5"]), NUMBERS)
NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "c", "l", "m", "ü", "a b", "=cmd", "it's", '"q"', "x,y", "x\ty", "\x1b[2J", "\u202e", "a\0"]
    ),
    st.text(max_size=4),
    st.integers(20, 2000).map(lambda n: "n" * n),
)
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\r", " \n"])


def lines(rows, end):
    return end.join([*rows, ""]).encode("utf-8", "surrogatepass")


@st.composite
def tables(draw, separator=","):
    """Draw a table of text: most rows have as many cells as there are names."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    quote = draw(st.booleans())
    head = separator.join('"' + name.replace('"', '""') + '"' if quote else name for name in names)
    n = st.sampled_from([len(names)] * 8 + [0, 1, len(names) + 1])
    rows = draw(st.lists(n.flatmap(lambda k: st.lists(CELLS, min_size=k, max_size=k)), max_size=5))
    return lines([head, *(separator.join(row) for row in rows)], draw(ENDS))


TYPES = st.sampled_from(
    [
        "numeric",
        "real",
        "INTEGER",
        "{0,1}",
        "{1,0}",
        "{x,'y z', w}",
        "{0}",
        "{ 0 , 1 }",
        "string",
        "{",
        "hierarchical 1/2,3",
        "",
    ]
)


@st.composite
def arff(draw):
    """Draw an ARFF file, dense or sparse."""
    names, kinds = draw(st.lists(NAMES, min_size=1, max_size=5)), st.lists(TYPES, min_size=5, max_size=5)
    quote = draw(st.sampled_from(["", "'", '"']))
    chosen = draw(kinds)
    head = [f"@attribute {quote}{name}{quote} {kind}" for name, kind in zip(names, chosen, strict=False)]
    cell = st.one_of(CELLS, st.sampled_from(["x", "'y z'", "w", "1/2", "3", "1/2@3", "?"]))
    pair = st.tuples(st.integers(-1, 6), cell).map(lambda pair: f"{pair[0]} {pair[1]}")
    dense = st.lists(cell, min_size=len(names), max_size=len(names)).map(",".join)
    sparse = st.lists(pair, max_size=4).map(lambda pairs: "{" + ",".join(pairs) + "}")
    rows = draw(st.lists(draw(st.sampled_from([dense, sparse, st.one_of(dense, sparse)])), max_size=5))
    relation = draw(st.sampled_from(["r", "'r: -C 1'", "'r: -C -2'", "'-C 99999999999999999999'", "'-C x'", "\x1b"]))
    middle = draw(st.sampled_from([["@data"], ["% c", "@DATA"], [], ["@data", "% c", ""]]))
    return lines([f"@relation {relation}", *head, *middle, *rows], draw(ENDS))


NUMBER = st.one_of(
    st.integers(-1, 9).map(str), st.sampled_from(["2147483646", "2147483647", "99999999999", "01", "", "a", "8388607"])
)


@st.composite
def libsvm(draw, header=False):
    """Draw lines of labels and pairs, behind the first line of an XMC file if so asked."""
    pair = st.tuples(NUMBER, NUMBERS).map(":".join)
    labels = st.lists(NUMBER, max_size=3).map(",".join)
    row = st.tuples(labels, st.lists(pair, max_size=4).map(" ".join)).map(" ".join)
    rows = draw(st.lists(row, max_size=5))
    size = st.tuples(st.just(str(len(rows))) | NUMBER, NUMBER | st.just("9"), NUMBER | st.just("9")).map(" ".join)
    return lines([*([draw(size)] if header else []), *rows], draw(ENDS))


SHAPES = st.sampled_from([(3, 2), (3, 2), (3, 2), (3, 1), (3,), (0, 2), (3, 0), (), (2, 2, 2), (1, 9)])
DTYPES = st.sampled_from(
    ["f8", "f8", "i8", "u8", "f4", "f2", "?", "i1", "u1", ">f8", ">i4", "g", "c16", "U3", "S2", "M8[s]"]
)


@st.composite
def arrays(draw):
    """Draw an array of some kind and shape."""
    shape, dtype = draw(SHAPES), np.dtype(draw(DTYPES))
    picked = draw(st.lists(st.sampled_from([0, 1, 1, 2, -1]), min_size=12, max_size=12))
    values = np.resize(np.array(picked), shape)
    if dtype.kind in "iu" and draw(st.booleans()):
        values = values * (2**62 if dtype.itemsize == 8 else 1)
    if dtype.kind == "f" and draw(st.booleans()):
        values = np.where(values == 2, draw(st.sampled_from([np.nan, np.inf, 1e300, -0.0, 0.5])), values)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype, order=draw(st.sampled_from("CF")))


ROLES = (
    "X",
    "Y",
    "known",
    "train",
    "test",
    "label_names",
    "feature_names",
    "X_data",
    "X_indices",
    "X_indptr",
    "X_shape",
)


@st.composite
def archives(draw, path):
    """Write an npz file to `path` and return it."""
    good = {
        "X": np.array([[1.5, 0], [2, 3], [0, 1]]),
        "Y": np.array([[1, 0], [0, 1], [1, 1]]),
        "known": np.ones((3, 2), bool),
        "train": np.array([0, 2]),
        "test": np.array([1]),
        "label_names": np.array(["l", "m"]),
        "feature_names": np.array(["a", "b"]),
        "X_data": np.array([1.5, 2, 3]),
        "X_indices": np.array([0, 0, 1]),
        "X_indptr": np.array([0, 1, 3, 3]),
        "X_shape": np.array([3, 2]),
    }
    roles = draw(st.sampled_from([("X", "Y"), ("Y", *ROLES[-4:]), ROLES[:5], ("X", "Y", *ROLES[5:7]), ROLES]))
    members = [(f"{role}.npy", good[role]) for role in roles]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(members) - 1))
        name, content = members[place]
        change = draw(st.sampled_from(["array", "drop", "twice", "bytes", "name", "number"]))
        if change == "array":
            content = draw(arrays())
        elif change == "drop" and len(members) > 1:
            members.pop(place)
            continue
        elif change == "twice":
            members.append((name.removesuffix(draw(st.sampled_from(["", ".npy"]))), draw(arrays())))
        elif change == "bytes":
            content = damaged_npy(draw, content)
        elif change == "name":
            name = draw(st.sampled_from(["Z.npy", "X", "..npy", "é.npy", "a/X.npy"]))
        elif isinstance(content, np.ndarray) and content.size and content.dtype.kind in "iuf":
            content = content.copy()
            content.flat[draw(st.integers(0, content.size - 1))] = draw(st.sampled_from([-1, 7, 100]))
        members[place] = (name, content)
    return npz(path, *members)


def damaged_npy(draw, content):
    """Return an array in the npy format with some other bytes."""
    if isinstance(content, bytes):
        return content[: draw(st.integers(0, len(content)))]
    buffer = BytesIO()
    np.save(buffer, content)
    whole = buffer.getvalue()
    old = draw(st.sampled_from([b"(3, 2)", b"<f8", b"False", b"'shape'", b"}"]))
    new = draw(
        st.sampled_from([b"(999999999, 9)", b"(-3, -2)", b"|O", b"<U0", b"True", b"((((", b"1e9", b"<f4", b"(3,)"])
    )
    return whole.replace(old, new, 1)


@st.composite
def mats(draw):
    """Draw a MAT-file of level 5 from elements that are mostly right."""
    parts = []
    for name in (
        "X",
        "Y",
        *draw(st.lists(st.sampled_from(["label_names", "feature_names", "X_test", "Z", "X"]), max_size=3)),
    ):
        dims = draw(
            st.sampled_from(
                [[3, 2]] * 6 + [[2, 3], [0, 0], [1, 1], [-1, 2], [2**31 - 1, 2], [2**31 - 1, 0], [3, 2, 1], [3]]
            )
        )
        kind = draw(st.sampled_from([6] * 6 + [5, 5, 4, 1, 2, 9, 0, 17]))
        values = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, -1.0, np.nan, np.inf, 1e300]), min_size=6, max_size=6))
        if name.startswith("Y"):
            values = [float(value == 1) for value in values]
        content = [element(9, np.array(values).tobytes())]
        if kind == 5:
            rows, starts = (
                draw(st.sampled_from([[0, 1], [2, 9], [-1, 0]])),
                draw(st.sampled_from([[0, 1, 2], [0, 2, 1], [0]])),
            )
            content = [
                element(5, np.array(rows, np.int32).tobytes()),
                element(5, np.array(starts, np.int32).tobytes()),
                *content,
            ]
        elif kind == 4:
            content = [element(draw(st.sampled_from([16, 4, 17, 1])), draw(st.binary(max_size=6)))]
        elif kind == 1:
            cell = matrix("", draw(st.sampled_from([4, 4, 6, 1])), np.array([1, 1], np.int32), element(16, b"a"))
            content = [cell] * draw(st.integers(0, 3))
        code, dtype = draw(st.sampled_from([(5, np.int32)] * 5 + [(9, np.float64), (12, np.int64), (1, np.int8)]))
        with np.errstate(all="ignore"):
            part = matrix(name, kind, np.array(dims).astype(dtype), *content, dims_type=code)
        if draw(st.booleans()):
            piece = zlib.compress(part)
            part = struct.pack("<II", 15, len(piece)) + piece
        parts.append(part)
    whole = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(parts)
    return whole[: draw(st.sampled_from([len(whole)] * 6 + [len(whole) - 9, 200, 130]))]


@st.composite
def parquets(draw):
    """Draw a Parquet file of columns of several types."""
    columns = {
        "a": draw(
            st.sampled_from([[1.5, 2.0, 0.0], [np.nan, 1, 2], [np.inf, 1, 2], [2**60, 1, 2], [True, False, True]])
        ),
        "b": draw(st.sampled_from([[1, 2, 3], ["x", "y", "z"], [None, 1, 2], [[1], [2], [3]], [b"x", b"y", b"z"]])),
        "l": draw(st.sampled_from([[0, 1, 1], [True, False, None], [0, 1, 2], [0.0, 1.0, np.nan], [2**63, 0, 1]])),
    }
    if draw(st.booleans()):
        columns[draw(NAMES.filter(lambda name: name.isprintable() or "\x1b" in name or "\0" in name))] = [1, 2, 3]
    frame = pd.DataFrame(columns)
    if draw(st.booleans()):
        frame = frame.convert_dtypes()
    buffer = BytesIO()
    frame.iloc[: draw(st.sampled_from([3, 3, 3, 0]))].to_parquet(buffer)
    return buffer.getvalue()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.just("x" * 5000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def changed_value(draw, value, leaves):
    """Return JSON or YAML values with one of them, somewhere inside, replaced, removed or added."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 5)):
            return {name: inner for name, inner in value.items() if name != key}
        if not draw(st.integers(0, 8)):
            return value | {draw(st.text(max_size=6)): draw(leaves)}
        return value | {key: changed_value(draw, value[key], leaves)}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed_value(draw, value[place], leaves), *value[place + 1 :]]
    if type(value) is int and draw(st.booleans()):
        return value + draw(st.sampled_from([-1, 1, 1 << 16, 1 << 40]))
    return draw(leaves)
