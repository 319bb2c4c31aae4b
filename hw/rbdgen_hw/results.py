# amaranth: UnusedElaboratable=no
"""The result side: one lane per exit that keeps its results, and a fair choice among lanes for the output stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.host.tasks import HEADER_BITS, Packing
from rbdgen_hw.fifo import BypassFifo, StreamRegister
from rbdgen_hw.library import Shape, place


class Lane(Shape):
    """Keeps up to ``places`` results of one kind and offers them beat by beat.

    ``header`` and ``words`` (all of them, side by side, if there are any) are taken with ``w_en``. ``ready``: a beat is
    offered on ``payload``, the result's ``last`` one or not; ``taken`` takes it. ``leave`` strobes when a result's
    place is free again. ``block``: they are kept in block memories, a cycle longer.
    """

    def __init__(self, name: str, widths: Sequence[int], packing: Packing, places: int, block: bool = False) -> None:
        self.widths, self.packing, self.places, self.block = tuple(widths), packing, places, block
        self.shape_name = f"lane_{name}"
        super().__init__(
            {
                "header": In(HEADER_BITS),
                **({"words": In(sum(widths))} if widths else {}),
                "w_en": In(1),
                "ready": Out(1),
                "payload": Out(packing.beat_bits),
                "last": Out(1),
                "taken": In(1),
                "leave": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing, beats = self.packing, self.packing.beats(len(self.widths))
        queue = BypassFifo(HEADER_BITS + sum(self.widths), self.places, self.block)
        place(m, platform, "queue", queue)
        m.d.comb += [
            queue.w_data.eq(Cat(self.header, self.words) if self.widths else self.header),
            queue.w_en.eq(self.w_en),
            queue.r_en.eq(self.leave),
            self.fault.eq(queue.fault),
        ]
        position, padded = 0, []
        for width in (HEADER_BITS, *self.widths):
            padded.append(Cat(queue.r_data[position : position + width], Const(0, packing.word_bits - width)))
            position += width
        padded += [Const(0, packing.word_bits)] * (beats * packing.words_per_beat - len(padded))
        whole = Cat(*padded)
        parts = [whole.word_select(k, packing.beat_bits) for k in range(beats)]
        if beats == 1:
            m.d.comb += [
                self.ready.eq(queue.r_rdy),
                self.payload.eq(parts[0]),
                self.last.eq(1),
                self.leave.eq(self.taken),
            ]
            return m
        # the choice of a beat has a cycle of its own: a result is wide, and comes from all over the device
        turn = Signal(beats, init=1)
        chosen = StreamRegister(packing.beat_bits + 1)
        place(m, platform, "chosen", chosen)
        m.d.comb += [
            chosen.i.valid.eq(queue.r_rdy),
            chosen.i.payload.eq(Cat(reduce(or_, (Mux(turn[k], part, 0) for k, part in enumerate(parts))), turn[-1])),
            self.ready.eq(chosen.o.valid),
            Cat(self.payload, self.last).eq(chosen.o.payload),
            chosen.o.ready.eq(self.taken),
            self.leave.eq(queue.r_rdy & chosen.i.ready & turn[-1]),
        ]
        with m.If(queue.r_rdy & chosen.i.ready):
            m.d.sync += turn.eq(turn.rotate_left(1))
        return m


class Merge(Shape):
    """Sends whole results of several lanes, in turn where more than one has any.

    ``ready``, ``last`` and ``payload`` come from the lanes, ``taken`` (one bit per lane) goes to them.
    """

    shape_name = "merge"

    def __init__(self, lanes: int, packing: Packing) -> None:
        self.lanes, self.packing = lanes, packing
        super().__init__(
            {
                "ready": In(lanes),
                "last": In(lanes),
                **{f"payload{k}": In(packing.beat_bits) for k in range(lanes)},
                "taken": Out(lanes),
                "o": Out(stream.Signature(packing.beat_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        turn, chosen, inside = Signal(range(self.lanes)), Signal(range(self.lanes)), Signal()
        # the lane after the one that was last served comes first
        with m.If(inside):
            m.d.comb += chosen.eq(turn)
        with m.Else(), m.Switch(turn):
            for k in range(self.lanes):
                with m.Case(k):
                    order = [(k + 1 + n) % self.lanes for n in range(self.lanes)]
                    pick: Value = Const(order[-1], len(chosen))
                    for lane in reversed(order[:-1]):
                        pick = Mux(self.ready[lane], lane, pick)
                    m.d.comb += chosen.eq(pick)
        valid, final, moves = Signal(), Signal(), Signal()
        with m.Switch(chosen):
            for k in range(self.lanes):
                with m.Case(k):
                    m.d.comb += [
                        valid.eq(self.ready[k]),
                        final.eq(self.last[k]),
                        self.o.payload.eq(getattr(self, f"payload{k}")),
                        self.taken[k].eq(moves),
                    ]
        m.d.comb += [self.o.valid.eq(valid), moves.eq(valid & self.o.ready)]
        with m.If(valid):
            # an offered result stays offered until it is taken
            m.d.sync += [turn.eq(chosen), inside.eq(~(moves & final))]
        return m
