"""Dots: what is fused into them, their bits by plain integers, and the same bits in any shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.fixed import FixedGraph, verify_fixed
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate, evaluate_fixed
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import Terms
from rbdgen.passes.dots import fuse_dots, shape_dots
from tests.conftest import design


def random_graph(seed: int) -> Graph:
    """Sums, differences, negations, shifts and products of four operands, in two submodules."""
    draw = np.random.default_rng(seed)
    builder = Builder("one")
    values = [builder.input(name) for name in "abcd"]
    for k in range(40):
        with builder.submodule("one" if k < 25 else "two"):
            x, y = (values[int(n)] for n in draw.integers(len(values), size=2))
            match int(draw.integers(6)):
                case 0 | 1:
                    made = builder.add(x, y)
                case 2:
                    made = builder.sub(x, y)
                case 3:
                    made = builder.neg(x)
                case 4:
                    made = builder.shift(x, int(draw.integers(-2, 3)))
                case _:
                    # of operands, so that values stay exact in floating point
                    made = builder.mul(values[int(draw.integers(4))], values[int(draw.integers(4))])
        values.append(made)
    return builder.graph({f"r{k}": i for k, i in enumerate(values[-6:])})


@pytest.mark.parametrize("seed", range(30))
def test_fusing_keeps_values(seed: int) -> None:
    graph = random_graph(seed)
    fused = fuse_dots(graph)
    draw = np.random.default_rng(seed)
    operands = {name: draw.integers(-50, 50, 20).astype(float) for name in "abcd"}
    before, after = evaluate(graph, operands), evaluate(fused, operands)
    for name, i in graph.outputs.items():
        assert np.array_equal(before[i], after[fused.outputs[name]]), name


def four() -> tuple[Builder, list[Expr]]:
    builder = Builder("one")
    return builder, [Expr(builder, builder.input(name)) for name in "abcd"]


def test_a_tree_over_products_is_one_dot() -> None:
    builder, (a, b, c, d) = four()
    graph = fuse_dots(builder.graph({"y": ((a * b - c * d) - (d - a * c)).node}))
    (dot,) = (node for _, node in graph if node.name == "dot")
    assert sorted(dot.terms.products) == [-1, 1, 1]
    assert dot.terms.addends == (-1,)
    assert graph.count("add") == graph.count("sub") == graph.count("mul") == 0


def test_what_others_read_stays_as_it_is() -> None:
    builder, (a, b, c, d) = four()
    product = a * b
    total = product + c
    graph = fuse_dots(builder.graph({"y": (total * d + a).node, "z": (total - d).node}))
    # the product is read by one sum, that sum by two
    dots = [node for _, node in graph if node.name == "dot"]
    assert [str(node.attr) for node in dots] == ["+|+", "+|+"]
    assert graph.count("sub") == 1


def test_sums_of_other_submodules_stay_apart() -> None:
    builder, (a, b, c, _) = four()
    with builder.submodule("two"):
        product = a * b
    with builder.submodule("one"):
        total = product + c
    assert fuse_dots(builder.graph({"y": total.node})).count("dot") == 0


def random_dot(seed: int) -> tuple[FixedGraph, dict[str, np.ndarray]]:
    """A dot of up to nine products and four addends, in random formats, which drops bits of some; with operands."""
    draw = np.random.default_rng(seed)
    products, addends = int(draw.integers(1, 10)), int(draw.integers(0, 5))
    builder = Builder("one")
    formats = []
    args = []
    for k in range(2 * products + addends):
        args.append(builder.input(f"x{k}"))
        formats.append(Format(int(draw.integers(3, 15)), int(draw.integers(-2, 12))))
    signs = draw.choice([-1, 1], products + addends).tolist()
    terms = Terms(tuple(signs[:products]), tuple(signs[products:]))
    dot = builder.sum(tuple(args), terms)
    graph = builder.graph({"y": dot})
    finest = max(
        *(formats[2 * k].frac + formats[2 * k + 1].frac for k in range(products)),
        *(fmt.frac for fmt in formats[2 * products :]),
        -99,
    )
    point = finest - int(draw.integers(0, 8))
    formats.append(Format(int(draw.integers(4, 24)), point - int(draw.integers(0, 6))))
    truncated = frozenset({dot} if draw.random() < 0.3 else ())
    overflow = "saturate" if draw.random() < 0.5 else "flag"
    fixed = FixedGraph(graph, tuple(formats), {}, truncated, overflow, {dot: point})
    verify_fixed(fixed)
    operands = {}
    for name, i in graph.inputs.items():
        fmt = formats[i]
        values = draw.integers(fmt.minimum, fmt.maximum + 1, 200)
        values[:4] = [fmt.minimum, fmt.maximum, fmt.minimum, fmt.maximum]
        operands[name] = values
    return fixed, operands


def by_integers(fixed: FixedGraph, operands: dict[str, np.ndarray]) -> tuple[list[int], list[bool]]:
    """Raw results of the dot of a graph in Python's integers, and whether they overflowed."""
    (dot,) = (i for i, node in fixed.graph if node.name == "dot")
    node, point, result = fixed.graph.nodes[dot], fixed.points[dot], fixed.formats[dot]
    drop = point - result.frac
    found, flags = [], []
    for task in range(200):
        raw = [int(operands[fixed.graph.nodes[a].attr][task]) for a in node.args]
        fracs = [fixed.formats[a].frac for a in node.args]
        terms = []
        products = len(node.terms.products)
        for k, sign in enumerate(node.terms.products):
            terms.append((sign, raw[2 * k] * raw[2 * k + 1], fracs[2 * k] + fracs[2 * k + 1]))
        for k, sign in enumerate(node.terms.addends, 2 * products):
            terms.append((sign, raw[k], fracs[k]))
        total = 0
        for sign, value, frac in terms:
            places = point - frac
            total += sign * (value << places if places >= 0 else value >> -places)
        if drop and dot not in fixed.truncated:
            total += 1 << (drop - 1)
        exact = total >> drop
        if fixed.saturates:
            kept = min(max(exact, result.minimum), result.maximum)
        else:
            kept = (exact - result.minimum) % (1 << result.width) + result.minimum
        found.append(kept)
        flags.append(kept != exact)
    return found, flags


@pytest.mark.parametrize("seed", range(40))
def test_dots_are_exact_inside_and_rounded_once(seed: int) -> None:
    fixed, operands = random_dot(seed)
    found = evaluate_fixed(fixed, operands)
    expected, flags = by_integers(fixed, operands)
    assert found.outputs["y"].tolist() == expected
    assert np.asarray(found.overflow).tolist() == flags


@pytest.mark.parametrize("longest", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("seed", range(40))
def test_any_shape_gives_the_same_bits(seed: int, longest: int) -> None:
    fixed, operands = random_dot(seed)
    draw = np.random.default_rng(seed)
    arrivals: Sequence[float] = draw.uniform(0, 20, len(fixed.graph.nodes)).tolist()
    shaped = shape_dots(fixed, lambda owner: longest, arrivals, 1.0)
    verify_fixed(shaped)
    for _, node in shaped.graph:
        if node.name == "dot":
            assert len(node.terms.products) <= longest
            assert len(node.terms.addends) <= 1
    whole, parts = evaluate_fixed(fixed, operands), evaluate_fixed(shaped, operands)
    assert np.array_equal(whole.outputs["y"], parts.outputs["y"])
    assert np.array_equal(whole.overflow, parts.overflow)


def test_dots_that_are_short_enough_stay() -> None:
    fixed = design("iiwa14").whole
    assert fixed.graph.count("dot") > 20
    longest = max(len(node.products) for _, node in fixed.graph)
    arrivals = [0.0] * len(fixed.graph.nodes)
    shaped = shape_dots(fixed, lambda owner: longest, arrivals, 1.0)
    kept = [node for _, node in fixed.graph if node.name == "dot" and len(node.addends) <= 1]
    assert shaped.graph.count("dot") >= len(kept)
    assert shaped.graph.outputs.keys() == fixed.graph.outputs.keys()
