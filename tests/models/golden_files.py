"""Write the golden model of each solver that has none yet: ``python -m tests.models.golden_files``.

What is there is never written again: it stands for the files of the version that wrote it.
"""

from pathlib import Path

import numpy as np

from mlrank.models.file import load_model
from tests.models.fits import fitted, name_of, stored, variants

GOLDEN = Path(__file__).parent / "golden"


def write_missing():
    """Write golden/NAME.model and its scores of the rows in rows.npy to NAME.npy."""
    rows = GOLDEN / "rows.npy"
    if not rows.exists():
        np.save(rows, fitted("rank_svm")[2])
    for variant in variants():
        path = GOLDEN / f"{name_of(variant)}.model"
        if not path.exists():
            # The default kernel of mlr is of histograms.
            scale = "none" if variant == ("mlr", {}) else "standard"
            stored(path, *variant, scale=scale, threshold="svr_midpoint")
            np.save(path.with_suffix(".npy"), load_model(path).decision_function(np.load(rows)))


if __name__ == "__main__":
    write_missing()
