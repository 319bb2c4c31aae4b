"""Builder, verifier and text form."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rbdgen.ir.builder import Builder, Expr, rebuild
from rbdgen.ir.fixed import FixedGraph, to_text
from rbdgen.ir.graph import Graph, Node, ports, verify
from rbdgen.ir.interpret import evaluate
from rbdgen.ir.number_formats import Format
from rbdgen.ir.terms import Terms
from rbdgen.spatial import absolute


def small() -> Graph:
    """Two submodules: y = (x + 2)·x in ``one``, z = y − x in ``two``."""
    builder = Builder()
    x = Expr(builder, builder.input("x"))
    with builder.submodule("one"):
        y = (x + 2.0) * x
    with builder.submodule("two"):
        z = y - x
    return builder.graph({"z": z.node})


def test_text_form_shows_submodules_and_ports() -> None:
    assert to_text(small()) == (
        "submodule input in() out(%0) {\n  %0 = input x\n}\n"
        "submodule one in(%0) out(%3) {\n  %2 = add %0 2.0\n  %3 = mul %0 %2\n}\n"
        "submodule two in(%0 %3) out(%4) {\n  %4 = sub %3 %0\n}\n"
        "result z = %4\n"
    )


def test_text_form_shows_the_terms_of_dots() -> None:
    builder = Builder("one")
    x, y = builder.input("x"), builder.input("y")
    graph = builder.graph({"z": builder.sum((x, y, y, y, x), Terms((1, -1), (-1,)))})
    assert "  %2 = dot %0 %1 %1 %1 %0 +-|-\n" in to_text(graph)
    fixed = FixedGraph(graph, (Format(8, 4), Format(8, 4), Format(12, 5)), {}, points={2: 6})
    assert "  %2 = dot %0 %1 %1 %1 %0 +-|- at 6 : s12.5\n" in to_text(fixed)


def test_equal_nodes_of_one_submodule_are_one() -> None:
    builder = Builder("one")
    x, y = builder.input("x"), builder.input("y")
    assert builder.mul(x, y) == builder.mul(y, x)
    with builder.submodule("two"):
        assert builder.mul(x, y) != 2


def magnitude(b: Builder, i: int) -> int:
    """|node i|."""
    return b.make("abs", (i,))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda b, x, y: b.add(x, b.const(0.0)), "x"),
        (lambda b, x, y: b.mul(x, b.const(1.0)), "x"),
        (lambda b, x, y: b.mul(x, b.const(-1.0)), "neg"),
        (lambda b, x, y: b.mul(x, b.const(0.0)), "0"),
        (lambda b, x, y: b.sub(x, x), "0"),
        (lambda b, x, y: b.mul(x, b.const(0.25)), "shift"),
        (lambda b, x, y: b.scale(b.scale(x, 3.0), 5.0), "scale"),
        (lambda b, x, y: b.add(x, b.neg(y)), "sub"),
        (lambda b, x, y: b.neg(b.mul(b.neg(x), y)), "mul"),
        (lambda b, x, y: b.sub(b.neg(x), b.neg(y)), "sub"),
        (lambda b, x, y: b.add(x, x), "shift"),
        (lambda b, x, y: b.mul(b.shift(x, 3), y), "shift"),
        (lambda b, x, y: magnitude(b, b.neg(x)), "abs"),
        (lambda b, x, y: magnitude(b, b.scale(x, -3.0)), "scale"),
        (lambda b, x, y: magnitude(b, b.shift(x, 2)), "shift"),
        (lambda b, x, y: b.sub(magnitude(b, magnitude(b, x)), magnitude(b, b.neg(x))), "0"),
        (lambda b, x, y: magnitude(b, b.sub(b.const(0.0), b.const(3.0))), "const"),
        (lambda b, x, y: b.make("divide", (b.neg(x), y)), "neg"),
        (lambda b, x, y: b.make("divide", (x, b.const(4.0))), "shift"),
    ],
)
def test_simplifies_while_building(make, text: str) -> None:
    builder = Builder("one")
    x, y = builder.input("x"), builder.input("y")
    node = builder.nodes[make(builder, x, y)]
    assert (
        str(node.attr) if node.op == "input" else "0" if node.attr == 0.0 else node.name
    ) == text


def test_simplification_keeps_values() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        draw = np.random.default_rng(seed)
        builder = Builder("one")
        names = ["x", "y", "z"]
        values = {n: rng.normal(size=5) for n in names}
        exprs: list[tuple[Expr | float, np.ndarray]] = [
            (Expr(builder, builder.input(n)), values[n]) for n in names
        ]
        for _ in range(40):
            (a, va), (b, vb) = (exprs[int(draw.integers(len(exprs)))] for _ in range(2))
            match int(draw.integers(6)):
                case 0:
                    exprs.append((a + b, va + vb))
                case 1:
                    exprs.append((a - b, va - vb))
                case 2:
                    exprs.append((a * b, va * vb))
                case 3:
                    exprs.append((-a, -va))
                case 4:
                    exprs.append((absolute(a), np.abs(va)))
                case _:
                    c = float(draw.choice([0.0, 1.0, -1.0, 0.5, 3.0, -2.0]))
                    exprs.append((a * c, va * c))
        outputs = {f"o{k}": e.node for k, (e, _) in enumerate(exprs) if isinstance(e, Expr)}
        graph = builder.graph(outputs)
        verify(graph)
        verify(rebuild(graph))
        result = evaluate(rebuild(graph), values)
        rebuilt = rebuild(graph)
        for k, (_, expected) in enumerate(exprs):
            assert np.allclose(result[rebuilt.outputs[f"o{k}"]], expected, rtol=1e-9, atol=1e-9)


def test_dead_nodes_are_dropped_and_operands_kept() -> None:
    builder = Builder()
    x, _ = builder.input("x"), builder.input("unused")
    with builder.submodule("one"):
        builder.mul(x, x)
    graph = builder.graph({"x": x})
    assert [n.op for n in graph.nodes] == ["input", "input"]


def test_ports_are_what_crosses() -> None:
    graph = small()
    assert ports(graph, "one").inputs == (0,)
    assert ports(graph, "one").outputs == (3,)
    assert ports(graph, "two").inputs == (0, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda n: dataclasses.replace(n, op="div"),
            r"^node %2 \(div\): operation must be one of .*, not 'div'$",
        ),
        (
            lambda n: dataclasses.replace(n, args=(0,)),
            r"^node %2 \(sum\): must have 2 arguments, not 1$",
        ),
        (
            lambda n: dataclasses.replace(n, args=(0, 2)),
            r"^node %2 \(sum\): arguments must be earlier nodes, not \(0, 2\)$",
        ),
        (
            lambda n: Node("sum", (0,), 3.0, "one"),
            r"^node %2 \(sum\): attribute must be terms, not 3\.0$",
        ),
        (
            lambda n: Node("shift", (0,), 0.5, "one"),
            r"^node %2 \(shift\): attribute must be an integer, not 0\.5$",
        ),
        (
            lambda n: Node("input", (), "x", "input"),
            r"^node %2 \(input\): attribute must be a unique name, not 'x'$",
        ),
        (
            lambda n: dataclasses.replace(n, owner="input"),
            r"^node %2 \(sum\): owner must be a submodule, not 'input': no hardware would compute it$",
        ),
        (lambda n: Node("const", (), 2.0, ""), r"^node %2 \(const\): must be unique, equals %1$"),
    ],
)
def test_verifier_names_the_broken_node(change, message: str) -> None:
    graph = small()
    nodes = list(graph.nodes)
    nodes[2] = change(nodes[2])
    with pytest.raises(ValueError, match=message):
        verify(Graph(tuple(nodes), graph.outputs))
