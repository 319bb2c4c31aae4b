"""Parameters that are loaded instead of built in: which there are, their ranges, and their values for a robot.

A calibratable accelerator keeps the parameters of the equivalent robot in registers: for each body the entries of its
pseudo-inertia that regrouping leaves, in the frames that were chosen for the robot it was generated for, and the
rotors' inertias of its joint where it has some. What the file says is what the registers hold after a reset. Any robot
that differs only in its links' masses, centres of mass and inertias, and in its rotors', has values for the same
parameters; they are linear in them. Beside them, or alone, places of frames are parameters
(:mod:`rbdgen.tracing.loaded_frames`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.model.body import Body, Inertia
from rbdgen.model.robot import Robot, places_of
from rbdgen.model.variants import carrying
from rbdgen.payloads import ENTRIES, payload_inertia
from rbdgen.protocol.identifiers import sanitize
from rbdgen.spatial import Scalar
from rbdgen.tracing.equivalent import EquivalentRobot, equivalent, kept_in_place, regrouped
from rbdgen.tracing.loaded_frames import (
    MovableFrame,
    find_movable,
    moved_robot,
    place_parameters,
    placed,
    placed_values,
)
from rbdgen.tracing.parameters import PARAMETERS, VARIATIONS, Parameter, ParameterSet
from rbdgen.tracing.words import Word

ROTORS = tuple(f"r{k}" for k in range(6))
"""The rotors' inertias of a body's joint by degree of freedom."""
TOLERANCE = 0.2
"""By how much a calibrated link may differ: its mass, its extent in any direction, its centre of mass in units of its
radius of gyration, and the rotors of its joint. What it carries by the robot's setup may be anything that is no heavier
and no farther from the link's origin, or nothing."""
HEADROOM = 1.25
"""Over the largest distance of robots that differ so from the one that was given."""
ROUNDING = 1e-12
"""What a payload of 1 kg, or of 1 kg·m², adds to a parameter at least, if anything."""


BodyEntry = tuple[int, str]
"""The number of a body, and one of :data:`ENTRIES` or :data:`ROTORS`."""


def _values(robot: Robot, frames: EquivalentRobot, entries: Sequence[BodyEntry]) -> np.ndarray:
    """Values (n,) of the parameters that ``entries`` are, for a robot that differs only in its inertias."""
    cheap = regrouped(robot, frames.frames)
    values = []
    for number, entry in entries:
        body = cheap.bodies[number]
        if entry in ROTORS:
            values.append(body.armature[ROTORS.index(entry)])
        else:
            values.append(body.inertia.pseudo[ENTRIES[entry]])
    return np.array(values)


def varied_robot(robot: Robot, rng: np.random.Generator) -> Robot:
    """A robot whose links differ by up to :data:`TOLERANCE`; bodies that can exist stay such."""
    bodies = []
    for body in robot.bodies:
        # drawn for a body without mass as well, so that the next bodies' draws do not depend on it
        factor = 1 + rng.uniform(-TOLERANCE, TOLERANCE)
        skewed = rng.uniform(-TOLERANCE, TOLERANCE, (3, 3)) / 2
        stretch = np.eye(3) + skewed
        shift = rng.uniform(-TOLERANCE, TOLERANCE, 3)
        pseudo = body.inertia.pseudo
        if body.inertia.mass > 0:
            pseudo = factor * _varied(pseudo, stretch, shift)
        inertia = Inertia.from_pseudo(pseudo)
        shares = 1 + rng.uniform(-TOLERANCE, TOLERANCE, len(body.armature))
        rotors = tuple(float(x) for x in shares * np.array(body.armature))
        bodies.append(replace(body, inertia=inertia, armature=rotors))
    return replace(robot, bodies=tuple(bodies))


def _varied(pseudo: np.ndarray, stretch: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """A pseudo-inertia (4×4) stretched about its centre of mass (3×3), which is shifted by ``shift`` (3,) radii of
    gyration; of the same mass."""
    mass = pseudo[3, 3]
    com = pseudo[:3, 3] / mass
    central = pseudo[:3, :3] - mass * np.outer(com, com)
    # of a body that cannot exist it may be negative
    extent = max(np.trace(central), 0.0)
    radius = np.sqrt(extent / mass)
    com = com + shift * radius
    # a congruence: what is positive semidefinite stays so
    central = stretch @ central @ stretch.T
    varied = np.empty((4, 4))
    varied[:3, :3] = central + mass * np.outer(com, com)
    varied[:3, 3] = mass * com
    varied[3, :3] = mass * com
    varied[3, 3] = mass
    return varied


@dataclass(frozen=True)
class Calibration:
    """The parameters of an accelerator of ``robot``: those of its links if it is ``calibratable``, behind them those of
    places, of frames that are ``movable``; and ``variations`` (k, n) of them to find ranges by, of which the first
    is the robot's own."""

    robot: Robot
    frames: EquivalentRobot
    calibratable: bool
    movable: tuple[MovableFrame, ...]
    parameters: tuple[Parameter, ...]
    variations: np.ndarray

    @property
    def _of_links(self) -> list[Parameter]:
        """The parameters of links."""
        return [p for p in self.parameters if not p.frame]

    @property
    def _entries(self) -> list[BodyEntry]:
        """What these are."""
        return [(p.body, p.entry) for p in self._of_links]

    def values(self, robot: Robot) -> np.ndarray:
        """The parameters' values (n,) for ``robot``. ConfigError where more than can be loaded differs."""
        if self.calibratable:
            _check_calibrated(self.robot, robot)
        own = _values(robot, self.frames, self._entries)
        return np.concatenate([own, placed_values(robot, self.frames, self.movable)])

    def varied(self, rng: np.random.Generator) -> Robot:
        """A robot that can be loaded."""
        robot = varied_robot(self.robot, rng) if self.calibratable else self.robot
        return moved_robot(robot, rng) if self.movable else robot

    def payloads(self) -> dict[str, dict[str, list[float]]]:
        """By link and parameter what each entry of the pseudo-inertia of a payload on that link, in its frame, adds to
        the parameter, in the order of :data:`rbdgen.payloads.ENTRIES`. Links that no joint moves are left out, and
        parameters to which nothing is added."""
        robot, entries = self.robot, self._entries
        nominal = _values(robot, self.frames, entries)
        found: dict[str, dict[str, list[float]]] = {}
        if not self.calibratable:
            return found
        for link, (i, place) in places_of(robot).items():
            if i < 0:
                continue
            columns = []
            for row, column in ENTRIES.values():
                unit = np.zeros((4, 4))
                unit[row, column] = unit[column, row] = 1.0
                added = Inertia.from_pseudo(unit).expressed_in(place)
                bodies = list(robot.bodies)
                bodies[i] = replace(bodies[i], inertia=bodies[i].inertia + added)
                loaded = replace(robot, bodies=tuple(bodies))
                columns.append(_values(loaded, self.frames, entries) - nominal)
            effects = np.column_stack(columns)
            # what rounding leaves of a difference is nothing
            effects[np.abs(effects) < ROUNDING] = 0.0
            own = zip(self._of_links, effects, strict=True)
            found[link] = {
                p.word.name: [float(f"{x:.12g}") for x in row] for p, row in own if row.any()
            }
        return found

    def applied(self, values: Sequence[Scalar]) -> Robot:
        """The equivalent robot with these scalars for parameters."""
        robot = self._loaded(values) if self.calibratable else self.frames.robot
        return self.moved(robot, values)

    def moved(self, robot: Robot, values: Sequence[Scalar]) -> Robot:
        """``robot``, in the equivalent one's frames, with those of these scalars that are places for its frames'."""
        places = values[len(self._of_links) :]
        return placed(robot, self.movable, places) if self.movable else robot

    def _loaded(self, values: Sequence[Scalar]) -> Robot:
        """The equivalent robot with these scalars for its links' parameters; all other entries are zero."""
        given: dict[int, dict[str, Scalar]] = defaultdict(dict)
        # parameters of places are behind these
        for p, x in zip(self._of_links, values, strict=False):
            given[p.body][p.entry] = x
        bodies = []
        for i, body in enumerate(self.frames.robot.bodies):
            e = dict.fromkeys(ENTRIES, 0.0) | given[i]
            first = (e["hx"], e["hy"], e["hz"])
            second = (
                (e["sxx"], e["sxy"], e["sxz"]),
                (e["sxy"], e["syy"], e["syz"]),
                (e["sxz"], e["syz"], e["szz"]),
            )
            inertia = Inertia(e["m"], first, second)
            rotors = tuple(given[i].get(ROTORS[k], 0.0) for k in range(len(body.armature)))
            bodies.append(replace(body, inertia=inertia, armature=rotors))
        return replace(self.frames.robot, bodies=tuple(bodies))


def _check_calibrated(nominal: Robot, robot: Robot) -> None:
    """ConfigError where more than links' and rotors' inertias differ."""
    for mine, other in zip(nominal.bodies, robot.bodies, strict=False):
        loaded = replace(mine, inertia=other.inertia, limits=other.limits)
        # a rotor has a parameter only where the robot that hardware was made for has one
        if _turning(mine) == _turning(other):
            loaded = replace(loaded, armature=other.armature)
        if loaded != other:
            raise ConfigError(
                f"robot {robot.name!r}: joint {other.joint_name!r} must be as in {nominal.name!r}; only masses, "
                "centres of mass and inertias can be calibrated, and rotors' where there are some"
            )
    as_many = len(nominal.bodies) == len(robot.bodies)
    if not as_many or nominal.gravity != robot.gravity:
        raise ConfigError(
            f"robot {robot.name!r}: must have the joints and the gravity of {nominal.name!r}"
        )


def _turning(body: Body) -> list[bool]:
    """Whether each degree of freedom of a body's joint turns a rotor."""
    return [rotor > 0 for rotor in body.rotors]


def parameter_values(nominal: Robot, robot: Robot) -> dict[str, float]:
    """Values by name of the parameters of ``nominal``'s calibratable accelerator that make it ``robot``'s. ConfigError
    where more than links' inertias differ."""
    links = sanitize([b.name for b in nominal.bodies])
    calibration = make_calibration(nominal, links, 1)
    values = calibration.values(robot)
    named = {}
    for p, x in zip(calibration.parameters, values, strict=True):
        named[p.word.name] = float(x)
    return named


def _loads(robot: Robot) -> dict[str, Inertia]:
    """What its links carry, as its setup says."""
    payloads = (robot.setup or {}).get("payload") or {}
    there = places_of(robot)
    return {
        link: Inertia.from_pseudo(payload_inertia(link, numbers))
        for link, numbers in payloads.items()
        # of a link that was cut off nothing is left
        if there.get(link, (-1,))[0] >= 0
    }


def _varied_load(load: Inertia, rng: np.random.Generator) -> Inertia:
    """A load of at most so much mass, whose centre is at most as far from the link's origin, in any direction."""
    share = rng.uniform()
    com = np.array(load.first_moment) / load.mass
    about_com = np.array(load.second_moment) - load.mass * np.outer(com, com)
    direction = rng.normal(size=3)
    # evenly in a ball
    length = np.cbrt(rng.uniform()) * np.linalg.norm(com)
    com = length * direction / np.linalg.norm(direction)
    pseudo = np.empty((4, 4))
    pseudo[:3, :3] = about_com + load.mass * np.outer(com, com)
    pseudo[:3, 3] = pseudo[3, :3] = load.mass * com
    pseudo[3, 3] = load.mass
    return Inertia.from_pseudo(share * pseudo)


def _left_entries(cheap: Robot) -> list[BodyEntry]:
    """Entries that regrouping leaves of the bodies of an equivalent robot, and the rotors of their joints."""
    entries = []
    for i, body in enumerate(cheap.bodies):
        kept = kept_in_place(body.joint)
        for entry, index in ENTRIES.items():
            if not kept[index]:
                entries.append((i, entry))
        for entry, rotor in zip(ROTORS, body.armature, strict=False):
            if rotor:
                entries.append((i, entry))
    return entries


def make_calibration(
    robot: Robot,
    links: Mapping[str, str],
    seed: int,
    calibratable: bool = True,
    movable_frames: bool = False,
) -> Calibration:
    """The parameters of ``robot``: of its links and of places of its frames; ``links`` gives each body's legal
    identifier by name. UnsupportedError where there is no frame to be moved."""
    frames = equivalent(robot)
    movable = find_movable(robot) if movable_frames else ()
    inertial = moved = ParameterSet()
    if calibratable:
        inertial = _link_parameters(robot, frames, links, seed)
    if movable:
        moved = place_parameters(robot, frames, movable, seed)
    parameters = []
    for k, p in enumerate((*inertial.parameters, *moved.parameters)):
        parameters.append(replace(p, word=replace(p.word, index=(k,))))
    variations = np.hstack([inertial.variations, moved.variations])
    return Calibration(robot, frames, calibratable, movable, tuple(parameters), variations)


def _link_parameters(
    robot: Robot, frames: EquivalentRobot, links: Mapping[str, str], seed: int
) -> ParameterSet:
    """The parameters of links and rotors."""
    entries = _left_entries(frames.robot)
    nominal = _values(robot, frames, entries)
    rng = np.random.default_rng(seed)
    rows = [nominal]
    loads = _loads(robot)
    bare = carrying(robot, {link: -load for link, load in loads.items()})
    for _ in range(VARIATIONS - 1):
        other = varied_robot(bare, rng)
        other = carrying(other, {link: _varied_load(load, rng) for link, load in loads.items()})
        rows.append(_values(other, frames, entries))
    varied = np.array(rows)
    largest = np.max(np.abs(varied - nominal), axis=0)
    reach = HEADROOM * largest
    # mass scales every entry: one that no variation moves is zero, and takes no parameter
    moves = reach > 0
    parameters: list[Parameter] = []
    for k in np.flatnonzero(moves):
        body, entry = entries[k]
        value = float(nominal[k])
        distance = float(reach[k])
        name = f"p_{links[robot.bodies[body].name]}_{entry}"
        word = Word(name, PARAMETERS, (), value - distance, value + distance)
        parameters.append(Parameter(word, body, entry, value))
    return ParameterSet(tuple(parameters), varied[:, moves])
