"""The slowest path of a routed design, from the delays of its wires and cells in a Standard Delay Format file.

For devices of which nextpnr writes the delays of all wires, but knows those of some cells only: its own analysis ends
at the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rbdgen.errors import ToolError
from rbdgen_boards.flow import path_line

DELAY = r"\((?:\d+:){2}(\d+)\) \((?:\d+:){2}(\d+)\)"
WIRE = re.compile(rf"\(INTERCONNECT (\S+) (\S+) {DELAY}")
CELL = re.compile(r'\(CELLTYPE "(\S+)"\)')
NAME = re.compile(r"\(INSTANCE (\S*)\)")
INSIDE = re.compile(rf"\(IOPATH (\S+) (\S+) {DELAY}")
CHECK = re.compile(r"\(SETUPHOLD \(\w+ (\S+)\) \(\w+ \S+\) \((?:\d+:){2}(\d+)\)")
CLOCK = "CLK"
"""The pin from which a register's output is timed."""


@dataclass(frozen=True)
class Supplement:
    """Delays in ns beside those of a file, the device's own.

    It lacks those of ``through``, for types of cells without a register, from each input to the outputs, and of
    ``clocked``, for types with registers at all inputs and outputs, from the clock to the outputs, and from the inputs
    to the clock. Others are not less than ``least`` has, by the pins from and to which they are; what comes into a
    register is from its pin to the clock.
    """

    through: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    clocked: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    least: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass
class Delays:
    """Delays of a design, in ns of the device: by sink pin its driver and the wire, by output pin the inputs and delays
    inside the cell, when outputs of registers change, how early pins of registers need their values, and types by cell.
    ``order`` has output pins of cells without a register, each after all that its cell's inputs come from."""

    wires: dict[str, tuple[str, float]] = field(default_factory=dict)
    inside: dict[str, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[str, float] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    def kind(self, pin: str) -> str:
        """The type of a pin's cell."""
        return self.types.get(_cell(pin), "")


def read_delays(sdf: Iterable[str], known: Supplement, derating: float) -> Delays:
    """A design's delays. ``sdf``: the file's lines, delays in ps, one statement a line as nextpnr writes them; the
    device's are ``derating`` times as long, while those that are ``known`` beside the file are the device's. ToolError
    if a path leads back into itself."""
    delays = _read(sdf, derating, known.least)
    _complete(delays, known)
    delays.order = tuple(_in_order(delays))
    return delays


def slowest_path(delays: Delays) -> tuple[float, tuple[str, ...]]:
    """The period in ns that the slowest path from register to register takes, and the path, a line per step. ToolError
    if there is no path."""
    arrivals, before = _arrivals(delays, delays.starts)
    period, end = _slowest_end(delays, arrivals)
    lines = [path_line(period, "setup", _dotted(end))]
    while end:
        driver, wire = delays.wires[end]
        hop = f"{_dotted(driver)} -> {_dotted(end)}"
        lines.append(path_line(arrivals[driver] + wire, "routing", hop))
        end = before.get(driver, "")
        kind = "clk-to-q"
        hop = _dotted(driver)
        if end:
            kind, hop = "logic", f"{_dotted(end)} -> {hop}"
        lines.append(path_line(arrivals[driver], kind, hop))
    return period, tuple(reversed(lines))


def paths_through(delays: Delays, kinds: Collection[str]) -> tuple[int, float]:
    """Number of cells with registers that are at the end of a path that begins or ends in a cell of these ``kinds``,
    and the ns that the slowest such path takes."""
    arrivals, _ = _arrivals(delays, delays.starts)
    starts = {pin: time for pin, time in delays.starts.items() if delays.kind(pin) in kinds}
    own, _ = _arrivals(delays, starts)
    registers = set()
    slowest = 0.0
    for pin, setup in delays.ends.items():
        driver, wire = delays.wires.get(pin, ("", 0.0))
        # a path that ends in such a cell may begin anywhere
        reached = arrivals if delays.kind(pin) in kinds else own
        if driver in reached:
            registers.add(_cell(pin))
            slowest = max(slowest, reached[driver] + wire + setup)
    return len(registers), slowest


def _slowest_end(delays: Delays, arrivals: Mapping[str, float]) -> tuple[float, str]:
    """The period in ns, and the register's pin at which its path ends."""
    period = 0.0
    end = ""
    for pin, setup in delays.ends.items():
        driver, wire = delays.wires.get(pin, ("", 0.0))
        if driver not in arrivals:
            continue
        needed = arrivals[driver] + wire + setup
        if needed > period:
            period = needed
            end = pin
    if not end:
        raise ToolError("timing: found no path from a register to a register")
    return period, end


def _dotted(pin: str) -> str:
    return ".".join(pin.replace("\\", "").rsplit("/", 1))


def _read(sdf: Iterable[str], derating: float, least: Mapping[tuple[str, str], float]) -> Delays:
    found = Delays()
    per_ps = derating / 1e3
    name = ""
    kind = ""
    for line in sdf:
        if match := WIRE.search(line):
            driver = match[1]
            sink = match[2]
            found.wires[sink] = driver, per_ps * _later(match[3], match[4])
        elif match := INSIDE.search(line):
            source = match[1]
            sink = f"{name}/{match[2]}"
            delay = per_ps * _later(match[3], match[4])
            delay = max(delay, least.get((source, match[2]), 0.0))
            if source == CLOCK:
                found.starts[sink] = max(found.starts.get(sink, 0.0), delay)
            else:
                found.inside[sink].append((f"{name}/{source}", delay))
        elif match := CHECK.search(line):
            pin = f"{name}/{match[1]}"
            before = max(per_ps * int(match[2]), least.get((match[1], CLOCK), 0.0))
            found.ends[pin] = max(found.ends.get(pin, 0.0), before)
        elif match := NAME.search(line):
            name = match[1]
            found.types[name] = kind
        elif match := CELL.search(line):
            kind = match[1]
    return found


def _later(rising: str, falling: str) -> int:
    """The longer of two edges' delays, in the file's unit."""
    return max(int(rising), int(falling))


def _complete(delays: Delays, known: Supplement) -> None:
    """Add the delays that are ``known`` where there are none."""
    drivers = {driver for driver, _ in delays.wires.values()}
    for driver in drivers:
        name = _cell(driver)
        kind = delays.kind(driver)
        if kind in known.clocked:
            delays.starts[driver], _ = known.clocked[kind]
        elif driver not in delays.inside:
            for pin, delay in known.through.get(kind, {}).items():
                if f"{name}/{pin}" in delays.wires:
                    delays.inside[driver].append((f"{name}/{pin}", delay))
            # a driver that nothing is known of has no inputs: it depends on nothing
            delays.inside.setdefault(driver, [])
    for pin in delays.wires:
        kind = delays.kind(pin)
        if kind in known.clocked:
            _, delays.ends[pin] = known.clocked[kind]


def _cell(pin: str) -> str:
    return pin.rsplit("/", 1)[0]


def _arrivals(
    delays: Delays, starts: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, str]]:
    """When each output pin that one of the ``starts`` reaches, by pin, has its value at the latest, and through which
    input of its cell."""
    arrivals: dict[str, float] = dict(starts)
    before: dict[str, str] = {}
    for pin in delays.order:
        for inside, delay in delays.inside[pin]:
            driver, wire = delays.wires.get(inside, ("", 0.0))
            if driver not in arrivals:
                continue
            arrival = arrivals[driver] + wire + delay
            if arrival > arrivals.get(pin, 0.0):
                arrivals[pin] = arrival
                before[pin] = inside
    return arrivals, before


def _dependences(delays: Delays) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Numbers of drivers that each output pin of a cell without a register waits for, and which such pins read a
    driver."""
    waiting: dict[str, int] = {}
    readers: dict[str, list[str]] = defaultdict(list)
    for pin, inputs in delays.inside.items():
        waiting[pin] = 0
        for source, _ in inputs:
            # an input without a wire is open or constant, and is there at once
            if source not in delays.wires:
                continue
            driver, _ = delays.wires[source]
            waiting[pin] += 1
            readers[driver].append(pin)
    return waiting, readers


def _in_order(delays: Delays) -> Iterator[str]:
    """Output pins of cells without a register, each after all that its cell's inputs come from. ToolError if one
    depends on itself."""
    waiting, readers = _dependences(delays)
    known = [pin for pin, count in waiting.items() if count == 0]
    # outputs of registers wait for nothing
    known += [driver for driver in readers if driver not in waiting]
    while known:
        driver = known.pop()
        for pin in readers[driver]:
            waiting[pin] -= 1
            if waiting[pin] == 0:
                known.append(pin)
                yield pin
    stuck = next((pin for pin, count in waiting.items() if count), None)
    if stuck is not None:
        raise ToolError(f"timing: {_dotted(stuck)} depends on itself without a register")
