"""What records say of derivatives is so: by finite differences of the golden functions."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from rbdgen import Robot, golden, load_robot, with_frames
from rbdgen.functions import registry
from rbdgen.functions.quantities import States
from rbdgen.functions.record import Function, Slope
from rbdgen.model.joints import Continuous, FreeFlyer
from tests.chains import jointed

COUNT = 3
STEP = 1e-5
SLOPES = [(f, slope) for f in registry.known().values() for slope in f.slopes]


@lru_cache
def robot(base: str) -> Robot:
    if base == "fixed":
        return with_frames(load_robot("ur5"), {"wrist_3_link": ()})
    floating = jointed({0: FreeFlyer(), 2: Continuous((0.6, 0.0, -0.8))}, 4)
    return with_frames(floating, {floating.bodies[3].name: ()})


def states(robot: Robot, function: Function) -> States:
    """Random states with all operands of a function."""
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), COUNT, 5)
    rng = np.random.default_rng(6)
    others = {}
    for quantity in function.operands:
        if quantity.limits is not None:
            others[quantity.name] = rng.uniform(-1, 1, (COUNT, *quantity.size(robot)))
    tau = golden.rnea(robot, q, v, a)
    return States(q, v, a, None, tau, None, others=others)


def without(robot: Robot, s: States, taken: Function) -> States:
    """The states with zero for operands that ``taken`` does not take."""
    names = {quantity.name for quantity in taken.operands}
    kept = {name: getattr(s, name) for name in ("v", "a", "tau")}
    zero = {name: x if name in names else np.zeros_like(x) for name, x in kept.items()}
    return States(s.q, zero["v"], zero["a"], None, zero["tau"], None, others=s.others)


def moved(robot: Robot, s: States, operand: str, change: np.ndarray) -> States:
    """The states after a change of one operand."""
    given = {name: getattr(s, name) for name in ("q", "v", "a", "tau")}
    others = dict(s.others)
    if operand == "q":
        given["q"] = golden.integrate(robot, s.q, change)
    elif operand in others:
        others[operand] = others[operand] + change
    else:
        given[operand] = given[operand] + change
    return States(**given, f_ext=None, minv=None, others=others)


def differences(robot: Robot, function: Function, operand: str, s: States) -> np.ndarray:
    """The result's derivative, (states, result, operand)."""
    size = robot.nv
    if operand in s.others:
        size = s.others[operand].shape[-1]
    columns = []
    for unit in np.eye(size):
        ends = []
        for step in (STEP, -STEP):
            there = moved(robot, s, operand, step * unit)
            ends.append(function.evaluated(robot, there, None, None)[0])
        columns.append((ends[0] - ends[1]) / (2 * STEP))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    ("function", "slope"), SLOPES, ids=[f"{f.name}-{s.operand}" for f, s in SLOPES]
)
def test_slopes_are_derivatives(function: Function, slope: Slope, base: str) -> None:
    own = robot(base)
    s = states(own, function)
    other = registry.function(slope.function)
    found = other.evaluated(own, without(own, s, function), None, None)
    names = [quantity.name for quantity in other.results]
    claimed = found[names.index(slope.result)]
    expected = differences(own, function, slope.operand, s)
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(claimed, expected, rtol=0, atol=3e-7 * scale)


def test_slopes_name_what_there_is() -> None:
    """A function with slopes has one result, and each is of an operand and for a result that there are."""
    assert {"id", "fd", "nle", "g"} <= {f.name for f, _ in SLOPES}
    for function, slope in SLOPES:
        assert len(function.results) == 1
        assert slope.operand in {quantity.name for quantity in function.operands}
        other = registry.function(slope.function)
        assert slope.result in {quantity.name for quantity in other.results}
