"""Digests of generated designs, to see whether a change of the compiler changes what it generates.

``python bench/digests.py > before.txt`` at one commit, ``python bench/digests.py --against before.txt`` at another.
A digest of the fixed-point graph and one of the Verilog stand in a line for each design; graphs take seconds, Verilog
takes minutes (``--graphs`` leaves it out).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from rbdgen import Options, compile_robot, load_robot
from rbdgen.ir.text import to_text
from rbdgen_hw.emit import design_verilog

ROBOTS = ("pendulum2", "ur5", "iiwa14", "hyq")
SEVEN = ("id", "fd", "m", "minv", "did", "dfd", "difd")
FUNCTIONS = {"id": ("id",), "all": SEVEN}
INTERVALS = (1, 12)


def digest(text: str) -> str:
    """The first characters of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def line(robot: str, functions: str, ii: int, graphs: bool) -> str:
    """What is generated for one robot, set of functions and interval, as a line of digests."""
    design = compile_robot(
        load_robot(robot),
        Options(functions=FUNCTIONS[functions], ii=ii, overflow="saturate", word=18),
    )
    parts = [f"{robot} {functions} ii{ii}:", f"graph {digest(to_text(design.fixed))}"]
    if not graphs:
        parts.append(f"verilog {digest(design_verilog(design))}")
    return " ".join(parts)


def main() -> int:
    """Print a line for each design; the exit status is 1 where one differs from ``--against``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="lines of another commit, to compare with")
    parser.add_argument("--graphs", action="store_true", help="graphs only")
    parser.add_argument("--robots", default=",".join(ROBOTS), help="only these")
    parser.add_argument("--functions", default=",".join(FUNCTIONS), help="only these sets: id, all")
    args = parser.parse_args()
    known = args.against.read_text().splitlines() if args.against else []
    differ = 0
    for robot in args.robots.split(","):
        for functions in args.functions.split(","):
            for ii in INTERVALS:
                made = line(robot, functions, ii, args.graphs)
                same = not known or any(k.startswith(made) for k in known)
                differ += not same
                print(made if same else f"{made}  DIFFERS", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
