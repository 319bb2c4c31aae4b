"""Joints that follow others, and damped ones, in hardware: bit for bit, with errors as without."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from rbdgen import Options, Robot, UnsupportedError, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.model import parse_urdf
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.golden.test_following import HAND
from tests.hw.test_armature import products_and_sums
from tests.hw.test_joint_types import simulated_mismatches

TURNING = HAND.replace("revolute", "continuous").replace('multiplier="0.8"', 'multiplier="-2"')


def hand(text: str = HAND) -> Robot:
    """A hand whose joints follow each other, and are damped."""
    robot = parse_urdf(text, "hand.urdf")
    return damped(robot, 0.05)


def damped(robot: Robot, damping: float) -> Robot:
    """``robot`` with damping at all joints."""
    bodies = [dataclasses.replace(b, damping=(damping,) * b.joint.nv) for b in robot.bodies]
    return dataclasses.replace(robot, bodies=tuple(bodies), friction="viscous")


@pytest.mark.parametrize(
    ("text", "functions", "more"),
    [
        (HAND, common(), {}),
        pytest.param(TURNING, common(), {"ii": 1}, marks=pytest.mark.thorough),
        pytest.param(
            HAND,
            ("id", "m", "did"),
            {"derivative": "columns", "mass_matrix": "mminvgen"},
            marks=pytest.mark.thorough,
        ),
        (HAND, ("id", "did"), {"forces": True, "calibratable": True}),
        pytest.param(HAND, ("fd", "roll"), {}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_a_hand_becomes_hardware(
    text: str, functions: tuple[str, ...], more: dict[str, object], tmp_path: Path
) -> None:
    options = {"ii": 8} | more
    d = compile_robot(hand(text), Options(functions, word=20, **options))
    states = task_states(d, 200, seed=1)
    for function in functions:
        tasks = make_tasks(d, function, states)
        assert relative_errors(d, tasks, tasks.expected)[0] < 2e-3, function
    assert simulated_mismatches(d, 4 * len(functions), tmp_path) == 0


def test_articulated_bodies_cannot_take_out_what_moves_several() -> None:
    with pytest.raises(UnsupportedError, match="mass-matrix mminvgen: joint 'a2' follows another"):
        compile_robot(hand(), Options(("fd",), mass_matrix="mminvgen", word=20))


def test_damping_costs_a_product_and_a_sum() -> None:
    plain = load_robot("iiwa14")
    products, sums = products_and_sums(plain)
    assert products_and_sums(damped(plain, 0.3)) == (products + 7, sums + 7)
