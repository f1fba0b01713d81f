"""The trials of an experiment's searches with the settings they stand for, read without the data."""

from collections.abc import Iterator, Mapping

from mlrank.config import ExperimentConfig, load_stored_config
from mlrank.experiment.points import GridFit, equivalent_points
from mlrank.records import RunFolder, RunRecord, SearchTrial, TrialRecord
from mlrank.records.identity import FitInputs, TrialPlace

__all__ = ["stored_trials"]


def stored_trials(folder: RunFolder, records: list[RunRecord] | None = None) -> list[SearchTrial]:
    """Return every trial on all rows of a fold that the journal holds for the runs of the present configuration.

    Parameters
    ----------
    records : run records, if they have been read already

    Returns
    -------
    list of SearchTrial
        A point that was not fitted because another gives the same fits has that one's record.

    Raises
    ------
    UserError
        If the configuration or the journal is damaged.
    """
    config = load_stored_config(folder.path / "config.yaml")
    journal = folder.journal.read()
    runs = folder.runs() if records is None else records
    return [trial for record in runs for trial in _of_run(record, config, journal)]


def _of_run(record: RunRecord, config: ExperimentConfig, journal: Mapping[str, TrialRecord]) -> Iterator[SearchTrial]:
    method, search = config.methods[record.method], config.search
    grid, equivalent = method.grid(), equivalent_points(method)
    if len(grid) < 2:
        return
    inputs = FitInputs.from_names(record.inputs)
    parts = (("project.", method.projection_axes), ("", method.axes), ("threshold.", method.threshold_axes))
    searched = {f"{part}{name}" for part, axes in parts for name, values in axes if len(values) > 1}
    fits = {place: GridFit.of(method, grid[place], search.metric) for place in set(equivalent)}
    for place, point in enumerate(grid):
        everything = {
            **{f"project.{name}": value for name, value in point.projection_settings.items()},
            **point.settings,
            **{f"threshold.{name}": value for name, value in point.threshold_settings.items()},
        }
        settings = {name: value for name, value in everything.items() if name in searched}
        for fold in range(record.search.folds or search.folds):
            trial = TrialPlace(fold, search.folds, search.stratified, search.metric)
            key = fits[equivalent[place]].point(inputs, trial).key
            if key in journal:
                yield SearchTrial(*record.names, fold, settings, search.metric, journal[key])
