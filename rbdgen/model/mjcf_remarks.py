"""What a MuJoCo model says and no rigid-body function has: named, so that nobody misses it unawares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rbdgen.model.mjcf_actuators import JOINT, JOINT_IN_PARENT, NO_DYNAMICS, SLIDE, is_motor
from rbdgen.model.remarks import listed


def left_out(
    model: Any, joints: Sequence[str], links: Sequence[str], followed: set[int]
) -> list[str]:
    """One remark for each kind of thing that is left out; ``followed`` are equalities that are not."""
    equalities = [e for e in range(model.neq) if e not in followed]
    tendons = range(model.ntendon)
    springs = _nonzero(joints, model, "jnt_stiffness", "jnt_stiffnesspoly")
    nonlinear = _nonzero([joints[k] for k in model.dof_jntid], model, "dof_dampingpoly")
    drives = [a for a in range(len(model.actuator_dyntype)) if not is_motor(model, a)]
    states = [a for a in drives if model.actuator_dyntype[a] != NO_DYNAMICS]
    laws = [a for a in drives if a not in states]
    found = {
        "equality constraints": _called(model.eq, equalities, "equality"),
        "tendons": _called(model.tendon, tendons, "tendon"),
        "springs, at joints": springs,
        "damping that is not linear in the velocity, at joints": nonlinear,
        "rotors that turn several joints, of actuators": _rotors(model),
        "states of actuators": _called(model.actuator, states, "actuator"),
        "laws of actuators, whose forces are operands": _called(model.actuator, laws, "actuator"),
        "compensation of gravity, of bodies": _nonzero(links, model, "body_gravcomp"),
        "contacts, of bodies": _touching(model, links),
        "sensors": _called(model.sensor, range(model.nsensor), "sensor"),
        "forces of the fluid around": _fluid(model),
    }
    remarks = [f"{what} are ignored: {listed(names)}" for what, names in found.items() if names]
    if model.nplugin:
        remarks.append(f"plugins are ignored: {model.nplugin}")
    return remarks


def _called(view: Callable[[int], Any], numbers: Sequence[int], kind: str) -> list[str]:
    """Names of objects by number; those without one are called by it."""
    return [view(k).name or f"{kind}{k}" for k in numbers]


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
    names = []
    for key in ("actuator_armature", "actuator_damping"):
        for a, row in enumerate(getattr(model, key, ())):
            to_joint = model.actuator_trntype[a] in (JOINT, JOINT_IN_PARENT)
            scalar = to_joint and model.jnt_type[model.actuator_trnid[a][0]] >= SLIDE
            if np.any(row) and not scalar:
                names.append(model.actuator(a).name or f"actuator{a}")
    return list(dict.fromkeys(names))


def _touching(model: Any, links: Sequence[str]) -> list[str]:
    """Bodies with geoms that can touch others."""
    able = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    return [links[i] for i in sorted({int(i) for i in model.geom_bodyid[able]})]


def _fluid(model: Any) -> list[str]:
    """What says that the robot is in a fluid."""
    option = model.opt
    keys = ("density", "viscosity", "wind")
    return [key for key in keys if np.any(getattr(option, key))]
