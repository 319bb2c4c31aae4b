"""A serial chain as arrays: transforms, motion subspaces and inertias of all links, ready for vectorised steps.

Spatial quantities are Featherstone's (2008, chapter 2), angular part first, each link's in its own joint's child frame.
Arrays put the link first: (links, *batch, ...), so that a step is one operation over the whole first axis. Joints of
several degrees of freedom are padded to the widest one with zero columns; ``free`` says which columns are real.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.model.robot import Inertia, Placement, Robot
from rbdgen.parallel.arguments import array, configuration, serial_chain

SWAP = np.array([3, 4, 5, 0, 1, 2])
"""From [linear, angular] to [angular, linear] and back."""

SMALLEST_MOMENT = 1e-12
"""A principal moment at or below this, relative to the largest moment of the link about its frame, counts as zero."""


def skew(r: np.ndarray) -> np.ndarray:
    """r × as matrices (..., 3, 3) of vectors (..., 3)."""
    result = np.zeros((*r.shape, 3))
    result[..., 0, 1], result[..., 0, 2] = -r[..., 2], r[..., 1]
    result[..., 1, 0], result[..., 1, 2] = r[..., 2], -r[..., 0]
    result[..., 2, 0], result[..., 2, 1] = -r[..., 1], r[..., 0]
    return result


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b over leading shapes (numpy's cross is several times slower)."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def motion_cross(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    """v × m of motion vectors (..., 6)."""
    angular = _cross(v[..., :3], m[..., :3])
    return np.concatenate([angular, _cross(v[..., :3], m[..., 3:]) + _cross(v[..., 3:], m[..., :3])], axis=-1)


def force_cross(v: np.ndarray, f: np.ndarray) -> np.ndarray:
    """v ×* f of a motion and a force vector (..., 6)."""
    moment = _cross(v[..., :3], f[..., :3]) + _cross(v[..., 3:], f[..., 3:])
    return np.concatenate([moment, _cross(v[..., :3], f[..., 3:])], axis=-1)


def times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrices (..., m, k) times vectors (..., k)."""
    return np.matmul(matrices, vectors[..., None])[..., 0]


def transposed(matrices: np.ndarray) -> np.ndarray:
    """Matrices (..., m, k) as (..., k, m)."""
    return np.swapaxes(matrices, -1, -2)


def motion_transform(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """Motion vectors of the outer frame into the inner one, (..., 6, 6), from the inner frame's placement in the outer.

    Its transpose takes forces of the inner frame into the outer one.
    """
    inward = transposed(rotation)
    result = np.zeros((*rotation.shape[:-2], 6, 6))
    result[..., :3, :3] = inward
    result[..., 3:, 3:] = inward
    result[..., 3:, :3] = -inward @ skew(translation)
    return result


def placement_transform(placement: Placement) -> np.ndarray:
    """:func:`motion_transform` of a constant placement, (6, 6)."""
    return motion_transform(np.array(placement.rotation), np.array(placement.translation))


def spatial_inertia(inertia: Inertia) -> np.ndarray:
    """The 6×6 spatial inertia about the link's frame."""
    h = skew(np.array(inertia.first_moment))
    return np.block([[inertia.rotational, h], [h.T, inertia.mass * np.eye(3)]])


def rounding(inertias: np.ndarray) -> np.ndarray:
    """What is left of a joint's inertia (...) when it has none, from 6×6 inertias (..., 6, 6): their rounding."""
    return 8 * np.finfo(float).eps * np.max(np.abs(inertias), axis=(-1, -2))


@dataclass(frozen=True, eq=False)
class Chain:
    """All links of a serial chain at given configurations.

    ``robot``; ``batch`` shape; ``transforms`` (n, *batch, 6, 6): motion from link i − 1 (the base for i = 0) into link
    i; ``subspace`` S (n, *1, 6, s): motion subspaces, zero columns beyond a joint's degrees of freedom; ``free``
    (n, s): which columns are real; ``inertias`` (n, *1, 6, 6). Here *1 stands for as many ones as the batch has axes.
    """

    robot: Robot
    batch: tuple[int, ...]
    transforms: np.ndarray
    subspace: np.ndarray
    free: np.ndarray
    inertias: np.ndarray

    @property
    def links(self) -> int:
        """Number of links n."""
        return len(self.robot.bodies)

    @cached_property
    def base_acceleration(self) -> np.ndarray:
        """−gravity as the base's spatial acceleration (6), which makes gravity a motion of the base."""
        return np.concatenate([np.zeros(3), -np.array(self.robot.gravity)])

    @cached_property
    def _columns(self) -> np.ndarray:
        """For each (link, column) its place in the generalised vectors; nv where there is no such column."""
        places = np.full(self.free.shape, self.robot.nv)
        places[self.free] = np.arange(self.robot.nv)
        return places

    def per_link(self, x: np.ndarray) -> np.ndarray:
        """A generalised vector (*batch, nv) by link, (n, *batch, s), zero in columns that are not real."""
        padded = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
        return np.moveaxis(padded[..., self._columns], -2, 0)

    def generalised(self, x: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`per_link`: (n, *batch, s, ...) to (*batch, nv, ...)."""
        tail = x.ndim - 2 - len(self.batch)
        moved = np.moveaxis(x, 0, len(self.batch))
        flat = moved.reshape(*self.batch, self.free.size, *x.shape[x.ndim - tail :])
        return np.compress(self.free.ravel(), flat, axis=len(self.batch))

    def wide(self, x: np.ndarray) -> np.ndarray:
        """A constant per link (n, ...) with room for the batch, (n, *1, ...)."""
        return _wide(x, len(self.batch))

    @cached_property
    def dual_subspace(self) -> np.ndarray:
        """S (SᵀS)⁻¹ (n, *1, 6, s): a joint's forces as wrenches that do no work on what the joint keeps from moving."""
        gram = transposed(self.subspace) @ self.subspace + self.wide(_pads(self.free))
        return self.subspace @ np.linalg.inv(gram)

    @cached_property
    def constrained(self) -> np.ndarray:
        """(n, c), c = 6 − fewest degrees of freedom, but at least 1: which columns of :attr:`complement` are real."""
        held = 6 - self.free.sum(axis=1)
        return np.arange(max(1, int(held.max()))) < held[:, None]

    @cached_property
    def complement(self) -> np.ndarray:
        """W (n, *1, 6, c): an orthonormal basis of the forces that the joint passes on whatever its motion, WᵀS = 0;
        zero columns beyond a joint's constraints."""
        result = np.zeros((self.links, 6, self.constrained.shape[1]))
        subspace = self.subspace.reshape(self.links, 6, -1)
        for i, (columns, held) in enumerate(zip(self.free, self.constrained, strict=True)):
            basis = np.linalg.qr(subspace[i][:, columns], mode="complete")[0]
            result[i][:, held] = basis[:, int(columns.sum()) :]
        return self.wide(result)

    @cached_property
    def inverse_inertias(self) -> np.ndarray:
        """I⁻¹ (n, *1, 6, 6), through the centre of mass. SingularityError naming a link without mass or moment."""
        result = np.zeros((self.links, 6, 6))
        for i, body in enumerate(self.robot.bodies):
            result[i] = _inverse_inertia(body.name, body.inertia)
        return self.wide(result)


def _wide(x: np.ndarray, axes: int) -> np.ndarray:
    return x.reshape(x.shape[0], *(1,) * axes, *x.shape[1:])


def _pads(free: np.ndarray) -> np.ndarray:
    """Ones on the diagonal (n, s, s) where a column is not real: a padded block stays invertible."""
    return np.where(free, 0.0, 1.0)[:, :, None] * np.eye(free.shape[1])


def _inverse_inertia(link: str, inertia: Inertia) -> np.ndarray:
    remedy = "give it a full <inertial>, join it to its neighbour, or use abia, which needs no inverse inertias"
    if inertia.mass <= 0.0:
        raise SingularityError(f"link {link!r}: has mass {inertia.mass:g}, so its inertia has no inverse; {remedy}")
    com = np.array(inertia.first_moment) / inertia.mass
    about_frame = inertia.rotational
    about_com = about_frame - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
    smallest = np.linalg.eigvalsh(about_com)[0]
    if smallest <= SMALLEST_MOMENT * np.linalg.norm(about_frame, 2):
        raise SingularityError(
            f"link {link!r}: has a principal moment of {smallest:.3g} kg·m², so its inertia has no inverse; {remedy}"
        )
    # I = Tᵀ diag(I_c, m) T with T the motion transform to the centre of mass: exact to rounding, whatever the units
    inverse = np.zeros((6, 6))
    inverse[:3, :3] = np.linalg.inv(about_com)
    inverse[3:, 3:] = np.eye(3) / inertia.mass
    back = motion_transform(np.eye(3), -com)
    return back @ inverse @ back.T


def serial(robot: Robot, q: np.ndarray) -> Chain:
    """The chain at ``q`` (*batch, nq). UnsupportedError for a tree, ConfigError for what is not a configuration."""
    serial_chain(robot)
    q = configuration(robot, q)
    batch, n = q.shape[:-1], len(robot.bodies)
    width = max(body.joint.nv for body in robot.bodies)
    rotations, translations = np.empty((n, *batch, 3, 3)), np.empty((n, *batch, 3))
    tree_rotations, tree_translations = np.empty((n, 3, 3)), np.empty((n, 3))
    subspace, free = np.zeros((n, 6, width)), np.zeros((n, width), bool)
    inertias = np.empty((n, 6, 6))
    for i, (body, part) in enumerate(zip(robot.bodies, robot.q_slices, strict=True)):
        placement = body.joint.placement(tuple(np.moveaxis(q[..., part], -1, 0)))
        for row in range(3):
            translations[i, ..., row] = placement.translation[row]
            for column in range(3):
                rotations[i, ..., row, column] = placement.rotation[row][column]
        tree_rotations[i], tree_translations[i] = body.placement.rotation, body.placement.translation
        free[i, : body.joint.nv] = True
        subspace[i, :3, : body.joint.nv] = np.reshape(body.joint.angular_subspace, (-1, 3)).T
        subspace[i, 3:, : body.joint.nv] = np.reshape(body.joint.linear_subspace, (-1, 3)).T
        inertias[i] = spatial_inertia(body.inertia)
    axes = len(batch)
    outer = _wide(tree_rotations, axes)
    placed = times(outer, translations) + _wide(tree_translations, axes)
    transforms = motion_transform(outer @ rotations, placed)
    return Chain(robot, batch, transforms, _wide(subspace, axes), free, _wide(inertias, axes))


def velocities_and_forces(
    chain: Chain, v: np.ndarray, f_ext: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Checked: v by link (n, *batch, s), and external wrenches (n, *batch, 6) angular first, or None."""
    v = chain.per_link(array("v", v, (chain.robot.nv,), chain.batch))
    if f_ext is None:
        return v, None
    wrenches = array("f_ext", f_ext, (chain.links, 6), chain.batch)
    return v, np.moveaxis(wrenches, -2, 0)[..., SWAP]
