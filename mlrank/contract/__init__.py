"""What every solver must do, whatever it computes: checks that run on any solver, ours or a user's."""

from mlrank.contract.checks import CHECKS
from mlrank.contract.subject import Broken, NotApplicable, Subject, random_problem
from mlrank.contract.verdicts import Verdict, verdict

__all__ = ["CHECKS", "Broken", "NotApplicable", "Subject", "Verdict", "random_problem", "verdict"]
