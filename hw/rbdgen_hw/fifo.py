"""FIFOs: the bypass FIFO of the round trip, that of results which come and go beat by beat, the credit counter that
makes stalls unnecessary, and the register that cuts a stream where it has far to go."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from rbdgen.schedule.queues import beat_rows
from rbdgen_hw.library import Shape


class BypassFifo(Shape):
    """First in, first out, ``depth`` entries of ``width`` bits, written and read by strobes at fixed times of a task.

    The head is on ``r_data`` from the cycle after its writing until ``r_en``. There is no flow control: whoever admits
    tasks guarantees that it never overflows; ``fault`` is high if that is ever violated, on either side. Strobes are
    not held back then, so that no comparison with the level stands in their way, and where neither ``r_rdy`` nor
    ``fault`` is read there is no level.

    ``block``: in block memories, which answer a cycle later; the head is there, and ``r_rdy`` says so, from the second
    cycle after its writing.
    """

    def __init__(self, width: int, depth: int, block: bool = False) -> None:
        self.width, self.depth, self.block = width, depth, block
        self.shape_name = f"fifo_{width}x{depth}" + ("_block" if block else "")
        super().__init__(
            {"w_data": In(width), "w_en": In(1), "r_data": Out(width), "r_en": In(1), "r_rdy": Out(1), "fault": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        writing, reading = _storage(m, self.width, self.depth, self.block)
        produce, consume = Signal(range(self.depth)), Signal(range(self.depth))
        m.d.comb += [
            writing.addr.eq(produce),
            writing.data.eq(self.w_data),
            writing.en.eq(self.w_en),
            # block memory is read at the place that is the head in the next cycle; what is written now comes too late
            reading.addr.eq(Mux(self.r_en, _after(consume, self.depth), consume) if self.block else consume),
            self.r_data.eq(reading.data),
        ]
        with m.If(self.w_en):
            m.d.sync += produce.eq(_after(produce, self.depth))
        with m.If(self.r_en):
            m.d.sync += consume.eq(_after(consume, self.depth))
        _count(m, self, self.r_en)
        return m


class BeatFifo(Shape):
    """First in, first out, ``depth`` entries of ``beats`` of ``width`` bits, which are written at fixed times
    of a task, and read in their order.

    ``write`` has a strobe for each beat; they come in any order, the beat of number ``ends`` at the end, and ``w_en``
    is that of beat 0, with which the entry is there: beat k may come up to k cycles later. The head's next beat is on
    ``r_data`` from the cycle after that until ``take``, its ``last`` one or not; ``r_en`` says that this one is taken.
    ``more``: there is another entry behind the head. ``r_rdy``, ``fault`` and ``block`` are those of
    :class:`BypassFifo`.
    """

    def __init__(self, width: int, depth: int, beats: int, ends: int, block: bool = False) -> None:
        self.width, self.depth, self.beats, self.ends, self.block = width, depth, beats, ends, block
        self.shape_name = f"fifo_{width}x{depth}x{beats}_{ends}" + ("_block" if block else "")
        super().__init__(
            {
                "w_data": In(width),
                "write": In(beats),
                "w_en": Out(1),
                "r_data": Out(width),
                "take": In(1),
                "last": Out(1),
                "more": Out(1),
                "r_en": Out(1),
                "r_rdy": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = (self.beats - 1).bit_length()
        writing, reading = _storage(m, self.width, beat_rows(self.beats, self.depth), self.block)
        produce, consume, turn = Signal(range(self.depth)), Signal(range(self.depth)), Signal(range(self.beats))
        m.d.comb += [
            self.w_en.eq(self.write[0]),
            self.last.eq(turn == self.beats - 1),
            self.r_en.eq(self.take & self.last),
        ]
        written = [Cat(*(self.write[k] for k in range(self.beats) if k >> b & 1)).any() for b in range(step)]
        next_place = Mux(self.last, _after(consume, self.depth), consume)
        next_turn = Mux(self.last, 0, turn + 1)[: len(turn)]
        m.d.comb += [
            writing.addr.eq(Cat(*written, produce)),
            writing.data.eq(self.w_data),
            writing.en.eq(self.write.any()),
            reading.addr.eq(
                Mux(self.take, Cat(next_turn, next_place), Cat(turn, consume)) if self.block else Cat(turn, consume)
            ),
            self.r_data.eq(reading.data),
        ]
        with m.If(self.write[self.ends]):
            m.d.sync += produce.eq(_after(produce, self.depth))
        with m.If(self.take):
            m.d.sync += [turn.eq(next_turn), consume.eq(next_place)]
        level, more = _count(m, self, self.take), Signal()
        m.d.comb += self.more.eq(more)
        with m.If(self.w_en ^ self.r_en):
            m.d.sync += more.eq(Mux(self.w_en, level != 0, level > 2))
        return m


def _storage(m: Module, width: int, depth: int, block: bool) -> tuple[WritePort, ReadPort]:
    """The ports of a FIFO's memory."""
    # an entry is never read in the cycle in which it is written: synthesis need not care what comes of that
    attributes = {"ram_style": "block", "no_rw_check": 1} if block else {}
    m.submodules.storage = storage = Memory(shape=width, depth=depth, init=[], attrs=attributes)
    return storage.write_port(), storage.read_port(domain="sync" if block else "comb")


def _after(place: Signal, depth: int) -> Value:
    """The place behind another."""
    return Mux(place == depth - 1, 0, place + 1)[: len(place)]


def _count(m: Module, fifo: BypassFifo | BeatFifo, read: Value) -> Value:
    """How many entries there are; and whether there is any, and whether the FIFO is misused. ``read``: something is."""
    level = Signal(range(fifo.depth + 1))
    m.d.comb += fifo.fault.eq((fifo.w_en & (level == fifo.depth)) | (read & ~fifo.r_rdy))
    if fifo.block:
        ready = Signal()
        m.d.comb += fifo.r_rdy.eq(ready)
        m.d.sync += ready.eq(level != fifo.r_en)
    else:
        m.d.comb += fifo.r_rdy.eq(level != 0)
    with m.If(fifo.w_en ^ fifo.r_en):
        m.d.sync += level.eq(Mux(fifo.w_en, level + 1, level - 1))
    return level


class StreamRegister(Shape):
    """A stream of ``width`` bits, a cycle later: ``valid`` and ``payload`` of ``o`` and ``ready`` of ``i`` come from
    registers, at a word per cycle. What comes in the cycle in which ``o`` begins to stall waits in a second place."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.shape_name = f"stream_{width}"
        super().__init__({"i": In(stream.Signature(width)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid, waits = Signal(), Signal()
        first, second = (Signal(self.width, name=name, reset_less=True) for name in ("first", "second"))
        m.d.comb += [self.i.ready.eq(~waits), self.o.valid.eq(valid), self.o.payload.eq(first)]
        with m.If(~waits):
            m.d.sync += second.eq(self.i.payload)
        with m.If(~valid | self.o.ready):
            m.d.sync += [valid.eq(waits | self.i.valid), waits.eq(0), first.eq(Mux(waits, second, self.i.payload))]
        with m.Else():
            m.d.sync += waits.eq(waits | self.i.valid)
        return m


class Credits(Shape):
    """Counts free places: ``available`` while there is one, ``whole`` while all are; ``take`` uses one, ``give``
    returns one."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.shape_name = f"credits_{places}"
        super().__init__({"available": Out(1), "whole": Out(1), "take": In(1), "give": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        free = Signal(range(self.places + 1), init=self.places)
        # a register of its own: what starts waits for it
        available = Signal(init=1)
        m.d.comb += [self.available.eq(available), self.whole.eq(free == self.places)]
        with m.If(self.take ^ self.give):
            m.d.sync += [free.eq(Mux(self.take, free - 1, free + 1)), available.eq(self.give | (free != 1))]
        return m
