"""The file formats that can be read, and how a file's name and head tell its format."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from mlrank.datasets.arff import meka_labels, read_clus, read_meka, read_mulan
from mlrank.datasets.arff_header import read_header
from mlrank.datasets.arrayfiles import read_mat, read_npz
from mlrank.datasets.files import file_stem, shown
from mlrank.datasets.gaps import check_impute
from mlrank.datasets.libsvm import read_libsvm, read_xmc
from mlrank.datasets.parsed import Parsed, Reader, Source
from mlrank.datasets.tabular import read_csv, read_parquet
from mlrank.errors import UserError, unknown_name

__all__ = ["READERS", "format_of", "read"]

READERS: dict[str, Reader] = {
    "clus": read_clus,
    "csv": read_csv,
    "libsvm": read_libsvm,
    "mat": read_mat,
    "meka": read_meka,
    "mulan": read_mulan,
    "npz": read_npz,
    "parquet": read_parquet,
    "xmc": read_xmc,
}

# What can be said about the files of each format; anything else would have no effect, so it is refused.
_USES: Mapping[str, tuple[str, ...]] = {
    "clus": ("impute",),
    "csv": ("labels", "label_columns", "impute"),
    "libsvm": ("labels", "features", "zero_based"),
    "mat": ("labels", "features", "variables", "impute"),
    "meka": ("label_columns", "impute"),
    "mulan": ("labels", "impute"),
    "npz": ("labels", "features", "impute"),
    "parquet": ("labels", "label_columns", "impute"),
    "xmc": ("labels", "features"),
}

# Why, where the bare fact would not help.
_WHY = {
    ("clus", "labels"): "a Clus file declares its classes itself: leave out the label file",
    ("meka", "labels"): "a MEKA file says itself which attributes are labels: leave out the label file, or set format "
    "to mulan",
    ("xmc", "zero_based"): "zero_based is for LIBSVM files; XMC files always count from 0",
}

_ENDINGS = {
    ".csv": "csv",
    ".dat": "libsvm",
    ".libsvm": "libsvm",
    ".mat": "mat",
    ".npz": "npz",
    ".parquet": "parquet",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".xmc": "xmc",
}


def read(key: str, source: Source) -> Parsed:
    """Read the files of a data set.

    Raises
    ------
    UserError
        If there is no such format, something said about the files has no effect, or they cannot be understood.
    """
    if key not in READERS:
        raise UserError(unknown_name("data format", key, READERS))
    check_impute(source.impute)
    for field in fields(Source):
        value = getattr(source, field.name)
        if field.name != "parts" and value is not None and field.name not in _USES[key]:
            where = value if isinstance(value, Path) else source.parts[0]
            raise UserError(_no_effect(key, field.name), where)
    return READERS[key](source)


def _no_effect(key: str, option: str) -> str:
    if option == "zero_based" and key in ("clus", "meka", "mulan"):
        return "zero_based is for formats that number their features; ARFF names them"
    uses = ", ".join(_USES[key])
    return _WHY.get((key, option), f"'{option}' has no effect with format '{key}', which uses {uses}")


def format_of(path: Path, source: Source) -> str:
    """Tell the format of a file by its ending; which kind of ARFF file it is by its header and what is said about it.

    Raises
    ------
    UserError
        If the ending is unknown or the header unreadable.
    """
    ending = file_stem(path)[1]
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending != ".arff":
        known = ", ".join(sorted((".arff", *_ENDINGS)))
        message = f"the ending {shown(ending)} tells no format (known: {known}); set format to one of "
        raise UserError(message + ", ".join(sorted(READERS)), path)
    if source.labels is not None:
        return "mulan"
    if source.label_columns is not None:
        return "meka"
    header = read_header(path)[0]
    if any(attribute.kind == "hierarchical" for attribute in header.attributes):
        return "clus"
    return "meka" if meka_labels(header.relation) is not None else "mulan"
