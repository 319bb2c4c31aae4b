# amaranth: UnusedElaboratable=no
"""Tasks of one stream to cores in turn, and their results in the same turn.

Every core answers in the order of its tasks, so that results come in the order of all tasks.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import any_of, selected


class Deal(SharedComponent):
    """Between the streams ``i`` and ``o`` of ``width`` bits and those of ``count`` cores, ``task0``, ``result0`` and so
    on. ``between``: by core, that a header comes next, and ``reading`` that this is not known yet; ``last``: that its
    beat is the last of a result."""

    def __init__(self, width: int, count: int) -> None:
        self.width = width
        self.count = count
        self.module_name = f"deal_{count}x{width}"
        own = stream.Signature(width)
        super().__init__(
            {
                "i": In(own),
                "o": Out(own),
                **{f"task{k}": Out(own) for k in range(count)},
                **{f"result{k}": In(own) for k in range(count)},
                "between": In(count),
                "reading": In(count),
                "last": In(count),
            }
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
        tasks = [getattr(self, f"task{k}") for k in range(self.count)]
        ready = Cat(*(task.ready for task in tasks))
        ends = inside & ~(self.reading & turn).any() & (self.between & turn).any()
        m.d.comb += self.i.ready.eq((ready & turn).any() & ~ends)
        with m.If(ends):
            m.d.sync += [turn.eq(turn.rotate_left(1)), inside.eq(0)]
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += inside.eq(1)
        for k, task in enumerate(tasks):
            own = self.i.valid & turn[k] & ~ends
            m.d.comb += [task.payload.eq(self.i.payload), task.valid.eq(own)]

    def _collect(self, m: Module) -> None:
        """All beats of a result from the core whose turn it is."""
        turn = Signal(self.count, init=1)
        results = [getattr(self, f"result{k}") for k in range(self.count)]
        m.d.comb += [
            self.o.valid.eq(any_of(result.valid & turn[k] for k, result in enumerate(results))),
            self.o.payload.eq(selected(list(turn), [result.payload for result in results])),
        ]
        goes = self.o.valid & self.o.ready
        with m.If(goes & (self.last & turn).any()):
            m.d.sync += turn.eq(turn.rotate_left(1))
        for k, result in enumerate(results):
            m.d.comb += result.ready.eq(Mux(turn[k], self.o.ready, 0))
