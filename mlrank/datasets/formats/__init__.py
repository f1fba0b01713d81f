"""The file formats. A new one is a module here and its line in FORMATS."""

from dataclasses import fields
from pathlib import Path

from mlrank.datasets.columns import ListColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arff import CLUS, MEKA, MULAN
from mlrank.datasets.formats.base import Format, Source
from mlrank.datasets.formats.csv import CSV
from mlrank.datasets.formats.libsvm import LIBSVM, XMC
from mlrank.datasets.formats.mat import MAT
from mlrank.datasets.formats.missing import check_impute
from mlrank.datasets.formats.npz import NPZ
from mlrank.datasets.formats.parquet import PARQUET
from mlrank.datasets.formats.text import file_stem, shown
from mlrank.datasets.formats.tsv import TSV
from mlrank.errors import UserError, unknown_name

__all__ = ["FORMATS", "Source", "find_format", "format_of", "format_to_write", "read"]

FORMATS: dict[str, Format] = {
    "mulan": MULAN,
    "meka": MEKA,
    "clus": CLUS,
    "libsvm": LIBSVM,
    "xmc": XMC,
    "csv": CSV,
    "tsv": TSV,
    "npz": NPZ,
    "mat": MAT,
    "parquet": PARQUET,
}


# Files of these endings in one folder are read as one table.
FOLDERS = (".csv", ".tsv", ".parquet")


def find_format(key: str) -> Format:
    """Return the format with this key.

    Raises
    ------
    UserError
        If there is none; the nearest key is suggested.
    """
    if key not in FORMATS:
        raise UserError(unknown_name("data format", key, FORMATS))
    return FORMATS[key]


def read(key: str, source: Source) -> Dataset:
    """Read the files of a data set.

    Raises
    ------
    UserError
        If there is no such format, an option has no effect with it, or the files cannot be understood.
    """
    form = find_format(key)
    check_impute(source.impute)
    for option in (field.name for field in fields(Source) if field.name not in ("parts", "only", "text")):
        value = getattr(source, option)
        if option == "labels" and not _takes_labels(form, value):
            where = "npz, csv, tsv, parquet" if not isinstance(value, ListColumn) else "csv, tsv, parquet"
            what = "a file" if not isinstance(value, ListColumn) else "a column"
            raise UserError(f"{what} of labels goes with {where}, not with format '{key}'", source.parts[0])
        if value is not None and option not in form.options:
            bare = f"'{option}' has no effect with format '{key}', which uses {', '.join(form.options)}"
            raise UserError(form.no_effect.get(option, bare), value if isinstance(value, Path) else source.parts[0])
    return form.read(source)


def _takes_labels(form: Format, value: object) -> bool:
    """Return whether a format can read labels from a column or files of their own, if they are not in its files."""
    table = "decimal" in form.options
    if isinstance(value, ListColumn):
        return "one_hot" in form.options
    files = isinstance(value, tuple) or (
        isinstance(value, Path) and file_stem(value)[1] in (".npy", ".npz", ".parquet")
    )
    return not files or table or form is NPZ


def format_of(path: Path, source: Source) -> str:
    """Return the format of a file by its ending, and where formats share it, by its head and the options given with it.

    Raises
    ------
    UserError
        If the ending is unknown or the head unreadable.
    """
    ending = file_stem(path)[1]
    if path.is_dir():
        inside = [file_stem(entry)[1] for entry in sorted(path.iterdir()) if not entry.name.startswith((".", "_"))]
        ending = next((known for known in FOLDERS if known in inside), ending)
        if ending not in FOLDERS:
            raise UserError(f"is a folder without {', '.join(FOLDERS)} files; name a file in it", path)
    for form in FORMATS.values():
        if ending in form.endings:
            return form.sniff(path, source) if form.sniff else form.key
    known = ", ".join(sorted({ending for form in FORMATS.values() for ending in form.endings}))
    message = f"the ending {shown(ending)} tells no format (known: {known}); set format to one of "
    raise UserError(message + ", ".join(sorted(FORMATS)), path)


def format_to_write(path: Path, key: str | None) -> Format:
    """Return the format to write: as asked, or by the ending of the target (.arff: mulan).

    Raises
    ------
    UserError
        If there is no such format, or the ending is not one that its reader expects.
    """
    if key is not None:
        return find_format(key)
    for form in FORMATS.values():
        if form.written == path.suffix.lower():
            return form
    known = ", ".join(sorted({form.written for form in FORMATS.values()}))
    raise UserError(f"the name does not say which format to write: it must end in one of {known}", path)
