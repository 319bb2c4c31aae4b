"""Fuzzing for as long as one likes: ``python -m tests.fuzz --hours 2``.

Each round draws many times the examples of the test suite by a seed of its own, which it names; a round that fails is
told with the command that runs it again, and what failed. Exit status 1 if any did.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.effort import SEED, TIMES

ROOT = Path(__file__).parents[2]
WHAT = ("tests/fuzz", "tests/hw/test_upsets.py")
STUCK = 1200
"""Seconds after which a test that still runs shows where it is."""


def fuzz_round(seed: int, times: int, workers: int) -> bool:
    """Whether nothing failed; pytest prints as it goes, and the command that runs the round again comes first."""
    settings = {TIMES: str(times), SEED: str(seed)}
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        str(workers),
        f"--hypothesis-seed={seed}",
        *("-o", f"faulthandler_timeout={STUCK}"),
        *WHAT,
    ]
    given = " ".join(f"{name}={value}" for name, value in settings.items())
    sys.stdout.write(f"{given} {shlex.join(line)}\n")
    sys.stdout.flush()
    done = subprocess.run(line, cwd=ROOT, env=os.environ | settings, check=False)
    return done.returncode == 0


def main() -> int:
    """Rounds until the time is up, one at least."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--hours", type=float, default=1.0, help="how long (1)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (1)")
    parser.add_argument("--times", type=int, default=25, help="the examples of the test suite (25)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    args = parser.parse_args()
    begin = time.monotonic()
    failed, seed = 0, args.seed
    while True:
        good = fuzz_round(seed, args.times, args.workers)
        failed += not good
        hours = (time.monotonic() - begin) / 3600
        verdict = "passed" if good else "failed"
        sys.stdout.write(f"seed {seed} {verdict} ({hours:.2f} hours, {failed} rounds failed)\n")
        sys.stdout.flush()
        seed += 1
        if hours >= args.hours:
            return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
