"""Verification of a board's build: its netlists run the same tasks as the RTL and must give the same bits."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rbdgen.cli.console import Reporter
from rbdgen.compiler import Design
from rbdgen.errors import ToolError
from rbdgen.host.manifest import Manifest, manifest_from
from rbdgen.installation import optional_module, release
from rbdgen.report.design import manifest, verilog_digest
from rbdgen.report.writing import write_files

NETLIST = "netlist"
"""What ``--verify`` asks for here."""
SEED = 1
FOLDER = "verification"
"""In the build's folder."""
AFTER = {"synthesis": "synthesis", "routed": "place and route"}
"""What a netlist comes after, in words."""


@dataclass(frozen=True)
class Verified:
    """What came of a verification: its ``report``, and the first of its ``complaints`` if there is any."""

    report: dict[str, Any]
    complaints: tuple[str, ...]

    def require_equality(self, config: Path) -> None:
        """ToolError if any result differs."""
        if self.complaints:
            raise ToolError(
                f"verify: {self.complaints[0]}; the bitstream was removed; please report this as a bug with {config}"
            )


def require(board: Any) -> None:
    """ConfigError or ToolError unless netlists of ``board`` can be verified here."""
    optional_module("rbdgen_boards.flows", "build").require_models(board)
    optional_module("rbdgen_sim.verilator", "sim").require()


def verify_netlists(made: Any, tasks: int, directory: Path, progress: Reporter) -> Verified:
    """Simulate the netlists of a :class:`rbdgen_boards.build.BoardBuild`, of ``tasks`` mixed tasks each, in a folder of
    ``directory``."""
    sources = optional_module("rbdgen_boards.flows", "build")
    board, simulated = (
        optional_module("rbdgen_sim.serial_board", "sim"),
        optional_module("rbdgen_sim.comparison", "sim"),
    )
    begin = time.perf_counter()
    known = built_manifest(made.design, made.verilog)
    found, complaints = {}, []
    for stage, text in sources.netlist_sources(made.board, made.directory).items():
        name = f"netlist after {AFTER[stage]}"
        progress.stage(f"compile the {name}")
        work = directory / FOLDER / stage
        files = write_files({f"{stage}.v": text}, work)
        program = board.build_board(files, sources.TOP, work)
        line = board.SerialBoard(program, made.clock * 1e6, made.board.baud)
        try:
            told = partial(progress.count, name)
            outcome = simulated.compare(made.design, known, line, tasks, SEED, told)
        finally:
            line.close()
        found[stage] = outcome.report()
        if outcome.mismatches:
            complaints.append(f"{name}: {outcome}")
    report = {NETLIST: found | {"seconds": round(time.perf_counter() - begin, 1)}}
    return Verified(report, tuple(complaints))


def built_manifest(design: Design, verilog: str) -> Manifest:
    """The manifest of a design that was built, as a host reads it."""
    content = manifest(design, verilog_digest(verilog), release())
    return manifest_from(json.loads(json.dumps(content)))
