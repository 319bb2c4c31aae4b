# amaranth: UnusedElaboratable=no
"""SPI: a device's port (mode 0, highest bit first), which the host clocks, and the shell behind it.

The port samples the host's clock by its own, so that the two need not know each other. Bytes go both ways at once, and
frames go on from one transaction to the next: select only says where bytes begin. Where there is nothing to say, flags
are sent.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.frames import FILLER
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.logic import registered
from rbdgen_hw.shells.link import LinkShell
from rbdgen_hw.top import Hardware

LEAST_CYCLES = 4
"""Cycles of the shell's clock in one of SPI's, at least; and between select and the first of these."""
BYTE = 8
PINS = {"sck": In(1), "cs_n": In(1, init=1), "mosi": In(1), "miso": Out(1)}
"""``miso`` is driven always: what stands around it leaves the line to others where select is high."""


class SpiPort(SharedComponent):
    """:data:`PINS`; ``i``: bytes for the host, ``o``: bytes from it; one that is not taken before the next is there is
    lost. ``waits``: a byte for the host is there.

    ``miso`` changes two to three cycles after the clock's rising edge, by which the host has sampled it: half a period
    earlier than need be, so that it has settled by the next one."""

    module_name = "spi_port"

    def __init__(self) -> None:
        super().__init__(
            {
                **PINS,
                "i": In(stream.Signature(BYTE)),
                "o": Out(stream.Signature(BYTE)),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sck = Signal()
        deselected = Signal(init=1)
        mosi = Signal()
        for name, pin, own, init in (
            ("clock", self.sck, sck, 0),
            ("select", self.cs_n, deselected, 1),
            ("data", self.mosi, mosi, 0),
        ):
            m.submodules[name] = FFSynchronizer(pin, own, init=init)
        before = registered(m, sck, "before")
        rises = sck & ~before & ~deselected
        # one byte goes out of this register while the other comes in
        shifted = Signal(BYTE, init=FILLER)
        number = Signal(range(BYTE))
        # what goes out is the first bit, or more, of a byte of the link's
        own = Signal()
        taken = Cat(mosi, shifted[:-1])
        ends = number == BYTE - 1
        loads = Signal()
        m.d.comb += [
            loads.eq(Mux(deselected, ~own, rises & ends)),
            self.i.ready.eq(loads),
            self.miso.eq(shifted[-1]),
            self.waits.eq(own | self.i.valid),
        ]
        next_byte = Mux(self.i.valid, self.i.payload, FILLER)
        with m.If(loads):
            m.d.sync += [
                shifted.eq(next_byte),
                own.eq(self.i.valid),
            ]
        with m.Elif(rises):
            m.d.sync += shifted.eq(taken)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(rises):
            m.d.sync += number.eq(number + 1)
            with m.If(ends):
                m.d.sync += [
                    self.o.payload.eq(taken),
                    self.o.valid.eq(1),
                ]
        with m.If(deselected):
            m.d.sync += number.eq(0)
            with m.If((number != 0) & own):
                # the rest of a byte that was broken off is of no use
                m.d.sync += own.eq(0)
        return m


class SpiShell(SharedComponent):
    """:data:`PINS`; ``idle`` as of :class:`rbdgen_hw.shells.link.LinkShell`; ``ready``: there is something for the
    host, for an interrupt of its."""

    module_name = "spi"

    def __init__(self, design: Hardware, identity: bytes) -> None:
        self.port = SpiPort()
        # a byte takes at least 32 cycles each way
        self.link = LinkShell(design, identity, at_once=1)
        super().__init__({**PINS, "idle": Out(1), "ready": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        instantiate(m, platform, "port", self.port)
        instantiate(m, platform, "link", self.link)
        forward(m, self.port.o, self.link.i)
        forward(m, self.link.o, self.port.i)
        m.d.comb += [
            self.port.sck.eq(self.sck),
            self.port.cs_n.eq(self.cs_n),
            self.port.mosi.eq(self.mosi),
            self.miso.eq(self.port.miso),
            self.idle.eq(self.link.idle),
            self.ready.eq(self.port.waits),
        ]
        return m
