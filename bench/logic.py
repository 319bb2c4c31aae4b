"""Measures the logic of accelerators: by the model over intervals and devices, by synthesis beside the model, in RTL.

``--part``: ``model`` (minutes) counts look-up tables, registers and blocks of all seven functions of an arm, with
latencies; ``robots`` other robots at a budget of multipliers; ``synthesis`` (an hour) what Yosys makes of designs,
beside the model; ``whole`` (half an hour) what it makes of all seven functions of the arm; ``tasks`` (an hour) every
function in RTL simulation under random stalls. Public URDFs are used where they lie beside the checkout
(``--robots DIR`` for another place). Exit status 1 if a target is missed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figures import Part, Targets, arguments, command, measure, parse, section

from rbdgen import (
    Budget,
    Design,
    Options,
    Robot,
    compile_robot,
    load_robot,
    load_urdf,
)
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.resources import estimate
from rbdgen_boards.synthesis import Synthesis, cells, synthesise
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.primitives import overrides

ALL = common()
LUTS = {
    ("generic125", 1): 170_000,
    ("ecp5", 4): 75_000,
    ("ecp5", 12): 60_000,
    ("ecp5", 24): 45_000,
}
"""Look-up tables of all seven functions, at most."""
REGISTERS, BLOCKS = 45_000, 220
"""Registers and multiplier blocks of the same on an ECP5 at an interval of 12 cycles, at most."""
LATENCIES = {
    1: {"id": 12, "m": 8, "did": 13, "difd": 14, "minv": 20, "fd": 22, "dfd": 36},
    12: {"id": 36, "m": 22, "fd": 52, "did": 57, "minv": 56, "difd": 60, "dfd": 123},
}
"""Cycles of lone tasks by the generic model, at most."""
UTILIZATION = 0.90
"""Products for each multiplier and cycle, at least."""
ID_LATENCY = 40
"""Cycles of inverse dynamics at an interval of one cycle with the ECP5's delays, at most."""
BUDGET = 512
"""Multipliers of other robots' accelerators."""
AGREEMENT = 0.10
"""Limit of the model's distance from synthesis."""


def arm(robots: Path) -> Robot:
    """The public iiwa URDF, or the built-in arm where that is not there."""
    path = robots / "iiwa.urdf"
    return load_urdf(path) if path.exists() else load_robot("iiwa14")


def all_functions(robot: Robot, device: str, ii: int) -> Design:
    """All seven functions in words of 18 bits."""
    return compile_robot(robot, Options(functions=ALL, ii=ii, device=device, word=18))


def counted(design: Design) -> dict[str, int]:
    """Look-up tables, registers, blocks and memories by the model."""
    return estimate(design.plan, design.tasks).as_dict()


def model(targets: Targets, robots: Path) -> None:
    """All seven functions over intervals and devices, and inverse dynamics alone with real delays."""
    robot = arm(robots)
    rows = []
    for device, ii in (
        *(("generic125", ii) for ii in (1, 2, 4, 12)),
        *(("ecp5", ii) for ii in (4, 12, 24)),
    ):
        design = all_functions(robot, device, ii)
        used = counted(design)
        most = LUTS.get((device, ii))
        row: list[Any] = [device, ii, used["luts"]]
        row += [most, targets.at_most(used["luts"], most)] if most else ["", ""]
        row += [used["registers"], used["multipliers"]]
        share = design.plan.schedule.utilization
        row += [f"{share:.2f}", targets.at_least(share, UTILIZATION)]
        rows.append(row)
        fits = ""
        if (device, ii) == ("ecp5", 12):
            few = used["registers"] <= REGISTERS and used["multipliers"] <= BLOCKS
            fits = targets.equal(few, True)
        row.append(fits)
        if device == "generic125" and ii in LATENCIES:
            latencies(targets, design)
    head = ["device", "II", "look-up tables", "asked", "", "registers", "blocks", "used", "", ""]
    section(f"All seven functions of {robot.name}, 18 bits, by the model", head, rows, keys=2)
    design = compile_robot(robot, Options(functions=("id",), device="ecp5", word=18))
    cycles = design.promised_latency("id")
    row = [
        "ecp5",
        1,
        cycles,
        ID_LATENCY,
        targets.at_most(cycles, ID_LATENCY),
        counted(design)["luts"],
    ]
    head = ["device", "II", "latency, cycles", "asked", "", "look-up tables"]
    section("Inverse dynamics with real delays, 100 MHz", head, [row], keys=2)


def latencies(targets: Targets, design: Design) -> None:
    """Cycles of lone tasks beside those asked for."""
    ii = design.options.ii
    rows = []
    for function, most in LATENCIES[ii].items():
        cycles = design.promised_latency(function)
        rows.append([ii, function, cycles, most, targets.at_most(cycles, most)])
    head = ["II", "function", "latency, cycles", "asked", ""]
    section("Latencies by the generic model", head, rows, keys=2)


def others(robots: Path) -> None:
    """Other robots at a budget of multipliers."""
    rows = []
    for name, base in (
        ("hyq_simple", "fixed"),
        ("hyq_simple", "floating"),
        ("baxter_simple", "fixed"),
        ("atlas", "fixed"),
    ):
        path = robots / f"{name}.urdf"
        if not path.exists():
            continue
        robot = load_urdf(path, base=base)
        budget = Budget(multipliers=BUDGET)
        design = compile_robot(robot, Options(functions=ALL, word=18), budget=budget)
        used = counted(design)
        figures = [used[key] for key in ("luts", "registers", "multipliers")]
        rows.append([name, base, design.options.ii, *figures])
    head = ["robot", "base", "II", "look-up tables", "registers", "blocks"]
    section(
        f"All seven functions at a budget of {BUDGET} multipliers, by the model", head, rows, keys=2
    )


@dataclass(frozen=True)
class Case:
    """A design to synthesise: a built-in ``robot`` and options."""

    robot: str
    functions: tuple[str, ...]
    ii: int
    more: Mapping[str, Any] = field(default_factory=dict)

    def design(self, device: str) -> Design:
        """The design for a device."""
        options = Options(self.functions, ii=self.ii, device=device, word=18, **self.more)
        return compile_robot(load_robot(self.robot), options)


CASES = (
    Case("pendulum2", ALL, 1),
    Case("pendulum2", ALL, 4),
    Case("ur5", ("id",), 1),
    Case("ur5", ("id", "fd", "m"), 8),
    Case("iiwa14", ("id",), 1),
    Case("iiwa14", ("id",), 12),
    Case("iiwa14", ("did",), 6),
    Case("hyq", ("id", "m"), 8),
)
FAMILIES = {
    "ecp5": Synthesis("synth_ecp5"),
    "xcup": Synthesis("synth_xilinx -family xcup -noiopad -noclkbuf"),
}
"""Yosys's commands of synthesis by device."""


def used_cells(device: str, found: Mapping[str, int]) -> dict[str, int]:
    """Look-up tables, registers and blocks of a netlist's cells. Of an ECP5, each bit of a carry chain takes a look-up
    table, and sixteen words of four bits of distributed memory six of them."""
    if device == "ecp5":
        carry, memory = found.get("CCU2C", 0), found.get("TRELLIS_DPR16X4", 0)
        luts = found.get("LUT4", 0) + 2 * carry + 6 * memory
        return {
            "luts": luts,
            "registers": found.get("TRELLIS_FF", 0),
            "multipliers": found.get("MULT18X18D", 0),
        }
    luts = sum(count for name, count in found.items() if name.startswith("LUT"))
    luts += 16 * found.get("RAM32M16", 0) + 8 * found.get("RAM32M", 0)
    registers = sum(count for name, count in found.items() if name.startswith("FD"))
    return {"luts": luts, "registers": registers, "multipliers": found.get("DSP48E2", 0)}


def synthesised(design: Design, device: str) -> dict[str, int]:
    """Yosys's counts of a design."""
    verilog = design_verilog(design)
    with tempfile.TemporaryDirectory() as work:
        directory = Path(work)
        synthesise(
            directory,
            {"design.v": verilog},
            overrides(verilog, device),
            FAMILIES[device],
            design.name,
        )
        return used_cells(device, cells(directory))


def synthesis(targets: Targets, devices: tuple[str, ...]) -> None:
    """Designs as synthesised, beside the model."""
    for device in devices:
        rows = []
        for case in CASES:
            design = case.design(device)
            expected, found = counted(design), synthesised(design, device)
            row: list[Any] = [case.robot, ",".join(case.functions), case.ii]
            for key in ("luts", "registers", "multipliers"):
                error = expected[key] / max(found[key], 1) - 1
                row += [found[key], f"{error:+.0%}", targets.at_most(abs(error), AGREEMENT)]
            rows.append(row)
            section_of_synthesis(device, rows)


def section_of_synthesis(device: str, rows: list[list[Any]]) -> None:
    """The table of what has been synthesised so far."""
    head = ["robot", "functions", "II"]
    for what in ("look-up tables", "registers", "blocks"):
        head += [what, "model", ""]
    section(
        f"Synthesis for {device} by Yosys, and how far the model is from it", head, rows, keys=3
    )


def whole(targets: Targets, robots: Path) -> None:
    """All seven functions of the arm at an interval of 12 cycles, as synthesised for an ECP5, beside the model."""
    device, ii = "ecp5", 12
    robot = arm(robots)
    design = all_functions(robot, device, ii)
    expected, found = counted(design), synthesised(design, device)
    most = {"luts": LUTS[device, ii], "registers": REGISTERS, "multipliers": BLOCKS}
    rows: list[list[Any]] = []
    for key, bound in most.items():
        error = expected[key] / found[key] - 1
        verdict = targets.at_most(found[key], bound)
        rows.append([key, found[key], bound, verdict, expected[key], f"{error:+.0%}"])
    head = ["of an ECP5", "synthesised", "asked", "", "model", "model is off by"]
    section(f"All seven functions of {robot.name} at II {ii}, by synth_ecp5", head, rows)


def tasks(targets: Targets, count: int) -> None:
    """Every function of an arm in RTL simulation, alone and mixed, under random stalls."""
    rows = []
    for ii, name, f in simulated(count):
        good = targets.at_most(f["mismatches"], 0)
        promised = targets.at_most(abs(f["ii_cycles"] - ii), 0)
        rows.append(
            [
                ii,
                name,
                f["tasks"] + f["tasks_mixed"],
                f["mismatches"],
                good,
                f["ii_cycles"],
                promised,
            ]
        )
    head = ["II", "function", "tasks", "mismatches", "", "interval, cycles", ""]
    section("RTL simulation of all seven functions of iiwa14", head, rows, keys=2)


def simulated(count: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Simulated reports of each function at some intervals."""
    for ii in (1, 4, 12):
        with tempfile.TemporaryDirectory() as work:
            options = (
                "--functions",
                "all",
                "--word",
                "18",
                "--ii",
                str(ii),
                "--tasks",
                str(count),
                "-o",
                work,
            )
            report, _, _ = command("simulate", "iiwa14", *options)
        for name, f in report["functions"].items():
            yield ii, name, f


PARTS: dict[str, Part] = {
    "model": lambda targets, args: model(targets, args.robots),
    "robots": lambda _, args: others(args.robots),
    "synthesis": lambda targets, args: synthesis(targets, tuple(args.device or FAMILIES)),
    "whole": lambda targets, args: whole(targets, args.robots),
    "tasks": lambda targets, args: tasks(targets, args.tasks),
}


def main() -> int:
    """Print the parts; 1 if a target is missed."""
    parser = arguments(__doc__, PARTS, robots=True)
    parser.add_argument("--device", choices=FAMILIES, action="append", help="synthesis for this")
    parser.add_argument("--tasks", type=int, default=10_000, help="tasks of each function")
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
