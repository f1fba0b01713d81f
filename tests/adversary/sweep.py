"""Fit every variant on problems, judge the fits, count."""

import os
import secrets
import signal
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from mlrank.errors import UserError
from tests.adversary.checks import CHECKS, AdversaryFit
from tests.adversary.families import FAMILIES, VARIANTS
from tests.adversary.problems import FORMS, NAMES, AdversaryProblem, draw

__all__ = ["AdversaryOutcome", "judge", "main"]

# A fit on a few rows that takes longer is a fault of its own.
SECONDS = 60
# Up to here problems must mostly converge.
MODERATE = 1e6


@dataclass(frozen=True)
class AdversaryOutcome:
    """What became of a fit: "converged", "honest" (not converged, with a true bound), "refused" or "false"."""

    variant: str
    problem: AdversaryProblem
    kind: str
    faults: tuple[str, ...] = ()
    optimality: float = float("nan")
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def judge(family_name: str, variant: str, problem: AdversaryProblem) -> AdversaryOutcome | None:
    """Fit a variant on a problem and check the fit; None where the two do not go together."""
    family = FAMILIES[family_name]
    solver = family.solver(variant, problem.factor)
    if solver is None or any(problem.name.startswith(name) for name in family.skip):
        return None
    train = problem.training_set(solver, variant in family.nonnegative)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = solver.fit(train)
            seconds = time.perf_counter() - began
            fit = AdversaryFit(family, variant, solver, problem, train, model)
            faults = tuple(fault for check in CHECKS for fault in check(fit))
    except (ValueError, UserError) as error:
        return AdversaryOutcome(variant, problem, "refused", (str(error),))
    except Exception as error:  # 5. nothing else may be raised, warnings included
        return AdversaryOutcome(variant, problem, "false", (f"raised {type(error).__name__}: {error}",))
    kind = "false" if faults else "converged" if model.info.converged else "honest"
    return AdversaryOutcome(variant, problem, kind, faults, model.info.optimality, seconds, model.info.notes)


def _timed(task) -> list[AdversaryOutcome]:
    family, variant, seed = task
    signal.signal(signal.SIGALRM, _too_long)
    outcomes = []
    for number, name in enumerate(NAMES):
        problem = draw(name, seed, tuple(FORMS)[(number + seed) % len(FORMS)])
        signal.alarm(SECONDS)
        try:
            outcomes.append(judge(family, variant, problem))
        finally:
            signal.alarm(0)
    return [outcome for outcome in outcomes if outcome is not None]


def _too_long(number, frame):
    raise TimeoutError(f"took more than {SECONDS} seconds")


def main() -> int:
    """Run the whole form; return 1 if a certificate was false."""
    seed = int(os.environ.get("ADVERSARY_SEED") or secrets.randbelow(10**6))
    only = os.environ.get("ADVERSARY_ONLY", "")
    variants = [(family, variant) for family, variant in VARIANTS if variant.startswith(only) or family == only]
    print(f"ADVERSARY_SEED={seed} (set it to run the same problems; ADVERSARY_ONLY=rank_svm runs one solver)")
    print(f"{'':26}problems  converged  (ratio up to 1e6)  honest  refused  false  seconds")
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(int(os.environ.get("ADVERSARY_JOBS") or os.cpu_count() or 1)) as pool:
        tasks = [(family, variant, seed) for family, variant in variants]
        for (_, variant), outcomes in zip(variants, pool.map(_timed, tasks), strict=True):
            count = Counter(outcome.kind for outcome in outcomes)
            moderate = [one for one in outcomes if one.problem.ratio <= MODERATE and one.kind != "refused"]
            count["moderate"], count["problems"] = len(moderate), len(outcomes)
            count["solved"] = sum(one.kind == "converged" for one in moderate)
            total += count
            _print_row(variant, count, sum(one.seconds for one in outcomes))
            for one in outcomes:
                _print_outcome(one)
    _print_row("all", total, 0.0)
    return 1 if total["false"] else 0


def _print_row(name, count, seconds):
    share = 100.0 * count["solved"] / max(count["moderate"], 1)
    cells = f"{count['problems']:8}  {count['converged']:9}  {share:17.1f}%  {count['honest']:6}  {count['refused']:7}"
    print(f"{name:26}{cells}  {count['false']:5}  {seconds:7.1f}", flush=True)


def _print_outcome(one):
    if one.kind == "converged":
        return
    where = f"{one.problem.name} ({one.problem.form})"
    what = "; ".join(one.faults) or f"optimality {one.optimality:.2e} {' '.join(one.notes)}"
    print(f"    {one.kind:8} {where}: {what}")


if __name__ == "__main__":
    sys.exit(main())
