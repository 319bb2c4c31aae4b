"""The slowest path of a routed design, from the delays of its wires and cells in a Standard Delay Format file.

For devices of which nextpnr writes the delays of all wires, but knows those of some cells only: its own analysis ends
at the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
class Unknown:
    """Delays in ns that a file lacks. ``through``: for types of cells without a register, from each input to the
    outputs. ``clocked``: for types with registers at all inputs and outputs, from the clock to the outputs, and from
    the inputs to the clock."""

    through: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    clocked: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass
class _Delays:
    """What a file says, in ns: by sink pin its driver and the wire, by output pin the inputs and delays inside the
    cell, when outputs of registers change, how early pins of registers need their values, and types by cell."""

    wires: dict[str, tuple[str, float]] = field(default_factory=dict)
    inside: dict[str, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    starts: dict[str, float] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def slowest_path(sdf: Iterable[str], unknown: Unknown) -> tuple[float, tuple[str, ...]]:
    """The period in ns that the slowest path from register to register takes, and the path, a line per step. ``sdf``:
    the file's lines, delays in ps, one statement a line as nextpnr writes them. ToolError if there is no path, or one
    that leads back into itself."""
    delays = _read(sdf)
    _complete(delays, unknown)
    arrivals, before = _arrivals(delays)
    period, end = 0.0, ""
    for pin, setup in delays.ends.items():
        driver, wire = delays.wires.get(pin, ("", 0.0))
        if driver in arrivals and arrivals[driver] + wire + setup > period:
            period, end = arrivals[driver] + wire + setup, pin
    if not end:
        raise ToolError("timing: found no path from a register to a register")
    lines = [path_line(period, "setup", _dotted(end))]
    while end:
        driver, wire = delays.wires[end]
        lines.append(path_line(arrivals[driver] + wire, "routing", f"{_dotted(driver)} -> {_dotted(end)}"))
        end = before.get(driver, "")
        kind, start = ("logic", f"{_dotted(end)} -> ") if end else ("clk-to-q", "")
        lines.append(path_line(arrivals[driver], kind, f"{start}{_dotted(driver)}"))
    return period, tuple(reversed(lines))


def _dotted(pin: str) -> str:
    return ".".join(pin.replace("\\", "").rsplit("/", 1))


def _read(sdf: Iterable[str]) -> _Delays:
    found, name, kind = _Delays(), "", ""
    for line in sdf:
        if match := WIRE.search(line):
            found.wires[match[2]] = match[1], max(int(match[3]), int(match[4])) / 1e3
        elif match := INSIDE.search(line):
            source, sink, delay = f"{name}/{match[1]}", f"{name}/{match[2]}", max(int(match[3]), int(match[4])) / 1e3
            if match[1] == CLOCK:
                found.starts[sink] = max(found.starts.get(sink, 0.0), delay)
            else:
                found.inside[sink].append((source, delay))
        elif match := CHECK.search(line):
            pin = f"{name}/{match[1]}"
            found.ends[pin] = max(found.ends.get(pin, 0.0), int(match[2]) / 1e3)
        elif match := NAME.search(line):
            name = match[1]
            found.types[name] = kind
        elif match := CELL.search(line):
            kind = match[1]
    return found


def _complete(delays: _Delays, unknown: Unknown) -> None:
    """Add the delays that ``unknown`` has, where there are none."""
    for driver in {driver for driver, _ in delays.wires.values()}:
        name, _ = driver.rsplit("/", 1)
        kind = delays.types.get(name, "")
        if kind in unknown.clocked:
            delays.starts[driver] = unknown.clocked[kind][0]
        elif driver not in delays.inside:
            pins = unknown.through.get(kind, {})
            inputs = [(f"{name}/{pin}", delay) for pin, delay in pins.items()]
            delays.inside[driver] = [(pin, delay) for pin, delay in inputs if pin in delays.wires]
    for pin in delays.wires:
        kind = delays.types.get(pin.rsplit("/", 1)[0], "")
        if kind in unknown.clocked:
            delays.ends[pin] = unknown.clocked[kind][1]


def _arrivals(delays: _Delays) -> tuple[dict[str, float], dict[str, str]]:
    """When each output pin that a register reaches has its value at the latest, and through which input of its cell."""
    arrivals, before = dict(delays.starts), {}
    waiting: dict[str, int] = {}
    readers: dict[str, list[str]] = defaultdict(list)
    for pin, inputs in delays.inside.items():
        drivers = [delays.wires[i][0] for i, _ in inputs if i in delays.wires]
        waiting[pin] = len(drivers)
        for driver in drivers:
            readers[driver].append(pin)
    known = [pin for pin, n in waiting.items() if not n]
    known += {driver for driver in readers if driver not in waiting}
    done = 0
    while known:
        driver = known.pop()
        done += driver in waiting
        for pin in readers[driver]:
            waiting[pin] -= 1
            if waiting[pin]:
                continue
            known.append(pin)
            for inside, delay in delays.inside[pin]:
                source, wire = delays.wires.get(inside, ("", 0.0))
                if source in arrivals and arrivals[source] + wire + delay > arrivals.get(pin, 0.0):
                    arrivals[pin], before[pin] = arrivals[source] + wire + delay, inside
    if done < len(waiting):
        loop = next(pin for pin, n in waiting.items() if n)
        raise ToolError(f"timing: {_dotted(loop)} depends on itself without a register")
    return arrivals, before
