"""The compiled model and the interpreter: the same bits, for every operation and for whole designs."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from rbdgen import native
from rbdgen.errors import ToolError
from rbdgen.ir import machine
from rbdgen.ir.builder import Builder
from rbdgen.ir.constants import Constant
from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.machine import BLOCK, Machine
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import Terms
from tests.conftest import design

needs_compiler = pytest.mark.skipif(machine.library() is None, reason="no C compiler")


def same(
    fixed: FixedGraph, operands: dict[str, np.ndarray], results: tuple[str, ...] | None = None
) -> np.ndarray:
    """Compare both models; the overflow flags."""
    model = Machine(fixed, results)
    got, flags = model.run(operands)
    expected, expected_flags = model.interpret(operands)
    assert got.keys() == expected.keys()
    assert all(np.array_equal(got[name], expected[name]) for name in got)
    assert np.array_equal(flags, expected_flags)
    return flags


def every_operation(overflow: str, truncated: frozenset[int]) -> FixedGraph:
    """A graph with all operations, most of which can overflow."""
    b = Builder("one")
    x, y, t = (b.input(n) for n in "xyt")
    nodes: list[tuple[int, Format]] = [(x, Format(12, 8)), (y, Format(10, 4)), (t, Format(14, 11))]

    def made(i: int, fmt: Format) -> int:
        nodes.append((i, fmt))
        return i

    outputs = {"passed": x}
    outputs["sum"] = made(b.add(x, y), Format(9, 5))
    outputs["difference"] = made(b.sub(x, y), Format(12, 7))
    outputs["negative"] = made(b.neg(x), Format(11, 8))
    outputs["magnitude"] = made(b.make("abs", (y,)), Format(8, 2))
    outputs["sign"] = made(b.make("sign", (y,)), Format(6, 3))
    outputs["product"] = made(b.mul(x, y), Format(14, 9))
    outputs["scaled"] = made(b.scale(x, 0.6875), Format(10, 8))
    outputs["shifted"] = made(b.shift(outputs["product"], 3), Format(14, 6))
    outputs["rounded"] = made(b.make("round", (y,), 1), Format(6, 1))
    outputs["sine"] = made(b.make("table_sin", (t,), 5), Format(12, 10))
    outputs["cosine"] = made(b.make("table_cos", (t,), 5), Format(12, 10))
    outputs["residual"] = made(b.make("residual", (t,), 5), Format(6, 11))
    outputs["mantissa"] = n = made(b.make("normalise", (x,)), Format(9, 7))
    outputs["longer"] = made(b.make("normalise", (y,)), Format(16, 14))
    outputs["inverse"] = r = made(b.make("table_reciprocal", (n,), 4), Format(10, 9))
    outputs["rescaled"] = made(b.make("rescale", (r, x)), Format(11, 7))
    c = made(b.const(0.71875), Format(8, 6))
    outputs["offset"] = made(b.add(x, c), Format(12, 8))
    # of its terms two lose bits before they are added, and one gets more
    outputs["dropping"] = d = made(b.sum((x, y, x, t, y), Terms((1, -1), (-1,))), Format(12, 6))
    outputs["exact"] = made(b.sum((t, t, c, x, x, t), Terms((-1, 1), (1, -1))), Format(15, 9))
    graph = b.graph(outputs)
    formats = tuple(fmt for _, fmt in sorted(nodes))
    constants = {outputs["scaled"]: Constant(11, 4)}
    fixed = FixedGraph(graph, formats, constants, truncated, overflow, {d: 9})
    verify_fixed(fixed)
    return fixed


@needs_compiler
@pytest.mark.parametrize("overflow", ["saturate", "flag"])
@pytest.mark.parametrize("truncate", [True, False])
def test_every_operation_on_random_operands(overflow: str, truncate: bool) -> None:
    fixed = every_operation(overflow, frozenset(range(40)) if truncate else frozenset())
    rng = np.random.default_rng(0)
    formats = {name: fixed.formats[i] for name, i in fixed.graph.inputs.items()}
    operands = {
        n: rng.integers(f.minimum, f.maximum + 1, 3 * BLOCK + 17) for n, f in formats.items()
    }
    flags = same(fixed, operands)
    assert flags.any()
    assert not same(fixed, operands, ("scaled", "passed", "sine")).all()


@pytest.mark.parametrize("overflow", ["saturate", "flag"])
@pytest.mark.parametrize("point", [7, 20, 34])
def test_sums_of_products_beyond_64_bits(overflow: str, point: int) -> None:
    """Beside Python's own integers, which have no end."""
    b = Builder("one")
    x, y, z = (b.input(name) for name in "xyz")
    dot = b.sum((x, y, y, z, z, z), Terms((1, -1, 1), ()))
    formats = (Format(37, 30), Format(38, 33), Format(34, 20), Format(40, 6))
    graph = b.graph({"out": dot})
    fixed = FixedGraph(graph, formats, {}, overflow=overflow, points={dot: point})
    verify_fixed(fixed)
    assert fixed.split(x, y) == 11
    assert fixed.split(y, z) == 8
    assert fixed.split(z, z) == 4
    rng = np.random.default_rng(1)
    operands = {}
    for name, i in graph.inputs.items():
        fmt = formats[i]
        operands[name] = rng.integers(fmt.minimum, fmt.maximum, BLOCK + 3, endpoint=True)
        operands[name][:2] = fmt.minimum, fmt.maximum
    flags = same(fixed, operands)
    got, _ = Machine(fixed).interpret(operands)
    fmt = formats[dot]
    drop = point - fmt.frac
    for k, (p, q, r) in enumerate(zip(*(operands[n].tolist() for n in "xyz"), strict=True)):
        total = (p * q >> 63 - point) - (q * r >> 53 - point) + (r * r >> 40 - point)
        rounded = (total + (1 << drop >> 1)) >> drop
        fitted = (
            min(max(rounded, fmt.minimum), fmt.maximum)
            if overflow == "saturate"
            else fmt.wrap(rounded)
        )
        assert got["out"][k] == fitted
        assert flags[k] == (fitted != rounded)


@needs_compiler
@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1])
def test_any_number_of_tasks(count: int) -> None:
    fixed = every_operation("saturate", frozenset())
    same(fixed, {n: np.arange(count) - 3 for n in fixed.graph.inputs})


@needs_compiler
def test_whole_design() -> None:
    d = design("iiwa14")
    rng = np.random.default_rng(3)
    words = d.tasks.functions["id"].operands
    # far beyond the declared ranges: much of it overflows
    operands = {w.name: rng.integers(w.format.minimum, w.format.maximum + 1, 1000) for w in words}
    flags = same(d.fixed, operands)
    assert flags.any()


def test_without_a_compiler_the_interpreter_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RBDGEN_CC", "")
    machine.library.cache_clear()
    try:
        assert machine.library() is None
        fixed = every_operation("saturate", frozenset())
        got, _ = Machine(fixed, ("sum",)).run({n: np.array([1, -1]) for n in fixed.graph.inputs})
        assert got["sum"].tolist() == [2, -2]
    finally:
        machine.library.cache_clear()


def test_a_compiler_that_makes_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = shutil.which("true")
    assert nothing is not None
    monkeypatch.setenv("RBDGEN_CC", nothing)
    with pytest.raises(ToolError, match=r"^C compiler '.*true': made no library; name another one"):
        native.library("machine", {"a.c": "int a;"}, ())


@needs_compiler
def test_compiled_once(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RBDGEN_CACHE", str(tmp_path))
    machine.library.cache_clear()
    try:
        assert machine.library() is not None
        (made,) = (tmp_path / "machine").iterdir()
        made_once = made.stat().st_ino
        machine.library.cache_clear()
        assert machine.library() is not None
        assert made.stat().st_ino == made_once
        part = made.read_bytes()[:1000]
        made.unlink()  # this process has it in its memory
        made.write_bytes(part)
        machine.library.cache_clear()
        assert machine.library() is not None
        assert made.stat().st_size > 1000
    finally:
        machine.library.cache_clear()
