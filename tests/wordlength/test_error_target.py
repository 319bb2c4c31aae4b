"""Formats from an error target: targets by name, kept on fresh states without waste, refused where out of reach."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from rbdgen import ConfigError, Design, Options, RbdgenWarning, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.ir import machine
from rbdgen.model import Inertia
from rbdgen.report.evidence import evidence
from rbdgen.tracing.building import build_network
from rbdgen.tracing.trace_options import TraceOptions
from rbdgen.trials import TaskSet, dense_results, free_torques, make_tasks, outside_states
from rbdgen.wordlength import search
from rbdgen.wordlength.targets import Target, resolve_targets
from tests.chains import snake

ALL = common()


@lru_cache
def built(
    error: float, robot: str = "pendulum2", functions: tuple[str, ...] = ALL, **options
) -> Design:
    return compile_robot(
        load_robot(robot), Options(functions=functions, error={"all": error}, **options)
    )


@pytest.fixture(scope="module")
def network():
    return build_network(load_robot("pendulum2"), TraceOptions(("id", "did")))[0]


def test_the_more_specific_target_counts(network) -> None:
    targets = resolve_targets({"all": 1e-3, "did": 1e-4, "did.dtau_dv": 1e-5}, network)
    values = {entry: target.value for entry, target in targets.items()}
    assert values["id", "tau_joint1"] == 1e-3
    assert values["did", "dtau_dq_joint1_joint2"] == 1e-4
    assert values["did", "dtau_dv_joint2_joint2"] == 1e-5
    assert resolve_targets({"tau": 1e-3, "did": 1e-4}, network)["id", "tau_joint1"].value == 1e-3


def test_entries_have_targets_by_joint(network) -> None:
    given = {
        "all": 1e-3,
        "tau.joint2": 1e-4,
        "dtau_dq.joint1": 1e-2,
        "did.dtau_dq.joint1.joint2": 1e-5,
    }
    values = {e: target.value for e, target in resolve_targets(given, network).items()}
    assert values["id", "tau_joint1"] == 1e-3
    assert values["id", "tau_joint2"] == 1e-4
    assert values["did", "dtau_dq_joint2_joint1"] == 1e-2
    assert values["did", "dtau_dq_joint1_joint2"] == 1e-5
    assert values["did", "dtau_dq_joint2_joint2"] == 1e-3


def test_what_an_error_is_relative_to_is_said_by_name(network) -> None:
    given = {"id": "largest:1e-3", "did": 1e-4, "dtau_dv": "abs:1e-2"}
    targets = resolve_targets(given, network)
    assert targets["id", "tau_joint1"] == Target(1e-3, "largest")
    assert targets["did", "dtau_dq_joint1_joint1"] == Target(1e-4, "entry")
    assert targets["did", "dtau_dv_joint1_joint1"] == Target(1e-2, "abs")


@pytest.mark.parametrize(
    ("given", "targets"),
    [
        ({}, {"all": 1e-3}),
        ({"tau": 1e-4}, {"all": 1e-3, "tau": 1e-4}),
        ({"tau.joint2": 1e-2}, {"all": 1e-3, "tau.joint2": 1e-2}),
        ({"m": "abs:1e-4"}, {"all": 1e-3, "m": "abs:0.0001"}),
        ({"id": 1e-2, "m": 1e-4}, {"id": 1e-2, "m": 1e-4}),
        ({"all": 1e-5}, {"all": 1e-5}),
    ],
)
def test_a_target_refines_the_usual_one(given, targets) -> None:
    assert Options(("id", "m"), error=given).targets == targets


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"dif": 1e-3},
            r"^error: 'dif' is no function, output or entry of 'pendulum2'; the nearest is 'did'$",
        ),
        (
            {"all": 1e-3, "tau.joint3": 1e-3},
            r"^error: 'tau.joint3' is no .* of 'pendulum2'; the nearest is 'tau.joint\d'$",
        ),
        ({"all": 0.0}, r"^error: all: must be 1e-12 or more and below 1, not 0$"),
        ({"all": float("nan")}, r"^error: all: must be 1e-12 or more and below 1, not nan$"),
        ({"all": 1.5}, r"^error: all: must be 1e-12 or more and below 1, not 1\.5$"),
        ({"all": "small"}, r"^error: all: must be a number, or one behind .*, not 'small'$"),
        ({"all": "max:1e-3"}, r"^error: all: must be a number, or one behind .*, not 'max:1e-3'$"),
        ({"all": "abs:-1"}, r"^error: all: must be above 0, not -1$"),
        (
            {"all": "abs:1e-4"},
            r"^error: all=abs:0.0001: an absolute error has a unit, .* tau=abs:0.0001 \(in N·m, N\)$",
        ),
    ],
)
def test_targets_without_meaning_are_refused(given, message: str, network) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve_targets(given, network)


@pytest.mark.parametrize("error", [1e-3, 1e-5])
def test_targets_are_kept_on_fresh_states_and_not_wasted(error: float) -> None:
    # with torques of motions only: free ones ask for precision from which all other functions profit
    found = evidence(built(error, ranges="motion"), 20_000)
    for function, f in found["functions"].items():
        worst = max(e["max_relative"] for e in f["outputs"].values())
        assert error / 50 <= worst <= error, function
        assert f["flagged"]["overflow"] <= 2


@pytest.mark.parametrize(
    ("error", "function"),
    [
        (1e-3, "id"),
        (1e-5, "id"),
        pytest.param(1e-5, "did", marks=pytest.mark.slow),
        pytest.param(1e-3, "did", marks=pytest.mark.thorough),
    ],
)
def test_targets_are_kept_by_dots_of_an_arm(error: float, function: str) -> None:
    design = built(error, "iiwa14", (function,))
    assert design.whole.graph.count("dot") > 20
    found = evidence(design, 5000)["functions"][function]
    worst = max(e["max_relative"] for e in found["outputs"].values())
    assert error / 20 <= worst <= error
    assert found["flagged"]["overflow"] == 0


@pytest.mark.parametrize("integrator", [pytest.param("euler", marks=pytest.mark.thorough), "rk4"])
@pytest.mark.slow
def test_targets_are_kept_by_a_step_of_a_roll_out(integrator: str) -> None:
    """Runge-Kutta's evaluations hand on results that no task gets, and its first begins with copies of the state."""
    design = built(1e-3, "ur5", ("roll",), ii=8, integrator=integrator)
    found = evidence(design, 5000)["functions"]["roll"]
    for output in found["outputs"].values():
        assert 1e-3 / 20 <= output["max_relative"] <= 1e-3


def test_targets_by_function_are_kept_apart() -> None:
    options = Options(functions=("id", "did"), error={"id": 1e-5, "did": 1e-3})
    found = evidence(compile_robot(load_robot("pendulum2"), options), 5000)["functions"]
    tau, by_q = found["id"]["outputs"]["tau"], found["did"]["outputs"]["dtau_dq"]
    assert tau["max_relative"] <= 1e-5 < by_q["max_relative"] <= 1e-3


@pytest.mark.slow
def test_signals_of_their_own_take_fewer_blocks_than_one_word() -> None:
    own, word = (built(1e-5, "ur5", ("id",), formats=f) for f in ("signal", "uniform"))
    assert own.plan.schedule.blocks <= 0.8 * word.plan.schedule.blocks
    assert {f.width for f in word.whole.formats if f.width > word.word + 4} == set()


def test_alike_branches_keep_formats_that_fold() -> None:
    robot, functions = load_robot("hyq"), ("id",)
    own = compile_robot(robot, Options(functions=functions, ii=4, error={"all": 1e-4}))
    word = compile_robot(robot, Options(functions=functions, ii=4, word=18))
    assert len(own.plan.schedule.folds.turns) >= len(word.plan.schedule.folds.turns) > 50
    for turns in own.plan.schedule.folds.turns.values():
        assert len({own.plan.schedule.fixed.formats[t.node] for t in turns}) == 1


def test_uniform_words_are_as_short_as_the_target_allows() -> None:
    design = built(1e-4, functions=("id",), formats="uniform")
    worst = {}
    for word in (design.word, design.word - 1):
        shorter = compile_robot(load_robot("pendulum2"), Options(functions=("id",), word=word))
        worst[word] = evidence(shorter, 8000)["functions"]["id"]["outputs"]["tau"]["max_relative"]
    assert worst[design.word] <= 1e-4 < 1.2 * worst[design.word - 1]


def test_an_error_out_of_reach_names_what_stops_it() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^error: 1e-11 of tau.joint\d \(id\) is out of reach: .* adds most; ask for .*",
    ):
        built(1e-11, functions=("id",))
    with pytest.raises(
        ConfigError,
        match=r"^error: 1e-11 of tau.joint\d \(id\) is out of reach of words up to 32 bits",
    ):
        built(1e-11, functions=("id",), formats="uniform")


def test_formats_so_coarse_that_tasks_overflow_get_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small diagonal of the mass matrix comes out smaller still by its errors, so that the reciprocal overflows, or
    the inverse that leaves has lost its definiteness."""
    found = evidence(built(0.1, "ur5", ("minv",)), 20_000)["functions"]["minv"]
    assert found["outputs"]["minv"]["max_relative"] <= 0.1
    assert found["flagged"]["overflow"] <= 20
    assert found["outputs"]["minv"]["indefinite"] == 0
    monkeypatch.setattr(search, "ROUNDS", 1)
    with pytest.raises(
        ConfigError,
        match=r"^error: 0\.5 of minv\..* is out of reach: minv is not positive definite at \d+ states, .*$",
    ):
        built(0.5, "ur5", ("minv",))


@pytest.mark.slow
def test_a_link_so_light_that_sums_outgrow_the_representation() -> None:
    """What the others weigh is nothing beside what it takes to tell the last one from none."""
    robot = snake(4)
    last = robot.bodies[-1]
    inertia = Inertia.from_com(5e-7, np.array([0.05, 0.0, 0.0]), 1e-8 * np.eye(3))
    robot = replace(robot, bodies=(*robot.bodies[:-1], replace(last, inertia=inertia)))
    with pytest.raises(ConfigError, match=r"^error: what is inverted spans more bits .* --word 30"):
        compile_robot(robot, Options(("fd",)))
    assert compile_robot(robot, Options(("fd",), word=30)).promised_latency("fd") > 0


@pytest.mark.parametrize(
    ("option", "value"), [("rounding", "up"), ("overflow", "wrap"), ("formats", "own")]
)
def test_choices_are_checked(option: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{option}: must be one of .*, not '{value}'$"):
        compile_robot(load_robot("pendulum2"), Options(**{option: value}))  # type: ignore[arg-type]


def test_the_search_finds_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = built(1e-3, functions=("id", "fd"))
    monkeypatch.setenv("RBDGEN_CC", "")
    machine.library.cache_clear()
    try:
        interpreted = built.__wrapped__(1e-3, functions=("id", "fd"))
    finally:
        machine.library.cache_clear()
    assert interpreted.fixed.formats == compiled.fixed.formats
    assert interpreted.fixed.graph == compiled.fixed.graph


def test_outside_the_declared_ranges_nothing_is_silently_wrong() -> None:
    design, error = built(1e-3), 1e-3
    inside = evidence(design, 5000)["functions"]
    for function in ALL:
        tasks = make_tasks(design, function, outside_states(design, 4000, 5))
        silent = tasks.flags == 0
        assert 0 < np.count_nonzero(silent) < tasks.count
        for vector, real in dense_results(design, function, tasks.count, tasks.expected).items():
            size = np.abs(real - tasks.reference[vector])
            scales = scales_of(inside[function]["outputs"][vector], tasks)
            assert not np.any(size[silent] > error * scales[silent]), (function, vector)


def scales_of(output: dict, tasks: TaskSet) -> np.ndarray:
    """What errors of an output are relative to, by task and entry (n, …), from the evidence of that output."""
    by_states = output.get("by_states", {"motion": output, "torque": output})
    scale = {kind: np.array(row["entries"]["largest"]) for kind, row in by_states.items()}
    free = free_torques(tasks)
    if free is None:
        return np.broadcast_to(scale["motion"], (tasks.count, *scale["motion"].shape))
    chosen = free.reshape(-1, *[1] * scale["motion"].ndim)
    return np.where(chosen, scale["torque"], scale["motion"])


def test_a_design_that_only_flags_flags_the_same_tasks() -> None:
    saturating, flagging = (
        built(1e-3, functions=("id",), overflow=o) for o in ("saturate", "flag")
    )
    states = outside_states(saturating, 3000, 1)
    states.v[:] *= 4
    a, b = (make_tasks(d, "id", states) for d in (saturating, flagging))
    assert np.any(a.flags & 1)
    assert np.array_equal(a.flags != 0, b.flags != 0)
    clean = a.flags == 0
    assert all(
        np.array_equal(x[clean], y[clean]) for x, y in zip(a.expected, b.expected, strict=True)
    )


def test_a_usual_error_out_of_reach_becomes_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asked for it, so that there is a design all the same, and a warning."""
    monkeypatch.setattr("rbdgen.options.options.DEFAULT_ERROR", 1e-9)
    said = r"^error: 1e-09 of tau.joint\d \(id\) is out of reach: .*; formats are for an error 10 times as"
    with pytest.warns(RbdgenWarning, match=said):
        design = compile_robot(load_robot("pendulum2"), Options(("id",)))
    found = evidence(design, 2000)["functions"]["id"]["outputs"]["tau"]
    assert found["max_relative"] <= 1e-8
    with pytest.raises(ConfigError, match=r"^error: 1e-09 of tau.joint\d \(id\) is out of reach: "):
        compile_robot(load_robot("pendulum2"), Options(("id",), error={"all": 1e-9}))
