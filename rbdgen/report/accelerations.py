"""How far torques inside their limits take joints beyond the accelerations that are declared, and what that costs."""

from __future__ import annotations

import numpy as np

from rbdgen import golden
from rbdgen.compiler import Design
from rbdgen.model.robot import dof_names
from rbdgen.trials import task_states

ACCELERATED = 8.0
"""How many times its declared acceleration a joint may reach before that is worth a note."""
REACHING = 512
"""States by which accelerations are found."""


def reached_accelerations(design: Design) -> np.ndarray:
    """The largest acceleration of each degree of freedom (nv) that torques inside their limits cause, among some
    states; zeros where no function takes torques."""
    largest = np.zeros(design.robot.nv)
    if any(f.takes_torques for f in design.network.options.records):
        s = task_states(design, REACHING, design.options.seed)
        reached = golden.forward_dynamics(design.robot, s.q, s.v, s.tau, s.f_ext, root=s.root)
        largest = np.max(np.abs(reached), axis=0)
    return largest


def acceleration_note(design: Design) -> str | None:
    """A line on the joint whose torques take it farthest beyond its declared acceleration; None where none goes far."""
    declared = np.array(design.ranges.a_max)
    reached = reached_accelerations(design)
    k = int(np.argmax(reached / declared))
    times = reached[k] / declared[k]
    if times < ACCELERATED:
        return None
    joint = dof_names(design.robot, list(design.robot.joint_names))[k]
    effort = design.network.torque_limits[k]
    return (
        f"torques up to {effort:.4g} accelerate {joint} to {reached[k]:.3g}, {declared[k]:g} is declared: that takes "
        f"{np.log2(times):.1f} bits of every acceleration; a smaller effort under [joints] in a config bounds "
        f"it, or --ranges motion with an acceleration of as much as you need (here {reached[k]:.2g})"
    )
