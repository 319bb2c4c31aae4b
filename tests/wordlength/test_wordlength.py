"""Word lengths per signal on small graphs: bounds are kept, blocks are filled, bits are dropped where it is cheap."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.devices.registry import DEVICES
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate, evaluate_fixed
from rbdgen.passes.ranges import magnitudes
from rbdgen.wordlength.assembly import assemble
from rbdgen.wordlength.lengths import WordLengths
from rbdgen.wordlength.prices import PriceSearch
from rbdgen.wordlength.signals import Signals
from rbdgen.wordlength.sites import ErrorBounds, make_sites


def polynomial() -> Graph:
    """out = (x·y + 0.3 x)·z − y·z."""
    b = Builder("one")
    x, y, z = (Expr(b, b.input(n)) for n in "xyz")
    return b.graph({"out": ((x * y + x * 0.3) * z - y * z).node})


def searched(
    limit: float, device: str = "ecp5", rounding: str = "auto"
) -> tuple[FixedGraph, dict[str, np.ndarray]]:
    """Formats for :func:`polynomial` with errors up to ``limit``, and operands in their ranges."""
    graph = polynomial()
    rng = np.random.default_rng(0)
    operands = {n: rng.uniform(-1, 1, 4000) for n in "xyz"}
    sites = make_sites(graph, frozenset())
    values = evaluate(graph, operands)
    largest = magnitudes(graph, operands, dict.fromkeys("xyz", 1.0))
    signals = Signals(graph, largest, sites)
    search = PriceSearch(WordLengths(signals, DEVICES[device], rounding))
    # derivatives by hand, by finite differences of every site being too long a way round here
    matrix = np.zeros((200, sites.count), np.float32)
    adjoint = {graph.outputs["out"]: np.ones(200)}
    for i in range(len(graph.nodes) - 1, -1, -1):
        node, here = graph.nodes[i], adjoint.get(i, np.zeros(200))
        matrix[:, i] = here
        parts = {
            "add": lambda h, a: (h, h),
            "sub": lambda h, a: (h, -h),
            "neg": lambda h, a: (-h,),
            "mul": lambda h, a: (h * values[a[1]][:200], h * values[a[0]][:200]),
            "scale": lambda h, a, c=node.attr: (h * c,),
        }.get(node.op, lambda h, a: ())(here, node.args)
        for side, (a, x) in enumerate(zip(node.args, parts, strict=False)):
            adjoint[a] = adjoint.get(a, 0.0) + x
            if node.op == "mul":
                matrix[:, sites.factors[i] + side] += x
    matrix[:, sites.results["out"]] = 1.0
    bounds = ErrorBounds(matrix / np.float32(limit), (matrix / np.float32(limit)) ** 2)
    choice, predicted = search.search(bounds)
    assert predicted <= 1
    if signals.make_room(choice):
        choice, predicted = search.search(bounds)
    return assemble(signals, choice), operands


def worst_error(fixed: FixedGraph, operands: dict[str, np.ndarray]) -> float:
    raw = {n: fixed.formats[i].quantise(operands[n]) for n, i in fixed.graph.inputs.items()}
    result = evaluate_fixed(fixed, raw)
    assert not result.overflow.any()
    exact = evaluate(polynomial(), operands)[polynomial().outputs["out"]]
    got = fixed.formats[fixed.graph.outputs["out"]].real(result.outputs["out"])
    return float(np.max(np.abs(got - exact)))


@pytest.mark.parametrize("rounding", ["auto", "nearest", "truncate"])
@pytest.mark.parametrize("limit", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_errors_stay_within_their_bound_and_near_it(limit: float, rounding: str) -> None:
    error = worst_error(*searched(limit, rounding=rounding))
    assert limit / 20 <= error <= limit * 1.1


def test_ways_of_rounding_are_those_asked_for() -> None:
    assert not searched(1e-4, rounding="nearest")[0].truncated
    truncating = searched(1e-4, rounding="truncate")[0]
    dropping = [
        i
        for i, n in truncating.graph
        if n.op in ("mul", "add", "sub") and truncating.dropped_bits(i)
    ]
    assert dropping
    assert truncating.truncated.issuperset(dropping)


@pytest.mark.parametrize(("device", "shape"), [("ecp5", (18, 18)), ("xcup", (27, 18))])
def test_factors_fill_blocks_and_no_more_than_needed(device: str, shape: tuple[int, int]) -> None:
    fixed, _ = searched(3e-4, device)
    for i, node in fixed.graph:
        if node.op == "mul":
            widths = sorted((fixed.formats[a].width for a in node.args), reverse=True)
            assert widths[0] <= shape[0], (i, widths)
            assert widths[1] <= shape[1], (i, widths)


def test_more_bits_cost_more_blocks_only_where_the_error_needs_them() -> None:
    blocks = []
    for limit in (1e-3, 3e-5, 1e-7):
        fixed, _ = searched(limit)
        pairs = [[fixed.formats[a].width for a in n.args] for _, n in fixed.graph if n.op == "mul"]
        blocks.append(sum(DEVICES["ecp5"].blocks(*pair) for pair in pairs))
    assert blocks[0] == 3
    assert blocks[0] < blocks[1] < blocks[2]


def test_one_rounding_serves_all_factors_of_the_same_width() -> None:
    fixed, _ = searched(1e-5)
    rounds = [(n.args, n.attr, n.owner) for _, n in fixed.graph if n.op == "round"]
    assert len(rounds) == len(set(rounds))
