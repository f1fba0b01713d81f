"""What an experiment runs on: data sets loaded, cut to the subset and split."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray
from mlrank.config import DatasetConfig, ExperimentConfig
from mlrank.datasets import Dataset, dataset_hash, hide_labels, load_dataset, subset
from mlrank.datasets.columns import term_blocks
from mlrank.errors import UserError
from mlrank.labels import label_counts, labels_of_rows
from mlrank.search import TaskData
from mlrank.splits import Split, make_splits

__all__ = ["SplitDataset", "plan", "prepare_data"]


@dataclass(frozen=True)
class SplitDataset:
    """A data set ready to be used: subset taken, splits drawn.

    `changes` says what was changed on the way; `task_data` is what workers see, with one mask of known labels for each
    split if some are hidden, and else one for all, or none; `n_whole` is the number of rows before the subset.
    """

    dataset: Dataset
    hash: str
    splits: tuple[Split, ...]
    changes: tuple[str, ...]
    task_data: TaskData
    n_whole: int = 0

    def mask(self, number: int) -> int:
        """Return the place of the mask of the split with this number."""
        known = self.task_data.known
        return number if known is not None and len(known) > 1 else 0


def plan(config: ExperimentConfig) -> list[SplitDataset]:
    """Load every data set, take the subset and draw the splits.

    Raises
    ------
    UserError
        If a data set is missing or damaged, or cannot be split or cut as the configuration asks, or has the name of
        another one.
    """
    found: dict[str, SplitDataset] = {}
    for place, entry in enumerate(config.datasets):
        with config.places.errors_at("datasets", place):
            dataset = _load(entry)
            name = dataset.name
            if name in found:
                raise UserError(f"two data sets are called '{name}', so one would take the place of the other's runs")
        found[name] = prepare_data(config, dataset, place)
    return list(found.values())


def prepare_data(config: ExperimentConfig, dataset: Dataset, place: int) -> SplitDataset:
    """Take the subset of a data set, which the configuration has at `place`, and draw its splits.

    Raises
    ------
    UserError
        As `plan` does.
    """
    own, n_whole = config.datasets[place].subset, dataset.n_samples
    with config.places.errors_at(*(("subset",) if own is None else ("datasets", place, "subset"))):
        dataset, changes = subset(dataset, **(own or config.subset).model_dump(), seed=config.seed)
    how = config.split.model_dump(exclude={"missing_labels"})
    with config.places.errors_at("split", about=f"'{dataset.name}': "):
        splits = make_splits(
            dataset.Y, dataset.official, config.seed, groups=dataset.groups, predefined=dataset.folds, **how
        )
    with config.places.errors_at("split"):
        known, known_notes = _known(config, dataset, splits)
    changes = [*changes, *_split_notes(config, splits), *_label_notes(dataset, splits), *known_notes]
    task_data = TaskData(
        dataset.X,
        dataset.Y,
        known,
        feature_names=dataset.feature_names,
        groups=dataset.groups,
        text=term_blocks(dataset.feature_names, dataset.text),
    )
    return SplitDataset(dataset, dataset_hash(dataset), tuple(splits), tuple(changes), task_data, n_whole)


def _known(config: ExperimentConfig, dataset: Dataset, splits: list[Split]) -> tuple[BoolArray | None, list[str]]:
    """Return the masks of known label entries, and notes about them."""
    notes = []
    if dataset.known is not None:
        notes.append(f"{int((~dataset.known).sum())} of {dataset.known.size} label entries are unknown and left out")
    ratio = config.split.missing_labels
    if not ratio:
        return None if dataset.known is None else dataset.known[None], notes
    if issparse(dataset.Y):
        size = f"{dataset.n_samples} rows and {dataset.n_labels} labels"
        message = f"'{dataset.name}' has {size}, too many entries to hide some of them: subset takes fewer labels"
        raise UserError(message, setting="missing_labels")
    masks = np.ones((len(splits), *dataset.Y.shape), np.bool_)
    if dataset.known is not None:
        masks &= dataset.known
    for number, (mask, split) in enumerate(zip(masks, splits, strict=True)):
        hidden, note = hide_labels(dataset.Y[split.train], ratio, config.seed + number)
        mask[split.train] &= hidden
        notes.append(f"split {split.name}: {note}")
    if len(splits) > 2:
        notes = [*notes[: -len(splits)], f"{notes[-len(splits)]}; the other splits alike"]
    return masks, notes


def _load(entry: DatasetConfig) -> Dataset:
    options = entry.model_dump(exclude={"name", "train", "in_memory", "subset"}, exclude_none=True)
    if entry.in_memory:
        if entry.held is None:
            name = entry.name or "data"
            raise UserError(f"the data of '{name}' were in memory; run the experiment from the program that has them")
        return load_dataset(entry.held.data, name=entry.name, **{**options, **entry.held.arguments()})
    if entry.train is not None:
        return load_dataset(entry.train, name=entry.name, **options)
    if entry.name is None:
        raise ValueError("a data set has a name or a file")
    return load_dataset(entry.name, **options)


def _split_notes(config: ExperimentConfig, splits: list[Split]) -> Iterator[str]:
    """Describe how the training rows were sampled where a paper's way was used."""
    split = config.split
    how = {
        "per_class": f"one of {split.parts} parts of each label's rows, at least one row",
        "strata": f"{split.single} rows with one label and {split.multiple} with several",
    }
    if split.kind == "predefined":
        yield f"split into the {len(splits)} folds that the data say"
    if split.kind in how:
        sizes = sorted({len(part.train) for part in splits})
        rows = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        yield f"trained on {how[split.kind]}: {rows} rows (seed {config.seed})"


def _label_notes(dataset: Dataset, splits: list[Split]) -> Iterator[str]:
    absent = [int((label_counts(labels_of_rows(dataset.Y, split.train)) == 0).sum()) for split in splits]
    if any(absent):
        yield f"{max(absent)} of {dataset.n_labels} labels have no positive training row in some split"
