"""For notebooks and scripts: run experiments, reproduce papers' tables, look at results, store and load models."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, FloatArray
from mlrank.config import ExperimentConfig, config_of, load_config
from mlrank.datasets import Dataset, dataset_hash
from mlrank.errors import UserError, unknown_name
from mlrank.experiment import run_experiment, stored_trials
from mlrank.metrics import MetricValue
from mlrank.metrics import evaluate as compute
from mlrank.models import Fit, Predictor, probe_rows
from mlrank.models.file import StoredModel, load_model, model_content
from mlrank.plots import Material, Plots
from mlrank.records import RunFolder, RunRecord, checkout_commit
from mlrank.records.atomic import write_archive
from mlrank.records.predictions import all_scores
from mlrank.scaling import SCALERS
from mlrank.search import cluster_pool
from mlrank.solvers import SOLVERS, Capabilities, TrainingSet
from mlrank.solvers.models import TransductiveModel
from mlrank.tables import (
    FinishedExperiment,
    Grid,
    GridLayout,
    ResultTable,
    build_tables,
    grid_of_metrics,
    grid_to_html,
    render_grids,
    tidy_frame,
)
from mlrank.tables.arrange import to_grid
from mlrank.tables.markup import html
from mlrank.thresholds.cuts import LabelCut, looks_at_truth

if TYPE_CHECKING:
    import pandas as pd

    from mlrank.recipes.reproduction import Reproduction
    from mlrank.stats import OverDatasets, OverSplits

__all__ = ["Metrics", "Results", "evaluate", "load_model", "open_results", "reproduce", "run", "save_model"]


class Metrics(dict[str, MetricValue]):
    """Values by metric name; a notebook shows a table."""

    def __repr__(self) -> str:
        lines = []
        for name, (_, value, over) in zip(self, grid_of_metrics(self).rows, strict=True):
            lines.append(f"{name} = {value.text} ({over.text if over.text == 'all cells' else f'over {over.text}'})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return grid_to_html(grid_of_metrics(self))


def evaluate(Y: BoolArray, scores: FloatArray, Y_pred: BoolArray, known: BoolArray | None = None) -> Metrics:
    """Compute every metric of scores and label sets.

    Parameters
    ----------
    Y : (n_samples, n_labels) true labels
    scores : (n_samples, n_labels), larger = more relevant
    Y_pred : (n_samples, n_labels) predicted label sets
    known : (n_samples, n_labels), False where an entry of `Y` is missing
    """
    return Metrics(compute(Y, scores, Y_pred, known))


@dataclass(frozen=True)
class Results:
    """The results of an experiment; a notebook shows its tables.

    Parameters
    ----------
    folder : RunFolder
    metrics : tuple of str, those that tables show
    """

    folder: RunFolder
    metrics: tuple[str, ...]

    @classmethod
    def open(cls, path: str | PathLike[str]) -> "Results":
        """Take the results folder of an experiment that was run before.

        Raises
        ------
        UserError
            If there is none.
        """
        folder = RunFolder.open(Path(path))
        return cls(folder, tuple(folder.read_config()["metrics"]))

    @property
    def records(self) -> list[RunRecord]:
        """The records of all runs: metrics, settings, certificates."""
        return self.folder.runs()

    def to_pandas(self, *metrics: str) -> "pd.DataFrame":
        """Return one row for each data set, split, method and metric; see `mlrank.tables.tidy_frame`.

        Frames of several experiments have the same columns, so that `pandas.concat` joins them.

        Parameters
        ----------
        metrics : names of the metrics; all that are stored if none is named
        """
        return tidy_frame(self.records, metrics or None)

    def tables(self, *metrics: str) -> list[ResultTable]:
        """Return a table for each data set, with the metrics named or those of the configuration."""
        return build_tables(self.records, metrics or self.metrics)

    def model(self, method: str, dataset: str | None = None, split: str | None = None) -> StoredModel:
        """Open the model of a run; data set and split may be left out where there is one.

        Raises
        ------
        UserError
            If there is no such run, or more than one, or its model could not be stored.
        """
        record = self._run(method, dataset, split)
        if record.model and record.model.not_stored:
            raise UserError(f"the model of '{method}' could not be stored: {record.model.not_stored}", self.folder.path)
        return load_model(self.folder.model_path(record.dataset.name, record.split, method))

    def predictions(self, method: str, dataset: str | None = None, split: str | None = None) -> "pd.DataFrame":
        """Return the label sets that a run predicted for its test rows.

        Returns
        -------
        DataFrame of bool, a column for each label; its index has the names of the rows, or their numbers in the data

        Raises
        ------
        UserError
            If there is no such run, or more than one.
        """
        return self._of_rows("Y_pred", self._run(method, dataset, split))

    def scores(self, method: str, dataset: str | None = None, split: str | None = None) -> "pd.DataFrame":
        """Return the scores of the test rows of a run, larger = more relevant; see `predictions`."""
        return self._of_rows("scores", self._run(method, dataset, split))

    def summary(self, *metrics: str) -> "pd.DataFrame":
        """Return a row for each data set and method: the mean of each metric over the splits, and how it varies.

        Parameters
        ----------
        metrics : names of the metrics; those of the configuration if none is named

        Returns
        -------
        DataFrame with the index (dataset, method) and, for each metric, the columns (metric, "mean"), (metric, "std")
            and (metric, "n"): on how many splits it is defined
        """
        names = list(metrics or self.metrics)
        tidy = self.to_pandas(*names)
        grouped = tidy.groupby(["dataset", "method", "metric"], sort=False)["value"].agg(["mean", "std", "count"])
        wide = grouped.rename(columns={"count": "n"}).unstack("metric").swaplevel(axis=1)
        order = grouped.droplevel("metric").index.unique()
        return wide.reindex(index=order, columns=[(name, part) for name in names for part in ("mean", "std", "n")])

    def compare(self, metric: str | None = None, **options: Any) -> "OverDatasets | OverSplits":
        """Test whether methods differ in a metric, over the data sets, or over the splits of the only one.

        Parameters
        ----------
        metric : name of the metric; None for the first of the experiment's
        options : control, alpha and rope, as of ``mlrank compare``

        Raises
        ------
        UserError
            If nothing can be compared.
        """
        from mlrank.stats import compare_datasets, compare_splits, gather

        repeats, _ = gather(self.records, metric or self.metrics[0])
        return compare_datasets(repeats, **options) if len(repeats) > 1 else compare_splits(repeats[0], **options)

    def table(self, *metrics: str, decimals: int = 4, **options: Any) -> "pd.DataFrame":
        """Return the tables as they are printed, a row for each data set and method, cells as text.

        Parameters
        ----------
        metrics, decimals, options : as of `latex`
        """
        import pandas as pd

        parts = []
        for table, grid in zip(self.tables(*metrics), self._grids(metrics, decimals, options), strict=True):
            index = pd.MultiIndex.from_tuples([(table.dataset, row[0].text) for row in grid.rows], names=_ROW_NAMES)
            cells = [[cell.text for cell in row[1:]] for row in grid.rows]
            parts.append(pd.DataFrame(cells, index=index, columns=list(grid.header[1:])))
        return pd.concat(parts)

    @property
    def plot(self) -> "Plots":
        """Figures by kind on axes of matplotlib: ``results.plot.labels("f1_macro", ax=ax)``."""
        return Plots(self._material)

    def _material(self, metric: str | None, dataset: str | None) -> Material:
        records = [record for record in self.records if dataset in (None, record.dataset.name)]
        if not records:
            known = dict.fromkeys(record.dataset.name for record in self.records)
            raise UserError(unknown_name("dataset", str(dataset), known), self.folder.path)
        trials, arrays = stored_trials(self.folder, records), self.folder.run_arrays
        shown = [metric or self.metrics[0]]
        return Material(records, shown, trials, arrays, lambda r: self.folder.names(r).labels, named=metric is not None)

    def latex(self, *metrics: str, decimals: int = 4, **options: Any) -> str:
        """Return the tables for a paper, which need the package booktabs alone.

        Parameters
        ----------
        metrics : names of the metrics; those of the configuration if none is named
        decimals : digits after the point, from 0 to 16
        options : columns, methods, titles, ranks, notes, caption, label, wide, narrow, siunitx; see
            `mlrank.tables.paper.PaperOptions`; marks=True or against=METHOD marks what differs from the best or from a
            method, by the tests of `compare`

        Raises
        ------
        UserError
            For a name that is no metric, column, method or option, or other decimals.
        """
        return render_grids(self._grids(metrics, decimals, options), "latex")

    def _grids(self, metrics: Sequence[str], decimals: int, options: Mapping[str, Any]) -> "list[Grid]":
        from mlrank.tables.paper import PaperOptions, for_paper
        from mlrank.tables.significance import with_marks

        given: dict[str, Any] = {"titles": self.folder.read_config().get("display_names", {}), **options}
        marks, against = given.pop("marks", False), given.pop("against", None)
        known = [field.name for field in fields(PaperOptions)]
        for name in given:
            if name not in known:
                raise UserError(unknown_name("option of a table", name, [*known, "decimals", "marks", "against"]))
        if not (isinstance(decimals, int) and 0 <= decimals <= MOST_DECIMALS):
            raise UserError(f"decimals must be a whole number from 0 to {MOST_DECIMALS}, found {decimals!r}")
        plain: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in given.items()}
        grids = [to_grid(table, decimals) for table in self.tables(*metrics)]
        if marks or against is not None:
            grids = with_marks(grids, self.records, GridLayout(), against)
        return [for_paper(grid, PaperOptions(**plain)) for grid in grids]

    def _of_rows(self, name: str, record: RunRecord) -> "pd.DataFrame":
        import pandas as pd

        arrays, names = all_scores(self.folder.run_arrays(record), "a table of all labels"), self.folder.names(record)
        index: Any = arrays["rows"]
        if names.rows is not None:
            index = [names.rows[row] for row in arrays["rows"]]
        return pd.DataFrame(arrays[name], index=pd.Index(index, name="row"), columns=list(names.labels))

    def _run(self, method: str, dataset: str | None, split: str | None) -> RunRecord:
        """Return the record of a finished run; data set and split may be left out where there is one."""
        asked = {"method": method, "dataset": dataset, "split": split}
        runs = [({"method": r.method, "dataset": r.dataset.name, "split": r.split}, r) for r in self.records]
        for what, name in asked.items():
            known = dict.fromkeys(names[what] for names, _ in runs)
            if name is None and len(known) > 1:
                raise UserError(f"say of which {what}: {', '.join(known)}", self.folder.path)
            if name is not None and name not in known:
                raise UserError(unknown_name(what, name, known), self.folder.path)
            runs = [(names, record) for names, record in runs if name in (None, names[what])]
        ((_, record),) = runs
        if not record.done:
            raise UserError(f"the run of '{method}' failed, so it has no model and no predictions", self.folder.path)
        return record

    def __repr__(self) -> str:
        if not self.records:
            return f"no run is finished in {self.folder.path}"
        # The notes are many lines; a notebook shows them.
        shown = []
        for place, grid in enumerate(map(to_grid, self.tables())):
            below = f"{len(grid.notes)} notes on these numbers: tables()[{place}].notes"
            shown.append(replace(grid, notes=(below,)))
        return render_grids(shown, "md")

    def _repr_html_(self) -> str:
        if not self.records:
            return f"<p>{html(repr(self))}</p>"
        return "".join(grid_to_html(to_grid(table)) for table in self.tables())


_ROW_NAMES = ["dataset", "method"]
MOST_DECIMALS = 16


def open_results(path: str | PathLike[str]) -> Results:
    """Open the results folder of an experiment that was run before.

    Raises
    ------
    UserError
        If there is none.
    """
    return Results.open(path)


def run(
    experiment: str | PathLike[str] | Mapping[str, object] | ExperimentConfig,
    results_dir: str | PathLike[str] = "results",
    *,
    jobs: int = 1,
    retry_failed: bool = False,
) -> Results:
    """Run what of an experiment is not done yet; a failed fit is a failed run in the results, the others go on.

    Parameters
    ----------
    experiment : path of a YAML file, or what such a file holds as a mapping, or a configuration that was loaded
    results_dir : folder that holds the results folders
    jobs : worker processes; results do not depend on it
    retry_failed : whether failed fits are made again

    Raises
    ------
    UserError
        If the configuration is wrong or does not fit the data.
    """
    config = _config(experiment)
    return Results(run_experiment(config, Path(results_dir), jobs, retry_failed=retry_failed).folder, config.metrics)


def _config(experiment: str | PathLike[str] | Mapping[str, object] | ExperimentConfig) -> ExperimentConfig:
    if isinstance(experiment, ExperimentConfig):
        return experiment
    if isinstance(experiment, Mapping):
        return config_of(experiment, "experiment")
    return load_config(Path(experiment))


def reproduce(
    name: str,
    *,
    grid: str | None = None,
    table: str | None = None,
    figures: bool = False,
    data: str | PathLike[str] | None = None,
    test: str | PathLike[str] | None = None,
    labels: str | PathLike[str] | None = None,
    fetch: bool = False,
    results_dir: str | PathLike[str] = "results",
    jobs: int = 1,
    scheduler: str | None = None,
    retry_failed: bool = False,
    log_level: str = "info",
) -> "Reproduction":
    """Run the experiment behind a table of a paper, and set the paper's numbers beside ours, as ``mlrank reproduce``.

    Parameters
    ----------
    name : a recipe, such as "imageclef", or "all"
    grid : grid of the recipe, such as "paper"
    table : another table of the recipe, by its name or number, such as "3"
    figures : whether the paper's figures are drawn from our runs too
    data, test, labels : files of your own data, to be used instead of the recipe's
    fetch : whether the best data that can be had are fetched first
    results_dir : folder that holds the results folders
    jobs : worker processes; results do not depend on it
    scheduler : address of a Dask cluster, or its scheduler file; fits are made there instead
    retry_failed : whether failed fits are made again
    log_level : what log.jsonl gets: "debug" (every fit), "info" or "error"

    Raises
    ------
    UserError
        If there is no such recipe, table, grid or data, or two of these do not go together.
    """
    from mlrank.recipes.reproduction import reproduce_all, reproduce_one
    from mlrank.recipes.run import RecipeRequest, Runner

    if name == "all" and any((grid, table, figures, data, scheduler)):
        raise UserError("grid, table, figures, data and scheduler are of one recipe, found together with 'all'")
    if data is None and (test or labels):
        raise UserError("'test' and 'labels' go with 'data'")
    if fetch and data:
        raise UserError("'fetch' gets published data, 'data' names your own: give one of them")

    def run_missing(config: ExperimentConfig, workers: int) -> FinishedExperiment:
        pool = workers if scheduler is None else cluster_pool(scheduler)
        return run_experiment(config, Path(results_dir), pool, retry_failed=retry_failed, log_level=log_level)

    runner = Runner(run_missing, jobs, scheduler is not None)
    if name == "all":
        return reproduce_all(runner, Path(results_dir), fetch)
    given = {"train": data, "test": test, "labels": labels}
    files = {role: fspath(path) for role, path in given.items() if path is not None}
    return reproduce_one(name, RecipeRequest(grid, table, figures, files or None), runner, fetch)


def save_model(
    path: str | PathLike[str],
    model: Any,
    train: TrainingSet,
    *,
    cut: Any = None,
    solver: Any = None,
    dataset: Dataset | None = None,
    scaling: Any = None,
    projection: Any = None,
    calibration: Any = None,
) -> None:
    """Write a fitted model to a file that `load_model`, ``mlrank predict`` and ``mlrank evaluate`` open.

    Parameters
    ----------
    path : str or path
        It is written whole or not at all; what is there is replaced.
    model : what a solver's ``fit`` returned
    train : TrainingSet
        What it was fitted to, before any scaling and projection.
    cut : what a threshold's ``fit`` returned; if left out, scores above the solver's natural cut are labels, above 0
        where no solver is given; probabilities above 1/2
    solver : the solver, to be named in the file with its settings
    dataset : Dataset
        Names the features and labels, and is known again when the model is judged on it. If left out, features are
        numbered from 1 and labels from 0.
    scaling, projection : fitted ones, through which rows go before they reach the model
    calibration : what `mlrank.calibration.fit_calibration` returned, through which its scores go

    Raises
    ------
    ValueError
        If a part cannot be stored, or the data set has other features or labels.
    UserError
        If the file cannot be written.
    """
    m, k = train.n_features, train.n_labels
    labels, features = tuple(map(str, range(k))), tuple(map(str, range(1, m + 1)))
    if dataset is not None:
        labels, features = dataset.label_names, dataset.feature_names
        if (len(features), len(labels)) != (m, k):
            found = f"{len(features)} features and {len(labels)} labels"
            raise ValueError(f"the data set has {found}, the training set {m} and {k}")
    if cut is None:
        natural = 0.0 if solver is None else Capabilities.cut_of(solver, train)
        cut = LabelCut(np.full(k, natural if calibration is None else 0.5))
    scaling = SCALERS["none"]().fit(train.X) if scaling is None else scaling
    if projection is not None and isinstance(model, TransductiveModel):
        unlabeled = None if train.X_unlabeled is None else scaling(train.X_unlabeled)
        model = model.of_rows(replace(train, X=scaling(train.X), X_unlabeled=unlabeled))
    predictor = Predictor(scaling, projection, model, cut, issparse(train.X), calibration)
    fit = Fit.of(predictor, train.X[: probe_rows(train.n_labels)])
    kinds = {role: part["kind"] for role, part in fit.parts.items()}
    about: dict[str, object] = {
        "experiment": "",
        "method": kinds["model"] if solver is None else _key(solver),
        "split": "",
        "solver": {"kind": kinds["model"], "settings": {}} if solver is None else _settings(solver),
        "threshold": {"kind": kinds["cut"], "settings": {}, "scores": "", "oracle": looks_at_truth(cut)},
        "scale": kinds["scaling"],
        "projection": {"kind": kinds["projection"], "settings": {}} if "projection" in kinds else None,
        "data": _about_data(dataset, train),
        "label_names": labels,
        "feature_names": features,
        "config": None,
        "commit": checkout_commit(),
        "text": () if dataset is None else tuple(asdict(column) for column in dataset.text),
        "fill": None if dataset is None or dataset.fill is None else tuple(dataset.fill.tolist()),
    }
    write_archive(Path(path), model_content(fit, about))


def _key(solver: Any) -> str:
    kind = type(solver)
    return SOLVERS.key_of(kind) or f"{kind.__module__}:{kind.__qualname__}"


def _settings(solver: Any) -> dict[str, object]:
    return {"kind": _key(solver), "settings": {field.name: getattr(solver, field.name) for field in fields(solver)}}


def _about_data(dataset: Dataset | None, train: TrainingSet) -> dict[str, object]:
    about: dict[str, object] = {"name": "", "source": "", "hash": None, "n_train": train.n_samples}
    if dataset is None:
        return about
    return about | {"name": dataset.name, "source": dataset.description, "hash": dataset_hash(dataset)}
