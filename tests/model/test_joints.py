"""Every joint type, by itself: what it says of its motion is consistent, and is Pinocchio's.

A type that is added to ``JOINT_TYPES`` is tested without more ado; Pinocchio's equivalent, if there is one, is added to
``pinocchio_joint``.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError
from rbdgen.model import (
    JOINT_TYPES,
    CompoundJoint,
    Continuous,
    Cylindrical,
    FreeFlyer,
    Helical,
    Joint,
    Placement,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    Translation,
    Universal,
    integrate,
    neutral,
)
from rbdgen.model.body import Body, Inertia, MergedLink
from rbdgen.model.joints import Coordinates

STATES = 20
STEP = 1e-6
AXES = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.6, 0.0, -0.8), (1 / 3, -2 / 3, 2 / 3))

CONTINUOUS = """<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/>
<child link="b"/><axis xyz="{} {} {}"/></joint></robot>"""


def unit(rng: np.random.Generator) -> tuple[float, ...]:
    axis = rng.normal(size=3)
    return tuple(float(x) for x in axis / np.linalg.norm(axis))


def examples(kind: type[Coordinates]) -> list[Coordinates]:
    """Joints of this type: coordinate axes and skew ones, any pitch."""
    rng = np.random.default_rng(5)
    fields = [f.name for f in dataclasses.fields(kind)]  # type: ignore[arg-type]
    found = []
    for axis in AXES:
        values = {
            name: float(rng.uniform(0.1, 0.5)) if name == "pitch" else unit(rng) for name in fields
        }
        if fields:
            values[fields[0]] = axis
        found.append(kind(**values))
    return found if fields else found[:1]


JOINTS = [
    pytest.param(j, id=f"{n}{k}") for n, t in JOINT_TYPES.items() for k, j in enumerate(examples(t))
]
every_joint = pytest.mark.parametrize("joint", JOINTS)


def pinocchio_joint(joint: Coordinates) -> pin.JointModel:
    """Pinocchio's model of ``joint``."""
    if isinstance(joint, Revolute):
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis))
    if isinstance(joint, Continuous):
        # the constructor with an axis is not there in Python
        return pin.buildModelFromXML(CONTINUOUS.format(*joint.axis)).joints[1]
    if isinstance(joint, Prismatic):
        return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
    if isinstance(joint, Helical):
        return pin.JointModelHelicalUnaligned(np.array(joint.axis), joint.pitch)
    if isinstance(joint, Cylindrical):
        both = pin.JointModelComposite(pin.JointModelPrismaticUnaligned(np.array(joint.axis)))
        both.addJoint(pin.JointModelRevoluteUnaligned(np.array(joint.axis)))
        return both
    if isinstance(joint, Universal):
        return pin.JointModelUniversal(np.array(joint.first), np.array(joint.second))
    simple = {
        Translation: pin.JointModelTranslation,
        Planar: pin.JointModelPlanar,
        Spherical: pin.JointModelSpherical,
        FreeFlyer: pin.JointModelFreeFlyer,
    }
    if type(joint) not in simple:
        pytest.skip("Pinocchio has no such joint")
    return simple[type(joint)]()


def configurations(joint: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """Random q (STATES, nq) and velocities (STATES, nv)."""
    rng = np.random.default_rng(1)
    return joint.random(rng, STATES, -2.0, 2.0), rng.normal(size=(STATES, joint.nv))


def homogeneous(joint: Coordinates, q: np.ndarray) -> np.ndarray:
    """The child's frame (4×4) at ``q`` (nq)."""
    placed = joint.placement(tuple(float(x) for x in q))
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = placed.rotation, placed.translation
    return result


def twist(matrix: np.ndarray) -> np.ndarray:
    """[linear, angular] of a 4×4 rate of change in the moving frame's own coordinates."""
    return np.array([*matrix[:3, 3], matrix[2, 1], matrix[0, 2], matrix[1, 0]])


@every_joint
def test_the_neutral_configuration_leaves_frames_together(joint: Coordinates) -> None:
    q = np.array(joint.neutral)
    assert q.shape == (joint.nq,)
    assert np.array_equal(homogeneous(joint, q), np.eye(4))
    assert joint.fault(q) is None


@every_joint
def test_random_configurations_are_valid_and_within_limits(joint: Coordinates) -> None:
    q = joint.random(np.random.default_rng(2), 100, -0.5, 0.25)
    assert q.shape == (100, joint.nq)
    assert joint.fault(q) is None
    free = q[:, [k for k, kind in enumerate(joint.kinds) if kind != "unit"]]
    assert np.all((free >= -0.5) & (free <= 0.25))


@every_joint
def test_placements_are_rigid(joint: Coordinates) -> None:
    for q in configurations(joint)[0]:
        rotation = homogeneous(joint, q)[:3, :3]
        assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(rotation) == pytest.approx(1.0)


@every_joint
def test_the_subspace_is_the_placements_rate(joint: Coordinates) -> None:
    """Each column of the motion subspace against central differences of the placement."""
    if isinstance(joint, CompoundJoint):
        parts: tuple[Joint, ...] = joint.parts
        assert (joint.nq, joint.nv) == (sum(p.nq for p in parts), sum(p.nv for p in parts))
        return
    assert isinstance(joint, Joint)
    for q in configurations(joint)[0]:
        for k in range(joint.nv):
            step = np.zeros(joint.nv)
            step[k] = STEP
            rate = (
                homogeneous(joint, joint.integrate(q, step))
                - homogeneous(joint, joint.integrate(q, -step))
            ) / (2 * STEP)
            column = [*joint.linear_subspace[k], *joint.angular_subspace[k]]
            assert np.allclose(
                twist(np.linalg.inv(homogeneous(joint, q)) @ rate), column, atol=1e-8
            )


@every_joint
def test_integrating_there_and_back_returns(joint: Coordinates) -> None:
    q, v = configurations(joint)
    there = joint.integrate(q, v)
    assert joint.fault(there) is None
    for here, back in zip(q, joint.integrate(there, -v), strict=True):
        assert np.allclose(homogeneous(joint, here), homogeneous(joint, back), atol=1e-12)


@every_joint
def test_rates_are_those_of_a_small_step(joint: Coordinates) -> None:
    """And their columns are at right angles, so that a rate is easily taken apart."""
    rng = np.random.default_rng(8)
    for q in joint.random(rng, STATES, -1.0, 1.0):
        columns = []
        for step in np.eye(joint.nv) * STEP:
            columns.append((joint.integrate(q, step) - joint.integrate(q, -step)) / (2 * STEP))
        rates = np.array(joint.rates(tuple(q)))
        np.testing.assert_allclose(rates, np.stack(columns, axis=-1), atol=1e-9)
        products = rates.T @ rates
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)


@every_joint
def test_a_long_way_is_two_halves(joint: Coordinates) -> None:
    q, v = configurations(joint)
    for scale in (1.0, 1e-3, 1e-9, 0.0):
        whole, halves = (
            joint.integrate(q, scale * v),
            joint.integrate(joint.integrate(q, scale * v / 2), scale * v / 2),
        )
        for a, b in zip(whole, halves, strict=True):
            assert np.allclose(
                homogeneous(joint, a), homogeneous(joint, b), atol=1e-14 if scale < 0.1 else 1e-12
            )


@every_joint
def test_placements_and_steps_are_pinocchios(joint: Coordinates) -> None:
    model = pin.Model()
    model.addJoint(0, pinocchio_joint(joint), pin.SE3.Identity(), "j")
    data = model.createData()
    assert (joint.nq, joint.nv) == (model.nq, model.nv)
    assert np.array_equal(pin.neutral(model), joint.neutral)
    for q, v in zip(*configurations(joint), strict=True):
        pin.forwardKinematics(model, data, q, v)
        assert np.allclose(data.oMi[1].homogeneous, homogeneous(joint, q), atol=1e-12)
        assert np.allclose(pin.integrate(model, q, v), joint.integrate(q, v), atol=1e-12)
        if isinstance(joint, Joint):
            linear, angular = (
                v @ np.array(part) for part in (joint.linear_subspace, joint.angular_subspace)
            )
            assert np.allclose(data.v[1].linear, linear, atol=1e-12)
            assert np.allclose(data.v[1].angular, angular, atol=1e-12)


@every_joint
def test_vectors_off_unit_length_are_faults(joint: Coordinates) -> None:
    q = np.array(joint.neutral) * 1.1
    what = {0: None, 2: "(cos, sin)", 4: "a quaternion (x, y, z, w)"}[joint.kinds.count("unit")]
    expected = what and f"must be {what} of unit length, is off by 0.21"
    assert joint.fault(q) == expected


@pytest.mark.parametrize("kind", [k for k in JOINT_TYPES.values() if dataclasses.fields(k)])
def test_axes_must_be_of_unit_length(kind: type[Coordinates]) -> None:
    values = {
        f.name: 0.1 if f.name == "pitch" else (0.0, 0.0, 2.0) for f in dataclasses.fields(kind)
    }  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError,
        match=r"^\w+: axis must be a unit vector of 3, not \(0\.0, 0\.0, 2\.0\); divide it ",
    ):
        kind(**values)


def compound_robot() -> Robot:
    """A revolute joint, a universal one, and another revolute one and a frame on it."""
    first, second = unit(np.random.default_rng(3)), unit(np.random.default_rng(4))
    body = Body("a", "ja", Revolute((0.0, 0.0, 1.0)), -1, Placement(), Inertia(1.0))
    cardan = dataclasses.replace(
        body, name="b", joint_name="jb", joint=Universal(first, second), parent=0
    )
    last = dataclasses.replace(body, name="b_1", joint_name="jc", parent=1)
    return Robot("r", "base", (body, cardan, last), (MergedLink("f", "jf", 1, Placement()),))


def test_a_compound_joint_becomes_its_parts() -> None:
    robot = compound_robot()
    assert robot.joint_names == ("ja", "jb_1", "jb", "jc")
    assert tuple(b.name for b in robot.bodies) == ("a", "b_1_", "b", "b_1")
    assert tuple(b.parent for b in robot.bodies) == (-1, 0, 1, 2)
    assert [b.inertia.mass for b in robot.bodies] == [1.0, 0.0, 1.0, 1.0]
    assert robot.frames[0].body == 2
    assert (robot.nq, robot.nv) == (4, 4)


def test_a_robot_integrates_joint_by_joint() -> None:
    robot = compound_robot()
    q = integrate(robot, neutral(robot), np.arange(8.0).reshape(2, 4))
    assert np.array_equal(q, np.arange(8.0).reshape(2, 4))
    with pytest.raises(ConfigError, match=r"^dv: must have shape \(\.\.\., 4\), not \(5,\)$"):
        integrate(robot, q, np.zeros(5))
