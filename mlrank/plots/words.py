"""Figures in words, for readers who do not see them: what is drawn, and what it shows."""

from collections.abc import Sequence

from mlrank.plots.critical import CriticalFigure
from mlrank.plots.heat import HeatFigure, HeatPanel
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.regions import RegionFigure
from mlrank.plots.specification import SpecificationFigure

__all__ = ["AnyFigure", "description"]

AnyFigure = PanelFigure | HeatFigure | CriticalFigure | SpecificationFigure | RegionFigure
# Curves and panels that are described; of the others their number.
_MOST = 12


def description(figure: AnyFigure) -> str:
    """Return what a figure shows, in sentences: its axes, where curves begin, end and are highest, who ranks best."""
    if isinstance(figure, CriticalFigure):
        return _critical(figure)
    if isinstance(figure, SpecificationFigure):
        return _specification(figure)
    if isinstance(figure, RegionFigure):
        return _regions(figure)
    parts = [_map(panel, figure) for panel in figure.panels] if isinstance(figure, HeatFigure) else []
    if isinstance(figure, PanelFigure):
        parts = [_panel(panel, figure) for panel in figure.panels]
    return " ".join([f"{figure.title}.", *_some(parts, "panels")])


def _critical(figure: CriticalFigure) -> str:
    ranks = sorted(zip(figure.mean_ranks, figure.methods, strict=True))
    named = ", ".join(f"{method} {rank:.2f}" for rank, method in ranks)
    groups = "; ".join(" and ".join(group) for group in figure.groups) or "none"
    return (
        f"{figure.title}. Mean ranks, best first: {named}. Critical difference {figure.difference:.2f}. "
        f"Not separated: {groups}."
    )


def _specification(figure: SpecificationFigure) -> str:
    values = sorted(one.value for one in figure.specifications)
    counts = {found: sum(one.found == found for one in figure.specifications) for found in figure.found}
    named = ", ".join(f"{found} {count}" for found, count in counts.items() if count)
    return f"{figure.title}. {len(values)} readings, {figure.label} from {values[0]:.3g} to {values[-1]:.3g}: {named}."


def _regions(figure: RegionFigure) -> str:
    classes = ", ".join(figure.names)
    parts = [f"The plane with {len(figure.points)} points of the classes {classes}"]
    for panel in figure.panels:
        if panel.winners is not None:
            shares = [(panel.winners == number).mean() for number in range(len(figure.names))]
            named = ", ".join(f"{name} {share:.0%}" for name, share in zip(figure.names, shares, strict=True))
            parts.append(f"{panel.title}, the share of the plane where a class scores best: {named}")
    return f"{figure.title}. {'. '.join(parts)}."


def _panel(panel: Panel, figure: PanelFigure) -> str:
    x, y = panel.x_label or figure.x_label, panel.y_label or figure.y_label
    curves = [_curve(curve) for curve in panel.curves if curve.kind != "fit" and curve.x]
    levels = [f"{level.label} at {level.y:.3g}" for level in panel.levels]
    name = f"{panel.title}: " if panel.title else ""
    return f"{name}{y} against {x}. {'; '.join(_some([*curves, *levels], 'curves'))}."


def _curve(curve: Curve) -> str:
    if len(curve.x) == 1:
        return f"{curve.label} {curve.y[0]:.3g} at {curve.x[0]:.4g}"
    order = sorted(zip(curve.x, curve.y, strict=True))
    (first, start), (last, end) = order[0], order[-1]
    at, high = max(order, key=lambda point: point[1])
    if curve.kind == "points":
        low = min(value for _, value in order)
        return f"{curve.label}: {len(order)} points between {low:.3g} and {high:.3g}"
    peak = f", highest {high:.3g} at {at:.4g}" if high > max(start, end) else ""
    return f"{curve.label} from {start:.3g} at {first:.4g} to {end:.3g} at {last:.4g}{peak}"


def _map(panel: HeatPanel, figure: HeatFigure) -> str:
    cells = [
        (value, panel.y_ticks[row], panel.x_ticks[column])
        for row, values in enumerate(panel.values)
        for column, value in enumerate(values)
        if value == value
    ]
    name = f"{panel.title}: " if panel.title else ""
    size = f"{name}{figure.value_label} of {len(panel.y_ticks)} rows ({panel.y_label}) and {len(panel.x_ticks)} columns"
    if not cells:
        return f"{size}, none known."
    (low, *least), (high, *most) = min(cells), max(cells)
    marked = [f"{panel.y_ticks[row]}, {panel.x_ticks[column]}" for row, column in panel.marked]
    framed = f" Framed: {'; '.join(marked)}." if marked else ""
    return f"{size} ({panel.x_label}), from {low:.3g} at {', '.join(least)} to {high:.3g} at {', '.join(most)}.{framed}"


def _some(parts: Sequence[str], of: str) -> list[str]:
    more = len(parts) - _MOST
    return [*parts[:_MOST], f"and {more} more {of}"] if more > 0 else list(parts)
