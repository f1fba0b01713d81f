"""Result folders: what is on disk after an experiment, and how it is written and read."""

from mlrank.records.atomic import dump_json, safe_name
from mlrank.records.folder import DataNames, RunFolder
from mlrank.records.journal import Journal
from mlrank.records.locks import WorkLocks, held_keys
from mlrank.records.run import FORMAT, RunRecord, SearchTrial, TrialRecord, run_label
from mlrank.records.software import checkout_commit, environment, software_info

__all__ = [
    "FORMAT",
    "DataNames",
    "Journal",
    "RunFolder",
    "RunRecord",
    "SearchTrial",
    "TrialRecord",
    "WorkLocks",
    "checkout_commit",
    "dump_json",
    "environment",
    "held_keys",
    "run_label",
    "safe_name",
    "software_info",
]
