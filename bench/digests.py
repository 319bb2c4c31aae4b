"""Digests of what is generated, to see whether a change of the compiler changes it.

``python bench/digests.py > before.txt`` at one commit, ``python bench/digests.py --against before.txt`` at another.
A line stands for a design, or for the C of a robot's functions:

- the fixed-point graph and the Verilog of the built-in robots with ``id`` and with all functions, at intervals of 1 and
  12 cycles, words of 18 bits (``--graphs`` leaves out the Verilog, which takes minutes),
- the same of pendulum2 with default options,
- the C of functions in floating point, and the fixed-point C of an accelerator's arithmetic.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.cli.main import main as rbdgen
from rbdgen.functions.registry import common
from rbdgen.ir.fixed import to_text
from rbdgen_hw.emit import design_verilog

ROBOTS = ("pendulum2", "ur5", "iiwa14", "hyq")
FUNCTIONS = {"id": ("id",), "all": common()}
INTERVALS = (1, 12)
BY_DEFAULT = "pendulum2"
"""The robot whose designs are also made with default options."""
SOFTWARE = ",".join((*common(), "nle", "g", "roll", "step"))
"""Functions whose C is digested, in floating point."""
PARTS = ("designs", "defaults", "c")


def digest(text: str) -> str:
    """The first characters of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_design(design: Design, graphs: bool) -> str:
    """Digests of a design's graph and, unless only ``graphs`` are asked for, of its Verilog."""
    parts = [f"graph {digest(to_text(design.fixed))}"]
    if not graphs:
        parts.append(f"verilog {digest(design_verilog(design))}")
    return " ".join(parts)


def designs(robot: str, sets: Iterable[str], graphs: bool) -> Iterator[str]:
    """A line for each set of functions and interval."""
    for name in sets:
        for ii in INTERVALS:
            options = Options(functions=FUNCTIONS[name], ii=ii, overflow="saturate", word=18)
            design = compile_robot(load_robot(robot), options)
            yield f"{robot} {name} ii{ii}: {of_design(design, graphs)}"


def defaults(robot: str, sets: Iterable[str], graphs: bool) -> Iterator[str]:
    """A line for each set of functions, with no other option."""
    for name in sets:
        design = compile_robot(load_robot(robot), Options(functions=FUNCTIONS[name]))
        yield f"{robot} {name} by default: {of_design(design, graphs)}"


def software(robot: str) -> Iterator[str]:
    """A line for C in floating point, and one for the arithmetic of an accelerator with all functions."""
    accelerator = ["--functions", "all", "--fixed", "--word", "18", "--ii", "12"]
    yield f"{robot} c float: {_emitted(robot, '--functions', SOFTWARE)}"
    yield f"{robot} c fixed: {_emitted(robot, *accelerator, '--overflow', 'saturate')}"


def _emitted(robot: str, *arguments: str) -> str:
    """Digest of all files that ``rbdgen emit`` writes, with their names."""
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            status = rbdgen(["emit", robot, *arguments, "-o", folder])
        if status:
            raise SystemExit(f"rbdgen emit {robot} {' '.join(arguments)}: exit status {status}")
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        texts = [f"{p.relative_to(folder)}\n{p.read_text(encoding='utf-8')}" for p in paths]
    return digest("\n".join(texts))


def main() -> int:
    """Print a line for each design; the exit status is 1 where one differs from ``--against``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="lines of another commit, to compare with")
    parser.add_argument("--graphs", action="store_true", help="graphs only, of designs")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument("--robots", default=",".join(ROBOTS), help="only these")
    parser.add_argument("--functions", default=",".join(FUNCTIONS), help="only these sets: id, all")
    args = parser.parse_args()
    known = args.against.read_text().splitlines() if args.against else []
    parts, sets = args.part or PARTS, args.functions.split(",")
    differ = 0
    for robot in args.robots.split(","):
        lines: list[Iterator[str]] = []
        if "designs" in parts:
            lines.append(designs(robot, sets, args.graphs))
        if "defaults" in parts and robot == BY_DEFAULT:
            lines.append(defaults(robot, sets, args.graphs))
        if "c" in parts and not args.graphs:
            lines.append(software(robot))
        for made in (line for some in lines for line in some):
            same = not known or any(line.startswith(made) for line in known)
            differ += not same
            print(made if same else f"{made}  DIFFERS", flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
