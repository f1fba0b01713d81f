"""The data sets known by name: their entries, and how their files come to this machine."""

from mlrank.datasets.catalogue.entries import (
    Entry,
    Location,
    PinnedFile,
    check_sizes,
    find_entry,
    is_available,
    is_known,
    locate,
    missing_message,
    read_catalogue,
)

__all__ = [
    "Entry",
    "Location",
    "PinnedFile",
    "check_sizes",
    "find_entry",
    "is_available",
    "is_known",
    "locate",
    "missing_message",
    "read_catalogue",
]
