"""MuJoCo as an oracle: inverse dynamics, nonlinear effects and mass matrix of a robot that was read from its model.

MuJoCo's velocity of a free joint has its linear part in the world's axes, its quaternions begin with w, and its joints
may be in another order. MuJoCo's constraints are disabled; joints that follow others are moved with them.
"""

from __future__ import annotations

import mujoco
import numpy as np

from rbdgen import Robot, golden
from rbdgen.model import FreeFlyer, Spherical, mujoco_joint_names


def to_mujoco(
    robot: Robot, model: mujoco.MjModel, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """MuJoCo's qpos; J (its nv × ours) with qvel = J v; and what qacc is beyond J a."""
    qpos, jacobian, bias = np.zeros(model.nq), np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
    names = mujoco_joint_names(model)
    for i, body in enumerate(robot.bodies):
        k = names.index(body.joint_name)
        to_q, to_v = int(model.jnt_qposadr[k]), int(model.jnt_dofadr[k])
        if body.mimic is not None:
            led = robot.leader(i)
            position = q[robot.q_slices[led]][0]
            qpos[to_q] = body.mimic.multiplier * position + body.mimic.offset
            jacobian[to_v, robot.v_slices[led]] = body.mimic.multiplier
            continue
        at_q, at_v = robot.q_slices[i], robot.v_slices[i]
        here, moving = q[at_q], v[at_v]
        dofs = slice(to_v, to_v + body.joint.nv)
        jacobian[dofs, at_v] = np.eye(body.joint.nv)
        if isinstance(body.joint, FreeFlyer | Spherical):
            *position, x, y, z, w = here
            here = np.array([*position, w, x, y, z])
        if isinstance(body.joint, FreeFlyer):
            turn = np.array(body.joint.placement(tuple(q[at_q])).rotation)
            linear = slice(to_v, to_v + 3)
            jacobian[linear, at_v.start : at_v.start + 3] = turn
            bias[linear] = turn @ np.cross(moving[3:], moving[:3])
        qpos[to_q : to_q + len(here)] = here
    return qpos, jacobian, bias


def reference(
    robot: Robot, model: mujoco.MjModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """τ, what of it is without acceleration, and M of MuJoCo, in our coordinates, for states in a row."""
    before = int(model.opt.disableflags)
    model.opt.disableflags = before | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data = mujoco.MjData(model)
    torques, effects, matrices = [], [], []
    for k in range(len(q)):
        qpos, jacobian, bias = to_mujoco(robot, model, q[k], v[k])
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos, jacobian @ v[k], jacobian @ a[k] + bias
        mujoco.mj_inverse(model, data)
        # passive forces are springs, dampers and fluids
        torques.append(jacobian.T @ (data.qfrc_inverse + data.qfrc_passive))
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        matrices.append(jacobian.T @ full @ jacobian)
        # in our coordinates at rest, a free joint's axes turn under it
        effects.append(jacobian.T @ (data.qfrc_bias + full @ bias))
    model.opt.disableflags = before
    return np.array(torques), np.array(effects), np.array(matrices)


def worst_errors(
    robot: Robot, model: mujoco.MjModel, count: int, seed: int = 1
) -> tuple[float, float, float]:
    """The largest differences of τ, its nonlinear effects and M at random states, relative to the largest magnitudes
    (effects to that of τ)."""
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), count, seed)
    torques, effects, matrices = reference(robot, model, q, v, a)
    off = np.max(np.abs(golden.rnea(robot, q, v, a) - torques))
    off_m = np.max(np.abs(golden.crba(robot, q) - matrices))
    off_nle = np.max(np.abs(golden.nonlinear_effects(robot, q, v) - effects))
    size = np.max(np.abs(torques))
    return float(off / size), float(off_nle / size), float(off_m / np.max(np.abs(matrices)))
