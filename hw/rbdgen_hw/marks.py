# amaranth: UnusedElaboratable=no
"""High-water marks of an accelerator's FIFOs, for simulation only: the hardware itself is looked at, not changed.

The Verilog that is simulated is the very text that is synthesized; a second file holds the top module of the
simulation, which instantiates it and keeps beside every FIFO, reached by its path, how many entries were ever in it at
once. The accelerator in Amaranth's own simulator is wrapped likewise. The FIFOs are those that the design's machine
lists.
"""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Elaboratable, Fragment, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.machines.machine import fault_port, high_port
from rbdgen_hw.fifo import BeatFifo, BypassFifo
from rbdgen_hw.library import SharedComponent, to_verilog
from rbdgen_hw.top import top_level

COUNT_BITS = 16
"""Width of a mark."""
_WATCHED = ("w_en", "r_en", "fault")
"""Ports of a FIFO that are looked at."""
_STREAMS = ("in_valid", "in_payload", "out_ready"), ("in_ready", "out_valid", "out_payload")


class QueueMonitor(SharedComponent):
    """Marks of one FIFO: ``high``, the most entries at once, counted from the strobes ``w_en`` and ``r_en`` without
    regard to its depth, and ``faulty``, whether its ``fault`` ever was high."""

    module_name = "mark"

    def __init__(self) -> None:
        super().__init__(
            {
                "w_en": In(1),
                "r_en": In(1),
                "fault": In(1),
                "high": Out(COUNT_BITS),
                "faulty": Out(1),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level = Signal(COUNT_BITS)
        after = Signal(COUNT_BITS)
        # a read of an empty FIFO is a fault, and no level below zero
        leaves = self.r_en & (level != 0)
        m.d.comb += after.eq(level + self.w_en - leaves)
        m.d.sync += [
            level.eq(after),
            self.high.eq(Mux(after > self.high, after, self.high)),
            self.faulty.eq(self.faulty | self.fault),
        ]
        return m


def marked_name(design: Design) -> str:
    """Name of the simulation's top module."""
    return f"{design.name}_marked"


def mark_ports(design: Design) -> tuple[str, ...]:
    """Names of the ports that the simulation's top module has beyond the accelerator's."""
    ports = []
    for queue in design.machine.buffers(design.tasks):
        ports += [high_port(queue.name), fault_port(queue.name)]
    return tuple(ports)


def marked_verilog(design: Design) -> str:
    """Verilog of the simulation's top module, to be read together with the accelerator's own."""
    name = marked_name(design)
    widths = {
        "in_payload": design.tasks.task.row_bits,
        "out_payload": design.tasks.result.row_bits,
    }
    inputs, outputs = _STREAMS
    ports = [("input", 1, "clk"), ("input", 1, "rst")]
    ports += [("input", widths.get(port, 1), port) for port in inputs]
    ports += [("output", widths.get(port, 1), port) for port in outputs]
    pins = ", ".join(f".{port}({port})" for _, _, port in ports)
    body = [f"  {design.name} dut ({pins});"]
    for k, queue in enumerate(design.machine.buffers(design.tasks)):
        high = high_port(queue.name)
        fault = fault_port(queue.name)
        ports += [("output", COUNT_BITS, high), ("output", 1, fault)]
        seen = ", ".join(f".{pin}(dut.{queue.name}.{pin})" for pin in _WATCHED)
        marks = f".high({high}), .faulty({fault})"
        body.append(f"  {name}_mark mark{k} (.clk(clk), .rst(rst), {seen}, {marks});")
    declared = ",\n".join(_declaration(*port) for port in ports)
    header = (
        f"// {name}: {design.name} with the high-water marks of its FIFOs, for simulation only.\n"
    )
    monitor = to_verilog(QueueMonitor(), f"{name}_mark", header, {})
    top = [f"module {name} (", declared, ");", *body, "endmodule", ""]
    return "\n".join([monitor, *top])


def _declaration(direction: str, width: int, port: str) -> str:
    """A port's declaration in Verilog."""
    # a clock must be a scalar for whoever waits for its edge, so that [0:0] will not do
    bits = f"[{width - 1}:0] " if width > 1 else ""
    return f"  {direction} wire {bits}{port}"


class MarkedAccelerator(Elaboratable):
    """The accelerator for Amaranth's simulator: its streams ``i`` and ``o``, and an attribute for each mark port.

    ValueError on elaboration if the FIFOs that are built are not those that the schedule lists.
    """

    def __init__(self, design: Design) -> None:
        self.accelerator = top_level(design)
        self.i = self.accelerator.i
        self.o = self.accelerator.o
        self.depths = {q.name: q.depth for q in design.machine.buffers(design.tasks)}
        self.marks = {name: QueueMonitor() for name in self.depths}
        for name, mark in self.marks.items():
            setattr(self, high_port(name), mark.high)
            setattr(self, fault_port(name), mark.faulty)

    def elaborate(self, platform: object) -> Fragment:
        core = Fragment.get(self.accelerator, platform)
        fifos = dict(_fifos(core, ""))
        built = {name: fifo.depth for name, fifo in fifos.items()}
        for name in sorted(built.keys() | self.depths.keys()):
            depth = built.get(name)
            listed = self.depths.get(name)
            if depth != listed:
                raise ValueError(f"FIFO {name}: must be {listed} deep, not {depth}")
        m = Module()
        for k, (name, mark) in enumerate(self.marks.items()):
            m.submodules[f"mark{k}"] = mark
            for pin in _WATCHED:
                port = getattr(mark, pin)
                seen = getattr(fifos[name], pin)
                m.d.comb += port.eq(seen)
        whole = Fragment.get(m, platform)
        whole.add_subfragment(core, "dut")
        return whole


def _fifos(fragment: Fragment, prefix: str) -> Iterator[tuple[str, BypassFifo | BeatFifo]]:
    """All FIFOs below a fragment, by their paths."""
    for part, name, _ in fragment.subfragments:
        for origin in part.origins or ():
            if isinstance(origin, BypassFifo | BeatFifo):
                yield f"{prefix}{name}", origin
        yield from _fifos(part, f"{prefix}{name}.")
