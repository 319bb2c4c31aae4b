"""Rotations and displacements, over abstract scalars. Quaternions are (x, y, z, w), as Pinocchio's.

A displacement is where a frame goes that moves for one second at a velocity that is constant in its own coordinates.
With rotation vector w of angle θ, and linear velocity v, the frame turns by R = exp [w] and goes by p = V v:

    R = cos θ 1 + A [w] + B w wᵀ,   V = A 1 + B [w] + C w wᵀ,
    A = sin θ / θ,  B = (1 − cos θ) / θ²,  C = (θ − sin θ) / θ³.

These are functions of θ² without a root: power series where that is a traced expression, closed forms in numbers.
(Solà, Deray & Atchuthan, "A micro Lie theory for state estimation in robotics", 2018, whose right Jacobians these are.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from rbdgen.operands import UNIT_TOLERANCE
from rbdgen.spatial import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    constant_matrix,
    cross,
    dot,
    matmul,
    mul,
    skew,
    sub,
    vadd,
    vscale,
)

Functions = Callable[[str, Scalar], Scalar]
"""The value of one of :data:`COEFFICIENTS` by its name, at θ²."""
HALF_SINE, HALF_COSINE = "sin(θ/2)/θ", "cos(θ/2)"
FIRST, SECOND = "(1 − cos θ)/θ²", "(θ − sin θ)/θ³"
FIRST_SLOPE, SECOND_SLOPE = "∂B/∂(θ²)", "∂C/∂(θ²)"
COEFFICIENTS: dict[str, Callable[[int], float]] = {
    HALF_SINE: lambda k: (-1) ** k / (2 * 4**k * math.factorial(2 * k + 1)),
    HALF_COSINE: lambda k: (-1) ** k / (4**k * math.factorial(2 * k)),
    FIRST: lambda k: (-1) ** k / math.factorial(2 * k + 2),
    SECOND: lambda k: (-1) ** k / math.factorial(2 * k + 3),
    FIRST_SLOPE: lambda k: -((-1) ** k) * (k + 1) / math.factorial(2 * k + 4),
    SECOND_SLOPE: lambda k: -((-1) ** k) * (k + 1) / math.factorial(2 * k + 5),
}
"""Of each function the coefficient of (θ²)ᵏ."""
SMALL_ANGLE = 0.03
"""rad: below this a series is more accurate than the closed form of C."""
FARTHEST_TURN = 2 * math.pi
"""rad: farther turns in a step are not what a time step is meant for, and cancel in the series."""
FINEST, ROUNDING = 1e-10, 1e-17
"""Remainders that a series may leave out: less than the longest words show of numbers near one; less than float64
shows."""


def series(turn: float, remainder: float = FINEST) -> Functions:
    """The functions by their power series, which leave out no more than ``remainder`` at angles up to ``turn``, rad."""
    largest = max(turn, SMALL_ANGLE) ** 2
    scale = 4.0 ** math.ceil(math.log(largest, 4.0))
    count = 1
    while any(abs(c(count)) * scale**count > remainder for c in COEFFICIENTS.values()):
        count += 1

    def evaluated(name: str, square: Scalar) -> Scalar:
        # in units of the largest angle, so that no coefficient is smaller than what its term can be
        share = mul(1.0 / scale, square)
        terms = [COEFFICIENTS[name](k) * scale**k for k in range(count)]
        total: Scalar = terms.pop()
        while terms:
            higher = mul(share, total)
            total = add(terms.pop(), higher)
        return total

    return evaluated


def closed(name: str, square: np.ndarray) -> np.ndarray:
    """The functions that displacements are made of, in numbers: exact at any angle."""
    angle = np.sqrt(square)
    if name == HALF_SINE:
        return 0.5 * np.sinc(angle / (2 * np.pi))
    if name == HALF_COSINE:
        return np.cos(angle / 2)
    if name == FIRST:
        return 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    assert name == SECOND
    safe = np.maximum(angle, SMALL_ANGLE)
    far = (safe - np.sin(safe)) / safe**3
    near = series(SMALL_ANGLE, ROUNDING)(name, square)
    return np.where(angle < SMALL_ANGLE, near, far)


class Displacement:
    """Of a frame's ``linear`` and ``angular`` velocity (3 each, times one second)."""

    def __init__(self, linear: Vector, angular: Vector, functions: Functions) -> None:
        self.linear = linear
        self.angular = angular
        self.functions = functions
        self.square = dot(angular, angular)

    def _function(self, name: str) -> Scalar:
        return self.functions(name, self.square)

    @cached_property
    def _first(self) -> Scalar:
        """B."""
        return self._function(FIRST)

    @cached_property
    def _second(self) -> Scalar:
        """C."""
        return self._function(SECOND)

    @cached_property
    def cosine(self) -> Scalar:
        """cos θ."""
        less = mul(self.square, self._first)
        return sub(1.0, less)

    @cached_property
    def sine_ratio(self) -> Scalar:
        """A = sin θ / θ."""
        less = mul(self.square, self._second)
        return sub(1.0, less)

    @cached_property
    def quaternion(self) -> Vector:
        """The turn as a unit quaternion (x, y, z, w)."""
        factor = self._function(HALF_SINE)
        vector = vscale(factor, self.angular)
        return (*vector, self._function(HALF_COSINE))

    @cached_property
    def _once(self) -> Vector:
        """w × v."""
        return cross(self.angular, self.linear)

    @cached_property
    def _twice(self) -> Vector:
        """w × (w × v)."""
        return cross(self.angular, self._once)

    @cached_property
    def way(self) -> Vector:
        """p (3), in the coordinates that the frame started with."""
        once = vscale(self._first, self._once)
        twice = vscale(self._second, self._twice)
        return vadd(self.linear, once, twice)

    @cached_property
    def _outer(self) -> Matrix:
        """w wᵀ."""
        return _outer_product(self.angular, self.angular)

    def _turn(self, along: Scalar, across: Scalar, outer: Scalar) -> Matrix:
        """``along`` 1 − ``across`` [w] + ``outer`` w wᵀ."""
        turned = vscale(across, self.angular)
        crossing = skew(turned)
        rows = []
        for i in range(3):
            row = []
            for j in range(3):
                entry = mul(outer, self._outer[i][j])
                entry = sub(entry, crossing[i][j])
                if i == j:
                    entry = add(along, entry)
                row.append(entry)
            rows.append(tuple(row))
        return tuple(rows)

    @cached_property
    def back(self) -> Matrix:
        """Rᵀ: from the coordinates that the frame started with to those that it ends with."""
        return self._turn(self.cosine, self.sine_ratio, self._first)

    @cached_property
    def right(self) -> Matrix:
        """Rᵀ V: how the frame's end turns, in its own coordinates, when w changes."""
        return self._turn(self.sine_ratio, self._first, self._second)

    @cached_property
    def way_by_turn(self) -> Matrix:
        """∂p/∂w (3, 3)."""
        first = add(self._function(FIRST_SLOPE), self._function(FIRST_SLOPE))
        second = add(self._function(SECOND_SLOPE), self._function(SECOND_SLOPE))
        twofold = add(self._second, self._second)
        once = vscale(first, self._once)
        twice = vscale(second, self._twice)
        less = vscale(twofold, self.linear)
        steep = tuple(sub(x, y) for x, y in zip(vadd(once, twice), less, strict=True))
        crossing = skew(vscale(self._first, self.linear))
        inner = dot(self.angular, self.linear)
        mixed = _outer_product(self.angular, self.linear)
        rows = []
        for i in range(3):
            row = []
            for j in range(3):
                entry = mixed[i][j]
                if i == j:
                    entry = add(entry, inner)
                entry = mul(self._second, entry)
                entry = add(entry, mul(steep[i], self.angular[j]))
                row.append(sub(entry, crossing[i][j]))
            rows.append(tuple(row))
        return tuple(rows)

    @cached_property
    def by_start(self) -> Matrix:
        """Motion of the frame's end, in its own coordinates, by that of its start in its own (6, 6), [linear, angular]:
        the motion transform Rᵀ [1, −[p]; 0, 1]."""
        lever = vscale(-1.0, self.way)
        return _blocks(self.back, matmul(self.back, skew(lever)), self.back)

    @cached_property
    def by_velocity(self) -> Matrix:
        """Motion of the frame's end, in its own coordinates, by changes of the velocity (6, 6), [linear, angular]."""
        return _blocks(self.right, matmul(self.back, self.way_by_turn), self.right)


def _outer_product(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return tuple(vscale(x, b) for x in a)


def _blocks(first: Matrix, coupling: Matrix, second: Matrix) -> Matrix:
    """[first, coupling; 0, second] of 3 × 3 blocks."""
    upper = tuple(a + b for a, b in zip(first, coupling, strict=True))
    return upper + tuple(ZERO3 + b for b in second)


def turned(q: Vector, by: Vector) -> Vector:
    """The unit quaternion ``q`` ∘ ``by`` (x, y, z, w): first turned by ``by``, then by ``q``."""
    one, scalar = q[:3], q[3]
    other, cosine = by[:3], by[3]
    vector = vadd(vscale(scalar, other), vscale(cosine, one), cross(one, other))
    product = (*vector, sub(mul(scalar, cosine), dot(one, other)))
    return nearer_unit(product)


def nearer_unit(x: Vector) -> Vector:
    """A vector near unit length, nearer to it: a Newton step, after which the length's error e is 3 e²/2."""
    rest = sub(3.0, dot(x, x))
    return vscale(mul(0.5, rest), x)


UPRIGHT = 1e-9
"""Cosine of a pitch at or below which it is a right angle, and roll and yaw turn about the same axis."""


def rotation_fault(rotation: Matrix) -> str | None:
    """Why a constant 3×3 matrix is no rotation, in words; None of one that is, as far as files' digits go: its rows are
    of unit length and at right angles, and it mirrors nothing."""
    x, y, z = rotation
    products = dot(x, x) - 1.0, dot(y, y) - 1.0, dot(z, z) - 1.0, dot(x, y), dot(y, z), dot(z, x)
    off = max(map(abs, products))
    # so that what is no number is none
    if not sum(map(abs, products)) < math.inf or off > UNIT_TOLERANCE:
        return f"is no rotation: its rows are off by {off:.3g} from unit length and right angles"
    if dot(cross(x, y), z) < 0.0:
        return "is no rotation: it mirrors"
    return None


def about_axis(axis: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rodrigues' formula: rotation by the angle with cosine ``c`` and sine ``s`` about the unit ``axis``."""
    rows = []
    for i in range(3):
        row = []
        for j in range(3):
            # (1 − c) a aᵀ + c 1 + s [a]×; written so that one-hot axes leave c, ±s, 0 and 1 alone
            outer = axis[i] * axis[j]
            unit = 1.0 if i == j else 0.0
            entry = mul(unit - outer, c)
            if i != j:
                third = axis[3 - i - j]
                entry = add(entry, mul(_levi_civita(i, j) * third, s))
            row.append(add(entry, outer))
        rows.append(tuple(row))
    return tuple(rows)


def _levi_civita(i: int, j: int) -> float:
    """Sign of entry (i, j) of [a]×, which holds ± the third component."""
    return -1.0 if (j - i) % 3 == 1 else 1.0


def fixed_axes_matrix(roll: float, pitch: float, yaw: float) -> Matrix:
    """The rotation by ``roll`` about x, then ``pitch`` about y, then ``yaw`` about z, all of them fixed (radians)."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    rotation = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return constant_matrix(rotation)


def fixed_axes_angles(rotation: Matrix) -> tuple[float, float, float]:
    """Roll, pitch and yaw (radians) of :func:`fixed_axes_matrix`; where pitch is a right angle, roll is zero."""
    first, second, third = rotation
    across = math.hypot(first[0], second[0])
    pitch = math.atan2(-third[0], across)
    if across < UPRIGHT:
        return 0.0, pitch, math.atan2(-first[1], second[1])
    return math.atan2(third[1], third[2]), pitch, math.atan2(second[0], first[0])


def quaternion_rates(q: Vector) -> Matrix:
    """Rates of a unit quaternion (4, 3) at angular velocities of one in the turned frame: half of their
    product."""
    x, y, z, w = vscale(0.5, q)
    back = vscale(-1.0, (x, y, z))
    return (w, back[2], y), (z, w, back[0]), (back[1], x, w), back


def quaternion_matrix(q: Vector) -> Matrix:
    """The rotation of a unit quaternion."""
    x, y, z, w = q
    x2 = add(x, x)
    y2 = add(y, y)
    z2 = add(z, z)
    xx = mul(x, x2)
    yy = mul(y, y2)
    zz = mul(z, z2)
    xy = mul(x, y2)
    xz = mul(x, z2)
    yz = mul(y, z2)
    wx = mul(w, x2)
    wy = mul(w, y2)
    wz = mul(w, z2)
    return (
        (sub(1.0, add(yy, zz)), sub(xy, wz), add(xz, wy)),
        (add(xy, wz), sub(1.0, add(xx, zz)), sub(yz, wx)),
        (sub(xz, wy), add(yz, wx), sub(1.0, add(xx, yy))),
    )
