"""Bitstreams for Nexus: what Yosys's netlist lacks for nextpnr, constraints, and a counter that becomes a bitstream."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rbdgen.errors import ConfigError, ToolError
from rbdgen_boards.board import get_board
from rbdgen_boards.flow import Request
from rbdgen_boards.nexus import BITSTREAM, SYNTHESIS, Nexus, open_chains, pdc, used_cells
from rbdgen_boards.synthesis import NETLIST, cells, synthesise
from rbdgen_boards.top import TOP

BOARD = get_board("crosslink_nx_evn")
COUNTER = f"""
module {TOP}(input clk, input rx, output tx, output [1:0] led);
  reg [15:0] count = 0;
  always @(posedge clk) count <= count + {{15'b0, rx}} + 16'd3;
  assign tx = count[15];
  assign led = count[14:13];
endmodule
"""


@pytest.fixture
def lent() -> None:
    """Skips where nextpnr-nexus is not there."""
    try:
        Nexus().require_tools()
    except ToolError as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_carry_chains_begin_open(tmp_path: Path) -> None:
    """As nextpnr asks for; whatever else is tied stays, and so does what one carry gives the next."""
    synthesise(tmp_path, {"top.v": COUNTER}, "", SYNTHESIS)
    module = json.loads((tmp_path / NETLIST).read_text())["modules"][TOP]

    def carries() -> list[bool]:
        return ["CIN" in c["connections"] for c in module["cells"].values() if c["type"] == "CCU2"]

    before = carries()
    assert len(before) > 8
    assert all(before)
    begins = open_chains(module)
    assert begins >= 1
    assert sum(carries()) == len(before) - begins
    assert open_chains(module) == 0
    used = used_cells(cells(tmp_path))
    assert used["luts"] >= 2 * len(before)
    assert used["registers"] == 16


def test_constraints_name_every_pin() -> None:
    lines = pdc(BOARD).splitlines()
    assert lines[0] == "create_clock -period 83.333 [get_ports {clk}]"
    assert "ldc_set_location -site {E17} [get_ports {led[0]}]" in lines
    assert "ldc_set_port -iobuf {IO_TYPE=LVCMOS33} [get_ports {tx}]" in lines
    assert sum(line.startswith("ldc_set_location") for line in lines) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fixed_clock": False}, "clock.fixed must be true"),
        ({"clock_pin": ""}, "clock.pin be there"),
    ],
)
def test_another_clock_is_refused(change: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^board crosslink_nx_evn: .*{message}"):
        Nexus().clocking(replace(BOARD, **change), 12.0, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("lent")
def test_a_counter_becomes_a_bitstream(tmp_path: Path) -> None:
    request = Request(BOARD, {"top.v": COUNTER}, "", 12.0, 12.0, 1)
    made = Nexus().build(request, tmp_path, lambda step: None)
    assert made.achieved > 12.0
    assert made.used["registers"] == 16
    assert made.used["memories"] == 0
    assert (tmp_path / BITSTREAM).stat().st_size > 100_000
    other = replace(BOARD, part="LFE5U-25F-6BG381C")
    with pytest.raises(ConfigError, match=r"part must be an order code such as LIFCL-40-9BG400C"):
        Nexus().build(replace(request, board=other), tmp_path, lambda step: None)
