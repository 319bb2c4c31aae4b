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
from rbdgen_hw.fifo import BeatFifo
from rbdgen_hw.library import Shape, place


class Lane(Shape):
    """Keeps up to ``places`` results of one kind and offers them beat by beat.

    ``header`` and ``words`` of the widths in ``widths``, side by side, if there are any, are taken beat by beat: the
    strobes ``write`` say which beat's are there. Their order, and what ``ends`` is, are those of
    :class:`rbdgen_hw.fifo.BeatFifo`. ``ready``: a beat is offered on ``payload``, the result's ``last`` one or not;
    ``taken`` takes it. ``more``: another result waits behind it. ``leave`` strobes when a result's place is free
    again. ``block``: they are kept in block memories, a cycle longer.
    """

    def __init__(
        self, name: str, widths: Sequence[int], packing: Packing, places: int, block: bool = False, ends: int = 0
    ) -> None:
        self.widths, self.packing, self.places, self.block = tuple(widths), packing, places, block
        self.beats, self.ends = packing.beats(len(self.widths)), ends
        self.shape_name = f"lane_{name}"
        super().__init__(
            {
                "header": In(HEADER_BITS),
                **({"words": In(sum(widths))} if widths else {}),
                "write": In(self.beats),
                "ready": Out(1),
                "payload": Out(packing.beat_bits),
                "last": Out(1),
                "more": Out(1),
                "taken": In(1),
                "leave": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = self.packing.words_per_beat
        values: list[Value] = [self.header]
        position = 0
        for width in self.widths:
            values.append(self.words[position : position + width])
            position += width
        rows = [values[start : start + size] for start in range(0, len(values), size)]
        stored = self.packing.columns(self.widths)
        beats = [
            Cat(*(Cat(word, Const(0, width - len(word))) for word, width in zip(row, stored, strict=False)))
            for row in rows
        ]
        if self.beats > 1:
            beats = [reduce(or_, (Mux(self.write[k], beat, 0) for k, beat in enumerate(beats)))]
        queue = BeatFifo(sum(stored), self.places, self.beats, self.ends, self.block)
        place(m, platform, "queue", queue)
        padded, position = [], 0
        for width in stored:
            padded.append(Cat(queue.r_data[position : position + width], Const(0, self.packing.word_bits - width)))
            position += width
        m.d.comb += [
            queue.write.eq(self.write),
            queue.w_data.eq(beats[0]),
            queue.take.eq(self.taken),
            self.last.eq(queue.last),
            self.more.eq(queue.more),
            self.ready.eq(queue.r_rdy),
            self.payload.eq(Cat(*padded)),
            self.leave.eq(queue.r_en),
            self.fault.eq(queue.fault),
        ]
        return m


class Merge(Shape):
    """Sends whole results of several lanes, in turn where more than one has any.

    ``ready``, ``last``, ``more`` and ``payload`` come from the lanes, ``taken`` (one bit per lane) goes to them.
    ``ahead``: the lane is chosen in the cycle before its result is offered, so that a lane's way to here and back is
    not one way; results come a cycle later then, but as fast.
    """

    def __init__(self, lanes: int, packing: Packing, ahead: bool = False) -> None:
        self.lanes, self.packing, self.ahead = lanes, packing, ahead
        self.shape_name = "merge_ahead" if ahead else "merge"
        super().__init__(
            {
                "ready": In(lanes),
                "last": In(lanes),
                "more": In(lanes),
                **{f"payload{k}": In(packing.beat_bits) for k in range(lanes)},
                "taken": Out(lanes),
                "o": Out(stream.Signature(packing.beat_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # one bit per lane: the one last served, the one that may come next, the one that is served
        served, picked, chosen = Signal(self.lanes, init=1), Signal(self.lanes), Signal(self.lanes)
        wanted = Signal(self.lanes)
        for k in range(self.lanes):
            # the lane after the one that was last served comes first
            between = [[(s + 1 + n) % self.lanes for n in range((k - s - 1) % self.lanes)] for s in range(self.lanes)]
            turns = (served[s] & ~Cat(*(wanted[b] for b in lanes)).any() for s, lanes in enumerate(between))
            m.d.comb += picked[k].eq(wanted[k] & Cat(*turns).any())
        final, moves = Signal(), Signal()
        payloads = [getattr(self, f"payload{k}") for k in range(self.lanes)]
        m.d.comb += [
            final.eq((chosen & self.last).any()),
            moves.eq(self.o.valid & self.o.ready),
            self.taken.eq(Mux(moves, chosen, 0)),
            self.o.payload.eq(reduce(or_, (Mux(chosen[k], p, 0) for k, p in enumerate(payloads)))),
        ]
        if self.ahead:
            # what is chosen is ready until it is over, and then if there is more of it
            m.d.comb += [wanted.eq(self.ready & (~chosen | self.more)), self.o.valid.eq(chosen.any())]
            with m.If(~self.o.valid | (moves & final)):
                m.d.sync += chosen.eq(picked)
                with m.If(picked.any()):
                    m.d.sync += served.eq(picked)
        else:
            inside = Signal()
            m.d.comb += [
                wanted.eq(self.ready),
                chosen.eq(Mux(inside, served, picked)),
                self.o.valid.eq((chosen & self.ready).any()),
            ]
            with m.If(self.o.valid):
                # an offered result stays offered until it is taken
                m.d.sync += [served.eq(chosen), inside.eq(~(moves & final))]
        return m
