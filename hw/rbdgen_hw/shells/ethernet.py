# amaranth: UnusedElaboratable=no
"""The shell of a board on Ethernet: the shell of datagrams behind a MAC, which is a Verilog module of its own."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib.wiring import In, Out, Signature

from rbdgen.protocol.phys import RGMII as RGMII_PADS
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.shells.datagram_receiver import INCOMING
from rbdgen_hw.shells.datagram_sender import OUTGOING
from rbdgen_hw.shells.datagrams import DatagramShell
from rbdgen_hw.top import Hardware

HOLD_SECONDS = 1.0
"""For how long a session is kept from others behind the last that came of its owner."""


@dataclass(frozen=True)
class Phy:
    """Connection of a chip that drives the cable: its ``pads`` as the MAC drives and sees them. Of RGMII the seconds by
    which data that is ``received`` is delayed, and the clock that goes out with what is ``sent``: nothing where the
    chip itself delays its clock so that it comes in the middle of a bit."""

    name: str
    pads: Signature
    received: float = 0.0
    sent: float = 2e-9


RGMII = Phy(
    "rgmii",
    Signature(
        {
            name: (In if direction == "input" else Out)(width)
            for name, (direction, width) in RGMII_PADS.items()
        }
    ),
)
GMII = Phy(
    "gmii",
    Signature(
        {
            "rx_clk": In(1),
            "rx_dv": In(1),
            "rx_data": In(8),
            "tx_clk": In(1),
            "tx_en": Out(1),
            "tx_data": Out(8),
        }
    ),
)
"""With both clocks from outside; for simulations."""


def core_name(design: str) -> str:
    """The MAC's module for a design of this name."""
    return f"{design}_ethernet"


class EthernetShell(SharedComponent):
    """Ports ``pads`` of the ``phy``; ``idle`` as of :class:`rbdgen_hw.shells.datagrams.DatagramShell`. ``clock`` is in
    Hz."""

    module_name = "ethernet_shell"

    def __init__(self, design: Hardware, identity: bytes, clock: float, phy: Phy) -> None:
        self.design = design
        self.phy = phy
        self.shell = DatagramShell(design, identity, round(HOLD_SECONDS * clock))
        super().__init__({"pads": Out(phy.pads), "idle": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shell = self.shell
        instantiate(m, platform, "shell", shell)
        pins = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for name, member in self.phy.pads.members.items():
            direction = "i" if member.flow == In else "o"
            pins[f"{direction}_{name}"] = getattr(self.pads, name)
        # both signatures are seen from their source: the MAC is that of what comes in
        for name, member in INCOMING.members.items():
            direction = "o" if member.flow == Out else "i"
            pins[f"{direction}_in_{name}"] = getattr(shell.i, name)
        for name, member in OUTGOING.members.items():
            direction = "i" if member.flow == Out else "o"
            pins[f"{direction}_out_{name}"] = getattr(shell.o, name)
        m.submodules.ethernet = Instance(core_name(self.design.name), **pins)
        m.d.comb += self.idle.eq(shell.idle)
        return m
