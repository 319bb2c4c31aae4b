# amaranth: UnusedElaboratable=no
"""The serial line: a receiver and a transmitter (8 data bits, no parity, 1 stop bit), and the shell behind them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from rbdgen.errors import ConfigError
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.shells.link import LinkShell
from rbdgen_hw.top import Hardware

MINIMUM_CYCLES = 8
"""Clock cycles per bit, at least: a start bit is then found within an eighth of a bit."""
MOST_FRACTION_BITS = 6
DATA_BITS = 8
DRIFT = 0.02
"""Of a bit, by which a byte's last one may be early or late for want of bits of a fraction."""


@dataclass(frozen=True)
class BitTime:
    """The length of a bit, ``length`` / ``cycle`` cycles."""

    length: int
    cycle: int


def bit_time(clock: float, baud: float) -> BitTime:
    """The length of a bit on a line, of as few bits as do. ConfigError if the clock is too slow for it."""
    least = MINIMUM_CYCLES * baud
    if clock < least:
        raise ConfigError(
            f"baud: {baud:g} needs a clock of {least / 1e6:g} MHz, not {clock / 1e6:g} MHz; lower it"
        )
    wanted = clock / baud
    for bits in range(MOST_FRACTION_BITS):
        length = round(wanted * (1 << bits))
        drift = (DATA_BITS + 2) * abs(length / (1 << bits) / wanted - 1)
        if drift < DRIFT:
            return BitTime(length, 1 << bits)
    return BitTime(round(wanted * (1 << MOST_FRACTION_BITS)), 1 << MOST_FRACTION_BITS)


class UartReceiver(SharedComponent):
    """``rx``: the line. ``o``: bytes; one that is not taken before the next one is there is lost. A byte without its
    stop bit is dropped."""

    module_name = "uart_receiver"

    def __init__(self, clock: float, baud: float) -> None:
        self.time = bit_time(clock, baud)
        super().__init__(
            {
                "rx": In(1, init=1),
                "o": Out(stream.Signature(8)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rx = Signal(init=1)
        # the line changes at any time, at a clock's edge as well
        m.submodules.synchronizer = FFSynchronizer(self.rx, rx, init=1)
        length, step = self.time.length, self.time.cycle
        timer, bits = Signal(range(length + step)), Signal(range(DATA_BITS + 2))
        data, busy = Signal(DATA_BITS), Signal()
        sample = timer < step
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(~busy):
            m.d.sync += [
                # bits are looked at in their middle
                timer.eq(length // 2),
                bits.eq(0),
                busy.eq(~rx),
            ]
        with m.Elif(~sample):
            m.d.sync += timer.eq(timer - step)
        with m.Else():
            m.d.sync += [
                timer.eq(timer + length - step),
                bits.eq(bits + 1),
            ]
            # what is over by the middle of a start bit was none
            with m.If(bits == 0):
                m.d.sync += busy.eq(~rx)
            with m.Elif(bits <= DATA_BITS):
                m.d.sync += data.eq(Cat(data[1:], rx))
            with m.Else():
                m.d.sync += busy.eq(0)
                with m.If(rx):
                    m.d.sync += [
                        self.o.payload.eq(data),
                        self.o.valid.eq(1),
                    ]
        return m


class UartTransmitter(SharedComponent):
    """``i``: bytes. ``tx``: the line."""

    module_name = "uart_transmitter"

    def __init__(self, clock: float, baud: float) -> None:
        self.time = bit_time(clock, baud)
        super().__init__(
            {
                "i": In(stream.Signature(8)),
                "tx": Out(1, init=1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        length, step = self.time.length, self.time.cycle
        timer = Signal(range(length + step))
        # the bit on the line and those behind it, of which the stop bit is the last that is one
        bits = Signal(DATA_BITS + 2, init=1)
        ends, stops = timer < 2 * step, ~bits[1:].any()
        m.d.comb += [
            self.i.ready.eq(ends & stops),
            self.tx.eq(bits[0]),
        ]
        with m.If(~ends):
            m.d.sync += timer.eq(timer - step)
        with m.Elif(~stops):
            m.d.sync += [
                timer.eq(timer + length - step),
                bits.eq(bits >> 1),
            ]
        with m.Elif(self.i.valid):
            m.d.sync += [
                timer.eq(length),
                bits.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1))),
            ]
        return m


class UartShell(SharedComponent):
    """Ports ``rx`` and ``tx``; ``idle`` as of :class:`rbdgen_hw.shells.link.LinkShell`."""

    module_name = "uart"

    def __init__(self, design: Hardware, identity: bytes, clock: float, baud: float) -> None:
        self.receiver = UartReceiver(clock, baud)
        self.transmitter = UartTransmitter(clock, baud)
        # a byte takes at least 80 cycles on the line
        self.link = LinkShell(design, identity, at_once=1)
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        instantiate(m, platform, "receiver", self.receiver)
        instantiate(m, platform, "transmitter", self.transmitter)
        instantiate(m, platform, "link", self.link)
        forward(m, self.receiver.o, self.link.i)
        forward(m, self.link.o, self.transmitter.i)
        m.d.comb += [
            self.receiver.rx.eq(self.rx),
            self.tx.eq(self.transmitter.tx),
            self.idle.eq(self.link.idle),
        ]
        return m
