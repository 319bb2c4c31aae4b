"""What every flow is given and gives back, and the part that open flows share: synthesis, and a cache of results."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rbdgen.errors import ConfigError
from rbdgen_boards.board import Board
from rbdgen_hw.yosys import run_script, yosys_version

Progress = Callable[[str], None]

TOP = "rbdgen_board"
"""Name of a board's top module."""
NETLIST = "netlist.json"
SPEED_SETTINGS = ("scratchpad -set abc9.verify 0", "scratchpad -set abc9.nomfs 1")
"""ABC's own check of its result and its last local search take most of its time on large designs, for a few LUTs."""


@dataclass(frozen=True)
class Request:
    """What to build for ``board``: Verilog files by name (``sources``), modules that take the place of equally named
    ones (``overrides``), the ``clock`` in MHz that is aimed at, and the ``seed`` of place and route."""

    board: Board
    sources: Mapping[str, str]
    overrides: str
    clock: float
    seed: int


@dataclass(frozen=True)
class Routed:
    """What came of a request: the clock in MHz that timing analysis allows (``achieved``), the resources used, by the
    names of the board's, the slowest path as text lines, the bitstream's file name, and seconds by step."""

    achieved: float
    used: Mapping[str, int]
    critical_path: tuple[str, ...]
    bitstream: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    cached: bool = False


class Timer:
    """Seconds by step."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.seconds = progress, {}
        self._name, self._begin = "", 0.0

    def step(self, name: str) -> None:
        """The last step is over, this one begins."""
        self.stop()
        self.progress(name)
        self._name, self._begin = name, time.perf_counter()

    def stop(self) -> None:
        """The last step is over."""
        if self._name:
            self.seconds[self._name] = round(time.perf_counter() - self._begin, 1)
        self._name = ""


@dataclass(frozen=True)
class Synthesis:
    """Yosys's ``command`` for a family of devices; ``instead`` of its part from the label ``begin`` to before the label
    ``end``, other commands."""

    command: str
    begin: str = ""
    end: str = ""
    instead: tuple[str, ...] = ()

    def script(self, top: str) -> list[str]:
        """The commands that synthesise the module ``top`` and write the netlist."""
        whole, netlist = f"{self.command} -top {top}", f"-json {NETLIST}"
        if not self.instead:
            return [f"{whole} {netlist}"]
        return [f"{whole} -run begin:{self.begin}", *self.instead, f"{whole} -run {self.end}: {netlist}"]


def synthesise(directory: Path, sources: Mapping[str, str], overrides: str, how: Synthesis, top: str = TOP) -> None:
    """Synthesise Verilog with Yosys; the netlist is :data:`NETLIST` in ``directory``, the log ``yosys.log``."""
    for name, text in {**sources, "overrides.v": overrides}.items():
        (directory / name).write_text(text, encoding="utf-8")
    script = [
        *SPEED_SETTINGS,
        *(f"read_verilog {name}" for name in sources),
        "read_verilog -overwrite overrides.v",
        # as plain RTLIL: a module that Yosys has read from Verilog is read again, unsynthesised, when a primitive of
        # its becomes known with its parameters
        f"hierarchy -top {top}",
        "proc",
        "write_rtlil design.il",
        "design -reset",
        "read_rtlil design.il",
        *how.script(top),
        "tee -q -o cells.json stat -json",
    ]
    run_script(script, directory, "yosys.log")


def cells(directory: Path) -> dict[str, int]:
    """Cells of the synthesised netlist by type."""
    return json.loads((directory / "cells.json").read_text(encoding="utf-8"))["design"]["num_cells_by_type"]


def check_room(board: Board, used: Mapping[str, int]) -> None:
    """ConfigError if ``board`` lacks something of what the netlist uses."""
    lacking = board.lacking(used)
    if lacking:
        raise ConfigError(
            f"board {board.name}: the design takes {'; '.join(lacking)}; use a larger --ii, fewer --functions or a "
            "shorter --word"
        )


def path_line(ns: float, kind: str, where: str) -> str:
    """A step of a design's slowest path as text: ns until it is done, what ``kind`` it is, and where."""
    return f"{ns:6.2f} ns  {kind:8} {where}"


def cache_directory() -> Path:
    """Where results are kept: ``$RBDGEN_CACHE``, else ``rbdgen`` in the user's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("RBDGEN_CACHE") or Path(base) / "rbdgen")


def own_text() -> str:
    """The text of all flows: what they ask of their tools, and how they read the answers."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


def key(request: Request, tools: Sequence[str]) -> str:
    """The name of a request's result: a hash of all that it depends on."""
    content = {
        "flow": own_text(),
        "board": asdict(request.board),
        "sources": dict(request.sources),
        "overrides": request.overrides,
        "clock": request.clock,
        "seed": request.seed,
        "tools": [yosys_version(), *tools],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def cached(name: str, directory: Path, files: Sequence[str]) -> Routed | None:
    """The result of that name, with its files put into ``directory``; None if there is none."""
    place = cache_directory() / name
    try:
        content = json.loads((place / "routed.json").read_text(encoding="utf-8"))
        for file in files:
            shutil.copy(place / file, directory / file)
    except (OSError, ValueError):
        return None
    return Routed(**content | {"critical_path": tuple(content["critical_path"]), "cached": True})


def keep(name: str, directory: Path, files: Sequence[str], routed: Routed) -> None:
    """Put a result into the cache; a cache that cannot be written is no error."""
    place = cache_directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=place))
        for file in files:
            shutil.copy(directory / file, staging / file)
        (staging / "routed.json").write_text(json.dumps(asdict(routed)), encoding="utf-8")
        shutil.rmtree(place / name, ignore_errors=True)
        staging.rename(place / name)
    except OSError:
        return
