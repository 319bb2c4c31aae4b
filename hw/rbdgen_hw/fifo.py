"""FIFOs: the bypass FIFO of the round trip, and the credit counter that makes stalls unnecessary."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from rbdgen_hw.library import Shape


class BypassFifo(Shape):
    """First in, first out, ``depth`` entries of ``width`` bits, written and read by strobes at fixed times of a task.

    The head is on ``r_data`` from the cycle after its writing until ``r_en``. There is no flow control: whoever admits
    tasks guarantees that it never overflows; ``fault`` is high if that is ever violated, on either side.
    """

    def __init__(self, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        self.shape_name = f"fifo_{width}x{depth}"
        super().__init__(
            {"w_data": In(width), "w_en": In(1), "r_data": Out(width), "r_en": In(1), "r_rdy": Out(1), "fault": Out(1)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFO(width=self.width, depth=self.depth)
        m.d.comb += [
            queue.w_data.eq(self.w_data),
            queue.w_en.eq(self.w_en),
            self.r_data.eq(queue.r_data),
            queue.r_en.eq(self.r_en),
            self.r_rdy.eq(queue.r_rdy),
            self.fault.eq((self.w_en & ~queue.w_rdy) | (self.r_en & ~queue.r_rdy)),
        ]
        return m


class Credits(Shape):
    """Counts free places: ``available`` while there is one; ``take`` uses one, ``give`` returns one."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.shape_name = f"credits_{places}"
        super().__init__({"available": Out(1), "take": In(1), "give": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        free = Signal(range(self.places + 1), init=self.places)
        m.d.comb += self.available.eq(free != 0)
        with m.If(self.take ^ self.give):
            m.d.sync += free.eq(Mux(self.take, free - 1, free + 1))
        return m
