"""Forward dynamics by the articulated-body algorithm, cut per body into ``Af_i``, ``Ab_i`` and ``Ac_i``.

Source: Featherstone 2008, section 7.3 (table 7.1). Velocities go outward (``Af``), articulated inertias and bias forces
inward (``Ab``), accelerations outward (``Ac``).
"""

from __future__ import annotations

from rbdgen.algo.articulated import Elimination, articulated, eliminate, with_projections
from rbdgen.algo.plucker import (
    Transform,
    base_vectors,
    combination,
    force_cross,
    force_vector,
    jointed_bodies,
    momentum,
    motion_cross,
    projections,
)
from rbdgen.algo.rnea import Motion, Wrench, base_motion, friction_forces
from rbdgen.model.robot import Robot
from rbdgen.spatial import Enter, Scalar, Vector, anywhere, matvec, vadd, vsub


def aba(
    robot: Robot,
    transforms: list[Transform],
    v: Vector,
    tau: Vector,
    f_ext: tuple[Wrench, ...] | None = None,
    enter: Enter = anywhere,
    base: Motion | None = None,
) -> Vector:
    """Accelerations (nv) for v (nv), τ (nv) and optional external wrenches on the bodies, each about its body's origin
    in body coordinates. ``transforms``: of every body; ``base``: how the base moves (default: not at all). M must be
    positive definite, and no joint follow another."""
    if base is None:
        base = base_motion(robot.gravity)
    sweep = _ArticulatedSweeps(robot, transforms, base)
    bodies = range(len(robot.bodies))
    driving: list[Vector] = []  # what friction leaves of τ
    for i in bodies:
        with enter("Af", i):
            external = None if f_ext is None else f_ext[i]
            own = robot.v_slices[i]
            speeds = v[own]
            sweep.move(i, speeds, external)
            resisting = friction_forces(robot, i, speeds)
            driving.append(vsub(tau[own], resisting))
    for i in reversed(bodies):
        with enter("Ab", i):
            for child in robot.children[i]:
                sweep.take_child(i, child, driving[child])
            sweep.eliminate(i, driving[i])
    result: list[Scalar] = [0.0] * robot.nv
    for i in bodies:
        with enter("Ac", i):
            result[robot.v_slices[i]] = sweep.accelerate(i)
    return tuple(result)


class _ArticulatedSweeps:
    """The three sweeps over a robot; lists are by body. ``drifts``: what a body accelerates by because its parent
    turns; ``biases``: the force that a body takes at rest; ``rest``: what of τ is left to accelerate a joint."""

    def __init__(self, robot: Robot, transforms: list[Transform], base: Motion) -> None:
        self.links = jointed_bodies(robot, transforms)
        self.base_velocity, self.base_acceleration = base_vectors(base)
        self.velocities: list[Vector] = []
        self.drifts: list[Vector] = []
        self.biases: list[Vector] = []
        self.inertias = [articulated(body.inertia) for body in robot.bodies]
        self.taken: dict[int, Elimination] = {}
        self.rest: dict[int, Vector] = {}
        self.accelerations: list[Vector] = []

    def move(self, i: int, rates: Vector, external: Wrench | None) -> None:
        """The velocity of body ``i``, and what follows from it."""
        link = self.links[i]
        above = self.base_velocity
        if link.parent >= 0:
            above = self.velocities[link.parent]
        carried = link.to_parent.motion(above)
        own = combination(link.columns, rates)
        velocity = vadd(carried, own)
        self.velocities.append(velocity)
        self.drifts.append(motion_cross(carried, own))
        bias = momentum(link.inertia, velocity)
        bias = force_cross(velocity, bias)
        if external is not None:
            # what the world pushes with, the joints need not
            bias = vsub(bias, force_vector(external))
        self.biases.append(bias)

    def take_child(self, i: int, child: int, tau: Vector) -> None:
        """Add what is left of a child's inertia, and the force that it passes on, to body ``i``."""
        link = self.links[child]
        below = self.taken[child]
        self.inertias[i] += below.left.inward(link.to_parent)
        rates = matvec(below.inverse, self.rest[child])
        push = combination(below.u, rates)
        dragged = below.left.times(self.drifts[child])
        push = vadd(dragged, push)
        push = vadd(self.biases[child], push)
        # along the joint, the force that is passed on is what drives it: known, not computed
        push = with_projections(push, link, tau)
        push = link.to_parent.force(push)
        self.biases[i] = vadd(self.biases[i], push)

    def eliminate(self, i: int, tau: Vector) -> None:
        """Take the joint of body ``i`` out, once all its children are taken."""
        link = self.links[i]
        self.taken[i] = eliminate(self.inertias[i], link)
        felt = projections(link.columns, self.biases[i])
        self.rest[i] = vsub(tau, felt)

    def accelerate(self, i: int) -> Vector:
        """The accelerations of the joint of body ``i``."""
        link = self.links[i]
        own = self.taken[i]
        above = self.base_acceleration
        if link.parent >= 0:
            above = self.accelerations[link.parent]
        carried = link.to_parent.motion(above)
        # the drift belongs to the child: its parent does not feel it as its own
        carried = vadd(carried, self.drifts[i])
        felt = projections(own.u, carried)
        missing = vsub(self.rest[i], felt)
        rates = matvec(own.inverse, missing)
        moved = combination(link.columns, rates)
        self.accelerations.append(vadd(carried, moved))
        return rates
