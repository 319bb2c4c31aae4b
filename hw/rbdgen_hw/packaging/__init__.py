# amaranth: UnusedElaboratable=no
"""An accelerator as an IP core: what IP-XACT tools, Vivado, FuseSoC, LiteX, PeakRDL and firmware want to know of its
AXI shell, or of its shell of registers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from amaranth.lib.wiring import In

from rbdgen.compiler import Design
from rbdgen.devices.registry import get_device
from rbdgen.emulation import manifest_of
from rbdgen.host.embedded import embedded_files
from rbdgen.protocol.registers import RegisterEntry, function_bits, register_map
from rbdgen.protocol.task_registers import check_words, task_register_map
from rbdgen.report.design import design_identity, verilog_digest
from rbdgen_hw.emit import axi_verilog, registers_verilog
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.packaging.core import REGISTERS, STREAMS, Core, Port
from rbdgen_hw.packaging.fusesoc import fusesoc, waivers, waivers_file
from rbdgen_hw.packaging.ipxact import DEVICES, check_part, ipxact, usual_part, vivado_package
from rbdgen_hw.packaging.litex import litex, litex_registers
from rbdgen_hw.packaging.register_files import c_header, systemrdl
from rbdgen_hw.shells.axi import AxiShell
from rbdgen_hw.shells.registers import RegisterShell, register_name
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
    codes = function_bits(function.code for function in design.tasks.functions.values())
    return _core(
        design,
        f"{design.name}_axi",
        AxiShell(design, identity),
        STREAMS,
        register_map(codes, identity),
        version,
        part,
        bench,
    )


def register_core_of(
    design: Design, identity: bytes, bus: str, version: str, part: str | None = None
) -> Core:
    """The shell of registers on a ``bus`` of :data:`rbdgen_hw.shells.registers.BUSES`, likewise."""
    shell = RegisterShell(design, identity, bus)
    entries = task_register_map(design.tasks, identity, bus)
    # the others are none of the buses that Vivado's descriptions have
    buses = REGISTERS if bus == "axi-lite" else {}
    name = register_name(design.name, bus)
    return _core(design, name, shell, buses, entries, version, part, ())


def _core(
    design: Design,
    name: str,
    shell: SharedComponent,
    buses: Mapping[str, str],
    registers: tuple[RegisterEntry, ...],
    version: str,
    part: str | None,
    bench: tuple[str, ...],
) -> Core:
    """A shell, of which only the ports are looked at, as others see it."""
    axi = "s_axi" in buses
    ports = [Port(n, 1, False) for n in (("aclk", "aresetn") if axi else ("clk", "rst"))]
    for path, member, value in shell.signature.flatten(shell):
        port = Port("_".join(map(str, path)), len(value), member.flow != In)
        ports.append(port)
    numbers = re.match(r"\d+(\.\d+)*", version)
    device = design.options.device
    return Core(
        name=name,
        summary=f"Rigid-body dynamics of {design.robot.name}: {', '.join(design.network.functions)}",
        version=numbers[0] if numbers else "0",
        files=(f"{design.name}.v", f"{name}.v"),
        bench=bench,
        ports=tuple(ports),
        registers=registers,
        synthesis=get_device(device).synthesis,
        part=usual_part(device) if part is None else check_part(part),
        vivado=device in DEVICES,
        buses=buses,
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


def register_ip_files(
    design: Design, verilog: str, bus: str, version: str, part: str | None = None
) -> dict[str, str]:
    """The files of the IP core with registers on a ``bus``, and in the folder ``driver`` the driver for firmware
    (:mod:`rbdgen.host.embedded`). What Vivado reads is written for AXI4-Lite only.

    ConfigError for a ``part`` that is no order code, and for an accelerator whose packets do not go word by word.
    """
    manifest = manifest_of(design, verilog_digest(verilog))
    check_words(design.name, design.tasks)
    core = register_core_of(design, manifest.identity, bus, version, part)
    files = {
        core.files[0]: verilog,
        core.files[1]: registers_verilog(design, manifest.identity, bus),
        f"{core.name}.core": fusesoc(core),
        f"{core.name}_litex.py": litex_registers(core, bus),
        f"{core.name}.rdl": systemrdl(core),
        f"{core.name}.h": c_header(core),
        waivers_file(core.name): waivers(core.files),
        **{f"driver/{name}": text for name, text in embedded_files(manifest).items()},
    }
    if core.buses:
        files |= {"component.xml": ipxact(core), "package_ip.tcl": vivado_package(core)}
    return files


__all__ = [
    "Core",
    "Port",
    "check_part",
    "core_of",
    "ip_files",
    "register_core_of",
    "register_ip_files",
]
