"""Bounds that hold: against evaluation at many states, on sums of turned signals, and for formats of whole designs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdgen import Options, RbdgenWarning, compile_robot, load_robot
from rbdgen.ir.builder import Builder, Expr
from rbdgen.ir.interpret import evaluate
from rbdgen.model.ranges import extreme_states
from rbdgen.passes.expansions import SineMethod, expand_trigonometry
from rbdgen.passes.ranges import find_ranges, sound_bounds, unproven
from rbdgen.report.evidence import formats
from rbdgen.spatial import cos, sin
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.trials import make_tasks, task_states


@pytest.mark.parametrize("functions", [("id",), ("did", "m"), ("fd",)])
@pytest.mark.slow
def test_no_state_is_beyond_a_bound(functions: tuple[str, ...]) -> None:
    design = compile_robot(load_robot("ur5"), Options(functions=functions, word=27))
    network, states = build_network(
        design.robot, TraceOptions(functions, seed=9), design.ranges, 4000
    )
    graph = design.fixed.graph
    found = find_ranges(graph, operand_samples(network, states), network.declared)
    bounds = sound_bounds(graph, network.declared)
    assert np.all(np.array(bounds.largest) >= found.sampled * (1 - 1e-12))
    assert (found.open > 0) == ("fd" in functions)
    assert found.extra_bits().mean() < 3


@pytest.mark.parametrize("method", [SineMethod(1, 9), SineMethod(2, 5)], ids=str)
def test_a_turned_pair_is_no_longer_than_before(method: SineMethod) -> None:
    b = Builder("one")
    q, x, y = (Expr(b, b.input(n)) for n in "qxy")
    s, c = sin(q), cos(q)
    graph = b.graph(
        {"turned": (c * x - s * y).node, "sum": (c * x + c * y).node, "sine": (s * 2.0 + c).node}
    )
    graph = expand_trigonometry(graph, method)
    bounds = sound_bounds(graph, {"q": 3.0, "x": 3.0, "y": 4.0})
    found = {name: bounds.largest[i] for name, i in graph.outputs.items()}
    assert found["turned"] == pytest.approx(5.0, rel=1e-3)
    assert found["sum"] == pytest.approx(7.0, rel=1e-3)
    assert found["sine"] == pytest.approx(math.sqrt(5.0), rel=1e-3)
    rng = np.random.default_rng(0)
    operands = {n: rng.uniform(-m, m, 100_000) for n, m in (("q", 3.0), ("x", 3.0), ("y", 4.0))}
    values = evaluate(graph, operands)
    assert all(np.max(np.abs(v)) <= bound for v, bound in zip(values, bounds.largest, strict=True))


@pytest.mark.parametrize("error", [{}, {"all": 1e-4}])
def test_a_sound_design_never_overflows_inside_its_ranges(error: dict[str, float]) -> None:
    design = compile_robot(
        load_robot("pendulum2"), Options(functions=("id", "did"), sound=True, error=error)
    )
    assert not unproven(design.fixed, design.network.declared)
    states = task_states(design, 4000, 1)
    q, v, a = extreme_states(design.robot, design.ranges, 4000, 2)
    for function in ("id", "did"):
        tasks = make_tasks(design, function, replace(states, q=q, v=v, a=a))
        assert not tasks.flags.any()
    assert formats(design)["ranges"] == "sound"


def test_a_format_without_room_is_found() -> None:
    design = compile_robot(load_robot("pendulum2"), Options(sound=True, word=18))
    fixed = design.fixed
    i = next(
        i
        for i, n in fixed.graph
        if (n.name == "mul" and not fixed.may_overflow(i)) or n.name == "add"
    )
    narrow = replace(fixed.formats[i], width=fixed.formats[i].width - 4)
    tight = replace(fixed, formats=(*fixed.formats[:i], narrow, *fixed.formats[i + 1 :]))
    assert i in unproven(tight, design.network.declared)


def test_reciprocals_without_a_bound_are_warned_of() -> None:
    with pytest.warns(
        RbdgenWarning, match=r"^sound: 1 reciprocals have no bound above zero; the \d+ signals"
    ):
        compile_robot(load_robot("pendulum2"), Options(functions=("fd",), sound=True, word=27))


@pytest.mark.parametrize("address_bits", [4, 5, 6])
def test_a_turned_pair_is_as_long_as_coarse_tables_make_it(address_bits: int) -> None:
    """The sines of short words are further off the unit circle than a four thousandth."""
    b = Builder("one")
    q, x, y = (Expr(b, b.input(n)) for n in "qxy")
    graph = b.graph({"turned": (cos(q) * x - sin(q) * y).node})
    graph = expand_trigonometry(graph, SineMethod(1, address_bits))
    bound = sound_bounds(graph, {"q": 3.0, "x": 3.0, "y": 4.0}).largest[graph.outputs["turned"]]
    angles = np.linspace(-3.0, 3.0, 200_001)
    longest = 0.0
    for sign in (-1.0, 1.0):
        corner = {
            "q": angles,
            "x": np.full(len(angles), 3.0),
            "y": np.full(len(angles), 4.0 * sign),
        }
        values = evaluate(graph, corner)[graph.outputs["turned"]]
        longest = max(longest, float(np.max(np.abs(values))))
    assert 5.0 < longest <= bound < 5.0 * 1.006
