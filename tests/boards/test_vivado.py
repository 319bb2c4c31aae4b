"""Vivado projects: what they connect, and that it fits the shell and the host's driver. Vivado itself is not there: a
Tcl interpreter runs the script, in which every command that it does not know says nothing and is written down."""

from __future__ import annotations

import re

import pytest

from rbdgen.errors import ConfigError
from rbdgen.host.xdma import GRAIN
from rbdgen.protocol.registers import ADDRESS_BITS, stream_bits
from rbdgen_boards.board import get_board
from rbdgen_boards.engines import board_engine
from rbdgen_boards.flow import RegisterPort, Streams
from rbdgen_boards.vivado import XDMA_BYTES, instructions, project
from rbdgen_hw.emit import axi_verilog, registers_verilog
from tests.conftest import design

tkinter = pytest.importorskip("tkinter", reason="Python without Tcl")

RECORD = """
set calls {}
proc unknown args { lappend ::calls $args; return [lindex $args end] }
proc get_property args { return 100% }
proc glob args { return found }
proc file args { }
"""
SHELL = "rbd_pendulum2_id_axi"
PROCESSORS = ("kr260", "kv260", "pynq_z2")
"""Boards whose processor reaches the accelerator."""


def calls(board: str, ii: int = 1) -> tuple[list[list[str]], Streams]:
    """The commands of a board's project, each with its arguments, and the streams of its design."""
    tasks = design("pendulum2", device="xcup", ii=ii).tasks
    streams = Streams(SHELL, stream_bits(tasks.task), stream_bits(tasks.result))
    return played(board, streams), streams


def played(board: str, streams: Streams | RegisterPort) -> list[list[str]]:
    """The commands of a board's project around such a shell, each with its arguments."""
    script = project(get_board(board), {"a.v": "", "b.v": ""}, streams, 250.0)
    tcl = tkinter.Tcl()
    tcl.eval(RECORD)
    tcl.eval(script)
    found = []
    for call in tcl.splitlist(tcl.eval("set calls")):
        found.append(list(tcl.splitlist(call)))
    return found


def settings(found: list[list[str]], cell: str) -> dict[str, str]:
    """What is set of a cell."""
    words: list[str] = []
    for call in found:
        if call[0] == "set_property" and call[-1] == cell:
            words += call[2].split() if call[1] == "-dict" else call[1:3]
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("board", ["vcu118", *PROCESSORS])
def test_whatever_is_connected_is_there(board: str) -> None:
    found, _ = calls(board)
    cells = {call[-1] for call in found if call[0] == "create_bd_cell"}
    nets = [call for call in found if call[0].startswith("connect_bd")]
    assert len(nets) >= 2
    verilog = axi_verilog(design("pendulum2", device="xcup"), bytes(16))
    ports = re.findall(rf"module {SHELL}\((.*?)\);", verilog, re.S)[0]
    for call in nets:
        for pin in call[1:]:
            cell, _, port = pin.partition("/")
            assert cell in cells
            if cell == "accelerator":
                assert re.search(rf"\b{port}", ports)


@pytest.mark.parametrize("board", PROCESSORS)
def test_an_engines_registers_are_at_the_processors_port(board: str) -> None:
    """One bus and an interrupt, no DMA; registers at the address that the instructions tell."""
    known = get_board(board)
    engine = board_engine(known)
    verilog = registers_verilog(engine, engine.identity, "axi-lite")
    module = f"{engine.name}_axi_lite"
    ports = re.findall(rf"module {module}\((.*?)\);", verilog, re.S)[0]
    found = played(board, RegisterPort(module))
    cells = {call[-1] for call in found if call[0] == "create_bd_cell"}
    assert cells == {"accelerator", "processor"}
    (accelerator,) = (c for c in found if c[0] == "create_bd_cell" and c[-1] == "accelerator")
    assert module in accelerator
    (net,) = (call for call in found if call[0].startswith("connect_bd"))
    assert net[1] == "accelerator/irq"
    assert re.search(r"output irq\b", ports)
    asked = settings(found, "processor")
    clock = [value for name, value in asked.items() if name.endswith("FREQMHZ")]
    assert clock == ["250"]
    (bus,) = (c for c in found if c[0] == "apply_bd_automation" and c[2].endswith("axi4"))
    assert "/accelerator/s_axi" in bus[4]
    assert re.search(r"\bs_axi_awaddr\b", ports)
    (given,) = (call for call in found if call[:2] == ["assign_bd_address", "-offset"])
    assert given[4:7] == ["4K", "-target_address_space", "processor/Data"]
    told = instructions(known, registers=True)
    assert f"{int(given[2], 16):#010x}" in told
    assert "open_engine of rbdgen.host.pynq" in told


def test_no_engine_is_made_for_pci_express() -> None:
    with pytest.raises(ConfigError, match=r"^board vcu118: an engine's registers would be behind"):
        project(get_board("vcu118"), {}, RegisterPort("a"), 250.0)


@pytest.mark.parametrize("ii", [1, 8])
def test_streams_of_pci_express_are_as_wide_as_the_host_counts_on(ii: int) -> None:
    found, streams = calls("vcu118", ii)
    assert XDMA_BYTES == GRAIN
    pcie = settings(found, "pcie")
    assert pcie["CONFIG.axi_data_width"] == f"{8 * GRAIN}_bit"
    assert pcie["CONFIG.xdma_axi_intf_mm"] == "AXI_Stream"
    assert pcie["CONFIG.axisten_freq"] == "250"
    narrow, widen = settings(found, "narrow"), settings(found, "widen")
    task, result = str(streams.task_bits // 8), str(streams.result_bits // 8)
    sizes = "CONFIG.S_TDATA_NUM_BYTES", "CONFIG.M_TDATA_NUM_BYTES"
    assert [narrow[size] for size in sizes] == ["64", task]
    assert [widen[size] for size in sizes] == [result, "64"]
    for converter in (narrow, widen):
        # where a batch ends amid a beat
        assert converter["CONFIG.HAS_TKEEP"] == converter["CONFIG.HAS_TLAST"] == "1"


def test_registers_are_where_the_host_looks_for_them() -> None:
    found, _ = calls("vcu118")
    (given,) = (call for call in found if call[:2] == ["assign_bd_address", "-offset"])
    assert int(given[2], 16) == 0
    assert 1 << ADDRESS_BITS <= 4096
    assert given[4:7] == ["4K", "-target_address_space", "pcie/M_AXI_LITE"]
    assert settings(found, "pcie")["CONFIG.axilite_master_en"] == "true"
    assert int(settings(found, "pcie")["CONFIG.pciebar2axibar_axil_master"], 16) == 0


@pytest.mark.parametrize(
    ("board", "driver"), [("vcu118", "Driver.xdma"), ("kv260", "rbdgen.host.pynq")]
)
def test_instructions_name_the_hosts_driver(board: str, driver: str) -> None:
    assert driver in instructions(get_board(board))
    assert "rbdgen.host" not in instructions(get_board("arty_a7_100"))
