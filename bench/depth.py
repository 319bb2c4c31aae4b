"""Prints the latency of serial chains by their length, by recursion and in logarithmic depth: ``make bench-depth``.

Snakes whose joints turn in z and y are scheduled at an interval of one cycle on the 125 MHz model, in words of 30 bits;
nothing is simulated. A length that would take much more than five minutes to compile, by the length before it, is
left out and said to be. ``--links`` chooses the longest chain. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Targets, arguments, parse, section
from snake import snake_urdf

from rbdgen import Options, compile_robot, load_urdf
from rbdgen.errors import RbdgenError, RbdgenWarning

LENGTHS = (4, 8, 16, 32, 64, 128)
WORD = 30
PATIENCE = 300
"""Seconds that a length may take."""
SLOWER = 3
"""How many times as long the next length may take."""
FAMILIES = {
    "id": {
        "recursive": {},
        "scan": {"inverse_dynamics": "scan"},
    },
    "fd": {
        "factors": {},
        "jsiia": {"inverse_dynamics": "scan", "forward_dynamics": "jsiia"},
        "hybrid": {"inverse_dynamics": "scan", "forward_dynamics": "hybrid"},
        "cfa": {"inverse_dynamics": "scan", "forward_dynamics": "cfa"},
    },
}
"""Options of each family, by function; the first is the default, which the others are compared with."""
ID_LINKS, ID_CYCLES = 32, 24
"""What inverse dynamics by scans may take."""


@dataclass(frozen=True)
class Point:
    """What one chain takes: cycles from the last operand to the last result, and multipliers."""

    cycles: int
    multipliers: int


def measure(
    folder: Path, function: str, options: dict[str, str], longest: int
) -> list[Point | str]:
    """One family by length; why there is no figure where there is none."""
    points: list[Point | str] = []
    took = 0.0
    for links in (n for n in LENGTHS if n <= longest):
        if took * SLOWER > PATIENCE:
            points.append("left out: too long to compile")
            continue
        urdf = folder / f"snake{links}.urdf"
        urdf.write_text(snake_urdf(links))
        begin = time.monotonic()
        try:
            design = compile_robot(load_urdf(urdf), Options((function,), word=WORD, **options))
        except RbdgenError as refused:
            points.append(f"refused: {refused}")
            continue
        took = time.monotonic() - begin
        multipliers = sum(design.plan.schedule.multipliers.values())
        points.append(Point(design.promised_latency(function), multipliers))
    return points


def family_table(function: str, found: dict[str, list[Point | str]]) -> None:
    """A row for each length, with a pair of columns for each family."""
    rows = []
    for k, links in enumerate(LENGTHS[: len(next(iter(found.values())))]):
        row: list[object] = [links]
        for points in found.values():
            point = points[k]
            row += [point, ""] if isinstance(point, str) else [point.cycles, point.multipliers]
        rows.append(row)
    head = ["links"]
    for family in found:
        head += [f"{family}: cycles", f"{family}: multipliers"]
    section(f"Depth of {function}, alternating axes, 30-bit words, generic125, II 1", head, rows)


def pays_from(usual: list[Point | str], points: list[Point | str]) -> str:
    """From how many links on a family answers sooner than the usual one."""
    for links, one, other in zip(LENGTHS, usual, points, strict=False):
        both = isinstance(one, Point) and isinstance(other, Point)
        if both and other.cycles < one.cycles:
            return f"{links} links"
    return "none of these"


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--links", type=int, default=LENGTHS[-1], help="the longest chain")
    parser.add_argument(
        "--function", choices=FAMILIES, action="append", help="only this; may be repeated"
    )
    args = parse(parser)
    warnings.simplefilter("ignore", RbdgenWarning)
    targets = Targets()
    pays = []
    with TemporaryDirectory() as folder:
        for function in args.function or FAMILIES:
            found = {}
            for family, options in FAMILIES[function].items():
                found[family] = measure(Path(folder), function, options, args.links)
            family_table(function, found)
            usual, *others = found
            for family in others:
                pays.append([function, family, usual, pays_from(found[usual], found[family])])
            if function == "id" and args.links >= ID_LINKS:
                point = found["scan"][LENGTHS.index(ID_LINKS)]
                cycles = point.cycles if isinstance(point, Point) else sys.maxsize
                verdict = targets.at_most(cycles, ID_CYCLES)
                row = [cycles, ID_CYCLES, verdict]
                section("Inverse dynamics of 32 links by scans", ["cycles", "at most", ""], [row])
    head = ["function", "family", "sooner than", "from"]
    section("From which length on depth pays", head, pays, keys=2)
    return targets.finish()


if __name__ == "__main__":
    sys.exit(main())
