"""Compiled functions against the golden model: all functions, settings and layouts; what is refused."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from rbdgen import (
    ConfigError,
    Robot,
    SingularityError,
    ToolError,
    UnsupportedError,
    compile,
    golden,
    load_robot,
    native,
    parameter_values,
    with_contacts,
    with_frames,
)
from rbdgen.caching import keep
from rbdgen.functions.quantities import States
from rbdgen.functions.registry import common, function
from rbdgen.model import builtin_path
from rbdgen.model.joints import Continuous, FreeFlyer, Spherical
from rbdgen.processes import forked
from rbdgen.processor_times import best_times
from rbdgen.software.compiled import CACHE, Compiled, CompiledFunction
from rbdgen.software.composition import check_names, library_name
from rbdgen.software.program import Straight, Whole
from rbdgen.tracing import construction
from rbdgen.tracing.trace_options import TraceOptions
from tests.chains import jointed
from tests.scales import HUGE, TINY, scaled

STATES = 21
"""No multiple of any number of lanes."""
TOLERANCE = {"fd": 1e-11, "dfd": 1e-11, "dadpi": 1e-11, "step": 1e-12, "roll": 1e-12}
"""Of a result's largest entry, where M⁻¹ multiplies rounding errors; else 1e-12."""


@lru_cache
def robot(name: str) -> Robot:
    match name:
        case "floating":
            return jointed({0: FreeFlyer(), 1: Continuous((0.6, 0.0, -0.8))}, 3)
        case "ball":
            return jointed({1: Spherical()}, 3)
        case "arm":
            arm = load_robot("ur5")
            last = arm.bodies[-1].name
            return with_contacts(with_frames(arm, {last: (0.1, 0, 0)}), [last])
        case _:
            return load_robot(name)


@lru_cache
def compiled(name: str, **settings: Any) -> Compiled:
    own = [f for f in (*common(), "step", "roll") if f != "roll" or name in ("pendulum2", "ur5")]
    return compile(robot(name), own, **settings)


@lru_cache
def operands(name: str) -> dict[str, np.ndarray]:
    own = robot(name)
    q, v, a = golden.random_states(own, golden.declared_ranges(own), STATES, 2)
    steps = np.arange(STATES) % 4
    tau = golden.rnea(own, q, v, a)
    return {"q": q, "v": v, "a": a, "tau": tau, "minv": golden.minverse(own, q), "steps": steps}


def taken(name: str, f: str) -> dict[str, np.ndarray]:
    return {q.name: operands(name)[q.name] for q in function(f).operands}


def tupled(x: Any) -> tuple[np.ndarray, ...]:
    return x if isinstance(x, tuple) else (x,)


def same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    for x, y in zip(tupled(found), tupled(expected), strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max() <= tolerance * np.abs(y).max()


def expected(name: str, f: str, given: dict[str, np.ndarray]) -> Any:
    method = getattr(golden, function(f).method)
    return method(robot(name), **given)


@pytest.mark.parametrize(
    "name",
    [
        "pendulum2",
        *(pytest.param(n, marks=pytest.mark.thorough) for n in ("ur5", "floating")),
        "ball",
    ],
)
@pytest.mark.slow
def test_all_functions_are_the_golden_ones(name: str) -> None:
    for f in compiled(name)._methods:
        given = taken(name, f)
        found = compiled(name).function(f)(**given)
        same(found, expected(name, f, given), TOLERANCE.get(f, 1e-12))


@pytest.mark.parametrize("name", ["ur5", "floating"])
@pytest.mark.slow
def test_one_state_is_that_of_many(name: str) -> None:
    for f in ("id", "m", "dfd"):
        given = taken(name, f)
        many = tupled(compiled(name).function(f)(**given))
        one = tupled(compiled(name).function(f)(*(x[4] for x in given.values())))
        for x, y in zip(one, many, strict=True):
            np.testing.assert_allclose(x, y[4], rtol=1e-13, atol=1e-13 * np.abs(y).max())


@pytest.mark.slow
def test_any_leading_shape() -> None:
    given = {name: x[:20].reshape(4, 5, *x.shape[1:]) for name, x in taken("ur5", "did").items()}
    same(compiled("ur5").rnea_derivatives(**given), expected("ur5", "did", given))
    empty = compiled("ur5").rnea(*(x[:0] for x in taken("ur5", "id").values()))
    assert empty.shape == (0, 6)


def test_angles_beyond_what_vectors_reduce() -> None:
    given = dict(taken("ur5", "id"))
    given["q"] = given["q"].copy()
    given["q"][::5] += 1e7
    same(compiled("ur5").rnea(**given), expected("ur5", "id", given))
    one = compiled("ur5").rnea(*(x[5] for x in given.values()))
    same(one, expected("ur5", "id", {k: x[5] for k, x in given.items()}))


@pytest.mark.slow
def test_forces_and_a_moving_base() -> None:
    own, rng = robot("ur5"), np.random.default_rng(1)
    given = taken("ur5", "did")
    f_ext = rng.uniform(-20, 20, (STATES, len(own.bodies), 6))
    base = rng.uniform(-3, 3, (STATES, 9))
    made = compile(own, ["id", "did"], forces=True, moving_base=True)
    still = np.zeros((STATES, 3))
    root = golden.RootMotion(
        np.concatenate([still, base[:, :3]], 1),
        np.concatenate([base[:, 6:], base[:, 3:6]], 1),
        still,
    )
    for method in ("rnea", "rnea_derivatives"):
        found = getattr(made, method)(**given, f_ext=f_ext, base=base)
        same(found, getattr(golden, method)(own, **given, f_ext=f_ext, root=root))
    without = made.rnea(**given, base=base)
    same(without, golden.rnea(own, **given, root=root))


@pytest.mark.slow
def test_frames() -> None:
    own = robot("arm")
    q, v = operands("ur5")["q"], operands("ur5")["v"]
    made = compile(own, ["fk", "jac", "acc", "laminv"], constraint_damping=0.0)
    for f, given in (("fk", {"q": q}), ("jac", {"q": q}), ("laminv", {"q": q})):
        method = function(f).method
        same(getattr(made, method)(**given), getattr(golden, method)(own, **given), 1e-11)
    given = {"q": q, "v": v}
    same(made.function("acc")(**given), getattr(golden, function("acc").method)(own, **given))


@pytest.mark.slow
def test_regressors() -> None:
    """Of a floating base, and as frames of the robot's file have the parameters."""
    made = compile(robot("floating"), ["regressor", "eregressor", "dadpi"])
    for f in made._methods:
        given = taken("floating", f)
        same(made.function(f)(**given), expected("floating", f, given), TOLERANCE.get(f, 1e-12))


@pytest.mark.slow
def test_inverse_kinematics() -> None:
    own = robot("floating")
    own = with_frames(own, {own.bodies[-1].name: (0.1, 0, 0), own.bodies[1].name: ()})
    made = compile(own, "ik", constraint_damping=0.1)
    q = operands("floating")["q"]
    goal = golden.frame_placements(own, np.roll(q, 1, axis=0))
    weight = np.random.default_rng(1).uniform(0, 1, (STATES, 12))
    given = {"q": q, "to_rotation": goal[0], "to_position": goal[1], "weight": weight}
    given["steps"] = np.arange(STATES) % 4
    found = made.inverse_kinematics_step(**given)
    same(found, golden.inverse_kinematics_step(own, **given, damping=0.1))


def test_contacts() -> None:
    own, given = robot("arm"), operands("ur5")
    made = compile(own, ["cfd"], constraint_damping=0.1).function("cfd")
    states = States(given["q"], given["v"], given["a"], None, given["tau"], None, others=held(made))
    settings = TraceOptions(functions=("cfd",), constraint_damping=0.1)
    reference = function("cfd").evaluated(own, states, settings, None)
    same(
        made(**{x.name: states_of(states, x.name) for x in made.operands}), tuple(reference), 1e-10
    )


def held(made: CompiledFunction) -> dict[str, np.ndarray]:
    """Operands of contacts: all closed, where they belong."""
    plain = {"q", "v", "tau"}
    sizes = {x.name: x.shape for x in made.operands if x.name not in plain}
    ones = {"closed", "mask"}
    return {n: np.full((STATES, *size), float(n in ones)) for n, size in sizes.items()}


def states_of(states: States, name: str) -> np.ndarray:
    return states.others[name] if name in states.others else getattr(states, name)


@pytest.mark.thorough
def test_large_products_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(construction, "WHOLE_PRODUCT", 100)
    made = compile(robot("floating"), ["dfd", "step"])
    for f in ("dfd", "step"):
        kinds = [type(step) for step in made.function(f).program.steps]
        assert kinds[:3] == [Straight, Whole, Whole]
        given = taken("floating", f)
        same(made.function(f)(**given), expected("floating", f, given), TOLERANCE[f])
        one = made.function(f)(*(x[3] for x in given.values()))
        same(one, expected("floating", f, {k: x[3] for k, x in given.items()}), TOLERANCE[f])


def test_what_has_no_inverse_is_said() -> None:
    own = robot("pendulum2")
    made = compile(own, ["minv"], calibratable=True)
    (_, parameters) = made.function("minv").operands
    q = np.zeros((3, 2))
    given = np.tile(list(parameter_values(own, own).values())[: parameters.size], (3, 1))
    given[1] = 0.0
    with pytest.raises(
        SingularityError, match=r"^minverse: a matrix that it inverts is not positive"
    ):
        made.minverse(q, given)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3), np.zeros(6), np.zeros(6)), r"q: must have shape \(..., 6\), not \(3,\)"),
        ((np.zeros(6), np.zeros(6)), r"a: missing; rnea takes q, v, a"),
        ((np.zeros(6), np.zeros((2, 6)), np.zeros(6)), r"v: must have shape \(6\), not \(2, 6\)"),
        ((np.full(6, np.nan), np.zeros(6), np.zeros(6)), r"q: must be finite, holds nan"),
        ((np.zeros(6), "fast", np.zeros(6)), r"v: must be an array of numbers, not str"),
        ((np.zeros(6),) * 5, r"rnea: takes q, v, a, not 5 arguments"),
        ((np.zeros(6), np.full(6, 1e200), np.zeros(6)), r"result: is beyond the largest number"),
    ],
)
def test_wrong_operands(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{message}"):
        compiled("ur5").rnea(*arguments)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_single_state_is_refused_where_no_result_shows_it(wrong: float) -> None:
    q = np.array([wrong, 0.0])  # M does not depend on where the first joint is
    made = compile(load_robot("pendulum2"), "m")
    with pytest.raises(ConfigError, match=r"^q: must be finite"):
        made.crba(q)
    assert np.isfinite(made.crba(np.zeros(2))).all()


@pytest.mark.parametrize(("mass", "length"), [TINY, HUGE])
def test_robots_of_any_size(mass: float, length: float) -> None:
    usual = load_robot("pendulum2")
    robot = scaled(usual, mass, length)
    made = compile(robot, ["m", "fd"])
    q, v, a = np.array([0.3, 0.7]), np.array([1.0, -2.0]), np.array([3.0, 4.0])
    expected = mass * length**2 * golden.crba(usual, q)
    assert np.allclose(made.crba(q), expected, rtol=1e-12, atol=0.0)
    tau = mass * length**2 * golden.rnea(usual, q, v, a)
    assert np.allclose(made.forward_dynamics(q, v, tau), a, rtol=1e-10)


def test_a_quaternion_of_another_length() -> None:
    given = [x[0].copy() for x in taken("floating", "id").values()]
    given[0][3:7] *= 1.1
    message = r"^q: joint '.*' must be a quaternion \(x, y, z, w\) of unit length, is off by 0.21"
    with pytest.raises(ConfigError, match=message):
        compiled("floating").rnea(*given)


def test_wrong_names() -> None:
    made = compiled("pendulum2")
    zero = np.zeros(2)
    with pytest.raises(
        ConfigError, match=r"^f_ext: rnea was compiled for q, v, a; compile it with"
    ):
        made.rnea(zero, zero, zero, f_ext=np.zeros((2, 6)))
    with pytest.raises(ConfigError, match=r"^v: given twice"):
        made.rnea(zero, zero, v=zero)
    with pytest.raises(AttributeError, match=r"^jacobian: was not compiled, only rnea \(id\)"):
        made.jacobian(zero)
    with pytest.raises(ConfigError, match=r"^steps: must be a whole number of at least 0"):
        made.roll_out(zero, zero, zero, 1.5)
    with pytest.raises(ConfigError, match=r"^target 'fortran': unknown; choose from c"):
        compile(load_robot("pendulum2"), "id", target="fortran")
    with pytest.raises(ConfigError, match=r"^gravity: no such setting; settings are"):
        compile(load_robot("pendulum2"), "id", gravity=9)
    with pytest.raises(ConfigError, match=r"^integrator"):
        compile(load_robot("pendulum2"), "step", integrator="leapfrog")
    with pytest.raises(ConfigError, match=r"^function 'idd': unknown; did you mean id\?"):
        compile(load_robot("pendulum2"), ["idd"])


def test_names_that_c_has_itself() -> None:
    assert library_name("math") == "math_robot"
    assert library_name("iiwa14") == "iiwa14"
    assert library_name('arm"*/ int') == "arm_int"
    with pytest.raises(UnsupportedError, match=r"^function 'f': 'count' is a name that programs"):
        check_names("f", ["q", "count"])
    named = replace(load_robot("pendulum2"), name="math")
    assert compile(named, "g").generalized_gravity(np.zeros(2)).shape == (2,)


def test_no_compiler_names_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.VARIABLE, "no-such-compiler")
    with pytest.raises(
        ToolError, match=r"^C compiler 'no-such-compiler': not found; install one .*apt"
    ):
        compile(load_robot("pendulum2"), ["g"]).generalized_gravity(np.zeros(2))


def test_a_compiler_that_fails_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    wrong = tmp_path / "cc"
    wrong.write_text("#!/bin/sh\necho 'cc: error: out of paper' >&2\nexit 1\n")
    wrong.chmod(0o755)
    monkeypatch.setenv(native.VARIABLE, str(wrong))
    with pytest.raises(ToolError, match=r"failed: cc: error: out of paper$"):
        compile(load_robot("pendulum2"), ["g"]).generalized_gravity(np.zeros(2))


def test_a_library_of_another_machine_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = (np.array([0.3, 0.4]), np.zeros(2))
    own = load_robot("pendulum2")
    asked: list[str] = []
    first = native.key

    def key(*parts: Any) -> str:
        asked.append(first(*parts))
        return asked[-1]

    monkeypatch.setattr(native, "key", key)
    before = compile(own, ["nle"]).nonlinear_effects(*given)
    # a file with the right name whose content is machine code of something else
    keep(CACHE, asked[0], native.SUFFIX, b"\x7fELF of another machine")
    np.testing.assert_array_equal(compile(own, ["nle"]).nonlinear_effects(*given), before)
    # another processor's libraries have other keys
    monkeypatch.setattr(native, "processor", lambda: "another one")
    compile(own, ["nle"]).nonlinear_effects(*given)
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_forked_child_computes_large_batches_too() -> None:
    made = compile(robot("pendulum2"), ["id"])
    q = np.random.default_rng(0).uniform(-1, 1, (100_000, 2))
    want = made.rnea(q, q, q)

    def work() -> None:
        np.testing.assert_array_equal(made.rnea(q, q, q), want)

    child = forked(work)
    child.join(60)
    child.kill()
    assert child.exitcode == 0


@pytest.mark.parametrize("f", ["id", "did", "m"])
def test_results_are_written_where_they_are_wanted(f: str) -> None:
    call = compiled("pendulum2").function(f)
    given = taken("pendulum2", f)
    for some in ({k: x[0].copy() for k, x in given.items()}, given):
        wanted = expected("pendulum2", f, some)
        out = tuple(np.full_like(x, np.nan) for x in tupled(wanted))
        found = call(*some.values(), out=out)
        assert [id(x) for x in tupled(found)] == [id(x) for x in out]
        same(out, wanted)


def test_a_result_may_take_the_place_of_an_operand() -> None:
    arm, given = compiled("ur5"), taken("ur5", "id")
    for some in ([x[0].copy() for x in given.values()], [x.copy() for x in given.values()]):
        wanted = arm.rnea(*some)
        arm.rnea(*some, out=some[2])
        assert np.array_equal(some[2], wanted)


def test_a_single_state_takes_any_kind_of_array() -> None:
    arm = compiled("ur5")
    q, v, a = (x[0] for x in taken("ur5", "id").values())
    wanted = arm.rnea(q, v, a)
    apart = np.zeros((6, 2))
    apart[:, 0] = q
    swapped = q.astype(q.dtype.newbyteorder())
    for own in (q.tolist(), apart[:, 0], swapped, q.astype(object)):
        assert np.array_equal(arm.rnea(own, v, a), wanted)
    single = golden.rnea(robot("ur5"), q.astype(np.float32), v, a)
    same(arm.rnea(q.astype(np.float32), v, a), single)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(5), r"tau must be a NumPy array of float64 of shape \(6,\), not"),
        (np.zeros(6, np.float32), r"tau must be a NumPy array of float64"),
        ([0.0] * 6, r"tau must be a NumPy array of float64"),
        (np.zeros(12)[::2], r"tau must be writable and in C order; give a new array"),
        (np.broadcast_to(0.0, 6), r"tau must be writable and in C order; give a new array"),
        ((np.zeros(6),) * 2, r"must be an array for each of tau, not 2 arrays"),
    ],
)
def test_results_have_no_room(out: Any, message: str) -> None:
    given = [x[0] for x in taken("ur5", "id").values()]
    with pytest.raises(ConfigError, match=f"^out: {message}"):
        compiled("ur5").rnea(*given, out=out)


def test_single_states_need_no_longer_than_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(builtin_path("iiwa14")))
    data, arm = model.createData(), compile(load_robot("iiwa14"), "id").rnea
    q, v, a = np.random.default_rng(0).normal(size=(3, 7))
    tau = np.empty(7)
    assert np.allclose(arm(q, v, a, out=tau), pin.rnea(model, data, q, v, a))
    ours, theirs = best_times(
        [
            lambda: [arm(q, v, a, out=tau) for _ in range(1000)],
            lambda: [pin.rnea(model, data, q, v, a) for _ in range(1000)],
        ],
        rounds=21,
    )
    assert ours <= theirs
