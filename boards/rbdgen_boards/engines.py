"""The engine of a board: its shape, which the board's file has, and its bitstream, made once for all robots."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbdgen.errors import ConfigError
from rbdgen.machines.engine.core import LANES, WIDTHS, Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.links import Addresses, Station
from rbdgen_boards.board import Board, board_names, get_board
from rbdgen_boards.build import (
    RETREAT,
    Attempt,
    check_replaceable,
    clocks_report,
    estimate_report,
    resources_report,
    run_flow,
)
from rbdgen_boards.flow import Estimate, Progress, Routed, forget_routed
from rbdgen_boards.flows import get_flow
from rbdgen_hw.emit import engine_verilog

USUAL_CLOCK = 50.0
"""MHz that an engine's bitstream runs at where the board's file does not say."""
HASTE, BESIDE_OTHERS = 1.35, 1.1
"""By how much place and route aims higher: what nextpnr is content with at a low clock has wires too long to be routed;
and less where the board has further clocks, which then come short."""


def engine_boards() -> tuple[str, ...]:
    """Boards that an engine is made for."""
    return tuple(name for name in board_names() if get_board(name).engine)


def board_engine(board: Board) -> Resident:
    """The engine of a board. ConfigError where none is made for it."""
    shape = dict(board.engine)
    if not shape:
        raise ConfigError(
            f"board {board.name}: no engine is made for it; there are some for {', '.join(engine_boards())}: add a "
            "table [engine] to its file"
        )
    shape.pop("megahertz", None)
    lanes, cores = shape.pop("lanes"), shape.pop("cores", 1)
    lean = bool(shape.pop("lean", False))
    return Resident(Core(lanes, LANES[lanes], WIDTHS[0], lean=lean, **shape), cores)


@dataclass(frozen=True)
class EngineBuild:
    """The bitstream of a board's ``engine``: the ``clock`` in MHz that it runs at, what routing said, and the attempts
    before; the ``directory`` with it, and what it is on a network. Without the vendor's tool there is no ``routed``:
    everything but the bitstream is there, and the resources are an ``estimate``."""

    engine: Resident
    board: Board
    clock: float
    routed: Routed | None
    attempts: Sequence[Attempt]
    directory: Path
    station: Station | None
    estimate: Estimate | None = None

    @property
    def bitstream(self) -> Path | None:
        """The bitstream, if there is one."""
        return self.directory / self.routed.bitstream if self.routed else None

    @property
    def unmet(self) -> list[str]:
        """Clocks that place and route did not reach, in words."""
        board, routed = self.board, self.routed
        if routed is None:
            return []
        told = [
            f"{port} reached {mhz:.1f} of {board.clocks[port]:g} MHz"
            for port, mhz in routed.missed(board).items()
        ]
        if routed.achieved < self.clock:
            told.append(f"the engine reached {routed.achieved:.1f} of {self.clock:.1f} MHz")
        return told

    def withdraw(self) -> None:
        """Take the bitstream away, from the cache too."""
        if self.routed is not None:
            (self.directory / self.routed.bitstream).unlink()
            forget_routed(self.routed.kept)

    def report(self) -> dict[str, Any]:
        """What is known of it. ``clock_mhz`` is what routing allows, without routing what was asked for."""
        core, routed = self.engine.core, self.routed
        return {
            "board": self.board.name,
            "identity": self.engine.identity.hex(),
            "engine": {
                "lanes": core.lanes,
                "cores": self.engine.cores,
                "words": core.words,
                "depth": core.depth,
                "results": core.results,
            },
            "clock_mhz": round(routed.achieved if routed else self.clock, 2),
            "running_clock_mhz": self.clock,
            "timing_met": not self.unmet if routed else None,
            "clocks": clocks_report(self.board, routed),
            "attempts": [attempt.report() for attempt in self.attempts],
            "resources": resources_report(self.board, routed),
            "estimate": estimate_report(self.board, self.estimate),
            "critical_path": list(routed.critical_path) if routed else [],
            "bitstream": str(self.bitstream) if routed else None,
            "missing": None if routed else get_flow(self.board).maker,
            "directory": str(self.directory),
            "station": self.station.as_dict() if self.station else None,
            "seconds": dict(routed.seconds) if routed else {},
            "cached": routed.cached if routed else False,
        }


def build_engine(
    board: Board, seed: int, directory: Path, progress: Progress, addresses: Addresses | None = None
) -> EngineBuild:
    """The bitstream of a board's engine in ``directory``, from the user's cache where it was made before; at slower
    clocks where it misses its own; without the vendor's tool everything but it. ConfigError where no engine is made for
    the board or it does not fit, ToolError where a tool is missing or fails."""
    check_replaceable(directory)
    engine = board_engine(board)
    flow = get_flow(board)
    progress("write Verilog")
    verilog = engine_verilog(engine)
    running = float(board.engine.get("megahertz", USUAL_CLOCK))
    haste = BESIDE_OTHERS if board.clocks else HASTE
    attempts: list[Attempt] = []
    # beside it, as of designs
    work = directory.with_name(f"{directory.name}_building")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    while True:
        made = run_flow(
            *(engine, verilog, engine.identity, board, haste * running, seed, work, progress),
            addresses or Addresses(),
            running,
        )
        if made.routed is None:
            break
        reached, missed = made.routed.achieved, made.routed.missed(board)
        if (reached >= made.clock and not missed) or len(attempts) + 1 >= flow.attempts:
            break
        if reached >= made.clock:
            # no slower design helps a clock that is not its own, another placement may
            attempts += [
                Attempt(board.clocks[port], mhz, running, port) for port, mhz in missed.items()
            ]
            seed += 1
            progress(f"a clock of the board is not met: again with seed {seed}")
            continue
        attempts.append(Attempt(made.clock, reached, running))
        running = reached * RETREAT
        progress(
            f"{made.clock:g} MHz not met, routing reached {reached:.1f} MHz: again at {running:.1f} MHz"
        )
    shutil.rmtree(directory, ignore_errors=True)
    work.rename(directory)
    return EngineBuild(
        *(engine, board, made.clock, made.routed, attempts, directory),
        station=made.station,
        estimate=made.estimate,
    )
