"""The network of submodules: names, programs, exits, and what its graph computes, against the golden algorithms."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import ConfigError, UnsupportedError, golden, load_robot
from rbdgen.functions.quantities import States
from rbdgen.functions.registry import check_functions, common
from rbdgen.ir.interpret import evaluate
from rbdgen.tracing.building import build_network, operand_samples
from rbdgen.tracing.network import DYNAMICS, FEEDBACK, GRADIENT
from rbdgen.tracing.trace_options import TraceOptions
from tests.conftest import shared_robot

ALL = common()


def computed(robot, options: TraceOptions) -> tuple[States, dict[str, np.ndarray]]:
    """States, and what the graph makes of them: dense arrays by vector, of the states as inverse dynamics sees them for
    τ, and of forward dynamics for what comes from zero acceleration."""
    network, states = build_network(robot, options)
    samples = operand_samples(network, states)
    values = evaluate(network.graph, samples)
    n, nv = len(states.q), robot.nv
    blocks = len(next(iter(samples.values()))) // n
    dense = {}
    for vector, words in network.results.items():
        dense[vector] = np.zeros((n, nv) if vector in ("tau", "a") else (n, nv, nv))
        for w in words:
            if w.name in network.graph.outputs:
                x = np.broadcast_to(values[network.graph.outputs[w.name]], (blocks * n,))
                first = n if vector == "a" else 0
                dense[vector][(slice(None), *w.index)] = x[first : first + n]
    return states, dense


OPTIONS = (
    TraceOptions(ALL, ranges="motion"),
    TraceOptions(ALL, ranges="motion", forces=True),
    TraceOptions(ALL, ranges="motion", derivative="columns"),
    TraceOptions(ALL, ranges="motion", mass_matrix="mminvgen"),
)


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "forces", "columns", "mminvgen"])
@pytest.mark.parametrize("name", ["pendulum2", "ur5", "hyq"])
def test_graphs_compute_what_the_golden_model_does(name: str, options: TraceOptions) -> None:
    robot = load_robot(name)
    states, dense = computed(robot, options)
    assert np.allclose(dense["tau"], states.tau, rtol=0, atol=1e-9 * np.max(np.abs(states.tau)))
    assert states.minv is not None
    lower = np.tril(np.ones((robot.nv, robot.nv)))
    m = np.linalg.inv(states.minv)
    assert np.allclose(dense["m"], m * lower, rtol=0, atol=1e-9 * np.max(np.abs(m)))
    assert np.allclose(
        dense["minv"], states.minv * lower, rtol=0, atol=1e-9 * np.max(np.abs(states.minv))
    )
    assert np.allclose(dense["a"], states.a, rtol=0, atol=1e-7 * np.max(np.abs(states.a)))
    for one, other in (("da_dq", "dtau_dq"), ("da_dv", "dtau_dv")):
        expected = -states.minv @ dense[other]
        assert np.allclose(dense[one], expected, rtol=0, atol=1e-9 * np.max(np.abs(expected)))
    golden_derivatives = golden.rnea_derivatives(robot, states.q, states.v, states.a, states.f_ext)
    for vector, expected in zip(("dtau_dq", "dtau_dv"), golden_derivatives, strict=True):
        assert np.allclose(dense[vector], expected, rtol=0, atol=1e-9 * np.max(np.abs(expected)))


def test_submodules_are_named_after_links() -> None:
    network, _ = build_network(load_robot("pendulum2"))
    assert [s.kind for s in network.submodules] == ["Sc", "Rf", "Rf", "Rb", "Rb"]
    links = [b.name for b in network.robot.bodies]
    assert [s.name for s in network.submodules][1:3] == [f"Rf_{link}" for link in links]


@pytest.mark.parametrize(
    ("functions", "programs"),
    [
        (("id",), {DYNAMICS}),
        (("id", "did"), {GRADIENT}),
        (("m", "difd"), {GRADIENT}),
        (("minv", "did"), {DYNAMICS, GRADIENT}),
        (("dfd",), {DYNAMICS, GRADIENT}),
        (ALL, {DYNAMICS, GRADIENT}),
    ],
)
def test_programs_are_built_only_where_needed(
    functions: tuple[str, ...], programs: set[str]
) -> None:
    network, _ = build_network(load_robot("pendulum2"), TraceOptions(functions))
    assert set(network.programs.names) == programs
    exits = {e.name for e in network.programs.exits}
    assert exits == {network.exit(f).name for f in functions} | (
        {FEEDBACK} if "dfd" in functions else set()
    )


def test_functions_leave_by_one_exit_where_their_results_are_the_same() -> None:
    robot, both = load_robot("pendulum2"), ("dfd", "difd")
    network, _ = build_network(robot, TraceOptions(both))
    assert [e.name for e in network.programs.exits] == [FEEDBACK, "dfd"]
    assert network.exit("difd") == network.exit("dfd") == network.passes("difd")[-1]
    assert [e.name for e in network.passes("dfd")] == [FEEDBACK, "dfd"]
    other, _ = build_network(robot, TraceOptions(both, with_inverse=True))
    assert [e.name for e in other.programs.exits] == [FEEDBACK, "dfd", "difd"]


@pytest.mark.parametrize("functions", [("minv", "did"), ("dfd",), ALL])
def test_one_program_computes_nothing_twice(functions: tuple[str, ...]) -> None:
    two, one = (
        build_network(load_robot("iiwa14"), TraceOptions(functions, programs=p))[0]
        for p in ("two", "one")
    )
    assert one.programs.names == (DYNAMICS,)
    assert {e.name for e in one.programs.exits} == {e.name for e in two.programs.exits}
    assert {one.admissions(f) for f in functions} == (
        {1, 2} if len(functions) > 2 else {2} if "dfd" in functions else {1}
    )
    assert {two.admissions(f) for f in functions} == {1}
    assert sum(one.graph.multiplications().values()) < sum(two.graph.multiplications().values())
    assert (
        one.graph.count("cos") == 6 < two.graph.count("cos")
    )  # the first joint turns about gravity


def test_branches_that_cannot_interact_have_no_words() -> None:
    """Each leg of a quadruped on a fixed trunk is on its own."""
    network, _ = build_network(load_robot("hyq"), TraceOptions(ALL))
    assert len(network.results["m"]) <= 4 * 6
    assert len(network.results["minv"]) == 4 * 4
    assert len(network.results["dtau_dq"]) <= 4 * 9
    assert len(network.operands["minv"]) == 4 * 4


def test_an_indefinite_mass_matrix_is_refused_where_its_inverse_is_needed() -> None:
    robot = shared_robot("jaco_2_simple")
    build_network(robot, TraceOptions(("id", "m", "did")))
    with pytest.raises(
        UnsupportedError,
        match=r"its mass matrix is not positive definite at [\d.]+% of the declared",
    ):
        build_network(robot, TraceOptions(("fd",)))


def test_algorithms_are_checked() -> None:
    with pytest.raises(
        ConfigError, match=r"^derivative: must be one of composite, columns, not 'rows'$"
    ):
        TraceOptions(derivative="rows")
    with pytest.raises(
        ConfigError, match=r"^mass_matrix: must be one of ldl, mminvgen, not 'crba'$"
    ):
        TraceOptions(mass_matrix="crba")
    with pytest.raises(
        ConfigError, match=r"^programs: must be one of auto, two, one, not 'three'$"
    ):
        TraceOptions(programs="three")


def test_functions_are_checked() -> None:
    assert check_functions(("m", "id", "m")) == ("id", "m")
    with pytest.raises(
        ConfigError,
        match=r"^function 'dif': unknown; did you mean difd\? functions are: id, fd",
    ):
        check_functions(("dif",))
    with pytest.raises(ConfigError, match=r"^functions: none given; choose from id, "):
        check_functions(())
