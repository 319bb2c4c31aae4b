"""Declared ranges, random states, and names for hardware."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from rbdgen import ConfigError, load_robot
from rbdgen.model import (
    declared_ranges,
    extreme_states,
    parse_urdf,
    random_states,
    range_notes,
    sanitize,
)
from tests.model.test_urdf import joint, urdf
from tests.scales import HUGE, TINY, scaled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"damping": (1e29,)}, "joint 'joint1': its damping must be 0 to 1e.06, not 1e.29"),
        ({"friction": (1e20,)}, "joint 'joint1': its friction must be 0 to 1e.06, not 1e.20"),
        ({"armature": (float("inf"),)}, "joint 'joint1': its armature must be 0 to 1e.06, not i"),
    ],
)
def test_drives_out_of_scale_are_refused(change: dict[str, tuple[float]], message: str) -> None:
    robot = load_robot("pendulum2")
    first = dataclasses.replace(robot.bodies[0], **change)
    with pytest.raises(ConfigError, match=message):
        declared_ranges(dataclasses.replace(robot, bodies=(first, *robot.bodies[1:])))
    with pytest.raises(ConfigError, match=r"gravity: must be at most 1e\+06 m/s², not 1e\+200"):
        declared_ranges(dataclasses.replace(robot, gravity=(0.0, 1e200, 0.0)))


def test_limits_of_the_file_are_the_ranges() -> None:
    ranges = declared_ranges(load_robot("iiwa14"))
    assert ranges.q_upper[0] == pytest.approx(math.radians(170), rel=1e-5)
    assert ranges.v_max[3] == pytest.approx(math.radians(75), rel=1e-5)
    assert ranges.tau_max[6] == 40.0
    assert range_notes(load_robot("iiwa14")) == ()


@pytest.mark.parametrize(
    "limit",
    [
        "",
        '<limit lower="-100000" upper="100000" velocity="10000" effort="0"/>',
        '<limit lower="-inf" upper="inf" velocity="inf" effort="inf"/>',
    ],
)
def test_missing_and_absurd_limits_get_stated_defaults(limit: str) -> None:
    robot = parse_urdf(urdf(joint(inside=limit)), "r.urdf")
    ranges = declared_ranges(robot)
    assert ranges.q_upper == (math.pi,)
    assert (ranges.v_max, ranges.a_max, ranges.tau_max) == ((10.0,), (20.0,), (None,))
    assert range_notes(robot) == (
        "limits missing or absurd at j; assumed position ±3.142 rad, velocity 10, effort as motions take it "
        "(set them under [joints] in a config)",
    )


def test_overrides_win() -> None:
    ranges = declared_ranges(load_robot("pendulum2"), {"joint1": {"velocity": 3, "lower": -0.5}})
    assert (ranges.v_max[0], ranges.q_lower[0]) == (3.0, -0.5)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"joint3": {}},
            r"^joints\.joint3: 'pendulum2' has no such joint; did you mean 'joint\d'\?$",
        ),
        (
            {"joint1": {"speed": 1.0}},
            r"^joints\.joint1\.speed: no such limit; limits are lower, .*$",
        ),
        (
            {"joint1": {"velocity": math.nan}},
            r"^joints\.joint1\.velocity: must be a finite number, not nan$",
        ),
        (
            {"joint1": {"velocity": 10**400}},
            r"^joints\.joint1\.velocity: must be a finite number, not a number of 401 digits$",
        ),
        (["joint1"], r"^joints: must be a table of joints, not \['joint1'\]$"),
        (
            {"joint1": {"velocity": -1.0}},
            r"^joints\.joint1\.velocity: must be 1e-06 to 1e\+06, not -1$",
        ),
        (
            {"joint1": {"lower": 2.0, "upper": 1.0}},
            r"^joints\.joint1: lower must be below upper, not 2 and 1$",
        ),
        (
            {"joint1": {"upper": 1e7}},
            r"^joints\.joint1\.upper: must be -1e\+06 to 1e\+06, not 1e\+07$",
        ),
        (
            {"joint1": {"velocity": 1e154}},
            r"^joints\.joint1\.velocity: must be 1e-06 to 1e\+06, not 1e\+154$",
        ),
        (
            {"joint1": {"lower": -1e-16, "upper": 1e-16}},
            r"^joints\.joint1: lower and upper must be at least 1e-06 apart, not -1e-16 and 1e-16; make .* fixed$",
        ),
        ({"joint1": 3.0}, r"^joints\.joint1: must be a table of limits, not 3\.0$"),
    ],
)
def test_bad_overrides_are_named(overrides: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        declared_ranges(load_robot("pendulum2"), overrides)


@pytest.mark.parametrize("make", [random_states, extreme_states])
def test_states_are_inside_their_ranges_and_repeatable(make) -> None:
    robot = load_robot("hyq")
    ranges = declared_ranges(robot)
    q, v, a = make(robot, ranges, 200, 3)
    assert (q.shape, v.shape, a.shape) == ((200, 12), (200, 12), (200, 12))
    assert np.all(q >= ranges.q_lower)
    assert np.all(q <= ranges.q_upper)
    assert np.all(np.abs(v) <= ranges.v_max)
    assert np.all(np.abs(a) <= ranges.a_max)
    again = make(robot, ranges, 200, 3)
    assert all(np.array_equal(x, y) for x, y in zip((q, v, a), again, strict=True))


def test_extreme_states_reach_the_limits() -> None:
    robot = load_robot("pendulum2")
    ranges = declared_ranges(robot)
    q, v, _ = extreme_states(robot, ranges, 200, 0)
    assert np.any(v == ranges.v_max)
    assert np.any(v == 0.0)
    assert np.any(q[:, 0] == ranges.q_upper[0])


def test_continuous_joints_are_on_the_circle() -> None:
    robot = parse_urdf(urdf(joint(kind="continuous")), "r.urdf")
    q, _, _ = extreme_states(robot, declared_ranges(robot), 50, 0)
    assert np.allclose(np.sum(q**2, axis=1), 1.0)


def test_a_mobile_base_has_stated_ranges() -> None:
    robot = parse_urdf(urdf(joint(), links="ab"), "r.urdf", base="floating")
    ranges = declared_ranges(robot, {"root_joint": {"lower": -3.0, "upper": 2.0, "velocity": 4.0}})
    assert (ranges.q_lower[:3], ranges.q_upper[:3]) == ((-3.0,) * 3, (2.0,) * 3)
    assert (ranges.q_lower[3:7], ranges.q_upper[3:7]) == ((-1.0,) * 4, (1.0,) * 4)
    assert ranges.v_max[:6] == (4.0,) * 6
    assert declared_ranges(robot).q_upper[:3] == (1.0,) * 3
    assert range_notes(robot)[0].startswith(
        "limits missing or absurd at root_joint; assumed position ±1 m, velocity 10"
    )
    q, v, _ = extreme_states(robot, ranges, 100, 0)
    assert (q.shape, v.shape) == ((100, 8), (100, 7))
    assert np.any(q[:, 1] == 2.0)
    assert np.allclose(np.sum(q[:, 3:7] ** 2, axis=1), 1.0)


def test_names_become_unique_identifiers() -> None:
    names = [
        "arm link",
        "arm-link",
        "Arm_Link",
        "7th",
        "",
        "λ",
        "x" * 100,
        "end;module evil(",
        "module",
    ]
    result = sanitize(names)
    assert set(result) == set(names)
    assert len({n.lower() for n in result.values()}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", n) for n in result.values())
    assert result["arm link"] == "arm_link"
    assert sanitize(names) == result


@pytest.mark.parametrize(("mass", "length"), [TINY, HUGE])
def test_efforts_are_absurd_beside_the_robots_weight(mass: float, length: float) -> None:
    robot = scaled(load_robot("pendulum2"), mass, length)
    size = 0.1 * robot.mass * robot.reach
    bodies = [
        dataclasses.replace(b, limits=dataclasses.replace(b.limits, effort=10 * size))
        for b in robot.bodies
    ]
    robot = dataclasses.replace(robot, bodies=tuple(bodies))
    assert declared_ranges(robot).tau_max == (10 * size,) * 2
    assert not any("effort" in note for note in range_notes(robot))
    given = declared_ranges(robot, {"joint1": {"effort": 20 * size}})
    assert given.tau_max == (20 * size, 10 * size)
