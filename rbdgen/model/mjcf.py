"""Reads MuJoCo's models, MJCF files among them, into a :class:`~rbdgen.model.robot.Robot`.

MuJoCo's own compiler reads the file: defaults, includes, meshes and inertias from geoms are its affair. Of the compiled
model, bodies, joints, inertias, armature, damping, dry friction, limits and gravity are taken. Joints on one body
become a chain, bodies without a joint are merged into what carries them. Active equalities of two bodies or sites close
loops: ``connect`` holds a point, ``weld`` a frame. Bodies come depth first, siblings by joint
name, which need not be the file's order.

Conventions. A joint's q is MuJoCo's qpos, ``ref`` included. Quaternions are x, y, z, w here and w, x, y, z in MuJoCo.
The velocity of a free joint is Pinocchio's: linear and angular in the body's axes; MuJoCo has the linear part in the
world's. Armature is added to the mass matrix's diagonal, as in MuJoCo.

What is no rigid body or changes no function of one is left out with a remark (:mod:`rbdgen.model.mujoco_model`).
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbdgen.errors import ConfigError, UnsupportedError, UrdfError, listed, plain, short, warn_of
from rbdgen.installation import optional_module
from rbdgen.model.body import Body, Inertia, Limits, MergedLink, Mimic, Placement, inertia_faults
from rbdgen.model.joints import FreeFlyer, Joint, Prismatic, Revolute, Spherical
from rbdgen.model.mujoco_model import Actuators, given_names, left_out, model_name, names_of
from rbdgen.model.rigid_motions import about_axis, quaternion_matrix
from rbdgen.model.robot import Robot
from rbdgen.model.task_frames import CONTACT_AXES, FULL, POINT, Anchor, with_anchored_loop
from rbdgen.model.urdf import BASES, ROOT_JOINT, name_of
from rbdgen.model.urdf_elements import check_directions, check_numbers, unless_zero
from rbdgen.operands import LARGEST
from rbdgen.protocol.identifiers import unused
from rbdgen.spatial import IDENTITY3, ZERO3, Vector, constant_matrix, constant_vector

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's types of joints (mjtJoint)."""
VELOCITIES = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
"""Degrees of freedom of each."""
CONNECT, WELD, FOLLOWS = range(3)
"""MuJoCo's types of equalities: of two points, two frames, two joints (mjtEq)."""
HELD = {CONNECT: CONTACT_AXES[POINT], WELD: CONTACT_AXES[FULL]}
"""Axes of the loops that they close."""
SITE = 6
"""MuJoCo's type of sites (mjtObj)."""
NO_GRAVITY = 1 << 7
"""MuJoCo's flag that disables gravity (mjtDisableBit)."""


def load_mjcf(path: str | Path, base: str = "fixed") -> Robot:
    """The robot of an MJCF file. ``base`` "floating" or "planar" puts its one body that is fixed to the world on such a
    joint; a file with a free joint has a floating base already and keeps it.

    UrdfError for a file that MuJoCo does not compile, UnsupportedError for what rbdgen does not do, ToolError without
    MuJoCo. Warns (RobotWarning) once, of all that is left out.
    """
    path = Path(path)
    # as bytes: a path need not be text
    model = _compiled(str(path), "MjModel", "from_xml_path", os.fsencode(path))
    return robot_of_mujoco(model, str(path), name_of(path), base)


def parse_mjcf(text: str, source: str, name: str = "robot", base: str = "fixed") -> Robot:
    """The robot of MJCF ``text``; ``source`` is what errors call it, ``name`` the robot's if the text gives none.

    Errors and warnings are those of :func:`load_mjcf`."""
    model = _compiled(source, "MjModel", "from_xml_string", text)
    return robot_of_mujoco(model, source, name, base)


def robot_of_mujoco(
    model: Any, source: str = "MuJoCo", name: str = "robot", base: str = "fixed"
) -> Robot:
    """The robot of a ``mujoco.MjModel``, or of a ``mujoco.MjSpec``, which is compiled.

    Errors and warnings are those of :func:`load_mjcf`."""
    if base not in BASES:
        raise ConfigError(f"{source}: base must be one of {', '.join(BASES)}, not {base!r}")
    if type(model).__name__ == "MjSpec":
        model = _compiled(source, "MjSpec", "compile", model)
    reader = _Reader(model, source)
    robot = reader.robot(name, base)
    warn_of(source, reader.remarks())
    return robot


def mujoco_joint_names(model: Any) -> list[str]:
    """The names that a robot of this ``mujoco.MjModel`` has for its joints, in MuJoCo's order: the file's, and for
    joints without one names after their bodies; a lone free joint is "root_joint"."""
    links = names_of(model, "body")
    defaults = []
    for k, i in enumerate(model.jnt_bodyid):
        number = k - model.body_jntadr[i] + 1
        several = model.body_jntnum[i] > 1
        defaults.append(f"{links[i]}_joint{number if several else ''}")
    free = [k for k in range(model.njnt) if model.jnt_type[k] == FREE]
    if len(free) == 1:
        defaults[free[0]] = ROOT_JOINT
    return names_of(model, "jnt", defaults)


def _compiled(source: str, kind: str, how: str, what: Any) -> Any:
    """The result of MuJoCo's method ``how`` of its class ``kind`` for ``what``."""
    mujoco = optional_module("mujoco", "mujoco")
    before = mujoco.get_mju_user_warning()
    # else MuJoCo writes its warnings into a file where the user happens to be
    mujoco.set_mju_user_warning(lambda line: None)
    try:
        return getattr(getattr(mujoco, kind), how)(what)
    except Exception as error:  # its compiler raises many kinds
        line = " ".join(str(error).split())
        raise UrdfError(
            f"{source}: MuJoCo does not compile it: {line}; mend the file at that place"
        ) from None
    finally:
        mujoco.set_mju_user_warning(before)


class _Reader:
    """One compiled model, and the bodies and frames that have been made of it."""

    def __init__(self, model: Any, source: str) -> None:
        self.model = model
        self.source = source
        self.bodies: list[Body] = []
        self.frames: list[MergedLink] = []
        self.faults: list[str] = []
        self.massless: list[str] = []
        self.links = names_of(model, "body")
        # before names and numbers: what is refused may have neither
        self._refuse()
        self.joints = mujoco_joint_names(model)
        self.taken = set(self.links)
        self._check_numbers()
        self.actuators = Actuators(model)
        self.children: list[list[int]] = [[] for _ in self.links]
        for i in range(1, model.nbody):
            self.children[model.body_parentid[i]].append(i)
        for below in self.children:
            # as readers of URDF sort them, so that both give the same q
            below.sort(key=self._order)
        self.kept, self.mimics = self._mimics()
        self.placed: dict[int, Anchor] = {0: (-1, Placement())}
        self.site_names = given_names(model, "site")
        self.sites: dict[int, list[int]] = {}
        for k, name in enumerate(self.site_names):
            if name:
                self.sites.setdefault(int(model.site_bodyid[k]), []).append(k)

    def robot(self, name: str, base: str) -> Robot:
        """The robot, called ``name`` if the file gives no name. UrdfError for what does not move."""
        model = self.model
        carried = self._carried(base)
        # bodies to visit, the next one last, each with the body and the place in it of its parent
        ahead = [(i, -1, Placement()) for i in reversed(self.children[0])]
        while ahead:
            i, parent, here = ahead.pop()
            # places of bodies without a joint add up until a moving one takes them
            here = here @ _placed(model.body_pos[i], model.body_quat[i])
            carrier = BASES[base] if i == carried else None
            parent, here = self._add(i, parent, here, carrier)
            self.placed[i] = parent, here
            self._add_sites(i, parent, here)
            ahead += [(below, parent, here) for below in reversed(self.children[i])]
        if not self.bodies:
            raise UrdfError(f"{self.source}: has no moving joint; there is nothing to compute")
        gravity = constant_vector(model.opt.gravity)
        # the vector stays in the file when the flag is set
        if int(model.opt.disableflags) & NO_GRAVITY:
            gravity = ZERO3
        robot = Robot(
            model_name(model) or name,
            self.links[0],
            tuple(self.bodies),
            tuple(self.frames),
            gravity,
        )
        return self._with_loops(robot)

    def remarks(self) -> list[str]:
        """Remarks on what is odd about the model or left out, once the robot is made."""
        found = []
        if self.massless:
            found.append(f"bodies without mass move: {listed(self.massless)}")
        if self.faults:
            found.append(f"inertias that no body can have: {listed(self.faults, '; ')}")
        return found + left_out(self.model, self.joints, self.links, self.kept)

    def _with_loops(self, robot: Robot) -> Robot:
        """``robot`` with the loops that active equalities close between bodies that can move against each other."""
        model = self.model
        names = names_of(model, "eq")
        for e in range(model.neq):
            kind = int(model.eq_type[e])
            if kind not in HELD or not model.eq_active0[e]:
                continue
            first, second = self._ends(e, kind)
            if first[0] != second[0]:
                self.kept.add(e)
                robot = with_anchored_loop(robot, names[e], first, second, HELD[kind])
        return robot

    def _ends(self, e: int, kind: int) -> tuple[Anchor, Anchor]:
        """Where an equality holds two bodies together."""
        model = self.model
        one, other = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        if int(model.eq_objtype[e]) == SITE:
            return self._site(one), self._site(other)
        data = np.asarray(model.eq_data[e], float)
        upright = np.array([1.0, 0.0, 0.0, 0.0])
        places = _placed(data[:3], upright), _placed(data[3:6], upright)
        if kind == WELD:
            # the anchor is the second body's, and where that is in the first one
            places = _placed(data[3:6], data[6:10]), _placed(data[:3], upright)
        return self._inside(one, places[0]), self._inside(other, places[1])

    def _site(self, k: int) -> Anchor:
        model = self.model
        place = _placed(model.site_pos[k], model.site_quat[k])
        return self._inside(int(model.site_bodyid[k]), place)

    def _inside(self, i: int, place: Placement) -> Anchor:
        """A place in MuJoCo's body ``i``, in the body that it is or belongs to."""
        body, here = self.placed[i]
        return body, here @ place

    def _order(self, i: int) -> str:
        """The key by which siblings are sorted: the name of the joint that carries a body."""
        first = self.model.body_jntadr[i]
        return self.joints[first] if first >= 0 else self.links[i]

    def _refuse(self) -> None:
        """UnsupportedError for what is another robot without."""
        model = self.model
        mocap = [self.links[i] for i in range(model.nbody) if model.body_mocapid[i] >= 0]
        if mocap:
            raise UnsupportedError(
                f"{self.source}: mocap bodies are moved from outside, which is not supported: "
                f"{listed(mocap)}; remove mocap, or give the body a joint"
            )
        if getattr(model, "nflex", 0):
            names = listed(names_of(model, "flex"))
            raise UnsupportedError(
                f"{self.source}: deformable bodies are not supported: {names}; remove them"
            )

    def _check_numbers(self) -> None:
        """UrdfError for numbers that MuJoCo lets pass and nothing can be computed with."""
        model = self.model
        bodies = [f"body {short(link)}" for link in self.links]
        for what in ("body_pos", "body_ipos"):
            self._check(bodies, what, getattr(model, what))
        for what in ("body_quat", "body_iquat"):
            self._check_directions(bodies, what, getattr(model, what))
        for what in ("body_mass", "body_inertia"):
            self._check(bodies, what, getattr(model, what), 0.0)
        joints = [f"joint {short(joint)}" for joint in self.joints]
        sites = [f"site {k}" for k in range(model.nsite)]
        self._check(sites, "site_pos", model.site_pos)
        self._check_directions(sites, "site_quat", model.site_quat)
        self._check(joints, "jnt_pos", model.jnt_pos)
        self._check_directions(joints, "jnt_axis", model.jnt_axis)
        references = [model.qpos0[a] for a in model.jnt_qposadr]
        self._check(joints, "jnt_ref", references)
        moving = [joints[k] for k in model.dof_jntid]
        for what in ("dof_armature", "dof_damping", "dof_frictionloss"):
            self._check(moving, what, getattr(model, what), 0.0)
        self._check(["option"], "opt_gravity", [model.opt.gravity])

    def _check(self, where: list[str], what: str, values: Any, least: float = -LARGEST) -> None:
        """The same for rows of numbers, named after the rows' owners."""
        key = what.partition("_")[2]
        for owner, row in zip(where, values, strict=True):
            check_numbers(f"{self.source}: {owner}", key, row, least)

    def _check_directions(self, where: list[str], what: str, values: Any) -> None:
        """The same for quaternions and axes, which have a length."""
        key = what.partition("_")[2]
        for owner, row in zip(where, values, strict=True):
            check_directions(f"{self.source}: {owner}", key, row)

    def _mimics(self) -> tuple[set[int], dict[int, Mimic]]:
        """The equalities by number that say that a joint follows another, and what each such joint follows."""
        model = self.model
        followed: set[int] = set()
        mimics: dict[int, Mimic] = {}
        for e in range(model.neq):
            joint, leader = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
            if model.eq_type[e] != FOLLOWS or not model.eq_active0[e]:
                continue
            offset, multiplier, *rest = (float(x) for x in model.eq_data[e][:5])
            # a multiplier of zero is no mimic: the joint would stand still
            if leader < 0 or joint in mimics or any(rest) or not multiplier:
                continue
            # MuJoCo takes both positions relative to their references
            offset += self._reference(joint) - multiplier * self._reference(leader)
            followed.add(e)
            mimics[joint] = Mimic(self.joints[leader], multiplier, offset)
        return followed, mimics

    def _reference(self, k: int) -> float:
        """The position of a scalar joint in the file's configuration."""
        return float(self.model.qpos0[self.model.jnt_qposadr[k]])

    def _carried(self, base: str) -> int:
        """The body that a mobile ``base`` carries; 0 for none. ConfigError where there is no such body."""
        model = self.model
        if base == "fixed":
            return 0
        if any(model.jnt_type == FREE):
            # asked for what is there already
            if base == "floating":
                return 0
            raise ConfigError(
                f"{self.source}: base {base!r}: the file has a free joint; give it base 'floating' or 'fixed'"
            )
        # bodies right below the world that something moves hang on
        moving = {int(model.body_rootid[i]) for i in model.jnt_bodyid}
        root = min(moving, default=0)
        if len(moving) != 1 or model.body_jntnum[root]:
            raise ConfigError(
                f"{self.source}: base {base!r}: no body is fixed to the world and carries all joints; "
                "put such a body into the file, or give it a <freejoint>"
            )
        if ROOT_JOINT in self.joints:
            raise ConfigError(
                f"{self.source}: joint {ROOT_JOINT!r}: a mobile base's joint has that name; rename it"
            )
        return root

    def _add_sites(self, i: int, parent: int, here: Placement) -> None:
        """Add the named sites of body ``i``, at ``here`` in body ``parent``, as frames."""
        model = self.model
        for k in self.sites.get(i, ()):
            place = here @ _placed(model.site_pos[k], model.site_quat[k])
            name = unused(self.site_names[k], self.taken)
            self.frames.append(MergedLink(name, "", parent, place))

    def _add(
        self, i: int, parent: int, here: Placement, carrier: Joint | None
    ) -> tuple[int, Placement]:
        """Add body ``i``, placed in body ``parent``; the body that it is or belongs to, and its place in that."""
        model = self.model
        inertia = self._inertia(i)
        link = self.links[i]
        if carrier is not None:
            self.bodies.append(Body(link, ROOT_JOINT, carrier, -1, Placement(), inertia))
            return len(self.bodies) - 1, Placement()
        count = int(model.body_jntnum[i])
        if not count:
            self.frames.append(MergedLink(link, f"{link}_fixed", parent, here))
            if parent >= 0:
                merged = self.bodies[parent].inertia + inertia.expressed_in(here)
                self.bodies[parent] = replace(self.bodies[parent], inertia=merged)
            return parent, here
        first = int(model.body_jntadr[i])
        for number, k in enumerate(range(first, first + count), 1):
            name = link if number == count else unused(f"{link}_{number}", self.taken)
            # each joint of a chain stands in the frame that the one before left
            joint, before, after = self._joint(k, here)
            self.bodies.append(self._body(name, k, joint, parent, before))
            parent, here = len(self.bodies) - 1, after
        self.bodies[parent] = replace(self.bodies[parent], inertia=inertia.expressed_in(here))
        if inertia.mass == 0.0:
            self.massless.append(link)
        return parent, here

    def _joint(self, k: int, here: Placement) -> tuple[Joint, Placement, Placement]:
        """Joint ``k`` of a body whose frame is at ``here`` in the body before: the joint, its predecessor frame in the
        body before, and the body's frame in its child frame."""
        model = self.model
        kind = int(model.jnt_type[k])
        if kind == FREE:
            # a free joint's qpos is the body's place in the world: the file's place is only its start
            return FreeFlyer(), Placement(), Placement()
        axis = _unit(model.jnt_axis[k])
        anchor = constant_vector(model.jnt_pos[k])
        reference = self._reference(k)
        if kind == SLIDE:
            # so that q is MuJoCo's: at the reference, the body is where the file places it
            back = constant_vector(-reference * np.array(axis))
            return Prismatic(axis), here @ Placement(IDENTITY3, back), Placement()
        behind = Placement(IDENTITY3, constant_vector(-np.array(anchor)))
        before = here @ Placement(IDENTITY3, anchor)
        if kind == BALL:
            return Spherical(), before, behind
        # q is qpos, which begins at the reference: the body is turned back by that
        if reference:
            turned = about_axis(axis, math.cos(reference), -math.sin(reference))
            before = before @ Placement(constant_matrix(turned))
        return Revolute(axis), before, behind

    def _body(self, name: str, k: int, joint: Joint, parent: int, placement: Placement) -> Body:
        """A body without mass on joint ``k``."""
        model = self.model
        first = int(model.jnt_dofadr[k])
        dofs = slice(first, first + VELOCITIES[int(model.jnt_type[k])])
        armature = model.dof_armature[dofs] + self.actuators.armature(k)
        damping = model.dof_damping[dofs] + self.actuators.damping(k)
        friction = model.dof_frictionloss[dofs]
        return Body(
            name,
            self.joints[k],
            joint,
            parent,
            placement,
            Inertia(),
            self._limits(k),
            unless_zero(armature),
            unless_zero(damping),
            unless_zero(friction),
            self.mimics.get(k),
        )

    def _limits(self, k: int) -> Limits:
        """The range of a scalar joint, and the largest force on it."""
        model = self.model
        if model.jnt_type[k] not in (SLIDE, HINGE):
            return Limits()
        lower, upper = None, None
        if model.jnt_limited[k]:
            lower, upper = (float(x) for x in model.jnt_range[k])
        return Limits(lower, upper, None, self.actuators.effort(k))

    def _inertia(self, i: int) -> Inertia:
        """The inertia of a body in its own frame."""
        model = self.model
        at = _placed(model.body_ipos[i], model.body_iquat[i])
        rotation = np.array(at.rotation)
        # MuJoCo keeps principal moments, in a frame of their own
        moments = rotation @ np.diag(model.body_inertia[i]) @ rotation.T
        inertia = Inertia.from_com(float(model.body_mass[i]), np.array(at.translation), moments)
        for fault in inertia_faults(inertia):
            self.faults.append(f"{plain(self.links[i])}: {fault}")
        return inertia


def _placed(position: np.ndarray, quaternion: np.ndarray) -> Placement:
    """MuJoCo's position and quaternion (w, x, y, z, of any length)."""
    w, x, y, z = (float(c) for c in quaternion / np.linalg.norm(quaternion))
    rotation = constant_matrix(quaternion_matrix((x, y, z, w)))
    return Placement(rotation, constant_vector(position))


def _unit(axis: np.ndarray) -> Vector:
    """The direction of an axis."""
    return constant_vector(axis / np.linalg.norm(axis))
