"""Each pass on a small graph, and the whole pipeline on a robot."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbdgen import ConfigError
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.graph import Graph
from rbdgen.ir.interpret import evaluate, evaluate_fixed
from rbdgen.ir.number_formats import Format
from rbdgen.passes.constant_factors import move_constants, move_shifts
from rbdgen.passes.expansions import expand_trigonometry, sine_method
from rbdgen.passes.formats import ACCUMULATOR_BITS, GUARD_BITS, choose_formats, quantise_constant
from rbdgen.passes.noise import prune_noise
from rbdgen.passes.pipeline import lower
from rbdgen.passes.ranges import magnitudes
from rbdgen.spatial import cos, sin
from tests.conftest import design


def traced(make, names: str = "xy") -> Graph:
    """The graph of one result in one submodule."""
    builder = Builder("one")
    words = [Expr(builder, builder.input(n)) for n in names]
    return builder.graph({"out": make(*words).node})


def test_common_factor_moves_behind_the_sum() -> None:
    graph = move_constants(traced(lambda x, y: x * 3.0 + y * 3.0))
    assert graph.count("scale") == 1
    assert graph.nodes[-1].name == "scale"


def test_factor_stays_where_its_product_is_used_elsewhere() -> None:
    builder = Builder("one")
    x, y = (Expr(builder, builder.input(n)) for n in "xy")
    p = x * 3.0
    graph = builder.graph({"a": (p + y * 3.0).node, "b": p.node})
    assert move_constants(graph).count("scale") == 2


def test_powers_of_two_move_behind_sums() -> None:
    graph = move_shifts(traced(lambda x, y, z: (2.0 * x - 2.0 * y) + 2.0 * (y * z), "xyz"))
    assert graph.count("shift") == 1
    values = {name: np.array([x]) for name, x in zip("xyz", (3.0, 0.5, -1.25), strict=True)}
    assert evaluate(graph, values)[graph.outputs["out"]] == [3.75]
    # of different powers, or needed elsewhere: as they are
    assert move_shifts(traced(lambda x, y: 2.0 * x + 4.0 * y)).count("shift") == 2
    shared = traced(lambda x, y: (2.0 * x + 2.0 * y) + (2.0 * x))
    assert move_shifts(shared).count("shift") == shared.count("shift")


def noise_sweep(graph: Graph, word: int) -> Graph:
    declared = dict.fromkeys(graph.inputs, 1.0)
    samples = {name: np.linspace(-1, 1, 64) for name in graph.inputs}
    largest = magnitudes(graph, samples, declared)
    return prune_noise(graph, largest, choose_formats(graph, largest, word))


def test_noise_is_dropped_at_a_short_word_and_kept_at_a_long_one() -> None:
    graph = traced(lambda x, y: x + y * 4e-8)
    assert [n.op for n in noise_sweep(graph, 18).nodes] == ["input", "input"]
    assert noise_sweep(graph, 32).count("scale") == 1


def test_subtracted_signal_survives_its_dropped_partner() -> None:
    graph = noise_sweep(traced(lambda x, y: x * 3e-8 - y), 18)
    assert graph.nodes[-1].name == "neg"


def test_factor_near_a_power_of_two_becomes_one() -> None:
    graph = noise_sweep(traced(lambda x, y: x * 0.50000001 + y), 18)
    assert graph.count("scale") == 0
    assert graph.count("shift") == 1


@pytest.mark.parametrize("word", [8, 12, 16, 18, 24, 27, 32])
def test_sine_method_keeps_its_promise_in_float64(word: int) -> None:
    method = sine_method(word)
    graph = expand_trigonometry(traced(lambda x, y: sin(x)), method)
    graph_cos = expand_trigonometry(traced(lambda x, y: cos(x)), method)
    x = np.linspace(-7, 7, 200_001)
    for g, f in ((graph, np.sin), (graph_cos, np.cos)):
        error = np.max(np.abs(evaluate(g, {"x": x, "y": x})[g.outputs["out"]] - f(x)))
        assert error <= method.truncation * 1.0001 + 1e-12
        assert method.truncation <= math.ldexp(0.5, -word)


@pytest.mark.parametrize(("word", "bound"), [(12, 2.0), (16, 2.0), (18, 2.0)])
def test_sine_and_cosine_bit_true_over_every_angle(word: int, bound: float) -> None:
    """Exhaustive over the operand's codes: within ``bound`` last places of the exact sine of the coded angle."""
    builder = Builder("Sc")
    x = Expr(builder, builder.input("q"))
    graph = builder.graph({"s": sin(x).node, "c": cos(x).node})
    samples = {"q": np.linspace(-math.pi, math.pi, 1001)}
    fixed = lower(graph, samples, {"q": math.pi}, word)
    fmt = fixed.formats[fixed.graph.inputs["q"]]
    limit = int(fmt.quantise(math.pi))
    raw = np.arange(-limit, limit + 1)
    result = evaluate_fixed(fixed, {"q": raw})
    assert not result.overflow.any()
    for name, f in (("s", np.sin), ("c", np.cos)):
        out = fixed.formats[fixed.graph.outputs[name]]
        error = np.abs(out.real(result.outputs[name]) - f(fmt.real(raw)))
        assert np.max(error) <= bound * out.resolution


def test_every_operand_has_a_code_beyond_its_range() -> None:
    for word in design("iiwa14").tasks.functions["id"].operands:
        assert word.format.minimum < word.codes[0] < word.codes[1] < word.format.maximum


def test_constants_take_the_fewest_bits_within_tolerance() -> None:
    assert quantise_constant(0.3, 0.06, 18).mantissa == 1
    assert quantise_constant(0.3, 1e-3, 18).mantissa == 77
    assert quantise_constant(0.3, 0.0, 18).mantissa.bit_length() <= 18


def test_what_multipliers_take_is_not_wider_than_the_word() -> None:
    fixed: FixedGraph = design("iiwa14").whole
    for i, node in fixed.graph:
        if node.products:
            assert max(fixed.formats[a].width for a in node.factors) <= 18, (i, node)
        if node.name in ("add", "sub", "dot"):
            assert fixed.formats[i].width <= 18 + ACCUMULATOR_BITS, (i, node)


def test_a_result_that_is_always_zero_has_a_format_like_others() -> None:
    builder = Builder("one")
    zero = builder.const(0.0)
    graph = builder.graph({"square": (Expr(builder, builder.input("x")) * 1.5).node, "zero": zero})
    fixed = choose_formats(graph, np.array([0.0, 1.0, 1.5]), 18).formats
    assert fixed[graph.outputs["zero"]] == Format(18, 17)


@pytest.mark.parametrize("word", [1, 7, 33])
def test_unsupported_words_are_refused(word: int) -> None:
    graph = traced(lambda x, y: x + y)
    with pytest.raises(ConfigError, match=rf"^word: must be 8 to 32 bits, not {word}$"):
        lower(graph, {"x": np.ones(2), "y": np.ones(2)}, {"x": 1.0, "y": 1.0}, word)


def test_pipeline_is_deterministic() -> None:
    first = design("ur5")
    again = design.__wrapped__("ur5")
    assert first.fixed.graph == again.fixed.graph
    assert first.fixed.formats == again.fixed.formats


def test_magnitude_of_operands_is_the_declared_one() -> None:
    graph = traced(lambda x, y: x * y)
    largest = magnitudes(graph, {"x": np.array([0.5]), "y": np.array([0.5])}, {"x": 2.0, "y": 3.0})
    assert largest.tolist() == [2.0, 3.0, 0.25]


def test_trimmed_formats_stay_exact_enough() -> None:
    graph = traced(lambda x, y: x * y + x)
    fixed_formats = choose_formats(graph, np.array([1.0, 1e-3, 1e-3, 1.0]), 16).formats
    assert fixed_formats[2].frac <= fixed_formats[3].frac + GUARD_BITS
    assert isinstance(fixed_formats[0], Format)
