# amaranth: UnusedElaboratable=no
"""Tasks of one stream to cores in turn, and their results in the same turn.

Every core answers in the order of its tasks, so that results come in the order of all tasks.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal

from rbdgen_hw.engine.streams import CoreStreams
from rbdgen_hw.logic import any_of, selected


class Deal(CoreStreams):
    """Of ``count`` cores each gets the next task in its turn; all streams have ``width`` bits."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__(
            "deal",
            width,
            width,
            count,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._deal(m)
        self._collect(m)
        return m

    def _deal(self, m: Module) -> None:
        """All beats of a task to the core whose turn it is."""
        turn = Signal(self.count, init=1)
        inside = Signal()
        ready = Cat(*(task.ready for task in self.tasks))
        ends = inside & ~(self.reading & turn).any() & (self.between & turn).any()
        m.d.comb += self.i.ready.eq((ready & turn).any() & ~ends)
        with m.If(ends):
            m.d.sync += [turn.eq(turn.rotate_left(1)), inside.eq(0)]
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += inside.eq(1)
        for k, task in enumerate(self.tasks):
            own = self.i.valid & turn[k] & ~ends
            m.d.comb += [task.payload.eq(self.i.payload), task.valid.eq(own)]

    def _collect(self, m: Module) -> None:
        """All beats of a result from the core whose turn it is."""
        turn = Signal(self.count, init=1)
        results = self.results
        m.d.comb += [
            self.o.valid.eq(any_of(result.valid & turn[k] for k, result in enumerate(results))),
            self.o.payload.eq(selected(list(turn), [result.payload for result in results])),
        ]
        goes = self.o.valid & self.o.ready
        with m.If(goes & (self.last & turn).any()):
            m.d.sync += turn.eq(turn.rotate_left(1))
        for k, result in enumerate(results):
            m.d.comb += result.ready.eq(Mux(turn[k], self.o.ready, 0))
