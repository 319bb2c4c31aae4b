"""Records of functions: complete, and all that a function needs, from layout to the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdgen import ConfigError, Options, UnsupportedError, compile_robot, golden, load_robot
from rbdgen.algo.factorisation import symmetric_product
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.functions import registry
from rbdgen.functions.quantities import A, Q, Quantity
from rbdgen.functions.record import Entries, Function, Need, TracedProgram
from rbdgen.host.driver import Driver
from rbdgen.model.robot import Robot
from rbdgen.processor_times import golden_calls, timing_states
from rbdgen.report.design import design_report
from rbdgen.report.evidence import evidence
from rbdgen.tracing.building import build_network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_hw.marks import MarkedAccelerator, mark_ports, marked_name
from rbdgen_sim.cosim import cosimulate
from rbdgen_sim.interface import Rtl
from rbdgen_sim.simulators import get_simulator
from tests.conftest import in_words

INERTIAL = Quantity("inertial", ("nv",), "N·m, N", "torques that accelerations take")


def inertial_torques(robot: Robot, q: np.ndarray, a: np.ndarray) -> np.ndarray:
    """M(q) a."""
    return (golden.crba(robot, q) @ np.asarray(a)[..., None])[..., 0]


def trace(program: TracedProgram) -> Mapping[str, Entries]:
    mass = {(i, j): x for (i, j), x in program.mass().items()}
    column = dict(enumerate(program.operand("a")))
    products = symmetric_product(program.robot, mass, [column], program.enter)[0]
    return {"inertial": {(i,): x for i, x in products.items()}}


RECORD = Function(
    name="ma",
    code=30,
    summary="inertial torques",
    operands=(Q, A),
    results=(INERTIAL,),
    needs=frozenset({Need.MASS}),
    trace=trace,
    reference=lambda robot, s, settings, method: (inertial_torques(robot, s.q, s.a),),
    golden=inertial_torques,
    forced=False,
    based=False,
)


def trace_outside(program: TracedProgram) -> Mapping[str, Entries]:
    """A sum that no submodule owns."""
    a = program.operand("a")
    return {"inertial": {(i,): x + x * a[0] for i, x in enumerate(a)}}


def test_arithmetic_outside_of_all_submodules_is_refused_by_result() -> None:
    registry.register(replace(RECORD, trace=trace_outside))
    try:
        with pytest.raises(
            UnsupportedError,
            match=r"^result 'inertial_joint1': .* computes \w+ \(%\d+\) outside of all submodules",
        ):
            compile_robot(load_robot("pendulum2"), Options(functions=("ma",), word=18))
    finally:
        registry.unregister(RECORD.name)


@pytest.fixture
def registered() -> Iterator[Function]:
    registry.register(RECORD)
    yield RECORD
    registry.unregister(RECORD.name)


@pytest.mark.parametrize("functions", [("ma",), ("id", "ma", "dfd"), ("ma", "did")])
@pytest.mark.slow
def test_a_function_that_only_a_test_knows(
    registered: Function, functions: tuple[str, ...], tmp_path: Path
) -> None:
    """Layout, error target, report, evidence, simulation of the hardware, and the host's driver."""
    robot = load_robot("pendulum2")
    d = compile_robot(robot, Options(functions=functions, ii=4, word=18))
    report = design_report(d)
    assert report["functions"]["ma"]["latency_cycles"] == d.promised_latency("ma")
    found = evidence(d, 50)["functions"]["ma"]
    assert found["outputs"]["inertial"]["max_relative"] < 1e-3
    assert found["outputs"]["inertial"]["single_precision"]["max_relative"] < 1e-5
    beats = d.tasks.task.beat_bits, d.tasks.result.beat_bits
    rtl = Rtl(marked_name(d), (), *beats, design=MarkedAccelerator(d), probes=mark_ports(d))
    run = cosimulate(d, rtl, get_simulator("amaranth"), tmp_path, count=12)
    assert run.mismatches == 0
    measured = run.functions["ma"].alone
    assert min(measured.latencies) == d.promised_latency("ma")
    s = task_states(d, 5, seed=2)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as driver:
        truth = golden.inertial_torques(robot, s.q, s.a)
        got = driver.inertial_torques(s.q, s.a)
    assert np.max(np.abs(got - truth)) < 1e-3 * np.max(np.abs(truth))


def test_formats_for_an_error_of_such_a_function(registered: Function) -> None:
    d = compile_robot(load_robot("pendulum2"), Options(functions=("ma",), error={"ma": 1e-3}))
    tasks = make_tasks(d, "ma", task_states(d, 500, seed=5))
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


def test_a_need_that_is_not_stated_is_named(registered: Function) -> None:
    registry.unregister("ma")
    registry.register(replace(RECORD, trace=lambda program: {"inertial": program.acceleration()}))
    with pytest.raises(UnsupportedError, match="acceleration is not computed in the program"):
        build_network(load_robot("pendulum2"), TraceOptions(("ma", "did")))


def test_an_operand_without_states_is_named(registered: Function) -> None:
    registry.unregister("ma")
    unknown = Quantity("mystery", ("nv",), "1", "nobody knows")
    registry.register(replace(RECORD, operands=(Q, unknown)))
    message = "function 'ma': no states are known of its operand 'mystery'; operands are q, v"
    with pytest.raises(UnsupportedError, match=message):
        build_network(load_robot("pendulum2"), TraceOptions(("ma",)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "id"}, "function 'id': the name is taken"),
        ({"code": 0}, r"function 'mb': code 0 is that of 'id'; free codes are \d+, \d+"),
        (
            {"code": 15},
            "function 'mb': code must be 0 to 30 and not 15, which loads parameters, or 32 to 255, not 15",
        ),
        (
            {"code": 256},
            "function 'mb': code must be 0 to 30 and not 15, which loads parameters, or 32 to 255, not 256",
        ),
        ({"name": "all"}, "function 'all': the name must be an identifier"),
        ({"name": "a b"}, "function 'a b': the name must be an identifier"),
        ({"needs": frozenset()}, "function 'mb': needs: must name what it takes of its program"),
    ],
)
def test_names_and_codes_are_unique(registered: Function, change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        registry.register(replace(RECORD, **({"name": "mb", "code": 29} | change)))


def test_the_codes_that_are_said_to_be_free_are(registered: Function) -> None:
    with pytest.raises(ConfigError) as refused:
        registry.register(replace(RECORD, name="mb"))
    said = str(refused.value).rpartition("free codes are ")[2].split(", ")
    taken = {f.code for f in registry.known().values()} | {15}
    assert list(map(int, said)) == sorted(set(range(31)) - taken)


def test_a_header_has_a_code_for_each_of_an_accelerators_functions(registered: Function) -> None:
    for k in range(200, 232):
        registry.register(replace(RECORD, name=f"f{k}", code=k))
    try:
        codes = registry.header_codes(["f208", "id", "m", "ma", "f201"])
        # those that no function has for its own come first
        assert codes == {"id": 0, "m": 2, "ma": 30, "f201": 21, "f208": 22}
        many = registry.header_codes(["id", *(f"f{k}" for k in range(200, 229))])
        assert sorted(many.values()) == [*range(15), *range(16, 31)]
        with pytest.raises(ConfigError, match="functions: 31 are more than a task's header"):
            registry.header_codes(["id", *(f"f{k}" for k in range(200, 230))])
    finally:
        for k in range(200, 232):
            registry.unregister(f"f{k}")


def test_unknown_functions_are_errors() -> None:
    message = "function 'nl': unknown; did you mean nle"
    with pytest.raises(ConfigError, match=message):
        registry.function("nl")
    with pytest.raises(ConfigError, match=message):
        Options(functions=("id", "nl"), word=18)
    with pytest.raises(AttributeError, match="no_such_thing"):
        golden.no_such_thing  # noqa: B018


def test_codes_are_what_they_always_were() -> None:
    """Functions may be added; a code that has been given is never another function's."""
    codes = {name: f.code for name, f in registry.known().items()}
    seven = {"id": 0, "fd": 1, "m": 2, "minv": 3, "did": 4, "dfd": 5, "difd": 6}
    frames = {"fk": 10, "jac": 11, "acc": 12, "lam": 13, "laminv": 14, "laminvf": 16, "lama": 17}
    contacts = {"cfd": 18, "scfd": 20}
    later = {"com": 32, "cmm": 33, "dcmm": 34, "dcent": 35, "energy": 36, "coriolis": 37}
    later |= {
        "dfe": 41,
        "dcfd": 42,
        "dscfd": 43,
        "djac": 44,
        "d2id": 45,
        "d2fd": 46,
        "hid": 47,
        "hfd": 48,
        "impulse": 49,
        "lfd": 50,
        "loop": 52,
    }
    later |= {"regressor": 38, "eregressor": 39, "dadpi": 40, "ik": 51}
    given = seven | later | {"roll": 7, "nle": 8, "g": 9} | frames | contacts | {"step": 19}
    assert {name: codes.get(name) for name in given} == given
    assert registry.common() == tuple(seven)


def test_every_golden_function_is_found_by_its_name() -> None:
    for f in registry.known().values():
        assert f.golden is not None
        assert getattr(golden, f.golden.__name__) is f.golden
        assert f.golden.__doc__


def test_pinocchio_has_the_same_functions() -> None:
    pin = pytest.importorskip("pinocchio")
    if not hasattr(pin, "buildModelFromUrdf"):
        pytest.skip("this is not the library of rigid-body dynamics")
    from rbdgen.model import builtin_path

    robot, path = load_robot("ur5"), builtin_path("ur5")
    pinocchio = pin.buildModelFromUrdf(str(path))
    data = pinocchio.createData()
    states = timing_states(robot, 3, seed=1, inverse=True)
    calls = golden_calls(robot, states)
    for name in ("nle", "g"):
        counterpart = registry.function(name).pinocchio
        assert counterpart is not None
        compute = getattr(pin, counterpart.name)
        for k, ours in enumerate(calls[name]()[0]):
            theirs = compute(
                pinocchio, data, *(getattr(states, x)[k] for x in counterpart.arguments)
            )
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("functions", "options"),
    [
        (("nle", "g"), {}),
        (("g",), {"forces": True}),
        (("id", "nle", "g", "did"), {"moving_base": True}),
        pytest.param(("nle", "g"), {"forces": True}, marks=pytest.mark.thorough),
        pytest.param(("nle", "g"), {"moving_base": True}, marks=pytest.mark.thorough),
        pytest.param(("g",), {}, marks=pytest.mark.thorough),
        pytest.param(("g",), {"moving_base": True}, marks=pytest.mark.thorough),
        pytest.param(("id", "nle", "g", "did"), {}, marks=pytest.mark.thorough),
        pytest.param(("id", "nle", "g", "did"), {"forces": True}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_effects_without_acceleration(functions: tuple[str, ...], options: dict) -> None:
    """They are what inverse dynamics is where the operands that they lack are zero."""
    if functions == ("g",) and "forces" in options:
        with pytest.raises(ConfigError, match=r"^forces and functions: forces acts on none of g;"):
            in_words(functions=functions, ii=2, **options)
        # beside a function that takes them
        functions = ("nle", *functions)
    d = compile_robot(load_robot("ur5"), in_words(functions=functions, ii=2, **options))
    states = task_states(d, 200, seed=4)
    for name in ("nle", "g"):
        if name in functions:
            tasks = make_tasks(d, name, states)
            assert not np.any(tasks.flags & 1)
            assert relative_errors(d, tasks, tasks.expected)[0] < 2e-3


def test_the_same_results_leave_by_the_same_lane() -> None:
    network, _ = build_network(load_robot("ur5"), TraceOptions(("id", "nle", "g")))
    assert network.leaves == {"id": "id", "nle": "id", "g": "id"}
