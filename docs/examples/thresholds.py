"""
Thresholds on yeast
===================

Scores say which labels fit a row better; a threshold says how many of them it gets. Here one model of yeast is cut by
each threshold that needs no further settings, and the label sets are compared.
"""

import matplotlib.pyplot as plt

from mlrank import SOLVERS, THRESHOLDS, TrainingSet, evaluate, load_dataset

data = load_dataset("yeast")
train, test = data.official
rows = train[:500]
model = SOLVERS["rank_svm"](C=1.0).fit(TrainingSet(data.X[rows], data.Y[rows]))
scores = model.decision_function(data.X[rows])
unseen = model.decision_function(data.X[test])

# %%
# A threshold is fitted to the scores of the training rows, and may look at their features.

found = {}
for name in ("zero", "svr_midpoint", "lstsq_scores", "per_label_f1", "adaptive_boundary", "class_mass"):
    cut = THRESHOLDS[name]().fit(scores, data.Y[rows], data.X[rows])
    found[name] = evaluate(data.Y[test], unseen, cut(unseen, data.X[test]))

for name, metrics in found.items():
    print(f"{name:18s} F1 macro {metrics['f1_macro'].value:.3f}   F1 micro {metrics['f1_micro'].value:.3f}")

# %%
# A threshold of each label raises the macro F1, which counts rare labels as much as frequent ones.

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.scatter([m["f1_micro"].value for m in found.values()], [m["f1_macro"].value for m in found.values()])
for name, metrics in found.items():
    ax.annotate(name, (metrics["f1_micro"].value, metrics["f1_macro"].value), xytext=(4, 4), textcoords="offset points")
ax.set(xlabel="F1 micro", ylabel="F1 macro")
ax.margins(x=0.35, y=0.2)
