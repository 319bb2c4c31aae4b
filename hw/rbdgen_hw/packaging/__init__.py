# amaranth: UnusedElaboratable=no
"""An accelerator as an IP core: what IP-XACT tools, Vivado, FuseSoC, LiteX, PeakRDL and firmware want to know of its
AXI shell."""

from __future__ import annotations

import re

from amaranth.lib.wiring import In

from rbdgen.compiler import Design
from rbdgen.devices.registry import get_device
from rbdgen.protocol.registers import function_bits, register_map
from rbdgen.report.design import design_identity
from rbdgen_hw.emit import axi_verilog
from rbdgen_hw.packaging.core import Core, Port
from rbdgen_hw.packaging.fusesoc import fusesoc, waivers, waivers_file
from rbdgen_hw.packaging.ipxact import DEVICES, check_part, ipxact, usual_part, vivado_package
from rbdgen_hw.packaging.litex import litex
from rbdgen_hw.packaging.register_files import c_header, systemrdl
from rbdgen_hw.shells.axi import AxiShell
from rbdgen_hw.testbench import AXI, testbench_files


def core_of(
    design: Design,
    identity: bytes,
    version: str,
    part: str | None = None,
    bench: tuple[str, ...] = (),
) -> Core:
    """The AXI shell of ``design`` as others see it; ``version`` is rbdgen's, ``bench`` the names of its bench's files.

    ConfigError for a ``part`` that is no order code.
    """
    # only its ports are looked at
    shell = AxiShell(design, identity)
    ports = [Port("aclk", 1, False), Port("aresetn", 1, False)]
    for path, member, value in shell.signature.flatten(shell):
        port = Port("_".join(map(str, path)), len(value), member.flow != In)
        ports.append(port)
    name = f"{design.name}_axi"
    numbers = re.match(r"\d+(\.\d+)*", version)
    functions = design.tasks.functions.values()
    codes = function_bits(function.code for function in functions)
    device = design.options.device
    return Core(
        name=name,
        summary=f"Rigid-body dynamics of {design.robot.name}: {', '.join(design.network.functions)}",
        version=numbers[0] if numbers else "0",
        files=(f"{design.name}.v", f"{name}.v"),
        bench=bench,
        ports=tuple(ports),
        registers=register_map(codes, identity),
        synthesis=get_device(device).synthesis,
        part=usual_part(device) if part is None else check_part(part),
        vivado=device in DEVICES,
    )


def ip_files(
    design: Design,
    verilog: str,
    version: str,
    tasks: int,
    part: str | None = None,
) -> dict[str, str]:
    """The IP core's files by name: ``verilog``, the AXI shell, their descriptions, and a bench of ``tasks`` mixed tasks
    (none for several accelerators behind one stream). ``part`` is what Vivado packages the core for.

    ConfigError for a ``part`` that is no order code.
    """
    identity = design_identity(design, verilog, version)
    bench = {}
    if design.tasks.replicas == 1:
        bench = testbench_files(design, tasks, AXI)
    core = core_of(design, identity, version, part, tuple(bench))
    return {
        core.files[0]: verilog,
        core.files[1]: axi_verilog(design, identity),
        "component.xml": ipxact(core),
        "package_ip.tcl": vivado_package(core),
        f"{core.name}.core": fusesoc(core),
        f"{core.name}_litex.py": litex(core),
        f"{core.name}.rdl": systemrdl(core),
        f"{core.name}.h": c_header(core),
        waivers_file(core.name): waivers(core.files),
        **bench,
    }


__all__ = ["Core", "Port", "check_part", "core_of", "ip_files"]
