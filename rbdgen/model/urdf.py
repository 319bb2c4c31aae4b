"""Reads a URDF into a :class:`~rbdgen.model.robot.Robot`: strict about what moves, tolerant of everything else.

Visuals, collisions, materials and vendors' tags are ignored, of transmissions all but rotors. Fixed joints are merged,
their links' names kept as frames. Bodies come in Pinocchio's order: depth first, siblings by joint name. A mobile base
is a joint before the root link, by Pinocchio's name for it. Elements of the file are read in
:mod:`rbdgen.model.urdf_elements`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rbdgen.errors import MOST_NAMED, ConfigError, UrdfError, listed, plain, short, warn_of
from rbdgen.model.body import Body, Inertia, MergedLink, Placement, inertia_faults
from rbdgen.model.joints import FreeFlyer, Joint, Planar
from rbdgen.model.robot import Robot
from rbdgen.model.urdf_elements import JOINT_TYPES, JointElement, UrdfElements
from rbdgen.model.xml_text import Document, read_xml, with_addresses

BASES: dict[str, Joint | None] = {"fixed": None, "floating": FreeFlyer(), "planar": Planar()}
"""Joints that may carry the root link, by the names of bases."""
ROOT_JOINT = "root_joint"
"""The joint of a mobile base; Pinocchio's name."""
WORLD = "universe"
"""The frame that a mobile base moves in, by Pinocchio's name."""


def load_urdf(path: str | Path, base: str = "fixed") -> Robot:
    """The robot of a URDF file. ``base`` says how its root link is carried: "fixed", "floating" (:class:`FreeFlyer`) or
    "planar" (:class:`Planar`); mobile, the link is body 0 on the joint "root_joint".

    UrdfError for a file that cannot be read or contradicts itself, UnsupportedError for what rbdgen does not do. Warns
    (RobotWarning) once, about inertias that no body can have and moving links without mass. Joints keep their damping
    and friction, which count where :attr:`Robot.friction` says so.
    """
    path = Path(path)
    return parse_urdf(read_bytes(path), str(path), name_of(path), base)


def read_bytes(path: Path) -> bytes:
    """The content of a robot's file. UrdfError if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UrdfError(f"{path}: no such file; give the path of a URDF") from None
    except OSError as error:
        raise UrdfError(
            f"{path}: cannot be read: {error.strerror}; give the path of a URDF"
        ) from None
    except ValueError as error:
        raise UrdfError(
            f"{str(path)!r}: cannot be read: {error}; give the path of a URDF"
        ) from None


def parse_urdf(text: str | bytes, source: str, name: str = "robot", base: str = "fixed") -> Robot:
    """The robot of URDF ``text``; ``source`` is what errors call it, ``name`` the robot's if the text gives none.

    Errors and warnings are those of :func:`load_urdf`.
    """
    check_base(source, base)
    return robot_of_document(read_xml(text, source), source, name, base)


def check_base(source: str, base: str) -> None:
    """ConfigError for what is no base."""
    if base not in BASES:
        raise ConfigError(f"{source}: base must be one of {', '.join(BASES)}, not {base!r}")


def robot_of_document(document: Document, source: str, name: str, base: str) -> Robot:
    """The robot of a URDF that is read already; the rest is as for :func:`parse_urdf`. The document is used up."""
    # prefixes count from here on: only xacro works on names as they stand
    document = with_addresses(document)
    root = document.root
    tree = _Tree(UrdfElements(source, root), BASES[base])
    robot = tree.robot(root.get("name") or name)
    warn_of(source, [*document.remarks, *tree.warnings()])
    return robot


def name_of(path: Path) -> str:
    """The name of a robot without one, after its file; a name is text even where the file's is not."""
    # file systems hold any bytes; reports and Verilog need text
    return os.fsencode(path.stem).decode("utf-8", "replace")


class _Tree:
    """The tree of a file's links, with fixed joints merged, its root link on the joint ``carrier`` or fixed (None)."""

    def __init__(self, elements: UrdfElements, carrier: Joint | None) -> None:
        self.elements = elements
        self.carrier = carrier
        self.bodies: list[Body] = []
        self.frames: list[MergedLink] = []
        self.faults: list[str] = []

    def robot(self, name: str) -> Robot:
        """The robot of this name. UrdfError for what is not a tree, or does not move."""
        elements = self.elements
        root = self._root()
        children = self._children()
        # what a fixed base weighs has no effect, but nonsense in it is still an error
        inertia = elements.inertia(root)
        body = -1
        if self.carrier is None:
            elements.pointlike.clear()
        else:
            self._carry(root, inertia, self.carrier)
            body = 0
        # joints to visit, the next one last, each with the body and the place in it of the joint's parent link
        ahead = [(joint, body, Placement()) for joint in reversed(children[root])]
        while ahead:
            joint, body, here = ahead.pop()
            body, placement = self._add(joint, body, here @ joint.placement)
            ahead += [(below, body, placement) for below in reversed(children[joint.child])]
        if not self.bodies:
            raise UrdfError(f"{elements.source}: has no moving joint; there is nothing to compute")
        base = root if self.carrier is None else self._world()
        try:
            return Robot(name, base, tuple(self.bodies), tuple(self.frames))
        # the robot's own checks do not know the file
        except ConfigError as error:
            raise UrdfError(f"{elements.source}: {error}") from None

    def warnings(self) -> list[str]:
        """Remarks on what is odd about the robot, once it is made."""
        found = []
        massless = [body.name for body in self.bodies if body.inertia.mass == 0.0]
        if massless:
            found.append(
                f"links without mass move: {listed(massless)}; give them an <inertial> if they have one"
            )
        if self.elements.pointlike:
            links = listed(self.elements.pointlike)
            found.append(f"links with mass but no <inertia>: {links}; taken as point masses")
        if self.faults:
            found.append(
                f"inertias that no body can have: {listed(self.faults, '; ')}; "
                "inverse dynamics is defined all the same"
            )
        for what, places in self.elements.assumed.items():
            found.append(f"{what}: {listed(places)}")
        return found

    def _root(self) -> str:
        """The root link; UrdfError for what is not a tree."""
        elements = self.elements
        if not elements.links:
            raise UrdfError(f"{elements.source}: has no links; a robot needs at least one")
        carriers: dict[str, list[str]] = defaultdict(list)
        parents: dict[str, str] = {}
        for joint in elements.joints:
            carriers[joint.child].append(joint.name)
            parents[joint.child] = joint.parent
        for link, joints in carriers.items():
            if len(joints) > 1:
                names = " and ".join(map(short, joints))
                raise elements.fault(
                    f"link {short(link)}",
                    f"is the child of joints {names}; loops are not supported, cut one",
                )
        cycle = _cycle(parents)
        if cycle:
            raise elements.fault(
                f"link {short(min(cycle))}",
                "is its own ancestor; loops are not supported, cut one joint",
            )
        roots = [link for link in elements.links if link not in carriers]
        if len(roots) > 1:
            names = ", ".join(map(short, roots[:MOST_NAMED]))
            more = ", …" if len(roots) > MOST_NAMED else ""
            raise UrdfError(
                f"{elements.source}: has {len(roots)} roots: {names}{more}; "
                "connect them with joints or remove all but one"
            )
        return roots[0]

    def _children(self) -> dict[str, list[JointElement]]:
        """Each link's joints to its children, by joint name."""
        children: dict[str, list[JointElement]] = defaultdict(list)
        # Pinocchio's reader sorts so, and q, v and τ follow that order
        for joint in sorted(self.elements.joints, key=lambda j: j.name):
            children[joint.parent].append(joint)
        return children

    def _carry(self, root: str, inertia: Inertia, carrier: Joint) -> None:
        """Make the root link a body on its ``carrier``."""
        if any(joint.name == ROOT_JOINT for joint in self.elements.joints):
            raise self.elements.fault(
                f"joint {ROOT_JOINT!r}", "a mobile base's joint has that name; rename it"
            )
        self._judge(root, inertia)
        self.bodies.append(Body(root, ROOT_JOINT, carrier, -1, Placement(), inertia))

    def _add(self, joint: JointElement, body: int, placement: Placement) -> tuple[int, Placement]:
        """Add the child of ``joint``, placed in ``body``; the body that it is or belongs to, and its place in that."""
        inertia = self.elements.inertia(joint.child)
        self._judge(joint.child, inertia)
        if joint.kind == "fixed":
            # mass moves to the carrying body; the name stays, for tools and feet
            self.frames.append(MergedLink(joint.child, joint.name, body, placement))
            if body >= 0:
                merged = self.bodies[body].inertia + inertia.expressed_in(placement)
                self.bodies[body] = replace(self.bodies[body], inertia=merged)
            return body, placement
        # the fixed ones are gone by now
        kind = JOINT_TYPES[joint.kind](joint.axis)
        moving = Body(
            joint.child,
            joint.name,
            kind,
            body,
            placement,
            inertia,
            joint.limits,
            armature=_for_all(joint.rotor, kind),
            damping=_for_all(joint.damping, kind),
            friction=_for_all(joint.friction, kind),
            mimic=joint.mimic,
        )
        self.bodies.append(moving)
        return len(self.bodies) - 1, Placement()

    def _judge(self, link: str, inertia: Inertia) -> None:
        """Note what no body can have."""
        for fault in inertia_faults(inertia):
            self.faults.append(f"{plain(link)}: {fault}")

    def _world(self) -> str:
        """A name for what a mobile base moves in that no link has."""
        name = WORLD
        while name in self.elements.links:
            name += "_"
        return name


def _for_all(x: float, joint: Joint) -> tuple[float, ...]:
    """A number for each degree of freedom of ``joint``; nothing for zero."""
    return (x,) * joint.nv if x else ()


def _cycle(parents: Mapping[str, str]) -> list[str]:
    """Links that are each other's ancestors, by each link's parent; none in a tree."""
    seen: set[str] = set()
    for link in parents:
        path: list[str] = []
        # each link is walked once, so that a long chain costs no square of its length
        while link in parents and link not in seen:
            seen.add(link)
            path.append(link)
            link = parents[link]
        if link in path:
            return path[path.index(link) :]
    return []
