"""Odd-even elimination and the closed inverses of its blocks, beside NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from rbdgen.algo.mobility import adjugate, block_inverse
from rbdgen.algo.odd_even import complement, eliminate
from rbdgen.spatial import Matrix, constant_matrix, constant_vector


def definite(rng: np.random.Generator, size: int) -> np.ndarray:
    """A random positive definite matrix."""
    root = rng.normal(size=(size, size))
    return root @ root.T + size * np.eye(size)


@pytest.mark.parametrize("size", range(1, 7))
def test_blocks_are_inverted_in_closed_form(size: int) -> None:
    rng = np.random.default_rng(size)
    m = definite(rng, size)
    inverse = block_inverse(constant_matrix(m))
    left, right = rng.normal(size=(2, size))
    column = inverse.reduced(constant_vector(right))
    expected = np.linalg.solve(m, right)
    assert inverse.solved(column) == pytest.approx(expected, abs=1e-12)
    other = inverse.reduced(constant_vector(left))
    assert inverse.form(other, column) == pytest.approx(left @ expected, abs=1e-12)


@pytest.mark.parametrize("size", range(4))
def test_an_adjugate_is_the_inverse_times_the_determinant(size: int) -> None:
    m = definite(np.random.default_rng(size), size)
    weights, determinant = adjugate(constant_matrix(m))
    assert determinant == pytest.approx(np.linalg.det(m))
    assert np.reshape(weights, m.shape) @ m == pytest.approx(determinant * np.eye(size))


def blocks(m: np.ndarray, sizes: Sequence[int]) -> tuple[list[Matrix], list[Matrix]]:
    """A matrix's diagonal blocks and those below."""
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    diagonal = [constant_matrix(m[part, part]) for part in parts]
    pairs = zip(parts[1:], parts, strict=False)
    return diagonal, [constant_matrix(m[row, before]) for row, before in pairs]


def tridiagonal(rng: np.random.Generator, sizes: Sequence[int]) -> np.ndarray:
    """A random positive definite matrix of block rows, each coupled with its neighbours."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    near = np.abs(number[:, None] - number) <= 1
    m = np.where(near, definite(rng, len(number)), 0.0)
    return m + 4 * len(number) * np.eye(len(number))


@pytest.mark.parametrize(
    ("rows", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (33, 6)]
)
def test_block_tridiagonal_systems_are_solved_in_few_levels(rows: int, levels: int) -> None:
    rng = np.random.default_rng(rows)
    sizes = rng.integers(1, 6, rows).tolist()
    number = np.repeat(np.arange(rows), sizes)
    m = tridiagonal(rng, sizes)
    factors = eliminate(*blocks(m, sizes))
    assert len(factors.levels) == levels
    last = eliminate(*blocks(m, sizes), last=True)
    assert [row.row for row in last.levels[-1]] == [rows - 1]
    assert len(last.levels) == math.ceil(math.log2(rows)) + 1
    for _ in range(2):
        right = rng.normal(size=len(number))
        given = [constant_vector(right[number == i]) for i in range(rows)]
        expected = pytest.approx(np.linalg.solve(m, right), abs=1e-12)
        assert np.concatenate(factors.solve(given)) == expected
        assert np.concatenate(last.solve(given)) == expected


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 33])
def test_all_rows_but_the_last_are_eliminated_into_it(rows: int) -> None:
    rng = np.random.default_rng(rows)
    sizes = rng.integers(1, 6, rows).tolist()
    m = tridiagonal(rng, sizes)
    last = slice(len(m) - sizes[-1], None)
    found = complement(*blocks(m, sizes))
    assert np.array(found) == pytest.approx(np.linalg.inv(np.linalg.inv(m)[last, last]), rel=1e-9)
