"""How long packets are, by the code in their header: known when a shell is made, or, where programs come over the link,
from what was loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory, WritePort
from amaranth.lib.wiring import In

from rbdgen.machines.engine.loading import PART_BITS, RESULT_PART, TASK_PART
from rbdgen.protocol.datagrams import WORD_BYTES, padded
from rbdgen.protocol.frames import NONCE_BYTES
from rbdgen.protocol.loading import ROUTINE
from rbdgen.protocol.tasks import (
    FLAG_BITS,
    FUNCTION_BITS,
    HEADER_BITS,
    TAG_BITS,
    Flag,
    Packing,
    TaskFormat,
)
from rbdgen.protocol.tasks import LOAD as LOAD_CODE
from rbdgen_hw.engine.loading import LOAD

CODES = range(1 << FUNCTION_BITS)
ERROR_BIT = FUNCTION_BITS + TAG_BITS + int(Flag.FUNCTION).bit_length() - 1
"""Of a header the bit that says that there is no such function."""
HELLO_NEVER = Const(0, 0)
"""Where packets come that are no hellos."""


@dataclass(frozen=True)
class Packets:
    """Packets in one direction, of so many ``words`` behind their headers by code, others of none. ``most``: where
    programs come over the link, so many words at most. ``part`` of a routine's entry says then how many there are, and
    ``over`` by how many that is more."""

    packing: Packing
    words: Mapping[int, int] = field(hash=False)
    most: int = 0
    part: int = 0
    over: int = 0

    @property
    def longest(self) -> int:
        """Bytes of the longest."""
        return self.packing.packet_bytes(max([*self.words.values(), self.most]))

    def padded_words(self, values: int) -> int:
        """Words of 32 bits that a packet of so many values takes in a datagram."""
        return padded(self.packing.packet_bytes(values)) // WORD_BYTES

    @property
    def ports(self) -> dict[str, Any]:
        """Ports of whatever looks lengths up: what is loaded, if anything is."""
        return {"load": In(LOAD)} if self.most else {}

    def found(
        self,
        m: Module,
        owner: Any,
        head: Value,
        of: Callable[[int], int],
        name: str,
        most: int = 0,
    ) -> Signal:
        """What ``of`` gives for the words of a packet that begins with this ``head``: a new signal, driven in ``m``, a
        module of the ``owner`` of :attr:`ports`, with room for ``most`` where that is more."""
        (found,) = self.several(m, owner, head, {name: of}, most)
        return found

    def several(
        self,
        m: Module,
        owner: Any,
        head: Value,
        wanted: Mapping[str, Callable[[int], int]],
        most: int = 0,
    ) -> list[Signal]:
        """The same of several things, by the names of their signals. Where words are loaded each is a multiple of them
        and a number."""
        code = head[:FUNCTION_BITS]
        if not self.most:
            words = [self.words.get(known, 0) for known in CODES]
            return [
                by_code(m, code, list(map(of, words)), name, most) for name, of in wanted.items()
            ]
        words = self._loaded(m, owner, code)
        if len(head) >= HEADER_BITS:
            # what was answered before there was such a function
            flags = head[HEADER_BITS - FLAG_BITS : HEADER_BITS]
            words = Mux((flags & int(Flag.FUNCTION)).any(), 0, words)
        found = []
        for name, of in wanted.items():
            signal = Signal(range(max(of(self.most), most) + 1), name=name)
            m.d.comb += signal.eq(words * (of(1) - of(0)) + of(0))
            found.append(signal)
        return found

    def _loaded(self, m: Module, owner: Any, code: Value) -> Value:
        """The words of packets of a code, as they were loaded."""
        init = [self.words.get(known, 0) for known in CODES]
        # as many bits as those of an entry that say so
        table = Memory(shape=self.most.bit_length(), depth=len(CODES), init=init)
        m.submodules.lengths = table
        reading = table.read_port(domain="comb")
        writing = self._written(m, owner, table)
        # an entry of no function is nothing but zeros
        less = owner.load.data[: len(writing.data)] - self.over
        m.d.comb += [
            writing.data.eq(Mux(owner.load.data.any(), less, 0)),
            reading.addr.eq(code),
        ]
        return reading.data

    def _written(self, m: Module, owner: Any, table: Memory) -> WritePort:
        """The port by which a table, by codes, is written as routines are loaded: all but its data."""
        load = owner.load
        writing = table.write_port()
        m.d.comb += [
            writing.en.eq(
                load.on & (load.target == ROUTINE) & (load.address[:PART_BITS] == self.part)
            ),
            writing.addr.eq(load.address[PART_BITS : PART_BITS + FUNCTION_BITS]),
        ]
        return writing

    def kept(
        self, m: Module, owner: Any, head: Value, begins: Value, hello: Value = HELLO_NEVER
    ) -> Length:
        """How long the packet is that begins with this ``head`` when ``begins`` is high, or the nonce of a ``hello``:
        known from the next cycle on until another one begins. For links that bring bytes one after the other, which
        have time for a block memory."""
        code = head[:FUNCTION_BITS]
        if not self.most:
            own = Signal(FUNCTION_BITS + len(hello), name="code")
            with m.If(begins):
                m.d.sync += own.eq(Cat(code, hello))
            return Length(self, m, own)
        # what no function answers is answered as a load is
        entries = [self.words.get(known, 0) for known in CODES]
        entries[LOAD_CODE] += self.over
        if len(head) >= HEADER_BITS:
            code = code | head[ERROR_BIT].replicate(FUNCTION_BITS)
        # a nonce is as long as a header that has no words behind it
        assert self.packing.packet_bytes(0) == NONCE_BYTES
        attributes = {"ram_style": "block", "no_rw_check": 1}
        depth = len(CODES) << len(hello)
        table = Memory(shape=self.most.bit_length(), depth=depth, init=entries, attrs=attributes)
        m.submodules.lengths = table
        reading, writing = table.read_port(), self._written(m, owner, table)
        m.d.comb += [
            writing.data.eq(owner.load.data),
            reading.en.eq(begins),
            reading.addr.eq(Cat(code, hello)),
        ]
        return Length(self, m, reading.data)


@dataclass(frozen=True)
class Length:
    """The length of a packet in a module: ``value`` is its code, or what was loaded of it."""

    packets: Packets
    module: Module = field(hash=False)
    value: Value = field(hash=False)

    @property
    def bytes(self) -> Value:
        """Bytes of it."""
        packets = self.packets
        if not packets.most:
            return self._by_code(0, "bytes")
        beats = self.value if packets.over else self.value + 1
        return Cat(Const(0, _log2(packets.packing.beat_bytes)), beats)

    def is_last(self, count: Value) -> Value:
        """Whether a byte is the last with so many before it."""
        packets = self.packets
        if not packets.most:
            return count == self._by_code(1, "last_byte")
        if packets.over:
            return count + 1 == self.bytes
        # no sum: the header's beat is as many as the last one has before it
        size = packets.packing.beat_bytes
        return count == Cat(Const(size - 1, _log2(size)), self.value)

    def _by_code(self, less: int, name: str) -> Signal:
        """Bytes less so many, by the code."""
        packets = self.packets
        known = [packets.packing.packet_bytes(packets.words.get(k, 0)) - less for k in CODES]
        if len(self.value) > FUNCTION_BITS:
            known += [NONCE_BYTES - less] * len(CODES)
        return by_code(self.module, self.value, known, name)


def _log2(size: int) -> int:
    """The number whose power of two is a ``size``, as that of an engine's word in bytes is."""
    assert size.bit_count() == 1
    return size.bit_length() - 1


def tasks_of(tasks: TaskFormat) -> Packets:
    """All tasks."""
    room = tasks.resident
    return Packets(tasks.task, tasks.task_words, room.operands if room else 0, TASK_PART)


def results_of(tasks: TaskFormat) -> Packets:
    """All results."""
    words = {f.code: len(f.results) for f in tasks.functions.values()}
    room = tasks.resident
    return Packets(tasks.result, words, room.results if room else 0, RESULT_PART, 1)


def by_code(m: Module, code: Value, values: list[int], name: str, most: int = 0) -> Signal:
    """The one of ``values``, which are by function code, for ``code``: a new signal, driven in ``m``, with room for
    ``most`` where that is more."""
    found = Signal(range(max([*values, most]) + 1), name=name)
    usual = max(set(values), key=values.count)
    with m.Switch(code):
        for known, value in enumerate(values):
            if value != usual:
                with m.Case(known):
                    m.d.comb += found.eq(value)
        with m.Default():
            m.d.comb += found.eq(usual)
    return found
