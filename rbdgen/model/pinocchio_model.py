"""Takes a ``pinocchio.Model``, read from a file or built in code, as a :class:`~rbdgen.model.robot.Robot`.

Joints keep Pinocchio's order, and with it q, v and τ, unless that is not depth first: then the bodies are sorted depth
first, siblings in Pinocchio's order. Composite joints become chains. Armature is the model's: Pinocchio's algorithms
add no rotor inertia of their own (its reader of SRDF has added it to the armature), so ``rotorInertia`` counts as told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, UrdfError, listed, plain, short, warn_of
from rbdgen.model.body import Body, Inertia, Limits, MergedLink, Mimic, Placement, inertia_faults
from rbdgen.model.joints import (
    Continuous,
    FreeFlyer,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translation,
)
from rbdgen.model.robot import Robot
from rbdgen.model.task_frames import CONTACT_AXES, FULL, POINT, Anchor, with_anchored_loop
from rbdgen.model.urdf import BASES, WORLD
from rbdgen.model.urdf_elements import check_numbers, check_placement, unless_zero
from rbdgen.protocol.identifiers import unused
from rbdgen.spatial import constant_matrix, constant_vector

UNLIMITED = 1e300
"""Pinocchio writes the largest number for a limit that there is not."""

_Z, _Y, _X = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
_SEVERAL: dict[str, Callable[[Any], tuple[Joint, ...]]] = {
    "JointModelFreeFlyer": lambda joint: (FreeFlyer(),),
    "JointModelPlanar": lambda joint: (Planar(),),
    "JointModelSpherical": lambda joint: (Spherical(),),
    "JointModelTranslation": lambda joint: (Translation(),),
    "JointModelSphericalZYX": lambda joint: (Revolute(_Z), Revolute(_Y), Revolute(_X)),
    "JointModelUniversal": lambda joint: (
        Revolute(_unit(joint.axis1)),
        Revolute(_unit(joint.axis2)),
    ),
}
"""Joints of several degrees of freedom by Pinocchio's names, each as a chain of ours."""


HELD = {
    "CONTACT_3D": CONTACT_AXES[POINT],
    "CONTACT_6D": CONTACT_AXES[FULL],
    "PointAnchorConstraintModel": CONTACT_AXES[POINT],
    "FrameAnchorConstraintModel": CONTACT_AXES[FULL],
}
"""Axes that are held by Pinocchio's constraints: types of rigid ones, and classes."""


@dataclass(frozen=True)
class _Part:
    """A simple joint of a chain, and where it is in the one before."""

    placement: Placement
    joint: Joint


def robot_of_pinocchio(
    model: Any, source: str = "", base: str = "fixed", constraints: Sequence[Any] = ()
) -> Robot:
    """The robot of a ``pinocchio.Model``. ``base`` "floating" or "planar" is for a model whose root joint is one: a
    fixed model does not keep what its root link weighs. ``constraints`` of points or frames of two joints, or of a
    joint and the universe, are its loops.

    ConfigError for another base, UnsupportedError for joints and constraints that rbdgen does not have, UrdfError for
    numbers with which nothing can be computed. Warns (RobotWarning) once, of what is odd.
    """
    source = source or " ".join(filter(None, ("Pinocchio's model", model.name)))
    reader = _Reader(model, source)
    robot = reader.with_loops(reader.robot(), constraints)
    _check_base(robot, source, base)
    warn_of(source, reader.remarks())
    return robot


def _check_base(robot: Robot, source: str, base: str) -> None:
    """ConfigError unless the robot has that base, or a fixed one was asked for, which leaves it as it is."""
    if base not in BASES:
        raise ConfigError(f"{source}: base must be one of {', '.join(BASES)}, not {base!r}")
    if base != "fixed" and robot.bodies[0].joint != BASES[base]:
        kind = type(BASES[base]).__name__
        raise ConfigError(
            f"{source}: base {base!r}: its root joint is another; build it with pinocchio.JointModel{kind}() as root"
        )


class _Reader:
    """One model, and the bodies and frames that have been made of it."""

    def __init__(self, model: Any, source: str) -> None:
        self.model = model
        self.source = source
        self.names = list(model.names)
        self.followers = dict(zip(model.mimicking_joints, model.mimicked_joints, strict=True))
        self.bodies: list[Body] = []
        self.frames: list[MergedLink] = []
        self.faults: list[str] = []
        self.index = {0: -1}
        """Each joint's last body."""
        # first of all: names and trees of a model with NaN would only hide it
        self._check_numbers()
        self.links = self._links()
        self.taken = set(self.links.values())
        self.taken_joints = set(self.names)

    def robot(self) -> Robot:
        """The robot. UrdfError for what does not move."""
        model = self.model
        for i in self._order():
            self._add(i)
        if not self.bodies:
            raise UrdfError(f"{self.source}: has no moving joint; there is nothing to compute")
        # frames come last: every joint's body has its number by now
        self._merge()
        gravity = constant_vector(model.gravity.linear)
        base = self.links[0]
        name = model.name or "robot"
        return Robot(name, base, tuple(self.bodies), tuple(self.frames), gravity)

    def with_loops(self, robot: Robot, constraints: Sequence[Any]) -> Robot:
        """``robot`` with the loops that constraints close."""
        for k, constraint in enumerate(constraints):
            name = str(constraint.name) or f"constraint{k}"
            where = f"{self.source}: constraint {short(name)}"
            kind = str(getattr(constraint, "type", type(constraint).__name__))
            axes = HELD.get(kind.rpartition(".")[2])
            if axes is None:
                raise UnsupportedError(
                    f"{where}: holds neither a point nor a frame ({kind}); leave it out"
                )
            first, second = (self._end(where, constraint, number) for number in (1, 2))
            if first[0] == second[0]:
                raise UnsupportedError(
                    f"{where}: is between a joint and itself, and holds nothing; leave it out"
                )
            robot = with_anchored_loop(robot, name, first, second, axes)
        return robot

    def _end(self, where: str, constraint: Any, number: int) -> Anchor:
        """Where a constraint is fixed to the first or second of its joints."""
        place = getattr(constraint, f"joint{number}_placement")
        check_placement(where, f"joint{number}_placement", place.homogeneous)
        return self.index[int(getattr(constraint, f"joint{number}_id"))], _placed(place)

    def remarks(self) -> list[str]:
        """Remarks on what is odd about the model, once the robot is made."""
        model = self.model
        found = []
        if self.faults:
            found.append(f"inertias that no body can have: {listed(self.faults, '; ')}")
        order = self._order()
        if order != sorted(order):
            joints = [self.names[i] for i in order]
            found.append(
                "joints are not depth first, and are sorted: q, v, a and tau are those of another order than "
                f"Pinocchio's: {', '.join(map(plain, joints))}"
            )
        rotors = np.array(model.rotorInertia) != 0.0
        # a reader of SRDF adds rotors to the armature, one of URDF does not
        forgotten = rotors & (np.array(model.armature) == 0.0)
        names = [self.names[i] for i in range(1, model.njoints) if any(forgotten[self._dofs(i)])]
        if names:
            found.append(
                f"rotorInertia without armature counts for nothing, as in Pinocchio, at joints: {listed(names)}; "
                "add rotorInertia * rotorGearRatio ** 2 to the armature"
            )
        return found

    def _order(self) -> list[int]:
        """Joints in Pinocchio's order, or depth first if that is not."""
        model = self.model
        children: dict[int, list[int]] = {i: [] for i in range(model.njoints)}
        for i in range(1, model.njoints):
            children[model.parents[i]].append(i)
        order = []
        ahead = [0]
        while ahead:
            i = ahead.pop()
            order.append(i)
            # the last one in is visited first
            ahead += reversed(children[i])
        return order[1:]

    def _links(self) -> dict[int, str]:
        """A link for each joint: the first body frame on it, where there is one."""
        model = self.model
        links: dict[int, str] = {}
        for frame in model.frames:
            if frame.type.name == "BODY":
                # links on fixed joints are body frames of the same joint: the first is the joint's own link
                links.setdefault(int(frame.parentJoint), frame.name)
        taken = set(links.values())
        links.setdefault(0, unused(WORLD, taken))
        for i in range(1, model.njoints):
            if i not in links:
                links[i] = unused(f"{self.names[i]}_link", taken)
        return links

    def _dofs(self, i: int) -> slice:
        """Where joint ``i`` is in v."""
        joint = self.model.joints[i]
        return slice(joint.idx_v, joint.idx_v + joint.nv)

    def _check_numbers(self) -> None:
        """UrdfError for numbers with which nothing can be computed, UnsupportedError for a gravity that turns."""
        model = self.model
        if np.any(model.gravity.angular):
            raise UnsupportedError(
                f"{self.source}: gravity must have no angular part, has {model.gravity.angular}; set it to zero"
            )
        check_numbers(f"{self.source}: model", "gravity", model.gravity.linear)
        for i in range(1, model.njoints):
            where = f"{self.source}: joint {short(self.names[i])}"
            check_placement(where, "placement", model.jointPlacements[i].homogeneous)
            inertia = model.inertias[i]
            check_numbers(where, "mass", inertia.mass, 0.0)
            check_numbers(where, "lever", inertia.lever)
            check_numbers(where, "inertia", inertia.inertia)
            for key in ("armature", "damping", "upperDryFrictionLimit"):
                # not every version of Pinocchio has limits of dry friction
                values = getattr(model, key, np.zeros(model.nv))
                check_numbers(where, key, values[self._dofs(i)], 0.0)
        for frame in model.frames:
            where = f"{self.source}: frame {short(frame.name)}"
            check_placement(where, "placement", frame.placement.homogeneous)

    def _add(self, i: int) -> None:
        """Add joint ``i`` with the body that it carries."""
        model = self.model
        parts = self._parts(i, model.joints[i].extract())
        parent = self.index[model.parents[i]]
        here = _placed(model.jointPlacements[i])
        begin = 0
        for number, part in enumerate(parts, 1):
            name, joint = self.links[i], self.names[i]
            if number < len(parts):
                name = unused(f"{name}_{number}", self.taken)
                joint = unused(f"{joint}_{number}", self.taken_joints)
            body = Body(name, joint, part.joint, parent, here @ part.placement, Inertia())
            self.bodies.append(self._with_figures(body, i, begin))
            begin += part.joint.nv
            parent, here = len(self.bodies) - 1, Placement()
        inertia = _inertia(model.inertias[i])
        for fault in inertia_faults(inertia):
            self.faults.append(f"{plain(self.links[i])}: {fault}")
        self.bodies[parent] = replace(self.bodies[parent], inertia=inertia)
        self.index[i] = parent

    def _with_figures(self, body: Body, i: int, begin: int) -> Body:
        """``body`` with what the model says of its joint, which is joint ``i`` from degree of freedom ``begin`` on."""
        model = self.model
        # a follower has no limits and no drive of its own in Pinocchio
        if i in self.followers:
            joint = model.joints[i].extract()
            leader = self.names[self.followers[i]]
            mimic = Mimic(leader, float(joint.scaling), float(joint.offset))
            return replace(body, mimic=mimic)
        first = model.joints[i].idx_v + begin
        dofs = slice(first, first + body.joint.nv)
        friction = getattr(model, "upperDryFrictionLimit", model.friction)
        return replace(
            body,
            limits=self._limits(body.joint, i, begin, dofs),
            armature=unless_zero(model.armature[dofs]),
            damping=unless_zero(model.damping[dofs]),
            friction=unless_zero(friction[dofs]),
        )

    def _limits(self, joint: Joint, i: int, begin: int, dofs: slice) -> Limits:
        """The limits of a part of joint ``i``. Of several degrees of freedom, the least velocity and effort count."""
        model = self.model
        velocity = _limit(getattr(model, "upperVelocityLimit", model.velocityLimit)[dofs])
        effort = _limit(getattr(model, "upperEffortLimit", model.effortLimit)[dofs])
        if not isinstance(joint, Revolute | Prismatic | Helical):
            return Limits(velocity=velocity, effort=effort)
        # simple joints before this one in a chain have as many numbers in q as in v, but for continuous ones
        position = model.joints[i].idx_q + begin + self._longer(i, begin)
        lower = _limit(model.lowerPositionLimit[position : position + 1])
        upper = _limit(model.upperPositionLimit[position : position + 1])
        return Limits(lower, upper, velocity, effort)

    def _longer(self, i: int, begin: int) -> int:
        """By how much q is longer than v, of the parts of joint ``i`` before its degree of freedom ``begin``."""
        longer = 0
        for part in self._parts(i, self.model.joints[i].extract()):
            if begin <= 0:
                break
            longer += part.joint.nq - part.joint.nv
            begin -= part.joint.nv
        return longer

    def _parts(self, i: int, joint: Any) -> list[_Part]:
        """A joint of Pinocchio's as simple joints in a row. UnsupportedError for types that rbdgen has not."""
        kind = joint.shortname()
        if kind == "JointModelComposite":
            parts: list[_Part] = []
            places = zip(joint.joints, joint.jointPlacements, strict=True)
            for inner, place in places:
                # a composite's own offset stands before its first part only
                first, *rest = self._parts(i, inner.extract())
                parts += [_Part(_placed(place) @ first.placement, first.joint), *rest]
            return parts
        if kind in _SEVERAL:
            return [_Part(Placement(), simple) for simple in _SEVERAL[kind](joint)]
        simple = self._of_one(i, joint)
        if simple is None:
            raise UnsupportedError(
                f"{self.source}: joint {short(self.names[i])}: {kind} is not supported; "
                "build it of revolute and prismatic joints, or lock it with pinocchio.buildReducedModel"
            )
        return [_Part(Placement(), simple)]

    def _of_one(self, i: int, joint: Any) -> Joint | None:
        """A joint of one degree of freedom, by its motion subspace; None for what is none."""
        follows = i in self.followers
        if not follows and joint.nv != 1:
            return None
        # only the outer shell of a follower shows its data
        moved = self.model.joints[i] if follows else joint
        data = moved.createData()
        # any configuration will do: the subspace is constant in the child frame
        moved.calc(data, np.ones(max(self.model.nq, moved.idx_q + moved.nq)))
        scale = joint.scaling if follows else 1.0
        motion = np.ravel(data.S) / scale if scale else np.zeros(6)
        linear, angular = motion[:3], motion[3:]
        # zeros are exact there, and a screw may be as fine as it likes
        if not np.any(angular):
            return Prismatic(_unit(linear)) if np.any(linear) else None
        if follows and np.any(data.M.translation):
            return None  # Pinocchio's followers of screws leave their pitch out of S
        axis = _unit(angular)
        if joint.nq == 2:
            return Continuous(axis)
        pitch = float(linear @ np.array(axis))
        return Helical(axis, pitch) if np.any(linear) else Revolute(axis)

    def _merge(self) -> None:
        """Frames that are fixed to a body."""
        model = self.model
        for frame in model.frames:
            kind = frame.type.name
            joint = int(frame.parentJoint)
            # a body's own frame is the body
            own = kind == "BODY" and frame.name == self.links[joint]
            if kind not in ("BODY", "OP_FRAME") or own:
                continue
            before = model.frames[frame.parentFrame]
            fixed = before.name if before.type.name == "FIXED_JOINT" else f"{frame.name}_fixed"
            place = _placed(frame.placement)
            self.frames.append(MergedLink(frame.name, fixed, self.index[joint], place))


def _placed(place: Any) -> Placement:
    """Pinocchio's SE3."""
    return Placement(constant_matrix(place.rotation), constant_vector(place.translation))


def _inertia(given: Any) -> Inertia:
    """Pinocchio's inertia; what has no mass has no moments in it either, however Pinocchio says so."""
    return Inertia.from_com(float(given.mass), np.array(given.lever), np.array(given.inertia))


def _unit(axis: np.ndarray) -> tuple[float, float, float]:
    """The direction of an axis; coordinate axes stay exact."""
    x, y, z = (float(c) for c in np.ravel(axis) / np.linalg.norm(axis))
    # adding zero turns −0.0 into 0.0, which later folds away
    return x + 0.0, y + 0.0, z + 0.0


def _limit(values: np.ndarray) -> float | None:
    """The least magnitude of limits by degree of freedom, with its sign; None where there is none."""
    given = [float(x) for x in values if abs(x) < UNLIMITED]
    return min(given, key=abs) if given else None
