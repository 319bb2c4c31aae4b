"""Compiled functions in JAX: values, derivatives, batches, types, errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, ToolError, UnsupportedError, compile, golden, load_robot
from rbdgen.software.with_jax import JaxFunctions
from tests.software.differentiated import (
    ALSO_FORWARD,
    ROBOTS,
    STEP,
    compiled,
    projected,
    rates,
    robot,
    same,
    states,
    unit_parts,
)

jax = pytest.importorskip("jax")
jnp = jax.numpy

every_robot = pytest.mark.parametrize("name", ROBOTS)
both_ways = pytest.mark.parametrize("name", ALSO_FORWARD)


@pytest.fixture(autouse=True)
def float64() -> Any:
    with jax.enable_x64(True):
        yield


def functions(name: str) -> JaxFunctions:
    return compiled(name).jax()


@every_robot
@pytest.mark.slow
def test_inverse_dynamics_are_the_golden_ones(name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, a, _ = states(name)
    same(f.rnea(q, v, a), golden.rnea(own, q, v, a))
    same(f.crba(q), golden.crba(own, q))
    expected = golden.rnea_derivatives(own, q, v, a)
    for one, other in zip(f.rnea_derivatives(q, v, a), expected, strict=True):
        same(one, other)


@both_ways
def test_forward_dynamics_are_the_golden_ones(name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, a, tau = states(name)
    same(f.minverse(q), golden.minverse(own, q), 1e-11)
    # τ is that of a
    same(f.forward_dynamics(q, v, tau), a, 1e-10)


@every_robot
def test_batches_are_any_leading_shape(name: str) -> None:
    f = functions(name)
    q, v, a, _ = states(name)
    rows = np.asarray(f.rnea(q, v, a))
    same(f.rnea(q[0], v[0], a[0]), rows[0])
    same(f.rnea(q[None, :, None], v[None, :, None], a[None, :, None]), rows[None, :, None])
    assert f.rnea(q[:0], v[:0], a[:0]).shape == (0, robot(name).nv)
    same(jax.jit(f.rnea)(q, v, a), rows)
    same(jax.vmap(f.rnea)(q, v, a), rows)
    same(jax.vmap(f.rnea, (0, 0, None))(q, v, a[0]), np.asarray(f.rnea(q, v, a * 0 + a[0])))
    twice = jax.vmap(jax.vmap(f.rnea))
    same(twice(q[:, None], v[:, None], a[:, None])[:, 0], rows)


@every_robot
@pytest.mark.parametrize("jacobian", ["jacfwd", "jacrev"])
def test_derivatives_of_torques_are_the_golden_ones(name: str, jacobian: str) -> None:
    """With respect to q along what joints can do; v, a and τ as they are."""
    own, f = robot(name), functions(name)
    q, v, a, _ = states(name)
    differentiate = getattr(jax, jacobian)
    along = np.stack([rates(name, x) for x in q])
    inverse = jax.jit(jax.vmap(differentiate(f.rnea, (0, 1, 2))))(q, v, a)
    by_position, by_velocity = golden.rnea_derivatives(own, q, v, a)
    same(inverse[0] @ along, by_position, 1e-9)
    same(inverse[1], by_velocity)
    same(inverse[2], golden.crba(own, q))


@both_ways
@pytest.mark.slow
def test_derivatives_of_accelerations_are_the_golden_ones(name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, _, tau = states(name)
    along = np.stack([rates(name, x) for x in q])
    forward = jax.jit(jax.vmap(jax.jacrev(f.forward_dynamics, (0, 1, 2))))(q, v, tau)
    by_position, by_velocity = golden.forward_dynamics_derivatives(own, q, v, tau)
    same(forward[0] @ along, by_position, 1e-8)
    same(forward[1], by_velocity, 1e-9)
    same(forward[2], golden.minverse(own, q), 1e-10)


def test_gradients_of_coordinates_are_those_of_their_projection() -> None:
    """By differences in all coordinates, off unit length as well; none leads off it."""
    own, f = robot("floating"), functions("floating")
    q, v, a, _ = (x[0] for x in states("floating"))
    weights = np.random.default_rng(1).normal(size=own.nv)
    parts = unit_parts("floating")
    assert len(parts) == 2

    def project(q: Any) -> Any:
        for part in parts:
            q = q.at[part].divide(jnp.linalg.norm(q[part]))
        return q

    plain = jax.grad(lambda q: f.rnea(q, v, a) @ weights)(q)
    through = jax.grad(lambda q: f.rnea(project(q), v, a) @ weights)(1.0 * q)
    same(through, np.asarray(plain), 1e-10)
    numeric = []
    for unit in STEP * np.eye(own.nq):
        ends = [golden.rnea(own, projected("floating", q + way), v, a) for way in (unit, -unit)]
        numeric.append((ends[0] - ends[1]) @ weights / (2 * STEP))
    same(plain, np.array(numeric), 1e-7)
    for part in parts:
        assert abs(float(plain[part] @ q[part])) < 1e-9 * float(jnp.abs(plain).max())
    off = projected("floating", q) * 1.0
    off[parts[0]] *= 1.5
    same(
        jax.grad(lambda q: f.rnea(project(q), v, a) @ weights)(off)[parts[0]],
        np.array(numeric)[parts[0]] / 1.5,
        1e-7,
    )


def test_parts_at_rest_have_derivatives() -> None:
    """An operand that a function does not take is zero where its derivative is computed."""
    own = robot("pendulum2")
    f = compile(own, ["nle", "g", "did"]).jax()
    q, v, _, _ = (x[0] for x in states("pendulum2"))
    still = np.zeros(own.nv)
    moving = jax.jacobian(f.nonlinear_effects, (0, 1))(q, v)
    for found, expected in zip(moving, golden.rnea_derivatives(own, q, v, still), strict=True):
        same(found, expected)
    standing = golden.rnea_derivatives(own, q, still, still)[0]
    same(jax.jacobian(f.generalized_gravity)(q), standing)


def test_single_precision() -> None:
    f = functions("ur5")
    q, v, a, _ = (jnp.asarray(x, "float32") for x in states("ur5"))
    found = f.rnea(q, v, a)
    assert found.dtype == "float32"
    same(found, golden.rnea(robot("ur5"), *(np.asarray(x, float) for x in (q, v, a))), 1e-5)
    by = jax.vmap(jax.jacobian(f.rnea, 2))(q, v, a)
    assert by.dtype == "float32"
    same(by, golden.crba(robot("ur5"), np.asarray(q, float)), 1e-5)
    with jax.enable_x64(False):
        assert f.rnea(*states("ur5")[:3]).dtype == "float32"


def test_external_forces_may_be_left_out() -> None:
    own = robot("pendulum2")
    f = compile(own, ["id", "did", "m"], forces=True).jax()
    q, v, a, _ = states("pendulum2")
    forces = np.random.default_rng(2).normal(size=(len(q), len(own.bodies), 6))
    same(f.rnea(q, v, a, forces), golden.rnea(own, q, v, a, forces))
    same(f.rnea(q, v, a), golden.rnea(own, q, v, a))
    by = jax.vmap(jax.jacobian(f.rnea))(q, v, a, forces)
    same(by, golden.rnea_derivatives(own, q, v, a, forces)[0])
    with pytest.raises(UnsupportedError, match=r"^rnea: its derivative with respect to f_ext is"):
        jax.grad(lambda x: f.rnea(q, v, a, x).sum())(forces)


def test_one_function_may_return_what_another_is_for() -> None:
    """M⁻¹ comes with the other derivatives where those return it."""
    own = robot("pendulum2")
    f = compile(own, ["fd", "dfd"], with_inverse=True).jax()
    q, v, _, tau = (x[0] for x in states("pendulum2"))
    same(jax.jacobian(f.forward_dynamics, 2)(q, v, tau), golden.minverse(own, q), 1e-11)


def test_operands_say_which_function_is_meant() -> None:
    """Both have the same golden function."""
    own = robot("pendulum2")
    f = compile(own, ["dfd", "difd"]).jax()
    q, v, a, tau = states("pendulum2")
    expected = golden.forward_dynamics_derivatives(own, q, v, tau)
    both = (
        f.forward_dynamics_derivatives(q, v, tau),
        f.forward_dynamics_derivatives(q, v, a=a, minv=golden.minverse(own, q)),
    )
    for found in both:
        for one, other in zip(found, expected, strict=True):
            same(one, other, 1e-9)
    with pytest.raises(
        ConfigError, match=r"^forward_dynamics_derivatives: give q, v, tau; or q, v"
    ):
        f.forward_dynamics_derivatives(q, v, a=a)


def test_roll_outs_take_numbers_of_steps() -> None:
    own = robot("pendulum2")
    f = compile(own, ["roll"]).jax()
    q, v, _, tau = states("pendulum2")
    steps = np.arange(len(q))
    for count in (7, steps):
        found = f.roll_out(q, v, 1.1 * tau, count)
        expected = golden.roll_out(own, q, v, 1.1 * tau, count)
        for one, other in zip(found, expected, strict=True):
            same(one, other, 1e-11)
    same(f.roll_out(q[0], v[0], tau[0], 3)[1], golden.roll_out(own, q[0], v[0], tau[0], 3)[1])


@pytest.mark.slow
def test_torques_for_a_motion_are_found_by_gradients() -> None:
    """Shooting: constant torques of some intervals, by Gauss-Newton on where the arm ends."""
    f = functions("pendulum2")
    q, v, _, _ = (x[0] for x in states("pendulum2"))
    goal = jnp.concatenate([q + 0.2, jnp.zeros(2)])

    def end(torques: Any) -> Any:
        def step(state: Any, tau: Any) -> Any:
            q, v = state
            v = v + 0.01 * f.forward_dynamics(q, v, tau)
            return (q + 0.01 * v, v), None

        (last, speed), _ = jax.lax.scan(step, (q, v), jnp.repeat(torques, 5, axis=0))
        return jnp.concatenate([last, speed]) - goal

    torques = jnp.zeros((4, 2))
    jacobian = jax.jit(jax.jacobian(end))
    missed = [float(jnp.abs(end(torques)).max())]
    for _ in range(8):
        matrix = jacobian(torques).reshape(4, -1)
        change = jnp.linalg.lstsq(matrix, end(torques))[0]
        torques = torques - change.reshape(torques.shape)
        missed.append(float(jnp.abs(end(torques)).max()))
    assert missed[0] > 0.1
    assert missed[-1] < 1e-9


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, q, v, a: f.rnea(q, v), ConfigError, "a: missing; rnea takes q, v, a"),
        (lambda f, q, v, a: f.rnea(q, v, a, a), ConfigError, "rnea: takes q, v, a, not 4"),
        (lambda f, q, v, a: f.rnea(q, v, a, q=q), ConfigError, "q: given twice"),
        (lambda f, q, v, a: f.rnea(q, v, w=a), ConfigError, "w: rnea was compiled for q, v, a"),
        (lambda f, q, v, a: f.rnea(q, v[0], a), ConfigError, r"v: must have shape \(5, 2\), not"),
        (
            lambda f, q, v, a: f.crba(q[:, :1]),
            ConfigError,
            r"q: must have shape \(\.\.\., 2\), not",
        ),
        (lambda f, q, v, a: f.crba(q + 0j), ConfigError, "q: must be float64 or float32, not comp"),
        (lambda f, q, v, a: f.roll_out(q), ConfigError, "roll_out: was not compiled, only rnea"),
        (
            lambda f, q, v, a: jax.jacobian(f.crba)(q),
            UnsupportedError,
            "crba: its derivative with respect to q is not known; keep q constant",
        ),
        (
            lambda f, q, v, a: jax.hessian(lambda q: f.rnea(q, v, a).sum())(q),
            UnsupportedError,
            "rnea_derivatives: its derivative with respect to q is not known",
        ),
    ],
)
def test_errors_are_one_line(
    call: Callable[..., Any], error: type[Exception], message: str
) -> None:
    q, v, a, _ = states("pendulum2")
    with pytest.raises(error, match=f"^{message}") as caught:
        call(functions("pendulum2"), q, v, a)
    assert "\n" not in str(caught.value)


def test_errors_name_what_is_to_be_compiled_too() -> None:
    f = compile(robot("pendulum2"), ["id"]).jax()
    q, v, a, _ = states("pendulum2")
    with pytest.raises(ConfigError, match=r"^rnea: .* respect to q, a needs did and m; compile"):
        jax.grad(lambda q, a: f.rnea(q, v, a).sum(), (0, 1))(q, a)
    with pytest.raises(ConfigError, match=r"^function 'did': was not compiled, only id;"):
        f.function("did")


def test_singular_states_are_errors() -> None:
    """A robot without any mass."""
    f = compile(load_robot("pendulum2"), ["fd"], calibratable=True).jax()
    q, v, _, tau = states("pendulum2")
    massless = np.zeros((len(q), f.function("fd").operands[-1].size))
    with pytest.raises(Exception, match=r"forward_dynamics: a matrix that it inverts .* 5 of 5"):
        f.forward_dynamics(q, v, tau, massless).block_until_ready()


def test_without_jax_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(
        ToolError, match=r"^Python package 'jax' is missing; install it with: pip install 'jax<"
    ):
        compiled("pendulum2").jax()
