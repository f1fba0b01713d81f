"""A check's verdict on a solver, whatever the solver does to it."""

from typing import NamedTuple

from mlrank.contract.checks import CHECKS
from mlrank.contract.subject import Broken, NotApplicable, Subject

__all__ = ["Verdict", "verdict"]


class Verdict(NamedTuple):
    """What came of a check: "passed", "failed" or "skipped", and why."""

    outcome: str
    message: str


def verdict(subject: Subject, name: str) -> Verdict:
    """Return what the check `name` says of a solver; an error that it raises is a failure."""
    try:
        CHECKS[name](subject)
    except NotApplicable as reason:
        return Verdict("skipped", str(reason))
    except Broken as found:
        return Verdict("failed", str(found))
    except Exception as error:  # a solver under test may fail in any way
        return Verdict("failed", " ".join(f"{type(error).__name__}: {error}".split()))
    return Verdict("passed", (CHECKS[name].__doc__ or "").strip())
