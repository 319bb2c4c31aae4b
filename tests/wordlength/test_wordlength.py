"""Word lengths per signal on small graphs: bounds are kept, blocks are filled, bits are dropped where it is cheap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from rbdgen.devices.registry import DEVICES
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate, evaluate_fixed
from rbdgen.passes.dots import fuse_dots, shape_dots
from rbdgen.passes.ranges import magnitudes
from rbdgen.wordlength.assembly import assemble
from rbdgen.wordlength.costs import LONGEST_FACTORS
from rbdgen.wordlength.lengths import PriceSearch, WordLengths
from rbdgen.wordlength.signals import Signals
from rbdgen.wordlength.sites import ErrorBounds, make_sites


def polynomial() -> Graph:
    """out = (x·y + 0.3 x)·z − y·z, and a result that is always zero."""
    b = Builder("one")
    x, y, z = (Expr(b, b.input(n)) for n in "xyz")
    return b.graph({"out": ((x * y + x * 0.3) * z - y * z).node, "zero": b.const(0.0)})


def searched(
    limit: float, device: str = "ecp5", rounding: str = "auto", fused: bool = False
) -> tuple[FixedGraph, dict[str, np.ndarray]]:
    """Formats for :func:`polynomial`, its sums of products dots where ``fused``, with errors up to ``limit``, and
    operands in their ranges."""
    graph = fuse_dots(polynomial()) if fused else polynomial()
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
        passed = []
        for sign, one, other in node.products:
            passed.append((one, sign * here * values[other][:200]))
            passed.append((other, sign * here * values[one][:200]))
        passed += [(a, sign * here) for sign, a in node.addends]
        if node.terms.multiple is not None:
            passed.append((node.args[0], here * node.terms.multiple))
        for a, x in passed:
            adjoint[a] = adjoint.get(a, 0.0) + x
        for k, (_, x) in enumerate(passed[: len(node.factors)]):
            matrix[:, sites.factors[i] + k] += x
    matrix[:, sites.results["out"]] = 1.0
    bounds = ErrorBounds(
        csr_array(matrix), csr_array(matrix**2), np.full(200, limit), np.ones(sites.count)
    )
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


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("rounding", ["auto", "nearest", "truncate"])
@pytest.mark.parametrize("limit", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_errors_stay_within_their_bound_and_near_it(
    limit: float, rounding: str, fused: bool
) -> None:
    error = worst_error(*searched(limit, rounding=rounding, fused=fused))
    assert limit / 20 <= error <= limit * 1.1


def test_a_result_that_is_always_zero_has_a_format_like_others() -> None:
    fixed, operands = searched(1e-4)
    assert fixed.formats[fixed.graph.outputs["zero"]].head == 0
    raw = {n: fixed.formats[i].quantise(operands[n]) for n, i in fixed.graph.inputs.items()}
    assert not evaluate_fixed(fixed, raw).outputs["zero"].any()


@pytest.mark.parametrize("limit", [1e-2, 1e-4, 1e-6, 1e-8])
def test_searched_dots_are_sums_of_products_bit_for_bit(limit: float) -> None:
    fixed, operands = searched(limit, fused=True)
    dots = {i for i, node in fixed.graph if node.name == "dot"}
    assert len(dots) == 2
    apart = shape_dots(fixed, lambda owner: 0, [0.0] * len(fixed.graph.nodes), 1.0)
    assert apart.graph.count("dot") == 0
    raw = {n: fixed.formats[i].quantise(operands[n]) for n, i in fixed.graph.inputs.items()}
    whole = evaluate_fixed(fixed, raw).outputs["out"]
    assert np.array_equal(whole, evaluate_fixed(apart, raw).outputs["out"])


def test_products_in_dots_fit_what_adds_them() -> None:
    fixed, _ = searched(1e-8, "xcup", fused=True)
    widths = []
    for _, node in fixed.graph:
        for _, one, other in node.products:
            widths.append(fixed.formats[one].width + fixed.formats[other].width)
    assert 54 < max(widths) <= LONGEST_FACTORS


def test_ways_of_rounding_are_those_asked_for() -> None:
    assert not searched(1e-4, rounding="nearest")[0].truncated
    truncating = searched(1e-4, rounding="truncate")[0]
    dropping = [
        i
        for i, n in truncating.graph
        if n.name in ("mul", "add", "sub") and truncating.dropped_bits(i)
    ]
    assert dropping
    assert truncating.truncated.issuperset(dropping)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("device", "shape"), [("ecp5", (18, 18)), ("xcup", (27, 18))])
def test_factors_fill_blocks_and_no_more_than_needed(
    device: str, shape: tuple[int, int], fused: bool
) -> None:
    fixed, _ = searched(3e-4, device, fused=fused)
    for i, node in fixed.graph:
        for _, *factors in node.products:
            widths = sorted((fixed.formats[a].width for a in factors), reverse=True)
            assert widths[0] <= shape[0], (i, widths)
            assert widths[1] <= shape[1], (i, widths)


def test_more_bits_cost_more_blocks_only_where_the_error_needs_them() -> None:
    blocks = []
    for limit in (1e-3, 3e-5, 1e-7):
        fixed, _ = searched(limit)
        pairs = [
            [fixed.formats[a].width for a in n.args] for _, n in fixed.graph if n.name == "mul"
        ]
        blocks.append(sum(DEVICES["ecp5"].blocks(*pair) for pair in pairs))
    assert blocks[0] == 3
    assert blocks[0] < blocks[1] < blocks[2]


def test_one_rounding_serves_all_factors_of_the_same_width() -> None:
    fixed, _ = searched(1e-5)
    rounds = [(n.args, n.attr, n.owner) for _, n in fixed.graph if n.op == "round"]
    assert len(rounds) == len(set(rounds))
