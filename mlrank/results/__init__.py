"""Result folders: what is on disk after an experiment, and how it is written and read."""

from mlrank.results.claims import Claims, claimed
from mlrank.results.files import dump_json, safe_name
from mlrank.results.folder import FORMAT, RunFolder, run_label
from mlrank.results.journal import Journal, trial_key
from mlrank.results.machine import checkout_commit, environment

__all__ = [
    "FORMAT",
    "Claims",
    "Journal",
    "RunFolder",
    "checkout_commit",
    "claimed",
    "dump_json",
    "environment",
    "run_label",
    "safe_name",
    "trial_key",
]
