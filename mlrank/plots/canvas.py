"""What all figures share: colors and lines that differ in print and without color vision, and their files."""

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlrank.errors import unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLORS", "DASHES", "FORMATS", "MARKERS", "axes_of", "frame", "grid", "notes_inches", "plain", "saved"]

FORMATS = ("svg", "pdf", "png")
# Distinct in colour, marker and dash, so that curves can be distinguished in print and without colour vision.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", "-", "--")
_SETTINGS: Any = {"svg.hashsalt": "mlrank", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}
# No date and no random identifiers, so that the same figure is the same file.
_METADATA: dict[str, dict[str, object]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
# Of notes, in 7 points.
_LINE_INCHES, _CHARACTERS_PER_INCH = 0.15, 17


@contextmanager
def saved(size: tuple[float, float], fmt: str) -> Iterator[tuple["Figure", io.BytesIO]]:
    """Give an empty figure to draw on, of so many inches, and where its file's content will be.

    Raises
    ------
    ValueError
        If `fmt` is not one of FORMATS.
    """
    if fmt not in FORMATS:
        raise ValueError(unknown_name("format of a figure", fmt, FORMATS))
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        drawn, buffer = Figure(figsize=size, layout="constrained"), io.BytesIO()
        FigureCanvasAgg(drawn)
        yield drawn, buffer
        with _warn_once_of_missing_letters(fmt):
            drawn.savefig(buffer, format=fmt, dpi=150, metadata=_METADATA[fmt])


@contextmanager
def _warn_once_of_missing_letters(fmt: str) -> Iterator[None]:
    """Turn a warning for every letter that the font lacks into one for all; none for SVG, whose reader has fonts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = {}
    for warning in caught:
        if letter := re.match(r"Glyph (\d+) ", str(warning.message)):
            missing[chr(int(letter[1]))] = True
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if missing and fmt != "svg":
        message = (
            f"the font of figures lacks {''.join(missing)}: boxes stand for them in {fmt}, the svg holds them as text"
        )
        warnings.warn(message, stacklevel=2)


def grid(n_panels: int) -> tuple[int, int]:
    """Return the rows and columns in which panels stand, two to a row."""
    columns = min(2, n_panels)
    return -(-n_panels // columns), columns


def axes_of(drawn: "Figure", n_panels: int, *, same_y: bool = False) -> "list[Axes]":
    """Return axes for panels in the order of reading; places that are left over stay empty."""
    axes = drawn.subplots(*grid(n_panels), squeeze=False, sharey=same_y).ravel()
    for ax in axes[n_panels:]:
        ax.set_visible(False)
    return list(axes[:n_panels])


def frame(drawn: "Figure", title: str, notes: Sequence[str]) -> None:
    """Write the title above everything, and the notes below in lines that fit the width."""
    if title:
        drawn.suptitle(plain(title), fontsize=10)
    if notes:
        lines = _wrapped(notes, drawn.get_figwidth())
        drawn.supxlabel(plain("\n".join(lines)), fontsize=7, x=0.02, ha="left")


def notes_inches(notes: Sequence[str], width: float) -> float:
    """Return the height that notes take below a figure of a width."""
    return _LINE_INCHES * len(_wrapped(notes, width))


def _wrapped(notes: Sequence[str], width: float) -> list[str]:
    most = max(40, int(width * _CHARACTERS_PER_INCH))
    return [line for note in notes for line in textwrap.wrap(note, most, subsequent_indent="  ")]


def plain(text: str) -> str:
    """Return text in which a dollar does not begin a formula."""
    return text.replace("$", r"\$")
