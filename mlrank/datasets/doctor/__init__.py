"""What a data set looks like, and what about it would spoil an experiment."""

from mlrank.datasets.doctor.checks import Checkup, CheckupFinding, examine, facts, unreadable
from mlrank.datasets.doctor.page import page

__all__ = ["Checkup", "CheckupFinding", "examine", "facts", "page", "unreadable"]
