"""Estimates for AMD's boards: what cells take, of designs that are small enough to count by hand."""

from __future__ import annotations

import pytest

from rbdgen_boards.amd import estimate as estimates
from rbdgen_boards.amd.estimate import estimate, used
from rbdgen_boards.synthesis import Synthesis

# one product, a memory of 2048 x 18, and a parity of six bits
DESIGN = """
module small(input clk, input signed [17:0] a, b, input [10:0] at, input write, output reg signed [35:0] product,
  output reg [17:0] read, output reg odd);
  reg [17:0] memory[0:2047];
  always @(posedge clk) begin
    product <= a * b;
    if (write) memory[at] <= a;
    read <= memory[at];
    odd <= ^a[5:0];
  end
endmodule
"""


@pytest.mark.parametrize(("family", "registers"), [("xc7", 1), ("xcup", 37)])
@pytest.mark.slow
def test_a_design_is_counted(family: str, registers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    how = Synthesis(f"synth_xilinx -family {family} -noiopad")
    found = estimate({"small.v": DESIGN}, "small", how)
    # the memory has its registers inside, and the product if Yosys knows how, which it does of 7 series
    assert found == {"multipliers": 1, "luts": 1, "registers": registers, "memories": 1}

    def never(*given: object) -> None:
        raise AssertionError

    monkeypatch.setattr(estimates, "synthesise", never)
    assert estimate({"small.v": DESIGN}, "small", how) == found
    with pytest.raises(AssertionError):
        estimate({"small.v": DESIGN + "// another\n"}, "small", how)


def test_cells_are_a_boards_resources() -> None:
    """Memories of look-up tables count as such, and two halves of a block memory are one."""
    counted = {"LUT2": 3, "LUT6": 4, "RAM64M": 2, "RAM32X1D": 1, "SRL16E": 1, "CARRY4": 9}
    counted |= {"RAMB18E1": 3, "RAMB36E2": 2, "DSP48E2": 5, "FDRE": 7, "FDSE": 1, "MUXF7": 8}
    assert used(counted) == {"multipliers": 5, "luts": 18, "registers": 8, "memories": 4}
