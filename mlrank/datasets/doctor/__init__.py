"""What a data set looks like, and what about it would spoil an experiment."""

from mlrank.datasets.doctor.checks import Checkup, Finding, examine, facts, unreadable
from mlrank.datasets.doctor.page import page

__all__ = ["Checkup", "Finding", "examine", "facts", "page", "unreadable"]
