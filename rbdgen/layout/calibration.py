"""Inertial parameters that are loaded instead of built in: which there are, their ranges, and their values for a robot.

A calibratable accelerator keeps the parameters of the equivalent robot in registers: for each body the entries of its
pseudo-inertia that regrouping leaves, in the frames that were chosen for the robot it was generated for. What the file
says is what the registers hold after a reset. Any robot that differs only in its links' masses, centres of mass and
inertias has values for the same parameters; they are linear in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.layout.equivalent import EquivalentRobot, equivalent, kept_in_place, reframed, regrouped
from rbdgen.layout.words import Word
from rbdgen.model.names import sanitize
from rbdgen.model.robot import Inertia, Robot
from rbdgen.spatial import Scalar

ENTRIES = {
    "m": (3, 3),
    "hx": (0, 3),
    "hy": (1, 3),
    "hz": (2, 3),
    "sxx": (0, 0),
    "sxy": (0, 1),
    "sxz": (0, 2),
    "syy": (1, 1),
    "syz": (1, 2),
    "szz": (2, 2),
}
"""Entries of a pseudo-inertia (4×4) by name: mass, first moment, second moment."""
TOLERANCE = 0.2
"""By how much a calibrated link may differ: its mass, its extent in any direction, and its centre of mass in units of
its radius of gyration."""
VARIATIONS = 64
"""Robots that differ so, by which ranges are found."""
HEADROOM = 1.25
"""Over the largest distance of these from the robot that was given."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``word`` (vector ``parameters``, declared range), the body and entry that it is, and its
    ``nominal`` value."""

    word: Word
    body: int
    entry: str
    nominal: float


def _values(robot: Robot, frames: EquivalentRobot, places: Sequence[tuple[int, str]]) -> np.ndarray:
    """Values (n,) of the parameters at ``places`` for a robot that differs only in its inertias."""
    bodies = regrouped(reframed(robot, frames.frames)).bodies
    return np.array([bodies[i].inertia.pseudo[ENTRIES[entry]] for i, entry in places])


def varied_robot(robot: Robot, rng: np.random.Generator) -> Robot:
    """A robot whose links differ by up to :data:`TOLERANCE`; bodies that can exist stay such."""
    bodies = []
    for body in robot.bodies:
        pseudo, mass = body.inertia.pseudo, body.inertia.mass
        factor = 1 + rng.uniform(-TOLERANCE, TOLERANCE)
        stretch = np.eye(3) + rng.uniform(-TOLERANCE, TOLERANCE, (3, 3)) / 2
        shift = rng.uniform(-TOLERANCE, TOLERANCE, 3)
        if mass > 0:
            com = pseudo[:3, 3] / mass
            central = pseudo[:3, :3] - mass * np.outer(com, com)
            com = com + shift * np.sqrt(max(np.trace(central), 0.0) / mass)
            central = stretch @ central @ stretch.T
            first = (mass * com)[:, None]
            pseudo = factor * np.block([[central + mass * np.outer(com, com), first], [first.T, np.array([[mass]])]])
        bodies.append(replace(body, inertia=Inertia.from_pseudo(pseudo)))
    return replace(robot, bodies=tuple(bodies))


@dataclass(frozen=True)
class Calibration:
    """The parameters of a robot's calibratable accelerator, and ``variations`` (k, n) of them to find ranges by."""

    robot: Robot
    frames: EquivalentRobot
    parameters: tuple[Parameter, ...]
    variations: np.ndarray

    def values(self, robot: Robot) -> np.ndarray:
        """The parameters' values (n,) for ``robot``. ConfigError where more than links' inertias differ."""
        for mine, other in zip(self.robot.bodies, robot.bodies, strict=False):
            if replace(mine, inertia=other.inertia, limits=other.limits) != other:
                raise ConfigError(
                    f"robot {robot.name!r}: joint {other.joint_name!r} must be as in {self.robot.name!r}; only masses, "
                    "centres of mass and inertias can be calibrated"
                )
        if len(self.robot.bodies) != len(robot.bodies) or self.robot.gravity != robot.gravity:
            raise ConfigError(f"robot {robot.name!r}: must have the joints and the gravity of {self.robot.name!r}")
        return _values(robot, self.frames, [(p.body, p.entry) for p in self.parameters])

    def applied(self, values: Sequence[Scalar]) -> Robot:
        """The equivalent robot with these scalars for parameters; all other entries are zero."""
        given = {(p.body, p.entry): x for p, x in zip(self.parameters, values, strict=True)}
        bodies = []
        for i, body in enumerate(self.frames.robot.bodies):
            e = {entry: given.get((i, entry), 0.0) for entry in ENTRIES}
            second = (
                (e["sxx"], e["sxy"], e["sxz"]),
                (e["sxy"], e["syy"], e["syz"]),
                (e["sxz"], e["syz"], e["szz"]),
            )
            bodies.append(replace(body, inertia=Inertia(e["m"], (e["hx"], e["hy"], e["hz"]), second)))
        return replace(self.frames.robot, bodies=tuple(bodies))


def parameter_values(nominal: Robot, robot: Robot) -> dict[str, float]:
    """Values by name of the parameters of ``nominal``'s calibratable accelerator that make it ``robot``'s. ConfigError
    where more than links' inertias differ."""
    calibration = make_calibration(nominal, sanitize([b.name for b in nominal.bodies]), 1)
    values = calibration.values(robot)
    return {p.word.name: float(x) for p, x in zip(calibration.parameters, values, strict=True)}


def make_calibration(robot: Robot, links: Mapping[str, str], seed: int) -> Calibration:
    """The parameters of ``robot``; ``links`` gives each body's legal identifier by name."""
    frames = equivalent(robot)
    places = [
        (i, entry)
        for i, body in enumerate(frames.robot.bodies)
        for entry, place in ENTRIES.items()
        if not kept_in_place(body.joint)[place]
    ]
    nominal = _values(robot, frames, places)
    rng = np.random.default_rng(seed)
    varied = np.array([nominal, *(_values(varied_robot(robot, rng), frames, places) for _ in range(VARIATIONS - 1))])
    reach = HEADROOM * np.max(np.abs(varied - nominal), axis=0)
    moves = reach > 0
    parameters = []
    for k in np.flatnonzero(moves):
        (i, entry), x, r = places[k], float(nominal[k]), float(reach[k])
        word = Word(f"p_{links[robot.bodies[i].name]}_{entry}", "parameters", (len(parameters),), x - r, x + r)
        parameters.append(Parameter(word, i, entry, x))
    return Calibration(robot, frames, tuple(parameters), varied[:, moves])
