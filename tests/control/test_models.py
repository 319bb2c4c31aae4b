"""Models of a device beside Crocoddyl's own: accelerations, costs and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rbdgen
from rbdgen import control
from rbdgen.emulation import Float64
from rbdgen.errors import ConfigError
from rbdgen.model.load import builtin_path

crocoddyl = pytest.importorskip("crocoddyl")
pinocchio = pytest.importorskip("pinocchio")

STEP = 1e-3
LEGS = ("lf", "lh", "rf", "rh")


class Quadruped:
    """HyQ's legs with a trunk, and feet."""

    def __init__(self) -> None:
        base = pinocchio.JointModelFreeFlyer()
        self.model = pinocchio.buildModelFromUrdf(str(builtin_path("hyq")), base)
        trunk = pinocchio.Inertia(30.0, np.array([0.1, 0.0, 0.05]), np.diag([0.6, 2.0, 2.2]))
        self.model.appendBodyToJoint(1, trunk, pinocchio.SE3.Identity())
        self.feet = [self._foot(leg) for leg in LEGS]
        self.robot = rbdgen.load(self.model)
        self.state = crocoddyl.StateMultibody(self.model)
        self.actuation = crocoddyl.ActuationModelFloatingBase(self.state)

    def _foot(self, leg: str) -> int:
        placement = pinocchio.SE3(np.eye(3), np.array([0.35, 0.0, 0.0]))
        joint = self.model.getJointId(f"{leg}_kfe_joint")
        kind = pinocchio.FrameType.OP_FRAME
        return self.model.addFrame(pinocchio.Frame(f"{leg}_foot", joint, placement, kind))

    def contacts(self, feet: list[int], reference: Any) -> Any:
        held = crocoddyl.ContactModelMultiple(self.state, 12)
        gains = np.array([30.0, 10.0])
        for foot in feet:
            place = np.full(3, 0.05)
            point = crocoddyl.ContactModel3D(self.state, foot, place, reference, 12, gains)
            held.addContact(str(foot), point)
        return held

    def costs(self, feet: list[int]) -> Any:
        costs = crocoddyl.CostModelSum(self.state, 12)
        posture = crocoddyl.ResidualModelState(self.state, 12)
        costs.addCost("posture", crocoddyl.CostModelResidual(self.state, posture), 1.0)
        centre = crocoddyl.ResidualModelCoMPosition(self.state, np.full(3, 0.1), 12)
        costs.addCost("centre", crocoddyl.CostModelResidual(self.state, centre), 10.0)
        for foot in feet:
            force = crocoddyl.ResidualModelContactForce(
                self.state, foot, pinocchio.Force.Random(), 3, 12
            )
            costs.addCost(f"force{foot}", crocoddyl.CostModelResidual(self.state, force), 1e-3)
        swinging = next(foot for foot in reversed(self.feet) if foot not in feet[:-1])
        speed = crocoddyl.ResidualModelFrameVelocity(
            self.state, swinging, pinocchio.Motion.Random(), pinocchio.LOCAL, 12
        )
        costs.addCost("speed", crocoddyl.CostModelResidual(self.state, speed), 0.1)
        return costs


class Unforced(Float64):
    """A device that takes no external forces."""

    def takes(self, function: str) -> tuple[str, ...]:
        return super().takes(function)[:-1]


@pytest.fixture(scope="module")
def quadruped() -> Quadruped:
    return Quadruped()


class Arm:
    """iiwa14 with costs of all kinds."""

    def __init__(self) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(builtin_path("iiwa14")))
        self.robot = rbdgen.load(self.model)
        self.state = crocoddyl.StateMultibody(self.model)
        self.actuation = crocoddyl.ActuationModelFull(self.state)

    def costs(self) -> Any:
        state, flange = self.state, self.model.nframes - 1
        costs = crocoddyl.CostModelSum(state)
        residuals = {
            "state": crocoddyl.ResidualModelState(state),
            "control": crocoddyl.ResidualModelControl(state),
            "effort": crocoddyl.ResidualModelControlGrav(state, 7),
            "place": crocoddyl.ResidualModelFrameTranslation(state, flange, np.ones(3)),
            "speed": crocoddyl.ResidualModelFrameVelocity(
                state, flange, pinocchio.Motion.Random(), pinocchio.WORLD
            ),
            "acceleration": crocoddyl.ResidualModelJointAcceleration(state, 7),
        }
        for name, residual in residuals.items():
            costs.addCost(name, crocoddyl.CostModelResidual(state, residual), 0.3)
        return costs


@pytest.fixture(scope="module")
def arm() -> Arm:
    return Arm()


def evaluated(model: Any, x: np.ndarray, u: np.ndarray | None) -> dict[str, np.ndarray]:
    """All that a solver reads."""
    data = model.createData()
    given = (x,) if u is None else (x, u)
    model.calc(data, *given)
    model.calcDiff(data, *given)
    names = ["Lx", "Lxx"] + (["Lu", "Lxu", "Luu", "Fx", "Fu"] if u is not None else [])
    if u is not None:
        names.append("xout" if hasattr(data, "xout") else "xnext")
    found = {name: np.array(getattr(data, name)) for name in names}
    return found | {"cost": np.array(data.cost)}


def same(own: Any, theirs: Any, x: np.ndarray, u: np.ndarray | None, tolerance: float) -> None:
    found, expected = evaluated(own, x, u), evaluated(theirs, x, u)
    for name, value in expected.items():
        assert found[name].shape == value.shape, name
        scale = 1.0 + np.max(np.abs(value))
        assert np.max(np.abs(found[name] - value)) <= tolerance * scale, name


@pytest.mark.parametrize(
    "make", [rbdgen.float64, lambda r: rbdgen.compile(r, ["fd", "dfd", "minv"])]
)
@pytest.mark.slow
def test_free(arm: Arm, make: Callable[[Any], Any]) -> None:
    device = make(arm.robot)
    costs = arm.costs()
    own = control.FreeFwdDynamics(arm.state, arm.actuation, costs, device)
    theirs = crocoddyl.DifferentialActionModelFreeFwdDynamics(arm.state, arm.actuation, costs)
    rng = np.random.default_rng(3)
    for _ in range(3):
        x, u = arm.state.rand(), rng.uniform(-20, 20, 7)
        same(own, theirs, x, u, 1e-9)
        same(own, theirs, x, None, 1e-9)


def test_momentum(arm: Arm) -> None:
    # Crocoddyl's own free model leaves the momentum at zero
    momentum = crocoddyl.ResidualModelCentroidalMomentum(arm.state, np.ones(6))
    costs = crocoddyl.CostModelSum(arm.state)
    costs.addCost("momentum", crocoddyl.CostModelResidual(arm.state, momentum), 1.0)
    device = rbdgen.float64(arm.robot)
    own = control.FreeFwdDynamics(arm.state, arm.actuation, costs, device)
    x, u = arm.state.rand(), np.ones(7)
    found = evaluated(own, x, u)
    for k, change in enumerate(1e-6 * np.eye(14)):
        above = evaluated(own, arm.state.integrate(x, change), u)["cost"]
        below = evaluated(own, arm.state.integrate(x, -change), u)["cost"]
        assert (above - below) / 2e-6 == pytest.approx(found["Lx"][k], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
@pytest.mark.parametrize("count", [1, 4])
def test_contact(quadruped: Quadruped, reference: str, count: int) -> None:
    feet = quadruped.feet[:count]
    contacts = quadruped.contacts(feet, getattr(pinocchio, reference))
    costs = quadruped.costs(feet)
    state, actuation = quadruped.state, quadruped.actuation
    device = rbdgen.float64(quadruped.robot)
    own = control.ContactFwdDynamics(state, actuation, contacts, costs, device)
    theirs = crocoddyl.DifferentialActionModelContactFwdDynamics(
        state, actuation, contacts, costs, 0.0, True
    )
    rng = np.random.default_rng(count)
    for _ in range(3):
        q = pinocchio.integrate(
            quadruped.model, pinocchio.neutral(quadruped.model), rng.uniform(-0.5, 0.5, 18)
        )
        x = np.concatenate([q, rng.uniform(-1, 1, 18)])
        same(own, theirs, x, rng.uniform(-20, 20, 12), 1e-8)
        same(own, theirs, x, None, 1e-9)


def test_contact_with_damping(quadruped: Quadruped) -> None:
    contacts = quadruped.contacts(quadruped.feet, pinocchio.LOCAL)
    costs = quadruped.costs(quadruped.feet)
    device = rbdgen.float64(quadruped.robot)
    own = control.ContactFwdDynamics(
        quadruped.state, quadruped.actuation, contacts, costs, device, damping=1e-2
    )
    theirs = crocoddyl.DifferentialActionModelContactFwdDynamics(
        quadruped.state, quadruped.actuation, contacts, costs, 1e-2, True
    )
    x = np.concatenate([pinocchio.neutral(quadruped.model), np.zeros(18)])
    x[7:19] += 0.3
    u = np.linspace(-5, 5, 12)
    own_data, their_data = own.createData(), theirs.createData()
    own.calc(own_data, x, u)
    theirs.calc(their_data, x, u)
    np.testing.assert_allclose(own_data.xout, their_data.xout, rtol=1e-9, atol=1e-8)


def test_step(arm: Arm) -> None:
    device = rbdgen.float64(arm.robot)
    costs = arm.costs()
    costs.removeCost("acceleration")
    own = control.StepModel(arm.state, arm.actuation, costs, device, STEP)
    theirs = crocoddyl.IntegratedActionModelEuler(
        crocoddyl.DifferentialActionModelFreeFwdDynamics(arm.state, arm.actuation, costs), STEP
    )
    x, u = arm.state.rand(), np.linspace(-10, 10, 7)
    same(own, theirs, x, u, 1e-9)
    end = crocoddyl.IntegratedActionModelEuler(
        crocoddyl.DifferentialActionModelFreeFwdDynamics(arm.state, arm.actuation, costs), 0.0
    )
    same(own, end, x, None, 1e-9)


def test_constraints(arm: Arm) -> None:
    bounds = crocoddyl.ConstraintModelManager(arm.state, 7)
    place = crocoddyl.ResidualModelFrameTranslation(arm.state, arm.model.nframes - 1, np.ones(3))
    bounds.addConstraint(
        "place", crocoddyl.ConstraintModelResidual(arm.state, place, np.zeros(3), np.ones(3))
    )
    costs = arm.costs()
    own = control.FreeFwdDynamics(
        arm.state, arm.actuation, costs, rbdgen.float64(arm.robot), constraints=bounds
    )
    theirs = crocoddyl.DifferentialActionModelFreeFwdDynamics(
        arm.state, arm.actuation, costs, bounds
    )
    assert (own.ng, own.nh) == (theirs.ng, theirs.nh) == (3, 0)
    x, u = arm.state.rand(), np.ones(7)
    found = []
    for model in (own, theirs):
        data = model.createData()
        model.calc(data, x, u)
        model.calcDiff(data, x, u)
        found.append((np.array(data.g), np.array(data.Gx)))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-9)


def test_quasi_static(arm: Arm, quadruped: Quadruped) -> None:
    device = rbdgen.float64(arm.robot)
    own = control.FreeFwdDynamics(arm.state, arm.actuation, arm.costs(), device)
    theirs = crocoddyl.DifferentialActionModelFreeFwdDynamics(arm.state, arm.actuation, arm.costs())
    x = np.concatenate([np.full(7, 0.4), np.zeros(7)])
    found = own.quasiStatic(own.createData(), x)
    np.testing.assert_allclose(found, theirs.quasiStatic(theirs.createData(), x), atol=1e-9)
    contacts = quadruped.contacts(quadruped.feet, pinocchio.LOCAL)
    costs = quadruped.costs(quadruped.feet)
    given = quadruped.state, quadruped.actuation, contacts, costs
    standing = control.ContactFwdDynamics(*given, rbdgen.float64(quadruped.robot))
    theirs = crocoddyl.DifferentialActionModelContactFwdDynamics(*given, 0.0, True)
    x = np.concatenate([pinocchio.neutral(quadruped.model), np.zeros(18)])
    found = standing.quasiStatic(standing.createData(), x)
    np.testing.assert_allclose(found, theirs.quasiStatic(theirs.createData(), x), atol=1e-8)


def test_the_golden_model_is_a_device(arm: Arm) -> None:
    device = rbdgen.float64(arm.robot)
    q, v = np.full(7, 0.2), np.full(7, 0.1)
    expected = rbdgen.golden.rnea(arm.robot, q, v, v)
    np.testing.assert_array_equal(device.call("id", q=q, v=v, a=v), expected)
    np.testing.assert_array_equal(device.rnea(q, v, v), expected)
    assert device.takes("did") == ("q", "v", "a", "f_ext")
    assert device.gives("did") == ("dtau_dq", "dtau_dv")
    with pytest.raises(ConfigError, match=r"^a: missing; id needs q, v, a$"):
        device.call("id", q=q, v=v)
    with pytest.raises(ConfigError, match=r"^function 'turn': unknown"):
        device.call("turn", q=q)
    with pytest.raises(AttributeError, match=r"^turn: no such golden function$"):
        device.turn(q)


def test_other_robots_and_functions_are_refused(arm: Arm, quadruped: Quadruped) -> None:
    other = rbdgen.float64(rbdgen.load_robot("ur5"))
    with pytest.raises(ConfigError, match=r"^device: is of 6 joints, the controller's model has 7"):
        control.FreeFwdDynamics(arm.state, arm.actuation, arm.costs(), other)
    few = rbdgen.compile(arm.robot, ["fd"])
    with pytest.raises(ConfigError, match=r"^function 'dfd': was not asked for, only fd"):
        control.FreeFwdDynamics(arm.state, arm.actuation, arm.costs(), few)
    unforced = Unforced(quadruped.robot)
    contacts = quadruped.contacts(quadruped.feet, pinocchio.LOCAL)
    costs = quadruped.costs(quadruped.feet)
    with pytest.raises(ConfigError, match=r"^did: this device takes no external forces"):
        control.ContactFwdDynamics(quadruped.state, quadruped.actuation, contacts, costs, unforced)
