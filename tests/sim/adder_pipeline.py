"""The design of ``adder_pipeline.v`` once more, as an Amaranth component."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import Component, In, Out


class AdderPipeline(Component):
    """Adds ``stages`` to each beat, with the latencies of the Verilog module."""

    def __init__(self, width: int = 72, stages: int = 3, interval: int = 1, depth: int = 8) -> None:
        self.width, self.stages, self.interval, self.depth = width, stages, interval, depth
        super().__init__(
            {
                "i": In(stream.Signature(width)),
                "o": Out(stream.Signature(width)),
                "accepted": Out(16),
            },
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = SyncFIFO(width=self.width, depth=self.depth)
        values = [Signal(self.width, name=f"stage_{k}") for k in range(self.stages)]
        full = Signal(self.stages)
        reserved, pause = Signal(range(self.depth + 1)), Signal(range(max(2, self.interval)))
        take, give = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq((reserved != self.depth) & (pause == 0)),
            self.o.valid.eq(fifo.r_rdy),
            self.o.payload.eq(fifo.r_data),
            take.eq(self.i.valid & self.i.ready),
            give.eq(self.o.valid & self.o.ready),
            fifo.r_en.eq(give),
            fifo.w_en.eq(full[-1]),
            fifo.w_data.eq(values[-1]),
        ]
        m.d.sync += [
            full.eq(full << 1 | take),
            values[0].eq(self.i.payload + 1),
            reserved.eq(reserved + take - give),
        ]
        m.d.sync += self.accepted.eq(self.accepted + take)
        m.d.sync += [after.eq(before + 1) for before, after in pairwise(values)]
        with m.If(take):
            m.d.sync += pause.eq(self.interval - 1)
        with m.Elif(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        return m
