"""What a MuJoCo model's actuators say of the joints that they drive: the largest force, rotor inertia, damping."""

from __future__ import annotations

from typing import Any

import numpy as np

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
