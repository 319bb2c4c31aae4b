"""Reads a URDF into a :class:`~rbdgen.model.robot.Robot`: strict about what moves, tolerant of everything else.

Visuals, collisions, transmissions, materials and vendors' tags are ignored. Fixed joints are merged, their links' names
kept as frames. Bodies come in Pinocchio's order: depth first, siblings by joint name. A mobile base is a joint before
the root link, by Pinocchio's name for it.
Source of the format: the XML specification of URDF (ROS wiki, urdf/XML).
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

import networkx as nx
import numpy as np
from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from rbdgen.errors import ConfigError, RbdgenWarning, UnsupportedError, UrdfError
from rbdgen.model.inertia import inertia_faults
from rbdgen.model.joints import Axis, Continuous, FreeFlyer, Joint, Planar, Prismatic, Revolute
from rbdgen.model.robot import Body, Frame, Inertia, Limits, Placement, Robot
from rbdgen.spatial import constant_matrix, constant_vector

JOINT_TYPES: dict[str, Callable[[Axis], Joint]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": lambda axis: Planar(),
    "floating": lambda axis: FreeFlyer(),
}
"""Moving joint types of the format, each made from its axis (of a planar joint always z)."""

BASES: dict[str, Joint | None] = {"fixed": None, "floating": FreeFlyer(), "planar": Planar()}
"""How the root link may be carried."""
ROOT_JOINT = "root_joint"
"""The joint of a mobile base; Pinocchio's name."""
WORLD = "universe"
"""What a mobile base moves in; Pinocchio's name."""

LARGEST = 1e30
"""Largest length, angle, mass or moment that is read, lest products overflow. Limits may be larger."""

SHORTEST_AXIS = 1e-30
"""An axis that is shorter counts as zero: its direction would have lost its digits."""

_MOMENTS = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}


@dataclass(frozen=True)
class _Joint:
    name: str
    kind: str
    parent: str
    child: str
    placement: Placement
    axis: tuple[float, float, float]
    limits: Limits


def load_urdf(path: str | Path, base: str = "fixed") -> Robot:
    """The robot of a URDF file. ``base`` says how its root link is carried: "fixed", "floating" (:class:`FreeFlyer`) or
    "planar" (:class:`Planar`); mobile, the link is body 0 on the joint "root_joint".

    UrdfError for a file that cannot be read or contradicts itself, UnsupportedError for what rbdgen does not do. Warns
    (RbdgenWarning) about inertias that no body can have, moving links without mass, friction and damping.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UrdfError(f"{path}: no such file; give the path of a URDF") from None
    except OSError as error:
        raise UrdfError(f"{path}: cannot be read: {error.strerror}; give the path of a URDF") from None
    except ValueError as error:
        raise UrdfError(f"{str(path)!r}: cannot be read: {error}; give the path of a URDF") from None
    return parse_urdf(data, str(path), path.stem, base)


def parse_urdf(text: str | bytes, source: str, name: str = "robot", base: str = "fixed") -> Robot:
    """The robot of URDF ``text``; ``source`` is what errors call it, ``name`` the robot's if the text gives none.

    Errors and warnings are those of :func:`load_urdf`.
    """
    if base not in BASES:
        raise ConfigError(f"{source}: base must be one of {', '.join(BASES)}, not {base!r}")
    try:
        root = ElementTree.fromstring(text, forbid_dtd=True)
    except ParseError as error:
        raise UrdfError(f"{source}: not well-formed XML: {error}; mend the file at that place") from None
    except DefusedXmlException:
        raise UrdfError(
            f"{source}: has a document type or entities, which are not read; expand and remove them"
        ) from None
    except (ValueError, LookupError) as error:  # how the parser reports encodings that it cannot read
        raise UrdfError(f"{source}: not readable XML: {error}; save the file as UTF-8") from None
    if root.tag != "robot":
        raise UrdfError(f"{source}: root element must be <robot>, not <{root.tag}>; give a URDF")
    return _Reader(source, root).robot(root.get("name") or name, BASES[base])


class _Reader:
    """One file's elements, with errors that say where."""

    def __init__(self, source: str, root: Element) -> None:
        self.source = source
        self.damped: list[str] = []
        self.pointlike: list[str] = []
        self.links = dict(self._named(root, "link"))
        self.joints = [self._joint(name, element) for name, element in self._named(root, "joint")]

    def _fail(self, where: str, what: str) -> UrdfError:
        return UrdfError(f"{self.source}: {where}: {what}")

    def _named(self, root: Element, tag: str) -> Iterable[tuple[str, Element]]:
        seen: set[str] = set()
        for element in root.findall(tag):
            name = element.get("name")
            if not name:
                raise UrdfError(f"{self.source}: a <{tag}> has no name; give it one")
            if name in seen:
                raise self._fail(f"{tag} {name!r}", "defined twice; rename one")
            seen.add(name)
            yield name, element

    def _numbers(
        self, where: str, element: Element, key: str, count: int, default: str, largest: float = LARGEST
    ) -> list[float]:
        text = element.get(key, default)
        try:
            # Python reads 1_0 and other scripts' digits as numbers, no other reader of URDF does
            values = [float(word) for word in text.split()] if text.isascii() and "_" not in text else []
        except ValueError:
            values = []
        if len(values) != count:
            raise self._fail(where, f"{key} must be {count} number(s), not {text!r}")
        if not all(map(math.isfinite, values)):
            raise self._fail(where, f"{key} must be finite, not {text!r}")
        if max(map(abs, values)) > largest:
            raise self._fail(where, f"{key} must not be beyond {largest:g}, is {text!r}")
        return values

    def _number(self, where: str, element: Element, key: str, largest: float = LARGEST) -> float:
        if element.get(key) is None:
            raise self._fail(where, f"<{element.tag}> has no {key}; add it")
        return self._numbers(where, element, key, 1, "", largest)[0]

    def _placement(self, where: str, element: Element | None) -> Placement:
        if element is None:
            return Placement()
        roll, pitch, yaw = self._numbers(where, element, "rpy", 3, "0 0 0")
        (cr, sr), (cp, sp), (cy, sy) = ((math.cos(t), math.sin(t)) for t in (roll, pitch, yaw))
        rotation = (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
        return Placement(constant_matrix(rotation), constant_vector(self._numbers(where, element, "xyz", 3, "0 0 0")))

    def _end(self, where: str, element: Element, tag: str) -> str:
        end = element.find(tag)
        link = None if end is None else end.get("link")
        if not link:
            raise self._fail(where, f"has no {tag} link; add <{tag} link=.../>")
        if link not in self.links:
            near = difflib.get_close_matches(link, self.links, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "; define it"
            raise self._fail(where, f"{tag} link {link!r} does not exist{hint}")
        return link

    def _joint(self, name: str, element: Element) -> _Joint:
        where = f"joint {name!r}"
        kind = element.get("type")
        known = ["fixed", *JOINT_TYPES]
        if kind not in known:
            raise self._fail(where, f"type must be one of {', '.join(known)}, not {kind!r}")
        if element.find("mimic") is not None and kind != "fixed":
            raise UnsupportedError(
                f"{self.source}: {where}: mimic joints are not supported; remove <mimic> or make it fixed"
            )
        axis_element = element.find("axis")
        axis = [1.0, 0.0, 0.0]
        if axis_element is not None and kind != "fixed":
            axis = self._numbers(where, axis_element, "xyz", 3, "1 0 0")
            if math.hypot(*axis) < SHORTEST_AXIS:
                raise self._fail(where, f"axis must not be zero, is {axis_element.get('xyz')!r}")
        if kind == "planar" and axis_element is not None and (axis[0] != 0.0 or axis[1] != 0.0):
            raise UnsupportedError(
                f"{self.source}: {where}: planar joints move in their x-y plane only; "
                f"turn the origin so that the axis is 0 0 1, not {axis_element.get('xyz')!r}"
            )
        # files give axes with few digits; a unit vector to the last bit keeps coordinate axes exact
        length = math.hypot(*axis)
        dynamics = element.find("dynamics")
        if dynamics is not None and kind != "fixed":
            values = [self._numbers(where, dynamics, key, 1, "0")[0] for key in ("damping", "friction")]
            if any(values):
                self.damped.append(name)
        return _Joint(
            name,
            kind,
            self._end(where, element, "parent"),
            self._end(where, element, "child"),
            self._placement(where, element.find("origin")),
            (axis[0] / length, axis[1] / length, axis[2] / length),
            self._limits(where, element.find("limit"), kind),
        )

    def _limits(self, where: str, element: Element | None, kind: str) -> Limits:
        if element is None or kind == "fixed":
            return Limits()
        keys = [key for key in ("lower", "upper", "velocity", "effort") if key in element.attrib]
        limits = Limits(**{key: self._number(where, element, key, math.inf) for key in keys})
        if kind in ("continuous", "planar", "floating"):
            return Limits(velocity=limits.velocity, effort=limits.effort)
        if limits.lower is not None and limits.upper is not None and limits.lower > limits.upper:
            raise self._fail(where, f"limits are reversed: lower {limits.lower:g} is above upper {limits.upper:g}")
        return limits

    def _inertia(self, link: str) -> Inertia:
        where = f"link {link!r}"
        element = self.links[link].find("inertial")
        if element is None:
            return Inertia()
        mass_element, moments = element.find("mass"), element.find("inertia")
        if mass_element is None:
            raise self._fail(where, "<inertial> has no <mass>; add it")
        mass = self._number(where, mass_element, "value")
        if mass < 0:
            raise self._fail(where, f"mass must not be negative, is {mass:g}")
        about_com = np.zeros((3, 3))
        if moments is None and mass > 0:
            self.pointlike.append(link)
        if moments is not None:
            for key, (i, j) in _MOMENTS.items():
                if i == j and key not in moments.attrib:
                    raise self._fail(where, f"<inertia> has no {key}; add it")
                about_com[i, j] = about_com[j, i] = self._numbers(where, moments, key, 1, "0")[0]
        origin = self._placement(where, element.find("origin"))
        turn = np.array(origin.rotation)
        return Inertia.from_com(mass, np.array(origin.translation), turn @ about_com @ turn.T)

    def _tree(self) -> tuple[str, dict[str, list[_Joint]]]:
        """The root link, and each link's joints to its children by joint name; errors for what is not a tree."""
        if not self.links:
            raise UrdfError(f"{self.source}: has no links; a robot needs at least one")
        carriers: dict[str, list[_Joint]] = defaultdict(list)
        graph = nx.DiGraph()
        graph.add_nodes_from(self.links)
        for joint in self.joints:
            carriers[joint.child].append(joint)
            graph.add_edge(joint.parent, joint.child)
        for link, joints in carriers.items():
            if len(joints) > 1:
                names = " and ".join(repr(j.name) for j in joints)
                raise self._fail(f"link {link!r}", f"is the child of joints {names}; loops are not supported, cut one")
        for cycle in nx.simple_cycles(graph):
            raise self._fail(f"link {min(cycle)!r}", "is its own ancestor; loops are not supported, cut one joint")
        roots = [link for link in self.links if link not in carriers]
        if len(roots) > 1:
            names = ", ".join(map(repr, roots))
            raise UrdfError(
                f"{self.source}: has {len(roots)} roots: {names}; connect them with joints or remove all but one"
            )
        children: dict[str, list[_Joint]] = defaultdict(list)
        for joint in sorted(self.joints, key=lambda j: j.name):
            children[joint.parent].append(joint)
        return roots[0], children

    def robot(self, name: str, carrier: Joint | None) -> Robot:
        """The robot, with fixed joints merged, its root link on the joint ``carrier`` or fixed."""
        base, children = self._tree()
        bodies: list[Body] = []
        frames: list[Frame] = []
        faults: list[str] = []
        inertia = self._inertia(base)  # what a fixed base weighs has no effect, but nonsense in it is still an error
        root = -1
        if carrier is None:
            self.pointlike.clear()
        else:
            if any(j.name == ROOT_JOINT for j in self.joints):
                raise self._fail(f"joint {ROOT_JOINT!r}", "a mobile base's joint has that name; rename it")
            faults.extend(f"{_plain(base)}: {fault}" for fault in inertia_faults(inertia))
            bodies.append(Body(base, ROOT_JOINT, carrier, -1, Placement(), inertia))
            root = 0
        # joints to visit, the next one last, each with the body and the place in it of the joint's parent link
        ahead = [(joint, root, Placement()) for joint in reversed(children[base])]
        while ahead:
            joint, body, here = ahead.pop()
            placement = here @ joint.placement
            inertia = self._inertia(joint.child)
            faults.extend(f"{_plain(joint.child)}: {fault}" for fault in inertia_faults(inertia))
            if joint.kind == "fixed":
                frames.append(Frame(joint.child, joint.name, body, placement))
                if body >= 0:
                    merged = bodies[body].inertia + inertia.expressed_in(placement)
                    bodies[body] = replace(bodies[body], inertia=merged)
            else:
                kind = JOINT_TYPES[joint.kind](joint.axis)
                bodies.append(Body(joint.child, joint.name, kind, body, placement, inertia, joint.limits))
                body, placement = len(bodies) - 1, Placement()
            ahead.extend((below, body, placement) for below in reversed(children[joint.child]))
        if not bodies:
            raise UrdfError(f"{self.source}: has no moving joint; there is nothing to compute")
        massless = [b.name for b in bodies if b.inertia.mass == 0.0]
        if massless:
            self._warn(f"links without mass move: {_listed(massless)}; give them an <inertial> if they have one")
        if self.pointlike:
            self._warn(f"links with mass but no <inertia>: {_listed(self.pointlike)}; taken as point masses")
        if faults:
            self._warn(f"inertias that no body can have: {'; '.join(faults)}; inverse dynamics is defined all the same")
        if self.damped:
            self._warn(f"damping and friction are ignored, at joints: {_listed(self.damped)}")
        if carrier is not None:
            base = WORLD
            while base in self.links:
                base += "_"
        return Robot(name, base, tuple(bodies), tuple(frames))

    def _warn(self, what: str) -> None:
        warnings.warn(RbdgenWarning(f"{self.source}: {what}"), stacklevel=4)


def _plain(name: str) -> str:
    """A name as it stands in a line; XML allows line breaks in names."""
    return name if name.isprintable() else repr(name)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(_plain, names))
