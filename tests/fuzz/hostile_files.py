"""Small files that claim much, or pretend: each a function that writes one and returns how to load it."""

import gzip
import io
import struct
import zipfile
import zlib

import numpy as np
import pandas as pd
from scipy.io import savemat

WIDE = 50_000
X, Y = np.array([[1.5, 0.0], [2.0, 3.0], [0.0, 1.0]]), np.array([[1, 0], [0, 1], [1, 1]], np.uint8)


def npy(array=None, descr="<f8", shape="(1000000000,)", data=b"\0" * 64, by_column=False):
    """Return an array in the npy format, or a header that claims one."""
    if array is not None:
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=True)
        return buffer.getvalue()
    header = f"{{'descr': '{descr}', 'fortran_order': {by_column}, 'shape': {shape}}}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz(path, *members, packing=zipfile.ZIP_DEFLATED):
    """Write a zip file of (name, content), contents arrays or bytes, names also twice."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content if isinstance(content, bytes) else npy(np.asarray(content)))
    return path


def zeros(path, *members, dtype="<f8", shape, size):
    """Write an npz file whose array X unpacks to `size` zeros, without holding them here."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, npy(np.asarray(content)))
        with archive.open("X.npy", "w", force_zip64=True) as member:
            member.write(npy(descr=dtype, shape=str(shape), data=b""))
            for _ in range(size >> 20):
                member.write(bytes(1 << 20))
    return path


def sparse(indices=(0, 0, 1), indptr=(0, 1, 2, 3), shape=(3, 2)):
    return [("X_data", [1.5, 2.0, 3.0]), ("X_indices", indices), ("X_indptr", indptr), ("X_shape", shape)]


def element(kind, content):
    """Return an element of a MAT-file of level 5."""
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def matrix(name, kind, dims, *parts, dims_type=5):
    content = element(6, struct.pack("<II", kind, 0)) + element(dims_type, np.asarray(dims).tobytes())
    return element(14, content + element(1, name.encode()) + b"".join(parts))


def int32(*dims):
    return np.array(dims, np.int32)


def text_of(dims, letters):
    return matrix("label_names", 4, dims, element(16, letters))


def numbers_of(name, array):
    return matrix(name, 6, int32(*array.shape), element(9, np.asarray(array, np.float64).tobytes("F")))


def sparse_of(name, dims, rows, starts, values, rows_type=5):
    parts = (element(rows_type, rows.tobytes()), element(5, starts.tobytes()), element(9, values.tobytes()))
    return matrix(name, 5, dims, *parts)


def mat(path, *elements):
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(elements))
    return path


def packed(content):
    return struct.pack("<II", 15, len(piece := zlib.compress(content, 1))) + piece


def text(path, content):
    path.write_bytes(gzip.compress(content, 6) if path.suffix == ".gz" else content)
    return path


def blanks(path, *pieces):
    """Write a gz file of pieces (content, times), without holding it here."""
    with gzip.open(path, "wb", 6) as file:
        for content, times in pieces:
            for _ in range(-(-len(content) * times >> 20) or 1):
                file.write(content * min(times, max(1, (1 << 20) // len(content))))
    return path


def table(path, frame):
    frame.to_parquet(path)
    return path


def parquet_damaged(path, found, put):
    table(path, pd.DataFrame({"x": [1.0, 2.0], "l": [0, 1]}))
    content = path.read_bytes()
    assert found in content
    path.write_bytes(content.replace(found, put))
    return path


def nested(depth):
    inner = matrix("", 4, int32(1, 1), element(16, b"a"))
    for _ in range(depth):
        inner = matrix("", 1, int32(1, 1), inner)
    return matrix("label_names", 1, int32(1, 1), inner)


def doubles(path):
    """Write a MAT-file with two variables of one name."""
    return mat(path, numbers_of("X", X), numbers_of("Y", Y), numbers_of("X", X + 1))


MEKA = b"@relation 'x: -C %s'\n@attribute l {0,1}\n@attribute a numeric\n@data\n1,2\n"
ARFF = b"@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute a {x%sy}\n@data\n1,x\n"
NAMES = b",".join(b"column%d" % place for place in range(WIDE))
BIG = 1 << 34

# By what is wrong: the file's name, a function that writes it, the options to load it with, and words of the refusal.
REFUSED = {
    "redos in a value": (
        "a.arff",
        lambda p: text(p, b"@attribute a {x" + b" " * 1_000_000 + b"\n@data\n1\n"),
        {},
        "expected a value, then",
    ),
    "redos in a quoted value": (
        "a.arff",
        lambda p: text(p, b"@attribute a {'x'" + b" " * 1_000_000 + b"\n@data\n1\n"),
        {"label_columns": 1},
        "expected a value",
    ),
    "redos in a name": ("a.arff", lambda p: text(p, b"@attribute '" + b"\\'" * 500_000), {}, "expected an attribute"),
    "blank header": ("a.arff.gz", lambda p: blanks(p, (b"\n", 4 << 20)), {}, "bytes of blanks and comments"),
    "header of comments": ("a.arff.gz", lambda p: blanks(p, (b"%\n", 2 << 20)), {}, "bytes of blanks and comments"),
    "digits of -C": ("a.arff", lambda p: text(p, MEKA % (b"9" * 5000)), {}, "of 2 columns are labels; possible are 1"),
    "a deep class": (
        "a.arff",
        lambda p: text(p, b"@attribute c hierarchical " + b"a/" * 100_000 + b"a\n@attribute b real\n@data\na,1\n"),
        {},
        "has 100000 ancestors, more than 100",
    ),
    "a NUL in an ARFF header": ("a.arff", lambda p: text(p, ARFF % b"\0,"), {}, "a NUL byte in the header"),
    "a NUL in a CSV header": ("a.csv", lambda p: text(p, b"a\0,b\n1,1\n"), {"label_columns": 1}, "a NUL byte"),
    "a NUL in label names": (
        "a.svm",
        lambda p: text(p, b"1 1:1\n") and (text(p.with_name("n.txt"), b"a\0b\n"), p)[1],
        {"labels": "n.txt"},
        "a NUL byte in a name",
    ),
    "commas in a header": (
        "a.csv.gz",
        lambda p: blanks(p, (b",", 9 << 20)),
        {"label_columns": 1},
        "more than 8388608",
    ),
    "a name twice among many": (
        "a.csv",
        lambda p: text(p, NAMES + b",column999\n1\n"),
        {"label_columns": 1},
        "two columns are named 'column999'",
    ),
    "a label column twice among many": (
        "a.csv",
        lambda p: text(p, NAMES + b"\n1\n"),
        {"label_columns": [*NAMES.decode().split(","), "column999"]},
        "the label column 'column999' is named twice",
    ),
    "an unknown label column among many": (
        "a.csv",
        lambda p: text(p, NAMES + b"\n1\n"),
        {"label_columns": ["colum999"]},
        "unknown label column 'colum999'",
    ),
    "CSV of blanks": (
        "a.csv.gz",
        lambda p: blanks(p, (b"a,b\n", 1), (b"\n", 4 << 20)),
        {"label_columns": 1},
        "bytes without a row",
    ),
    "ARFF of blanks": (
        "a.arff.gz",
        lambda p: blanks(p, (MEKA % b"1", 1), (b"\n", 4 << 20)),
        {},
        "bytes without a row",
    ),
    "LIBSVM of comments": (
        "a.svm.gz",
        lambda p: blanks(p, (b"1 1:1\n#\n", 1), (b"#\n", 2 << 20)),
        {},
        "without a row",
    ),
    "a line of blanks": ("a.svm.gz", lambda p: blanks(p, (b" ", 17 << 20)), {}, "a line of more than 16777216 bytes"),
    "many huge labels": (
        "a.xmc",
        lambda p: text(p, b"400000 1 16777217\n" + b"1 0:1\n" * 400_000),
        {},
        "16777217 labels: possible are 1 to 16777216",
    ),
    "a huge label": ("a.svm", lambda p: text(p, b"9999999999 1:1\n"), {}, "is larger than 2147483646"),
    "a huge feature": ("a.svm", lambda p: text(p, b"1 2147483646:1\n"), {}, "more than 8388608 are not supported"),
    "rows of no cells": (
        "a.arff.gz",
        lambda p: blanks(
            p,
            (b"@relation 'x: -C 4000'\n" + b"".join(b"@attribute l%d {0,1}\n" % j for j in range(4000)), 1),
            (b"@attribute f numeric\n@data\n", 1),
            (b"{}\n", 1 << 20),
        ),
        {},
        "of memory, of which",
    ),
    "an npz shape of 10^9": ("a.npz", lambda p: npz(p, ("X.npy", npy()), ("Y", Y)), {}, "does not fit its size"),
    "an npz shape of 10^9 by 10^9": (
        "a.npz",
        lambda p: npz(p, ("X.npy", npy(shape="(1000000000, 1000000000)")), ("Y", Y)),
        {},
        "does not fit its size",
    ),
    "a negative npz shape": (
        "a.npz",
        lambda p: npz(p, ("X.npy", npy(shape="(-2, -4)")), ("Y", Y)),
        {},
        "does not fit its size",
    ),
    "text of no letters": (
        "a.npz",
        lambda p: npz(p, ("X", X), ("Y", Y), ("label_names.npy", npy(descr="<U0", data=b""))),
        {},
        "not numbers or text",
    ),
    "an npz member that is no npy": (
        "a.npz",
        lambda p: npz(p, ("X", b"nothing"), ("Y", Y)),
        {},
        "cannot be read as .npz",
    ),
    "an npz header nested deep": (
        "a.npz",
        lambda p: npz(p, ("X.npy", npy(shape="(" * 3000 + "1" + ")" * 3000)), ("Y", Y)),
        {},
        "cannot be read as .npz",
    ),
    "an npz column of each bit": (
        "a.npz",
        lambda p: zeros(p, ("Y", Y[:1]), dtype="|u1", shape=(1, 1 << 24), size=1 << 24),
        {},
        "16777216 features: more than 8388608 are not supported",
    ),
    "two members of one name": (
        "a.npz",
        lambda p: npz(p, ("X", X), ("X.npy", X + 1), ("Y", Y)),
        {},
        "two arrays of the",
    ),
    "float indices": (
        "a.npz",
        lambda p: npz(p, *sparse(indices=[0.0, 0.7, 1.0]), ("Y", Y)),
        {},
        "must hold whole numbers",
    ),
    "a float shape": ("a.npz", lambda p: npz(p, *sparse(shape=[3.7, 2.0]), ("Y", Y)), {}, "X_shape must hold whole"),
    "sparse rows without end": (
        "a.npz",
        lambda p: npz(p, *sparse(shape=[1 << 60, 2]), ("Y", Y)),
        {},
        "would take",
    ),
    "sparse columns without end": (
        "a.npz",
        lambda p: npz(p, *sparse(shape=[3, 1 << 40]), ("Y", Y)),
        {},
        "more than 8388608 are not supported",
    ),
    "numbers beyond 2^53": (
        "a.npz",
        lambda p: npz(p, ("X", np.array([[2**53 + 1, 0]] * 3)), ("Y", Y)),
        {},
        "beyond 2^53 they would be rounded",
    ),
    "numbers of 80 bits": (
        "a.npz",
        lambda p: npz(p, ("X", X.astype(np.longdouble)), ("Y", Y)),
        {},
        "more than 64 bits",
    ),
    "a NUL in an npz name": (
        "a.npz",
        lambda p: npz(p, ("X", X), ("Y", Y), ("label_names", np.array(["a\0b", "c"]))),
        {},
        "holds a NUL character",
    ),
    "many npz members": (
        "a.npz",
        lambda p: npz(p, *((f"m{place}", b"") for place in range(5_000)), packing=zipfile.ZIP_STORED),
        {},
        "unknown array 'm0'",
    ),
    "mat dimensions of infinity": (
        "a.mat",
        lambda p: mat(p, matrix("X", 6, [np.inf, 2.0], element(9, bytes(16)), dims_type=9)),
        {},
        "sizes or indices are of the type float64",
    ),
    "2^62 mat rows": (
        "a.mat",
        lambda p: mat(p, matrix("X", 6, np.array([1 << 62, 2]), element(9, bytes(16)), dims_type=12)),
        {},
        "has the shape",
    ),
    "sparse mat of 2^31 rows": (
        "a.mat",
        lambda p: mat(
            p,
            sparse_of("X", int32(2**31 - 1, 2), int32(0), int32(0, 1, 1), np.ones(1)),
            sparse_of("Y", int32(2**31 - 1, 2), int32(0), int32(0, 1, 1), np.ones(1)),
        ),
        {},
        "would take",
    ),
    "mat text of 2^31 empty strings": (
        "a.mat",
        lambda p: mat(p, numbers_of("X", X), numbers_of("Y", Y), text_of(int32(2**31 - 1, 0), b"")),
        {},
        "label_names must hold text",
    ),
    "a NUL in a mat name": (
        "a.mat",
        lambda p: mat(p, numbers_of("X", X), numbers_of("Y", Y), text_of(int32(1, 2), b"a\0")),
        {},
        "label_names must hold text",
    ),
    "mat cells nested deep": (
        "a.mat",
        lambda p: mat(p, nested(3000), numbers_of("X", X), numbers_of("Y", Y)),
        {},
        "label_names must hold text",
    ),
    "two mat variables of one name": ("a.mat", doubles, {}, "two variables have the name 'X'"),
    "float mat indices": (
        "a.mat",
        lambda p: mat(
            p,
            sparse_of("X", int32(3, 2), np.array([0.7, 1.0]), int32(0, 1, 2), np.ones(2), rows_type=9),
            numbers_of("Y", Y),
        ),
        {},
        "sizes or indices are of the type float64",
    ),
    "mat numbers beyond 2^53": (
        "a.mat",
        lambda p: (savemat(p, {"X": np.array([[2**53 + 1, 0]] * 3), "Y": Y}), p)[1],
        {},
        "beyond 2^53 they would be rounded",
    ),
    "a parquet column without its rows": (
        "a.parquet",
        lambda p: parquet_damaged(p, b"\x18\x01l\x15\x02\x16\x04", b"\x18\x01l\x15\x02\x16\x00"),
        {"label_columns": -1},
        "the file says",
    ),
    "parquet numbers beyond 2^53": (
        "a.parquet",
        lambda p: table(p, pd.DataFrame({"a": pd.array([2**53 + 1, None], "Int64"), "l": [0, 1]})),
        {"label_columns": -1},
        "beyond 2^53 they would be rounded",
    ),
    "a parquet name with a NUL": (
        "a.parquet",
        lambda p: table(p, pd.DataFrame({"a\0": [1.0], "l": [0]})),
        {"label_columns": -1},
        "holds a NUL character",
    ),
    "long raw bytes": (
        "a.arff",
        lambda p: text(p, b"@" + b"\x1bA" * 100_000 + b"\n"),
        {},
        "expected @attribute or @data",
    ),
    "a long keyword": ("a.arff", lambda p: text(p, b"@" + b"A" * 1_000_000 + b"\n"), {}, "unknown ARFF keyword '@aaaa"),
}
