"""Results folders and stored models certified as a user does it; planted faults end with exit code 1."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mlrank.api import save_model
from mlrank.certify import CertifiedFit, certify_model, certify_run
from mlrank.certify.fits import _Claim, _verdict
from mlrank.certify.proof import Proof
from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.models import Fit
from mlrank.models.file import load_model, model_content
from mlrank.records import RunFolder
from mlrank.records.atomic import write_archive
from mlrank.solvers import SOLVERS, TrainingSet
from tests.cli.test_commands import mlrank  # noqa: F401  a fixture
from tests.experiment.small import small_data, write_libsvm

CONFIG = """
name: certified
datasets: [{{train: {folder}/part-train.svm, test: {folder}/part-test.svm}}]
split: {split}
scale: standard
subset: {subset}
unknown_labels: absent
methods: {methods}
search: {{folds: 3, metric: f1_micro}}
"""
METHODS = """
  Rank-SVM: {solver: rank_svm, C: [0.1, 1]}
  Kernels: {solver: mlr, kernel: rbf}
  Projected: {solver: binary_svm, project: blda}
  SLRM: {solver: slrm, lam: 0.1}
  PLST: {solver: plst, lam: 1.0}
  SMSE: {solver: smse}
  kNN: {solver: knn}
  Perf: {solver: svm_perf}
"""
OWN = "\n  Means: {solver: 'tests.experiment.small:Means'}\n  Least: {solver: 'tests.certify.own:LeastSquares'}\n"
RANK = ("part-train", "official", "Rank-SVM")


def write_data(folder):
    X, Y = small_data()
    write_libsvm(folder / "part-train.svm", X[:60], Y[:60])
    write_libsvm(folder / "part-test.svm", X[60:], Y[60:])
    return X, Y


def trained(folder, methods=METHODS, split="{kind: official}", subset="{}"):
    write_data(folder)
    text = CONFIG.format(folder=folder, methods=methods, split=split, subset=subset)
    return run(parse_config(text, "c.yaml"), folder / "results")


def verdicts(fits):
    return {fit.method: fit.verdict for fit in fits}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("certified"))


@pytest.fixture
def copy(folder, tmp_path):
    """The same folder, to be changed."""
    for path in folder.path.rglob("*"):
        if path.is_file():
            target = tmp_path / "copy" / path.relative_to(folder.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return RunFolder.open(tmp_path / "copy")


def test_every_fit_of_a_run_gets_its_line(folder):
    fits = certify_run(folder)
    assert verdicts(fits) == {
        "Rank-SVM": "confirmed",
        "Kernels": "confirmed",
        "Projected": "confirmed",
        "SLRM": "confirmed",
        "PLST": "confirmed",
        "SMSE": "confirmed",
        "kNN": "not certified",
        "Perf": "confirmed",
    }
    kinds = {fit.method: fit.kind for fit in fits}
    assert (kinds["Rank-SVM"], kinds["PLST"], kinds["SMSE"]) == ("gap", "backward error", "residual")
    (rank,) = (fit for fit in fits if fit.method == "Rank-SVM")
    assert rank.objective == pytest.approx(rank.claimed_objective, rel=1e-9)
    assert rank.certificate == pytest.approx(rank.claimed_certificate, abs=1e-8)


def test_splits_subsets_and_hidden_labels_are_drawn_again(tmp_path):
    methods = "{Rank-SVM: {solver: rank_svm}, SLRM: {solver: slrm}, PLST: {solver: plst, lam: 1.0}}"
    split = "{kind: kfold, folds: 2, missing_labels: 0.1}"
    folder = trained(tmp_path, methods, split, "{rows: 70, top_labels: 3, top_features: 4}")
    fits = certify_run(folder)
    assert len(fits) == 6
    assert {fit.verdict for fit in fits} == {"confirmed"}


def change_record(folder, method="Rank-SVM", **changes):
    path = folder.path / "runs" / "part-train" / "official" / f"{method}.json"
    values = json.loads(path.read_text())
    values["info"] |= changes
    path.write_text(json.dumps(values))


def change_model(folder, change, names=RANK):
    """Store another model in the place of one."""
    path = folder.model_path(*names)
    stored = load_model(path)
    predictor = replace(stored.predictor, model=change(stored.predictor.model))
    TrainingSet(np.zeros((1, 5)), np.zeros((1, 4), bool))
    fit = Fit.of(predictor, np.zeros((2, 5)))
    about = stored.header.model_dump(exclude={"kind", "format", "versions", "sparse", "parts"})
    write_archive(path, model_content(fit, about))


@pytest.mark.parametrize("changes", [{"optimality": 1e-9}, {"objective": 1.0}, {"converged": False}])
def test_a_record_that_claims_otherwise_than_its_model_differs(copy, changes, mlrank):  # noqa: F811
    change_record(copy, **changes)
    assert verdicts(certify_run(copy))["Rank-SVM"] == "differs"
    code, out, err = mlrank("certify", copy.path)
    assert (code, err) == (1, "")
    assert out.count("differs") == 2  # in its row, and in the count


@pytest.mark.parametrize("changes", [{"optimality": 1e-9}, {"objective": 1.0}, {"optimality": 0.5}])
def test_a_record_and_a_model_that_claim_the_same_untruth_differ(copy, changes):
    change_record(copy, **changes)
    change_model(copy, lambda model: replace(model, info=replace(model.info, **changes)))
    (fit,) = (fit for fit in certify_run(copy) if fit.method == "Rank-SVM")
    assert fit.verdict == "differs"
    assert not fit.note.startswith("the record has")


def test_a_gap_that_hides_better_weights_differs_though_models_hold_no_bound(tmp_path):
    folder = trained(tmp_path, "{SLRM: {solver: slrm, lam: 0.1, max_iter: 1, beta: 100.0}}")
    (fit,) = certify_run(folder)
    assert fit.verdict == "confirmed"
    assert 1e-4 < fit.certificate < fit.claimed_certificate
    change_record(folder, "SLRM", optimality=1e-5, converged=True)
    change = lambda model: replace(model, info=replace(model.info, optimality=1e-5, converged=True))  # noqa: E731
    change_model(folder, change, ("part-train", "official", "SLRM"))
    (fit,) = certify_run(folder)
    assert fit.verdict == "differs"
    assert re.fullmatch(r"other weights have [\d.]+, below the bound [\d.]+", fit.note)


@pytest.mark.parametrize(
    "change",
    [
        lambda model: replace(model, coef=1.001 * model.coef),
        lambda model: replace(model, intercept=model.intercept + np.array([0.1, 0, 0, 0])),
        lambda model: replace(model, coef=np.zeros_like(model.coef)),
        lambda model: replace(model, dual_point=replace(model.dual_point, beta=model.dual_point.beta * 0)),
        lambda model: replace(model, dual_point=replace(model.dual_point, beta=model.dual_point.beta[:-1])),
    ],
)
def test_planted_weights_and_dual_points_differ(copy, change):
    change_model(copy, change)
    fits = certify_run(copy)
    assert verdicts(fits)["Rank-SVM"] == "differs"
    assert [fit.verdict for fit in fits].count("differs") == 1


def test_without_a_dual_point_the_objective_alone_is_confirmed(copy):
    change_model(copy, lambda model: replace(model, dual_point=None))
    (fit,) = (fit for fit in certify_run(copy) if fit.method == "Rank-SVM")
    assert (fit.verdict, fit.certificate) == ("objective confirmed", None)


def test_models_that_are_missing_or_damaged(copy):
    copy.model_path(*RANK).unlink()
    copy.model_path("part-train", "official", "PLST").write_bytes(b"no model")
    fits = {fit.method: fit for fit in certify_run(copy)}
    assert fits["Rank-SVM"].verdict == "not certified"
    assert "delete the run's .json and train again" in fits["Rank-SVM"].note
    assert fits["PLST"].verdict == "differs"


def test_other_data_are_refused(tmp_path):
    folder = trained(tmp_path, "{Rank-SVM: {solver: rank_svm}}")
    X, Y = small_data(seed=1)
    write_libsvm(tmp_path / "part-train.svm", X[:60], Y[:60])
    with pytest.raises(UserError, match="is not the data that part-train / official / Rank-SVM was fitted to"):
        certify_run(folder)


def test_own_solvers_are_asked_only_where_they_are_trusted(tmp_path):
    folder = trained(tmp_path, OWN)
    assert {fit.note for fit in certify_run(folder)} == {"an own solver: its code is imported with --trust alone"}
    fits = {fit.method: fit for fit in certify_run(folder, trust=True)}
    assert fits["Least"].verdict == "objective confirmed"
    assert fits["Means"].note == "an own solver without objective_of(model, train)"
    change = "Least.model"
    assert (folder.path / "runs" / "part-train" / "official" / change).exists()
    change_model(folder, lambda model: replace(model, coef=2 * model.coef), ("part-train", "official", "Least"))
    assert verdicts(certify_run(folder, trust=True))["Least"] == "differs"


def test_a_stored_model_of_a_run_is_certified_on_the_data_of_the_run(folder, mlrank):  # noqa: F811
    root = folder.path.parents[1]
    source = root / "part-train.svm"
    for method in ("Rank-SVM", "Projected", "SMSE"):
        path = folder.model_path("part-train", "official", method)
        code, out, err = mlrank("certify", path, "--data", source, "--test", root / "part-test.svm", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)[0]["verdict"] == "confirmed"
        code, out, err = mlrank("certify", path, "--data", root / "part-test.svm", "--test", source)
        assert (code, out) == (1, "")
        assert "is not the data that the model was fitted to" in err


def test_a_saved_model_is_certified_on_its_rows(tmp_path, mlrank):  # noqa: F811
    write_data(tmp_path)
    from mlrank import load_dataset

    dataset = load_dataset(tmp_path / "part-train.svm")
    train = TrainingSet(dataset.X, dataset.Y)
    solver = SOLVERS["rank_svm"]()
    save_model(tmp_path / "a.model", solver.fit(train), train, solver=solver, dataset=dataset)
    fit = certify_model(tmp_path / "a.model", tmp_path / "part-train.svm")
    assert fit.verdict == "confirmed"
    code, out, err = mlrank("certify", tmp_path / "a.model", "--data", tmp_path / "part-train.svm", "--json")
    assert (code, err) == (0, "")
    assert CertifiedFit(**json.loads(out)[0]) == fit
    code, out, err = mlrank("certify", tmp_path / "a.model", "--data", tmp_path / "part-test.svm")
    assert (code, out) == (1, "")
    assert re.search(r"the model was fitted to 60 rows, '.*' has 30 rows", err)


def test_misuse_is_one_line(folder, mlrank):  # noqa: F811
    for words, reason in (
        (("certify", folder.model_path(*RANK)), "name them with --data"),
        (("certify", "absent.model", "--data", "yeast"), "there is no such model file"),
        (("certify", folder.path, "--data", "yeast"), "are for a .model file"),
        (("certify", Path("nowhere")), "there is no such results folder"),
    ):
        code, out, err = mlrank(*words)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert reason in err


@pytest.mark.parametrize(("rebuilt", "verdict"), [(True, "objective confirmed"), (False, "differs")])
def test_a_weaker_bound_of_its_own_disproves_nothing(rebuilt, verdict):
    claim = _Claim(RANK, "slrm", SimpleNamespace(tol=1e-4), 2.0, 1e-5, True)
    assert _verdict(claim, Proof(2.0, 1e-3, "gap", rebuilt=rebuilt)).verdict == verdict
    assert _verdict(claim, Proof(2.1, 1e-6, "gap", rebuilt=rebuilt)).verdict == "differs"
