# amaranth: UnusedElaboratable=no
"""Result beats and answers to hellos into frames by bytes: what :mod:`rbdgen.protocol.frames` does, in hardware."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import (
    CRC_BYTES,
    ESCAPE,
    ESCAPE_BIT,
    FLAG,
    LENGTH_BYTES,
    STATUS_BYTES,
    Kind,
)
from rbdgen.protocol.tasks import HEADER_BITS, TaskFormat
from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.shells.lengths import results_of


class Sender(SharedComponent):
    """``beats``: results, whole ones without a pause of other frames between; ``left`` strobes with the last beat of
    each. ``status`` is sent when ``send`` is high and no result is waiting, ``sent`` strobes when it is taken. ``o``:
    bytes of the link. ``busy``: something is under way. Frames are made before a register, bytes escaped behind it."""

    module_name = "sender"

    def __init__(self, tasks: TaskFormat) -> None:
        self.packets = results_of(tasks)
        super().__init__(
            {
                "beats": In(stream.Signature(tasks.result.beat_bits)),
                "left": Out(1),
                "status": In(8 * STATUS_BYTES),
                "send": In(1),
                "sent": Out(1),
                "busy": Out(1),
                "o": Out(stream.Signature(8)),
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packets = self.packets
        packing = packets.packing
        size = packing.beat_bytes
        head = self.beats.payload[:HEADER_BITS]
        most = max(packets.longest, STATUS_BYTES)
        result_length = packets.found(m, self, head, packing.packet_bytes, "result_length", most)
        most_kept = max(size, STATUS_BYTES)
        m.submodules.checksum = crc = CRC32_ISO_HDLC(8).create()
        data = Signal(8 * most_kept, reset_less=True)
        kept = Signal(range(most_kept + 1))
        remaining, length = Signal(range(most + 1)), Signal(8 * LENGTH_BYTES)
        # whether nothing is kept, nothing remains, the next beat is the last, and in which state this is: registers, as
        # most of the sender waits for them
        empty, over, final, idle, paying = Signal(), Signal(), Signal(), Signal(init=1), Signal()
        kind, index, escaped = Signal(8), Signal(range(CRC_BYTES)), Signal()
        # ``body`` is a byte of a frame, or a flag between two; ``done`` is high when it is taken
        body, flag, valid, done = Signal(8), Signal(), Signal(), Signal()
        made = StreamRegister(9)
        instantiate(m, platform, "made", made)
        m.d.comb += [
            made.i.valid.eq(valid),
            made.i.payload.eq(Cat(body, flag)),
            done.eq(made.i.ready),
            crc.data.eq(body),
        ]

        now = made.o.payload[:8]
        bare = made.o.payload[8]
        special = ~bare & ((now == FLAG) | (now == ESCAPE))
        unescaped = Mux(special, ESCAPE, now)
        m.d.comb += [
            self.o.valid.eq(made.o.valid),
            self.o.payload.eq(Mux(escaped, now ^ ESCAPE_BIT, unescaped)),
            made.o.ready.eq(self.o.ready & (~special | escaped)),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += escaped.eq(special & ~escaped)

        # what is taken before it is known to be there is taken again: that asks for no more than registers
        with m.If(idle | (paying & (empty | done))):
            following = Mux(empty, self.beats.payload, data[8:])
            m.d.sync += data.eq(Mux(idle, self.status, following))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += crc.start.eq(1)
                m.d.sync += over.eq(0)  # no frame is without a payload
                with m.If(self.beats.valid):
                    m.d.sync += [
                        kind.eq(Kind.TASK),
                        length.eq(result_length),
                        remaining.eq(result_length),
                        empty.eq(1),
                        final.eq(result_length <= size),
                        idle.eq(0),
                    ]
                    m.next = "OPEN"
                with m.Elif(self.send):
                    m.d.comb += self.sent.eq(1)
                    m.d.sync += [
                        kind.eq(Kind.HELLO),
                        length.eq(STATUS_BYTES),
                        remaining.eq(STATUS_BYTES),
                        kept.eq(STATUS_BYTES),
                        empty.eq(0),
                        idle.eq(0),
                    ]
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += [
                    body.eq(FLAG),
                    flag.eq(1),
                    valid.eq(1),
                ]
                with m.If(done):
                    m.next = "KIND"
            with m.State("KIND"):
                m.d.comb += [
                    body.eq(kind),
                    valid.eq(1),
                    crc.valid.eq(done),
                ]
                with m.If(done):
                    m.next = "LENGTH"
            with m.State("LENGTH"):
                m.d.comb += [
                    body.eq(length.word_select(index[0], 8)),
                    valid.eq(1),
                    crc.valid.eq(done),
                ]
                with m.If(done):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == LENGTH_BYTES - 1):
                        m.d.sync += [
                            index.eq(0),
                            paying.eq(1),
                        ]
                        m.next = "PAYLOAD"
            with m.State("PAYLOAD"):
                with m.If(over):
                    m.d.sync += paying.eq(0)
                    m.next = "CRC"
                with m.Elif(empty):
                    m.d.comb += [
                        self.beats.ready.eq(1),
                        self.left.eq(self.beats.valid & final),
                    ]
                    with m.If(self.beats.valid):
                        m.d.sync += [
                            kept.eq(size),
                            empty.eq(0),
                        ]
                with m.Else():
                    m.d.comb += [
                        body.eq(data[:8]),
                        valid.eq(1),
                        crc.valid.eq(done),
                    ]
                    with m.If(done):
                        m.d.sync += [
                            kept.eq(kept - 1),
                            remaining.eq(remaining - 1),
                            empty.eq(kept == 1),
                            over.eq(remaining == 1),
                            final.eq(remaining <= size + 1),
                        ]
            with m.State("CRC"):
                m.d.comb += [
                    body.eq(crc.crc.word_select(index, 8)),
                    valid.eq(1),
                ]
                with m.If(done):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == CRC_BYTES - 1):
                        m.d.sync += index.eq(0)
                        m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += [
                    body.eq(FLAG),
                    flag.eq(1),
                    valid.eq(1),
                ]
                with m.If(done):
                    m.d.sync += idle.eq(1)
                    m.next = "IDLE"
        m.d.comb += self.busy.eq(~idle | made.o.valid)
        return m
