"""Draw the figures of the solvers' pages: what each reaches on each label of yeast, beside all other solvers.

``python docs/draw.py`` fits every solver once, with its default settings, to the official training part of the embedded
yeast data, which takes some minutes; the figures are stored in docs/methods/figures.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.metrics import roc_auc_score

from mlrank import SOLVERS, TrainingSet, load_dataset

FIGURES = Path(__file__).parent / "methods" / "figures"
# The default kernel of MLR is for histograms, and features of yeast are below zero too.
SETTINGS: dict[str, dict[str, object]] = {"mlr": {"kernel": "linear"}}


def areas_on_yeast() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return how often each label occurs, and of each solver the area under the ROC curve of each label."""
    data = load_dataset("yeast")
    train, test = data.official
    given = TrainingSet(data.X[train], data.Y[train], data.X[test])
    found = {}
    for name, solver in SOLVERS.items():
        scores = solver(**SETTINGS.get(name, {})).fit(given).decision_function(data.X[test])
        found[name] = np.array([roc_auc_score(y, score) for y, score in zip(data.Y[test].T, scores.T, strict=True)])
        print(f"{name:20s} {found[name].mean():.3f}", flush=True)
    return data.Y[train].mean(axis=0), found


def draw(name: str, frequency: np.ndarray, areas: dict[str, np.ndarray], folder: Path) -> None:
    """Draw the areas of one solver over the range of all."""
    from matplotlib import pyplot as plt

    order = np.argsort(frequency)
    every = np.array(list(areas.values()))[:, order]
    places = np.arange(order.size)
    fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
    ax.vlines(places, every.min(axis=0), every.max(axis=0), color="0.85", lw=8, label="all solvers")
    ax.plot(places, np.median(every, axis=0), "_", color="0.4", ms=9, label="their median")
    ax.plot(places, areas[name][order], "o", color="C0", ms=5, label=name)
    ax.set_xticks(places, [f"{share:.0%}" for share in frequency[order]])
    ax.set(xlabel="share of rows that have the label", ylabel="area under ROC")
    ax.legend(loc="lower right", ncols=3, fontsize="small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(fig)


def draw_overview(areas: dict[str, np.ndarray], folder: Path) -> None:
    """Draw the mean area of every solver, the best on top, over those of its labels."""
    from matplotlib import pyplot as plt

    names = sorted(areas, key=lambda name: areas[name].mean())
    places = np.arange(len(names))
    fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    for place, name in zip(places, names, strict=True):
        ax.plot(areas[name], np.full(areas[name].size, place), "|", color="0.7", ms=8)
    ax.plot([areas[name].mean() for name in names], places, "o", color="C0", label="mean over the labels")
    ax.plot([], [], "|", color="0.7", label="a label")
    ax.set_yticks(places, names)
    ax.set_xlabel("area under ROC on yeast")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(folder / "overview.svg", metadata={"Date": None})
    plt.close(fig)


def main() -> None:
    """Fit all solvers and draw their figures."""
    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "mlrank", "font.family": "sans-serif"}
    FIGURES.mkdir(parents=True, exist_ok=True)
    frequency, areas = areas_on_yeast()
    for name in areas:
        draw(name, frequency, areas, FIGURES)
    draw_overview(areas, FIGURES)


if __name__ == "__main__":
    main()
