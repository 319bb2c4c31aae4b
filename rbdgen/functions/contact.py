"""Forward dynamics with contacts: ``cfd``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rbdgen.algo.contact import Held, held_dynamics
from rbdgen.algo.factorisation import both_triangles, remaining_torques
from rbdgen.algo.frames import ALIGNED, LOCAL, Kinematics
from rbdgen.algo.operational_space import OperationalSpace, even_damping, rows_of
from rbdgen.algo.rnea import Motion, inward_sweep, joint_placements, outward_sweep
from rbdgen.errors import ConfigError, UnsupportedError
from rbdgen.functions.frames import check_still
from rbdgen.functions.mass_matrix import crba
from rbdgen.functions.operands import (
    checked_forces,
    given_base,
    given_wrenches,
    vector_entries,
)
from rbdgen.functions.operational_space import (
    TRIED,
    check_factors,
    is_singular,
    mass_factors,
    require_regular,
)
from rbdgen.functions.quantities import TAU, Q, Quantity, V
from rbdgen.functions.record import Entries, Function, Need, Settings, TracedProgram
from rbdgen.functions.states import States
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.model.robot import Robot
from rbdgen.numeric.arguments import (
    argument,
    choice,
    configuration,
    require_positive_definite,
)
from rbdgen.numeric.batch import Entries as Evaluated
from rbdgen.numeric.batch import evaluate
from rbdgen.spatial import Scalar, Vector, mul, sub

CLOSED = Quantity(
    "closed", ("contacts",), "1", "which contacts are closed: 1 or 0", limits=(0.0, 1.0), whole=True
)
WANTED = Quantity(
    "wanted",
    ("contact_rows",),
    "m/s², rad/s²",
    "accelerations that the contacts are held at: zero, or what corrects their places",
    limits=(-10.0, 10.0),
)
ACCELERATION = Quantity("contact_a", ("nv",), "rad/s², m/s²", "accelerations with contacts")
FORCE = Quantity("contact_force", ("contact_rows",), "N, N·m", "forces of the contacts")
REFERENCES = (LOCAL, ALIGNED)
"""What contacts' motions and forces can be given in."""
USES = frozenset({"reference", "constraint_damping", "contact_rate"})
Variant = tuple[str, float, float]
"""Reference, damping of the constraint, and rate at which velocities of contacts decay."""


def check(robot: Robot, settings: Settings) -> None:
    """UnsupportedError for a robot without contacts, or with some that hinder each other at all states, and for options
    that do not go with them."""
    need_contacts(robot)
    check_factors(settings)
    check_still(robot, settings)
    if settings.reference not in REFERENCES:
        raise UnsupportedError(
            f"reference {settings.reference}: contacts are held in one of {', '.join(REFERENCES)}; choose one"
        )
    q, _, _ = random_states(robot, declared_ranges(robot), TRIED, 1)
    variant = settings.reference, settings.constraint_damping, 0.0
    held = np.ones((TRIED, len(robot.contacts)))
    if np.all(is_singular(_inverse_inertia(robot, q, held, variant))):
        names = ", ".join(contact.frame.name for contact in robot.contacts)
        raise UnsupportedError(
            f"robot {robot.name!r}: its contacts {names} hold some motion twice, or one that the robot has not, when "
            "all are closed; give fewer, :3d instead of :6d, or --constraint-damping"
        )


def need_contacts(robot: Robot) -> None:
    """UnsupportedError for a robot without contacts."""
    if not robot.contacts:
        raise UnsupportedError(
            f"robot {robot.name!r}: has no contacts; give --contact FRAME:3d, or with_contacts(robot, [FRAME])"
        )


def _contact_kinematics(robot: Robot, joints: Sequence[Any], reference: str) -> Kinematics:
    return Kinematics(robot, joints, [c.frame for c in robot.contacts], reference)


def _counts(robot: Robot) -> list[int]:
    return [contact.rows for contact in robot.contacts]


def _held(
    robot: Robot,
    found: Kinematics,
    motions: Sequence[Motion],
    v: Vector,
    closed: Vector,
    wanted: Vector,
    rate: float,
) -> list[Held]:
    """What the contacts are held at: ``wanted``, less what velocities do, less ``rate`` times the velocity."""
    held: list[Held] = []
    first = 0
    for k, contact in enumerate(robot.contacts):
        spatial, classical = found.acceleration(k, motions[contact.frame.body], v)
        # a point has a classical acceleration, a frame that does not turn a spatial one
        drift = classical if contact.rows == len(classical) else spatial
        speed = found.times(k, v)
        asked: list[Scalar] = []
        with found.enter("Fa", contact.frame.body):
            for row, x in enumerate(drift):
                rest = sub(wanted[first + row], x)
                asked.append(sub(rest, mul(rate, speed[row])))
        held.append(Held(closed[k], asked))
        first += contact.rows
    return held


def _text(
    robot: Robot,
    variant: Variant,
    q: Vector,
    v: Vector,
    tau: Vector,
    closed: Vector,
    wanted: Vector,
    f: Vector | None,
) -> Sequence[Evaluated]:
    reference, damping, rate = variant
    joints = joint_placements(robot, q)
    still = (0.0,) * robot.nv
    base = given_base(robot, None)
    motions, wrenches = outward_sweep(robot, joints, v, still, given_wrenches(f), base=base)
    effects, _ = inward_sweep(robot, joints, v, still, wrenches)
    along, factors = mass_factors(robot, joints)
    found = _contact_kinematics(robot, joints, reference)
    rows = rows_of(found, _counts(robot))
    space = OperationalSpace(along, factors, rows, even_damping(len(rows), damping))
    held = _held(robot, found, motions, v, closed, wanted, rate)
    rest = remaining_torques(robot, tau, effects)
    accelerations, forces = held_dynamics(space, held, rest)
    return vector_entries(accelerations), vector_entries(forces)


def _inverse_text(robot: Robot, variant: Variant, q: Vector) -> Sequence[Evaluated]:
    joints = joint_placements(robot, q)
    found = _contact_kinematics(robot, joints, variant[0])
    along, factors = mass_factors(robot, joints)
    rows = rows_of(found, _counts(robot))
    space = OperationalSpace(along, factors, rows, even_damping(len(rows), variant[1]))
    return (both_triangles(space.inverse),)


def _inverse_inertia(
    robot: Robot, q: np.ndarray, closed: np.ndarray, variant: Variant
) -> np.ndarray:
    """Λ⁻¹ of the closed contacts (..., rows, rows), and 1 on the diagonal of the others."""
    counts = _counts(robot)
    rows = sum(counts)
    whole = evaluate(_inverse_text, robot, variant, [(rows, rows)], q.shape[:-1], (q,))[0]
    kept = np.repeat(closed, counts, axis=-1)
    masked = whole * kept[..., :, None] * kept[..., None, :]
    return masked + (1.0 - kept)[..., None] * np.eye(rows)


def constrained_forward_dynamics(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    closed: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    f_ext: np.ndarray | None = None,
    *,
    reference: str = LOCAL,
    damping: float = 0.0,
    rate: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Forward dynamics with rigid contacts: accelerations, and the forces by which the world holds the contacts.

    ``closed`` (..., contacts): 1 for a contact that is closed, 0 for one that is open (default: all closed); contacts
    are those of :func:`rbdgen.with_contacts`, in their order. ``wanted`` (..., rows): the accelerations that they are
    held at, in ``reference`` (``local`` or ``local_world_aligned``), 3 or 6 rows each; default: none. To keep a contact
    where it was, give −kp times its error; ``rate`` (1/s) brings velocities back: Baumgarte's terms. ``damping`` is
    added to the diagonal of J M⁻¹ Jᵀ. All else as :func:`rbdgen.golden.forward_dynamics`.

    Returns a (..., nv) and the forces (..., rows) on the robot, as Pinocchio's ``constraintDynamics`` does of contacts
    with the world; those of open contacts are zero. UnsupportedError for a robot without contacts, SingularityError for
    closed contacts that hold some motion twice. Source: :mod:`rbdgen.algo.contact`."""
    need_contacts(robot)
    choice("reference", reference, REFERENCES)
    for name, x in (("damping", damping), ("rate", rate)):
        if not (np.isfinite(x) and x >= 0):
            raise ConfigError(f"{name}: must be a number of 0 or more, not {x!r}")
    q = configuration(robot, q)
    batch = q.shape[:-1]
    v, tau = (argument(name, x, (robot.nv,), batch) for name, x in (("v", v), ("tau", tau)))
    count, rows = len(robot.contacts), sum(_counts(robot))
    mask = np.ones((*batch, count)) if closed is None else closed
    mask = argument("closed", mask, (count,), batch)
    if not np.all((mask == 0) | (mask == 1)):
        raise ConfigError("closed: must be 0 or 1 for each contact")
    held = np.zeros((*batch, rows)) if wanted is None else wanted
    held = argument("wanted", held, (rows,), batch)
    variant = reference, float(damping), float(rate)
    require_positive_definite(robot, crba(robot, q))
    require_regular("contacts' inertia", _inverse_inertia(robot, q, mask, variant))
    forces = checked_forces(robot, f_ext, batch)
    shapes = [(robot.nv,), (rows,)]
    operands = (q, v, tau, mask, held, forces)
    accelerations, found = evaluate(_text, robot, variant, shapes, batch, operands)
    return accelerations, found


def _reference(
    robot: Robot, s: States, settings: Settings | None, method: str | None
) -> Sequence[np.ndarray]:
    closed, wanted = s.others[CLOSED.name], s.others[WANTED.name]
    chosen: dict[str, Any] = {}
    if settings is not None:
        chosen = {
            "reference": settings.reference,
            "damping": settings.constraint_damping,
            "rate": settings.contact_rate,
        }
    return constrained_forward_dynamics(robot, s.q, s.v, s.tau, closed, wanted, s.f_ext, **chosen)


def _traced(trace: TracedProgram) -> Mapping[str, Entries]:
    robot, settings = trace.robot, trace.settings
    frames = [contact.frame for contact in robot.contacts]
    found = Kinematics(robot, trace.placements(), frames, settings.reference, trace.enter)
    rows = rows_of(found, _counts(robot))
    damping = even_damping(len(rows), settings.constraint_damping)
    space = OperationalSpace(trace.along(), trace.factors(), rows, damping, trace.enter)
    closed, wanted = trace.operand(CLOSED.name), trace.operand(WANTED.name)
    v = trace.operand(V.name)
    held = _held(robot, found, trace.motions(), v, closed, wanted, settings.contact_rate)
    accelerations, forces = held_dynamics(space, held, trace.rest())
    return {
        ACCELERATION.name: vector_entries(accelerations),
        FORCE.name: vector_entries(forces),
    }


RECORDS = (
    Function(
        name="cfd",
        code=18,
        summary="forward dynamics with contacts",
        operands=(Q, V, TAU, CLOSED, WANTED),
        results=(ACCELERATION, FORCE),
        needs=frozenset({Need.TORQUE, Need.FACTORS}),
        trace=_traced,
        reference=_reference,
        golden=constrained_forward_dynamics,
        based=False,
        check=check,
        uses=USES,
    ),
)
