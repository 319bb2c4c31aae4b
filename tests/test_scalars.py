"""What counts as a number."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rbdgen.errors import ConfigError
from rbdgen.operands import number_of, numbers_of, several_of, truth_of


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, 3),
        (0.5, 0.5),
        (np.int16(3), 3),
        (np.float32(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.array(3), 3),
        (np.array([0.5], np.float32)[0], 0.5),
        (Fraction(1, 2), 0.5),
    ],
)
def test_numbers_become_pythons(value: object, number: float) -> None:
    found = number_of(value)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize("value", [True, np.bool_(True), "3", None, [3], np.array([3]), 1j])
def test_others_are_no_numbers(value: object) -> None:
    assert number_of(value) is None


def test_truths_are_apart_from_numbers() -> None:
    assert truth_of(np.bool_(True)) is True
    assert truth_of(1) is None


def test_several_are_lists_tuples_and_arrays() -> None:
    assert several_of(np.array([1.0, 2.0], np.float32)) == [1.0, 2.0]
    assert several_of((1, 2)) == [1, 2]
    assert several_of("12") is None
    assert several_of(np.array(1.0)) is None


def test_rows_of_numbers() -> None:
    assert numbers_of("x", np.float32(0.5)) == [0.5]
    assert numbers_of("x", [np.int8(1), 2.0]) == [1.0, 2.0]
    for wrong in ("far", [1.0, "far"], None, [True]):
        with pytest.raises(ConfigError, match=r"^x: must be a number, or numbers in a row, not"):
            numbers_of("x", wrong)
