"""Symmetric positive definite block tri-diagonal systems by odd-even elimination: ⌈log₂ n⌉ levels.

At each level every block row eliminates its two neighbours at the present stride, which doubles the stride at which it
is coupled; after ⌈log₂ n⌉ levels the rows stand alone. (Odd-even elimination: Heller 1976; Hockney & Jesshope 1981 as
parallel cyclic reduction. Fijany, Sharf & D'Eleuterio 1995 and Yang, Wu & Pan, arXiv 1609.06779, use it for robots.)
Unlike cyclic reduction it needs no second sweep, at the price of n operations in every level. No pivoting is needed:
the diagonal blocks of every level are Schur complements, positive definite with the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rbdgen.errors import SingularityError
from rbdgen.parallel.arguments import state
from rbdgen.parallel.chain import diagonal, transposed
from rbdgen.parallel.steps import Steps, at_start, in_sequence, neighbours, single


@dataclass(frozen=True, eq=False)
class BlockTridiagonal:
    """A symmetric matrix of n × n blocks: ``diagonal`` (n, *batch, m, m) and ``below`` (n − 1, *batch, m, m), whose
    element j is block (j + 1, j). ``name`` and ``blocks`` (names of the block rows) are for messages."""

    name: str
    blocks: tuple[str, ...]
    diagonal: np.ndarray
    below: np.ndarray

    def dense(self) -> np.ndarray:
        """The whole matrix, (*batch, n m, n m)."""
        n, *batch, m, _ = self.diagonal.shape
        result = np.zeros((*batch, n * m, n * m))
        rows = [slice(begin, begin + m) for begin in range(0, n * m, m)]
        for row, block in zip(rows, self.diagonal, strict=True):
            result[..., row, row] = block
        for before, row, block in zip(rows, rows[1:], self.below, strict=False):
            result[..., row, before] = block
            result[..., before, row] = transposed(block)
        return result


@dataclass(frozen=True, eq=False)
class OddEvenFactors:
    """What odd-even elimination leaves of a matrix. Per level ``earlier`` and ``later``: what each row takes of the row
    one stride before and after it, (n − stride, *batch, m, m); ``diagonal``: the blocks that are left at the end,
    scaled by ``scale`` (n, *batch, m, 1) from either side to a unit diagonal."""

    earlier: tuple[np.ndarray, ...]
    later: tuple[np.ndarray, ...]
    diagonal: np.ndarray
    scale: np.ndarray

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """x with A x = rhs, both (n, *batch, m, k): k right-hand sides at once."""
        blocks = *self.diagonal.shape[:-1], 1
        shape = np.broadcast_shapes(rhs.shape, blocks)
        x = np.broadcast_to(rhs, shape)
        steps = neighbours("solve", len(self.diagonal))
        for step, earlier, later in zip(steps, self.earlier, self.later, strict=True):
            s = step.stride
            changed = x.copy()
            changed[s:] -= earlier @ x[:-s]
            changed[:-s] -= later @ x[s:]
            x = changed
        return _solved(self.diagonal, self.scale, x)


def eliminate(matrix: BlockTridiagonal) -> OddEvenFactors:
    """Odd-even elimination. SingularityError naming the block row where the matrix is not positive definite."""
    blocks = matrix.diagonal
    below = matrix.below
    earlier, later = [], []
    for step in neighbours("eliminate", len(blocks)):
        s = step.stride
        scaled, scale = _scaled(matrix, blocks)
        # rows of L D⁻¹ by solving with D, whose residual is small where a product with an explicit inverse's is not
        above = transposed(below)
        left = transposed(_solved(scaled[:-s], scale[:-s], above))
        right = transposed(_solved(scaled[s:], scale[s:], below))
        earlier.append(left)
        later.append(right)
        changed = blocks.copy()
        changed[s:] -= left @ above
        changed[:-s] -= right @ below
        blocks = changed
        below = -left[s:] @ below[:-s]
    return OddEvenFactors(tuple(earlier), tuple(later), *_scaled(matrix, blocks))


def _solved(scaled: np.ndarray, scale: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """x of D x = rhs, D being ``scaled`` by ``scale`` (…, m, 1) from either side."""
    return scale * np.linalg.solve(scaled, scale * rhs)


def _scaled(matrix: BlockTridiagonal, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive definite blocks scaled to a unit diagonal, for they mix kilograms and kg·m², and the scale (…, m, 1)."""
    size = diagonal(blocks)
    fine = np.all(size > 0.0, axis=-1)
    if np.all(fine):
        scale = (1.0 / np.sqrt(size))[..., None]
        scaled = scale * blocks * transposed(scale)
        smallest = np.linalg.eigvalsh(scaled)[..., 0]
        fine = smallest > len(blocks) * np.finfo(float).eps
        if np.all(fine):
            return scaled, scale
    first = np.argwhere(~fine)[0]
    raise SingularityError(
        f"{matrix.name}: is not positive definite at {matrix.blocks[first[0]]}{state(first[1:])}; "
        "check the inertias of the links and the state"
    )


def elimination_steps(rows: int) -> Steps:
    """Steps of :func:`eliminate`: ⌈log₂ rows⌉ eliminations, each after the factors of the diagonal blocks it divides
    by, and the last factors."""
    factor = single("factor the diagonal block", rows)
    groups: list[Steps] = []
    for step in neighbours("eliminate", rows):
        groups += [factor, (at_start(step),)]
    return in_sequence(*groups, factor)


def solution_steps(rows: int) -> Steps:
    """Steps of :meth:`OddEvenFactors.solve`: ⌈log₂ rows⌉ + 1 levels. One at some stride needs the elimination at that
    stride only, so that a single right-hand side may follow the elimination one step behind."""
    return in_sequence(
        neighbours("right-hand side", rows), single("divide by the diagonal block", rows)
    )
