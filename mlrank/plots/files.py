"""Any figure as a file: equal bytes for equal descriptions."""

from html import escape

from mlrank.plots.canvas import DARK_OF
from mlrank.plots.critical import CriticalFigure, render_critical
from mlrank.plots.heat import HeatFigure, render_heat
from mlrank.plots.panels import render_panels
from mlrank.plots.regions import RegionFigure, render_regions
from mlrank.plots.specification import SpecificationFigure, render_specification
from mlrank.plots.words import AnyFigure, description

__all__ = ["AnyFigure", "render", "with_dark"]


def render(figure: AnyFigure, fmt: str, *, dark: bool = False) -> bytes:
    """Return a figure as a file's content, with what it shows in words.

    Parameters
    ----------
    fmt : one of FORMATS
        Pixels are 300 to an inch.
    dark : whether it is drawn in light colours on a dark ground

    Raises
    ------
    ValueError
        For another format.
    """
    words = description(figure)
    if isinstance(figure, CriticalFigure):
        drawn = render_critical(figure, fmt, dark=dark, alt=words)
    elif isinstance(figure, HeatFigure):
        drawn = render_heat(figure, fmt, dark=dark, alt=words)
    elif isinstance(figure, SpecificationFigure):
        drawn = render_specification(figure, fmt, dark=dark, alt=words)
    elif isinstance(figure, RegionFigure):
        drawn = render_regions(figure, fmt, dark=dark, alt=words)
    else:
        drawn = render_panels(figure, fmt, dark=dark, alt=words)
    return _with_words(drawn, figure.title, words) if fmt == "svg" else drawn


def with_dark(svg: bytes) -> bytes:
    """Return a light SVG file that is dark where its reader, or the page around it, prefers dark."""
    ink, ground, *_ = DARK_OF.values()
    rules = [f"svg {{ fill: {ink}; background: {ground} }}"]
    for light, dark in DARK_OF.items():
        rules += [f'[style*="{part}: {light}"] {{ {part}: {dark} !important }}' for part in ("fill", "stroke")]
    style = f"\n <style>@media (prefers-color-scheme: dark) {{\n{chr(10).join(rules)}\n}}</style>"
    start = svg.index(b">", svg.index(b"<svg")) + 1
    return svg[:start] + style.encode() + svg[start:]


def _with_words(svg: bytes, title: str, words: str) -> bytes:
    """Return an SVG file whose first elements are its title and its description, which screen readers read out."""
    start = svg.index(b">", svg.index(b"<svg")) + 1
    named = f"\n <title>{escape(title)}</title>\n <desc>{escape(words)}</desc>"
    return svg[:start] + named.encode() + svg[start:]
