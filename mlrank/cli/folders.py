"""The results folders named on a command line, read together."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlrank.config import RecipeConfig
    from mlrank.records import RunFolder, RunRecord
    from mlrank.stored import Arrays

__all__ = ["Stored", "read_folders", "with_published"]


@dataclass(frozen=True)
class Stored:
    """What several results folders hold.

    Parameters
    ----------
    records : list of run records, folder by folder
        Experiments of the same name get the names of their folders.
    folders : dict from the experiment's name in `records` to its folder
    metrics : list of str
        Those that the configurations show, in order.
    origins : dict from the experiment's name to the recipe that it comes from, None if from none
    titles : dict from names of methods, metrics and data sets to what tables call them
    notes : list of str
        What published results were left out.
    published : bool
        Whether published results are among the records.
    """

    records: "list[RunRecord]"
    folders: dict[str, "RunFolder"]
    metrics: list[str]
    origins: dict[str, "RecipeConfig | None"] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    published: bool = False

    @property
    def own_methods(self) -> list[str]:
        """The methods of the folders, in the order of their configurations, and none of the published ones."""
        configs = [folder.read_config() for folder in self.folders.values()]
        return list(dict.fromkeys(method for config in configs for method in config["methods"]))

    def in_metrics(self, columns: Sequence[str], named: Collection[str | None] = ()) -> "list[RunRecord]":
        """Return the records to compare in some metrics and costs; see `mlrank.benchmark.in_metrics`."""
        from mlrank.benchmark import in_metrics

        return in_metrics(self.records, columns, named) if self.published else self.records

    def arrays(self, record: "RunRecord") -> "Arrays":
        """Return the arrays of a run: scores, Y_pred, Y_true, rows, and known where some labels are not.

        Raises
        ------
        UserError
            If the run kept the best scores of each row alone.
        """
        from mlrank.records.predictions import all_scores

        return all_scores(self.folders[record.experiment].run_arrays(record), "this")

    def label_names(self, record: "RunRecord") -> tuple[str, ...]:
        """Return the names of the labels of a run's data."""
        return self.folders[record.experiment].names(record).labels


def read_folders(paths: Sequence[Path]) -> Stored:
    """Read results folders.

    Raises
    ------
    UserError
        If one is none, is given twice, or has no finished run.
    """
    from mlrank.config import RecipeConfig
    from mlrank.errors import UserError
    from mlrank.records import RunFolder

    opened = [RunFolder.open(path) for path in paths]
    for place, path in enumerate(paths):
        if path.resolve() in [other.resolve() for other in paths[:place]]:
            raise UserError("this results folder is given twice", path)
    configs = [folder.read_config() for folder in opened]
    uses = Counter(config["name"] for config in configs)
    stored = Stored([], {}, [])
    for folder, config in zip(opened, configs, strict=True):
        name = config["name"] if uses[config["name"]] == 1 else str(folder.path)
        records = [replace(record, experiment=name) for record in folder.runs()]
        if not records:
            raise UserError("no run of this experiment is finished yet", folder.path)
        stored.records.extend(records)
        stored.folders[name] = folder
        stored.origins[name] = RecipeConfig.model_validate(config["recipe"]) if "recipe" in config else None
        stored.titles.update(config.get("display_names", {}))
        stored.metrics.extend(metric for metric in config["metrics"] if metric not in stored.metrics)
    return stored


def with_published(stored: Stored, spec: str | None) -> Stored:
    """Return what folders hold together with published results.

    Parameters
    ----------
    spec : "benchmark", "benchmark:METHOD,METHOD" with names or solvers of methods, or None for nothing

    Raises
    ------
    UserError
        For another name, or if the folders' data, rows or version are not those of the benchmark.
    """
    from mlrank.benchmark import published_beside
    from mlrank.errors import UserError

    if spec is None:
        return stored
    name, _, methods = spec.partition(":")
    if name != "benchmark":
        raise UserError(f"--with takes benchmark, or benchmark:METHOD,METHOD; found '{spec}'")
    chosen = [method.strip() for method in methods.split(",") if method.strip()]
    found, notes = published_beside(stored.records, chosen)
    return replace(stored, records=[*stored.records, *found], notes=[*stored.notes, *notes], published=True)
