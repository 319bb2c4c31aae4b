"""From a design to a board's bitstream: shell, top, the board's flow; where timing is not met a deeper pipeline, then
slower clocks until it is."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rbdgen.compiler import Design, at_clock, at_interval
from rbdgen.errors import ConfigError, ToolError
from rbdgen.host.frames import IDENTITY_BYTES
from rbdgen.host.registers import stream_bits
from rbdgen_boards import ecp5, flow, gowin, tools, vivado
from rbdgen_boards.board import Board
from rbdgen_boards.flow import Progress, Request, Routed
from rbdgen_boards.top import uart_top, xdc
from rbdgen_hw.emit import axi_verilog, design_verilog, uart_verilog
from rbdgen_hw.primitives import overrides

OPEN_FLOWS: Mapping[str, Any] = {"ecp5": ecp5, "gowin": gowin}
"""Flows whose tools are on PyPI, by name."""
ATTEMPTS = 3
"""How often place and route runs at most."""
RETREAT = 0.95
"""Of the clock that routing reached, what the next attempt aims at."""
MARGIN = 1.15
"""How much faster than aimed at a clock the first pipeline is made for, as far as operators allow: the delay model
knows usual wires, not the longest."""
SHALLOWEST, DEEPEST = 1.05, 1.4
"""How much faster than the last one's a clock a deeper pipeline is made for, at least and at most."""
INSTALL = {
    "openFPGALoader": "install it with: apt-get install openfpgaloader",
    "vivado": "install AMD Vivado and put it on PATH",
}
"""How to get a board's programmer."""
SEARCHED = tuple(range(1, 33)) + tuple(range(34, 65, 2)) + tuple(range(72, 257, 8))
"""Initiation intervals among which the smallest that fits is looked for."""


@dataclass(frozen=True)
class Attempt:
    """A run of place and route that missed its clock: MHz ``aimed`` at and ``reached``, and the clock in MHz that the
    ``pipeline`` was made for."""

    aimed: float
    reached: float
    pipeline: float


@dataclass(frozen=True)
class Build:
    """A board's bitstream of ``design``, whose Verilog is ``verilog``: the ``clock`` in MHz that it runs at, what
    routing said, the attempts before the one that met its clock, and the files by name. Without the vendor's tool there
    is no ``routed``: everything but the bitstream is there."""

    design: Design
    verilog: str
    board: Board
    clock: float
    routed: Routed | None
    attempts: tuple[Attempt, ...]
    directory: Path
    files: tuple[str, ...]

    @property
    def bitstream(self) -> Path | None:
        """The bitstream, if there is one."""
        return self.directory / self.routed.bitstream if self.routed else None

    def report(self) -> dict[str, Any]:
        """What ``rbdgen build`` adds to a design's report. ``clock_mhz`` is what routing allows, without routing what
        was asked for; interval and latency in µs are at that clock."""
        design, routed = self.design, self.routed
        clock = routed.achieved if routed else self.clock
        return {
            "board": self.board.name,
            "clock_mhz": round(clock, 2),
            "running_clock_mhz": self.clock,
            "timing_met": routed.achieved >= self.clock if routed else None,
            "pipeline_mhz": round(design.plan.schedule.device.megahertz, 3),
            "attempts": [
                {"aimed_mhz": a.aimed, "reached_mhz": round(a.reached, 2), "pipeline_mhz": round(a.pipeline, 3)}
                for a in self.attempts
            ],
            "resources": {
                name: {"used": routed.used.get(name) if routed else None, "available": total}
                for name, total in self.board.resources.items()
            },
            "critical_path": list(routed.critical_path) if routed else [],
            "bitstream": str(self.bitstream) if self.bitstream else None,
            "directory": str(self.directory),
            "seconds": dict(routed.seconds) if routed else {},
            "cached": routed.cached if routed else False,
            "microseconds": {
                name: {
                    "interval": round(design.interval(name) / clock, 4),
                    "latency": round(design.promised_latency(name) / clock, 4),
                }
                for name in design.network.functions
            },
        }


def fit(design: Design, board: Board, given: bool) -> Design:
    """``design`` if its multipliers fit ``board``; unless its interval is ``given``, the fastest one that does.

    ConfigError if there is none, or if the given one is too fast, with what is lacking and what would fit.
    """
    limit = board.resources["multipliers"]
    if design.plan.schedule.blocks <= limit:
        return design
    candidates = (at_interval(design, ii, limit) for ii in SEARCHED if ii > design.options.ii)
    fitting = next((d for d in candidates if d.plan.schedule.blocks <= limit), None)
    if fitting is not None and not given:
        return fitting
    remedy = (
        f"--ii {fitting.options.ii} would do" if fitting else "no --ii does; use fewer --functions or a larger board"
    )
    raise ConfigError(
        f"board {board.name}: {'; '.join(board.lacking({'multipliers': design.plan.schedule.blocks}))}; {remedy}"
    )


def require_tools(board: Board) -> None:
    """ToolError if a program that ``board`` needs is missing."""
    for tool in OPEN_FLOWS[board.flow].TOOLS if board.flow in OPEN_FLOWS else ():
        tools.version(tool)


def build(design: Design, board: Board, seed: int, directory: Path, progress: Progress) -> Build:
    """The bitstream of ``design``, or of one with a deeper pipeline, at the clock that its pipeline is made for or a
    slower one, in ``directory``.

    ``directory`` gets the bitstream, sources, constraints and logs when all is done; before that they are beside it.
    ConfigError if it does not fit, ToolError if a tool is missing or fails.
    """
    work = directory.with_name(f"{directory.name}_building")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    if board.flow == vivado.FLOW:
        made = _vendor(design, board, work, progress)
    else:
        made = _open(design, board, seed, work, progress)
    shutil.rmtree(directory, ignore_errors=True)
    work.rename(directory)
    return replace(made, directory=directory, files=tuple(sorted(p.name for p in directory.iterdir())))


def _identity(verilog: str) -> bytes:
    return hashlib.sha256(verilog.encode()).digest()[:IDENTITY_BYTES]


def deeper(design: Design, factor: float) -> Design | None:
    """``design`` with a pipeline for a clock so many times faster, as far as the device's operators allow; None if that
    changes nothing."""
    own = design.plan.schedule.device.megahertz
    while factor > 1.01:
        try:
            changed = at_clock(design, own * factor)
        except ConfigError:
            factor = 1 + (factor - 1) / 2
            continue
        same = changed.plan.schedule.slots == design.plan.schedule.slots
        return None if same else changed
    return None


def _open(design: Design, board: Board, seed: int, work: Path, progress: Progress) -> Build:
    """With tools from PyPI, until a clock is met."""
    module = OPEN_FLOWS[board.flow]
    attempts: list[Attempt] = []
    aim, deepened = design.plan.schedule.device.megahertz, False
    design = deeper(design, MARGIN) or design
    best = 0.0, design
    for left in reversed(range(ATTEMPTS)):
        progress("write Verilog")
        verilog = design_verilog(design)
        identity = _identity(verilog)
        pll, clocking, actual = module.clocking(board, aim, work)
        sources = {f"{design.name}.v": verilog}
        sources[f"{design.name}_uart.v"] = uart_verilog(design, identity, actual * 1e6, board.baud)
        sources["top.v"] = pll + uart_top(f"{design.name}_uart", clocking)
        request = Request(board, sources, overrides(verilog, board.flow), max(aim, actual), seed)
        name = flow.key(request, [tools.version(t) for t in module.TOOLS])
        routed = flow.cached(name, work, module.FILES)
        if routed is None:
            routed = module.build(request, work, progress)
            flow.keep(name, work, module.FILES, routed)
        if routed.achieved >= actual or not left:
            for file, text in sources.items():
                (work / file).write_text(text, encoding="utf-8")
            (work / flow.NETLIST).unlink(missing_ok=True)
            return Build(design, verilog, board, actual, routed, tuple(attempts), work, ())
        attempts.append(Attempt(actual, routed.achieved, design.plan.schedule.device.megahertz))
        best = max(best, (routed.achieved, design), key=lambda tried: tried[0])
        missed = f"{actual:g} MHz not met, routing reached {routed.achieved:.1f} MHz"
        change = None if deepened else deeper(design, min(max(actual / routed.achieved, SHALLOWEST), DEEPEST))
        deepened = True
        if change is not None and left > 1:
            design = change
            progress(f"{missed}: again with a pipeline for {design.plan.schedule.device.megahertz:.1f} MHz")
        else:
            aim, design = best[0] * RETREAT, best[1]
            progress(f"{missed}: again at {aim:.1f} MHz")
    raise AssertionError("the last attempt returns")


def _vendor(design: Design, board: Board, work: Path, progress: Progress) -> Build:
    """With Vivado where it is there, else all but the bitstream."""
    progress("write Verilog")
    verilog, aim = design_verilog(design), design.plan.schedule.device.megahertz
    identity = _identity(verilog)
    sources = {f"{design.name}.v": verilog}
    streams = vivado.Streams(f"{design.name}_axi", stream_bits(design.tasks.task), stream_bits(design.tasks.result))
    if board.shell == "uart":
        lines, aim = vivado.clocking(board, aim)
        sources[f"{design.name}_uart.v"] = uart_verilog(design, identity, aim * 1e6, board.baud)
        sources["top.v"] = uart_top(f"{design.name}_uart", lines)
        (work / "board.xdc").write_text(xdc(board), encoding="utf-8")
    else:
        sources[f"{design.name}_axi.v"] = axi_verilog(design, identity)
        aim = board.clock
    files = {
        **sources,
        vivado.SCRIPT: vivado.project(board, sources, streams, aim),
        "program.tcl": vivado.program(),
        "README.txt": vivado.instructions(board),
    }
    for name, text in files.items():
        (work / name).write_text(text, encoding="utf-8")
    if not vivado.available():
        return Build(design, verilog, board, aim, None, (), work, ())
    progress("Vivado")
    return Build(design, verilog, board, aim, vivado.run(board, work, aim), (), work, ())


def load(board: Board, bitstream: Path) -> None:
    """Program ``board``; ToolError if the programmer is missing or finds no board."""
    arguments = [bitstream.name] if board.flow != vivado.FLOW else []
    program = shutil.which(board.program[0])
    if program is None:
        raise ToolError(
            f"{board.program[0]} is missing; {INSTALL[board.program[0]]}, then run in {bitstream.parent}: "
            f"{' '.join([*board.program, *arguments])}"
        )
    done = subprocess.run(
        [program, *board.program[1:], *arguments],
        cwd=bitstream.parent,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
        raise ToolError(f"{board.program[0]}: {lines[-1]}; plug the board in and switch it on, then use --load again")
