"""Compiled functions in torch: values, derivatives, batches, types, errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, ToolError, UnsupportedError, compile, golden, load_robot
from rbdgen.errors import SingularityError
from rbdgen.software.with_torch import TorchFunctions
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

every_robot = pytest.mark.parametrize("name", ROBOTS)
both_ways = pytest.mark.parametrize("name", ALSO_FORWARD)


def test_without_torch_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ToolError, match=r"^Python package 'torch' is missing; install it with: pip install 'torch<"
    ):
        compiled("pendulum2").torch()


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def functions(name: str) -> TorchFunctions:
    return compiled(name).torch()


def tensors(torch: Any, name: str, dtype: str = "float64") -> list[Any]:
    return [torch.as_tensor(x).to(getattr(torch, dtype)) for x in states(name)]


@every_robot
def test_inverse_dynamics_are_the_golden_ones(torch: Any, name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, a, _ = tensors(torch, name)
    expected = golden.rnea(own, *states(name)[:3])
    same(f.rnea(q, v, a), expected)
    same(f.rnea(q[0], v[0], a[0]), expected[0])
    same(f.rnea(q[None, :, None], v[None, :, None], a[None, :, None]), expected[None, :, None])
    # as it lies, the last dimension is not
    same(f.rnea(q.T.contiguous().T, v, a), expected)
    assert f.rnea(q[:0], v[:0], a[:0]).shape == (0, own.nv)
    same(f.crba(q), golden.crba(own, states(name)[0]))


@both_ways
def test_forward_dynamics_are_the_golden_ones(torch: Any, name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, a, tau = tensors(torch, name)
    same(f.forward_dynamics(q, v, tau), a.numpy(), 1e-10)
    same(f.minverse(q), golden.minverse(own, q.numpy()), 1e-11)


@pytest.mark.parametrize("name", ["pendulum2", "ur5"])
def test_gradients_pass_the_check(torch: Any, name: str) -> None:
    f = functions(name)
    q, v, a, tau = (x[:2].requires_grad_() for x in tensors(torch, name))
    check = torch.autograd.gradcheck
    assert check(f.rnea, (q, v, a), check_forward_ad=True, check_batched_grad=True)
    if name in ALSO_FORWARD:
        assert check(f.forward_dynamics, (q, v, tau), check_forward_ad=True)


@every_robot
@pytest.mark.parametrize("jacobian", ["jacrev", "jacfwd"])
def test_derivatives_of_torques_are_the_golden_ones(torch: Any, name: str, jacobian: str) -> None:
    """With respect to q along what joints can do; through vmap."""
    own, f = robot(name), functions(name)
    q, v, a, _ = tensors(torch, name)
    along = np.stack([rates(name, x) for x in q.numpy()])
    differentiate = getattr(torch.func, jacobian)
    found = torch.func.vmap(differentiate(f.rnea, (0, 1, 2)))(q, v, a)
    by_position, by_velocity = golden.rnea_derivatives(own, *states(name)[:3])
    same(found[0].numpy() @ along, by_position, 1e-9)
    same(found[1], by_velocity)
    same(found[2], golden.crba(own, q.numpy()))


@both_ways
def test_derivatives_of_accelerations_are_the_golden_ones(torch: Any, name: str) -> None:
    own, f = robot(name), functions(name)
    q, v, _, tau = (x.requires_grad_() for x in tensors(torch, name))
    plain = [x.detach().numpy() for x in (q, v, tau)]
    by_position, by_velocity = golden.forward_dynamics_derivatives(own, *plain)
    weights = np.random.default_rng(4).normal(size=own.nv)
    (f.forward_dynamics(q, v, tau) @ torch.as_tensor(weights)).sum().backward()
    along = np.stack([rates(name, x) for x in plain[0]])
    same(np.einsum("bi,bij->bj", q.grad.numpy(), along), weights @ by_position, 1e-8)
    same(v.grad, weights @ by_velocity, 1e-9)
    same(tau.grad, weights @ golden.minverse(own, plain[0]), 1e-10)


def test_gradients_of_coordinates_are_those_of_their_projection(torch: Any) -> None:
    """By differences in all coordinates, off unit length as well; none leads off it."""
    own, f = robot("floating"), functions("floating")
    q, v, a, _ = (x[0] for x in tensors(torch, "floating"))
    weights = np.random.default_rng(1).normal(size=own.nv)
    q.requires_grad_()
    (f.rnea(q, v, a) @ torch.as_tensor(weights)).backward()
    numeric = []
    for unit in STEP * np.eye(own.nq):
        ends = []
        for way in (unit, -unit):
            there = projected("floating", q.detach().numpy() + way)
            ends.append(golden.rnea(own, there, v.numpy(), a.numpy()))
        numeric.append((ends[0] - ends[1]) @ weights / (2 * STEP))
    same(q.grad, np.array(numeric), 1e-7)
    for part in unit_parts("floating"):
        assert abs(float(q.grad[part] @ q.detach()[part])) < 1e-9 * float(q.grad.abs().max())


def test_single_precision(torch: Any) -> None:
    f = functions("ur5")
    q, v, a, _ = tensors(torch, "ur5", "float32")
    a.requires_grad_()
    found = f.rnea(q, v, a)
    assert found.dtype == torch.float32
    plain = [x.detach().numpy().astype(float) for x in (q, v, a)]
    same(found.detach(), golden.rnea(robot("ur5"), *plain), 1e-5)
    found.sum().backward()
    same(a.grad, golden.crba(robot("ur5"), plain[0]).sum(axis=1), 1e-5)


def test_external_forces_may_be_left_out(torch: Any) -> None:
    own = robot("pendulum2")
    f = compile(own, ["id", "did", "m"], forces=True).torch()
    q, v, a, _ = tensors(torch, "pendulum2")
    forces = torch.ones((len(q), len(own.bodies), 6), dtype=torch.float64)
    plain = states("pendulum2")[:3]
    same(f.rnea(q, v, a), golden.rnea(own, *plain))
    same(f.rnea(q, v, a, forces), golden.rnea(own, *plain, forces.numpy()))
    with pytest.raises(UnsupportedError, match=r"^rnea: its derivative with respect to f_ext is"):
        f.rnea(q, v, a, forces.requires_grad_())


def test_roll_outs_take_numbers_of_steps(torch: Any) -> None:
    own = robot("pendulum2")
    f = compile(own, ["roll"]).torch()
    q, v, _, tau = tensors(torch, "pendulum2")
    plain = [x.numpy() for x in (q, v, tau)]
    for count in (7, torch.arange(len(q))):
        expected = golden.roll_out(own, *plain, np.asarray(count))
        for one, other in zip(f.roll_out(q, v, tau, count), expected, strict=True):
            same(one, other, 1e-11)


def test_a_motion_is_found_by_gradients(torch: Any) -> None:
    """Torques of some intervals that bring the arm to a state, by L-BFGS through the steps."""
    f = functions("pendulum2")
    q, v, _, _ = (x[0] for x in tensors(torch, "pendulum2"))
    torques = torch.zeros((4, 2), dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS([torques], max_iter=200, line_search_fn="strong_wolfe")

    def missed() -> Any:
        position, speed = q, v
        for k in range(12):
            speed = speed + 0.02 * f.forward_dynamics(position, speed, torques[k // 3])
            position = position + 0.02 * speed
        return ((position - q - 0.1) ** 2).sum() + 0.1 * (speed**2).sum()

    def closure() -> Any:
        search.zero_grad()
        loss = missed()
        loss.backward()
        return loss

    before = float(missed().detach())
    search.step(closure)
    assert float(missed().detach()) < 1e-6 * before


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, q, v, a: f.rnea(q, v), ConfigError, "a: missing; rnea takes q, v, a"),
        (lambda f, q, v, a: f.rnea(q, v[0], a), ConfigError, r"v: must have shape \(5, 2\), not"),
        (
            lambda f, q, v, a: f.crba(q.int()),
            ConfigError,
            "q: must be float64 or float32, not torch",
        ),
        (
            lambda f, q, v, a: f.crba(q.numpy()),
            ConfigError,
            "q: must be a tensor, not ndarray; give",
        ),
        (
            lambda f, q, v, a: f.rnea(q, v.float(), a),
            ConfigError,
            "v: must be float64 as q is, not",
        ),
        (lambda f, q, v, a: f.crba(q.to("meta")), UnsupportedError, "q: is on meta; functions for"),
        (
            lambda f, q, v, a: f.crba(q.requires_grad_()),
            UnsupportedError,
            "crba: its derivative with respect to q is not known; keep q constant",
        ),
        (
            lambda f, q, v, a: hessian(f, q, v, a),
            UnsupportedError,
            "rnea_derivatives: its derivative with respect to q is not known",
        ),
    ],
)
def test_errors_are_one_line(
    torch: Any, call: Callable[..., Any], error: type[Exception], message: str
) -> None:
    q, v, a, _ = tensors(torch, "pendulum2")
    with pytest.raises(error, match=f"^{message}") as caught:
        call(functions("pendulum2"), q, v, a)
    assert "\n" not in str(caught.value)


def hessian(f: TorchFunctions, q: Any, v: Any, a: Any) -> None:
    torch = pytest.importorskip("torch")
    torch.func.jacrev(torch.func.jacrev(f.rnea))(q, v, a)


def test_errors_name_what_is_to_be_compiled_too(torch: Any) -> None:
    f = compile(robot("pendulum2"), ["id"]).torch()
    q, v, a, _ = tensors(torch, "pendulum2")
    with pytest.raises(ConfigError, match=r"^rnea: .* respect to q, a needs did and m; compile"):
        f.rnea(q.requires_grad_(), v, a.requires_grad_())
    with torch.no_grad():
        assert f.rnea(q, v, a).shape == v.shape


def test_what_no_robot_can_be_at_is_an_error(torch: Any) -> None:
    q, v, a, tau = tensors(torch, "floating")
    with pytest.raises(ConfigError, match=r"^q: joint .* of unit length, is off by"):
        functions("floating").rnea(2 * q, v, a)
    f = compile(load_robot("pendulum2"), ["fd"], calibratable=True).torch()
    q, v, _, tau = tensors(torch, "pendulum2")
    massless = torch.zeros((len(q), f.function("fd").operands[-1].size), dtype=torch.float64)
    with pytest.raises(SingularityError, match=r"^forward_dynamics: a matrix that it inverts is"):
        f.forward_dynamics(q, v, tau, massless)
