# amaranth: UnusedElaboratable=no
"""Bytes from a link into whole frames: unescaping, checking, and a buffer that keeps only what is whole.

It counts and drops exactly as :class:`rbdgen.shells.shell.ShellModel` does; only it can run out of room, too.
"""

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
    FRAME_BYTES,
    HEAD_BYTES,
    NONCE_BYTES,
    Kind,
    buffer_bytes,
)
from rbdgen.protocol.tasks import TaskFormat
from rbdgen_hw.fifo import offer, ring_memory
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.shells.lengths import tasks_of

COUNTERS = ("accepted", "damaged", "overrun", "rejected")
COUNTER_BITS = 32


class Receiver(SharedComponent):
    """``i``: bytes of the link. ``o``: of every accepted frame its kind and its payload, byte by byte; a frame is
    offered when all of it has come, and ``pending`` until its last byte is taken. The counters are those of
    :class:`rbdgen.protocol.frames.Status`. A byte goes a step per clock, from register to register, so that a link
    never is what limits a device's clock."""

    module_name = "receiver"

    def __init__(self, tasks: TaskFormat) -> None:
        self.tasks = tasks
        self.packets = tasks_of(tasks)
        counters = {name: Out(COUNTER_BITS) for name in COUNTERS}
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "o": Out(stream.Signature(8)),
                "pending": Out(1),
                **counters,
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        return ReceiverBuilder(self, platform).build()


class ReceiverBuilder:
    """Writes the module of a receiver, ``ports``."""

    def __init__(self, ports: Receiver, platform: object) -> None:
        self.ports = ports
        self.platform = platform
        self.m = m = Module()
        self.depth = depth = buffer_bytes(ports.tasks)
        m.submodules.checksum = self.crc = CRC32_ISO_HDLC(8).create()
        self.write, self.read = ring_memory(m, 8, depth)
        # the ring: what is read, what was written, and the end of the last whole frame
        self.head = Signal(range(depth))
        self.tail = Signal(range(depth))
        self.committed = Signal(range(depth))
        self.after_tail = Signal(range(depth), init=1)
        # a frame of ``depth`` bytes is the longest that may be whole
        self.count = Signal(range(depth + 2))
        self.kind, self.length = (Signal(bits) for bits in (8, 16))
        self.first = Signal(8)
        # the present frame: begun, amid an escape, spoilt, without room
        self.started, self.escaping, self.bad, self.full = (Signal() for _ in range(4))
        # behind its end: to be judged, judged, undamaged, of a length that its kind may have
        self.closed, self.judged, self.whole, self.fits = (Signal() for _ in range(4))
        # a byte without its escape, as it comes and a cycle later
        self.plain, self.is_plain = (Signal(bits) for bits in (8, 1))
        byte, has_byte = Signal(8, reset_less=True), Signal()
        self.byte = byte
        self.has_byte = has_byte

    def build(self) -> Module:
        """The module."""
        self._take_bytes()
        self._keep_bytes()
        self._close_frame()
        self._count_verdict(self._judge())
        self._offer()
        return self.m

    def _take_bytes(self) -> None:
        """Bytes of the link become bytes of frames."""
        m = self.m
        incoming = self.ports.i
        is_flag = Signal()
        unescaped = incoming.payload ^ ESCAPE_BIT
        plain = Mux(self.escaping, unescaped, incoming.payload)
        m.d.comb += [
            incoming.ready.eq(~self.closed & ~self.judged),
            is_flag.eq(incoming.payload == FLAG),
            self.plain.eq(plain),
            self.crc.data.eq(self.byte),
            self.crc.valid.eq(self.has_byte),
            self.crc.start.eq(self.judged),
            self.write.addr.eq(self.tail),
            self.write.data.eq(self.byte),
        ]
        m.d.sync += [
            self.byte.eq(self.plain),
            self.has_byte.eq(self.is_plain),
        ]
        valid_escape = (self.plain == FLAG) | (self.plain == ESCAPE)
        is_escape = incoming.payload == ESCAPE
        with m.If(incoming.valid & incoming.ready):
            m.d.sync += self.started.eq(~is_flag)
            with m.If(is_flag):
                m.d.sync += self.closed.eq(self.started)
            with m.Elif(~self.escaping & is_escape):
                m.d.sync += self.escaping.eq(1)
            with m.Else():
                m.d.comb += self.is_plain.eq(1)
                m.d.sync += self.escaping.eq(0)
                with m.If(self.escaping & ~valid_escape):
                    m.d.sync += self.bad.eq(1)

    def _keep_bytes(self) -> None:
        """A frame's head goes to registers, what follows into the buffer; of the head only the kind does, too."""
        m = self.m
        count = self.count
        m.d.sync += self.after_tail.eq(self.tail + 1)
        with m.If(self.has_byte):
            with m.If(count != self.depth + 1):
                m.d.sync += count.eq(count + 1)
            with m.Switch(count):
                with m.Case(0):
                    m.d.sync += self.kind.eq(self.byte)
                with m.Case(1):
                    m.d.sync += self.length[:8].eq(self.byte)
                with m.Case(2):
                    m.d.sync += self.length[8:].eq(self.byte)
                with m.Case(HEAD_BYTES):
                    m.d.sync += self.first.eq(self.byte)
            with m.If((count == 0) | (count >= HEAD_BYTES)):
                with m.If(self.after_tail == self.head):
                    m.d.sync += self.full.eq(1)
                with m.Elif(~self.full):
                    m.d.comb += self.write.en.eq(1)
                    m.d.sync += [
                        self.tail.eq(self.after_tail),
                        self.after_tail.eq(self.after_tail + 1),
                    ]

    def _close_frame(self) -> None:
        """Keep what is known of a frame that has ended."""
        m = self.m
        count = self.count
        packets = self.ports.packets
        task_length = packets.found(
            m, self.ports, self.first, packets.packing.packet_bytes, "task_length"
        )
        fits_task = (self.kind == Kind.TASK) & (self.length == task_length)
        fits_hello = (self.kind == Kind.HELLO) & (self.length == NONCE_BYTES)
        undamaged = ~self.bad & ~self.escaping & self.crc.match_detected
        complete = count == self.length + FRAME_BYTES
        short_enough = count != self.depth + 1
        m.d.sync += self.judged.eq(0)
        with m.If(self.closed):
            m.d.sync += [
                self.closed.eq(0),
                self.judged.eq(1),
                self.whole.eq(undamaged & complete & short_enough),
                self.fits.eq(fits_task | fits_hello),
            ]

    def _judge(self) -> Signal:
        """Keep a frame, or drop it; the counter that this is for, as a bit."""
        m = self.m
        verdict = Signal(len(COUNTERS))
        with m.If(self.judged):
            with m.If(~self.whole):
                m.d.comb += verdict.eq(_bit("damaged"))
            with m.Elif(~self.fits):
                m.d.comb += verdict.eq(_bit("rejected"))
            with m.Elif(self.full):
                m.d.comb += verdict.eq(_bit("overrun"))
            with m.Else():
                m.d.comb += verdict.eq(_bit("accepted"))
            accepted = verdict[COUNTERS.index("accepted")]
            before_crc = self.tail - CRC_BYTES
            end = Mux(accepted, before_crc, self.committed)[: len(self.tail)]
            m.d.sync += [
                self.committed.eq(end),
                self.tail.eq(end),
                self.count.eq(0),
                self.escaping.eq(0),
                self.bad.eq(0),
                self.full.eq(0),
            ]
        return verdict

    def _count_verdict(self, verdict: Signal) -> None:
        m = self.m
        for k, name in enumerate(COUNTERS):
            counter = getattr(self.ports, name)
            with m.If(verdict[k]):
                m.d.sync += counter.eq(counter + 1)

    def _offer(self) -> None:
        """Whole frames leave the buffer."""
        m = self.m
        waits = offer(m, self.platform, self.read, self.head, self.committed, self.ports.o)
        kept = self.head != self.committed
        m.d.comb += self.ports.pending.eq(self.closed | self.judged | kept | waits)


def _bit(counter: str) -> int:
    """A verdict: the bit of the counter of that name."""
    return 1 << COUNTERS.index(counter)


class Dispatcher(SharedComponent):
    """Takes frames as :class:`Receiver` offers them: tasks become beats on ``beats``; for a hello, whose number is on
    ``nonce``, ``ask`` is high until ``answered``, and nothing after it is looked at before. ``busy``: amid a frame."""

    module_name = "dispatcher"

    def __init__(self, tasks: TaskFormat) -> None:
        self.packets = tasks_of(tasks)
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "beats": Out(stream.Signature(tasks.task.beat_bits)),
                "last": Out(1),
                "nonce": Out(8 * NONCE_BYTES),
                "ask": Out(1),
                "answered": In(1),
                "busy": Out(1),
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.packets.packing
        size = packing.beat_bytes
        data = Signal(8 * size, reset_less=True)
        count = Signal(range(max(size, NONCE_BYTES) + 1))
        length = self.packets.found(m, self, self.i.payload, packing.packet_bytes, "length")
        left, begun = Signal(len(length)), Signal()
        # whether a beat is whole, and nothing is left: registers, as all of the beat waits for them
        whole, over = Signal(), Signal()
        m.d.comb += [
            self.beats.payload.eq(data[: packing.beat_bits]),
            self.last.eq(over),
        ]
        more = Mux(begun, left, length)
        next_byte = Mux(over, 0, self.i.payload)
        with m.FSM() as fsm:
            with m.State("KIND"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    begun.eq(0),
                    count.eq(0),
                    whole.eq(0),
                    over.eq(0),
                ]
                with m.If(self.i.valid):
                    with m.If(self.i.payload == Kind.HELLO):
                        m.next = "NONCE"
                    with m.Else():
                        m.next = "TASK"
            with m.State("NONCE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [
                        self.nonce.eq(Cat(self.nonce[8:], self.i.payload)),
                        count.eq(count + 1),
                    ]
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
                        m.d.sync += [
                            count.eq(0),
                            whole.eq(0),
                        ]
                        with m.If(over):
                            m.next = "KIND"
                with m.Else():
                    m.d.comb += self.i.ready.eq(~over)
                    with m.If(self.i.valid | over):
                        m.d.sync += [
                            data.eq(Cat(data[8:], next_byte)),
                            count.eq(count + 1),
                            whole.eq(count == size - 1),
                        ]
                    with m.If(self.i.valid & ~over):
                        m.d.sync += [
                            left.eq(more - 1),
                            over.eq(more == 1),
                            begun.eq(1),
                        ]
        m.d.comb += self.busy.eq(~fsm.ongoing("KIND"))
        return m
