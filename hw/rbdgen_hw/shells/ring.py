"""A ring in a block memory, from which what is whole leaves: what the shells' receivers have in common."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory, ReadPort, WritePort

from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import instantiate


def ring_memory(m: Module, width: int, depth: int) -> tuple[WritePort, ReadPort]:
    """The memory of a ring in ``m``: where it is written, and where it is read."""
    # what is read was written long before: synthesis need not care what comes of both at once
    attributes = {"ram_style": "block", "no_rw_check": 1}
    m.submodules.buffer = buffer = Memory(shape=width, depth=depth, init=[], attrs=attributes)
    return buffer.write_port(), buffer.read_port()


def offer(
    m: Module,
    platform: object,
    read: ReadPort,
    head: Signal,
    end: Signal,
    out: stream.Interface,
) -> Value:
    """Offer on ``out`` what stands in a ring from ``head``, which moves on, to ``end``: by a register behind the
    memory, whose output is slow, and one from which whoever takes it is seen. High while anything is in these."""
    leave = StreamRegister(len(read.data))
    instantiate(m, platform, "leave", leave)
    offered, moves = Signal(), Signal()
    after_head = Signal.like(head, init=1)
    next_head = Signal.like(head)
    m.d.comb += [
        offered.eq(head != end),
        moves.eq(~leave.i.valid | leave.i.ready),
        next_head.eq(Mux(offered & moves, after_head, head)),
        read.addr.eq(next_head),
        read.en.eq(1),
        out.valid.eq(leave.o.valid),
        out.payload.eq(leave.o.payload),
        leave.o.ready.eq(out.ready),
    ]
    m.d.sync += head.eq(next_head)
    with m.If(offered & moves):
        m.d.sync += after_head.eq(after_head + 1)
    with m.If(moves):
        m.d.sync += [
            leave.i.valid.eq(offered),
            leave.i.payload.eq(read.data),
        ]
    return leave.i.valid | leave.o.valid
