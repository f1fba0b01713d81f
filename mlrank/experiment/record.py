"""The record of a run: what it says of its data, method, search and fit."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace

from mlrank.config import GridPoint
from mlrank.experiment.cell import Cell, Outcome
from mlrank.records import RunRecord, TrialRecord
from mlrank.records.run import ComponentInfo, DataInfo, SearchInfo, ThresholdInfo
from mlrank.search import Refit
from mlrank.solvers import Capabilities

__all__ = ["about_model", "run_record"]


def run_record(cell: Cell, outcome: Outcome, journal: Mapping[str, TrialRecord], refit: Refit) -> RunRecord:
    """Return the record of a cell's run: of the grid point that its search chose, or of a search that chose none."""
    method, grid = cell.method, cell.grid[outcome.chosen or 0]
    solver = cell.chain.build(cell.refit(outcome.chosen or 0))
    trials = [journal[cell.point_of(trial).key] for trial in outcome.asked]
    return RunRecord(
        experiment=cell.config.name,
        dataset=_data_info(cell, refit),
        split=cell.split.name,
        method=method.name,
        solver=method.solver,
        settings={field.name: getattr(solver, field.name) for field in fields(solver)},
        searched=_searched(cell, grid) if outcome.chosen is not None else {},
        projection=ComponentInfo(method.projection, dict(grid.projection_settings)) if method.projection else None,
        threshold=ThresholdInfo(
            method.threshold,
            method.threshold_scores,
            dict(grid.threshold_settings),
            oracle=bool(getattr(cell.chain.threshold, "ORACLE", False)),
        ),
        search=_search_info(cell, outcome, trials),
        transductive=Capabilities.of(method.solver_class).uses_unlabeled,
        software=refit.software,
        key=cell.key,
        inputs=cell.inputs,
        status="done" if refit.error is None else "failed",
        error=refit.error,
        info=refit.info,
        metrics=refit.metrics,
        sets=refit.sets,
        calibration=method.calibrate,
        n_best=refit.n_best,
        time=replace(refit.time, search=float(sum(trial.seconds for trial in trials))),
        model=refit.model,
    )


def _search_info(cell: Cell, outcome: Outcome, trials: list[TrialRecord]) -> SearchInfo:
    return SearchInfo(
        metric=cell.config.search.metric,
        strategy=cell.config.search.strategy,
        folds=len(cell.searched_folds),
        n_trials=len(trials),
        n_failed=sum(trial.error is not None for trial in trials),
        n_not_converged=sum(trial.converged is False for trial in trials),
        n_undefined=sum(trial.n_undefined > 0 for trial in trials),
        best=outcome.value,
    )


def _data_info(cell: Cell, refit: Refit) -> DataInfo:
    dataset = cell.data.dataset
    return DataInfo(
        name=dataset.name,
        source=dataset.description,
        hash=cell.data.hash,
        n_samples=dataset.n_samples,
        n_train=int(cell.split.train.size),
        n_test=int(cell.split.test.size),
        n_features=dataset.n_features,
        n_labels=dataset.n_labels,
        cardinality=dataset.cardinality,
        stand_in=dataset.stand_in,
        changes=(*cell.data.changes, *refit.changes),
    )


def about_model(cell: Cell, record: RunRecord, refit: Refit) -> dict[str, object]:
    """Return what the model file of a run says of itself, beside the model."""
    stored, data, dataset = record.to_json(), record.dataset, cell.data.dataset
    names = dataset.feature_names
    return {
        **{name: stored[name] for name in ("experiment", "method", "split", "threshold", "projection")},
        "commit": record.software.commit,
        "solver": {"kind": record.solver, "settings": record.settings},
        "scale": cell.config.scale,
        "data": {"name": data.name, "source": data.source, "hash": data.hash, "n_train": data.n_train},
        "label_names": dataset.label_names,
        # A kernel matrix has a column for each training row.
        "feature_names": tuple(names[row] for row in cell.split.train) if cell.method.pairwise else names,
        "config": cell.config.resolved(),
        "text": tuple(asdict(column) for column in dataset.text),
        "propensities": None if (weights := refit.arrays.get("propensities")) is None else tuple(weights.tolist()),
        "fill": None if dataset.fill is None or cell.method.pairwise else tuple(dataset.fill.tolist()),
    }


def _searched(cell: Cell, grid: GridPoint) -> dict[str, object]:
    method = cell.method
    parts = (
        ("", method.axes, grid.settings),
        ("project.", method.projection_axes, grid.projection_settings),
        ("threshold.", method.threshold_axes, grid.threshold_settings),
    )
    return {
        f"{prefix}{name}": chosen[name] for prefix, axes, chosen in parts for name, values in axes if len(values) > 1
    }
