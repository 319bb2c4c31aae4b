# amaranth: UnusedElaboratable=no
"""The shell of a link of datagrams: everything between UDP's datagrams in both directions and an accelerator."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.errors import ConfigError
from rbdgen.protocol.datagrams import WORD_BYTES, buffer_bytes, capacity
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.shells.datagram_receiver import (
    ADDRESS_BITS,
    COUNT_BITS,
    COUNTERS,
    HELLO_WORDS,
    INCOMING,
    KIND_BITS,
    PORT_BITS,
    DatagramReceiver,
    Record,
)
from rbdgen_hw.shells.datagram_sender import OUTGOING, DatagramSender
from rbdgen_hw.shells.gearbox import WORD_BITS, BeatsToWords, WordsToBeats
from rbdgen_hw.shells.lengths import results_of, tasks_of
from rbdgen_hw.shells.link import IN_FLIGHT_BITS, instantiate_accelerator
from rbdgen_hw.top import Hardware


class RecordReader(SharedComponent):
    """Takes records as :class:`rbdgen_hw.shells.datagram_receiver.DatagramReceiver` offers them: words of TASKS of the
    session of that ``number`` go to ``o``. For a request, which is on ``opens``, ``session``, ``nonce``, ``address``
    and ``port``, ``ask`` is high until ``answered``, and nothing after it is looked at before; they stay until another
    request comes when ``keep`` is low. ``busy``: amid a record."""

    module_name = "record_reader"

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(WORD_BITS)),
                "o": Out(stream.Signature(WORD_BITS)),
                "number": In(PORT_BITS),
                "opens": Out(1),
                "session": Out(WORD_BITS),
                "nonce": Out(WORD_BITS),
                "address": Out(ADDRESS_BITS),
                "port": Out(PORT_BITS),
                "ask": Out(1),
                "answered": In(1),
                "keep": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i.payload
        kind = word[:KIND_BITS]
        upper = word[KIND_BITS + COUNT_BITS :]
        left, index = Signal(COUNT_BITS), Signal(range(HELLO_WORDS))
        port, opens = Signal(PORT_BITS), Signal()
        m.d.comb += self.o.payload.eq(word)
        with m.FSM() as fsm:
            with m.State("RECORD"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    left.eq(word[KIND_BITS:]),
                    index.eq(0),
                    port.eq(upper),
                    opens.eq(kind == Record.OPEN),
                ]
                with m.If(self.i.valid):
                    with m.If((kind == Record.TASKS) & (upper == self.number)):
                        m.next = "TASKS"
                    with m.Elif((kind == Record.SKIP) | (kind == Record.TASKS)):
                        m.next = "SKIP"
                    with m.Else():
                        m.next = "REQUEST"
            with m.State("TASKS"):
                m.d.comb += [
                    self.o.valid.eq(self.i.valid),
                    self.i.ready.eq(self.o.ready),
                ]
                with m.If(self.i.valid & self.o.ready):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "RECORD"
            with m.State("SKIP"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "RECORD"
            with m.State("REQUEST"):
                m.d.comb += self.i.ready.eq(~self.keep)
                with m.If(self.i.valid & ~self.keep):
                    m.d.sync += [
                        # three words pass through, the address last
                        self.session.eq(self.nonce),
                        self.nonce.eq(self.address),
                        self.address.eq(word),
                        self.port.eq(port),
                        self.opens.eq(opens),
                        index.eq(index + 1),
                    ]
                    with m.If(index == HELLO_WORDS - 1):
                        m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += self.ask.eq(1)
                with m.If(self.answered):
                    m.next = "RECORD"
        m.d.comb += self.busy.eq(~fsm.ongoing("RECORD"))
        return m


class DatagramShell(SharedComponent):
    """Ports ``i`` and ``o``: datagrams of UDP; ``idle``: nothing received is unanswered. A session is kept from others
    for ``hold`` cycles behind the last that came of its owner. ConfigError on elaboration for several accelerators."""

    module_name = "datagrams"

    def __init__(self, design: Hardware, identity: bytes, hold: int) -> None:
        self.design = design
        self.identity = identity
        self.hold = hold
        super().__init__({"i": In(INCOMING), "o": Out(OUTGOING), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        return ShellBuilder(self, platform).build()


class ShellBuilder:
    """Writes the module of a shell, ``ports``."""

    def __init__(self, ports: DatagramShell, platform: object) -> None:
        tasks, option = ports.design.tasks, ports.design.multiplied_by
        if tasks.replicas > 1:
            raise ConfigError(
                f"{option}: a link of datagrams feeds one accelerator, not {tasks.replicas}; leave {option} out, or "
                "use the AXI shell"
            )
        self.ports = ports
        self.platform = platform
        self.tasks = tasks
        self.m = Module()
        self.receiver = DatagramReceiver(tasks, buffer_bytes(tasks) // WORD_BYTES)
        self.reader = RecordReader()
        self.to_beats = WordsToBeats(tasks_of(tasks))
        self.to_words = BeatsToWords(results_of(tasks))
        self.sender = DatagramSender(tasks)
        # nothing is in the accelerator nor on its way into or out of it
        self.drained = Signal()
        # a session begins, of the one who asks
        self.begin = Signal()

    def build(self) -> Module:
        """The module."""
        m, platform = self.m, self.platform
        instantiate(m, platform, "receiver", self.receiver)
        instantiate(m, platform, "reader", self.reader)
        instantiate(m, platform, "to_beats", self.to_beats)
        instantiate(m, platform, "to_words", self.to_words)
        instantiate(m, platform, "sender", self.sender)
        self._connect()
        self._count_tasks()
        self._keep_session()
        self._answer()
        return m

    def _connect(self) -> None:
        """Both ways, from end to end."""
        m, ports = self.m, self.ports
        listeners = self.receiver, self.to_beats, self.to_words, self.sender
        to_core, from_core = instantiate_accelerator(m, self.platform, ports.design, listeners)
        forward(m, self.receiver.o, self.reader.i)
        forward(m, self.reader.o, self.to_beats.i)
        forward(m, self.to_beats.beats, to_core)
        forward(m, from_core, self.to_words.beats)
        forward(m, self.to_words.o, self.sender.i)
        i, o = self.receiver.i, self.sender.o
        m.d.comb += [
            self.sender.last.eq(self.to_words.last),
            i.valid.eq(ports.i.valid),
            i.last.eq(ports.i.last),
            i.data.eq(ports.i.data),
            i.error.eq(ports.i.error),
            i.address.eq(ports.i.address),
            i.port.eq(ports.i.port),
            i.length.eq(ports.i.length),
            ports.i.ready.eq(i.ready),
            ports.o.valid.eq(o.valid),
            ports.o.last.eq(o.last),
            ports.o.data.eq(o.data),
            ports.o.address.eq(o.address),
            ports.o.port.eq(o.port),
            ports.o.length.eq(o.length),
            o.ready.eq(ports.o.ready),
        ]

    def _count_tasks(self) -> None:
        """Whether there are tasks whose results have not left."""
        m, beats = self.m, self.to_beats.beats
        in_flight, entered, left = Signal(IN_FLIGHT_BITS), Signal(), Signal()
        enters = beats.valid & beats.ready & self.to_beats.last
        m.d.sync += [
            entered.eq(enters),
            left.eq(self.to_words.left),
            self.drained.eq(
                (in_flight == 0) & ~entered & ~self.to_beats.busy & ~self.to_words.busy
            ),
        ]
        with m.If(entered & ~left):
            m.d.sync += in_flight.eq(in_flight + 1)
        with m.Elif(~entered & left):
            m.d.sync += in_flight.eq(in_flight - 1)

    def _keep_session(self) -> None:
        """The session and its owner; how long nothing of it came."""
        m, reader, receiver = self.m, self.reader, self.receiver
        owner, hold = receiver.owner, self.ports.hold
        session, address, port = Signal(WORD_BITS), Signal(ADDRESS_BITS), Signal(PORT_BITS)
        number = Signal(PORT_BITS)
        silent = Signal(range(hold + 1))
        m.d.comb += [
            owner.session.eq(session),
            owner.address.eq(address),
            owner.port.eq(port),
            owner.number.eq(number),
            self.sender.owner.session.eq(session),
            self.sender.owner.address.eq(address),
            self.sender.owner.port.eq(port),
            self.sender.owner.number.eq(number),
            reader.number.eq(number),
            receiver.begin.eq(self.begin),
            self.sender.begin.eq(self.begin),
        ]
        with m.If(receiver.heard | self.begin):
            m.d.sync += silent.eq(0)
        with m.Elif(silent != hold):
            m.d.sync += silent.eq(silent + 1)
        self.abandoned = (session == 0) | (silent == hold)
        # 0 is no session
        self.another = (reader.session != 0) & (reader.session != session)
        with m.If(self.begin):
            m.d.sync += [
                session.eq(reader.session),
                address.eq(reader.address),
                port.eq(reader.port),
                number.eq(number + 1),
            ]

    def _answer(self) -> None:
        """Requests are answered when everything before them is; one for a session by then has it or not."""
        m, reader, sender, receiver = self.m, self.reader, self.sender, self.receiver
        # the first request since the reset names what follows it
        epoch, named = Signal(WORD_BITS), Signal()
        with m.If(reader.ask & ~named):
            m.d.sync += [
                epoch.eq(reader.nonce),
                named.eq(1),
            ]
        settled, waits = Signal(), Signal()
        m.d.comb += waits.eq(reader.ask & named & self.drained)
        with m.FSM():
            with m.State("WAIT"):
                with m.If(waits & ~reader.opens):
                    m.next = "ASK"
                with m.If(waits & reader.opens & sender.idle & settled & ~receiver.judged):
                    m.d.comb += self.begin.eq(self.abandoned & self.another)
                    m.next = "ASK"
            with m.State("ASK"):
                m.d.comb += sender.ask.eq(1)
                with m.If(sender.told):
                    m.d.comb += reader.answered.eq(1)
                    m.next = "WAIT"
        waiting = receiver.pending | reader.busy
        quiet = self.drained & ~waiting
        m.d.sync += settled.eq(waits)
        identity = int.from_bytes(self.ports.identity, "little")
        counters = [getattr(receiver, name) for name in COUNTERS]
        status = Cat(
            Const(identity, 8 * len(self.ports.identity)),
            epoch,
            Const(capacity(self.tasks), WORD_BITS),
            receiver.expected,
            sender.number,
            *counters,
        )
        m.d.comb += [
            sender.status.eq(status),
            sender.asker.nonce.eq(reader.nonce),
            sender.asker.address.eq(reader.address),
            sender.asker.port.eq(reader.port),
            reader.keep.eq(sender.answering),
        ]
        m.d.sync += [
            sender.flush.eq(quiet | waits),
            self.ports.idle.eq(quiet & sender.idle & ~self.ports.i.valid),
        ]
