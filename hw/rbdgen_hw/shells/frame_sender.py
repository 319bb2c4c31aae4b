# amaranth: UnusedElaboratable=no
"""Result beats and answers to hellos into frames by bytes: what :mod:`rbdgen.protocol.frames` does, in hardware."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import CRC_BYTES, ESCAPE, ESCAPE_BIT, FLAG, HEAD_BYTES, Kind
from rbdgen.protocol.tasks import HEADER_BITS, TaskFormat
from rbdgen_hw.checksum import CRC_BITS, stepped
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import registered
from rbdgen_hw.shells.frame_receiver import BYTE
from rbdgen_hw.shells.lengths import results_of
from rbdgen_hw.shells.status import ANSWER_BYTES


class Sender(SharedComponent):
    """``beats``: results, whole ones without a pause of other frames between; ``left`` strobes with the last beat of
    each. The answer to a hello, whose byte at ``place`` is ``answer`` two cycles later, is sent when ``send`` is high
    and no result is waiting, and ``sent`` strobes when all of it was. ``o``: bytes of the link, which take 8 /
    ``at_once`` cycles and three more. ``busy``: something is under way."""

    module_name = "sender"

    def __init__(self, tasks: TaskFormat, at_once: int) -> None:
        self.packets = results_of(tasks)
        self.at_once = at_once
        super().__init__(
            {
                "beats": In(stream.Signature(tasks.result.beat_bits)),
                "left": Out(1),
                "place": Out(range(ANSWER_BYTES)),
                "answer": In(BYTE),
                "send": In(1),
                "sent": Out(1),
                "busy": Out(1),
                "o": Out(stream.Signature(BYTE)),
                **self.packets.ports,
            }
        )

    def elaborate(self, platform: object) -> Module:
        return SenderBuilder(self).build()


IDLE, OPEN, HEAD, BODY, CHECK, CLOSE = range(6)
"""What is being sent: nothing, the flag before a frame, its kind and length, its payload, its check sum, the flag
behind it. An answer is all payload, as its memory has the kind and the length, too."""
CHOOSE, OFFER, GO = range(3)
"""The way of a byte: it is chosen, offered, and then gone through bit by bit, while it settles what comes next."""


def reached(count: Value, number: int) -> Value:
    """Whether a count, which goes up from zero and no further than to this ``number``, is there: no smaller one has all
    of its bits."""
    return Cat(count[k] for k in range(number.bit_length()) if number >> k & 1).all()


class SenderBuilder:
    """Writes the module of a sender, ``ports``."""

    def __init__(self, ports: Sender) -> None:
        self.ports = ports
        self.m = m = Module()
        self.state = state = Signal(range(CLOSE + 1))
        self.idle = state == IDLE
        self.opens = state == OPEN
        self.body = state == BODY
        self.checks = state == CHECK
        self.closes = state == CLOSE
        # between frames and payloads
        self.flags = self.opens | self.closes
        self.step = step = Signal(range(GO + 1))
        self.offers = step == OFFER
        self.goes = step == GO
        self.hello = Signal()
        self.of_task = self.body & ~self.hello
        self.byte = Signal(BYTE, reset_less=True)
        self.crc = Signal(CRC_BITS, init=-1)
        # bytes of the state's that were offered, and whether a byte was gone through
        longest = max(ports.packets.longest, ANSWER_BYTES)
        self.count = count = Signal(range(longest + 1))
        self.done = Signal()
        # the length is looked up until a frame begins
        head = ports.beats.payload[:HEADER_BITS]
        self.length = ports.packets.kept(m, ports, head, self.idle)
        answered = reached(count, ANSWER_BYTES)
        told = count == self.length.bytes
        ended = Mux(self.hello, answered, told)
        self.over = registered(m, ended, "over")

    def build(self) -> Module:
        """The module."""
        m, ports = self.m, self.ports
        taken = self._offer()
        number = self._number(taken & self.offers)
        self._choose(number)
        bit = self._go_through()
        waits = self.of_task & ~ports.beats.valid
        there = ~self.idle & ~waits
        with m.Switch(self.step):
            with m.Case(CHOOSE), m.If(there):
                m.d.sync += self.step.eq(OFFER)
            with m.Case(OFFER), m.If(taken):
                m.d.sync += [
                    self.step.eq(GO),
                    self.count.eq(self.count + ~self.flags),
                ]
            with m.Case(GO):
                m.d.comb += self.done.eq(bit == BYTE - ports.at_once)
                with m.If(self.done):
                    m.d.sync += self.step.eq(CHOOSE)
        self._move_on()
        task_done = self.done & self.of_task
        # a beat goes with its last byte, or the packet's
        beat_over = (number == 0) | self.over
        m.d.comb += [
            ports.place.eq(self.count),
            ports.busy.eq(~self.idle),
            ports.sent.eq(self.done & self.hello & self.closes),
            ports.beats.ready.eq(task_done & beat_over),
            ports.left.eq(task_done & self.over),
        ]
        return m

    def _number(self, taken: Value) -> Value:
        """The number of the next byte in its beat."""
        m, size = self.m, self.ports.packets.packing.beat_bytes
        if size.bit_count() == 1:
            return self.count[: size.bit_length() - 1]
        number = Signal(range(size))
        ends = number == size - 1
        with m.If(~self.body):
            m.d.sync += number.eq(0)
        with m.Elif(taken):
            m.d.sync += number.eq(Mux(ends, 0, number + 1))
        return number

    def _choose(self, number: Value) -> None:
        """Choose a byte: of a beat that of this number."""
        m, ports = self.m, self.ports
        beat = Signal(BYTE * ports.packets.packing.beat_bytes)
        m.d.comb += beat.eq(ports.beats.payload)
        source = Signal(BYTE)
        lengths = self.length.bytes
        with m.Switch(self.state):
            with m.Case(HEAD), m.Switch(self.count[:2]):
                with m.Case(0):
                    m.d.comb += source.eq(Kind.TASK)
                with m.Case(1):
                    m.d.comb += source.eq(lengths[:BYTE])
                with m.Default():
                    m.d.comb += source.eq(lengths[BYTE:])
            with m.Case(BODY):
                byte = beat.word_select(number, BYTE)
                m.d.comb += source.eq(Mux(self.hello, ports.answer, byte))
            with m.Default():
                m.d.comb += source.eq(~self.crc[:BYTE])
        with m.If(self.step == CHOOSE):
            m.d.sync += self.byte.eq(source)
        with m.If(self.flags):
            m.d.sync += self.byte.eq(FLAG)

    def _offer(self) -> Value:
        """Offer the byte, behind an escape where it looks like a flag; whether it is taken."""
        m, out = self.m, self.ports.o
        escaped = Signal()
        looks_so = (self.byte == FLAG) | (self.byte == ESCAPE)
        special = looks_so & ~self.flags & ~escaped
        inverted = Mux(escaped, ESCAPE_BIT, 0)
        m.d.comb += [
            out.valid.eq(self.offers),
            out.payload.eq(Mux(special, ESCAPE, self.byte ^ inverted)),
        ]
        with m.If(out.valid & out.ready):
            m.d.sync += escaped.eq(special)
        return out.ready & ~special

    def _go_through(self) -> Value:
        """Take the byte into the check sum, or, once that is sent, move it on; the bit that is at its turn."""
        m, at_once = self.m, self.ports.at_once
        bit = Signal(range(BYTE))
        number = bit[at_once.bit_length() - 1 :]
        bits = self.byte.word_select(number, at_once)
        # what is the same as the lowest bits only moves the others
        own = self.crc[:at_once]
        given = Mux(self.checks, own, bits)
        with m.If(self.opens):
            m.d.sync += self.crc.eq(-1)
        with m.Elif(self.goes):
            m.d.sync += self.crc.eq(stepped(self.crc, given))
        with m.If(self.goes):
            m.d.sync += bit.eq(bit + at_once)
        return bit

    def _move_on(self) -> None:
        """What comes behind a byte, or next."""
        m, ports, state = self.m, self.ports, self.state
        headed = reached(self.count, HEAD_BYTES)
        checked = reached(self.count, CRC_BYTES)
        first = Mux(self.hello, BODY, HEAD)
        ends = Signal()
        with m.If(self.done), m.Switch(state):
            with m.Case(OPEN):
                m.d.sync += state.eq(first)
            with m.Case(HEAD):
                m.d.comb += ends.eq(headed)
            with m.Case(BODY):
                m.d.comb += ends.eq(self.over)
            with m.Case(CHECK):
                m.d.comb += ends.eq(checked)
            with m.Case(CLOSE):
                m.d.sync += state.eq(IDLE)
        with m.If(ends):
            m.d.sync += [
                state.eq(state + 1),
                self.count.eq(0),
            ]
        with m.If(self.idle):
            m.d.sync += self.hello.eq(~ports.beats.valid)
            with m.If(ports.beats.valid | ports.send):
                m.d.sync += state.eq(OPEN)
