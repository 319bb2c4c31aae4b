"""Block memories of any device: an array of units, ports that read and write several of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rbdgen_boards.models.cell import Bit
from rbdgen_boards.models.netlist_verilog import Text

OLD, NEW, KEPT = "old", "new", "kept"
"""A port's output while it writes: what was there, what it writes, or what it was."""


@dataclass(frozen=True)
class Port:
    """A port of a memory: its rising ``clock``, its ``address`` (the lowest bit first, counting words of the port),
    nets that must all be one for it to do anything (``enables``), that also must be one to write (``writes``), one for
    each unit of a word that must be one for that to be written (``lanes``; none: all are), what is written, what is
    read and where it goes, and what it reads ``meanwhile``. In cycles in which the net ``clear`` is one, zero is read,
    whether the port does anything or not."""

    clock: Bit
    address: Sequence[Bit]
    width: int
    enables: Sequence[Bit]
    writes: Sequence[Bit] = ("0",)
    lanes: Sequence[Bit] = ()
    data: Sequence[Bit] = ()
    output: Sequence[int | None] = ()
    meanwhile: str = OLD
    clear: Bit = "0"


def write_memory(text: Text, contents: Sequence[str], unit: int, ports: Sequence[Port]) -> None:
    """A memory of words of ``unit`` bits, whose ``contents`` are hexadecimal, with such ports; outputs start as zero. A
    port whose clock is a constant does nothing."""
    name = text.fresh("memory")
    depth = len(contents)
    text.line(f"reg [{unit - 1}:0] {name} [0:{depth - 1}];")
    lines = [f"{name}[{k}] = {unit}'h{word};" for k, word in enumerate(contents)]
    text.line("initial begin")
    text.lines.extend(lines)
    text.line("end")
    for port in ports:
        _write_port(text, name, unit, port)


def _write_port(text: Text, name: str, unit: int, port: Port) -> None:
    out = text.fresh("read")
    text.line(f"reg [{port.width - 1}:0] {out} = 0;")
    for k, bit in enumerate(port.output):
        text.assign(bit, f"{out}[{k}]")
    if isinstance(port.clock, str):
        return
    units = port.width // unit
    at = text.vector(port.address)
    text.line(f"always @(posedge {text.value(port.clock)}) begin")
    text.line(f"if ({_all(text, port.enables)}) begin")
    # the number of units is unsized, so that Verilog takes the product in 32 bits
    reading = [_reading(text, name, unit, port, f"{units} * {at} + {k}", k) for k in range(units)]
    if port.meanwhile == KEPT:
        text.line(f"if (!{_all(text, port.writes)})")
    # not blocking: a word that is read and written in the same cycle is read as it was
    text.line(f"{out} <= {{{', '.join(reversed(reading))}}};")
    if "0" not in port.writes:
        for k in range(units):
            word = text.vector(port.data[unit * k : unit * k + unit])
            when = f"{_writing(text, port, k)}"
            text.line(f"if ({when}) {name}[{units} * {at} + {k}] <= {word};")
    text.line("end")
    if port.clear != "0":
        # the last of two values that are given in a cycle holds
        text.line(f"if ({text.value(port.clear)}) {out} <= 0;")
    text.line("end")


def _reading(text: Text, name: str, unit: int, port: Port, at: str, k: int) -> str:
    """The value that a port reads of one unit."""
    old = f"{name}[{at}]"
    if port.meanwhile != NEW or "0" in port.writes:
        return old
    written = text.vector(port.data[unit * k : unit * k + unit])
    return f"({_writing(text, port, k)} ? {written} : {old})"


def _writing(text: Text, port: Port, k: int) -> str:
    lanes = [port.lanes[k]] if port.lanes else []
    return _all(text, [*port.writes, *lanes])


def _all(text: Text, bits: Sequence[Bit]) -> str:
    """Whether all of some nets are one."""
    if not bits:
        return "1'b1"
    return f"({' & '.join(text.value(bit) for bit in bits)})"


def units_of(bits: str, unit: int) -> list[str]:
    """Words of ``unit`` bits, hexadecimal, of a memory's ``bits``, the first of which is the highest of the last
    word."""
    found = []
    for end in range(len(bits), 0, -unit):
        found.append(f"{int(bits[end - unit : end], 2):x}")
    return found
