"""A wrapper for LiteX: the core as a module to hang into a SoC, with stream endpoints and an AXI4-Lite bus, or with
registers alone, on either bus of its own or among LiteX's CSRs, and an interrupt."""

from __future__ import annotations

from collections.abc import Mapping

from rbdgen.protocol.registers import ADDRESS_BITS, REGISTER_BITS, Access
from rbdgen_hw.packaging.core import Core, Port, python_literal, register_port

_WRAPPER = '''\
{summary}

import os

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.axi import AXILiteInterface
from migen import ClockSignal, Instance, ResetSignal


class {module}(LiteXModule):
    """Tasks go into ``sink`` ({tasks} bits), results come from ``source`` ({results} bits), ``bus`` has the registers.

    ``address_width`` is the bus's, so that LiteX can adapt it to its own, be that wishbone, axi-lite or axi::

        from litex.soc.integration.soc import SoCRegion
        from litex.soc.integration.soc_core import SoCMini

        from {name}_litex import {module}

        class SoC(SoCMini):
            def __init__(self, platform, clk_freq, **kwargs):
                super().__init__(platform, clk_freq, **kwargs)
                self.dynamics = {module}(platform, self.bus.address_width)
                region = SoCRegion(0x9000_0000, {size:#x}, cached=False)
                self.bus.add_slave("dynamics", self.dynamics.bus, region)
    """

    def __init__(self, platform, address_width=32):
        self.sink = stream.Endpoint([("data", {tasks})])
        self.source = stream.Endpoint([("data", {results})])
        self.bus = AXILiteInterface(data_width=32, address_width=address_width, addressing="byte")
        here = os.path.dirname(os.path.abspath(__file__))
{sources}
        self.specials += Instance(
            "{name}",
            i_aclk=ClockSignal("sys"),
            i_aresetn=~ResetSignal("sys"),
            i_s_axis_tdata=self.sink.data,
            i_s_axis_tvalid=self.sink.valid,
            o_s_axis_tready=self.sink.ready,
            i_s_axis_tlast=self.sink.last,
            o_m_axis_tdata=self.source.data,
            o_m_axis_tvalid=self.source.valid,
            i_m_axis_tready=self.source.ready,
            o_m_axis_tlast=self.source.last,
{pins}
        )
'''


def litex(core: Core) -> str:
    """Text of the wrapper's Python file."""
    sources = [f'        platform.add_source(os.path.join(here, "{name}"))' for name in core.files]
    pins = [_lite_pin(name, port) for name, port in core.bus("s_axi").items()]
    return _WRAPPER.format(
        summary=python_literal(f"LiteX module of {core.name}: {core.summary}."),
        module=module_name(core),
        name=core.name,
        tasks=core.bus("s_axis")["tdata"].width,
        results=core.bus("m_axis")["tdata"].width,
        size=1 << ADDRESS_BITS,
        sources="\n".join(sources),
        pins="\n".join(pins),
    )


_REGISTERS = '''\
{summary}

import os

from litex.gen import LiteXModule
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
{bus_import}
from migen import ClockSignal, Instance, ResetSignal, Signal


class {module}(LiteXModule):
    """Tasks and results go through registers on ``bus``, which LiteX adapts to its own, be that wishbone, axi-lite or
    axi; ``irq`` is high while an interrupt is asked for, and ``ev`` has it for a processor of LiteX's::

        from litex.soc.integration.soc import SoCRegion
        from litex.soc.integration.soc_core import SoCMini

        from {name}_litex import {module}

        class SoC(SoCMini):
            def __init__(self, platform, clk_freq, **kwargs):
                super().__init__(platform, clk_freq, **kwargs)
                self.dynamics = {module}(platform, self.bus.address_width)
                region = SoCRegion(0x9000_0000, {size:#x}, cached=False)
                self.bus.add_slave("dynamics", self.dynamics.bus, region)
                if self.irq.enabled:
                    self.irq.add("dynamics", use_loc_if_exists=True)
    """

    def __init__(self, platform, address_width=32):
        self.bus = {bus}
        self.irq = Signal()
        self.ev = EventManager()
        self.ev.result = EventSourceLevel()
        self.ev.finalize()
        self.comb += self.ev.result.trigger.eq(self.irq)
        here = os.path.dirname(os.path.abspath(__file__))
{sources}
        self.specials += Instance(
            "{name}",
{clocks}
            o_irq=self.irq,
{pins}
        )
'''
_AXI_LITE = (
    "from litex.soc.interconnect.axi import AXILiteInterface",
    'AXILiteInterface(data_width=32, address_width=address_width, addressing="byte")',
    ('i_aclk=ClockSignal("sys")', 'i_aresetn=~ResetSignal("sys")'),
)
"""Of a bus what is imported, its interface, and the pins of clock and reset."""
_WISHBONE = (
    "from litex.soc.interconnect import wishbone",
    'wishbone.Interface(data_width=32, address_width=address_width, addressing="word")',
    ('i_clk=ClockSignal("sys")', 'i_rst=ResetSignal("sys")'),
)

_CSRS = '''\
{summary}

import os

from litex.gen import LiteXModule, Reduce
from litex.soc.interconnect.csr import CSR
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, Mux, ResetSignal, Signal

REGISTERS = (
{registers}
)
"""CSRs by number, and which of them are only read."""


class {module}(LiteXModule):
    """Tasks and results go through CSRs, which are numbered as the core's registers are: the driver begins at LiteX's
    CSR_DYNAMICS_BASE. They have {bits} bits, LiteX's default (``csr_data_width``). ``irq`` is high while an interrupt
    is asked for, and ``ev`` has it for a processor of LiteX's::

        from litex.soc.integration.soc_core import SoCMini

        from {name}_litex import {module}

        class SoC(SoCMini):
            def __init__(self, platform, clk_freq, **kwargs):
                super().__init__(platform, clk_freq, **kwargs)
                self.dynamics = {module}(platform)
                if self.irq.enabled:
                    self.irq.add("dynamics", use_loc_if_exists=True)
    """

    def __init__(self, platform):
        self.irq = Signal()
        self.ev = EventManager()
        self.ev.result = EventSourceLevel()
        self.ev.finalize()
        self.comb += self.ev.result.trigger.eq(self.irq)
        # the bank has decoded the bus's address: what is asked of a register is so of its number
        adr, we, re = Signal({address}), Signal(), Signal()
        dat_w, dat_r = Signal({bits}), Signal({bits})
        numbers, writes, reads = [], [], []
        for number, name, read_only in REGISTERS:
            register = CSR({bits}, name=name, n=number)
            register.read_only = read_only
            setattr(self, name, register)
            self.comb += register.w.eq(dat_r)
            asked = register.re | register.we
            numbers.append(Mux(asked, number, 0))
            writes.append(register.re)
            reads.append(register.we)
        self.comb += [
            adr.eq(Reduce("OR", numbers)),
            we.eq(Reduce("OR", writes)),
            re.eq(Reduce("OR", reads)),
            # the bank gives all of them what is written to one
            dat_w.eq(self.task.r),
        ]
        here = os.path.dirname(os.path.abspath(__file__))
{sources}
        self.specials += Instance(
            "{name}",
            i_clk=ClockSignal("sys"),
            i_rst=ResetSignal("sys"),
            o_irq=self.irq,
{pins}
        )
'''


def litex_registers(core: Core, bus: str) -> str:
    """Text of the Python file of the wrapper with registers on a ``bus`` of
    :data:`rbdgen_hw.shells.registers.BUSES`."""
    sources = [f'        platform.add_source(os.path.join(here, "{name}"))' for name in core.files]
    port = core.bus(register_port(core))
    if bus == "csr":
        return _litex_csrs(core, port, "\n".join(sources))
    pin = {"axi-lite": _lite_pin, "wishbone": _wishbone_pin}[bus]
    imported, interface, clocks = {"axi-lite": _AXI_LITE, "wishbone": _WISHBONE}[bus]
    return _REGISTERS.format(
        summary=python_literal(f"LiteX module of {core.name}: {core.summary}."),
        module=module_name(core),
        name=core.name,
        size=1 << ADDRESS_BITS,
        bus_import=imported,
        bus=interface,
        sources="\n".join(sources),
        clocks="\n".join(f"            {clock}," for clock in clocks),
        pins="\n".join(pin(name, own) for name, own in port.items()),
    )


def _litex_csrs(core: Core, port: Mapping[str, Port], sources: str) -> str:
    """Text of the wrapper whose registers are CSRs."""
    registers = [
        f'    ({e.address * 8 // REGISTER_BITS}, "{e.name.lower()}", {e.access == Access.READ}),'
        for e in core.registers
    ]
    pins = [
        f"            {'o' if own.out else 'i'}_{own.name}={name}," for name, own in port.items()
    ]
    return _CSRS.format(
        summary=python_literal(f"LiteX module of {core.name}: {core.summary}."),
        module=module_name(core),
        name=core.name,
        registers="\n".join(registers),
        bits=REGISTER_BITS,
        address=port["adr"].width,
        sources=sources,
        pins="\n".join(pins),
    )


def _wishbone_pin(name: str, port: Port) -> str:
    """The line that connects a port of the Wishbone bus, called ``name`` in that."""
    part = f"[:{port.width}]" if name == "adr" else ""
    return f"            {'o' if port.out else 'i'}_{port.name}=self.bus.{name}{part},"


def module_name(core: Core) -> str:
    """The wrapper's class."""
    return "".join(part.capitalize() for part in core.name.split("_"))


def _lite_pin(name: str, port: Port) -> str:
    """The line that connects a port of the AXI4-Lite bus, called ``name`` in that."""
    field = next(field for field in _FIELDS if name.endswith(field))
    direction = "o" if port.out else "i"
    channel = name.removesuffix(field)
    # the bus has all of an address, the core looks at what is within its region
    part = f"[:{port.width}]" if field == "addr" else ""
    return f"            {direction}_{port.name}=self.bus.{channel}.{field}{part},"


_FIELDS = ("addr", "prot", "valid", "ready", "data", "strb", "resp")
"""Signals of AXI4-Lite channels in LiteX, by which a port's name ends."""
