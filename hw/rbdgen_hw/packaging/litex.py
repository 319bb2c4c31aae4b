"""A wrapper for LiteX: the core as a module with stream endpoints and an AXI4-Lite bus to hang into a SoC."""

from __future__ import annotations

from rbdgen_hw.packaging.core import Core, Port
from rbdgen_hw.packaging.quoting import python_literal


def litex(core: Core) -> str:
    """Text of the wrapper's Python file."""
    tasks = core.bus("s_axis")["tdata"].width
    results = core.bus("m_axis")["tdata"].width
    address = core.bus("s_axi")["awaddr"].width
    sources = "\n".join(
        f'        platform.add_source(os.path.join(here, "{name}"))' for name in core.files
    )
    lite = "\n".join(_lite_pin(name, port) for name, port in core.bus("s_axi").items())
    return (
        f"{python_literal(f'LiteX module of {core.name}: {core.summary}.')}\n\n"
        "import os\n\n"
        "from litex.gen import LiteXModule\n"
        "from litex.soc.interconnect import stream\n"
        "from litex.soc.interconnect.axi import AXILiteInterface\n"
        "from migen import ClockSignal, Instance, ResetSignal\n\n\n"
        f"class {''.join(part.capitalize() for part in core.name.split('_'))}(LiteXModule):\n"
        f'    """Tasks go into ``sink`` ({tasks} bits), results come from ``source`` ({results} bits).\n\n'
        '    ``bus`` has the registers: soc.bus.add_slave(name, module.bus, region)."""\n\n'
        "    def __init__(self, platform):\n"
        f'        self.sink = stream.Endpoint([("data", {tasks})])\n'
        f'        self.source = stream.Endpoint([("data", {results})])\n'
        f'        self.bus = AXILiteInterface(data_width=32, address_width={address}, addressing="byte")\n'
        "        here = os.path.dirname(os.path.abspath(__file__))\n"
        f"{sources}\n"
        "        self.specials += Instance(\n"
        f'            "{core.name}",\n'
        '            i_aclk=ClockSignal("sys"),\n'
        '            i_aresetn=~ResetSignal("sys"),\n'
        "            i_s_axis_tdata=self.sink.data,\n"
        "            i_s_axis_tvalid=self.sink.valid,\n"
        "            o_s_axis_tready=self.sink.ready,\n"
        "            i_s_axis_tlast=self.sink.last,\n"
        "            o_m_axis_tdata=self.source.data,\n"
        "            o_m_axis_tvalid=self.source.valid,\n"
        "            i_m_axis_tready=self.source.ready,\n"
        "            o_m_axis_tlast=self.source.last,\n"
        f"{lite}\n"
        "        )\n"
    )


def _lite_pin(name: str, port: Port) -> str:
    """The line that connects a port of the AXI4-Lite bus, called ``name`` in that."""
    field = next(field for field in _FIELDS if name.endswith(field))
    direction = "o" if port.out else "i"
    channel = name.removesuffix(field)
    return f"            {direction}_{port.name}=self.bus.{channel}.{field},"


_FIELDS = ("addr", "prot", "valid", "ready", "data", "strb", "resp")
"""Signals of AXI4-Lite channels in LiteX, by which a port's name ends."""
