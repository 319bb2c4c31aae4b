"""AMD devices: a Vivado project as Tcl, run where Vivado is on PATH, else left ready with instructions.

Systems, by a board's ``system``: ``pins`` (a serial line on the board's pins), ``zynq`` and ``zynq7`` (the processor's
DMA feeds the AXI streams, or the processor writes an engine's registers), and ``pcie`` (the host's DMA feeds streams).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from rbdgen.devices.xilinx import XC7, XCUP
from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards.amd.estimate import ESTIMATOR, estimate
from rbdgen_boards.board import Board
from rbdgen_boards.flow import (
    Clocking,
    Estimate,
    Flow,
    Progress,
    RegisterPort,
    Request,
    Routed,
    Streams,
)
from rbdgen_boards.synthesis import Synthesis
from rbdgen_boards.top import TOP, port_pins

OSCILLATOR = (600.0, 1200.0)
"""MHz between which a 7-series clock manager's oscillator runs, at any speed grade."""
EIGHTHS = range(16, 513)
"""Multipliers, in eighths."""
LEAST_DIVIDER, LARGEST_DIVIDER = 8, 1024
"""Dividers, in eighths."""


def clock_manager(board_clock: float, clock: float) -> tuple[float, float]:
    """Multiplier and divider of a 7-series clock manager for the clock next below ``clock``, in MHz.

    ConfigError where there is none.
    """
    found = []
    for eighths in EIGHTHS:
        multiply = eighths / 8
        # rounded up: no clock is faster than the one that was asked for
        divider = -(-board_clock * eighths // clock)
        runs = OSCILLATOR[0] <= board_clock * multiply <= OSCILLATOR[1]
        if runs and LEAST_DIVIDER <= divider <= LARGEST_DIVIDER:
            found.append((multiply, divider / 8))
    if not found:
        raise ConfigError(
            f"clock: {clock:g} MHz cannot be made from {board_clock:g} MHz; choose 5 to 600 MHz"
        )
    # the nearest clock, made by the slowest oscillator
    return max(found, key=lambda pair: (board_clock * pair[0] / pair[1], -pair[0]))


def managed_clock(board: Board, clock: float) -> Clocking:
    """The clock next below ``clock`` MHz, by a clock manager in the top module."""
    multiply, divide = clock_manager(board.clock, clock)
    lines = (
        "  wire feedback, made;\n"
        f"  MMCME2_BASE #(.CLKIN1_PERIOD({1e3 / board.clock:.3f}), .CLKFBOUT_MULT_F({multiply:.3f}), "
        f".CLKOUT0_DIVIDE_F({divide:.3f})) manager (\n"
        "    .CLKIN1(clk), .CLKFBIN(feedback), .CLKFBOUT(feedback), .CLKOUT0(made), .LOCKED(settled), .PWRDWN(1'b0), "
        ".RST(1'b0)\n  );\n"
        "  BUFG buffer (.I(made), .O(clock));\n"
    )
    return Clocking("", lines, board.clock * multiply / divide)


def xdc(board: Board) -> str:
    """The constraints of a board's top module."""
    attributes = [f"{name} {value}" for name, value in board.attributes.items()]
    lines = [f"create_clock -name clk -period {1e3 / board.clock:.3f} [get_ports clk]"]
    for port, pin in port_pins(board).items():
        properties = " ".join([f"PACKAGE_PIN {pin}", *attributes])
        lines.append(f"set_property -dict {{ {properties} }} [get_ports {{ {port} }}]")
    return "\n".join(lines) + "\n"


SCRIPT, PROGRAM = "build.tcl", "program.tcl"
CONSTRAINTS = "board.xdc"
BITSTREAM = "bitstream.bit"
HANDOFF = "bitstream.hwh"
"""File that PYNQ reads beside the bitstream of a system with a processor."""
TIMING, UTILISATION = "timing.rpt", "utilisation.rpt"


def _pins() -> str:
    return f"add_files -fileset constrs_1 {CONSTRAINTS}\nset_property top {TOP} [current_fileset]\n"


def _automation(slave: str, master: str) -> str:
    return (
        f"apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config {{ Master {master} Slave {slave} "
        f"Clk_master Auto Clk_slave Auto Clk_xbar Auto intc_ip Auto }} [get_bd_intf_pins {slave.lstrip('/')}]\n"
    )


def _block_design(module: str, cells: str) -> str:
    return (
        f"create_bd_design system\ncreate_bd_cell -type module -reference {module} accelerator\n"
        f"{cells}assign_bd_address\nvalidate_bd_design\nsave_bd_design\n"
        "make_wrapper -files [get_files system.bd] -top -import\nset_property top system_wrapper [current_fileset]\n"
    )


REGISTERS_RANGE = "4K"
"""Part of the address space that registers take, from its beginning on, where the host looks for them."""


def _registers_at(address: int, space: str) -> str:
    """Puts the accelerator's registers at an ``address`` of a bus."""
    return (
        f"assign_bd_address -offset {address:#x} -range {REGISTERS_RANGE} -target_address_space "
        f"[get_bd_addr_spaces {space}] [get_bd_addr_segs accelerator/s_axi/*] -force\n"
    )


@dataclass(frozen=True)
class Processor:
    """The processor of a Zynq, as Vivado has it: its IP ``core``, the ``preset`` that the automation of that takes, and
    its ``settings``. ``to_memory`` and ``interrupts`` are those that make a port to its memory, and one for interrupts,
    which are called ``memory`` and ``interrupt``; by ``registers`` it reaches registers, at ``address``. The setting
    ``clock`` is that of MHz."""

    core: str
    preset: str
    settings: Mapping[str, str]
    to_memory: Mapping[str, str]
    interrupts: Mapping[str, str]
    clock: str
    registers: str
    memory: str
    interrupt: str
    address: int


PROCESSORS = {
    "zynq": Processor(
        "zynq_ultra_ps_e",
        "apply_board_preset 1",
        {"PSU__USE__M_AXI_GP0": "1", "PSU__USE__M_AXI_GP1": "0", "PSU__USE__M_AXI_GP2": "0"},
        {"PSU__USE__S_AXI_GP2": "1"},
        {"PSU__USE__IRQ0": "1"},
        "PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ",
        "M_AXI_HPM0_FPD",
        "S_AXI_HP0_FPD",
        "pl_ps_irq0",
        0xA000_0000,
    ),
    "zynq7": Processor(
        "processing_system7",
        "make_external {FIXED_IO, DDR} apply_board_preset 1 Master Disable Slave Disable",
        {"PCW_USE_M_AXI_GP0": "1"},
        {"PCW_USE_S_AXI_HP0": "1"},
        {"PCW_USE_FABRIC_INTERRUPT": "1", "PCW_IRQ_F2P_INTR": "1"},
        "PCW_FPGA0_PERIPHERAL_FREQMHZ",
        "M_AXI_GP0",
        "S_AXI_HP0",
        "IRQ_F2P",
        0x43C0_0000,
    ),
}
"""Processors by a board's ``system``: of UltraScale+ (PG201), and of 7 series (PG082)."""


def _processor(own: Processor, clock: float, settings: Mapping[str, str]) -> str:
    """The processor's cell, with further settings."""
    everything = {**own.settings, **settings, own.clock: f"{clock:g}"}
    listed = " ".join(f"CONFIG.{name} {{{value}}}" for name, value in everything.items())
    return (
        f"create_bd_cell -type ip -vlnv xilinx.com:ip:{own.core} processor\n"
        f"apply_bd_automation -rule xilinx.com:bd_rule:{own.core} -config {{ {own.preset} }} "
        "[get_bd_cells processor]\n"
        f"set_property -dict [list {listed}] [get_bd_cells processor]\n"
    )


def _zynq(board: Board, streams: Streams | RegisterPort, clock: float) -> str:
    own = PROCESSORS[board.vendor["system"]]
    to_registers = _automation("/accelerator/s_axi", f"/processor/{own.registers}")
    at_last = _registers_at(own.address, "processor/Data")
    if isinstance(streams, RegisterPort):
        cells = (
            _processor(own, clock, own.interrupts)
            + to_registers
            + f"connect_bd_net [get_bd_pins accelerator/irq] [get_bd_pins processor/{own.interrupt}]\n"
        )
        return _block_design(streams.module, cells + at_last)
    cells = _processor(own, clock, own.to_memory)
    cells += (
        "create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma dma\n"
        # 26 bits of length are the most that the DMA has: transfers of up to 64 MiB
        "set_property -dict [list CONFIG.c_include_sg {0} CONFIG.c_sg_length_width {26} "
        f"CONFIG.c_m_axis_mm2s_tdata_width {{{streams.task_bits}}} "
        # the side of the memory has at least 32 bits
        f"CONFIG.c_m_axi_mm2s_data_width {{{max(streams.task_bits, 32)}}} "
        f"CONFIG.c_s_axis_s2mm_tdata_width {{{streams.result_bits}}} "
        f"CONFIG.c_m_axi_s2mm_data_width {{{max(streams.result_bits, 32)}}}] [get_bd_cells dma]\n"
        "connect_bd_intf_net [get_bd_intf_pins dma/M_AXIS_MM2S] [get_bd_intf_pins accelerator/s_axis]\n"
        "connect_bd_intf_net [get_bd_intf_pins accelerator/m_axis] [get_bd_intf_pins dma/S_AXIS_S2MM]\n"
    )
    cells += _automation("/dma/S_AXI_LITE", f"/processor/{own.registers}")
    cells += to_registers
    memory = f"/processor/{own.memory}"
    cells += _automation(memory, "/dma/M_AXI_MM2S")
    cells += _automation(memory, "/dma/M_AXI_S2MM").replace(
        f"[get_bd_intf_pins processor/{own.memory}]", "[get_bd_intf_pins dma/M_AXI_S2MM]"
    )
    return _block_design(streams.module, cells)


XDMA_BYTES = 64
"""Bytes of a beat of XDMA's streams, with 16 lanes of PCI Express 3.0 at 250 MHz; :mod:`rbdgen.host.xdma` counts on
them."""


def _pcie(board: Board, streams: Streams | RegisterPort, clock: float) -> str:
    if isinstance(streams, RegisterPort):
        raise ConfigError(
            f"board {board.name}: an engine's registers would be behind PCI Express, which takes a microsecond for "
            f"each word; leave [engine] out of its file, or take one of the systems {', '.join(PROCESSORS)}"
        )
    lanes = board.vendor["pcie_lanes"]
    cells = (
        "create_bd_cell -type ip -vlnv xilinx.com:ip:xdma pcie\n"
        "apply_bd_automation -rule xilinx.com:bd_rule:xdma -config { accel {1} auto_level {IP Level} "
        f"axi_clk {{Maximum Data Width}} axi_intf {{AXI Stream}} lane_width {{{lanes}}} "
        "link_speed {8.0 GT/s (PCIe Gen 3)} } "
        "[get_bd_cells pcie]\n"
        "set_property -dict [list CONFIG.axilite_master_en {true} CONFIG.xdma_axi_intf_mm {AXI_Stream} "
        f"CONFIG.pl_link_cap_max_link_width {{{lanes}}} CONFIG.pl_link_cap_max_link_speed {{8.0_GT/s}} "
        f"CONFIG.axi_data_width {{{8 * XDMA_BYTES}_bit}} CONFIG.axisten_freq {{{clock:g}}} "
        "CONFIG.xdma_rnum_chnl {1} CONFIG.xdma_wnum_chnl {1} "
        "CONFIG.pciebar2axibar_axil_master {0x0000000000000000}] [get_bd_cells pcie]\n"
    )
    task, result = streams.task_bits // 8, streams.result_bits // 8
    for name, source, sink, sizes in (
        ("narrow", "pcie/M_AXIS_H2C_0", "accelerator/s_axis", (XDMA_BYTES, task)),
        ("widen", "accelerator/m_axis", "pcie/S_AXIS_C2H_0", (result, XDMA_BYTES)),
    ):
        # a batch ends within a beat of XDMA's: TKEEP says where, and TLAST that it does
        cells += (
            f"create_bd_cell -type ip -vlnv xilinx.com:ip:axis_dwidth_converter {name}\n"
            f"set_property -dict [list CONFIG.S_TDATA_NUM_BYTES {{{sizes[0]}}} CONFIG.M_TDATA_NUM_BYTES {{{sizes[1]}}} "
            f"CONFIG.HAS_TKEEP {{1}} CONFIG.HAS_TLAST {{1}}] [get_bd_cells {name}]\n"
            f"connect_bd_intf_net [get_bd_intf_pins {source}] [get_bd_intf_pins {name}/S_AXIS]\n"
            f"connect_bd_intf_net [get_bd_intf_pins {name}/M_AXIS] [get_bd_intf_pins {sink}]\n"
            f"connect_bd_net [get_bd_pins pcie/axi_aclk] [get_bd_pins {name}/aclk]\n"
            f"connect_bd_net [get_bd_pins pcie/axi_aresetn] [get_bd_pins {name}/aresetn]\n"
        )
    cells += (
        "connect_bd_net [get_bd_pins pcie/axi_aclk] [get_bd_pins accelerator/aclk]\n"
        "connect_bd_net [get_bd_pins pcie/axi_aresetn] [get_bd_pins accelerator/aresetn]\n"
    )
    cells += _automation("/accelerator/s_axi", "/pcie/M_AXI_LITE")
    cells += _registers_at(0, "pcie/M_AXI_LITE")
    return _block_design(streams.module, cells)


SYSTEMS = {**dict.fromkeys(PROCESSORS, _zynq), "pcie": _pcie}
"""Makers of the system around an AXI shell, by its name."""


def _preset(board: Board) -> str:
    """Takes the settings that the vendor has for a board, where it has any."""
    part = board.vendor.get("board_part")
    if part is None:
        return ""
    return (
        f"set known [lindex [lsort [get_board_parts -quiet {part}:*]] end]\n"
        f'if {{$known eq ""}} {{ error "board files of {part} are missing: install them with xhub::install" }}\n'
        "set_property board_part $known [current_project]\n"
    )


def project(
    board: Board,
    sources: Mapping[str, str],
    streams: Streams | RegisterPort | None,
    clock: float,
) -> str:
    """The Tcl that makes and builds the project from ``sources`` beside it, for ``clock`` in MHz; around a serial
    shell, or one with ``streams`` or registers."""
    system = _pins() if streams is None else SYSTEMS[board.vendor["system"]](board, streams, clock)
    return (
        f"# {board.summary}: vivado -mode batch -source {SCRIPT}\n"
        f"create_project -force rbdgen project -part {board.part}\n"
        f"{_preset(board)}add_files {{{' '.join(sources)}}}\nupdate_compile_order -fileset sources_1\n"
        f"{system}"
        "update_compile_order -fileset sources_1\n"
        "set_property STEPS.PHYS_OPT_DESIGN.IS_ENABLED true [get_runs impl_1]\n"
        "launch_runs impl_1 -to_step write_bitstream -jobs 4\nwait_on_run impl_1\n"
        # wait_on_run does not fail where the run has
        'if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} { error "implementation failed" }\n'
        f"open_run impl_1\nreport_timing_summary -file {TIMING}\nreport_utilization -file {UTILISATION}\n"
        "set bits [glob project/rbdgen.runs/impl_1/*.bit]\n"
        f"file copy -force [lindex $bits 0] {BITSTREAM}\n"
        # only a system with a processor has one
        "set handoffs [glob -nocomplain project/rbdgen.gen/sources_1/bd/system/hw_handoff/*.hwh]\n"
        f"if {{[llength $handoffs]}} {{ file copy -force [lindex $handoffs 0] {HANDOFF} }}\n"
    )


def program() -> str:
    """The Tcl that loads the bitstream over JTAG."""
    return (
        "open_hw_manager\nconnect_hw_server\nopen_hw_target\n"
        "set device [lindex [get_hw_devices] 0]\n"
        f"set_property PROGRAM.FILE {BITSTREAM} $device\nprogram_hw_devices $device\n"
    )


HOSTS = {
    **dict.fromkeys(
        PROCESSORS,
        f"For PYNQ copy {BITSTREAM}, {HANDOFF} and manifest.json to the board, and open them with rbdgen.host.pynq.\n",
    ),
    "pcie": (
        "On the host load AMD's XDMA driver, rescan PCI Express, and open manifest.json with Driver.xdma of "
        "rbdgen.host.driver.\n"
    ),
}
"""Ways of a host to what stands around an AXI shell, by the system's name."""


def _engines_host(board: Board) -> str:
    """Ways of a host to an engine's registers."""
    at = PROCESSORS[board.vendor["system"]].address
    return (
        f"For PYNQ copy {BITSTREAM} and {HANDOFF} to the board, and open them with open_engine of rbdgen.host.pynq.\n"
        f"For firmware write a program's driver, rbdgen emit --target bare: the registers are at {at:#010x}.\n"
    )


def instructions(board: Board, registers: bool = False) -> str:
    """Instructions where Vivado is not on PATH; of a system in which an engine has ``registers``."""
    host = _engines_host(board) if registers else HOSTS.get(board.vendor["system"], "")
    return (
        f"{board.summary}\n\nEverything is here but the bitstream, which Vivado makes:\n\n"
        f"    vivado -mode batch -source {SCRIPT}\n    vivado -mode batch -source {PROGRAM}\n\n"
        f"{TIMING} and {UTILISATION} then say what came out.\n{host}"
    )


def achieved_clock(report: str, clock: float) -> float:
    """MHz that a timing summary allows, from the worst slack at ``clock``. ToolError if it has none."""
    found = re.search(r"WNS\(ns\).*?\n[-\s]+\n\s*(-?[\d.]+)", report, re.S)
    if found is None:
        raise ToolError(f"vivado: {TIMING} has no worst slack; look into it")
    return 1e3 / (1e3 / clock - float(found[1]))


def used(report: str) -> dict[str, int]:
    """A utilisation report's figures, by the names of a board's resources."""
    rows = {
        "multipliers": r"DSPs",
        # reports say CLB of UltraScale+ and slice of 7 series
        "luts": r"(?:CLB|Slice) LUTs\*?",
        "registers": r"(?:CLB|Slice) Registers",
        "memories": r"Block RAM Tile",
    }
    found = {
        name: re.search(rf"^\|\s*{row}\s*\|\s*(\d+)", report, re.M) for name, row in rows.items()
    }
    return {name: int(f[1]) for name, f in found.items() if f is not None}


LOG = "vivado.log"
COMMAND = ("vivado", "-mode", "batch", "-source", SCRIPT, "-log", LOG, "-nojournal")


class Vivado(Flow):
    """AMD's devices with AMD's own tool. Its results are not kept: a project is run once."""

    name = "vivado"
    maker = "Vivado"
    syntheses: ClassVar = {
        "xc7": Synthesis(XC7.synthesis),
        "xcup": Synthesis(XCUP.synthesis),
    }

    def estimate(self, request: Request, progress: Progress) -> Estimate:
        progress("estimate resources")
        board, streams = request.board, request.streams
        own = self.syntheses[board.timing]
        # as one module, which AMD's synthesis makes of it too; pads are the board's
        how = replace(own, command=f"{own.command} -flatten -noiopad")
        top = TOP if streams is None else streams.module
        return Estimate(ESTIMATOR, estimate(request.sources, top, how))

    def clocking(self, board: Board, clock: float, directory: Path) -> Clocking:
        if board.shell == "uart":
            return managed_clock(board, clock)
        # the system around an AXI shell makes the board's clock
        return Clocking("", "", board.clock)

    def build(self, request: Request, directory: Path, progress: Progress) -> Routed | None:
        board = request.board
        files = {
            **request.sources,
            SCRIPT: project(board, request.sources, request.streams, request.running),
            PROGRAM: program(),
            "README.txt": instructions(board, isinstance(request.streams, RegisterPort)),
        }
        if board.pins:
            files[CONSTRAINTS] = xdc(board)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        if not available():
            return None
        progress("Vivado")
        return run(directory, request.running)


def available() -> bool:
    """Whether Vivado is on PATH."""
    return shutil.which("vivado") is not None


def run(directory: Path, clock: float) -> Routed:
    """Run the project in ``directory``, made for ``clock`` in MHz. ToolError with Vivado's own complaint."""
    done = subprocess.run(
        COMMAND,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
        reason = errors[0] if errors else "no reason given"
        raise ToolError(f"vivado failed: {reason} (log: {directory / LOG})")
    timing = (directory / TIMING).read_text(encoding="utf-8")
    utilisation = (directory / UTILISATION).read_text(encoding="utf-8")
    return Routed(achieved_clock(timing, clock), used(utilisation), (), BITSTREAM)
