"""Sums in carry chains of look-up tables: the same numbers as integers give."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rbdgen_hw.primitives import Sum, accumulator, alu_accumulator

MODELS = Path(__file__).with_name("primitives.v")


def signed(value: int, bits: int) -> int:
    """What two's complement leaves of a value."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def literal(value: int, bits: int) -> str:
    return f"{bits}'h{value & ((1 << bits) - 1):x}"


def drawn(rng: random.Random, bits: int) -> int:
    """A random number, often an extreme one."""
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return rng.choice([low, high, 0, -1, rng.randint(low, high), rng.randint(low, high)])


def wrong(text: str, ports: str, declared: str, checks: Sequence[str], work: Path) -> list[str]:
    """The numbers of the checks that fail in simulation."""
    body = "\n".join(checks)
    bench = (
        f"module bench;\n  reg clk = 0;\n{declared}\n  dut d({ports});\n"
        f'  initial begin\n{body}\n    $display("done"); $finish;\n  end\nendmodule\n'
    )
    source, program = work / "bench.v", work / "bench"
    source.write_text(text + MODELS.read_text() + bench)
    subprocess.run(["iverilog", "-g2005-sv", "-s", "bench", "-o", program, source], check=True)
    ran = subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True)
    *failed, end = ran.stdout.split()
    assert end == "done"
    return failed


@pytest.mark.parametrize("module_of", [accumulator, alu_accumulator], ids=["ecp5", "gowin"])
@pytest.mark.parametrize(
    ("width", "starting"), [(1, 1), (2, 0), (5, 0b11111), (24, 0), (27, 0x40), (28, 0xFFFFF00)]
)
def test_accumulators(
    width: int, starting: int, module_of: Callable[[str, int, int], str], tmp_path: Path
) -> None:
    rng = random.Random(width)
    total = 0
    checks = []
    for k in range(200):
        x, start = drawn(rng, width), drawn(rng, width) & starting
        first, minus = rng.random() < 0.3, rng.random() < 0.5
        before = start if first or k == 0 else total
        total = signed(before - x if minus else before + x, width)
        checks.append(
            f"    x = {literal(x, width)}; start = {literal(start, width)}; first = {int(first or k == 0)};"
            f" minus = {int(minus)};\n    #1 if (y !== {literal(total, width)}) $display({k});\n"
            "    clk = 1; #1 clk = 0;"
        )
    declared = (
        f"  reg signed [{width - 1}:0] x, start; reg first, minus; wire signed [{width - 1}:0] y;"
    )
    text = module_of("dut", width, starting)
    assert wrong(text, "clk, 1'b0, x, start, first, minus, y", declared, checks, tmp_path) == []


@pytest.mark.parametrize("subtracts", [False, True], ids=["add", "sub"])
@pytest.mark.parametrize(
    ("widths", "places", "drop", "kept"),
    [
        ((18, 18), (0, 0), 1, 18),
        ((24, 26), (0, 0), 6, 18),
        ((26, 12), (0, 9), 6, 18),
        ((12, 26), (9, 0), 10, 20),
        ((8, 8), (3, 3), 2, 10),
        ((3, 30), (0, 0), 20, 8),
        ((4, 5), (0, 1), 9, 2),
    ],
)
def test_sums_that_round(
    widths: tuple[int, int],
    places: tuple[int, int],
    drop: int,
    kept: int,
    subtracts: bool,
    tmp_path: Path,
) -> None:
    total = Sum("dut", subtracts, widths, places, drop, kept, wraps=True)
    rng = random.Random(drop)
    checks = []
    for k in range(300):
        a, b = (drawn(rng, width) for width in widths)
        left, right = a << places[0], b << places[1]
        exact = left - right if subtracts else left + right
        rounded = (exact + (1 << drop - 1)) >> drop
        y = signed(rounded, kept)
        checks.append(
            f"    a = {literal(a, widths[0])}; b = {literal(b, widths[1])};\n"
            f"    #1 if (y !== {literal(y, kept)} || overflow !== {int(y != rounded)}) $display({k});"
        )
    declared = (
        f"  reg signed [{widths[0] - 1}:0] a; reg signed [{widths[1] - 1}:0] b;\n"
        f"  wire signed [{kept - 1}:0] y; wire overflow;"
    )
    assert wrong(total.module(), "a, b, y, overflow", declared, checks, tmp_path) == []
