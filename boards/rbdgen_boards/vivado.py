"""AMD devices: a Vivado project as Tcl, run where Vivado is on PATH, else left ready with instructions.

Three systems: ``pins`` (a serial line on the board's pins), ``zynq`` (the processor's DMA feeds the AXI streams) and
``pcie`` (the host's DMA does).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards.board import Board
from rbdgen_boards.flow import TOP, Routed

FLOW = "vivado"
SCRIPT = "build.tcl"
BITSTREAM = "bitstream.bit"
HANDOFF = "bitstream.hwh"
"""What PYNQ reads beside the bitstream of a system with a processor."""
TIMING, UTILISATION = "timing.rpt", "utilisation.rpt"
OSCILLATOR = (600.0, 1200.0)
"""MHz between which a 7-series clock manager's oscillator runs, at any speed grade."""


@dataclass(frozen=True)
class Streams:
    """What a system needs to know of the AXI shell: its module and the widths of its streams in bits."""

    module: str
    task_bits: int
    result_bits: int


def clock_manager(board_clock: float, clock: float) -> tuple[float, float]:
    """Multiplier and divider of a 7-series clock manager for the clock next below ``clock``, in MHz.

    ConfigError where there is none.
    """
    found = [
        (m / 8, d / 8)
        for m in range(16, 513)
        if OSCILLATOR[0] <= board_clock * m / 8 <= OSCILLATOR[1]
        for d in (-(-board_clock * m // clock),)
        if 8 <= d <= 1024
    ]
    if not found:
        raise ConfigError(f"clock: {clock:g} MHz cannot be made from {board_clock:g} MHz; choose 5 to 600 MHz")
    return max(found, key=lambda pair: (board_clock * pair[0] / pair[1], -pair[0]))


def clocking(board: Board, clock: float) -> tuple[str, float]:
    """Lines of the top module that make ``clock`` and ``settled`` from ``clk``, and the clock in MHz that they make."""
    multiply, divide = clock_manager(board.clock, clock)
    lines = (
        "  wire feedback, made;\n"
        f"  MMCME2_BASE #(.CLKIN1_PERIOD({1e3 / board.clock:.3f}), .CLKFBOUT_MULT_F({multiply:.3f}), "
        f".CLKOUT0_DIVIDE_F({divide:.3f})) manager (\n"
        "    .CLKIN1(clk), .CLKFBIN(feedback), .CLKFBOUT(feedback), .CLKOUT0(made), .LOCKED(settled), .PWRDWN(1'b0), "
        ".RST(1'b0)\n  );\n"
        "  BUFG buffer (.I(made), .O(clock));\n"
    )
    return lines, board.clock * multiply / divide


def _pins() -> str:
    return f"add_files -fileset constrs_1 board.xdc\nset_property top {TOP} [current_fileset]\n"


def _automation(slave: str, master: str) -> str:
    return (
        f"apply_bd_automation -rule xilinx.com:bd_rule:axi4 -config {{ Master {master} Slave {slave} "
        f"Clk_master Auto Clk_slave Auto Clk_xbar Auto intc_ip Auto }} [get_bd_intf_pins {slave.lstrip('/')}]\n"
    )


def _block_design(board: Board, streams: Streams, cells: str) -> str:
    return (
        f"create_bd_design system\ncreate_bd_cell -type module -reference {streams.module} accelerator\n"
        f"{cells}assign_bd_address\nvalidate_bd_design\nsave_bd_design\n"
        "make_wrapper -files [get_files system.bd] -top -import\nset_property top system_wrapper [current_fileset]\n"
    )


def _zynq(board: Board, streams: Streams, clock: float) -> str:
    cells = (
        "create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e processor\n"
        "apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config { apply_board_preset 1 } "
        "[get_bd_cells processor]\n"
        "set_property -dict [list CONFIG.PSU__USE__M_AXI_GP0 {1} CONFIG.PSU__USE__M_AXI_GP1 {0} "
        "CONFIG.PSU__USE__M_AXI_GP2 {0} CONFIG.PSU__USE__S_AXI_GP2 {1} "
        f"CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ {{{clock:g}}}] [get_bd_cells processor]\n"
        "create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma dma\n"
        "set_property -dict [list CONFIG.c_include_sg {0} CONFIG.c_sg_length_width {26} "
        f"CONFIG.c_m_axis_mm2s_tdata_width {{{streams.task_bits}}} "
        f"CONFIG.c_m_axi_mm2s_data_width {{{max(streams.task_bits, 32)}}} "
        f"CONFIG.c_s_axis_s2mm_tdata_width {{{streams.result_bits}}} "
        f"CONFIG.c_m_axi_s2mm_data_width {{{max(streams.result_bits, 32)}}}] [get_bd_cells dma]\n"
        "connect_bd_intf_net [get_bd_intf_pins dma/M_AXIS_MM2S] [get_bd_intf_pins accelerator/s_axis]\n"
        "connect_bd_intf_net [get_bd_intf_pins accelerator/m_axis] [get_bd_intf_pins dma/S_AXIS_S2MM]\n"
    )
    cells += _automation("/dma/S_AXI_LITE", "/processor/M_AXI_HPM0_FPD")
    cells += _automation("/accelerator/s_axi", "/processor/M_AXI_HPM0_FPD")
    cells += _automation("/processor/S_AXI_HP0_FPD", "/dma/M_AXI_MM2S")
    cells += _automation("/processor/S_AXI_HP0_FPD", "/dma/M_AXI_S2MM").replace(
        "[get_bd_intf_pins processor/S_AXI_HP0_FPD]", "[get_bd_intf_pins dma/M_AXI_S2MM]"
    )
    return _block_design(board, streams, cells)


def _pcie(board: Board, streams: Streams, clock: float) -> str:
    cells = (
        "create_bd_cell -type ip -vlnv xilinx.com:ip:xdma pcie\n"
        "apply_bd_automation -rule xilinx.com:bd_rule:xdma -config { accel {1} auto_level {IP Level} "
        "axi_clk {Maximum Data Width} axi_intf {AXI Stream} lane_width {X8} link_speed {8.0 GT/s (PCIe Gen 3)} } "
        "[get_bd_cells pcie]\n"
        "set_property -dict [list CONFIG.axilite_master_en {true} CONFIG.xdma_axi_intf_mm {AXI_Stream}] "
        "[get_bd_cells pcie]\n"
    )
    for name, bits, source, sink in (
        ("narrow", streams.task_bits, "pcie/M_AXIS_H2C_0", "accelerator/s_axis"),
        ("widen", streams.result_bits, "accelerator/m_axis", "pcie/S_AXIS_C2H_0"),
    ):
        size = "M_TDATA_NUM_BYTES" if name == "narrow" else "S_TDATA_NUM_BYTES"
        cells += (
            f"create_bd_cell -type ip -vlnv xilinx.com:ip:axis_dwidth_converter {name}\n"
            f"set_property CONFIG.{size} {{{bits // 8}}} [get_bd_cells {name}]\n"
            f"connect_bd_intf_net [get_bd_intf_pins {source}] [get_bd_intf_pins {name}/S_AXIS]\n"
            f"connect_bd_intf_net [get_bd_intf_pins {name}/M_AXIS] [get_bd_intf_pins {sink}]\n"
            f"connect_bd_net [get_bd_pins pcie/axi_aclk] [get_bd_pins {name}/aclk]\n"
            f"connect_bd_net [get_bd_pins pcie/axi_aresetn] [get_bd_pins {name}/aresetn]\n"
        )
    cells += (
        "connect_bd_net [get_bd_pins pcie/axi_aclk] [get_bd_pins accelerator/aclk]\n"
        "connect_bd_net [get_bd_pins pcie/axi_aresetn] [get_bd_pins accelerator/aresetn]\n"
    )
    return _block_design(board, streams, cells + _automation("/accelerator/s_axi", "/pcie/M_AXI_LITE"))


def project(board: Board, sources: Mapping[str, str], streams: Streams, clock: float) -> str:
    """The Tcl that makes and builds the project from ``sources`` beside it, for ``clock`` in MHz."""
    match board.vendor["system"]:
        case "pins":
            system = _pins()
        case "zynq":
            system = _zynq(board, streams, clock)
        case _:
            system = _pcie(board, streams, clock)
    part = board.vendor.get("board_part")
    preset = (
        f"set known [lindex [lsort [get_board_parts -quiet {part}:*]] end]\n"
        f'if {{$known eq ""}} {{ error "board files of {part} are missing: install them with xhub::install" }}\n'
        "set_property board_part $known [current_project]\n"
        if part
        else ""
    )
    return (
        f"# {board.summary}: vivado -mode batch -source {SCRIPT}\n"
        f"create_project -force rbdgen project -part {board.part}\n"
        f"{preset}add_files {{{' '.join(sources)}}}\nupdate_compile_order -fileset sources_1\n"
        f"{system}"
        "update_compile_order -fileset sources_1\n"
        "set_property STEPS.PHYS_OPT_DESIGN.IS_ENABLED true [get_runs impl_1]\n"
        "launch_runs impl_1 -to_step write_bitstream -jobs 4\nwait_on_run impl_1\n"
        'if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} { error "implementation failed" }\n'
        f"open_run impl_1\nreport_timing_summary -file {TIMING}\nreport_utilization -file {UTILISATION}\n"
        "set bits [glob project/rbdgen.runs/impl_1/*.bit]\n"
        f"file copy -force [lindex $bits 0] {BITSTREAM}\n"
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


def instructions(board: Board) -> str:
    """What to do where Vivado is not on PATH."""
    pynq = (
        f"For PYNQ copy {BITSTREAM}, {HANDOFF} and manifest.json to the board, and open them with rbdgen.host.pynq.\n"
        if board.vendor["system"] == "zynq"
        else ""
    )
    return (
        f"{board.summary}\n\nEverything is here but the bitstream, which Vivado makes:\n\n"
        f"    vivado -mode batch -source {SCRIPT}\n    vivado -mode batch -source program.tcl\n\n"
        f"{TIMING} and {UTILISATION} then say what came out.\n{pynq}"
    )


def available() -> bool:
    """Whether Vivado is on PATH."""
    return shutil.which("vivado") is not None


def run(board: Board, directory: Path, clock: float) -> Routed:
    """Run the project in ``directory``. ToolError with Vivado's own complaint if it fails."""
    done = subprocess.run(
        ["vivado", "-mode", "batch", "-source", SCRIPT, "-log", "vivado.log", "-nojournal"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.startswith("ERROR")] or ["no reason given"]
        raise ToolError(f"vivado failed: {lines[0]} (log: {directory / 'vivado.log'})")
    return Routed(
        achieved_clock((directory / TIMING).read_text(encoding="utf-8"), clock),
        used((directory / UTILISATION).read_text(encoding="utf-8")),
        (),
        BITSTREAM,
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
        "luts": r"(?:CLB|Slice) LUTs\*?",
        "registers": r"(?:CLB|Slice) Registers",
        "memories": r"Block RAM Tile",
    }
    found = {name: re.search(rf"^\|\s*{row}\s*\|\s*(\d+)", report, re.M) for name, row in rows.items()}
    return {name: int(f[1]) for name, f in found.items() if f is not None}
