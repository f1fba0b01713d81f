"""The doctor's report as one HTML file without scripts: facts, findings, label frequencies, co-occurrence heat map."""

from html import escape
from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.doctor import Checkup
from mlrank.errors import escaped_lines
from mlrank.labels import dense_labels, label_counts, take_columns

__all__ = ["co_occurrence", "page"]

# The map shows the most frequent labels; more would be smaller than a letter.
MOST_LABELS = 40
CELL = 16
NAME_WIDTH = 220
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
.error { color: #b00020; } .warning { color: #8a5a00; } .note { color: #555; }
code { font-size: .85em; overflow-wrap: anywhere; } svg text { font: 11px system-ui, sans-serif; fill: #222; }
"""


def co_occurrence(Y: Any) -> FloatArray:
    """Return for each pair of labels the share of the rows with either that have both (Jaccard index).

    NaN where neither has a row; 1 on the diagonal.
    """
    counts = Y.sum(axis=0).astype(np.float64)
    both = Y.T.astype(np.float64) @ Y.astype(np.float64)
    either = counts[:, None] + counts[None, :] - both
    return np.asarray(np.divide(both, either, out=np.full_like(both, np.nan), where=either > 0))


def page(checkup: Checkup, dataset: Dataset) -> str:
    """Return the report as HTML."""
    counts = label_counts(dataset.Y)
    kept = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    names = [dataset.label_names[label] for label in kept]
    left_out = dataset.n_labels - len(kept)
    more = f" The {len(kept)} most frequent of {dataset.n_labels} labels are shown." if left_out else ""
    return escaped_lines(
        "\n".join(
            [
                "<!DOCTYPE html>",
                f'<html lang="en"><head><meta charset="utf-8"><title>{escape(checkup.name)}</title>',
                f"<style>{_STYLE}</style></head><body>",
                f"<h1>Data set {escape(checkup.name)}</h1>",
                _facts(checkup),
                _findings(checkup),
                f"<h2>Label frequencies</h2><p>Rows with each label.{more}</p>",
                _bars(names, counts[kept], dataset.n_samples),
                f"<h2>Label co-occurrence</h2><p>Share of the rows with either label that have both.{more}</p>",
                _heat_map(names, co_occurrence(dense_labels(take_columns(dataset.Y, kept)))),
                "</body></html>\n",
            ]
        )
    )


def _facts(checkup: Checkup) -> str:
    shown = {key: value for key, value in checkup.facts.items() if key != "label_frequencies" and value is not None}
    rows = [
        f"<tr><th>{key.replace('_', ' ')}</th><td>{escape(_plain(value))}</td></tr>" for key, value in shown.items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _findings(checkup: Checkup) -> str:
    if not checkup.findings:
        return "<h2>Findings</h2><p>None.</p>"
    rows = []
    for finding in checkup.findings:
        places = "<br>".join(f"<code>{escape(place)}</code>" for place in finding.places[:5])
        more = f"<br>and {finding.count - 5} more" if finding.count > 5 and finding.places else ""
        level = f'<td class="{finding.level}">{finding.level}</td>'
        rows.append(f"<tr>{level}<td>{escape(finding.message)}</td><td>{places}{more}</td></tr>")
    return f"<h2>Findings</h2><table>{''.join(rows)}</table>"


def _bars(names: list[str], counts: Any, n_samples: int) -> str:
    width, most = 420, max(int(counts.max()), 1)
    parts = []
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        y = place * CELL
        share = f"{count} ({100 * count / n_samples:.1f} %)"
        parts.append(f'<text x="{NAME_WIDTH - 6}" y="{y + 12}" text-anchor="end">{_short(name)}</text>')
        bar = width * int(count) / most
        parts.append(f'<rect x="{NAME_WIDTH}" y="{y + 2}" width="{bar:.1f}" height="{CELL - 4}" fill="#3b6ea5"/>')
        parts.append(f'<text x="{NAME_WIDTH + bar + 6:.1f}" y="{y + 12}">{share}</text>')
    return _svg(NAME_WIDTH + width + 120, len(names) * CELL, parts)


def _heat_map(names: list[str], shares: FloatArray) -> str:
    n = len(names)
    off = shares[~np.eye(n, dtype=np.bool_)]
    most = float(np.nanmax(off)) if np.isfinite(off).any() and np.nanmax(off) > 0 else 1.0
    top = NAME_WIDTH * 0.72
    parts = []
    for i, name in enumerate(names):
        y = top + i * CELL
        parts.append(f'<text x="{NAME_WIDTH - 6}" y="{y + 12:.1f}" text-anchor="end">{_short(name)}</text>')
        x = NAME_WIDTH + i * CELL + 12
        parts.append(f'<text transform="translate({x},{top - 6:.1f}) rotate(-60)">{_short(name)}</text>')
        for j in range(n):
            title = f"{escape(name)} and {escape(names[j])}: {shares[i, j]:.3f}"
            fill = "#ddd" if i == j else _color(shares[i, j] / most)
            box = f'x="{NAME_WIDTH + j * CELL}" y="{y:.1f}" width="{CELL - 1}" height="{CELL - 1}" fill="{fill}"'
            parts.append(f"<rect {box}><title>{title}</title></rect>")
    parts += _legend(top + n * CELL + 14, most)
    return _svg(NAME_WIDTH + n * CELL + 140, top + n * CELL + 44, parts)


def _legend(y: float, most: float) -> list[str]:
    steps = 20
    boxes = [
        f'<rect x="{NAME_WIDTH + 8 * step}" y="{y:.1f}" width="8" height="12" fill="{_color(step / (steps - 1))}"/>'
        for step in range(steps)
    ]
    return [
        *boxes,
        f'<text x="{NAME_WIDTH - 6}" y="{y + 10:.1f}" text-anchor="end">0</text>',
        f'<text x="{NAME_WIDTH + 8 * steps + 6}" y="{y + 10:.1f}">{most:.3f}</text>',
    ]


def _color(share: float) -> str:
    """Return white for 0 to dark blue for 1, by way of the root: most shares are small."""
    if not np.isfinite(share):
        return "#f6e3e3"
    weight = float(np.sqrt(min(max(share, 0.0), 1.0)))
    low, high = (255, 255, 255), (8, 48, 107)
    return "#" + "".join(f"{round(a + (b - a) * weight):02x}" for a, b in zip(low, high, strict=True))


def _short(name: str) -> str:
    return escape(name if len(name) <= 28 else name[:27] + "…")


def _svg(width: float, height: float, parts: list[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(parts)}</svg>'
