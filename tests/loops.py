"""Robots with closed loops for tests: a chain whose end is tied to its beginning, and a four-bar linkage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pinocchio as pin

from rbdgen import Robot, golden, load
from rbdgen.model import with_frames, with_loops
from rbdgen.model.load import snake_urdf

TURNED = (0.02, 0.01, -0.03, 0.1, 0.2, 0.3)
"""Where the first frame of a ring is in its link."""
ROOT = '<link name="l0"/>'
HEAVY = """<link name="l0"><inertial><mass value="2"/><inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0"
iyz="0"/></inertial></link>"""


def ring_model(links: int, base: str) -> pin.Model:
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    return pin.buildModelFromXML(_ring_urdf(links), *root)


def _ring_urdf(links: int) -> str:
    return snake_urdf(links).replace(ROOT, HEAVY)


def placed(numbers: Sequence[float]) -> pin.SE3:
    return pin.SE3(pin.rpy.rpyToMatrix(*numbers[3:]), np.array(numbers[:3]))


@lru_cache
def ring(links: int, base: str, kind: str) -> Robot:
    """A snake whose last link is tied to its first one as it is at some configuration: frames a and b."""
    robot = load(_ring_urdf(links), base=base)
    model = ring_model(links, base)
    q = golden.random_states(robot, golden.declared_ranges(robot), 1, 5)[0][0]
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    one, other = (data.oMf[model.getFrameId(link, pin.BODY)] for link in ("l1", f"l{links}"))
    there = other.inverse() * one * placed(TURNED)
    numbers = (*there.translation, *pin.rpy.matrixToRpy(there.rotation))
    robot = with_frames(robot, {"a=l1": TURNED, f"b=l{links}": numbers})
    return with_loops(robot, [f"a:b:{kind}"])


LINK = """<link name="{name}"><inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/>
<inertia ixx="1e-4" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}_joint" type="{kind}"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/><limit lower="-3.1" upper="3.1" velocity="8" effort="2"/></joint>"""


@lru_cache
def four_bar(kind: str = "xz", lengths: tuple[float, ...] = (0.28, 0.1, 0.3, 0.22)) -> Robot:
    """A four-bar linkage of ground, crank, coupler and rocker, of these ``lengths``, that turn about y."""
    ground, *own = lengths
    parts = ['<robot name="four_bar"><link name="ground"/>']
    for name, parent, x, length in zip(
        ("crank", "coupler", "rocker"), ("ground", "crank", "ground"), (0.0, own[0], ground), own, strict=True
    ):  # fmt: skip
        mass = 3.0 * length
        parts.append(
            LINK.format(name=name, half=length / 2, mass=mass, moment=mass * length**2 / 9)
        )
        turn = "continuous" if name == "crank" else "revolute"
        parts.append(JOINT.format(name=name, kind=turn, parent=parent, x=x))
    robot = load("".join(parts) + "</robot>")
    robot = with_frames(robot, {"a=coupler": (own[1], 0, 0), "b=rocker": (own[2], 0, 0)})
    return with_loops(robot, [f"a:b:{kind}"])
