"""From a design to a board's bitstream: shell, top, the board's flow; where timing is not met a deeper pipeline, then
slower clocks until it is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rbdgen.compiler import Design, at_clock, at_interval
from rbdgen.compiler.design import TOP_PREFIX
from rbdgen.errors import ConfigError
from rbdgen.installation import release
from rbdgen.machines.engine.engine import Engine
from rbdgen.protocol.links import Addresses, Station
from rbdgen.protocol.registers import stream_bits
from rbdgen.report.design import design_identity
from rbdgen.report.host_rate import host_rates
from rbdgen_boards.board import Board
from rbdgen_boards.flow import (
    Clocking,
    Estimate,
    Flow,
    Progress,
    RegisterPort,
    Request,
    Routed,
    Streams,
    forget_routed,
    routed_key,
    store_routed,
    stored_routed,
)
from rbdgen_boards.flows import get_flow
from rbdgen_boards.synthesis import NETLIST
from rbdgen_boards.top import board_top
from rbdgen_hw.emit import (
    axi_verilog,
    design_verilog,
    registers_verilog,
    spi_verilog,
    uart_verilog,
    udp_verilog,
)
from rbdgen_hw.primitives import overrides
from rbdgen_hw.shells.ethernet import RGMII, Phy
from rbdgen_hw.shells.registers import register_name
from rbdgen_hw.shells.spi import LEAST_CYCLES
from rbdgen_hw.top import Hardware

REGISTER_BUS = "axi-lite"
"""The bus of an engine at a processor's port."""
RETREAT = 0.95
"""Of the clock that routing reached, what the next attempt aims at."""
SHALLOWEST, DEEPEST = 1.05, 1.4
"""Least and greatest factor by which a deeper pipeline is made for a faster clock than the last one."""
# ever wider steps: one cycle more changes little at a long interval
SEARCHED = tuple(range(1, 33)) + tuple(range(34, 65, 2)) + tuple(range(72, 257, 8))
"""Initiation intervals among which the smallest that fits is looked for."""


@dataclass(frozen=True)
class Attempt:
    """A run of place and route that missed its clock: MHz ``aimed`` at and ``reached``, and the clock in MHz that the
    ``pipeline`` was made for."""

    aimed: float
    reached: float
    pipeline: float

    clock: str = ""
    """The port of the clock that was missed, if it is not the design's."""

    def report(self) -> dict[str, Any]:
        """As the report has it."""
        told = {
            "aimed_mhz": self.aimed,
            "reached_mhz": round(self.reached, 2),
            "pipeline_mhz": round(self.pipeline, 3),
        }
        return told | ({"clock": self.clock} if self.clock else {})


@dataclass(frozen=True)
class BoardBuild:
    """A board's bitstream of ``design``, whose Verilog is ``verilog``: the ``clock`` in MHz that it runs at, what
    routing said, the attempts before the one that met its clock, the files by name, and what it is on a network.
    Without the vendor's tool there is no ``routed``: everything but the bitstream is there, and the resources are an
    ``estimate``."""

    design: Design
    verilog: str
    board: Board
    clock: float
    routed: Routed | None
    attempts: tuple[Attempt, ...]
    directory: Path
    files: tuple[str, ...]
    station: Station | None = None
    estimate: Estimate | None = None

    @property
    def bitstream(self) -> Path | None:
        """The bitstream, if there is one."""
        return self.directory / self.routed.bitstream if self.routed else None

    def report(self) -> dict[str, Any]:
        """Part of a design's report that ``rbdgen build`` adds. ``clock_mhz`` is what routing allows, without routing
        what was asked for; interval and latency in µs are at that clock, tasks per second at the host at the one that
        the bitstream has."""
        routed = self.routed
        clock = routed.achieved if routed else self.clock
        return {
            "board": self.board.name,
            "clock_mhz": round(clock, 2),
            "running_clock_mhz": self.clock,
            "timing_met": self.met if routed else None,
            "pipeline_mhz": round(self.design.machine.device.megahertz, 3),
            "clocks": clocks_report(self.board, routed),
            "station": self.station.as_dict() if self.station else None,
            "attempts": [attempt.report() for attempt in self.attempts],
            "resources": resources_report(self.board, self.routed),
            "estimate": estimate_report(self.board, self.estimate),
            "critical_path": list(routed.critical_path) if routed else [],
            "assumptions": [asdict(stated) for stated in routed.assumptions] if routed else [],
            "bitstream": str(self.bitstream) if self.bitstream else None,
            "missing": None if routed else get_flow(self.board).maker,
            "directory": str(self.directory),
            "seconds": dict(routed.seconds) if routed else {},
            "cached": routed.cached if routed else False,
            "microseconds": self._microseconds(clock),
            "host": host_rates(self.design, self.clock),
        }

    def withdraw(self) -> None:
        """Take the bitstream away, from the cache too."""
        if self.routed is not None:
            (self.directory / self.routed.bitstream).unlink()
            # else the next build would offer it again
            forget_routed(self.routed.kept)

    @property
    def met(self) -> bool:
        """Whether all clocks are met, or nothing is known of them."""
        routed = self.routed
        return routed is None or (routed.achieved >= self.clock and not routed.missed(self.board))

    def _microseconds(self, clock: float) -> dict[str, dict[str, float]]:
        """Each function's interval and latency in µs at ``clock`` MHz."""
        design = self.design
        return {
            name: {
                "interval": round(design.mean_interval(name) / clock, 4),
                "latency": round(design.promised_latency(name) / clock, 4),
            }
            for name in design.network.functions
        }


Used = dict[str, dict[str, int | None]]
"""Of each of a board's resources, what is ``used`` and what is ``available``."""


def clocks_report(board: Board, routed: Routed | None) -> dict[str, dict[str, float]]:
    """A board's further clocks, as reports have them: what they need, and what routing allows."""
    reached = routed.clocks if routed else {}
    return {
        port: {"required_mhz": board.clocks[port], "reached_mhz": round(mhz, 2)}
        for port, mhz in reached.items()
    }


def resources_report(board: Board, routed: Routed | None) -> Used:
    """What routing says of a board's resources, as reports have it."""
    return _of_board(board, routed.used if routed else {})


def estimate_report(board: Board, estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate of a board's resources, as reports have it: ``by`` what, and the ``resources``."""
    if estimate is None:
        return None
    return {"by": estimate.by, "resources": _of_board(board, estimate.used)}


def _of_board(board: Board, used: Mapping[str, int]) -> Used:
    return {
        name: {"used": used.get(name), "available": total}
        for name, total in board.resources.items()
    }


def fit(design: Design, board: Board, given: bool) -> Design:
    """``design`` if its multipliers fit ``board``; unless its interval is ``given``, the fastest one that does.

    ConfigError if there is none, or if the given one is too fast, with what is lacking and what would fit.
    """
    if isinstance(design.machine, Engine):
        return _engine_that_fits(design, board)
    replicas = design.tasks.replicas
    # each replica has multipliers of its own
    limit = board.resources["multipliers"] // replicas
    if design.machine.blocks <= limit:
        return design
    # none before it is asked for: each is laid out and scheduled anew
    candidates = (at_interval(design, ii, limit) for ii in SEARCHED if ii > design.options.ii)
    fitting = next((d for d in candidates if d.machine.blocks <= limit), None)
    if fitting is not None and not given:
        return fitting
    if fitting:
        remedy = f"--ii {fitting.options.ii} would do"
    else:
        remedy = "no --ii does; use fewer --functions or a larger board"
    needed = replicas * design.machine.blocks
    lacking = "; ".join(board.lacking({"multipliers": needed}))
    raise ConfigError(f"board {board.name}: {lacking}; {remedy}")


def _engine_that_fits(design: Design, board: Board) -> Design:
    """``design``, an engine, if its lanes' multipliers fit ``board``; ConfigError with the cores that would."""
    needed = design.machine.resources(design.tasks).multipliers
    if needed <= board.resources["multipliers"]:
        return design
    cores = board.resources["multipliers"] // design.machine.blocks
    remedy = f"--cores {cores} would do" if cores else "use fewer --lanes"
    lacking = board.lacking({"multipliers": needed})
    raise ConfigError(f"board {board.name}: {'; '.join(lacking)}; {remedy}")


def require_tools(board: Board) -> None:
    """ToolError if a program that ``board`` needs is missing."""
    get_flow(board).require_tools()


def build(
    design: Design,
    board: Board,
    seed: int,
    directory: Path,
    progress: Progress,
    addresses: Addresses | None = None,
) -> BoardBuild:
    """The bitstream of ``design``, or of one with a deeper pipeline, at the clock that its pipeline is made for or a
    slower one, in ``directory``.

    ``directory`` gets the bitstream, sources, constraints and logs when all is done; before that they are beside it.
    A board with Ethernet has these ``addresses``, or usual ones.
    ConfigError if it does not fit, or ``directory`` holds something else; ToolError if a tool is missing or fails.
    """
    check_replaceable(directory)
    # beside it, on the same file system: until all is done an earlier build there stays whole
    work = directory.with_name(f"{directory.name}_building")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    made = _attempts(design, board, seed, work, progress, addresses or Addresses())
    shutil.rmtree(directory, ignore_errors=True)
    work.rename(directory)
    files = tuple(sorted(path.name for path in directory.iterdir()))
    return replace(made, directory=directory, files=files)


def check_replaceable(directory: Path) -> None:
    """ConfigError if a directory, which a build replaces, holds files but no build."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise ConfigError(
            f"{directory}: is a file, and a build's folder goes there; choose another -o"
        )
    # a build is known by the Verilog of its design
    if any(directory.iterdir()) and not any(directory.glob(f"{TOP_PREFIX}_*.v")):
        raise ConfigError(
            f"{directory}: holds files that no build made, and a build replaces the folder; choose another directory "
            "with -o, or move them"
        )


def deeper(design: Design, factor: float) -> Design | None:
    """``design`` with a pipeline for a clock so many times faster, as far as the device's operators allow; None if that
    changes nothing."""
    own = design.machine.device.megahertz
    while factor > 1.01:
        try:
            changed = at_clock(design, own * factor)
        except ConfigError:
            factor = 1 + (factor - 1) / 2
            continue
        same = changed.machine.timing == design.machine.timing
        return None if same else changed
    return None


def _deeper_after(design: Design, missed: Attempt) -> Design | None:
    """``design`` with a pipeline as much deeper as the last attempt was too slow."""
    factor = max(missed.aimed / missed.reached, SHALLOWEST)
    return deeper(design, min(factor, DEEPEST))


def _attempts(
    design: Design,
    board: Board,
    seed: int,
    work: Path,
    progress: Progress,
    addresses: Addresses,
) -> BoardBuild:
    """Place and route until a clock is met: once more with a deeper pipeline, then at slower clocks. Where only a
    further clock of the board is not, another seed is tried."""
    flow = get_flow(board)
    attempts: list[Attempt] = []
    aim = design.machine.device.megahertz
    deepened = False
    design = deeper(design, flow.margin) or design
    best = 0.0, design
    for left in reversed(range(flow.attempts)):
        made = _attempt(design, board, aim, seed, work, progress, addresses)
        # the last one counts whatever it reached: the report says that timing is not met
        if made.routed is None or made.met or not left:
            return replace(made, attempts=tuple(attempts))
        reached = made.routed.achieved
        # no pipeline helps a clock that is not the design's, another placement may
        if reached >= made.clock:
            attempts += _missed_clocks(made)
            seed += 1
            progress(f"a clock of the board is not met: again with seed {seed}")
            continue
        missed = Attempt(made.clock, reached, design.machine.device.megahertz)
        attempts.append(missed)
        best = max(best, (reached, design), key=lambda tried: tried[0])
        said = f"{made.clock:g} MHz not met, routing reached {reached:.1f} MHz"
        change = None if deepened else _deeper_after(design, missed)
        deepened = True
        # the last attempt is for a slower clock, which is the likeliest to be met
        if change is not None and left > 1:
            design = change
            pipeline = design.machine.device.megahertz
            progress(f"{said}: again with a pipeline for {pipeline:.1f} MHz")
        else:
            # a deeper pipeline takes more room and may have reached less than the one before
            aim, design = best[0] * RETREAT, best[1]
            progress(f"{said}: again at {aim:.1f} MHz")
    raise AssertionError("the last attempt returns")


def _missed_clocks(made: BoardBuild) -> list[Attempt]:
    """Clocks that an attempt missed beside the design's clock."""
    assert made.routed is not None
    pipeline = made.design.machine.device.megahertz
    return [
        Attempt(made.board.clocks[port], reached, pipeline, port)
        for port, reached in made.routed.missed(made.board).items()
    ]


def _attempt(
    design: Design,
    board: Board,
    aim: float,
    seed: int,
    work: Path,
    progress: Progress,
    addresses: Addresses,
) -> BoardBuild:
    """One run of the board's flow in ``work``, aiming at ``aim`` MHz."""
    progress("write Verilog")
    verilog = design_verilog(design)
    identity = design_identity(design, verilog, release())
    made = run_flow(design, verilog, identity, board, aim, seed, work, progress, addresses)
    return BoardBuild(
        *(design, verilog, board, made.clock, made.routed, (), work, ()),
        station=made.station,
        estimate=made.estimate,
    )


@dataclass(frozen=True)
class Run:
    """What a run of a board's flow gave: the ``clock`` in MHz that the bitstream has, what was ``routed``, if its tools
    are all there, what it is on a network, and the resources as an ``estimate`` where nothing was routed."""

    clock: float
    routed: Routed | None
    station: Station | None
    estimate: Estimate | None


def run_flow(
    design: Hardware,
    verilog: str,
    identity: bytes,
    board: Board,
    aim: float,
    seed: int,
    work: Path,
    progress: Progress,
    addresses: Addresses,
    running: float | None = None,
) -> Run:
    """One run of the board's flow in ``work``, aiming at ``aim`` MHz, for hardware with this ``verilog``, whose shell
    tells this ``identity``; its clock is that, or the ``running`` one."""
    flow = get_flow(board)
    clocking = flow.clocking(board, running or aim, work)
    own = addresses.station(identity) if board.shell == "udp" else None
    sources, streams = _sources(design, verilog, board, clocking, identity, own)
    request = Request(
        board,
        sources,
        overrides(verilog, flow.multiplier),
        # no less than the clock that it will run at, which is fixed or the next that a PLL makes
        max(aim, clocking.megahertz),
        clocking.megahertz,
        seed,
        streams,
    )
    routed = _routed(flow, request, work, progress)
    estimate = flow.estimate(request, progress) if routed is None else None
    # a result from the cache comes without them
    for file, text in sources.items():
        (work / file).write_text(text, encoding="utf-8")
    # the flow keeps what simulations need of it
    (work / NETLIST).unlink(missing_ok=True)
    return Run(clocking.megahertz, routed, own, estimate)


def _sources(
    design: Hardware,
    verilog: str,
    board: Board,
    clocking: Clocking,
    identity: bytes,
    own: Station | None,
) -> tuple[dict[str, str], Streams | RegisterPort | None]:
    """The Verilog files of ``design`` in the board's shell by name, and what a system around an AXI shell reaches it
    by: streams, or the registers of an engine whose programs come by them."""
    sources = {f"{design.name}.v": verilog}
    if board.shell == "axi" and design.tasks.resident:
        shell = register_name(design.name, REGISTER_BUS)
        sources[f"{shell}.v"] = registers_verilog(design, identity, REGISTER_BUS)
        return sources, RegisterPort(shell)
    if board.shell == "axi":
        shell = f"{design.name}_axi"
        sources[f"{shell}.v"] = axi_verilog(design, identity)
        tasks = design.tasks
        return sources, Streams(shell, stream_bits(tasks.task), stream_bits(tasks.result))
    hertz = clocking.megahertz * 1e6
    if own is not None:
        shell = f"{design.name}_udp"
        sources[f"{shell}.v"] = udp_verilog(design, identity, hertz, own, rgmii(board))
    elif board.shell == "spi":
        check_bus(board, hertz)
        shell = f"{design.name}_spi"
        sources[f"{shell}.v"] = spi_verilog(design, identity)
    else:
        shell = f"{design.name}_uart"
        sources[f"{shell}.v"] = uart_verilog(design, identity, hertz, board.rate)
    sources["top.v"] = clocking.module + board_top(board, shell, clocking.lines)
    return sources, None


def check_bus(board: Board, hertz: float) -> None:
    """ConfigError where a board's SPI bus is too fast for a design of such a clock, which samples it."""
    bus = board.link.gigabits * 1e9
    least = LEAST_CYCLES * bus
    if hertz < least:
        raise ConfigError(
            f"board {board.name}: hertz: a bus of {bus / 1e6:g} MHz needs a clock of {least / 1e6:g} MHz, not "
            f"{hertz / 1e6:g} MHz; lower it"
        )


def rgmii(board: Board) -> Phy:
    """A board's PHY."""
    received, sent = board.phy_delays
    return replace(RGMII, received=received * 1e-9, sent=sent * 1e-9)


def _routed(flow: Flow, request: Request, work: Path, progress: Progress) -> Routed | None:
    """Result of ``request``, from the cache where it is there and the flow's results are kept."""
    if not flow.kept:
        return flow.build(request, work, progress)
    name = routed_key(request, flow.versions())
    routed = stored_routed(name, work, flow.kept)
    if routed is None:
        routed = flow.build(request, work, progress)
        if routed is not None:
            store_routed(name, work, flow.kept, routed)
    return replace(routed, kept=name) if routed else None
