# amaranth: UnusedElaboratable=no
"""Rows of tasks to cores, and their results in rows again (:mod:`rbdgen.protocol.tasks`).

A beat goes on when all of its cores take theirs. Cores answer in the order of their tasks, so that a row of results is
the next result of each core that had a task in the row; it leaves beat by beat as soon as all of these have one.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.tasks import Packing
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import cut

ROWS = 32
"""Rows under way at most."""


class Rows(SharedComponent):
    """Between the streams ``i`` and ``o`` of rows and those of cores, ``task0``, ``result0`` and so on. ``between``: by
    core, that a header comes next, and ``reading`` that this is not known yet; ``last``: that its beat is the last of a
    result."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        self.module_name = f"rows_{packing.lanes}x{packing.beat_bits}"
        rows, own = stream.Signature(packing.row_bits), stream.Signature(packing.beat_bits)
        count = packing.lanes
        super().__init__(
            {
                "i": In(rows),
                "o": Out(rows),
                **{f"task{k}": Out(own) for k in range(count)},
                **{f"result{k}": In(own) for k in range(count)},
                "between": In(count),
                "reading": In(count),
                "last": In(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = SyncFIFO(width=self.packing.lanes, depth=ROWS)
        self._deal(m, rows)
        self._collect(m, rows)
        return m

    def _deal(self, m: Module, rows: SyncFIFO) -> None:
        """Each lane's beat to its core, and of each row which lanes have a task."""
        size, count = self.packing.lane_bits, self.packing.lanes
        lanes = cut(self.i.payload, [size] * count)
        tasks = [getattr(self, f"task{k}") for k in range(count)]
        keeps = Cat(*(lane[-1] for lane in lanes))
        ready = Cat(*(task.ready for task in tasks))
        # where no core waits for the rest of a task
        first = self.between.all()
        goes = Signal()
        m.d.comb += [
            self.i.ready.eq((ready | ~keeps).all() & ~self.reading.any() & (rows.w_rdy | ~first)),
            goes.eq(self.i.valid & self.i.ready),
            rows.w_en.eq(goes & first & keeps.any()),
            rows.w_data.eq(keeps),
        ]
        for task, lane in zip(tasks, lanes, strict=True):
            m.d.comb += [task.payload.eq(lane[:-1]), task.valid.eq(goes & lane[-1])]

    def _collect(self, m: Module, rows: SyncFIFO) -> None:
        """The results of the oldest row, beat by beat."""
        count = self.packing.lanes
        results = [getattr(self, f"result{k}") for k in range(count)]
        done = Signal(count)
        left = Signal(count)
        valid = Cat(*(result.valid for result in results))
        m.d.comb += left.eq(Mux(rows.r_rdy, rows.r_data & ~done, 0))
        payload = []
        for k, result in enumerate(results):
            payload.append(Cat(Mux(left[k], result.payload, 0), left[k]))
        goes = Signal()
        ends = Signal()
        m.d.comb += [
            self.o.valid.eq(left.any() & (valid | ~left).all()),
            self.o.payload.eq(Cat(*payload)),
            goes.eq(self.o.valid & self.o.ready),
            ends.eq((self.last | ~left).all()),
            rows.r_en.eq(goes & ends),
        ]
        with m.If(goes):
            m.d.sync += done.eq(Mux(ends, 0, done | (left & self.last)))
        for k, result in enumerate(results):
            m.d.comb += result.ready.eq(goes & left[k])
