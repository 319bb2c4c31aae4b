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
from rbdgen.protocol.loading import ROUTINE
from rbdgen.protocol.tasks import FUNCTION_BITS, Packing, TaskFormat
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

    @property
    def ports(self) -> dict[str, Any]:
        """Ports of whatever looks lengths up: what is loaded, if anything is."""
        return {"load": In(LOAD)} if self.most else {}

    def found(
        self, m: Module, owner: Any, code: Value, of: Callable[[int], int], name: str
    ) -> Signal:
        """What ``of`` gives for the words of a packet with this ``code``, where they are loaded a multiple of them and
        a number: a new signal, driven in ``m``, a module of the ``owner`` of :attr:`ports`."""
        if not self.most:
            return by_code(m, code, [of(self.words.get(known, 0)) for known in CODES], name)
        init = [self.words.get(known, 0) for known in CODES]
        # as many bits as those of an entry that say so
        table = Memory(shape=self.most.bit_length(), depth=len(CODES), init=init)
        m.submodules[f"{name}_table"] = table
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
        found = Signal(range(of(self.most) + 1), name=name)
        m.d.comb += found.eq(reading.data * (of(1) - of(0)) + of(0))
        return found


def tasks_of(tasks: TaskFormat) -> Packets:
    """All tasks."""
    room = tasks.resident
    return Packets(tasks.task, tasks.task_words, room.operands if room else 0, TASK_PART)


def results_of(tasks: TaskFormat) -> Packets:
    """All results."""
    words = {f.code: len(f.results) for f in tasks.functions.values()}
    room = tasks.resident
    return Packets(tasks.result, words, room.results if room else 0, RESULT_PART, 1)


def by_code(m: Module, code: Value, values: list[int], name: str) -> Signal:
    """The one of ``values``, which are by function code, for ``code``: a new signal, driven in ``m``."""
    found = Signal(range(max(values) + 1), name=name)
    usual = max(set(values), key=values.count)
    with m.Switch(code):
        for known, value in enumerate(values):
            if value != usual:
                with m.Case(known):
                    m.d.comb += found.eq(value)
        with m.Default():
            m.d.comb += found.eq(usual)
    return found
