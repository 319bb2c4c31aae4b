# amaranth: UnusedElaboratable=no
"""Rows of tasks to cores, and their results in rows again (:mod:`rbdgen.protocol.tasks`).

A beat goes on when all of its cores take theirs. Cores answer in the order of their tasks, so that a row of results is
the next result of each core that had a task in the row; it leaves beat by beat as soon as all of these have one.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFO

from rbdgen.protocol.tasks import Packing
from rbdgen_hw.engine.streams import CoreStreams
from rbdgen_hw.logic import cut

ROWS = 32
"""Rows under way at most."""


class Rows(CoreStreams):
    """A lane of each beat for each core, as ``packing`` has them."""

    def __init__(self, packing: Packing) -> None:
        self.packing = packing
        super().__init__(
            "rows",
            packing.row_bits,
            packing.beat_bits,
            packing.lanes,
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = rows = SyncFIFO(width=self.packing.lanes, depth=ROWS)
        self._deal(m, rows)
        self._collect(m, rows)
        return m

    def _deal(self, m: Module, rows: SyncFIFO) -> None:
        """Each lane's beat to its core, and of each row which lanes have a task."""
        lanes = cut(self.i.payload, [self.packing.lane_bits] * self.count)
        tasks = self.tasks
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
        results = self.results
        done = Signal(self.count)
        left = Signal(self.count)
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
