# amaranth: UnusedElaboratable=no
"""What is written into an engine before it runs, and the table of its routines."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import PART_BITS, routine_parts
from rbdgen.machines.engine.memories import Memories
from rbdgen.protocol.loading import ADDRESS_BITS, DATA_BITS, ROUTINE, TARGET_BITS
from rbdgen.protocol.tasks import FUNCTION_BITS
from rbdgen_hw.library import SharedComponent

LOAD = data.StructLayout(
    {"on": 1, "target": TARGET_BITS, "address": ADDRESS_BITS, "data": DATA_BITS}
)
"""A write (:class:`rbdgen.protocol.loading.Write`) in the cycles in which it is ``on``."""


class Routines(SharedComponent):
    """A part of the table of routines: the ``entry`` of a function's ``code``, in the same cycle, or in a lean core in
    the next one, for which memories do that have a register before them."""

    def __init__(self, core: Core, part: int, image: Memories) -> None:
        self.part = part
        self.domain = "sync" if core.lean else "comb"
        self.image = image
        self.layout = data.StructLayout(dict(routine_parts(core)[part]))
        self.module_name = f"routines{part}"
        super().__init__({"code": In(FUNCTION_BITS), "entry": Out(self.layout), "load": In(LOAD)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        init = [self.layout.from_bits(word) for word in self.image.parts[self.part]]
        table = Memory(shape=self.layout, depth=1 << FUNCTION_BITS, init=init)
        m.submodules.table = table
        writing, reading = table.write_port(), table.read_port(domain=self.domain)
        own = self.load.address[:PART_BITS] == self.part
        m.d.comb += [
            writing.en.eq(self.load.on & (self.load.target == ROUTINE) & own),
            writing.addr.eq(self.load.address[PART_BITS:]),
            writing.data.as_value().eq(self.load.data),
            reading.addr.eq(self.code),
            self.entry.eq(reading.data),
        ]
        return m
