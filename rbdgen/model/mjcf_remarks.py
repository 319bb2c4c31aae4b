"""What a MuJoCo model says and no rigid-body function has: named, so that nobody misses it unawares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdgen.model.mjcf_actuators import JOINT, JOINT_IN_PARENT, NO_DYNAMICS, SLIDE, is_motor
from rbdgen.model.mjcf_names import names_of
from rbdgen.model.remarks import listed


def left_out(
    model: Any, joints: Sequence[str], links: Sequence[str], followed: set[int]
) -> list[str]:
    """One remark for each kind of thing that is left out; ``followed`` are equalities that are not."""
    active = [e for e in range(model.neq) if model.eq_active0[e]]
    equalities = [e for e in active if e not in followed]
    springs = _nonzero(joints, model, "jnt_stiffness", "jnt_stiffnesspoly")
    owners = [joints[int(k)] for k in model.dof_jntid]
    nonlinear = _nonzero(owners, model, "dof_dampingpoly")
    drives = [a for a in range(len(model.actuator_dyntype)) if not is_motor(model, a)]
    states = [a for a in drives if model.actuator_dyntype[a] != NO_DYNAMICS]
    laws = [a for a in drives if a not in states]
    found = {
        "equality constraints": _called(model, "eq", equalities),
        "tendons": names_of(model, "tendon"),
        "springs of joints": springs,
        "parts of damping that are not linear, of joints": nonlinear,
        "rotors on several joints, of actuators": _rotors(model),
        "states of actuators": _called(model, "actuator", states),
        "laws of actuators": _called(model, "actuator", laws),
        "compensations of gravity, of bodies": _nonzero(links, model, "body_gravcomp"),
        "contacts of bodies": _touching(model, links),
        "sensors": names_of(model, "sensor"),
        "forces of the fluid around": _fluid(model),
    }
    remarks = [f"{what} are ignored: {listed(names)}" for what, names in found.items() if names]
    if model.nplugin:
        remarks.append(f"plugins are ignored: {model.nplugin}")
    return remarks


def _called(model: Any, kind: str, numbers: Sequence[int]) -> list[str]:
    """Names of objects of a kind by number."""
    names = names_of(model, kind)
    return [names[k] for k in numbers]


def _nonzero(owners: Sequence[str], model: Any, *keys: str) -> list[str]:
    """Owners of rows that are not zero, each once; not every version of MuJoCo has all arrays."""
    names = []
    for key in keys:
        values = getattr(model, key, None)
        if values is not None:
            names += [owner for owner, row in zip(owners, values, strict=True) if np.any(row)]
    return list(dict.fromkeys(names))


def _rotors(model: Any) -> list[str]:
    """Actuators with armature or damping whose transmission is no joint of one degree of freedom."""
    names = names_of(model, "actuator")
    heavy = _nonzero(names, model, "actuator_armature", "actuator_damping")
    found = []
    for a, name in enumerate(names):
        to_joint = model.actuator_trntype[a] in (JOINT, JOINT_IN_PARENT)
        scalar = to_joint and model.jnt_type[model.actuator_trnid[a][0]] >= SLIDE
        if name in heavy and not scalar:
            found.append(name)
    return found


def _touching(model: Any, links: Sequence[str]) -> list[str]:
    """Bodies with geoms that can touch others."""
    able = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return [links[i] for i in sorted({int(i) for i in model.geom_bodyid[able]})]


def _fluid(model: Any) -> list[str]:
    """What says that the robot is in a fluid."""
    option = model.opt
    keys = ("density", "viscosity", "wind")
    return [key for key in keys if np.any(getattr(option, key))]
