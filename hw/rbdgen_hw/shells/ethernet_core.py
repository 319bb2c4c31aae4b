"""LiteEth's MAC, ARP, IP with ping, and UDP, composed for the shell of datagrams, as a Verilog module of its own.

It is written in Migen, which only those need who build for a board with Ethernet: nothing imports this file but by
:func:`rbdgen.installation.optional_module`.
"""

from __future__ import annotations

from typing import Any

from liteeth.common import eth_ipv4_user_description, eth_phy_description
from liteeth.core import LiteEthIPCore
from liteeth.core.icmp import LiteEthICMP
from liteeth.core.ip import LiteEthIPV4UserPort
from liteeth.core.udp import LiteEthUDP
from liteeth.mac.padding import LiteEthMACPaddingInserter as PaddingInserter
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from liteeth.phy.gmii import LiteEthPHYGMIIRX, LiteEthPHYGMIITX
from litex.build.lattice.common import lattice_ecp5_special_overrides
from litex.soc.interconnect import stream
from migen import ClockDomain, ClockDomainsRenamer, Module, Mux, Record, Replicate, Signal
from migen.fhdl import verilog
from migen.genlib.cdc import MultiReg

from rbdgen.protocol.datagrams import WORD_BYTES
from rbdgen.protocol.links import Station
from rbdgen_hw.shells.datagram_receiver import INCOMING
from rbdgen_hw.shells.datagram_sender import OUTGOING
from rbdgen_hw.shells.ethernet import RGMII, Phy

DATA_BITS = 8 * WORD_BYTES
WHOLE = 1 << (WORD_BYTES - 1)
"""``last_be`` of a last word that is whole."""


class Gmii(Module):
    """GMII with both clocks from outside: what LiteEth's is without the buffers of a device."""

    dw = 8

    def __init__(self, pads: Record) -> None:
        self.clock_domains.cd_eth_rx = rx = ClockDomain()
        self.clock_domains.cd_eth_tx = tx = ClockDomain()
        self.submodules.tx = ClockDomainsRenamer("eth_tx")(LiteEthPHYGMIITX(pads))
        self.submodules.rx = ClockDomainsRenamer("eth_rx")(LiteEthPHYGMIIRX(pads))
        self.sink = self.tx.sink
        self.source = self.rx.source
        self.reset = Signal()
        self.comb += [
            rx.clk.eq(pads.rx_clk),
            tx.clk.eq(pads.tx_clk),
        ]
        self.specials += [
            # the reset comes with another clock
            MultiReg(self.reset, rx.rst, "eth_rx"),
            MultiReg(self.reset, tx.rst, "eth_tx"),
        ]


class BufferedPorts(Module):
    """The ports of an IP ``crossbar``, with registers behind what comes: else the way that a word may go on would lead
    from whoever takes it through all layers in one cycle. A word is marked as damaged by ``error`` unless a frame ends
    with it, whole."""

    def __init__(self, crossbar: Any, frame: stream.Endpoint) -> None:
        self.inner = crossbar
        self.frame_ends = frame.valid & frame.last
        # LiteEth's layers take an IP core, whose crossbar they ask for a port
        self.crossbar = self

    def get_port(self, protocol: int, dw: int) -> LiteEthIPV4UserPort:
        """A port for a protocol."""
        port = self.inner.get_port(protocol, dw)
        user = LiteEthIPV4UserPort(dw)
        layout = eth_ipv4_user_description(dw)
        buffer = stream.Buffer(layout, pipe_valid=True, pipe_ready=True)
        self.submodules += buffer
        unfinished = Replicate(~self.frame_ends, len(port.source.error))
        self.comb += [
            port.source.connect(buffer.sink, omit={"error"}),
            buffer.sink.error.eq(port.source.error | unfinished),
            buffer.source.connect(user.source),
            user.sink.connect(port.sink),
        ]
        return user


def _record(signature: Any, prefix: str) -> Record:
    """Signals for the members of a signature of plain ones."""
    layout = [(name, member.shape) for name, member in signature.members.items()]
    return Record(layout, name=prefix)


class EthernetCore(Module):
    """The station behind a ``phy``, at a ``clock`` in Hz; ``ports`` are those of the Verilog."""

    def __init__(self, station: Station, clock: float, phy: Phy) -> None:
        self.clock_domains.cd_sys = ClockDomain()
        self.clk = Signal()
        self.rst = Signal()
        self.pads = pads = _record(phy.pads, "")
        self.incoming = incoming = _record(INCOMING, "in")
        self.outgoing = outgoing = _record(OUTGOING, "out")
        self.comb += [
            self.cd_sys.clk.eq(self.clk),
            self.cd_sys.rst.eq(self.rst),
        ]
        self.submodules.phy = made = self._rgmii(phy) if phy.name == RGMII.name else Gmii(pads)
        if phy.name != RGMII.name:
            self.comb += made.reset.eq(self.rst)
        self.submodules.core = core = LiteEthIPCore(
            phy=made,
            mac_address=station.mac,
            ip_address=station.address,
            clk_freq=clock,
            dw=DATA_BITS,
            # the core's own would have no registers before it
            with_icmp=False,
            with_ip_broadcast=False,
        )
        self._shorten(core.mac.core.tx_datapath)
        # LiteEth marks a frame with a wrong check sum where the frame ends: there a datagram must end as well
        frame = core.mac.core.source
        self.submodules.ports_of_ip = ip = BufferedPorts(core.ip.crossbar, frame)
        self.submodules.icmp = LiteEthICMP(ip, station.address, DATA_BITS)
        self.submodules.udp = udp = LiteEthUDP(ip, station.address, DATA_BITS)
        port = udp.crossbar.get_port(station.port, dw=DATA_BITS)
        source = port.source
        sink = port.sink
        whole = (source.last_be == WHOLE) & (source.error == 0)
        self.comb += [
            incoming.valid.eq(source.valid),
            source.ready.eq(incoming.ready),
            incoming.last.eq(source.last),
            incoming.data.eq(source.data),
            incoming.error.eq(~whole),
            incoming.address.eq(source.ip_address),
            incoming.port.eq(source.src_port),
            incoming.length.eq(source.length),
            sink.valid.eq(outgoing.valid),
            outgoing.ready.eq(sink.ready),
            sink.last.eq(outgoing.last),
            sink.last_be.eq(Mux(outgoing.last, WHOLE, 0)),
            sink.data.eq(outgoing.data),
            sink.ip_address.eq(outgoing.address),
            sink.src_port.eq(station.port),
            sink.dst_port.eq(outgoing.port),
            sink.length.eq(outgoing.length),
        ]

    def _shorten(self, datapath: Any) -> None:
        """A register for the way back through what is sent, from the check sum to where bytes leave the FIFO between
        the clocks: 125 MHz are more than an ECP5 has for all of it."""
        pipeline = datapath.pipeline
        padding = next(k for k, part in enumerate(pipeline) if isinstance(part, PaddingInserter))
        layout = eth_phy_description(self.phy.dw)
        buffer = stream.Buffer(layout, pipe_valid=False, pipe_ready=True)
        buffer = ClockDomainsRenamer("eth_tx")(buffer)
        datapath.submodules += buffer
        pipeline.insert(padding + 1, buffer)

    def _rgmii(self, phy: Phy) -> Any:
        pads = self.pads
        clocks = Record([("rx", 1), ("tx", 1)])
        self.comb += [
            clocks.rx.eq(pads.rx_clk),
            pads.tx_clk.eq(clocks.tx),
        ]
        return LiteEthPHYRGMII(
            clocks, pads, tx_delay=phy.sent, rx_delay=phy.received, with_inband_status=False
        )

    @property
    def ports(self) -> set[Signal]:
        """Signals that the module has as ports."""
        records = self.pads, self.incoming, self.outgoing
        return {self.clk, self.rst}.union(*(record.flatten() for record in records))


def core_verilog(name: str, station: Station, clock: float, phy: Phy) -> str:
    """Verilog of module ``name``. The same arguments give the same text: there are no dates or paths in it."""
    core = EthernetCore(station, clock, phy)
    made = verilog.convert(
        core, ios=core.ports, name=name, special_overrides=lattice_ecp5_special_overrides
    )
    header = (
        f"// {name}: LiteEth's MAC, ARP, IP and UDP for the station {station.address_text}, port {station.port}, "
        f"{station.mac_text}, by {phy.name.upper()}, at {clock / 1e6:g} MHz.\n"
    )
    # memories with contents would be files beside the text
    assert not made.data_files
    # the first line is Migen's
    _, body = made.main_source.split("\n", 1)
    return header + body
