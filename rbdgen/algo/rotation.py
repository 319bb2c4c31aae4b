"""Rotations with few products: a turn about a coordinate axis takes three products per vector.

A turn by θ in a plane is the product of two complex numbers, and that takes three products instead of four (Gauss;
Knuth, *The Art of Computer Programming* 2, 4.6.4): with c = cos θ, s = sin θ and k = c (x + y),
c x − s y = k − (c + s) y and s x + c y = k − (c − s) x. The sums c + s and c − s are shared by all vectors of a joint.
Symmetric matrices turn by 2θ in their plane, and their trace there stays.
"""

from __future__ import annotations

from rbdgen.spatial import Matrix, Scalar, Vector, add, is_constant, matmul, matvec, mul, sub, transpose


def _number(x: Scalar) -> bool:
    return isinstance(x, (int, float))


def turning_axis(rotation: Matrix) -> int | None:
    """The coordinate axis k about which ``rotation`` turns by a variable angle; None for all other rotations."""
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        off = (rotation[i][k], rotation[j][k], rotation[k][i], rotation[k][j])
        if is_constant(rotation[k][k], 1) and all(is_constant(x, 0) for x in off) and not _number(rotation[i][i]):
            return k
    return None


def _turn(c: Scalar, s: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """(c x − s y, s x + c y)."""
    if _number(x) or _number(y):
        return sub(mul(c, x), mul(s, y)), add(mul(s, x), mul(c, y))
    k = mul(c, add(x, y))
    return sub(k, mul(add(c, s), y)), sub(k, mul(sub(c, s), x))


def rotate(rotation: Matrix, v: Vector) -> Vector:
    """R v."""
    k = turning_axis(rotation)
    if k is None:
        return matvec(rotation, v)
    i, j = (k + 1) % 3, (k + 2) % 3
    result = list(v)
    result[i], result[j] = _turn(rotation[i][i], rotation[j][i], v[i], v[j])
    return tuple(result)


def rotate_back(rotation: Matrix, v: Vector) -> Vector:
    """Rᵀ v."""
    k = turning_axis(rotation)
    if k is None:
        return matvec(transpose(rotation), v)
    i, j = (k + 1) % 3, (k + 2) % 3
    result = list(v)
    # the inverse turn is the same turn of the exchanged pair, so that c + s and c − s serve both ways
    result[j], result[i] = _turn(rotation[i][i], rotation[j][i], v[j], v[i])
    return tuple(result)


def rotate_matrix(rotation: Matrix, m: Matrix) -> Matrix:
    """R M Rᵀ of a general 3×3 matrix M."""
    k = turning_axis(rotation)
    if k is None:
        return matmul(matmul(rotation, m), transpose(rotation))
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = rotation[i][i], rotation[j][i]
    total, twist = add(m[i][i], m[j][j]), sub(m[j][i], m[i][j])
    plane = _turn(*_doubled(c, s), sub(m[i][i], m[j][j]), add(m[j][i], m[i][j]))
    column = _turn(c, s, m[i][k], m[j][k])
    row = _turn(c, s, m[k][i], m[k][j])
    result = [[0.0] * 3 for _ in range(3)]
    result[k][k] = m[k][k]
    result[i][i], result[j][j] = _half(add(total, plane[0])), _half(sub(total, plane[0]))
    result[j][i], result[i][j] = _half(add(plane[1], twist)), _half(sub(plane[1], twist))
    result[i][k], result[j][k] = column
    result[k][i], result[k][j] = row
    return tuple(tuple(r) for r in result)


def rotate_symmetric(rotation: Matrix, m: Matrix) -> Matrix:
    """R M Rᵀ of a symmetric 3×3 matrix M."""
    k = turning_axis(rotation)
    if k is None:
        full = matmul(matmul(rotation, m), transpose(rotation))
        return tuple(tuple(full[min(r, c)][max(r, c)] for c in range(3)) for r in range(3))
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = rotation[i][i], rotation[j][i]
    total = add(m[i][i], m[j][j])
    plane = _turn(*_doubled(c, s), _half(sub(m[i][i], m[j][j])), m[i][j])
    side = _turn(c, s, m[i][k], m[j][k])
    result = [[0.0] * 3 for _ in range(3)]
    result[k][k] = m[k][k]
    result[i][i], result[j][j] = add(_half(total), plane[0]), sub(_half(total), plane[0])
    result[i][j] = result[j][i] = plane[1]
    result[i][k] = result[k][i] = side[0]
    result[j][k] = result[k][j] = side[1]
    return tuple(tuple(r) for r in result)


def _half(x: Scalar) -> Scalar:
    return mul(0.5, x)


def _doubled(c: Scalar, s: Scalar) -> tuple[Scalar, Scalar]:
    """Cosine and sine of twice the angle."""
    return sub(1.0, mul(2.0, mul(s, s))), mul(2.0, mul(s, c))
