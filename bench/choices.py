"""Measures what the tool chooses by itself: how hardware is shared, and what its defaults save; a quarter of an hour.

All figures are modelled (:mod:`rbdgen.machines.pipeline.resources`), seconds are processor time on this machine.
"""

from __future__ import annotations

import sys
import time
from unittest import mock

from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Budget, Design, Options, compile_robot, load_robot
from rbdgen.compiler.cost import Cost
from rbdgen.compiler.stages import default_choices
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline import scheduler
from rbdgen_boards.board import get_board

ROBOTS = ("pendulum2", "ur5", "iiwa14", "hyq")
SETS = {"id": ("id",), "all": common()}
INTERVALS = (1, 12)
SHARED = (2, 8, 16, 64)
"""Intervals at which multipliers are shared."""
BOARD, MOST_TABLES, MOST_SECONDS = "tang_mega_138k_pro", 129_000, 60.0


def timed(robot: str, options: Options, budget: Budget | None = None) -> tuple[Design, float]:
    """A design, and the processor time that it took."""
    begin = time.process_time()
    design = compile_robot(load_robot(robot), options, budget=budget)
    return design, time.process_time() - begin


def board(targets: Targets) -> None:
    """All functions of an arm, on a board, with no other option."""
    found = get_board(BOARD)
    resources = found.resources
    budget = Budget(blocks=resources["multipliers"], name=f"board {BOARD}", resources=resources)
    options = Options(functions=common(), device=found.timing)
    design, seconds = timed("iiwa14", options, budget)
    cost = Cost.of(design)
    rows = [
        ["look-up tables, modelled", cost.tables, targets.at_most(cost.tables, MOST_TABLES)],
        ["multiplier blocks", cost.blocks, f"of {resources['multipliers']}"],
        ["cycles between tasks", design.options.ii, ""],
        ["seconds of all choices", f"{seconds:.0f}", targets.at_most(seconds, MOST_SECONDS)],
    ]
    rows += [[name, getattr(design.options, name), ""] for name in default_choices(design.options)]
    section(f"iiwa14, all functions, {BOARD}: what is chosen", ["what", "", ""], rows)


def overflow(robots: tuple[str, ...]) -> None:
    """Look-up tables that a task's flag alone saves beside a flag and the nearest value."""
    rows = []
    for robot in robots:
        for name, functions in SETS.items():
            for ii in INTERVALS:
                both = []
                for kind in ("saturate", "flag"):
                    options = Options(functions=functions, ii=ii, overflow=kind)
                    both.append(Cost.of(timed(robot, options)[0]).tables)
                saturate, flag = both
                rows.append([robot, name, ii, saturate, flag, f"{1 - flag / saturate:.0%}"])
    head = ["robot", "functions", "II", "saturate", "flag (default)", "saved"]
    section("Look-up tables by what becomes of values that do not fit", head, rows, keys=3)


def goals(robots: tuple[str, ...]) -> None:
    """Designs for each goal, at an interval of 12 cycles and without a board."""
    rows = []
    for robot in robots:
        for goal in ("throughput", "area", "latency"):
            options = Options(functions=common(), ii=12, goal=goal)
            design, seconds = timed(robot, options)
            cost = Cost.of(design)
            chosen = ", ".join(
                getattr(design.options, name) for name in default_choices(design.options)
            )
            figures = [cost.tables, cost.blocks, cost.intervals, cost.latencies]
            rows.append([robot, goal, *figures, chosen, f"{seconds:.0f}"])
    head = ["robot", "goal", "look-up tables", "blocks", "sum of intervals", "sum of latencies"]
    title = "All functions at an interval of 12, by goal"
    section(title, [*head, ", ".join(default_choices(Options())), "s"], rows, keys=2)


def bindings(robots: tuple[str, ...]) -> None:
    """Look-up tables that the search for a binding of products saves beside the binding that their schedule has."""
    rows = []
    for robot in robots:
        for name, functions in SETS.items():
            for ii in SHARED:
                options = Options(functions=functions, ii=ii, device="ecp5")
                searched = Cost.of(timed(robot, options)[0]).tables
                with mock.patch.object(scheduler, "bind_products", lambda found, most: found):
                    first = Cost.of(timed(robot, options)[0]).tables
                rows.append([robot, name, ii, first, searched, f"{1 - searched / first:.1%}"])
    head = ["robot", "functions", "II", "as scheduled", "searched", "saved"]
    section("Look-up tables by the binding of products", head, rows, keys=3)


PARTS: dict[str, Part] = {
    "board": lambda targets, _: board(targets),
    "overflow": lambda _, args: overflow(args.robots.split(",")),
    "goals": lambda _, args: goals(args.robots.split(",")),
    "bindings": lambda _, args: bindings(args.robots.split(",")),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS)
    parser.add_argument("--robots", default=",".join(ROBOTS), help="only these")
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
