"""Multiplier blocks of devices: an accelerator made of them gives the same bits in the same cycles."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rbdgen_hw.emit import design_verilog
from rbdgen_hw.primitives import PRIMITIVES, PRODUCT_MODULE, overrides
from rbdgen_sim.cosim import make_tasks, run_tasks, task_states
from rbdgen_sim.interface import Rtl, get_simulator
from tests.conftest import design

MODELS = Path(__file__).with_name("primitives.v")


@pytest.mark.parametrize(("flow", "device"), [("ecp5", "ecp5"), ("gowin", "gw5a")])
def test_an_accelerator_of_blocks_is_the_same(flow: str, device: str, tmp_path: Path) -> None:
    d = design("pendulum2", ii=2, device=device)
    verilog = design_verilog(d)
    blocks = overrides(verilog, flow)
    replaced = re.findall(r"^module (\w+)\(", blocks, re.M)
    assert set(replaced) == {name for name, *_ in PRODUCT_MODULE.findall(verilog)}
    assert replaced
    for name in replaced:
        verilog, count = re.subn(rf"^module {name}\(.*?^endmodule\n", "", verilog, flags=re.M | re.S)
        assert count == 1
    source = tmp_path / "design.v"
    source.write_text(verilog + blocks + MODELS.read_text())
    rtl = Rtl(d.name, (source,), d.tasks.task.beat_bits, d.tasks.result.beat_bits)
    tasks = make_tasks(d, "id", task_states(d, 60, seed=1))
    run = run_tasks(d, [tasks], np.zeros(tasks.count, int), rtl, get_simulator("icarus"), tmp_path)
    assert run.outcomes["id"].mismatches == 0
    assert run.outcomes["id"].latencies[0] == d.promised_latency("id")


@pytest.mark.parametrize("flow", PRIMITIVES)
def test_what_no_block_fits_stays(flow: str) -> None:
    for a, b, registers in ((40, 10, 2), (18, 18, 0), (18, 18, 1), (28, 28, 2)):
        assert PRIMITIVES[flow]("m", a, b, registers) is None
    assert overrides("module x_product_18x18_r2(a, b);\n", "no such flow") == ""


def test_the_wider_operand_goes_to_the_wider_input() -> None:
    assert "wire signed [26:0] wide = b;" in (PRIMITIVES["gowin"]("m", 18, 24, 2) or "")
    assert "wire signed [26:0] wide = a;" in (PRIMITIVES["gowin"]("m", 24, 18, 3) or "")
