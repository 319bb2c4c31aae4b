"""The golden functions: shapes are checked here, the algorithms are those of :mod:`rbdgen.algo`."""

from __future__ import annotations

import numpy as np

from rbdgen.algo.rnea import Wrench
from rbdgen.algo.rnea import rnea as rnea_text
from rbdgen.errors import ConfigError
from rbdgen.model.robot import Robot

UNIT_TOLERANCE = 1e-6
"""How far (cos θ, sin θ) of a continuous joint may be from unit length."""


def _argument(name: str, value: np.ndarray, size: tuple[int, ...], batch: tuple[int, ...] | None) -> np.ndarray:
    array = np.asarray(value, float)
    own = array.shape[: array.ndim - len(size)]
    if array.ndim < len(size) or array.shape[len(own) :] != size or (batch is not None and own != batch):
        expected = "".join(f"{n}, " for n in (batch or ())) + ", ".join(map(str, size))
        lead = "" if batch is not None else "..., "
        raise ConfigError(f"{name}: must have shape ({lead}{expected}), not {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ConfigError(f"{name}: must be finite, holds {array[~np.isfinite(array)][0]}")
    return array


def rnea(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, f_ext: np.ndarray | None = None) -> np.ndarray:
    """Inverse dynamics τ = ID(q, v, a, f_ext), gravity included.

    ``q`` (..., nq), ``v`` and ``a`` (..., nv), ``f_ext`` (..., bodies, 6): external forces on the bodies in joint
    order, each [force, moment] about and in the body's joint frame, as Pinocchio's. Any equal leading shape. Returns
    (..., nv). ConfigError for a wrong shape, a value that is not finite, or a (cos, sin) that is not of unit length.
    Source: Featherstone 2008, chapter 5, in the form of :mod:`rbdgen.algo.rnea`.
    """
    q = _argument("q", q, (robot.nq,), None)
    batch = q.shape[:-1]
    v = _argument("v", v, (robot.nv,), batch)
    a = _argument("a", a, (robot.nv,), batch)
    for name, joint, part in zip(robot.joint_names, (b.joint for b in robot.bodies), robot.q_slices, strict=True):
        if joint.nq == 2:
            length = np.sum(q[..., part] ** 2, axis=-1)
            if np.any(np.abs(length - 1) > UNIT_TOLERANCE):
                worst = float(np.max(np.abs(length - 1)))
                raise ConfigError(f"q: joint {name!r} must be (cos, sin) of unit length, is off by {worst:.3g}")
    wrenches = None
    if f_ext is not None:
        f = _argument("f_ext", f_ext, (len(robot.bodies), 6), batch)
        wrenches = tuple(
            Wrench(tuple(f[..., i, k] for k in (3, 4, 5)), tuple(f[..., i, k] for k in (0, 1, 2)))
            for i in range(len(robot.bodies))
        )
    split = (tuple(np.moveaxis(x, -1, 0)) for x in (q, v, a))
    tau = rnea_text(robot, *split, f_ext=wrenches)
    return np.stack([np.broadcast_to(t, batch) for t in tau], axis=-1)
