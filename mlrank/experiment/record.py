"""What the record of a run says of its data, method and search."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mlrank import __version__
from mlrank.config import GridPoint
from mlrank.experiment.cell import Cell, Outcome
from mlrank.records import checkout_commit
from mlrank.solvers import Capabilities

__all__ = ["about_model", "describe", "summary"]


def summary(cell: Cell, outcome: Outcome, journal: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a run's record says of its search."""
    records = [journal[cell.trial(*trial).key] for trial in outcome.asked]
    return {
        "metric": cell.config.search.metric,
        "strategy": cell.config.search.strategy,
        "folds": len(cell.searched_folds),
        "n_trials": len(records),
        "n_failed": sum(record["error"] is not None for record in records),
        "n_not_converged": sum(record.get("converged") is False for record in records),
        "best": outcome.value,
    }


def describe(cell: Cell, index: int | None) -> dict[str, Any]:
    """Return what a run's record says of the method, with the grid point `index` chosen (None: nothing)."""
    method, grid = cell.method, cell.grid[index or 0]
    solver = cell.chain.build(cell.refit(index or 0))
    projection = method.projection and {"kind": method.projection, "settings": dict(grid.projection_settings)}
    return {
        "experiment": cell.config.name,
        "dataset": _describe_data(cell),
        "split": cell.split.name,
        "method": method.name,
        "solver": method.solver,
        "settings": {field.name: getattr(solver, field.name) for field in fields(solver)},
        "projection": projection,
        "searched": _searched(cell, grid) if index is not None else {},
        "threshold": {
            "kind": method.threshold,
            "scores": method.threshold_scores,
            "settings": dict(grid.threshold_settings),
            "oracle": bool(cell.chain.threshold.ORACLE),
        },
        "transductive": Capabilities.of(method.solver_class).uses_unlabeled,
        "key": cell.key,
        "inputs": cell.inputs,
        "commit": checkout_commit(),
        "version": __version__,
    }


def about_model(cell: Cell, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the model file of a run says of itself, beside the model."""
    data, dataset, names = record["dataset"], cell.data.dataset, cell.data.dataset.feature_names
    return {
        **{name: record[name] for name in ("experiment", "method", "split", "threshold", "projection", "commit")},
        "solver": {"kind": record["solver"], "settings": record["settings"]},
        "scale": cell.config.scale,
        "data": {name: data[name] for name in ("name", "source", "hash", "n_train")},
        "label_names": dataset.label_names,
        # A kernel matrix has a column for each training row.
        "feature_names": tuple(names[row] for row in cell.split.train) if cell.method.pairwise else names,
        "config": cell.config.resolved(),
        "fill": None if dataset.fill is None or cell.method.pairwise else tuple(dataset.fill.tolist()),
    }


def _searched(cell: Cell, grid: GridPoint) -> dict[str, Any]:
    method = cell.method
    parts = (
        ("", method.axes, grid.settings),
        ("project.", method.projection_axes, grid.projection_settings),
        ("threshold.", method.threshold_axes, grid.threshold_settings),
    )
    return {
        f"{prefix}{name}": chosen[name] for prefix, axes, chosen in parts for name, values in axes if len(values) > 1
    }


def _describe_data(cell: Cell) -> dict[str, Any]:
    dataset = cell.data.dataset
    return {
        "name": dataset.name,
        "source": dataset.source,
        "hash": cell.data.hash,
        "n_samples": dataset.n_samples,
        "n_train": int(cell.split.train.size),
        "n_test": int(cell.split.test.size),
        "n_features": dataset.n_features,
        "n_labels": dataset.n_labels,
        "cardinality": dataset.cardinality,
        "stand_in": dataset.stand_in,
        "changes": list(cell.data.changes),
    }
