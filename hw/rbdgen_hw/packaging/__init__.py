# amaranth: UnusedElaboratable=no
"""An accelerator as an IP core: what IP-XACT tools, Vivado, FuseSoC and LiteX want to know of its AXI shell."""

from __future__ import annotations

import re

from amaranth.lib.wiring import In

from rbdgen.compiler import Design
from rbdgen.protocol.frames import IDENTITY_BYTES
from rbdgen.report.design import design_identity
from rbdgen_hw.emit import axi_verilog
from rbdgen_hw.packaging.core import Core, Port
from rbdgen_hw.packaging.fusesoc import fusesoc
from rbdgen_hw.packaging.ipxact import ipxact, vivado_package
from rbdgen_hw.packaging.litex import litex
from rbdgen_hw.shells.axi import AxiShell


def core_of(design: Design, version: str) -> Core:
    """The AXI shell of ``design`` as others see it; ``version`` is rbdgen's."""
    # only its ports are looked at
    shell = AxiShell(design, bytes(IDENTITY_BYTES))
    ports = [Port("aclk", 1, False), Port("aresetn", 1, False)]
    for path, member, value in shell.signature.flatten(shell):
        ports.append(Port("_".join(map(str, path)), len(value), member.flow != In))
    name = f"{design.name}_axi"
    numbers = re.match(r"\d+(\.\d+)*", version)
    summary = f"Rigid-body dynamics of {design.robot.name}: {', '.join(design.network.functions)}"
    return Core(
        name,
        summary,
        numbers[0] if numbers else "0",
        (f"{design.name}.v", f"{name}.v"),
        tuple(ports),
    )


def ip_files(design: Design, verilog: str, version: str) -> dict[str, str]:
    """The IP core's files by name: ``verilog``, the AXI shell, and its descriptions."""
    core = core_of(design, version)
    identity = design_identity(design, verilog, version)
    return {
        core.files[0]: verilog,
        core.files[1]: axi_verilog(design, identity),
        "component.xml": ipxact(core),
        "package_ip.tcl": vivado_package(core),
        f"{core.name}.core": fusesoc(core),
        f"{core.name}_litex.py": litex(core),
    }


__all__ = ["Core", "Port", "core_of", "ip_files"]
