"""Fixed point: formats, digits, and the bit-true interpreter against an independent library."""

from __future__ import annotations

import math

import apytypes
import numpy as np
import pytest

from rbdgen.ir.constants import Constant
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.ir.machine import Machine
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.sines import sine_table
from tests.operations import one_operation


def test_quantise_rounds_half_up_and_saturates() -> None:
    fmt = Format(4, 1)
    assert fmt.quantise(np.array([0.25, -0.25, 0.24, 3.4, 9.0, -9.0])).tolist() == [
        1,
        0,
        0,
        7,
        7,
        -8,
    ]


@pytest.mark.parametrize("width", [53, 54, 55, 62, 63])
def test_long_words_saturate_at_their_ends(width: int) -> None:
    fmt = Format(width, 3)
    assert fmt.quantise(np.array([1e30, -1e30])).tolist() == [fmt.maximum, fmt.minimum]


def test_constant_has_its_value() -> None:
    assert Constant(5, 3).value == 0.625
    assert Constant(3, -2).value == 12.0


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("overflow", ["flag", "saturate"])
def test_operations_match_apytypes(op: str, seed: int, truncate: bool, overflow: str) -> None:
    rng = np.random.default_rng(seed)
    formats = tuple(Format(int(rng.integers(2, 20)), int(rng.integers(-3, 15))) for _ in range(2))
    exact = max(f.frac for f in formats) if op != "mul" else sum(f.frac for f in formats)
    result = Format(int(rng.integers(2, 20)), exact - int(rng.integers(0, 8)))
    a, b = (rng.integers(f.minimum, f.maximum + 1, 300) for f in formats)
    fixed = one_operation(op, formats, result, None, truncate, overflow)
    got = evaluate_fixed(fixed, {"a": a, "b": b}).outputs["y"]
    x, y = (
        apytypes.APyFixedArray.from_float(f.real(r), int_bits=f.width - f.frac, frac_bits=f.frac)
        for f, r in zip(formats, (a, b), strict=True)
    )
    value = x + y if op == "add" else x - y if op == "sub" else x * y
    cast = value.cast(
        int_bits=result.width - result.frac,
        frac_bits=result.frac,
        quantization=apytypes.QuantizationMode.TRN if truncate else apytypes.QuantizationMode.RND,
        overflow=apytypes.OverflowMode.SAT
        if overflow == "saturate"
        else apytypes.OverflowMode.WRAP,
    )
    assert np.array_equal(result.real(got), cast.to_numpy())


def test_saturation_raises_the_flag_of_its_task_only() -> None:
    fixed = one_operation("add", (Format(8, 4), Format(8, 4)), Format(8, 4))
    result = evaluate_fixed(fixed, {"a": np.array([127, 3]), "b": np.array([1, 4])})
    assert result.outputs["y"].tolist() == [127, 7]
    assert result.overflow.tolist() == [True, False]


def test_what_wraps_around_raises_the_flag_too() -> None:
    fixed = one_operation("add", (Format(8, 4), Format(8, 4)), Format(8, 4), overflow="flag")
    result = evaluate_fixed(fixed, {"a": np.array([127, 3]), "b": np.array([1, 4])})
    assert result.outputs["y"].tolist() == [-128, 7]
    assert result.overflow.tolist() == [True, False]


def test_round_drops_bits_half_up_or_downwards() -> None:
    raw = {"a": np.array([5, 6, -5, -6, -7])}
    for truncate, expected in ((False, [1, 2, -1, -1, -2]), (True, [1, 1, -2, -2, -2])):
        fixed = one_operation("round", (Format(8, 2),), Format(6, 0), truncate=truncate)
        assert evaluate_fixed(fixed, raw).outputs["y"].tolist() == expected


def test_formats_that_rule_saturation_out_are_recognised() -> None:
    fixed = one_operation("add", (Format(8, 4), Format(8, 4)), Format(9, 4))
    assert not fixed.may_overflow(2)


def test_verifier_refuses_bits_from_nowhere() -> None:
    with pytest.raises(
        ValueError, match=r"^node %2 \(add\): binary point must be at most 4, not 5$"
    ):
        one_operation("add", (Format(8, 4), Format(8, 4)), Format(9, 5))


def test_verifier_refuses_what_does_not_fit() -> None:
    with pytest.raises(
        ValueError, match=r"^node %2 \(mul\): exact result must fit 63 bits, needs 80$"
    ):
        one_operation("mul", (Format(40, 4), Format(40, 4)), Format(9, 5))


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("widths", [(32, 32), (40, 33), (36, 36)])
def test_products_longer_than_the_arithmetic_are_exact(
    widths: tuple[int, int], truncate: bool
) -> None:
    a, b = (Format(w, w - 3) for w in widths)
    result = Format(30, 25)
    fixed = one_operation("mul", (a, b), result, truncate=truncate)
    rng = np.random.default_rng(1)
    raw = {n: rng.integers(f.minimum, f.maximum + 1, 2000) for n, f in (("a", a), ("b", b))}
    for name, f in (("a", a), ("b", b)):
        raw[name][:3] = f.minimum, f.maximum, -1
    drop = fixed.dropped_bits(2)
    exact = [
        (int(x) * int(y) + fixed.half(2)) >> drop for x, y in zip(raw["a"], raw["b"], strict=True)
    ]
    expected = [min(max(e, result.minimum), result.maximum) for e in exact]
    assert evaluate_fixed(fixed, raw).outputs["y"].tolist() == expected
    assert Machine(fixed).run(raw)[0]["y"].tolist() == expected


def test_table_holds_middles() -> None:
    table = sine_table(4, Format(12, 10))
    assert len(table) == 16
    assert table[0] == round(math.sin(math.pi / 64) * 1024)
