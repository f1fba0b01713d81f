"""How many inputs the fuzzers draw, and what each of them may take."""

import faulthandler
import os
import sys
import time
from contextlib import contextmanager

from hypothesis import HealthCheck, Phase, settings

from mlrank.hardware import peak_memory, reset_peak_memory

# `make fuzz` sets it.
EXAMPLES = int(os.environ.get("MLRANK_FUZZ_EXAMPLES", "12"))
LONG = "MLRANK_FUZZ_EXAMPLES" in os.environ
FUZZ = settings(
    deadline=None,
    max_examples=EXAMPLES,
    database=None,
    # What fails in `make test` is named at once; `make fuzz` looks for the smallest input.
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if LONG else [])],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
MOST_BYTES = 1_000_000_000
MOST_SECONDS = 20
# Loops in machine code do not see an interrupt.
HUNG_SECONDS = 120
counted = {"inputs": 0}


@contextmanager
def limited():
    """Fail where the block takes more time or memory than any small input may; a hang ends the process."""
    counted["inputs"] += 1
    # What the process held before is none of this input's: the libraries, and what they keep of earlier ones.
    before = peak_memory() if LONG and reset_peak_memory() else None
    started = time.process_time()
    if LONG:
        faulthandler.dump_traceback_later(HUNG_SECONDS, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        if LONG:
            faulthandler.cancel_dump_traceback_later()
    assert time.process_time() - started < MOST_SECONDS
    assert before is None or (peak_memory() or 0) - before < MOST_BYTES
