"""Data sets: Dataset, file formats, the catalogue, stand-ins and parts of a data set."""

from mlrank.datasets.catalogue import is_available, read_catalogue
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import FORMATS
from mlrank.datasets.generated.standin import generate
from mlrank.datasets.hashing import dataset_hash
from mlrank.datasets.loading import load_dataset
from mlrank.datasets.sampling import hide_labels
from mlrank.datasets.subset import drawn_rows, subset

__all__ = [
    "FORMATS",
    "Dataset",
    "dataset_hash",
    "drawn_rows",
    "generate",
    "hide_labels",
    "is_available",
    "load_dataset",
    "read_catalogue",
    "subset",
]
