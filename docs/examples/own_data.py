"""
Your own data in a notebook
===========================

A DataFrame becomes a data set, two methods are compared on it, and the results are DataFrames again. The table here is
generated: songs with a tempo, a loudness and a city, and three moods.
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
tempo, loudness = rng.normal(size=(2, 120))
noise = rng.normal(scale=0.4, size=(3, 120))
songs = pd.DataFrame(
    {
        "tempo": tempo,
        "loudness": loudness,
        "city": rng.choice(["Rome", "Oslo"], 120),
        "happy": tempo + noise[0] > 0,
        "calm": loudness + noise[1] < 0.3,
        "sad": tempo + loudness + noise[2] < -0.5,
    }
)
songs.head()

# %%
# A data set
# ----------
# Whatever is decided while reading is said in the notes.

from mlrank import load_dataset, run

data = load_dataset(songs, label_columns=["happy", "calm", "sad"], one_hot="city", name="songs")
print(data.X.shape, data.feature_names)
print(data.Y.sum(axis=0), data.label_names)
print(*data.notes, sep="\n")

# %%
# An experiment
# -------------
# The frame stands where a file has a name; the options are those of ``load_dataset``.

results = run(
    {
        "name": "songs",
        "datasets": [{"frame": songs, "name": "songs", "label_columns": ["happy", "calm", "sad"], "one_hot": "city"}],
        "split": {"kind": "kfold", "folds": 4},
        "methods": {
            "Rank-SVM": {"solver": "rank_svm", "C": [0.1, 1], "threshold": "per_label_f1"},
            "kNN": {"solver": "knn", "n_neighbors": [5, 15]},
        },
        "search": {"folds": 2},
    }
)
results.summary("f1_macro", "ranking_loss").round(3)

# %%
# Fold by fold
# ------------

import matplotlib.pyplot as plt

tidy = results.to_pandas("f1_macro")
wide = tidy.pivot(index="split", columns="method", values="value")
ax = wide.plot.bar(rot=0, figsize=(6, 2.6), ylabel="F1, mean over the labels", xlabel="fold")
ax.legend(loc="lower right")
plt.show()

# %%
# Predictions, and a model for new rows
# -------------------------------------

results.predictions("kNN", split="r0f0").head()

# %%

model = results.model("kNN", split="r0f0")
new = pd.DataFrame({"tempo": [1.5, -2.0], "loudness": [0.2, -0.5], "city": ["Rome", "Oslo"]})
model.predict(new)
