"""The small form: each variant on a part of the problems, which together are all of them."""

import pytest

from tests.adversary.families import FAMILIES, VARIANTS
from tests.adversary.problems import FORMS, NAMES, draw
from tests.adversary.sweep import judge

# Of the problems, each variant gets one in so many.
PART = 14
# Each variant has its own problems, whatever the others are.
JUDGED = [(i, name, one) for i, (name, one) in enumerate(VARIANTS) if not FAMILIES[name].pending]


@pytest.mark.parametrize(("number", "family", "variant"), JUDGED)
def test_no_certificate_is_false(number, family, variant):
    faults = []
    for place in range(number % PART, len(NAMES), PART):
        problem = draw(NAMES[place], seed=0, form=tuple(FORMS)[(place // PART + number) % len(FORMS)])
        outcome = judge(family, variant, problem)
        if outcome is not None and outcome.kind == "false":
            faults.append(f"{problem.name} ({problem.form}): {'; '.join(outcome.faults)}")
    assert not faults, "\n".join(faults)
