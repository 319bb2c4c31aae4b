"""Multiplier blocks of devices: an accelerator made of them gives the same bits in the same cycles."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.trials import make_tasks, task_states
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.primitives import ACCUMULATOR, PRIMITIVES, PRODUCT_MODULE, ROUNDED_SUM, overrides
from rbdgen_sim.interface import Rtl
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import design

MODELS = Path(__file__).with_name("primitives.v")


@pytest.mark.parametrize(
    ("flow", "device", "function", "registers"),
    [
        ("ecp5", "ecp5", "id", {"1"}),
        ("ecp5", "ecp5", "fd", {"1"}),
        ("gowin", "gw5a", "id", {"2"}),
        ("gowin", "gw5a", "fd", {"2", "3"}),
    ],
)
@pytest.mark.slow
def test_an_accelerator_of_blocks_is_the_same(
    flow: str, device: str, function: str, registers: set[str], tmp_path: Path
) -> None:
    d = design("pendulum2", ii=2, functions=(function,), device=device)
    verilog = design_verilog(d)
    blocks = overrides(verilog, flow)
    replaced = re.findall(r"^module (\w+)\(", blocks, re.M)
    expected = {name for name, *_ in PRODUCT_MODULE.findall(verilog)}
    accumulators = {name for name, *_ in ACCUMULATOR.findall(verilog)}
    assert accumulators
    expected |= accumulators
    if flow == "ecp5":
        rounded = {name for name, *_, drop, _, _ in ROUNDED_SUM.findall(verilog) if drop != "0"}
        assert rounded
        expected |= rounded
    assert set(replaced) == expected
    assert {count for *_, count in PRODUCT_MODULE.findall(verilog)} == registers
    for name in replaced:
        verilog, count = re.subn(
            rf"^module {name}\(.*?^endmodule\n", "", verilog, flags=re.M | re.S
        )
        assert count == 1
    source = tmp_path / "design.v"
    source.write_text(verilog + blocks + MODELS.read_text())
    rtl = Rtl(d.name, (source,), d.tasks.task.beat_bits, d.tasks.result.beat_bits)
    tasks = make_tasks(d, function, task_states(d, 60, seed=1))
    run = run_tasks(d, [tasks], np.zeros(tasks.count, int), rtl, get_simulator("icarus"), tmp_path)
    assert run.outcomes[function].mismatches == 0
    assert run.outcomes[function].latencies[0] == d.promised_latency(function)


@pytest.mark.parametrize("flow", PRIMITIVES)
def test_other_registers_stay(flow: str) -> None:
    for registers in range(min(PRIMITIVES[flow].registers)):
        assert PRIMITIVES[flow].module("m", 18, 18, registers) is None
    # the third register in a row of these blocks is not to be had, see GOWIN_REGISTERS
    two = flow in ("gowin", "ice40")
    assert ("always" in (PRIMITIVES[flow].module("m", 18, 18, 3) or "")) == two
    assert overrides("module x_product_18x18_r2(a, b);\n", "no such flow") == ""


@pytest.mark.parametrize(
    ("flow", "registers"),
    [
        (flow, registers)
        for flow, primitive in PRIMITIVES.items()
        for registers in (1, 2, 3, 5)
        if registers >= min(primitive.registers)
    ],
)
@pytest.mark.parametrize(
    "widths", [(18, 18), (7, 18), (24, 18), (19, 22), (27, 27), (30, 40), (54, 36)], ids=str
)
def test_products_of_all_widths(
    flow: str, widths: tuple[int, int], registers: int, tmp_path: Path
) -> None:
    a, b = widths
    text = PRIMITIVES[flow].module("dut", a, b, registers)
    device = DEVICES[{"gowin": "gw5a", "ice40": "ice40up"}.get(flow, flow)]
    assert text is not None
    assert len(re.findall(r"^  (?:MULT|SB_MAC16)", text, re.M)) == device.blocks(a, b)
    rng = random.Random(a * b)
    extremes = [
        (x, y)
        for x in (-(1 << a - 1), -1, 0, (1 << a - 1) - 1)
        for y in (-(1 << b - 1), (1 << b - 1) - 1)
    ]
    rows = extremes + [
        (rng.randrange(-(1 << a - 1), 1 << a - 1), rng.randrange(-(1 << b - 1), 1 << b - 1))
        for _ in range(60)
    ]
    products = [x * y for x, y in rows]
    checks = "".join(
        f"    a = {_literal(x, a)}; b = {_literal(y, b)};\n"
        # not a cycle earlier, unless it is the product before
        f"    #{2 * registers - 2} if ({int(before != x * y)} && p === {_literal(x * y, a + b)}) $display({k});\n"
        f"    #2 if (p !== {_literal(x * y, a + b)}) $display({k});\n"
        for k, ((x, y), before) in enumerate(zip(rows, [None, *products], strict=False))
    )
    bench = (
        f"module bench;\n  reg clk = 0; reg signed [{a - 1}:0] a; reg signed [{b - 1}:0] b;\n"
        f"  wire signed [{a + b - 1}:0] p;\n  dut d(clk, 1'b0, a, b, p);\n  always #1 clk = ~clk;\n"
        f'  initial begin\n{checks}    $display("done"); $finish;\n  end\nendmodule\n'
    )
    source, program = tmp_path / "bench.v", tmp_path / "bench"
    source.write_text(text + MODELS.read_text() + bench)
    subprocess.run(["iverilog", "-g2005-sv", "-s", "bench", "-o", program, source], check=True)
    assert subprocess.run(
        ["vvp", "-n", program], check=True, capture_output=True, text=True
    ).stdout.split() == ["done"]


def _literal(value: int, bits: int) -> str:
    return f"{bits}'h{value & ((1 << bits) - 1):x}"


def test_the_wider_operand_goes_to_the_wider_input() -> None:
    assert "wire signed [26:0] wide0 = $signed(b[23:0]);" in (
        PRIMITIVES["gowin"].module("m", 18, 24, 2) or ""
    )
    assert "wire signed [26:0] wide0 = $signed(a[23:0]);" in (
        PRIMITIVES["gowin"].module("m", 24, 18, 2) or ""
    )
