"""FIFOs: the bypass FIFO of the round trip, that of results which come and go beat by beat, the credit counter that
makes stalls unnecessary, the register that cuts a stream where it has far to go, and the ring in a block memory from
which what is whole leaves, which the shells' receivers have in common."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from rbdgen.machines.pipeline.queues import beat_rows
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of


class BypassFifo(SharedComponent):
    """First in, first out, ``depth`` entries of ``width`` bits, written and read by strobes at fixed times of a task.

    The head is on ``r_data`` from the cycle after its writing until ``r_en``. There is no flow control: whoever admits
    tasks guarantees that it never overflows; ``fault`` is high if that is ever violated, on either side. Strobes are
    not held back then, so that no comparison with the level stands in their way, and where neither ``r_rdy`` nor
    ``fault`` is read there is no level.

    ``block``: in block memories, which answer a cycle later; the head is there, and ``r_rdy`` says so, from the second
    cycle after its writing.
    """

    def __init__(self, width: int, depth: int, block: bool = False) -> None:
        self.width = width
        self.depth = depth
        self.block = block
        kind = "_block" if block else ""
        self.module_name = f"fifo_{width}x{depth}{kind}"
        super().__init__(
            {
                "w_data": In(width),
                "w_en": In(1),
                "r_data": Out(width),
                "r_en": In(1),
                "r_rdy": Out(1),
                "fault": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        writing, reading = _storage(m, self.width, self.depth, self.block)
        produce, consume = Signal(range(self.depth)), Signal(range(self.depth))
        after_produce = _after(produce, self.depth)
        after_consume = _after(consume, self.depth)
        head: Value = consume
        if self.block:
            # block memory is read at the head of the next cycle; what is written now comes too late
            head = Mux(self.r_en, after_consume, consume)
        m.d.comb += [
            writing.addr.eq(produce),
            writing.data.eq(self.w_data),
            writing.en.eq(self.w_en),
            reading.addr.eq(head),
            self.r_data.eq(reading.data),
        ]
        with m.If(self.w_en):
            m.d.sync += produce.eq(after_produce)
        with m.If(self.r_en):
            m.d.sync += consume.eq(after_consume)
        _count(m, self, self.r_en)
        return m


class BeatFifo(SharedComponent):
    """First in, first out, ``depth`` entries of ``beats`` of ``width`` bits, which are written at fixed times
    of a task, and read in their order.

    ``write`` has a strobe for each beat; they come in any order, the beat of number ``ends`` at the end, and ``w_en``
    is that of beat 0, with which the entry is there: beat k may come up to k cycles later. The head's next beat is on
    ``r_data`` from the cycle after that until ``take``, its ``last`` one or not; ``r_en`` says that this one is taken.
    ``more``: there is another entry behind the head. ``r_rdy``, ``fault`` and ``block`` are those of
    :class:`BypassFifo`.
    """

    def __init__(self, width: int, depth: int, beats: int, ends: int, block: bool = False) -> None:
        self.width = width
        self.depth = depth
        self.beats = beats
        self.ends = ends
        self.block = block
        kind = "_block" if block else ""
        self.module_name = f"fifo_{width}x{depth}x{beats}_{ends}{kind}"
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
        rows = beat_rows(self.beats, self.depth)
        writing, reading = _storage(m, self.width, rows, self.block)
        produce, consume, beat = (
            Signal(range(self.depth)),
            Signal(range(self.depth)),
            Signal(range(self.beats), name="turn"),
        )
        m.d.comb += [
            self.w_en.eq(self.write[0]),
            self.last.eq(beat == self.beats - 1),
            self.r_en.eq(self.take & self.last),
        ]
        after_consume = _after(consume, self.depth)
        next_entry = Mux(self.last, after_consume, consume)
        following = Mux(self.last, 0, beat + 1)
        next_beat = following[: len(beat)]
        # an entry has a power of two of rows: both numbers side by side are an address
        head = Cat(beat, consume)
        if self.block:
            next_head = Cat(next_beat, next_entry)
            head = Mux(self.take, next_head, head)
        written = Cat(*self._written_beat(), produce)
        m.d.comb += [
            writing.addr.eq(written),
            writing.data.eq(self.w_data),
            writing.en.eq(self.write.any()),
            reading.addr.eq(head),
            self.r_data.eq(reading.data),
        ]
        with m.If(self.write[self.ends]):
            after_produce = _after(produce, self.depth)
            m.d.sync += produce.eq(after_produce)
        with m.If(self.take):
            m.d.sync += [
                beat.eq(next_beat),
                consume.eq(next_entry),
            ]
        level = _count(m, self, self.take)
        # a register: it says what holds behind this cycle's strobes
        more = Signal()
        m.d.comb += self.more.eq(more)
        with m.If(self.w_en ^ self.r_en):
            another = Mux(self.w_en, level != 0, level > 2)
            m.d.sync += more.eq(another)
        return m

    def _written_beat(self) -> list[Value]:
        """The number of the beat that is written, from the lowest bit on."""
        bits = []
        last = self.beats - 1
        for b in range(last.bit_length()):
            beats = [k for k in range(self.beats) if k >> b & 1]
            strobes = [self.write[k] for k in beats]
            bits.append(any_of(strobes))
        return bits


def _storage(m: Module, width: int, depth: int, block: bool) -> tuple[WritePort, ReadPort]:
    """The ports of a FIFO's memory."""
    # an entry is never read in the cycle in which it is written: synthesis need not care what comes of that
    attributes = {"ram_style": "block", "no_rw_check": 1} if block else {}
    storage = Memory(shape=width, depth=depth, init=[], attrs=attributes)
    m.submodules.storage = storage
    domain = "sync" if block else "comb"
    return storage.write_port(), storage.read_port(domain=domain)


def _after(entry: Signal, depth: int) -> Value:
    """The number of the entry behind another, of ``depth`` in a ring."""
    last = entry == depth - 1
    following = Mux(last, 0, entry + 1)
    return following[: len(entry)]


def _count(m: Module, fifo: BypassFifo | BeatFifo, read: Value) -> Value:
    """Count the entries; say whether there is any, and whether the FIFO is misused. ``read``: something is."""
    level = Signal(range(fifo.depth + 1))
    full = level == fifo.depth
    misused = (fifo.w_en & full) | (read & ~fifo.r_rdy)
    m.d.comb += fifo.fault.eq(misused)
    if fifo.block:
        ready = Signal()
        m.d.comb += fifo.r_rdy.eq(ready)
        # less what is read now, without what is written now: block memory has that a cycle later
        m.d.sync += ready.eq(level != fifo.r_en)
    else:
        m.d.comb += fifo.r_rdy.eq(level != 0)
    with m.If(fifo.w_en ^ fifo.r_en):
        changed = Mux(fifo.w_en, level + 1, level - 1)
        m.d.sync += level.eq(changed)
    return level


class StreamRegister(SharedComponent):
    """A stream of ``width`` bits, a cycle later: ``valid`` and ``payload`` of ``o`` and ``ready`` of ``i`` come from
    registers, at a word per cycle. What comes in the cycle in which ``o`` begins to stall waits in a second one."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.module_name = f"stream_{width}"
        signature = stream.Signature(width)
        super().__init__(
            {
                "i": In(signature),
                "o": Out(signature),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid, waits = Signal(), Signal()
        first = Signal(self.width, reset_less=True)
        second = Signal(self.width, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~waits),
            self.o.valid.eq(valid),
            self.o.payload.eq(first),
        ]
        with m.If(~waits):
            # valid or not, so that this strobe does not wait for the stream's
            m.d.sync += second.eq(self.i.payload)
        with m.If(~valid | self.o.ready):
            m.d.sync += [
                valid.eq(waits | self.i.valid),
                waits.eq(0),
                first.eq(Mux(waits, second, self.i.payload)),
            ]
        with m.Else():
            m.d.sync += waits.eq(waits | self.i.valid)
        return m


class Credits(SharedComponent):
    """Counts room for so many ``entries``: ``available`` while there is some, ``whole`` while nothing is used;
    ``take`` uses room for one, ``give`` returns it."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.module_name = f"credits_{entries}"
        super().__init__(
            {
                "available": Out(1),
                "whole": Out(1),
                "take": In(1),
                "give": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        free = Signal(range(self.entries + 1), init=self.entries)
        # a register of its own: what starts waits for it
        available = Signal(init=1)
        m.d.comb += [
            self.available.eq(available),
            self.whole.eq(free == self.entries),
        ]
        with m.If(self.take ^ self.give):
            m.d.sync += [
                free.eq(Mux(self.take, free - 1, free + 1)),
                available.eq(self.give | (free != 1)),
            ]
        return m


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
    # a register as well: no sum stands between the strobe and the memory's address
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
