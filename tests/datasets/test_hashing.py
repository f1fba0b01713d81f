"""The hash of a data set depends on its content and on nothing else."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from mlrank.datasets import Dataset, dataset_hash

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
Y = np.array([[True, False], [False, True]])
SPLIT = (np.array([0]), np.array([1]))
DENSE = Dataset("d", X, Y, None, ("a", "b"), ("p", "q", "r"), SPLIT, "here")
SPARSE = replace(DENSE, X=csr_array(X))


def test_equal_content_equal_hash():
    for data in (DENSE, SPARSE):
        renamed = replace(data, name="e", source="there", label_names=("x", "y"), feature_names=("u", "v", "w"))
        assert dataset_hash(renamed) == dataset_hash(data)
        assert len(dataset_hash(data)) == 16
    assert dataset_hash(replace(DENSE, X=np.asfortranarray(X))) == dataset_hash(DENSE)
    assert dataset_hash(replace(DENSE, Y=np.asfortranarray(Y))) == dataset_hash(DENSE)
    unsorted = csr_array((np.array([2.0, 1.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert dataset_hash(replace(DENSE, X=unsorted)) == dataset_hash(SPARSE)


def test_the_hash_is_what_its_definition_says():
    def digest(*arrays):
        content = [f"{name} {kind} {shape};".encode() + data for name, kind, shape, data in arrays]
        return hashlib.blake2b(b"".join(content), digest_size=8).hexdigest()

    shape = ("shape", "<i8", "(3,)", struct.pack("<3q", 2, 3, 2))
    rest = [
        ("Y", "|b1", "(2, 2)", bytes([1, 0, 0, 1])),
        ("train", "<i8", "(1,)", struct.pack("<q", 0)),
        ("test", "<i8", "(1,)", struct.pack("<q", 1)),
    ]
    assert dataset_hash(DENSE) == digest(shape, ("X", "<f8", "(2, 3)", struct.pack("<6d", 1, 0, 2, 0, 3, 0)), *rest)
    csr = [
        ("data", "<f8", "(3,)", struct.pack("<3d", 1, 2, 3)),
        ("indices", "<i4", "(3,)", struct.pack("<3i", 0, 2, 1)),
        ("indptr", "<i4", "(3,)", struct.pack("<3i", 0, 2, 3)),
    ]
    assert dataset_hash(SPARSE) == digest(shape, *csr, *rest)


def test_every_change_of_content_changes_the_hash():
    other = X.copy()
    other[0, 1] = np.nextafter(0, 1)
    changed = [
        DENSE,
        SPARSE,
        replace(DENSE, X=other),
        replace(SPARSE, X=csr_array(other)),
        replace(DENSE, Y=~Y),
        replace(DENSE, official=None),
        replace(DENSE, official=SPLIT[::-1]),
        replace(DENSE, known=np.ones_like(Y)),
        replace(DENSE, X=np.hstack([X, np.zeros((2, 1))]), feature_names=("p", "q", "r", "s")),
        replace(SPARSE, X=csr_array(np.hstack([X, np.zeros((2, 1))])), feature_names=("p", "q", "r", "s")),
    ]
    assert len({dataset_hash(data) for data in changed}) == len(changed)
