"""A compiled model of MuJoCo's beside its tree of bodies: names, actuators, and what no rigid-body function has.

Names are the file's, and others, always the same ones, for what has none. Whatever is left out is named, so that nobody
misses it unawares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdgen.errors import listed
from rbdgen.protocol.identifiers import unused

UNNAMED = "MuJoCo Model"
"""MuJoCo's name of a model without one."""


def model_name(model: Any) -> str:
    """The model's name; empty if it has none."""
    name = _name_at(model, 0)
    return "" if name == UNNAMED else name


def names_of(model: Any, kind: str, defaults: Sequence[str] = ()) -> list[str]:
    """Names of all objects of a ``kind``, as MuJoCo's arrays are called ("jnt", "body"). Those without one are called
    by the ``defaults``, or by their kind and number."""
    given = given_names(model, kind)
    taken = set(given)
    names = []
    for k, name in enumerate(given):
        default = defaults[k] if defaults else f"{kind}{k}"
        names.append(name or unused(default, taken))
    return names


def given_names(model: Any, kind: str) -> list[str]:
    """Names of all objects of a ``kind`` as the file has them, empty where it has none."""
    return [_name_at(model, address) for address in getattr(model, f"name_{kind}adr")]


def _name_at(model: Any, address: int) -> str:
    """The name that begins at a place of the model's buffer of names."""
    end = model.names.index(b"\0", address)
    return model.names[address:end].decode(errors="replace")


JOINT, JOINT_IN_PARENT = 0, 1
"""MuJoCo's transmissions to a joint (mjtTrn)."""
SLIDE = 2
"""MuJoCo's first type of joints with one degree of freedom (mjtJoint)."""
FIXED_GAIN, NO_BIAS = 0, 0
"""MuJoCo's laws of a plain motor (mjtGain, mjtBias): force is a factor times the control."""
NO_DYNAMICS = 0
"""MuJoCo's law of an actuator without a state (mjtDyn)."""


def is_motor(model: Any, a: int) -> bool:
    """Whether the force of actuator ``a`` is a factor times its control."""
    plain = model.actuator_gaintype[a] == FIXED_GAIN and model.actuator_biastype[a] == NO_BIAS
    return bool(plain and model.actuator_dyntype[a] == NO_DYNAMICS)


class Actuators:
    """The actuators of a model, by the joint of one degree of freedom that they drive."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.drivers: dict[int, list[int]] = {}
        for a, kind in enumerate(model.actuator_trntype):
            joint = int(model.actuator_trnid[a][0])
            if kind in (JOINT, JOINT_IN_PARENT) and model.jnt_type[joint] >= SLIDE:
                self.drivers.setdefault(joint, []).append(a)

    def armature(self, k: int) -> float:
        """Rotor inertia of the actuators of joint ``k`` (kg·m² or kg), as far as it is theirs."""
        return self._reflected("actuator_armature", k)

    def damping(self, k: int) -> float:
        """Damping of the actuators of joint ``k`` (N·m·s or N·s/m), as far as it is theirs."""
        return self._reflected("actuator_damping", k)

    def effort(self, k: int) -> float | None:
        """The largest force on scalar joint ``k`` (N·m or N): what the joint allows, or else what its actuators can do
        together; None where either is unlimited."""
        model = self.model
        if model.jnt_actfrclimited[k]:
            return float(np.max(np.abs(model.jnt_actfrcrange[k])))
        largest = [self._largest(a) for a in self.drivers.get(k, ())]
        if not largest or None in largest:
            return None
        return float(sum(filter(None, largest)))

    def _reflected(self, what: str, k: int) -> float:
        """The sum of a property of actuators, by the square of their gears. MuJoCo before 4 has none."""
        values = getattr(self.model, what, None)
        if values is None:
            return 0.0
        gears = self.model.actuator_gear
        # atleast_1d: damping may come as a polynomial, whose first coefficient is the linear one
        return sum(
            float(gears[a][0] ** 2 * np.atleast_1d(values[a])[0]) for a in self.drivers.get(k, ())
        )

    def _largest(self, a: int) -> float | None:
        """The largest force of an actuator on its joint; None if it is unlimited, or follows a law of its own."""
        model = self.model
        gear = abs(float(model.actuator_gear[a][0]))
        if model.actuator_forcelimited[a]:
            return gear * float(np.max(np.abs(model.actuator_forcerange[a])))
        if is_motor(model, a) and model.actuator_ctrllimited[a]:
            gain = abs(float(model.actuator_gainprm[a][0]))
            return gear * gain * float(np.max(np.abs(model.actuator_ctrlrange[a])))
        return None


def left_out(model: Any, joints: Sequence[str], links: Sequence[str], kept: set[int]) -> list[str]:
    """One remark for each kind of thing that is left out; ``kept`` are equalities that are not."""
    active = [e for e in range(model.neq) if model.eq_active0[e]]
    equalities = [e for e in active if e not in kept]
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
    """Options that put the robot into a fluid."""
    option = model.opt
    keys = ("density", "viscosity", "wind")
    return [key for key in keys if np.any(getattr(option, key))]
