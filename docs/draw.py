"""Draw the figures of the solvers' pages: what each reaches on each label of yeast, beside all other solvers.

``python docs/draw.py`` fits every solver once, with its default settings, to the official training part of the embedded
yeast data, which takes some minutes, stores what they reach in docs/methods/figures/areas.json, and draws it;
``python docs/draw.py NAME ...`` fits these solvers alone, and ``--again`` none: it draws what is stored. Every figure
holds a hash of what it was drawn from, by which a test finds one that is out of date.
"""

import hashlib
import inspect
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from mlrank import SOLVERS, TrainingSet, load_dataset
from mlrank.plots.canvas import COLORS, saved
from mlrank.plots.files import with_dark

FIGURES = Path(__file__).parent / "methods" / "figures"
AREAS = FIGURES / "areas.json"
OVERVIEW = "overview"
# The default kernel of MLR is for histograms, and features of yeast are below zero too.
SETTINGS: dict[str, dict[str, object]] = {"mlr": {"kernel": "linear"}}


def settings(name: str) -> str:
    """Return the settings that a solver is fitted with here, as one text."""
    return repr(SOLVERS[name](**SETTINGS.get(name, {})))


def areas_of(name: str) -> list[float]:
    """Fit a solver, and return the area under the ROC curve of each label of the test part."""
    data = load_dataset("yeast")
    train, test = data.official
    solver = SOLVERS[name](**SETTINGS.get(name, {}))
    scores = solver.fit(TrainingSet(data.X[train], data.Y[train], data.X[test])).decision_function(data.X[test])
    return [round(float(roc_auc_score(y, score)), 6) for y, score in zip(data.Y[test].T, scores.T, strict=True)]


def frequencies() -> list[float]:
    """Return the share of training rows that have each label."""
    data = load_dataset("yeast")
    return [round(float(share), 6) for share in data.Y[data.official[0]].mean(axis=0)]


def stored() -> dict[str, Any]:
    """Return what the figures show: by solver its settings and areas, and how frequent the labels are."""
    found: dict[str, Any] = json.loads(AREAS.read_text("utf-8"))
    return found


def drawn_from(name: str, numbers: dict[str, Any]) -> str:
    """Return a hash of what a figure is drawn from: the numbers, and how they are drawn."""
    how = inspect.getsource(draw_overview if name == OVERVIEW else draw)
    text = json.dumps([name, numbers, how, inspect.getsource(with_dark)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def draw(name: str, numbers: dict[str, Any]) -> bytes:
    """Return the figure of one solver: its areas over the range of all."""
    order = np.argsort(numbers["frequency"])
    share = np.array(numbers["frequency"])[order]
    every = np.array([one["areas"] for one in numbers["solvers"].values()])[:, order]
    places = np.arange(order.size)
    with saved((6, 2.6), "svg", alt=f"drawn from {drawn_from(name, numbers)}") as (figure, buffer):
        ax = figure.subplots()
        ax.vlines(places, every.min(axis=0), every.max(axis=0), color="#cccccc", lw=8, label="all solvers")
        ax.plot(places, np.median(every, axis=0), "_", color="#555555", ms=9, label="their median")
        ax.plot(places, np.array(numbers["solvers"][name]["areas"])[order], "o", color=COLORS[0], ms=5, label=name)
        ax.set_xticks(places, [f"{one:.0%}" for one in share])
        ax.set(xlabel="share of rows that have the label", ylabel="area under ROC")
        ax.legend(loc="lower right", ncols=3, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return with_dark(buffer.getvalue())


def draw_overview(numbers: dict[str, Any]) -> bytes:
    """Return the figure of all solvers: the mean area of each, the best on top, over those of its labels."""
    areas = {name: np.array(one["areas"]) for name, one in numbers["solvers"].items()}
    names = sorted(areas, key=lambda name: areas[name].mean())
    places = np.arange(len(names))
    with saved((6, 5), "svg", alt=f"drawn from {drawn_from(OVERVIEW, numbers)}") as (figure, buffer):
        ax = figure.subplots()
        for place, name in zip(places, names, strict=True):
            ax.plot(areas[name], np.full(areas[name].size, place), "|", color="#999999", ms=8)
        ax.plot([areas[name].mean() for name in names], places, "o", color=COLORS[0], label="mean over the labels")
        ax.plot([], [], "|", color="#999999", label="a label")
        ax.set_yticks(places, names)
        ax.set_xlabel("area under ROC on yeast")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    return with_dark(buffer.getvalue())


def main(words: Sequence[str]) -> None:
    """Fit all solvers, or those named, and draw the figures."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    before = stored()["solvers"] if words else {}
    again = [] if "--again" in words else words or list(SOLVERS)
    numbers: dict[str, Any] = {"frequency": frequencies(), "solvers": {name: before.get(name) for name in SOLVERS}}
    for name in again:
        numbers["solvers"][name] = {"settings": settings(name), "areas": areas_of(name)}
        print(f"{name:20s} {np.mean(numbers['solvers'][name]['areas']):.3f}", flush=True)
    AREAS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
    for name in SOLVERS:
        (FIGURES / f"{name}.svg").write_bytes(draw(name, numbers))
    (FIGURES / f"{OVERVIEW}.svg").write_bytes(draw_overview(numbers))


if __name__ == "__main__":
    main(sys.argv[1:])
