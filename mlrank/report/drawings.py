"""Figures inside a page: SVG that adapts to the width, with names of its own."""

import re
from dataclasses import dataclass
from html import escape

from mlrank.errors import UserError
from mlrank.plots import KINDS, Material, description, figures_of_kind, render
from mlrank.plots.canvas import COLORS

__all__ = ["Drawing", "drawings", "inline"]

SHRINKS_TO = 0.7
# Colours of a figure, and what a page calls them.
_NAMED = {"#000000": "ink", "#ffffff": "paper", "#555555": "soft-ink"}
_NAMED |= {color: f"c{place}" for place, color in enumerate(COLORS)}


@dataclass(frozen=True)
class Drawing:
    """One figure: its name, its SVG, the kind it is of, and its title."""

    name: str
    kind: str
    svg: str
    title: str = ""


def drawings(given: Material, most_bytes: int) -> tuple[list[Drawing], list[str]]:
    """Return the figures that can be drawn, and one line on each that cannot or does not fit into `most_bytes`."""
    drawn: list[Drawing] = []
    messages: list[str] = []
    left = most_bytes
    for kind in KINDS:
        try:
            figures = figures_of_kind(kind, given)
        except UserError as error:
            messages.append(f"{kind}: {error}")
            continue
        for name, figure in figures.items():
            svg = inline(render(figure, "svg").decode(), len(drawn), description(figure))
            if len(svg) > left:
                messages.append(f"{name}: too large for this page, 'mlrank plot RESULTS {kind}' draws it")
                continue
            left -= len(svg)
            drawn.append(Drawing(name, kind, svg, figure.title))
    return drawn, messages


def inline(svg: str, number: int, words: str = "") -> str:
    """Return an SVG file as an element of a page: without header, metadata and fixed size, its ids made unique.

    Its colours are those of the page, so that it is dark where the page is, and `words` say what it shows.
    It shrinks to no less than SHRINKS_TO of its size: on a narrow screen it is scrolled, not made unreadable.
    """
    element = svg[svg.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>|\s*<(title|desc)>.*?</\1>", "", element, flags=re.S)
    head, rest = element.split(">", 1)
    size = re.search(r' width="([0-9.]+)pt"', head)
    if size is None:
        raise ValueError("an SVG file without a width")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    prefix = f"f{number}-"
    rest = re.sub(r' id="([^"]+)"', rf' id="{prefix}\1"', rest)
    rest = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", rest)
    rest = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}\1"', rest)
    for color, name in _NAMED.items():
        rest = rest.replace(f": {color}", f": var(--{name})")
    named = f' aria-label="{escape(words)}"' if words else ""
    return f'{head} role="img"{named} style="min-width:{SHRINKS_TO * float(size.group(1)):.0f}pt">{_one_font(rest)}'


def _one_font(svg: str) -> str:
    """Return an SVG without the list of fonts in every text: the page has one."""
    return re.sub(r"font-family: [^;\"]*;? ?", "", svg)
