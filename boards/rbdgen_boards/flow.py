"""A flow: what makes bitstreams for a family of devices. What it is given, what it gives back, and what it must say.

A family is a file or folder of this package with a subclass of :class:`Flow` in it; :mod:`rbdgen_boards.flows` lists
them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from rbdgen_boards.board import Board
from rbdgen_boards.models.netlist_verilog import Models
from rbdgen_boards.synthesis import Synthesis
from rbdgen_boards.tools import Tool, version

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Clocking:
    """Where a design's clock comes from: ``module``, Verilog of a module that makes it or empty; ``lines`` of the top
    module, which make ``clock`` and ``settled`` from ``clk``; and its rate in ``megahertz``."""

    module: str
    lines: str
    megahertz: float


@dataclass(frozen=True)
class Streams:
    """The AXI shell as the system around it sees it: its module and the widths of its streams in bits."""

    module: str
    task_bits: int
    result_bits: int


@dataclass(frozen=True)
class Request:
    """Things to build for ``board``: Verilog files by name (``sources``), modules that take the place of equally named
    ones (``overrides``), the ``clock`` in MHz that is aimed at and the one that it has when it is ``running``, and the
    ``seed`` of place and route. ``streams`` is None where the shell is a serial line; its top module is then among the
    sources."""

    board: Board
    sources: Mapping[str, str]
    overrides: str
    clock: float
    running: float
    seed: int
    streams: Streams | None = None


@dataclass(frozen=True)
class Assumption:
    """Assumption that a clock rests on, and that no tool times: of a ``subject`` something is ``assumed``, for the
    reasons that ``source`` has. Where they are counted, so many ``registers`` are at the end of a path that depends on
    it, the slowest of which takes ``slowest_ns``."""

    subject: str
    assumed: str
    source: str
    registers: int | None = None
    slowest_ns: float | None = None


@dataclass(frozen=True)
class Routed:
    """Result of a request: the clock in MHz that timing analysis allows (``achieved``), the resources used, by the
    names of the board's, the slowest path as text lines, the bitstream's file name, seconds by step, and what the clock
    rests on that no tool times. ``clocks`` is what it allows of the board's further ones, by port. ``kept``: its name
    in the cache, if it is there."""

    achieved: float
    used: Mapping[str, int]
    critical_path: tuple[str, ...]
    bitstream: str
    seconds: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    cached: bool = False
    clocks: Mapping[str, float] = field(default_factory=dict)
    kept: str = ""

    def missed(self, board: Board) -> dict[str, float]:
        """The board's further clocks that are not met, with what is."""
        return {port: mhz for port, mhz in self.clocks.items() if mhz < board.clocks[port]}


class Flow(ABC):
    """The way in which bitstreams of one family are made."""

    name: ClassVar[str]
    """As boards have it in their ``flow``."""
    maker: ClassVar[str]
    """The program that makes its bitstreams, as people call it."""
    needs: tuple[Tool, ...] = ()
    """Programs without which nothing is built; their versions are part of what a result depends on."""
    kept: tuple[str, ...] = ()
    """Files of a result that go into the cache; a flow without any is run anew each time."""
    attempts: ClassVar[int] = 1
    """Runs of place and route, at most, where it misses its clock."""
    margin: ClassVar[float] = 1.0
    """Factor by which the first pipeline is made for a faster clock than is aimed at, as far as operators allow: a
    delay model knows usual wires, not the longest."""
    multiplier: ClassVar[str] = ""
    """The multiplier block that products become, by its name in :mod:`rbdgen_hw.primitives`; none: synthesis infers
    what there is."""
    models: ClassVar[Models | None] = None
    """Behaviour of the family's cells, for a simulation of its netlists, which are then among :attr:`kept`
    (:mod:`rbdgen_boards.netlists`)."""
    syntheses: ClassVar[Mapping[str, Synthesis]] = {}
    """Yosys's synthesis for the family's devices, by timing model (:mod:`rbdgen.schedule.device`)."""

    def require_tools(self) -> None:
        """ToolError if a program is missing without which nothing is built."""
        self.versions()

    def versions(self) -> list[str]:
        """The versions of :attr:`needs`. ToolError if one is missing."""
        return [version(tool) for tool in self.needs]

    @abstractmethod
    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        """Verilog that makes the clock nearest to ``clock`` MHz that the board can have. ``directory`` is for logs.
        ConfigError or ToolError where there is none."""

    @abstractmethod
    def build(self, request: Request, directory: Path, progress: Progress) -> Routed | None:
        """Everything from synthesis to the bitstream, in ``directory``. None where the program that makes bitstreams is
        not installed: ``directory`` then has all that it needs. ConfigError if the design does not fit, ToolError if a
        tool fails."""


class Timer:
    """Seconds by step."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self._name = ""
        self._begin = 0.0

    def step(self, name: str) -> None:
        """The last step is over, this one begins."""
        self.stop()
        self.progress(name)
        self._name, self._begin = name, time.perf_counter()

    def stop(self) -> None:
        """The last step is over."""
        if self._name:
            self.seconds[self._name] = round(time.perf_counter() - self._begin, 1)
        # so that a second stop counts nothing
        self._name = ""


def path_line(ns: float, kind: str, where: str) -> str:
    """A step of a design's slowest path as text: ns until it is done, what ``kind`` it is, and where."""
    return f"{ns:6.2f} ns  {kind:8} {where}"
