# amaranth: UnusedElaboratable=no
"""The result side: one lane per exit that keeps its results, and a fair choice among lanes for the output stream."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.tasks import HEADER_BITS, Packing
from rbdgen_hw.fifo import BeatFifo
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of, cut, selected


class Lane(SharedComponent):
    """Keeps up to ``room`` results of one kind and offers them beat by beat.

    ``header`` and ``words`` of the widths in ``widths``, side by side, if there are any, are taken beat by beat: the
    strobes ``write`` say which beat's are there. Their order, and what ``ends`` is, are those of
    :class:`rbdgen_hw.fifo.BeatFifo`. ``ready``: a beat is offered on ``payload``, the result's ``last`` one or not;
    ``taken`` takes it. ``more``: another result waits behind it. ``leave`` strobes when a result's room is free
    again. ``block``: they are kept in block memories, a cycle longer.
    """

    def __init__(
        self,
        name: str,
        widths: Sequence[int],
        packing: Packing,
        room: int,
        block: bool = False,
        ends: int = 0,
    ) -> None:
        self.widths = tuple(widths)
        self.packing = packing
        self.room = room
        self.block = block
        self.ends = ends
        self.beats = packing.beats(len(self.widths))
        words = {"words": In(sum(widths))} if widths else {}
        self.module_name = f"lane_{name}"
        super().__init__(
            {
                "header": In(HEADER_BITS),
                **words,
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
        stored = self.packing.columns(self.widths)
        queue = BeatFifo(sum(stored), self.room, self.beats, self.ends, self.block)
        instantiate(m, platform, "queue", queue)
        m.d.comb += [
            queue.write.eq(self.write),
            queue.w_data.eq(self._written(stored)),
            queue.take.eq(self.taken),
            self.last.eq(queue.last),
            self.more.eq(queue.more),
            self.ready.eq(queue.r_rdy),
            self.payload.eq(self._payload(queue.r_data, stored)),
            self.leave.eq(queue.r_en),
            self.fault.eq(queue.fault),
        ]
        return m

    def _written(self, stored: Sequence[int]) -> Value:
        """The beat that is written, each word as wide as it is ``stored``."""
        values: list[Value] = [self.header]
        if self.widths:
            values += cut(self.words, self.widths)
        size = self.packing.words_per_beat
        beats = []
        for start in range(0, len(values), size):
            row = values[start : start + size]
            words = []
            for word, width in zip(row, stored, strict=False):
                words.append(_padded(word, width))
            beats.append(Cat(*words))
        if len(beats) == 1:
            return beats[0]
        strobes = [self.write[k] for k in range(self.beats)]
        return selected(strobes, beats)

    def _payload(self, data: Value, stored: Sequence[int]) -> Value:
        """A beat as it is sent, from one as it is ``stored``."""
        words = []
        for word, bits in zip(cut(data, stored), self.packing.places, strict=False):
            words.append(_padded(word, bits))
        return Cat(*words)


def _padded(word: Value, width: int) -> Value:
    """``word`` with zeros above it, in ``width`` bits."""
    missing = width - len(word)
    return Cat(word, Const(0, missing))


class Merge(SharedComponent):
    """Sends whole results of several lanes, in turn where more than one has any.

    ``ready``, ``last``, ``more`` and ``payload`` come from the lanes, ``taken`` (one bit per lane) goes to them.
    ``ahead``: the lane is chosen in the cycle before its result is offered, so that a lane's path to here and back is
    not one path; results come a cycle later then, but as fast.
    """

    def __init__(self, lanes: int, packing: Packing, ahead: bool = False) -> None:
        self.lanes = lanes
        self.packing = packing
        self.ahead = ahead
        self.module_name = "merge_ahead" if ahead else "merge"
        payloads = {f"payload{k}": In(packing.beat_bits) for k in range(lanes)}
        super().__init__(
            {
                "ready": In(lanes),
                "last": In(lanes),
                "more": In(lanes),
                **payloads,
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
            comes = []
            for s in range(self.lanes):
                earlier = any_of(wanted[lane] for lane in self._between(s, k))
                comes.append(served[s] & ~earlier)
            first = any_of(comes)
            m.d.comb += picked[k].eq(wanted[k] & first)
        final, moves = Signal(), Signal()
        payloads = [getattr(self, f"payload{k}") for k in range(self.lanes)]
        strobes = [chosen[k] for k in range(self.lanes)]
        m.d.comb += [
            final.eq((chosen & self.last).any()),
            moves.eq(self.o.valid & self.o.ready),
            self.taken.eq(Mux(moves, chosen, 0)),
            self.o.payload.eq(selected(strobes, payloads)),
        ]
        if self.ahead:
            # what is chosen is ready until it is over, and then if there is more of it
            m.d.comb += [
                wanted.eq(self.ready & (~chosen | self.more)),
                self.o.valid.eq(chosen.any()),
            ]
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
                m.d.sync += [
                    served.eq(chosen),
                    inside.eq(~(moves & final)),
                ]
        return m

    def _between(self, served: int, lane: int) -> list[int]:
        """The lanes that come before ``lane`` where ``served`` was the last one."""
        count = (lane - served - 1) % self.lanes
        return [(served + 1 + n) % self.lanes for n in range(count)]
