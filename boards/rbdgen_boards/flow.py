"""A flow: what makes bitstreams for a family of devices. What it is given, what it gives back, and what it must say.

A family is a file or folder of this package with a subclass of :class:`Flow` in it; :mod:`rbdgen_boards.flows` lists
them. What they routed is kept by all that it depends on.
"""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar

from rbdgen.caching import cached, drop, keep
from rbdgen_boards.board import Board
from rbdgen_boards.models.netlist_verilog import Models
from rbdgen_boards.synthesis import Synthesis
from rbdgen_boards.tools import Tool, version
from rbdgen_hw.yosys import yosys_version

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
class RegisterPort:
    """The shell of registers as the system around it sees it: its ``module``."""

    module: str


@dataclass(frozen=True)
class Request:
    """Things to build for ``board``: Verilog files by name (``sources``), modules that take the place of equally named
    ones (``overrides``), the ``clock`` in MHz that is aimed at and the one that it has when it is ``running``, and the
    ``seed`` of place and route. ``streams`` is what a system around the shell reaches it by; None where the shell has
    pins, whose top module is then among the sources."""

    board: Board
    sources: Mapping[str, str]
    overrides: str
    clock: float
    running: float
    seed: int
    streams: Streams | RegisterPort | None = None


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


@dataclass(frozen=True)
class Estimate:
    """Resources ``used``, by the names of a board's, as a synthesis has them that is not the flow's own: ``by``
    what."""

    by: str
    used: Mapping[str, int]


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
    (:mod:`rbdgen_boards.synthesis`)."""
    syntheses: ClassVar[Mapping[str, Synthesis]] = {}
    """Yosys's synthesis for the family's devices, by timing model (:mod:`rbdgen.devices.device`)."""

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

    def netlist_clock(self, board: Board, running: float) -> float:
        """MHz at the clock's pin of a simulated netlist whose design has ``running`` MHz: as many, where a generator
        makes them, as models of generators pass a clock on."""
        return running

    def estimate(self, request: Request, progress: Progress) -> Estimate | None:
        """Resources that the request takes, of flows that may be without the program that makes their bitstreams."""
        return None

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


RESULT = "routed.json"
CACHE, SUFFIX = "routed", ".zip"
"""Where results are kept (:mod:`rbdgen.caching`), and how their files' names end."""


MODELS = "models"
"""The folder of this package that only simulations read."""


def own_text() -> str:
    """The text of all flows: what they ask of their tools, and how they read the answers."""
    own = Path(__file__).parent
    # below the package only: a folder above it may have that name as well
    files = sorted(p for p in own.rglob("*.py") if MODELS not in p.relative_to(own).parts)
    return "".join(path.read_text(encoding="utf-8") for path in files)


def routed_key(request: Request, tools: Sequence[str]) -> str:
    """The name of a request's result: a hash of all that it depends on, versions of ``tools`` among it."""
    content = {
        "flow": own_text(),
        "request": asdict(request),
        "tools": [yosys_version(), *tools],
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def stored_routed(name: str, directory: Path, files: Sequence[str]) -> Routed | None:
    """The result of that name, with its files put into ``directory``; None if there is none."""
    kept = cached(CACHE, name, SUFFIX)
    if kept is None:
        return None
    with zipfile.ZipFile(io.BytesIO(kept.content)) as archive:
        content = json.loads(archive.read(RESULT))
        for file in files:
            (directory / file).write_bytes(archive.read(file))
    # JSON has lists where records have tuples
    content["critical_path"] = tuple(content["critical_path"])
    content["assumptions"] = tuple(Assumption(**stated) for stated in content["assumptions"])
    content["cached"] = True
    return Routed(**content)


def store_routed(name: str, directory: Path, files: Sequence[str], routed: Routed) -> None:
    """Put a result into the cache."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(directory / file, file)
        archive.writestr(RESULT, json.dumps(asdict(routed)))
    keep(CACHE, name, SUFFIX, whole.getvalue())


def forget_routed(name: str) -> None:
    """Take a result out of the cache."""
    drop(CACHE, name, SUFFIX)
