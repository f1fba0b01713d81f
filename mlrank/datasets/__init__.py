"""Data sets: the Dataset record, readers, the catalogue, stand-ins and parts of a data set."""

from mlrank.datasets.catalogue import is_available, read_catalogue
from mlrank.datasets.hashing import dataset_hash
from mlrank.datasets.loading import load_dataset
from mlrank.datasets.readers import READERS
from mlrank.datasets.record import Dataset
from mlrank.datasets.sampling import hide_labels
from mlrank.datasets.standin import generate
from mlrank.datasets.subset import subset

__all__ = [
    "READERS",
    "Dataset",
    "dataset_hash",
    "generate",
    "hide_labels",
    "is_available",
    "load_dataset",
    "read_catalogue",
    "subset",
]
