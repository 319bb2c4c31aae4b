"""How long packets are, by the code in their header: known when a shell is made, or, where programs come over the link,
from what was loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from rbdgen.machines.engine.loading import PART_BITS, RESULT_PART, TASK_PART
from rbdgen.protocol.datagrams import WORD_BYTES, padded
from rbdgen.protocol.loading import ROUTINE
from rbdgen.protocol.tasks import FLAG_BITS, FUNCTION_BITS, HEADER_BITS, Flag, Packing, TaskFormat
from rbdgen_hw.engine.loading import LOAD

CODES = range(1 << FUNCTION_BITS)


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
        writing, reading = table.write_port(), table.read_port(domain="comb")
        load = owner.load
        # an entry of no function is nothing but zeros
        less = load.data[: len(writing.data)] - self.over
        m.d.comb += [
            writing.en.eq(
                load.on & (load.target == ROUTINE) & (load.address[:PART_BITS] == self.part)
            ),
            writing.addr.eq(load.address[PART_BITS:]),
            writing.data.eq(Mux(load.data.any(), less, 0)),
            reading.addr.eq(code),
        ]
        return reading.data


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
