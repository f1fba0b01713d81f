"""Statistics of results: methods over several data sets, over the splits of one, label by label, and in words."""

from mlrank.stats.datasets import OverDatasets, compare_datasets
from mlrank.stats.gather import Repeats, gather, label_records
from mlrank.stats.paired import ResampledT, resampled_t
from mlrank.stats.ranks import holm
from mlrank.stats.splits import LabelTests, OverSplits, by_label, compare_labels, compare_splits
from mlrank.stats.words import (
    cautions_of_datasets,
    cautions_of_splits,
    say_datasets,
    say_labels,
    say_p,
    say_splits,
)

__all__ = [
    "LabelTests",
    "OverDatasets",
    "OverSplits",
    "Repeats",
    "ResampledT",
    "by_label",
    "cautions_of_datasets",
    "cautions_of_splits",
    "compare_datasets",
    "compare_labels",
    "compare_splits",
    "gather",
    "holm",
    "label_records",
    "resampled_t",
    "say_datasets",
    "say_labels",
    "say_p",
    "say_splits",
]
