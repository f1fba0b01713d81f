"""Models that earlier versions wrote open, and give the scores they gave then."""

import numpy as np
import pytest

from mlrank.models.file import load_model
from mlrank.solvers import SOLVERS
from mlrank.solvers.aliases import new_key
from mlrank.solvers.models import MODELS
from tests.models.fits import OVER_ESTIMATORS
from tests.models.golden_files import GOLDEN

NAMES = sorted(path.stem for path in GOLDEN.glob("*.model"))


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_model_opens_and_gives_its_scores(name):
    found = load_model(GOLDEN / f"{name}.model")
    X, scores = np.load(GOLDEN / "rows.npy"), np.load(GOLDEN / f"{name}.npy")
    assert np.allclose(found.decision_function(X), scores, rtol=1e-9, atol=1e-9)
    assert found.predict(X).shape == scores.shape
    assert found.header.solver.kind == name.partition("-")[0]
    assert found.header.threshold.kind == "zero"
    assert found.label_names[3:] == ("<b>", "ünïcode")


def test_every_solver_and_kind_of_model_has_one():
    headers = [load_model(GOLDEN / f"{name}.model").header for name in NAMES]
    assert {new_key(header.solver.kind) for header in headers} >= set(SOLVERS) - OVER_ESTIMATORS
    assert {header.parts["model"]["kind"] for header in headers} == set(MODELS)
