"""Fuzz for a time: rounds of all fuzzers, each with the next seed, in a process of limited memory.

    python -m tests.fuzz.run --seconds 3600 [--seed 5] [--examples 1000] [--memory 6]

A round that fails is named with the command that repeats it. The exit code is 1 if any has failed.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parent
# What a round may take beyond what its inputs are limited to.
ROUND_SECONDS = 3600


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--memory", type=float, default=8.0, help="GB of address space")
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}, {chosen.examples} inputs for each fuzzer and round", flush=True)
    started, seed, inputs, failures = time.monotonic(), chosen.seed, 0, []
    while time.monotonic() - started < chosen.seconds and (chosen.rounds is None or seed < chosen.seed + chosen.rounds):
        code, n_inputs = play(seed, chosen.examples, int(chosen.memory * 1e9))
        inputs += n_inputs
        if code:
            failures.append(seed)
            print(f"failed; again: make fuzz SEED={seed} ROUNDS=1 EXAMPLES={chosen.examples}", flush=True)
        seed += 1
        print(f"{inputs} inputs in {time.monotonic() - started:.0f} s, {len(failures)} rounds failed", flush=True)
    return 1 if failures else 0


def play(seed, examples, memory):
    """Run all fuzzers once; return the exit code of pytest, negative for a signal, and the number of inputs."""
    with tempfile.TemporaryDirectory() as folder:
        count = Path(folder) / "count"
        environment = os.environ | {"MLRANK_FUZZ_EXAMPLES": str(examples), "MLRANK_FUZZ_COUNT": str(count)}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}"]
        words += [f"--basetemp={folder}/files", str(FOLDER)]
        done = subprocess.run(
            words,
            env=environment,
            timeout=ROUND_SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
        )
        return done.returncode, int(count.read_text()) if count.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
