"""What the golden functions complain of, in one line each: never a silent NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, Robot, golden, load_robot
from rbdgen.errors import RbdgenError, SingularityError, UnsupportedError
from rbdgen.functions import registry
from rbdgen.functions.record import Function
from rbdgen.golden import RootMotion
from rbdgen.model import Continuous, with_contacts, with_frames, with_loops
from rbdgen.model.body import Inertia

STILL = np.zeros(6)


def rnea(**change: Any) -> np.ndarray:
    """Inverse dynamics of the pendulum with arguments changed."""
    arguments = {"q": np.zeros(2), "v": np.zeros(2), "a": np.zeros(2)} | change
    return golden.rnea(load_robot("pendulum2"), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, r"^q: must have shape \(\.\.\., 2\), not \(3,\)$"),
        ({"v": np.zeros((4, 2))}, r"^v: must have shape \(2\), not \(4, 2\)$"),
        ({"a": np.array([0.0, math.nan])}, r"^a: must be finite, holds nan$"),
        (
            {"q": np.array([1.0 + 2j])},
            r"^q: must be an array of numbers, not ndarray of complex128$",
        ),
        ({"q": ["1.5"]}, r"^q: must be an array of numbers, not list$"),
        ({"q": "upright"}, r"^q: must be an array of numbers, not str$"),
        ({"q": [[0.0], [0.0, 1.0]]}, r"^q: must be an array of numbers, not list$"),
        ({"f_ext": np.zeros((2, 5))}, r"^f_ext: must have shape \(2, 6\), not \(2, 5\)$"),
        (
            {"root": RootMotion(np.zeros(3), STILL)},
            r"^root\.velocity: must have shape \(6\), not \(3,\)$",
        ),
        (
            {"root": RootMotion(STILL, STILL * math.inf)},
            r"^root\.acceleration: must be finite, holds nan$",
        ),
        (
            {"root": RootMotion(STILL, STILL, np.zeros(2))},
            r"^root\.gravity: must have shape \(3\), not \(2,\)$",
        ),
        (
            {"v": np.full(2, 1e200)},
            r"^result: is beyond the largest number; give smaller positions, .*$",
        ),
    ],
)
def test_complains_about(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rnea(**change)


Call = Callable[[Robot, np.ndarray], object]


def called(f: Function) -> Call:
    """A golden function at q, all else zero."""

    def call(robot: Robot, q: np.ndarray) -> object:
        last = robot.bodies[-1].name
        robot = with_contacts(with_frames(robot, {last: ()}), [last])
        if any("loop_rows" in quantity.shape for quantity in f.results):
            robot = with_loops(robot, [f"{robot.bodies[0].name}:{last}"])
        others = [np.zeros(quantity.size(robot)) for quantity in f.operands[1:]]
        assert f.golden is not None
        return f.golden(robot, q, *others)

    return call


FUNCTIONS = {name: called(f) for name, f in registry.known().items() if f.golden and not f.repeat}
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


@every_function
def test_every_function_refuses_a_quaternion_off_unit_length(
    function: Call,
) -> None:
    robot = load_robot("hyq", "floating")
    q = golden.neutral(robot)
    q[6] = 1.1
    message = r"^q: joint 'root_joint' must be a quaternion \(x, y, z, w\) of unit length, is off by 0\.21$"
    with pytest.raises(ConfigError, match=message):
        function(robot, q)


@every_function
def test_every_function_refuses_what_is_not_finite(
    function: Call,
) -> None:
    with pytest.raises(ConfigError, match=r"^q: must be finite, holds inf$"):
        function(load_robot("pendulum2"), np.array([0.0, math.inf]))


def test_complains_about_cosine_and_sine_off_the_circle() -> None:
    robot = load_robot("pendulum2")
    robot = replace(
        robot, bodies=(robot.bodies[0], replace(robot.bodies[1], joint=Continuous((0.0, 1.0, 0.0))))
    )
    with pytest.raises(
        ConfigError,
        match=r"^q: joint 'joint2' must be \(cos, sin\) of unit length, is off by 0\.01$",
    ):
        golden.crba(robot, np.array([0.0, 1.0, 0.1]))


@pytest.mark.parametrize("method", golden.METHODS)
@pytest.mark.parametrize(("mass", "what"), [(0.0, "0"), (-1.0, r"-0\.\d+")])
def test_an_indefinite_mass_matrix_is_named(mass: float, what: str, method: str) -> None:
    robot = load_robot("pendulum2")
    last = replace(
        robot.bodies[1], inertia=Inertia.from_com(mass, np.array([0.0, 0.0, 0.5]), np.zeros((3, 3)))
    )
    robot = replace(robot, bodies=(robot.bodies[0], last))
    q = np.zeros((2, 3, 2))
    message = (
        r"^robot 'pendulum2': its mass matrix is not positive definite at state 0, 0: joint 'joint2' moves an inertia "
        rf"of {what}; mend the inertias beyond that joint, or ask for what needs no M⁻¹$"
    )
    for function in (
        lambda: golden.minverse(robot, q, method=method),
        lambda: golden.forward_dynamics(robot, q, q, q, method=method),
        lambda: golden.forward_dynamics_derivatives(robot, q, q, q, method=method),
    ):
        with pytest.raises(SingularityError, match=message) as caught:
            function()
        assert isinstance(caught.value, RbdgenError)
    assert np.all(np.isfinite(golden.crba(robot, q, method=method)))


def test_unknown_methods_are_named() -> None:
    with pytest.raises(
        ConfigError, match=r"^method: must be one of composite, textbook, not 'columns'$"
    ):
        golden.crba(load_robot("pendulum2"), np.zeros(2), method="columns")


@pytest.mark.parametrize("given", [{}, {"tau": np.zeros(2), "a": np.zeros(2)}, {"a": np.zeros(2)}])
def test_derivatives_of_forward_dynamics_take_one_of_two(given: dict[str, np.ndarray]) -> None:
    with pytest.raises(ConfigError, match=r"^tau: give either tau, or both a and minv$"):
        golden.forward_dynamics_derivatives(
            load_robot("pendulum2"), np.zeros(2), np.zeros(2), **given
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, r"^q: must have shape \(\.\.\., 2\), not \(3,\)$"),
        ({"v": "fast"}, r"^v: must be an array of numbers, not str$"),
        ({"tau": np.zeros((4, 2))}, r"^tau: must have shape \(2\), not \(4, 2\)$"),
        ({"steps": -1}, r"^steps: must be a whole number of at least 0, not -1$"),
        ({"steps": 2.5}, r"^steps: must be a whole number of at least 0, not 2\.5$"),
        ({"steps": [1, 2]}, r"^steps: must have shape \(\), not \(2,\)$"),
        ({"steps": "many"}, r"^steps: must be an array of numbers, not str$"),
        ({"time_step": -1.0}, r"^time_step: must be above 0 seconds, not -1$"),
        ({"time_step": math.nan}, r"^time_step: must be above 0 seconds, not nan$"),
        ({"integrator": "heun"}, r"^integrator: must be one of euler, rk4, not 'heun'$"),
    ],
)
def test_roll_outs_complain_about(change: dict[str, Any], message: str) -> None:
    arguments = {"q": np.zeros(2), "v": np.zeros(2), "tau": np.zeros(2), "steps": 3} | change
    with pytest.raises(ConfigError, match=message):
        golden.roll_out(load_robot("pendulum2"), **arguments)


def test_roll_outs_take_numbers_of_steps_of_the_batchs_shape() -> None:
    still = np.zeros((3, 2))
    robot = load_robot("pendulum2")
    each, _ = golden.roll_out(robot, still, still, still + 1, [1, 2, 3])
    for row, steps in zip(each, (1, 2, 3), strict=True):
        alone, _ = golden.roll_out(robot, still[0], still[0], still[0] + 1, steps)
        np.testing.assert_array_equal(row, alone)


def test_roll_outs_name_a_joint_that_they_cannot_take() -> None:
    robot = load_robot("hyq", "floating")
    still = np.zeros(robot.nv)
    with pytest.raises(UnsupportedError, match="joint 'root_joint'"):
        golden.roll_out(robot, golden.neutral(robot), still, still, 1)
