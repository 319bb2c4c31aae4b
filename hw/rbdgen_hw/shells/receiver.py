# amaranth: UnusedElaboratable=no
"""Bytes from a link into whole frames: unescaping, checking, and a buffer that keeps only what is whole.

It counts and drops exactly as :class:`rbdgen.host.shell.ShellModel` does; only it can run out of room, too.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.host.frames import CRC_BYTES, ESCAPE, ESCAPE_BIT, FLAG, FRAME_BYTES, HEAD_BYTES, NONCE_BYTES, Kind
from rbdgen.host.shell import buffer_bytes, error_bytes
from rbdgen.host.tasks import FUNCTION_BITS, TaskFormat
from rbdgen_hw.fifo import StreamRegister
from rbdgen_hw.library import Shape, place

COUNTERS = ("accepted", "damaged", "overrun", "rejected")
COUNTER_BITS = 32


def task_bytes(m: Module, tasks: TaskFormat, code: Value, name: str) -> Signal:
    """Length of a task with function ``code``: a new signal, driven in ``m``."""
    lengths = {known: tasks.task.packet_bytes(words) for known, words in tasks.task_words.items()}
    length = Signal(range(max(*lengths.values(), error_bytes(tasks)) + 1), name=name)
    with m.Switch(code):
        for known, value in lengths.items():
            with m.Case(known):
                m.d.comb += length.eq(value)
        with m.Default():
            m.d.comb += length.eq(error_bytes(tasks))
    return length


class Receiver(Shape):
    """``i``: bytes of the link. ``o``: of every accepted frame its kind and its payload, byte by byte; a frame is
    offered when all of it has come, and ``pending`` until its last byte is taken. The counters are those of
    :class:`rbdgen.host.frames.Status`. A byte goes a step per clock, from register to register, so that a link never is
    what limits a device's clock."""

    shape_name = "receiver"

    def __init__(self, tasks: TaskFormat) -> None:
        self.tasks = tasks
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "pending": Out(1),
                **{name: Out(COUNTER_BITS) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = buffer_bytes(self.tasks)
        # what is read was written long before: synthesis need not care what comes of both at once
        attributes = {"ram_style": "block", "no_rw_check": 1}
        m.submodules.buffer = buffer = Memory(shape=8, depth=depth, init=[], attrs=attributes)
        m.submodules.checksum = crc = CRC32_ISO_HDLC(8).create()
        write, read = buffer.write_port(), buffer.read_port()
        head, next_head, tail, committed = (Signal(range(depth), name=n) for n in ("head", "next", "tail", "committed"))
        after_head, after_tail = (Signal(range(depth), init=1, name=n) for n in ("after_head", "after_tail"))

        # a frame of ``depth`` bytes is the longest that may be whole
        count = Signal(range(depth + 2))
        kind, length, first = Signal(8), Signal(16), Signal(8)
        started, escaping, bad, full = Signal(), Signal(), Signal(), Signal()
        closed, judged, whole, fits = Signal(), Signal(), Signal(), Signal()
        plain, is_plain, is_flag = Signal(8), Signal(), Signal()
        byte, has_byte = Signal(8, reset_less=True), Signal()
        m.d.comb += [
            self.i.ready.eq(~closed & ~judged),
            is_flag.eq(self.i.payload == FLAG),
            plain.eq(Mux(escaping, self.i.payload ^ ESCAPE_BIT, self.i.payload)),
            crc.data.eq(byte),
            crc.valid.eq(has_byte),
            crc.start.eq(judged),
            write.addr.eq(tail),
            write.data.eq(byte),
        ]
        m.d.sync += [byte.eq(plain), has_byte.eq(is_plain)]
        valid_escape = (plain == FLAG) | (plain == ESCAPE)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += started.eq(~is_flag)
            with m.If(is_flag):
                m.d.sync += closed.eq(started)
            with m.Elif(~escaping & (self.i.payload == ESCAPE)):
                m.d.sync += escaping.eq(1)
            with m.Else():
                m.d.comb += is_plain.eq(1)
                m.d.sync += escaping.eq(0)
                with m.If(escaping & ~valid_escape):
                    m.d.sync += bad.eq(1)
        m.d.sync += after_tail.eq(tail + 1)
        with m.If(has_byte):
            with m.If(count != depth + 1):
                m.d.sync += count.eq(count + 1)
            with m.Switch(count):
                with m.Case(0):
                    m.d.sync += kind.eq(byte)
                with m.Case(1):
                    m.d.sync += length[:8].eq(byte)
                with m.Case(2):
                    m.d.sync += length[8:].eq(byte)
                with m.Case(HEAD_BYTES):
                    m.d.sync += first.eq(byte)
            # of the head only the kind is kept
            with m.If((count == 0) | (count >= HEAD_BYTES)):
                with m.If(after_tail == head):
                    m.d.sync += full.eq(1)
                with m.Elif(~full):
                    m.d.comb += write.en.eq(1)
                    m.d.sync += [tail.eq(after_tail), after_tail.eq(after_tail + 1)]

        task_length = task_bytes(m, self.tasks, first[:FUNCTION_BITS], "task_length")
        fits_task = (kind == Kind.TASK) & (length == task_length)
        m.d.sync += judged.eq(0)
        with m.If(closed):
            m.d.sync += [
                closed.eq(0),
                judged.eq(1),
                whole.eq(
                    ~bad & ~escaping & crc.match_detected & (count == length + FRAME_BYTES) & (count != depth + 1)
                ),
                fits.eq(fits_task | ((kind == Kind.HELLO) & (length == NONCE_BYTES))),
            ]
        verdict = Signal(len(COUNTERS))
        with m.If(judged):
            with m.If(~whole):
                m.d.comb += verdict.eq(1 << COUNTERS.index("damaged"))
            with m.Elif(~fits):
                m.d.comb += verdict.eq(1 << COUNTERS.index("rejected"))
            with m.Elif(full):
                m.d.comb += verdict.eq(1 << COUNTERS.index("overrun"))
            with m.Else():
                m.d.comb += verdict.eq(1 << COUNTERS.index("accepted"))
            end = Mux(verdict[COUNTERS.index("accepted")], tail - CRC_BYTES, committed)[: len(tail)]
            m.d.sync += [committed.eq(end), tail.eq(end)]
            m.d.sync += [x.eq(0) for x in (count, escaping, bad, full)]
        for k, name in enumerate(COUNTERS):
            counter = getattr(self, name)
            with m.If(verdict[k]):
                m.d.sync += counter.eq(counter + 1)

        # a register behind the memory, whose output is slow, and one from which whoever takes the bytes is seen
        leave = StreamRegister(8)
        place(m, platform, "leave", leave)
        offered, moves = Signal(), Signal()
        m.d.comb += [
            offered.eq(head != committed),
            moves.eq(~leave.i.valid | leave.i.ready),
            self.pending.eq(closed | judged | offered | leave.i.valid | leave.o.valid),
            next_head.eq(Mux(offered & moves, after_head, head)),
            read.addr.eq(next_head),
            read.en.eq(1),
            self.o.valid.eq(leave.o.valid),
            self.o.payload.eq(leave.o.payload),
            leave.o.ready.eq(self.o.ready),
        ]
        m.d.sync += head.eq(next_head)
        with m.If(offered & moves):
            m.d.sync += after_head.eq(after_head + 1)
        with m.If(moves):
            m.d.sync += [leave.i.valid.eq(offered), leave.i.payload.eq(read.data)]
        return m


class Dispatcher(Shape):
    """Takes frames as :class:`Receiver` offers them: tasks become beats on ``beats``; for a hello, whose number is on
    ``nonce``, ``ask`` is high until ``answered``, and nothing after it is looked at before. ``busy``: amid a frame."""

    shape_name = "dispatcher"

    def __init__(self, tasks: TaskFormat) -> None:
        self.tasks = tasks
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "beats": Out(stream.Signature(tasks.task.beat_bits)),
                "last": Out(1),
                "nonce": Out(8 * NONCE_BYTES),
                "ask": Out(1),
                "answered": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.tasks.task
        size = packing.beat_bytes
        data = Signal(8 * size, reset_less=True)
        count = Signal(range(max(size, NONCE_BYTES) + 1))
        length = task_bytes(m, self.tasks, self.i.payload[:FUNCTION_BITS], "length")
        left, begun = Signal(len(length)), Signal()
        # whether a beat is whole, and nothing is left: registers, as all of the beat waits for them
        whole, over = Signal(), Signal()
        m.d.comb += [self.beats.payload.eq(data[: packing.beat_bits]), self.last.eq(over)]
        more = Mux(begun, left, length)
        with m.FSM() as fsm:
            with m.State("KIND"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [begun.eq(0), count.eq(0), whole.eq(0), over.eq(0)]
                with m.If(self.i.valid):
                    with m.If(self.i.payload == Kind.HELLO):
                        m.next = "NONCE"
                    with m.Else():
                        m.next = "TASK"
            with m.State("NONCE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [self.nonce.eq(Cat(self.nonce[8:], self.i.payload)), count.eq(count + 1)]
                    with m.If(count == NONCE_BYTES - 1):
                        m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.ask.eq(1)
                with m.If(self.answered):
                    m.next = "KIND"
            with m.State("TASK"):
                # a last beat that ends early is filled up with zeros
                with m.If(whole):
                    m.d.comb += self.beats.valid.eq(1)
                    with m.If(self.beats.ready):
                        m.d.sync += [count.eq(0), whole.eq(0)]
                        with m.If(over):
                            m.next = "KIND"
                with m.Else():
                    m.d.comb += self.i.ready.eq(~over)
                    with m.If(self.i.valid | over):
                        m.d.sync += [
                            data.eq(Cat(data[8:], Mux(over, 0, self.i.payload))),
                            count.eq(count + 1),
                            whole.eq(count == size - 1),
                        ]
                    with m.If(self.i.valid & ~over):
                        m.d.sync += [left.eq(more - 1), over.eq(more == 1), begun.eq(1)]
        m.d.comb += self.busy.eq(~fsm.ongoing("KIND"))
        return m
