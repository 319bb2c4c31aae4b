"""Models of Pinocchio's, from files and built in code: the golden model computes what Pinocchio does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from rbdgen import ConfigError, RobotWarning, UnsupportedError, UrdfError, golden, load, load_urdf
from rbdgen.errors import RbdgenError
from rbdgen.model import (
    Continuous,
    FreeFlyer,
    Helical,
    Limits,
    MergedLink,
    Mimic,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    Translation,
    builtin_path,
    builtin_robots,
)
from rbdgen.model.body import Placement
from tests.golden.pinocchio import model_of_file, ours, states

TOLERANCE = 1e-9
HERE = pin.SE3.Identity()
CHAINS = ("JointModelUniversal", "JointModelSphericalZYX", "JointModelComposite")
SKEW = np.array([0.6, 0.0, -0.8])


def quietly(model: pin.Model, base: str = "fixed") -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotWarning)
        return load(model, base)


def worst(robot: Robot, model: pin.Model) -> float:
    """The largest difference of inverse and forward dynamics, M and the derivatives, by both families."""
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    free = [replace(body, damping=(), friction=()) for body in robot.bodies]
    robot = replace(robot, bodies=tuple(free))
    q, v, a, tau, _ = states(robot, 10)
    rows: dict[str, list[np.ndarray]] = {}
    data = model.createData()
    for k in range(10):
        dq, dv, _ = (np.array(x) for x in pin.computeRNEADerivatives(model, data, q[k], v[k], a[k]))
        upper = np.triu(pin.crba(model, data, q[k]))
        now = {
            "id": pin.rnea(model, data, q[k], v[k], a[k]),
            "fd": pin.aba(model, data, q[k], v[k], tau[k]),
            "m": upper + np.triu(upper, 1).T,
        }
        # Pinocchio's derivatives take the motion subspace as constant, which these joints' is not
        if not any(joint.shortname() in CHAINS for joint in model.joints):
            now |= {"dtau_dq": dq, "dtau_dv": dv}
        for name, value in now.items():
            rows.setdefault(name, []).append(np.array(value))
    expected = {name: np.array(row) for name, row in rows.items()}
    none = np.zeros((10, len(robot.bodies), 6))
    off = []
    for method in golden.METHODS:
        found = ours(robot, method, q, v, a, tau, none)
        off += [np.max(np.abs(found[n] - x)) / np.max(np.abs(x)) for n, x in expected.items()]
    return float(max(off))


def with_body(model: pin.Model, parent: int, joint: object, name: str, seed: int) -> int:
    """One more joint with a body that can exist, somewhere."""
    rng = np.random.default_rng(seed)
    place = pin.SE3(pin.Quaternion(*rng.normal(size=4)).normalized(), rng.normal(size=3))
    number = model.addJoint(parent, joint, place, name)
    inertia = pin.Inertia.FromBox(float(rng.uniform(1, 3)), *rng.uniform(0.2, 0.6, 3))
    somewhere = pin.SE3(pin.Quaternion(*rng.normal(size=4)).normalized(), rng.normal(size=3))
    model.appendBodyToJoint(number, inertia, somewhere)
    return number


def composite() -> pin.JointModelComposite:
    rng = np.random.default_rng(4)
    joint = pin.JointModelComposite(pin.JointModelRX(), HERE)
    for part in (pin.JointModelPY(), pin.JointModelRUBZ(), pin.JointModelSpherical()):
        place = pin.SE3(pin.Quaternion(*rng.normal(size=4)).normalized(), rng.normal(size=3))
        joint.addJoint(part, place)
    return joint


JOINTS = {
    "RX": (pin.JointModelRX(), [Revolute]),
    "RY": (pin.JointModelRY(), [Revolute]),
    "RevoluteUnaligned": (pin.JointModelRevoluteUnaligned(SKEW), [Revolute]),
    "RUBZ": (pin.JointModelRUBZ(), [Continuous]),
    "PZ": (pin.JointModelPZ(), [Prismatic]),
    "PrismaticUnaligned": (pin.JointModelPrismaticUnaligned(SKEW), [Prismatic]),
    "HX": (pin.JointModelHX(0.3), [Helical]),
    "HelicalUnaligned": (pin.JointModelHelicalUnaligned(SKEW, -0.2), [Helical]),
    "Universal": (pin.JointModelUniversal(np.array([1.0, 0, 0]), SKEW), [Revolute, Revolute]),
    "SphericalZYX": (pin.JointModelSphericalZYX(), [Revolute] * 3),
    "Spherical": (pin.JointModelSpherical(), [Spherical]),
    "Translation": (pin.JointModelTranslation(), [Translation]),
    "Planar": (pin.JointModelPlanar(), [Planar]),
    "FreeFlyer": (pin.JointModelFreeFlyer(), [FreeFlyer]),
    "Composite": (composite(), [Revolute, Prismatic, Continuous, Spherical]),
}


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_agrees_with_pinocchio(name: str) -> None:
    joint, kinds = JOINTS[name]
    model = pin.Model()
    first = with_body(model, 0, joint, "first", 1)
    with_body(model, first, pin.JointModelRY(), "second", 2)
    model.armature = np.random.default_rng(3).uniform(0.1, 1, model.nv)
    robot = quietly(model)
    assert robot.nq == model.nq
    assert [type(b.joint) for b in robot.bodies] == [*kinds, Revolute]
    assert worst(robot, model) < TOLERANCE
    assert robot.bodies[len(kinds) - 1].joint_name == "first"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.slow
def test_random_trees_agree_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = pin.Model()
    order = [0]
    for k, name in enumerate(rng.permutation(list(JOINTS))):
        # depth first: a joint's parent is on the path to the last one
        parent = 0 if k == 0 else int(rng.choice([i for i in model.supports[order[-1]] if i]))
        order.append(with_body(model, parent, JOINTS[str(name)][0], f"{name}{k}", 100 * seed + k))
    model.gravity = pin.Motion(np.array([1.0, 2.0, -9.0]), np.zeros(3))
    model.armature = rng.uniform(0.1, 1, model.nv)
    robot = quietly(model)
    assert robot.gravity == (1.0, 2.0, -9.0)
    assert worst(robot, model) < TOLERANCE


@pytest.mark.parametrize(
    "build",
    [pin.buildSampleModelManipulator, pin.buildSampleModelHumanoid, pin.buildSampleModelHumanoidRandom],
)  # fmt: skip
def test_sample_models_agree_with_pinocchio(build: Callable[[], pin.Model]) -> None:
    model = build()
    robot = quietly(model)
    assert robot.joint_names == tuple(model.names)[1:]
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    data = model.createData()
    for k in range(5):
        torques = pin.rnea(model, data, q[k], v[k], a[k])
        found = golden.rnea(robot, q[k : k + 1], v[k : k + 1], a[k : k + 1])[0]
        assert np.max(np.abs(found - torques)) < TOLERANCE * np.max(np.abs(torques))


def test_a_reduced_model_agrees_with_pinocchio() -> None:
    whole = pin.buildModelFromUrdf(str(builtin_path("hyq")), pin.JointModelFreeFlyer())
    locked = [whole.getJointId(name) for name in list(whole.names)[3:6]]
    configuration = pin.neutral(whole)
    configuration[7:] = 0.3
    whole.inertias[1] += pin.Inertia.FromBox(20.0, 0.5, 0.3, 0.2)  # the file leaves it out
    model = pin.buildReducedModel(whole, locked, configuration)
    robot = quietly(model, "floating")
    assert worst(robot, model) < TOLERANCE
    assert {whole.names[i] for i in locked} <= {f.joint_name for f in robot.frames}


@pytest.mark.parametrize("base", ["fixed", "floating", "planar"])
@pytest.mark.parametrize("name", builtin_robots())
def test_a_model_of_a_file_is_the_robot_of_the_file(name: str, base: str) -> None:
    path = builtin_path(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotWarning)
        expected = load_urdf(path, base)
    robot = quietly(model_of_file(path, base), base)
    assert (robot.name, robot.base_name, robot.gravity) == (
        expected.name,
        expected.base_name,
        expected.gravity,
    )
    assert [(f.name, f.joint_name, f.body) for f in robot.frames] == [
        (f.name, f.joint_name, f.body) for f in expected.frames
    ]
    for ours_, theirs in zip(robot.bodies, expected.bodies, strict=True):
        alike = replace(theirs, placement=ours_.placement, inertia=ours_.inertia)
        assert replace(alike, damping=ours_.damping, friction=ours_.friction) == ours_
        assert np.allclose(ours_.placement.rotation, theirs.placement.rotation, atol=1e-15)
        assert np.allclose(ours_.inertia.pseudo, theirs.inertia.pseudo, atol=1e-12)


FINGER = """<robot name="hand"><link name="palm"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lead" type="revolute"><parent link="palm"/><child link="a"/><axis xyz="0 0.6 0.8"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.5" friction="0.25"/></joint>
<joint name="follow" type="{}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="2"/><mimic joint="lead" multiplier="-2" offset="0.3"/></joint>
</robot>"""


@pytest.mark.parametrize(("kind", "joint"), [("revolute", Revolute), ("prismatic", Prismatic)])
def test_followers_are_mimics(kind: str, joint: type) -> None:
    robot = load(pin.buildModelFromXML(FINGER.format(kind), mimic=True))
    lead, follow = robot.bodies
    assert lead.limits == Limits(-1.0, 2.0, 4.0, 3.0)
    assert (lead.damping, lead.friction) == ((0.5,), (0.25,))
    assert follow.joint == joint((0.0, 0.0, 1.0))
    assert follow.mimic == Mimic("lead", -2.0, 0.3)
    model = pin.buildModelFromXML(FINGER.format(kind), mimic=True)
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    data = model.createData()
    for k in range(5):
        torques = pin.rnea(model, data, q[k], v[k], a[k])
        assert np.allclose(golden.rnea(robot, q[k], v[k], a[k]), torques, atol=1e-12)
        assert np.allclose(golden.crba(robot, q[k]), pin.crba(model, data, q[k]), atol=1e-12)


def test_frames_on_a_link_are_kept() -> None:
    model = pin.Model()
    joint = with_body(model, 0, pin.JointModelRX(), "joint", 1)
    model.addBodyFrame("link", joint, HERE, model.addJointFrame(joint))
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5]))
    model.addFrame(pin.Frame("tool", joint, model.getFrameId("link"), place, pin.OP_FRAME))
    robot = load(model)
    assert robot.bodies[0].name == "link"
    assert robot.base_name == "universe"
    assert robot.frames == (
        MergedLink("tool", "tool_fixed", 0, Placement(translation=(0.0, 0.0, 0.5))),
    )


def test_bodies_that_are_not_depth_first_are_sorted() -> None:
    model = pin.Model()
    left = with_body(model, 0, pin.JointModelRX(), "left", 1)
    with_body(model, 0, pin.JointModelRY(), "right", 2)
    with_body(model, left, pin.JointModelRZ(), "hand", 3)
    robot = load(model)
    assert robot.joint_names == ("left", "hand", "right")
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, 1)
    order = [0, 2, 1]
    for k in range(5):
        torques = pin.rnea(model, model.createData(), q[k][order], v[k][order], a[k][order])
        found = golden.rnea(robot, q[k : k + 1], v[k : k + 1], a[k : k + 1])[0]
        assert np.allclose(found[order], torques, atol=1e-12)


def test_rotors_count_as_armature_only() -> None:
    model = pin.Model()
    first = with_body(model, 0, pin.JointModelRX(), "joint", 1)
    with_body(model, first, pin.JointModelRY(), "next", 2)
    model.rotorInertia = np.array([0.01, 0.0])
    model.rotorGearRatio = np.array([100.0, 1.0])
    with pytest.warns(
        RobotWarning, match="rotorInertia without armature counts for nothing.*: joint; add"
    ):
        robot = load(model)
    assert robot.bodies[0].armature == ()
    assert worst(robot, model) < TOLERANCE
    model.armature = np.array([100.0, 0.0])
    assert load(model).bodies[0].armature == (100.0,)


def one(joint: object = None, **figures: float) -> pin.Model:
    model = pin.Model()
    with_body(model, 0, joint or pin.JointModelRX(), "elbow", 1)
    for name, value in figures.items():
        setattr(model, name, np.full(model.nv, value))
    return model


def turning() -> pin.Model:
    model = one()
    model.gravity = pin.Motion(np.zeros(3), np.ones(3))
    return model


def heavy(mass: float) -> pin.Model:
    model = one()
    model.inertias[1] = pin.Inertia(mass, np.zeros(3), np.eye(3))
    return model


@pytest.mark.parametrize(
    ("model", "kind", "message"),
    [
        (pin.Model(), UrdfError, "^Pinocchio's model: has no moving joint; there is nothing to compute"),
        (one(armature=-1.0), UrdfError, "joint 'elbow': armature must be a number of 0 or more, not -1"),
        (one(armature=float("nan")), UrdfError, "armature must be a number of 0 or more, not nan"),
        (one(damping=-0.5), UrdfError, "joint 'elbow': damping must be a number of 0 or more, not -0.5"),
        (heavy(float("inf")), UrdfError, "joint 'elbow': mass must be a number of 0 or more, not inf"),
        (turning(), UnsupportedError, "gravity must have no angular part"),
        (
            one(pin.JointModelEllipsoid(0.1, 0.2, 0.3)),
            UnsupportedError,
            "joint 'elbow': JointModelEllipsoid is not supported; build it of revolute and prismatic joints",
        ),
    ],
)  # fmt: skip
def test_bad_models_are_refused_in_a_line(
    model: pin.Model, kind: type[RbdgenError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        load(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("floating", r"base 'floating': its root joint is another; build it with pinocchio\.JointModelFreeFlyer"),
        ("sliding", "base must be one of fixed, floating, planar, not 'sliding'"),
    ],
)  # fmt: skip
def test_bases_that_do_not_fit_are_refused(base: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(one(), base)


def test_joints_that_are_not_depth_first_are_told() -> None:
    model = pin.Model()
    left = with_body(model, 0, pin.JointModelRX(), "left1", 1)
    with_body(model, 0, pin.JointModelRY(), "right1", 2)
    with_body(model, left, pin.JointModelRZ(), "left2", 3)
    with pytest.warns(RobotWarning, match=r"another order than Pinocchio's: left1, left2, right1$"):
        robot = load(model)
    assert robot.joint_names == ("left1", "left2", "right1")
    with pytest.raises(UrdfError, match=r"left1, left2, right1; mend"):
        load(model, strict=True)


@pytest.mark.parametrize("of", ["joint 'elbow'", "frame 'tool'"])
def test_placements_that_turn_nothing_are_refused(of: str) -> None:
    model = one()
    mirror = np.diag([1.0, 1.0, -1.0])
    if of.startswith("joint"):
        model.jointPlacements[1].rotation = mirror
    else:
        frame = pin.Frame("tool", 1, pin.SE3(mirror, np.zeros(3)), pin.FrameType.OP_FRAME)
        model.addFrame(frame)
    with pytest.raises(UrdfError, match=f"{of}: the rotation of its placement is no rotation: it"):
        load(model)
