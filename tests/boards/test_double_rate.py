"""Pads of an ECP5 that are read and driven at both edges: as both tools name them, a pair of bits that comes in one
cycle goes out in one cycle, in the same order."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from rbdgen.errors import ToolError
from rbdgen_boards.models.ecp5 import ECP5
from rbdgen_boards.models.netlist_verilog import netlist_verilog

CLOCK, PAD, OUT, DELAYED, FIRST, SECOND, LATE, DRIVEN = range(2, 10)
PORTS = {
    "clk": {"direction": "input", "bits": [CLOCK]},
    "pad": {"direction": "input", "bits": [PAD]},
    "out": {"direction": "output", "bits": [OUT]},
}
MODE = {"MODE": "IDDRX1_ODDRX1", "CLKIMUX": "CLK", "CLKOMUX": "CLK"}


def cell(kind: str, parameters: dict[str, str] | None = None, **pins: int) -> dict[str, Any]:
    connections = {name: [net] for name, net in pins.items()}
    return {"type": kind, "parameters": parameters or {}, "connections": connections}


SYNTHESISED = {
    "way_in": cell("DELAYG", {"DEL_MODE": "SCLK_ALIGNED", "DEL_VALUE": "0"}, A=PAD, Z=DELAYED),
    "pair_in": cell("IDDRX1F", SCLK=CLOCK, D=DELAYED, Q0=FIRST, Q1=SECOND),
    "pair_out": cell("ODDRX1F", SCLK=CLOCK, D0=FIRST, D1=SECOND, Q=OUT),
}
ROUTED = {
    "pad_in": cell("TRELLIS_IO", {"DIR": "INPUT", "DATAMUX_ODDR": "PADDO"}, B=PAD, O=LATE),
    "pair_in": cell(
        "IOLOGIC",
        MODE,
        CLK=CLOCK,
        PADDI=LATE,
        INDD=DELAYED,
        DI=DELAYED,
        RXDATA0=FIRST,
        RXDATA1=SECOND,
    ),
    "pair_out": cell("IOLOGIC", MODE, CLK=CLOCK, TXDATA0=FIRST, TXDATA1=SECOND, IOLDO=DRIVEN),
    "pad_out": cell("TRELLIS_IO", {"DIR": "OUTPUT", "DATAMUX_ODDR": "IOLDO"}, IOLDO=DRIVEN, B=OUT),
}
BENCH = """
module bench;
  reg clk = 0, pad = 0; wire out; integer k; reg [63:0] sent = 64'h9e3779b97f4a7c15, came = 0;
  gate made(.clk(clk), .pad(pad), .out(out));
  initial begin
    for (k = 0; k < 64; k = k + 1) begin
      pad = sent[63 - k];
      #1 clk = ~k[0];
      #1 came = {came[62:0], out};
    end
    $display("%b %b", sent, came);
  end
endmodule
"""

AT_THE_TOP = {
    name: {**own, "type": own["type"].replace("IOLOGIC", "SIOLOGIC")}
    for name, own in ROUTED.items()
}
"""Routed to pads of the device's upper edge, whose cells have another name."""


@pytest.mark.parametrize(
    "cells", [SYNTHESISED, ROUTED, AT_THE_TOP], ids=["synthesised", "routed", "top"]
)
def test_what_comes_at_both_edges_goes_out_so(cells: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "gate.v").write_text(
        netlist_verilog({"ports": PORTS, "cells": cells}, ECP5, "gate")
    )
    (tmp_path / "bench.v").write_text(BENCH)
    files = [str(tmp_path / name) for name in ("bench.v", "gate.v")]
    program = str(tmp_path / "bench")
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", program, *files], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    sent, came = said.split()
    late = came.index(sent[:24])
    # the pair that came at one rising edge and the falling one behind it leaves at such two
    assert late % 2 == 0
    assert came[late:] == sent[: 64 - late]
    assert late <= 6


def test_a_pad_in_another_mode_has_no_model() -> None:
    routed = {**ROUTED, "pair_out": cell("IOLOGIC", {"MODE": "ODDRXN"}, CLK=CLOCK, IOLDO=DRIVEN)}
    with pytest.raises(ToolError, match=r"MODE=ODDRXN has no model, only IDDRX1_ODDRX1"):
        netlist_verilog({"ports": PORTS, "cells": routed}, ECP5, "gate")
