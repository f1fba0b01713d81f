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

__all__ = [
    "COLORS",
    "DARK_COLORS",
    "DARK_OF",
    "DASHES",
    "FONT",
    "FORMATS",
    "MARKERS",
    "axes_of",
    "frame",
    "grid",
    "ink",
    "notes_inches",
    "plain",
    "saved",
    "short",
    "wrapped",
]

FORMATS = ("svg", "pdf", "png")
# Distinct in colour, marker and dash, so that curves can be distinguished in print and without colour vision.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", "-", "--")
# The same on a dark ground, where they are as far from it.
DARK_COLORS = ("#4aa8e8", "#ff8b47", "#2fc39a", "#e7a3cb", "#f0b93a", "#9ad6ff")
# One size for all texts, in points.
FONT = 8.0
_SIZED = ("axes.labelsize", "axes.titlesize", "figure.titlesize", "figure.labelsize", "legend.fontsize")
_SETTINGS: Any = {"svg.hashsalt": "mlrank", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": FONT}
_SETTINGS |= dict.fromkeys((*_SIZED, "legend.title_fontsize", "xtick.labelsize", "ytick.labelsize"), FONT)
_GROUND = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
_INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
_DARK: Any = dict.fromkeys(_GROUND, "#14171a") | dict.fromkeys(_INK, "#e8e8e8") | {"grid.color": "#6b7075"}
# What stands for a colour of a light figure in a dark one; the first two are ink and ground.
DARK_OF = {"#000000": "#e8e8e8", "#ffffff": "#14171a", "#555555": "#a8adb3", "#999999": "#8a9096", "#b0b0b0": "#6b7075"}
DARK_OF |= {"#cccccc": "#42484e"} | dict(zip(COLORS, DARK_COLORS, strict=True))
_DPI = 300
# No date and no random identifiers, so that the same figure is the same file.
_DESCRIPTION = {"svg": "Description", "pdf": "Subject", "png": "Description"}
_METADATA: dict[str, dict[str, object]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
# Of notes and titles.
_LINE_INCHES, _CHARACTERS_PER_INCH = 0.165, 15


@contextmanager
def saved(
    size: tuple[float, float], fmt: str, *, dark: bool = False, alt: str = ""
) -> Iterator[tuple["Figure", io.BytesIO]]:
    """Give an empty figure to draw on, of so many inches, and where its file's content will be.

    Parameters
    ----------
    size : width and height
    fmt : one of FORMATS; pixels are 300 to an inch
    dark : whether it is drawn in light colours on a dark ground
    alt : the figure in words, for those who do not see it; files hold it as their description

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
    from matplotlib.rcsetup import cycler

    cycle: Any = {"axes.prop_cycle": cycler(color=DARK_COLORS if dark else COLORS)}
    with matplotlib.rc_context(_SETTINGS | cycle | (_DARK if dark else {})):
        drawn, buffer = Figure(figsize=size, layout="constrained"), io.BytesIO()
        FigureCanvasAgg(drawn)
        yield drawn, buffer
        with _warn_once_of_missing_letters(fmt):
            metadata = _METADATA[fmt] | ({_DESCRIPTION[fmt]: alt} if alt else {})
            drawn.savefig(buffer, format=fmt, dpi=_DPI, metadata=metadata)


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
        lines = textwrap.wrap(title, max(30, int(drawn.get_figwidth() * (_CHARACTERS_PER_INCH - 2))))
        drawn.suptitle(plain("\n".join(lines)), fontweight="bold")
    if notes:
        lines = _wrapped(notes, drawn.get_figwidth())
        drawn.supxlabel(plain("\n".join(lines)), x=0.02, ha="left")


def notes_inches(notes: Sequence[str], width: float) -> float:
    """Return the height that notes take below a figure of a width."""
    return _LINE_INCHES * len(_wrapped(notes, width))


def _wrapped(notes: Sequence[str], width: float) -> list[str]:
    most = max(40, int(width * _CHARACTERS_PER_INCH))
    return [line for note in notes for line in textwrap.wrap(note, most, subsequent_indent="  ")]


def wrapped(text: str, inches: float) -> str:
    """Return a title or label in lines of at most so many inches."""
    return plain("\n".join(textwrap.wrap(text, max(8, int(inches * _CHARACTERS_PER_INCH)))))


def short(name: str) -> str:
    """Return a name as a tick has room for it."""
    return name if len(name) <= 24 else f"{name[:23]}…"


def ink(soft: bool = False) -> str:
    """Return the colour of lines and letters, or of those that stand back."""
    import matplotlib

    dark = matplotlib.rcParams["figure.facecolor"] == _DARK["figure.facecolor"]
    return ("#a8adb3" if dark else "#555555") if soft else str(matplotlib.rcParams["text.color"])


def plain(text: str) -> str:
    """Return text in which a dollar does not begin a formula."""
    return text.replace("$", r"\$")
