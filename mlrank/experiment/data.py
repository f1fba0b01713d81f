"""What an experiment runs on: data sets loaded, cut to the subset and split."""

from collections.abc import Iterator
from dataclasses import dataclass

from mlrank.config import DatasetConfig, ExperimentConfig
from mlrank.datasets import Dataset, dataset_hash, load_dataset, subset
from mlrank.errors import UserError
from mlrank.splits import Split, make_splits

__all__ = ["Data", "plan"]


@dataclass(frozen=True)
class Data:
    """A data set ready to be used: subset taken, splits drawn, and what was changed on the way said."""

    dataset: Dataset
    hash: str
    splits: tuple[Split, ...]
    changes: tuple[str, ...]


def plan(config: ExperimentConfig) -> list[Data]:
    """Load every data set, take the subset and draw the splits.

    Raises
    ------
    UserError
        If a data set is missing or damaged, or cannot be split or cut as the configuration asks.
    """
    return [_prepare_data(config, entry) for entry in config.datasets]


def _prepare_data(config: ExperimentConfig, entry: DatasetConfig) -> Data:
    dataset = _load(entry)
    dataset, changes = subset(dataset, **config.subset.model_dump(), seed=config.seed)
    if dataset.known is not None:
        raise UserError(f"{dataset.name}: has unknown label entries, which none of the methods here can use")
    splits = make_splits(dataset.Y, dataset.official, config.seed, **config.split.model_dump())
    changes = [*changes, *_split_notes(config, splits), *_label_notes(dataset, splits)]
    return Data(dataset, dataset_hash(dataset), tuple(splits), tuple(changes))


def _load(entry: DatasetConfig) -> Dataset:
    where = entry.train or entry.name
    if where is None:
        raise ValueError("a data set has a name or a file")
    return load_dataset(where, **entry.model_dump(exclude={"name", "train"}))


def _split_notes(config: ExperimentConfig, splits: list[Split]) -> Iterator[str]:
    """Say how a paper's way to sample the training rows went."""
    split = config.split
    how = {
        "per_class": f"one of {split.parts} parts of each label's rows, at least one row",
        "strata": f"{split.single} rows with one label and {split.multiple} with several",
    }
    if split.kind in how:
        sizes = sorted({len(part.train) for part in splits})
        rows = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        yield f"trained on {how[split.kind]}: {rows} rows (seed {config.seed})"


def _label_notes(dataset: Dataset, splits: list[Split]) -> Iterator[str]:
    absent = [int((~dataset.Y[split.train].any(axis=0)).sum()) for split in splits]
    if any(absent):
        yield f"{max(absent)} of {dataset.n_labels} labels have no positive training row in some split"
