# amaranth: UnusedElaboratable=no
"""The shell of a byte link: everything between bytes in both directions and an accelerator.

The accelerator's Verilog is a file of its own, instantiated by its module's name, as its hash is the identity that the
shell tells; in Amaranth's simulator it is the component itself.
"""

from __future__ import annotations

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.host.frames import PROTOCOL_VERSION
from rbdgen.host.shell import capacity
from rbdgen_hw.accelerator import Accelerator
from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import Library, Shape, place
from rbdgen_hw.shells.receiver import COUNTERS, Dispatcher, Receiver
from rbdgen_hw.shells.sender import Sender

IN_FLIGHT_BITS = 16
"""Of the counter of tasks in the accelerator, which never holds that many."""


def place_accelerator(m: Module, platform: object, design: Design) -> tuple[stream.Interface, stream.Interface]:
    """Put the accelerator of ``design`` into ``m``; its two streams, as seen from outside: tasks to it, results. Both
    pass registers: what is on either side of them can be far away."""
    entry, leave = StreamRegister(design.tasks.task.beat_bits), StreamRegister(design.tasks.result.beat_bits)
    place(m, platform, "entry", entry)
    place(m, platform, "leave", leave)
    tasks, results = entry.o, leave.i
    if isinstance(platform, Library):
        m.submodules.accelerator = Instance(
            design.name,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_in_valid=tasks.valid,
            o_in_ready=tasks.ready,
            i_in_payload=tasks.payload,
            o_out_valid=results.valid,
            i_out_ready=results.ready,
            o_out_payload=results.payload,
        )
        return entry.i, leave.o
    m.submodules.accelerator = core = Accelerator(design)
    m.d.comb += [
        core.i.valid.eq(tasks.valid),
        core.i.payload.eq(tasks.payload),
        tasks.ready.eq(core.i.ready),
        results.valid.eq(core.o.valid),
        results.payload.eq(core.o.payload),
        core.o.ready.eq(results.ready),
    ]
    return entry.i, leave.o


class LinkShell(Shape):
    """Ports ``i`` and ``o``: streams of bytes; ``idle``: nothing received is unanswered."""

    shape_name = "link"

    def __init__(self, design: Design, identity: bytes) -> None:
        self.design, self.identity = design, identity
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8)), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tasks = self.design.tasks
        receiver, dispatcher, sender = Receiver(tasks), Dispatcher(tasks), Sender(tasks)
        place(m, platform, "receiver", receiver)
        place(m, platform, "dispatcher", dispatcher)
        place(m, platform, "sender", sender)
        to_core, from_core = place_accelerator(m, platform, self.design)
        for source, sink in (
            (self.i, receiver.i),
            (receiver.o, dispatcher.i),
            (dispatcher.beats, to_core),
            (from_core, sender.beats),
            (sender.o, self.o),
        ):
            m.d.comb += [sink.valid.eq(source.valid), sink.payload.eq(source.payload), source.ready.eq(sink.ready)]
        in_flight, drained, entered, left = Signal(IN_FLIGHT_BITS), Signal(), Signal(), Signal()
        enters = dispatcher.beats.valid & dispatcher.beats.ready & dispatcher.last
        m.d.sync += [entered.eq(enters), left.eq(sender.left)]
        with m.If(entered & ~left):
            m.d.sync += in_flight.eq(in_flight + 1)
        with m.Elif(~entered & left):
            m.d.sync += in_flight.eq(in_flight - 1)
        status = Cat(
            dispatcher.nonce,
            Const(PROTOCOL_VERSION, 8),
            Const(int.from_bytes(self.identity, "little"), 8 * len(self.identity)),
            Const(capacity(tasks), 32),
            *(getattr(receiver, name) for name in COUNTERS),
        )
        m.d.comb += [
            sender.status.eq(status),
            sender.send.eq(dispatcher.ask & drained),
            dispatcher.answered.eq(sender.sent),
        ]
        m.d.sync += [
            # no task enters while it is asked
            drained.eq((in_flight == 0) & ~enters & ~entered),
            self.idle.eq(drained & ~self.i.valid & ~receiver.pending & ~dispatcher.busy & ~sender.busy),
        ]
        return m
