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
from rbdgen.model.body import Inertia, Placement
from rbdgen.model.robot import Robot
from rbdgen.parallel.arguments import array, configuration, serial_chain

SWAP = np.array([3, 4, 5, 0, 1, 2])
"""From [linear, angular] to [angular, linear] and back."""

SMALLEST_MOMENT = 1e-12
"""A principal moment at or below this, relative to the largest moment of the link about its frame, counts as zero."""


def skew(r: np.ndarray) -> np.ndarray:
    """r × as matrices (..., 3, 3) of vectors (..., 3)."""
    x, y, z = np.moveaxis(r, -1, 0)
    result = np.zeros((*r.shape, 3))
    result[..., 0, 1] = -z
    result[..., 0, 2] = y
    result[..., 1, 0] = z
    result[..., 1, 2] = -x
    result[..., 2, 0] = -y
    result[..., 2, 1] = x
    return result


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b over leading shapes (numpy's cross is several times slower)."""
    ax, ay, az = np.moveaxis(a, -1, 0)
    bx, by, bz = np.moveaxis(b, -1, 0)
    x = ay * bz - az * by
    y = az * bx - ax * bz
    z = ax * by - ay * bx
    return np.stack([x, y, z], axis=-1)


def motion_cross(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    """v × m of motion vectors (..., 6)."""
    angular, linear = _halves(v)
    other_angular, other_linear = _halves(m)
    turned = _cross(angular, other_angular)
    moved = _cross(angular, other_linear)
    dragged = _cross(linear, other_angular)
    moved = moved + dragged
    return np.concatenate([turned, moved], axis=-1)


def force_cross(v: np.ndarray, f: np.ndarray) -> np.ndarray:
    """v ×* f of a motion and a force vector (..., 6)."""
    angular, linear = _halves(v)
    moment, force = _halves(f)
    turned = _cross(angular, moment)
    turned = turned + _cross(linear, force)
    pushed = _cross(angular, force)
    return np.concatenate([turned, pushed], axis=-1)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular and linear part (..., 3)."""
    return x[..., :3], x[..., 3:]


def times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Matrices (..., m, k) times vectors (..., k)."""
    columns = vectors[..., None]
    return np.matmul(matrices, columns)[..., 0]


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
    offset = skew(translation)
    result[..., 3:, :3] = -inward @ offset
    return result


def both_sides(scale: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Rows and columns of square matrices (..., m, m) times ``scale`` (..., m)."""
    rows = scale[..., :, None]
    columns = scale[..., None, :]
    return rows * matrices * columns


def diagonal(matrices: np.ndarray) -> np.ndarray:
    """The diagonals (..., m) of square matrices (..., m, m)."""
    return np.einsum("...ii->...i", matrices)


def placement_transform(placement: Placement) -> np.ndarray:
    """:func:`motion_transform` of a constant placement, (6, 6)."""
    rotation = np.array(placement.rotation)
    translation = np.array(placement.translation)
    return motion_transform(rotation, translation)


def spatial_inertia(inertia: Inertia) -> np.ndarray:
    """The 6×6 spatial inertia about the link's frame."""
    h = skew(np.array(inertia.first_moment))
    mass = inertia.mass * np.eye(3)
    return np.block([[inertia.rotational, h], [h.T, mass]])


def rounding(inertias: np.ndarray) -> np.ndarray:
    """What is left of a joint's inertia (...) when it has none, from 6×6 inertias (..., 6, 6): their rounding."""
    largest = np.max(np.abs(inertias), axis=(-1, -2))
    return 8 * np.finfo(float).eps * largest


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
        fall = -np.array(self.robot.gravity)
        return np.concatenate([np.zeros(3), fall])

    @cached_property
    def _columns(self) -> np.ndarray:
        """For each (link, column) its place in the generalised vectors; nv where there is no such column."""
        count = self.robot.nv
        places = np.full(self.free.shape, count)
        places[self.free] = np.arange(count)
        return places

    def per_link(self, x: np.ndarray) -> np.ndarray:
        """A generalised vector (*batch, nv) by link, (n, *batch, s), zero in columns that are not real."""
        zero = np.zeros((*x.shape[:-1], 1))
        padded = np.concatenate([x, zero], axis=-1)
        by_link = padded[..., self._columns]
        return np.moveaxis(by_link, -2, 0)

    def generalised(self, x: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`per_link`: (n, *batch, s, ...) to (*batch, nv, ...)."""
        axis = len(self.batch)
        tail = x.shape[axis + 2 :]
        moved = np.moveaxis(x, 0, axis)
        flat = moved.reshape(*self.batch, self.free.size, *tail)
        return np.compress(self.free.ravel(), flat, axis=axis)

    def wide(self, x: np.ndarray) -> np.ndarray:
        """A constant per link (n, ...) with room for the batch, (n, *1, ...)."""
        return _wide(x, len(self.batch))

    @cached_property
    def dual_subspace(self) -> np.ndarray:
        """S (SᵀS)⁻¹ (n, *1, 6, s): a joint's forces as wrenches that do no work on what the joint keeps from moving."""
        gram = transposed(self.subspace) @ self.subspace
        gram = gram + self.wide(pads(self.free))
        return self.subspace @ np.linalg.inv(gram)

    @cached_property
    def constrained(self) -> np.ndarray:
        """(n, c), c = 6 − fewest degrees of freedom, but at least 1: which columns of :attr:`complement` are real."""
        held = 6 - self.free.sum(axis=1)
        most = max(1, int(held.max()))
        return np.arange(most) < held[:, None]

    @cached_property
    def complement(self) -> np.ndarray:
        """W (n, *1, 6, c): an orthonormal basis of the forces that the joint passes on whatever its motion, WᵀS = 0;
        zero columns beyond a joint's constraints."""
        width = self.constrained.shape[1]
        result = np.zeros((self.links, 6, width))
        subspace = self.subspace.reshape(self.links, 6, -1)
        for i in range(self.links):
            own = subspace[i][:, self.free[i]]
            basis = np.linalg.qr(own, mode="complete")[0]
            held = self.constrained[i]
            result[i][:, held] = basis[:, own.shape[1] :]
        return self.wide(result)

    @cached_property
    def inverse_inertias(self) -> np.ndarray:
        """I⁻¹ (n, *1, 6, 6), through the centre of mass. SingularityError naming a link without mass or moment."""
        result = np.zeros((self.links, 6, 6))
        for i, body in enumerate(self.robot.bodies):
            result[i] = _inverse_inertia(body.name, body.inertia)
        return self.wide(result)


def _wide(x: np.ndarray, axes: int) -> np.ndarray:
    links, *own = x.shape
    ones = [1] * axes
    return x.reshape(links, *ones, *own)


def pads(free: np.ndarray) -> np.ndarray:
    """Ones on the diagonal (n, s, s) where a column is not real: a padded block stays invertible."""
    missing = np.where(free, 0.0, 1.0)
    return missing[:, :, None] * np.eye(free.shape[1])


def _inverse_inertia(link: str, inertia: Inertia) -> np.ndarray:
    remedy = "give it a full <inertial>, join it to its neighbour, or use jsiia, which needs no inverse inertias"
    if inertia.mass <= 0.0:
        raise SingularityError(
            f"link {link!r}: has mass {inertia.mass:g}, so its inertia has no inverse; {remedy}"
        )
    com = np.array(inertia.first_moment) / inertia.mass
    about_frame = inertia.rotational
    square = com @ com
    spread = square * np.eye(3) - np.outer(com, com)
    about_com = about_frame - inertia.mass * spread
    smallest = np.linalg.eigvalsh(about_com)[0]
    largest = np.linalg.norm(about_frame, 2)
    if smallest <= SMALLEST_MOMENT * largest:
        raise SingularityError(
            f"link {link!r}: has a principal moment of {smallest:.3g} kg·m², so its inertia has no inverse; {remedy}"
        )
    # I = Tᵀ diag(I_c, m) T with T the motion transform to the centre of mass: exact to rounding, whatever the units
    unit = np.eye(3)
    inverse = np.zeros((6, 6))
    inverse[:3, :3] = np.linalg.inv(about_com)
    inverse[3:, 3:] = unit / inertia.mass
    back = motion_transform(unit, -com)
    return back @ inverse @ back.T


def serial(robot: Robot, q: np.ndarray) -> Chain:
    """The chain at ``q`` (*batch, nq). UnsupportedError for a tree, ConfigError for what is not a configuration."""
    serial_chain(robot)
    q = configuration(robot, q)
    batch = q.shape[:-1]
    axes = len(batch)
    n = len(robot.bodies)
    rotations, translations = _placements(robot, q)
    subspace, free = _subspaces(robot)
    tree_rotations = np.empty((n, 3, 3))
    tree_translations = np.empty((n, 3))
    inertias = np.empty((n, 6, 6))
    for i, body in enumerate(robot.bodies):
        tree = body.placement
        tree_rotations[i] = tree.rotation
        tree_translations[i] = tree.translation
        inertias[i] = spatial_inertia(body.inertia)
    outer = _wide(tree_rotations, axes)
    offsets = times(outer, translations)
    offsets = offsets + _wide(tree_translations, axes)
    transforms = motion_transform(outer @ rotations, offsets)
    subspace = _wide(subspace, axes)
    inertias = _wide(inertias, axes)
    return Chain(robot, batch, transforms, subspace, free, inertias)


def _placements(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (n, *batch, 3, 3) and translations (n, *batch, 3) of all joints at ``q`` (*batch, nq)."""
    shape = len(robot.bodies), *q.shape[:-1]
    rotations = np.empty((*shape, 3, 3))
    translations = np.empty((*shape, 3))
    for i, (body, part) in enumerate(zip(robot.bodies, robot.q_slices, strict=True)):
        own = tuple(np.moveaxis(q[..., part], -1, 0))
        placement = body.joint.placement(own)
        for row in range(3):
            translations[i, ..., row] = placement.translation[row]
            for column, entry in enumerate(placement.rotation[row]):
                rotations[i, ..., row, column] = entry
    return rotations, translations


def _subspaces(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Motion subspaces (n, 6, s), and which of their columns are real (n, s)."""
    n = len(robot.bodies)
    width = max(body.joint.nv for body in robot.bodies)
    subspace = np.zeros((n, 6, width))
    free = np.zeros((n, width), bool)
    for i, body in enumerate(robot.bodies):
        joint = body.joint
        angular = np.reshape(joint.angular_subspace, (-1, 3))
        linear = np.reshape(joint.linear_subspace, (-1, 3))
        free[i, : joint.nv] = True
        subspace[i, :3, : joint.nv] = angular.T
        subspace[i, 3:, : joint.nv] = linear.T
    return subspace, free


def velocities_and_forces(
    chain: Chain, v: np.ndarray, f_ext: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Checked: v by link (n, *batch, s), and external wrenches (n, *batch, 6) angular first, or None."""
    v = array("v", v, (chain.robot.nv,), chain.batch)
    rates = chain.per_link(v)
    if f_ext is None:
        return rates, None
    wrenches = array("f_ext", f_ext, (chain.links, 6), chain.batch)
    by_link = np.moveaxis(wrenches, -2, 0)
    return rates, by_link[..., SWAP]
