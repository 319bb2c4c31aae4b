# amaranth: UnusedElaboratable=no
"""High-water marks of an accelerator's FIFOs, for simulation only: the hardware itself is looked at, not changed.

The Verilog that is simulated is the very text that is synthesized; a second file holds the top module of the
simulation, which instantiates it and keeps beside every FIFO, reached by its path, how many entries were ever in it at
once. The accelerator in Amaranth's own simulator is wrapped likewise. The FIFOs are those of
:mod:`rbdgen.schedule.queues`.
"""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Elaboratable, Fragment, Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.schedule.queues import fault_port, high_port, queues
from rbdgen_hw.accelerator import Accelerator
from rbdgen_hw.fifo import BeatFifo, BypassFifo
from rbdgen_hw.library import Shape, to_verilog

COUNT_BITS = 16
"""Width of a mark."""
_STREAMS = ("in_valid", "in_payload", "out_ready"), ("in_ready", "out_valid", "out_payload")


class Mark(Shape):
    """What was seen of one FIFO: ``high``, the most entries at once, counted from the strobes ``w_en`` and ``r_en``
    without regard to its depth, and ``faulty``, whether its ``fault`` ever was high."""

    shape_name = "mark"

    def __init__(self) -> None:
        super().__init__(
            {"w_en": In(1), "r_en": In(1), "fault": In(1), "high": Out(COUNT_BITS), "faulty": Out(1)},
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level = Signal(COUNT_BITS)
        after = Signal(COUNT_BITS)
        m.d.comb += after.eq(level + self.w_en - (self.r_en & (level != 0)))
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
    return tuple(port(q.name) for q in queues(design.plan, design.tasks) for port in (high_port, fault_port))


def marked_verilog(design: Design) -> str:
    """Verilog of the simulation's top module, to be read together with the accelerator's own."""
    name = marked_name(design)
    widths = {"in_payload": design.tasks.task.beat_bits, "out_payload": design.tasks.result.beat_bits}
    names = ["clk", "rst", *(port for side in _STREAMS for port in side)]
    ports = [("input", 1, "clk"), ("input", 1, "rst")]
    for direction, side in zip(("input", "output"), _STREAMS, strict=True):
        ports += [(direction, widths.get(port, 1), port) for port in side]
    body = [f"  {design.name} dut ({', '.join(f'.{n}({n})' for n in names)});"]
    for k, queue in enumerate(queues(design.plan, design.tasks)):
        high, fault = high_port(queue.name), fault_port(queue.name)
        ports += [("output", COUNT_BITS, high), ("output", 1, fault)]
        seen = ", ".join(f".{pin}(dut.{queue.name}.{pin})" for pin in ("w_en", "r_en", "fault"))
        body.append(f"  {name}_mark mark{k} (.clk(clk), .rst(rst), {seen}, .high({high}), .faulty({fault}));")
    # a clock must be a scalar for whoever waits for its edge, so that [0:0] will not do
    declared = ",\n".join(f"  {d} wire {f'[{width - 1}:0] ' if width > 1 else ''}{port}" for d, width, port in ports)
    header = f"// {name}: {design.name} with the high-water marks of its FIFOs, for simulation only.\n"
    top = "\n".join([f"module {name} (", declared, ");", *body, "endmodule", ""])
    return to_verilog(Mark(), f"{name}_mark", header, {}) + "\n" + top


class MarkedAccelerator(Elaboratable):
    """The accelerator for Amaranth's simulator: its streams ``i`` and ``o``, and an attribute for each mark port.

    ValueError on elaboration if the FIFOs that are built are not those that the schedule lists.
    """

    def __init__(self, design: Design) -> None:
        self.accelerator = Accelerator(design)
        self.i, self.o = self.accelerator.i, self.accelerator.o
        self.depths = {q.name: q.depth for q in queues(design.plan, design.tasks)}
        self.marks = {name: Mark() for name in self.depths}
        for name, mark in self.marks.items():
            setattr(self, high_port(name), mark.high)
            setattr(self, fault_port(name), mark.faulty)

    def elaborate(self, platform: object) -> Fragment:
        core = Fragment.get(self.accelerator, platform)
        fifos = dict(_fifos(core, ""))
        built = {name: fifo.depth for name, fifo in fifos.items()}
        if built != self.depths:
            wrong = min(n for n in built.keys() | self.depths.keys() if built.get(n) != self.depths.get(n))
            raise ValueError(f"FIFO {wrong}: must be {self.depths.get(wrong)} deep, not {built.get(wrong)}")
        m = Module()
        for k, (name, mark) in enumerate(self.marks.items()):
            m.submodules[f"mark{k}"] = mark
            m.d.comb += [getattr(mark, pin).eq(getattr(fifos[name], pin)) for pin in ("w_en", "r_en", "fault")]
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
