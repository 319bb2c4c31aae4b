"""Operators against the integer model, over every input of small formats and random ones of large."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from amaranth.sim import Simulator

from rbdgen.ir.builder import Builder
from rbdgen.ir.constants import Constant
from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.interpret import evaluate_fixed
from rbdgen.ir.machine import Machine
from rbdgen.ir.number_formats import Format
from rbdgen_hw.library import SharedComponent, to_verilog
from rbdgen_hw.operators import (
    Accumulate,
    Multiplier,
    Normalise,
    ReciprocalTable,
    Rescale,
    Round,
    Rounding,
    Scale,
    SineTable,
    Sum,
)
from rbdgen_hw.yosys import run_yosys
from tests.operations import one_operation


def respond(
    dut: SharedComponent,
    ports: Sequence[str],
    inputs: Sequence[Sequence[int]],
    outputs: Sequence[str],
) -> list[list[int]]:
    """Outputs of a combinational component for rows of inputs."""
    rows: list[list[int]] = []

    async def bench(ctx) -> None:
        for row in inputs:
            for port, value in zip(ports, row, strict=True):
                ctx.set(getattr(dut, port), int(value))
            await ctx.delay(1e-9)
            rows.append([ctx.get(getattr(dut, o)) for o in outputs])

    simulator = Simulator(dut)
    simulator.add_testbench(bench)
    simulator.run()
    return rows


WAYS = [(False, "saturate"), (True, "saturate"), (False, "flag"), (True, "flag")]
"""Ways to round: whether bits are dropped, and what becomes of what does not fit."""


def model(
    op: str,
    args: tuple[Format, ...],
    result: Format,
    constant: Constant | None = None,
    way: tuple[bool, str] = WAYS[0],
) -> FixedGraph:
    """The one-operation graph whose meaning the component must have."""
    return one_operation(op, args, result, constant, *way)


def rounding(fixed: FixedGraph) -> Rounding:
    i = len(fixed.formats) - 1
    exact, may_overflow = fixed.exact(i)[0], fixed.may_overflow(i)
    return Rounding(exact, fixed.formats[i], may_overflow, i in fixed.truncated, fixed.overflow)


def check(dut: SharedComponent, fixed: FixedGraph, rows: list[tuple[int, ...]]) -> None:
    """Component and model agree on value and overflow for all rows."""
    ports = "ab"[: len(rows[0])]
    outputs = ["y", "overflow"] if hasattr(dut, "overflow") else ["y"]
    got = respond(dut, ports, rows, outputs)
    expected = evaluate_fixed(
        fixed, {p: np.array([r[k] for r in rows]) for k, p in enumerate(ports)}
    )
    assert [g[0] for g in got] == expected.outputs["y"].tolist()
    flags = [bool(g[1]) for g in got] if len(outputs) == 2 else [False] * len(got)
    assert flags == expected.overflow.tolist()


def every(*formats: Format) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(f.minimum, f.maximum + 1) for f in formats)))


def some(*formats: Format) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(1)
    rows = [tuple(int(rng.integers(f.minimum, f.maximum + 1)) for f in formats) for _ in range(500)]
    return rows + list(itertools.product(*((f.minimum, -1, 0, 1, f.maximum) for f in formats)))


@pytest.mark.parametrize("op", ["add", "sub"])
@pytest.mark.parametrize(
    "formats",
    [
        (Format(4, 2), Format(5, 3), Format(5, 2)),
        (Format(5, 4), Format(4, 1), Format(4, 1)),
        (Format(4, 0), Format(4, 0), Format(5, 0)),
        (Format(3, -2), Format(5, 2), Format(4, 0)),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", WAYS)
def test_sum_exhaustively(
    op: str, formats: tuple[Format, Format, Format], way: tuple[bool, str]
) -> None:
    *args, result = formats
    fixed = model(op, tuple(args), result, way=way)
    check(Sum(op, tuple(args), rounding(fixed)), fixed, every(*args))


@pytest.mark.parametrize("signed_args", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("way", WAYS)
def test_sum_whose_signs_change_exhaustively(
    signed_args: tuple[int, ...], way: tuple[bool, str]
) -> None:
    args, result = (Format(4, 1), Format(5, 3)), Format(5, 2)
    dut = Sum("add", args, rounding(model("add", args, result, way=way)), signed_args)
    for minus in (None, *signed_args):
        ports = ("a", "b", *(f"minus_{side}" for side in dut.minus))
        flags = tuple(int(position == minus) for position in signed_args)
        got = respond(dut, ports, [(*row, *flags) for row in every(*args)], ["y", "overflow"])
        # what is subtracted stands second in the model's difference
        order = (1, 0) if minus == 0 else (0, 1)
        fixed = model(
            "add" if minus is None else "sub", tuple(args[k] for k in order), result, way=way
        )
        rows = np.array(every(*args))
        expected = evaluate_fixed(fixed, {p: rows[:, k] for p, k in zip("ab", order, strict=True)})
        assert [g[0] for g in got] == expected.outputs["y"].tolist()
        assert [bool(g[1]) for g in got] == expected.overflow.tolist()


def test_negation_exhaustively() -> None:
    fixed = model("neg", (Format(6, 3),), Format(6, 3))
    check(Sum("neg", (Format(6, 3),), rounding(fixed)), fixed, every(Format(6, 3)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "result", [Format(6, 3), Format(7, 3), Format(4, 1), Format(3, 3)], ids=str
)
def test_magnitude_exhaustively(result: Format, way: tuple[bool, str]) -> None:
    fixed = model("abs", (Format(6, 3),), result, way=way)
    assert fixed.may_overflow(1) == (result.head < 3)
    check(Sum("abs", (Format(6, 3),), rounding(fixed)), fixed, every(Format(6, 3)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("result", [Format(4, 1), Format(3, 3)], ids=str)
def test_dropping_bits_exhaustively(result: Format, way: tuple[bool, str]) -> None:
    fixed = model("round", (Format(6, 3),), result, way=way)
    check(Sum("round", (Format(6, 3),), rounding(fixed)), fixed, every(Format(6, 3)))


@pytest.mark.parametrize(
    "constant",
    [
        Constant(3, 2),
        Constant(7, 2),
        Constant(77, 8),
        Constant(23, 0),
        Constant(5, -1),
        Constant(83443, 20),
        Constant(226073, 20),
    ],
    ids=str,
)
@pytest.mark.parametrize("width", [5, 9])
def test_scale_exhaustively(constant: Constant, width: int) -> None:
    arg = Format(7, 3)
    result = Format(width, min(2, 3 + constant.exponent))
    fixed = model("scale", (arg,), result, constant)
    check(Scale(arg, constant, rounding(fixed)), fixed, every(arg))


@pytest.mark.parametrize("mantissa", [83443, 123137, 146801, 220201, 226073])
def test_synthesis_leaves_the_sums_of_a_scale_apart(mantissa: int) -> None:
    arg, constant = Format(18, 15), Constant(mantissa, 18)
    fixed = model("scale", (arg,), Format(20, 15), constant)
    text = to_verilog(Scale(arg, constant, rounding(fixed)), "top", "", {})
    script = ["read_verilog top.v", "prep", "wreduce", "alumacc", "write_rtlil out.il"]
    sums = run_yosys(script, {"top.v": text}, "out.il")
    assert "cell $macc" not in sums
    # one more rounds
    assert sums.count("cell $alu ") == len(constant.graph.additions) + 1


def only_later(
    usual: SharedComponent, dut: SharedComponent, cycles: int, rows: list[tuple[int, ...]]
) -> bool:
    """Whether ``dut`` answers what ``usual`` does, so many cycles later."""
    ports, outputs = "ab"[: len(rows[0])], [o for o in ("y", "overflow") if hasattr(dut, o)]
    expected = respond(usual, ports, rows, outputs)
    got: list[list[int]] = []

    async def bench(ctx) -> None:
        for row in [*rows, *([rows[0]] * cycles)]:
            for port, value in zip(ports, row, strict=True):
                ctx.set(getattr(dut, port), int(value))
            await ctx.delay(1e-9)
            got.append([ctx.get(getattr(dut, o)) for o in outputs])
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return got[cycles:] == expected


@pytest.mark.parametrize("stages", [(1, 1, 1), (2, 1), (1, 2), (2, 2)], ids=str)
def test_registers_inside_a_scale_only_delay(stages: tuple[int, ...]) -> None:
    arg, constant = Format(7, 3), Constant(22021, 15)
    assert constant.graph.depth == 3
    fixed = model("scale", (arg,), Format(7, 2), constant)
    dut = Scale(arg, constant, rounding(fixed), stages)
    assert only_later(Scale(arg, constant, rounding(fixed)), dut, len(stages) - 1, every(arg))


@pytest.mark.parametrize(
    ("args", "result"),
    [
        ((Format(4, 2), Format(5, 3)), Format(5, 3)),
        ((Format(4, 2), Format(5, 3)), Format(9, 5)),
        ((Format(18, 15), Format(18, 12)), Format(18, 11)),
        ((Format(27, 15), Format(18, 12)), Format(27, 20)),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", WAYS)
def test_product_and_rounding(
    args: tuple[Format, Format], result: Format, way: tuple[bool, str]
) -> None:
    fixed = model("mul", args, result, way=way)
    rows = every(*args) if args[0].width < 8 else some(*args)
    product = Multiplier(args[0].width, args[1].width, 0)
    exact = respond(product, "ab", rows, ["p"])
    assert [p for (p,) in exact] == [a * b for a, b in rows]
    fit = rounding(fixed)
    shared = Rounding(
        fit.drop, Format(result.width, 0), fit.may_overflow, fit.truncates, fit.overflow
    )
    dut = Round(args[0].width + args[1].width, shared)
    got = respond(dut, ["x"], exact, ["y", "overflow"] if fit.may_overflow else ["y"])
    expected = evaluate_fixed(
        fixed, {p: np.array([r[k] for r in rows]) for k, p in enumerate("ab")}
    )
    assert [g[0] for g in got] == expected.outputs["y"].tolist()
    if fit.may_overflow:
        assert [bool(g[1]) for g in got] == expected.overflow.tolist()


@pytest.mark.parametrize("places", [*range(-7, 3), -70])
@pytest.mark.parametrize("way", WAYS)
def test_any_product_and_any_result_exhaustively(places: int, way: tuple[bool, str]) -> None:
    """Results whose last place is anywhere beside the product, so that all of its bits may be dropped."""
    args, width = (Format(3, 1), Format(2, 1)), 3
    fixed = model("mul", args, Format(width, min(places, 2)), way=way)
    fit = rounding(fixed)
    shared = Rounding(fit.drop, Format(width, 0), fit.may_overflow, fit.truncates, fit.overflow)
    rows = every(*args)
    exact = [(a * b,) for a, b in rows]
    operands = {p: np.array([row[k] for row in rows]) for k, p in enumerate("ab")}
    expected, flags = Machine(fixed).run(operands)
    interpreted, overflow = Machine(fixed).interpret(operands)
    got = respond(Round(5, shared), ["x"], exact, ["y"])
    assert [y for (y,) in got] == expected["y"].tolist() == interpreted["y"].tolist()
    assert flags.tolist() == overflow.tolist()


@pytest.mark.parametrize("op", ["add", "sub", "neg", "abs", "round"])
@pytest.mark.parametrize("places", [*range(-7, 1), -70])
@pytest.mark.parametrize("way", WAYS)
def test_results_far_above_a_sum_exhaustively(op: str, places: int, way: tuple[bool, str]) -> None:
    args = (Format(3, 1), Format(3, 0))[: 2 if op in ("add", "sub") else 1]
    fixed = model(op, args, Format(3, places), way=way)
    check(Sum(op, args, rounding(fixed)), fixed, every(*args))


@pytest.mark.parametrize("places", [*range(-7, 1), -70])
@pytest.mark.parametrize("way", WAYS)
def test_results_far_above_a_scale_exhaustively(places: int, way: tuple[bool, str]) -> None:
    arg, constant = Format(4, 1), Constant(11, 1)
    fixed = model("scale", (arg,), Format(3, places), constant, way=way)
    check(Scale(arg, constant, rounding(fixed)), fixed, every(arg))


@pytest.mark.parametrize(("address_bits", "fmt"), [(4, Format(8, 6)), (9, Format(18, 16))], ids=str)
@pytest.mark.parametrize("cycles", [1, 2])
def test_sine_table_over_every_place(address_bits: int, fmt: Format, cycles: int) -> None:
    places = range(1 << (address_bits + 2))
    builder = Builder("Sc")
    angle = builder.input("t")
    outputs = {op: builder.make(op, (angle,), address_bits) for op in ("table_sin", "table_cos")}
    fixed = FixedGraph(
        builder.graph(outputs), (Format(address_bits + 4, address_bits + 1), fmt, fmt), {}
    )
    verify_fixed(fixed)
    expected = evaluate_fixed(fixed, {"t": np.array([2 * p for p in places])}).outputs
    dut, got = SineTable(address_bits, fmt, cycles), []

    async def bench(ctx) -> None:
        for k in range(len(places) + cycles - 1):
            ctx.set(dut.place, places[min(k, len(places) - 1)])
            await ctx.tick()
            if k >= cycles - 1:
                got.append((ctx.get(dut.sine), ctx.get(dut.cosine)))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert [s for s, _ in got] == expected["table_sin"].tolist()
    assert [c for _, c in got] == expected["table_cos"].tolist()


@pytest.mark.parametrize(
    ("arg", "result"), [(Format(9, 4), Format(9, 7)), (Format(12, -3), Format(7, 5))], ids=str
)
def test_normalise_exhaustively(arg: Format, result: Format) -> None:
    fixed = model("normalise", (arg,), result)
    check(Normalise(arg, result), fixed, every(arg))


def test_a_register_inside_a_shifter_only_delays() -> None:
    arg, scale, result = Format(5, 3), Format(7, 2), Format(10, 4)
    fit = rounding(model("rescale", (arg, scale), result))
    assert only_later(Rescale(arg, scale, fit), Rescale(arg, scale, fit, 1), 1, every(arg, scale))
    wide = Format(9, 4)
    assert only_later(
        Normalise(wide, Format(9, 7)), Normalise(wide, Format(9, 7), 1), 1, every(wide)
    )


@pytest.mark.parametrize("result", [Format(10, 4), Format(12, 6)], ids=str)
def test_rescale_exhaustively(result: Format) -> None:
    args = Format(5, 3), Format(7, 2)
    fixed = model("rescale", args, result)
    check(Rescale(*args, rounding(fixed)), fixed, every(*args))


@pytest.mark.parametrize(("address_bits", "fmt"), [(4, Format(8, 7)), (9, Format(18, 17))], ids=str)
@pytest.mark.parametrize("cycles", [1, 2])
def test_reciprocal_table_over_every_place(address_bits: int, fmt: Format, cycles: int) -> None:
    places = range(1 << address_bits)
    builder = Builder("Mf")
    outputs = {"r": builder.make("table_reciprocal", (builder.input("x"),), address_bits)}
    fixed = FixedGraph(
        builder.graph(outputs), (Format(address_bits + 3, address_bits + 1), fmt), {}
    )
    verify_fixed(fixed)
    numbers = np.array([(1 << (address_bits + 1)) + 2 * p for p in places])
    expected = evaluate_fixed(fixed, {"x": numbers}).outputs
    dut, got = ReciprocalTable(address_bits, fmt, cycles), []

    async def bench(ctx) -> None:
        for k in range(len(places) + cycles - 1):
            ctx.set(dut.place, places[min(k, len(places) - 1)])
            await ctx.tick()
            if k >= cycles - 1:
                got.append(ctx.get(dut.reciprocal))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert got == expected["r"].tolist()


def test_registered_product_is_late_by_its_registers() -> None:
    dut, seen = Multiplier(8, 8, 2), []

    async def bench(ctx) -> None:
        for k in range(6):
            ctx.set(dut.a, k)
            ctx.set(dut.b, k + 1)
            seen.append(ctx.get(dut.p))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [0, 0, 0, 2, 6, 12]


@pytest.mark.parametrize("starting", [0b1111, 0b0110])
def test_accumulation_exhaustively(starting: int) -> None:
    """From every sum so far, every term with either sign, and every start."""
    dut = Accumulate(4, starting)
    wrong: list[tuple[int, ...]] = []

    def wrapped(value: int) -> int:
        return (value + 8) % 16 - 8

    async def bench(ctx) -> None:
        for before, x, minus in itertools.product(range(-8, 8), range(-8, 8), (0, 1)):
            for first, start in ((1, before), (0, before), (0, -1), (1, x)):
                # the sum so far, from a start of nothing and a term
                ctx.set(dut.first, 1)
                ctx.set(dut.minus, 0)
                ctx.set(dut.start, 0)
                ctx.set(dut.x, before)
                await ctx.tick()
                ctx.set(dut.first, first)
                ctx.set(dut.minus, minus)
                ctx.set(dut.start, start)
                ctx.set(dut.x, x)
                await ctx.delay(1e-9)
                masked = wrapped((start & 15) & starting)
                expected = wrapped((masked if first else before) + (-x if minus else x))
                if ctx.get(dut.y) != expected:
                    wrong.append((before, x, minus, first, start))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert wrong == []
