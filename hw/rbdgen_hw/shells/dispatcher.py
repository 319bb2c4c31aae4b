# amaranth: UnusedElaboratable=no
"""Whole payloads, byte by byte, into beats of tasks; what hellos say into their answer."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import NONCE_BYTES
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.shells.frame_receiver import BYTE, ENTRY
from rbdgen_hw.shells.status import GREETING


class Dispatcher(SharedComponent):
    """Takes payloads as :class:`rbdgen_hw.shells.frame_receiver.Receiver` offers them: tasks become ``beats``, the
    ``last`` ones or not; of a hello ``greeting`` has the bytes, then ``ask`` is high until ``answered``, and nothing
    after it is looked at before. ``busy``: amid a payload."""

    module_name = "dispatcher"

    def __init__(self, tasks: TaskFormat) -> None:
        self.packing = tasks.task
        super().__init__(
            {
                "i": In(stream.Signature(ENTRY.size)),
                "beats": Out(stream.Signature(tasks.task.beat_bits)),
                "last": Out(1),
                "greeting": Out(GREETING),
                "ask": Out(1),
                "answered": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.packing
        size = packing.beat_bytes
        entry = ENTRY(self.i.payload)
        beat = Signal(BYTE * size, reset_less=True)
        number = Signal(range(max(size, NONCE_BYTES)))
        over, named = Signal(), Signal()
        m.d.comb += [
            self.beats.payload.eq(beat[: packing.beat_bits]),
            self.last.eq(over),
            self.greeting.number.eq(number),
            self.greeting.byte.eq(entry.byte),
        ]
        # the last byte of a beat, which may come when all of the packet's are there
        filled = number == size - 1
        with m.FSM() as fsm:
            with m.State("TAKE"):
                with m.If(self.i.valid & entry.hello):
                    m.d.comb += self.greeting.on.eq(1)
                    m.next = "NAME"
                with m.Elif(self.i.valid):
                    m.d.comb += self.i.ready.eq(1)
                    m.d.sync += [
                        beat.eq(Cat(beat[BYTE:], entry.byte)),
                        number.eq(Mux(filled, 0, number + 1)),
                        over.eq(entry.last),
                    ]
                    with m.If(filled):
                        m.next = "OFFER"
                    if packing.words_per_beat > 1:
                        with m.Elif(entry.last):
                            m.next = "FILL"
            if packing.words_per_beat > 1:
                with m.State("FILL"):
                    # a last beat that ends early is filled up with zeros
                    m.d.sync += [
                        beat.eq(beat[BYTE:]),
                        number.eq(Mux(filled, 0, number + 1)),
                    ]
                    with m.If(filled):
                        m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.beats.valid.eq(1)
                with m.If(self.beats.ready):
                    m.next = "TAKE"
            with m.State("NAME"):
                # the first hello since the reset names what follows it
                m.d.comb += [
                    self.greeting.on.eq(~named),
                    self.greeting.naming.eq(1),
                    self.i.ready.eq(1),
                ]
                m.d.sync += number.eq(Mux(entry.last, 0, number + 1))
                m.next = "TAKE"
                with m.If(entry.last):
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.ask.eq(1)
                with m.If(self.answered):
                    m.d.sync += named.eq(1)
                    m.next = "TAKE"
        m.d.comb += self.busy.eq(self.i.valid | ~fsm.ongoing("TAKE"))
        return m
