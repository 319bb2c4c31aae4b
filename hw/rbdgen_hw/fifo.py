"""FIFOs: the bypass FIFO of the round trip, the credit counter that makes stalls unnecessary, and the register that
cuts a stream where it has far to go."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

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
        # an entry is never read in the cycle in which it is written: synthesis need not care what comes of that
        attributes = {"ram_style": "block", "no_rw_check": 1} if self.block else {}
        m.submodules.storage = storage = Memory(shape=self.width, depth=self.depth, init=[], attrs=attributes)
        writing, reading = storage.write_port(), storage.read_port(domain="sync" if self.block else "comb")
        produce, consume = Signal(range(self.depth)), Signal(range(self.depth))
        level = Signal(range(self.depth + 1))

        def after(place: Signal) -> Value:
            return Mux(place == self.depth - 1, 0, place + 1)

        m.d.comb += [
            writing.addr.eq(produce),
            writing.data.eq(self.w_data),
            writing.en.eq(self.w_en),
            reading.addr.eq(consume),
            self.r_data.eq(reading.data),
            self.fault.eq((self.w_en & (level == self.depth)) | (self.r_en & ~self.r_rdy)),
        ]
        if self.block:
            # the memory is read at the place that is the head in the next cycle; what is written now comes too late
            ready = Signal()
            m.d.comb += [reading.addr.eq(Mux(self.r_en, after(consume), consume)), self.r_rdy.eq(ready)]
            m.d.sync += ready.eq(level != self.r_en)
        else:
            m.d.comb += self.r_rdy.eq(level != 0)
        with m.If(self.w_en):
            m.d.sync += produce.eq(after(produce))
        with m.If(self.r_en):
            m.d.sync += consume.eq(after(consume))
        with m.If(self.w_en ^ self.r_en):
            m.d.sync += level.eq(Mux(self.w_en, level + 1, level - 1))
        return m


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
    """Counts free places: ``available`` while there is one; ``take`` uses one, ``give`` returns one."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.shape_name = f"credits_{places}"
        super().__init__({"available": Out(1), "take": In(1), "give": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        free = Signal(range(self.places + 1), init=self.places)
        # a register of its own: what starts waits for it
        available = Signal(init=1)
        m.d.comb += self.available.eq(available)
        with m.If(self.take ^ self.give):
            m.d.sync += [free.eq(Mux(self.take, free - 1, free + 1)), available.eq(self.give | (free != 1))]
        return m
