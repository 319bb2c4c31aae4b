"""Odd-even elimination against dense solves."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.errors import SingularityError
from rbdgen.parallel import BlockTridiagonal, eliminate
from tests.parallel.reference import LENGTHS, error


def system(rows: int, size: int = 3) -> BlockTridiagonal:
    """A random positive definite matrix for a batch of two, whose rows have units up to a thousand apart."""
    rng = np.random.default_rng(rows)
    lower = rng.normal(size=(rows, 2, size, size))
    below = rng.normal(size=(rows - 1, 2, size, size))
    own = lower @ np.swapaxes(lower, -1, -2) + np.eye(size)
    own[1:] += below @ np.swapaxes(
        below, -1, -2
    )  # L Lᵀ of a block bi-diagonal L with unit blocks, plus own
    units = 10.0 ** rng.uniform(-1.5, 1.5, (rows, 1, size, 1))
    own = units * (own + np.eye(size)) * np.swapaxes(units, -1, -2)
    below = units[1:] * below * np.swapaxes(units[:-1], -1, -2)
    return BlockTridiagonal("matrix", tuple(f"row {i}" for i in range(rows)), own, below)


@pytest.mark.parametrize("rows", LENGTHS)
def test_solves_what_a_dense_solver_solves(rows: int) -> None:
    matrix = system(rows)
    rhs = np.random.default_rng(1).normal(size=(rows, 2, 3, 4))
    x = eliminate(matrix).solve(rhs)
    assert x.shape == rhs.shape
    flat = np.moveaxis(rhs, 0, 1).reshape(2, rows * 3, 4)
    expected = np.linalg.solve(matrix.dense(), flat)
    assert error(np.moveaxis(x, 0, 1).reshape(2, rows * 3, 4), expected, 2) < 1e-10


def test_names_the_row_that_is_not_positive_definite() -> None:
    matrix = system(5)
    matrix.diagonal[3, 1] = np.diag([1.0, -1.0, 1.0])
    message = r"^matrix: is not positive definite at row 3 in state 1; check the inertias of the links and the state$"
    with pytest.raises(SingularityError, match=message):
        eliminate(matrix)


def test_refuses_a_singular_matrix() -> None:
    """Two rows that say the same: singular as a whole, with diagonal blocks that are not."""
    one = np.broadcast_to(np.eye(2), (2, 2, 2))
    with pytest.raises(SingularityError, match=r"^pair: is not positive definite at [ab]; check "):
        eliminate(BlockTridiagonal("pair", ("a", "b"), one, one[:1]))
