"""The file formats that can be read, and how a file's name and head tell its format."""

from pathlib import Path

from mlrank.datasets.arff import read_clus, read_mulan
from mlrank.datasets.arff_header import read_header
from mlrank.datasets.files import file_stem, shown
from mlrank.datasets.libsvm import read_libsvm
from mlrank.datasets.parsed import Reader
from mlrank.errors import UserError, unknown_name

__all__ = ["READERS", "format_of", "reader_for"]

READERS: dict[str, Reader] = {
    "clus": read_clus,
    "libsvm": read_libsvm,
    "mulan": read_mulan,
}

_LIBSVM_ENDINGS = (".dat", ".libsvm", ".svm", ".svmlight", ".txt")


def reader_for(key: str) -> Reader:
    """Return the reader of a format.

    Raises
    ------
    UserError
        If there is no such format; the nearest one is named.
    """
    if key not in READERS:
        raise UserError(unknown_name("data format", key, READERS))
    return READERS[key]


def format_of(path: Path, labels: Path | None) -> str:
    """Tell the format of a file by its ending; whether an ARFF file is Mulan's or Clus' by its header.

    Raises
    ------
    UserError
        If the ending is unknown or the header unreadable.
    """
    ending = file_stem(path)[1]
    if ending in _LIBSVM_ENDINGS:
        return "libsvm"
    if ending != ".arff":
        known = ", ".join(sorted((".arff", *_LIBSVM_ENDINGS)))
        message = f"the ending {shown(ending)} tells no format (known: {known}); set format to one of "
        raise UserError(message + ", ".join(sorted(READERS)), path)
    if labels is not None:
        return "mulan"
    attributes = read_header(path)[0].attributes
    return "clus" if any(attribute.kind == "hierarchical" for attribute in attributes) else "mulan"
