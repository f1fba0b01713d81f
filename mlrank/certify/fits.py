"""The fits of a results folder, or one stored model, certified on data that are read anew."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, IntArray, take_rows
from mlrank.certify.families import BLOCKWISE, CERTIFIERS, REASONS
from mlrank.certify.plain import WHOLE_ROWS
from mlrank.certify.proof import BACKWARD, GAP, Proof
from mlrank.config import ExperimentConfig, load_stored_config, named_solver, stored_config_of
from mlrank.errors import UserError
from mlrank.experiment import SplitDataset, plan, prepare_data
from mlrank.models.file import StoredModel, load_model
from mlrank.prediction import dataset_for_model
from mlrank.records import RunFolder, RunRecord
from mlrank.solvers import SOLVERS, Capabilities, FitInfo, TrainingSet
from mlrank.solvers.models import KernelModel

__all__ = ["VERDICTS", "CertifiedFit", "certify_model", "certify_run"]

CONFIRMED, OBJECTIVE, DIFFERS, UNCERTIFIED = VERDICTS = ("confirmed", "objective confirmed", "differs", "not certified")
# Objectives agree to this part, and to this part of the objective of weights of zero.
OBJECTIVES, ROUNDING = 1e-6, 1e-12
# A recomputed certificate may exceed the claimed one by this part, and by so much, which is rounding.
PART, SLACK = 1e-2, {GAP: 1e-8, BACKWARD: 2.5e-7}
RESIDUALS = 1e-9


@dataclass(frozen=True)
class CertifiedFit:
    """A fit: what its record claims, and what its model turned out to be.

    Parameters
    ----------
    dataset, split, method, solver : str
    kind : "gap", "residual" or "backward error"; None where there is no certificate
    claimed_objective, objective, claimed_certificate, certificate : float or None
        None where there is none, or it cannot be recomputed.
    verdict : one of VERDICTS
    note : the reason, or what was left out
    """

    dataset: str
    split: str
    method: str
    solver: str
    kind: str | None
    claimed_objective: float | None
    objective: float | None
    claimed_certificate: float | None
    certificate: float | None
    verdict: str
    note: str

    @property
    def plain(self) -> dict[str, object]:
        """The fields as JSON values; an infinite number is a text."""
        values = asdict(self)
        return {key: "inf" if value == float("inf") else value for key, value in values.items()}


@dataclass(frozen=True)
class _Claim:
    """A fit with what is claimed of it; `names` are of its data set, split and method."""

    names: tuple[str, str, str]
    solver: str
    settings: Any
    objective: float | None
    certificate: float | None
    converged: bool

    def fit(self, verdict: str, note: str, proof: Proof | None = None) -> CertifiedFit:
        """Return the fit with a verdict."""
        proof = proof or Proof()
        objectives = (self.objective, proof.objective)
        return CertifiedFit(
            *self.names, self.solver, proof.kind, *objectives, self.certificate, proof.certificate, verdict, note
        )


def certify_run(folder: RunFolder, *, trust: bool = False) -> list[CertifiedFit]:
    """Certify every finished run of a results folder that has a stored model.

    Parameters
    ----------
    folder : RunFolder
    trust : bool
        Whether a user's own solvers, which runs name, may be imported: their ``objective_of`` is asked for then.

    Raises
    ------
    UserError
        If the configuration or data cannot be read, or the data are others than those of the runs.
    """
    records = [record for record in folder.runs() if record.done]
    if not records:
        raise UserError("no run of this experiment is finished yet", folder.path)
    config = load_stored_config(folder.path / "config.yaml")
    data = {one.dataset.name: one for one in plan(config)}
    return [_certify_record(folder, record, data, config, trust) for record in records]


def _certify_record(
    folder: RunFolder, record: RunRecord, data: dict[str, SplitDataset], config: ExperimentConfig, trust: bool
) -> CertifiedFit:
    of = data.get(record.dataset.name)
    if of is None or of.hash != record.dataset.hash:
        raise UserError(f"'{record.dataset.name}' is not the data that {record.label} was fitted to", folder.path)
    claim = _Claim(
        record.names,
        record.solver,
        SimpleNamespace(**record.settings),
        record.fit.objective,
        record.fit.optimality,
        record.fit.converged,
    )
    path = folder.model_path(*record.names)
    if not path.exists():
        reason = None if record.model is None else record.model.not_stored
        store = "no stored model: delete the run's .json and train again to have it stored"
        return claim.fit(UNCERTIFIED, f"its model could not be stored: {reason}" if reason else store)
    try:
        stored = load_model(path)
    except UserError as error:
        return claim.fit(DIFFERS, str(error))
    differing = _differing(claim, stored.predictor.info)
    if differing:
        return claim.fit(DIFFERS, differing)
    return _certified(claim, stored, of, record.split, trust)


def _differing(claim: _Claim, info: FitInfo) -> str:
    """Return what the record of a run claims otherwise than its model."""
    pairs = {"objective": (claim.objective, info.objective), "certificate": (claim.certificate, info.optimality)}
    for name, (recorded, held) in pairs.items():
        if recorded != _finite(held):
            return f"the record has {name} {recorded}, the model {held}"
    return "" if claim.converged == info.converged else "the record and the model differ on whether it converged"


def certify_model(
    path: str | PathLike[str], data: str | PathLike[str], *, trust: bool = False, **options: Any
) -> CertifiedFit:
    """Certify one stored model on the data that it was fitted to.

    Parameters
    ----------
    path : a .model file
    data : catalogue name or file
        For the model of a run: the whole data set, of which the run's subset and split are taken. Else the training
        rows, or a data set whose official training part has as many rows.
    trust : bool
        See `certify_run`.
    options : as of `load_dataset`

    Raises
    ------
    UserError
        If the model or data cannot be read, or the data are not those of the model.
    """
    stored = load_model(Path(path))
    header, info = stored.header, stored.predictor.info
    dataset = dataset_for_model(stored, data, **options)
    names = (header.data.name or dataset.name, header.split, header.method)
    settings = SimpleNamespace(**header.solver.settings)
    numbers = _finite(info.objective), _finite(info.optimality)
    claim = _Claim(names, header.solver.kind, settings, numbers[0], numbers[1], info.converged)
    if header.config is None:
        train, official = np.arange(dataset.n_samples), dataset.official
        if official is not None and len(official[0]) == header.data.n_train:
            train = official[0]
        if len(train) != header.data.n_train:
            found = f"'{dataset.name}' has {dataset.n_samples} rows"
            raise UserError(f"the model was fitted to {header.data.n_train} rows, {found}", Path(path))
        known = None if dataset.known is None else dataset.known[train]
        return _judged(claim, stored, _Rows(dataset.X, dataset.Y[train], known, train, None), trust)
    config = stored_config_of(header.config, str(path))
    place = next((place for place, one in enumerate(config.datasets) if one.is_called(names[0])), 0)
    of = prepare_data(config, dataset, place)
    if header.data.hash is not None and of.hash != header.data.hash:
        raise UserError(f"'{dataset.name}' is not the data that the model was fitted to", Path(path))
    return _certified(claim, stored, of, header.split, trust)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


@dataclass(frozen=True)
class _Rows:
    """All rows, the labels of the training rows, and which rows are training rows and which are not."""

    X: Features
    Y: BoolArray
    known: BoolArray | None
    train: IntArray
    others: IntArray | None


def _certified(claim: _Claim, stored: StoredModel, of: SplitDataset, split: str, trust: bool) -> CertifiedFit:
    place = next((place for place, one in enumerate(of.splits) if one.name == split), None)
    if place is None:
        raise UserError(f"'{of.dataset.name}' has no split '{split}' now")
    part, masks = of.splits[place], of.task_data.known
    known = None if masks is None else masks[of.mask(place)][part.train]
    others = np.setdiff1d(np.concatenate([part.train, part.test]), part.train)
    Y = of.dataset.Y[part.train]
    return _judged(
        claim, stored, _Rows(of.dataset.X, Y if known is None else Y & known, known, part.train, others), trust
    )


def _judged(claim: _Claim, stored: StoredModel, rows: _Rows, trust: bool) -> CertifiedFit:
    """Return the fit with its verdict; what a model of unknown origin makes arithmetic raise differs."""
    try:
        certifier = _certifier(claim, trust)
        with np.errstate(all="ignore"):
            proof = certifier(claim.settings, stored.predictor.model, _training_set(claim, stored, rows))
    except UserError as error:
        return claim.fit(UNCERTIFIED, str(error))
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        reason = " ".join(f"{error}".split())[:200] or type(error).__name__
        return claim.fit(DIFFERS, f"its model does not fit its data: {reason}")
    return _verdict(claim, proof)


def _certifier(claim: _Claim, trust: bool) -> Callable[..., Proof]:
    if claim.solver in CERTIFIERS:
        return CERTIFIERS[claim.solver]
    if claim.solver in REASONS:
        raise UserError(REASONS[claim.solver])
    if ":" not in claim.solver:
        raise UserError("its file does not name the solver: nothing to certify it by")
    if not trust:
        raise UserError("an own solver: its code is imported with --trust alone")
    solver: Any = named_solver(claim.solver)
    if not hasattr(solver, "objective_of"):
        raise UserError("an own solver without objective_of(model, train)")

    def own(settings: Any, model: Any, train: TrainingSet) -> Proof:
        objective = float(solver(**vars(settings)).objective_of(model, train))
        return Proof(objective, None, note="an own solver: the objective alone was certified")

    return own


def _training_set(claim: _Claim, stored: StoredModel, rows: _Rows) -> TrainingSet:
    """Return the training rows as the model saw them: through the stored scaling and projection."""
    predictor, model = stored.predictor, stored.predictor.model
    pairwise = getattr(claim.settings, "kernel", None) == "precomputed"
    whole = pairwise or claim.solver not in BLOCKWISE
    if isinstance(model, KernelModel) and whole and len(rows.train) > WHOLE_ROWS:
        raise UserError(f"kernel matrices of more than {WHOLE_ROWS} rows are not certified")
    able = Capabilities.of(SOLVERS[claim.solver]) if claim.solver in SOLVERS else None
    X = _seen(predictor, take_rows(rows.X, rows.train, rows.train if pairwise else None), predictor.transductive)
    unlabeled = None
    if able is not None and able.uses_unlabeled and rows.others is not None:
        unlabeled = _seen(predictor, take_rows(rows.X, rows.others), predictor.transductive)
    heeded = rows.known if able is None or able.uses_known else None
    if heeded is not None and heeded.all():
        heeded = None
    return TrainingSet(X, rows.Y, unlabeled, heeded, pairwise=pairwise)


def _seen(predictor: Any, X: Features, transductive: bool) -> Features:
    scaled = predictor.scaling(X)
    if predictor.projection is None:
        return scaled
    if transductive:
        raise UserError("behind a projection rows are rounded anew each time, and their graph with them")
    return predictor.projection.transform(scaled)


def _verdict(claim: _Claim, proof: Proof) -> CertifiedFit:
    if proof.objective is None and proof.certificate is None:
        return claim.fit(UNCERTIFIED, proof.note, proof)
    if claim.objective is None and not claim.converged:
        return claim.fit(UNCERTIFIED, "it has not converged, and claims no objective", proof)
    if proof.objective is not None and not _agree(claim, proof):
        return claim.fit(DIFFERS, "the objective differs", proof)
    if proof.certificate is None:
        return claim.fit(OBJECTIVE, proof.note, proof)
    tol = getattr(claim.settings, "tol", None)
    if claim.converged and tol is not None and not (claim.certificate is not None and claim.certificate <= tol):
        return claim.fit(DIFFERS, f"converged, and the certificate is above tol = {tol:g}", proof)
    slack = SLACK.get(proof.kind or "", RESIDUALS)
    claimed = np.nan if claim.certificate is None else claim.certificate
    if proof.rival is not None and claim.objective is not None:
        bound = claim.objective * (1.0 - claimed)
        if proof.rival < bound - RESIDUALS * abs(claim.objective) - ROUNDING * proof.scale:
            return claim.fit(DIFFERS, f"other weights have {proof.rival:.9g}, below the bound {bound:.9g}", proof)
    if claimed < -RESIDUALS or not proof.certificate <= claimed * (1 + PART) + slack:
        if proof.rebuilt and claimed >= 0:  # a weaker proof, and no disproof
            return claim.fit(
                OBJECTIVE, f"the bound rebuilt from its weights proves {proof.certificate:.3g} alone", proof
            )
        return claim.fit(DIFFERS, proof.note or "the certificate is larger than claimed", proof)
    return claim.fit(CONFIRMED, proof.note, proof)


def _agree(claim: _Claim, proof: Proof) -> bool:
    """Return whether objectives agree; that of a closed form that has not converged is as far off as it says."""
    claimed, true = claim.objective, proof.objective
    assert true is not None
    part = OBJECTIVES
    if proof.kind == BACKWARD and not claim.converged and claim.certificate is not None:
        part += claim.certificate
    return claimed is not None and bool(abs(claimed - true) <= part * abs(true) + ROUNDING * proof.scale)
