"""The specification curve: one difference under every reading, sorted, with the choices of each reading below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlrank.plots.canvas import COLORS, MARKERS, frame, ink, notes_inches, plain, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Specification", "SpecificationFigure", "render_specification"]

WIDTH = 7.0
# Inches: of the curve, and of a line of choices.
_CURVE, _LINE = 2.4, 0.17
# Fewer readings than this stand apart as if there were so many.
_FEWEST = 12


@dataclass(frozen=True)
class Specification:
    """One reading: its difference, what it finds, its choices, and what is special about it ("" for nothing)."""

    value: float
    found: str
    choices: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True)
class SpecificationFigure:
    """A specification curve (after Simonsohn, Simmons & Nelson, Nature Human Behaviour 2020).

    Parameters
    ----------
    title, label : str
        `label` is that of the difference.
    specifications : tuple of Specification, in any order
    found : tuple of str
        Everything that a reading may find, in the order of the legend.
    notes : tuple of str
    """

    title: str
    label: str
    specifications: tuple[Specification, ...]
    found: tuple[str, ...]
    notes: tuple[str, ...] = ()


def render_specification(figure: SpecificationFigure, fmt: str, *, dark: bool = False, alt: str = "") -> bytes:
    """Return a figure as a file's content: readings from the smallest difference to the largest.

    Parameters
    ----------
    fmt : one of FORMATS
    dark, alt : as of `saved`

    Raises
    ------
    ValueError
        For another format, or without any reading.
    """
    if not figure.specifications:
        raise ValueError("a specification curve needs a reading, found none")
    ordered = sorted(figure.specifications, key=lambda one: one.value)
    lines = _lines(ordered)
    below = _LINE * (len(lines) + 0.5 * len({question for question, _ in lines}))
    with saved((WIDTH, _CURVE + below + 0.6 + notes_inches(figure.notes, WIDTH)), fmt, dark=dark, alt=alt) as (
        drawn,
        buffer,
    ):
        curve, choices = drawn.subplots(2, 1, sharex=True, height_ratios=(_CURVE, below))
        _draw_curve(curve, figure, ordered)
        _draw_choices(choices, lines, ordered)
        frame(drawn, figure.title, figure.notes)
    return buffer.getvalue()


def _lines(ordered: Sequence[Specification]) -> list[tuple[str, str]]:
    """Return the questions with their choices, in the order in which readings first have them."""
    questions = dict.fromkeys(question for one in ordered for question in one.choices)
    return [
        (question, choice) for question in questions for choice in sorted({one.choices[question] for one in ordered})
    ]


def _draw_curve(ax: "Axes", figure: SpecificationFigure, ordered: Sequence[Specification]) -> None:
    ax.axhline(0.0, color=ink(soft=True), linewidth=0.8)
    for place, found in enumerate(figure.found):
        at = [x for x, one in enumerate(ordered) if one.found == found]
        values = [ordered[x].value for x in at]
        color, marker = f"C{place % len(COLORS)}", MARKERS[place % len(MARKERS)]
        if at:
            label = plain(f"{found} ({len(at)})")
            ax.plot(at, values, linestyle="none", markersize=4.5, label=label, color=color, marker=marker)
    noted = [(x, one) for x, one in enumerate(ordered) if one.note]
    for line, (x, one) in enumerate(noted):  # below the curve, each in a line of its own
        left = x < len(ordered) / 2
        ax.annotate(
            plain(one.note),
            (x, one.value),
            xytext=(x, 0.03 + 0.09 * line),
            textcoords=ax.get_xaxis_transform(),
            ha="left" if left else "right",
            arrowprops={
                "arrowstyle": "-",
                "linewidth": 0.6,
                "linestyle": ":",
                "color": ink(soft=True),
                "relpos": (0.0 if left else 1.0, 1.0),
            },
        )
    ax.set_ylabel(plain(figure.label))
    low, high = ordered[0].value, ordered[-1].value
    reach = (high - low) or abs(high) or 1.0
    ax.set_ylim(low - 0.35 * reach, high + 0.15 * reach)
    ax.legend(loc="upper left", framealpha=0.7)
    ax.tick_params(bottom=False)


def _draw_choices(ax: "Axes", lines: Sequence[tuple[str, str]], ordered: Sequence[Specification]) -> None:
    """Draw a dot where a reading has a choice, choices of one question together, questions in turn on grey."""
    y, ticks, names, before = 0.0, [], [], ""
    tops: list[tuple[float, float]] = []
    for question, choice in lines:
        if question != before:
            y += 0.5 if before else 0.0
            tops.append((y - 0.6, y))
            before = question
        at = [x for x, one in enumerate(ordered) if one.choices[question] == choice]
        ax.plot(at, [y] * len(at), linestyle="none", marker="|", markersize=7, markeredgewidth=1.6, color=ink())
        ticks.append(y)
        names.append(f"{question}: {choice}")
        tops[-1] = (tops[-1][0], y + 0.6)
        y += 1.0
    for place, (top, bottom) in enumerate(tops):
        if place % 2 == 0:
            ax.axhspan(top, bottom, color=ink(), alpha=0.06, linewidth=0)
    ax.set_yticks(ticks, [plain(name) for name in names])
    ax.set_ylim(y - 0.2, -0.8)
    spare = max(0, _FEWEST - len(ordered)) / 2
    ax.set_xlim(-0.7 - spare, len(ordered) - 0.3 + spare)
    ax.set_xticks([])
    ax.tick_params(left=False)
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)
    ax.set_xlabel(f"{len(ordered)} readings, from the smallest difference to the largest")
