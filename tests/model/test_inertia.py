"""Which mass distributions can exist."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.model import Inertia, inertia_faults

COM = np.array([3.0, -2.0, 1.0])


def inertia(mass: float, *moments: float) -> Inertia:
    """Principal ``moments`` about a centre of mass that is away from the origin, on axes that are not the frame's."""
    turn, _ = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [-1.0, 0.3, 2.0], [0.2, -1.0, 1.0]]))
    return Inertia.from_com(mass, COM, turn @ np.diag(moments) @ turn.T)


@pytest.mark.parametrize(
    "possible",
    [
        Inertia(),
        inertia(1.0, 0.0, 0.0, 0.0),
        inertia(1.0, 0.0, 1.0, 1.0),
        inertia(2.0, 1.0, 2.0, 3.0),
        inertia(2.0, 1.0, 2.0, 3.0000001),
    ],
    ids=["nothing", "point", "rod", "plate", "rounded plate"],
)
def test_what_can_exist_has_no_faults(possible: Inertia) -> None:
    assert inertia_faults(possible) == ()


@pytest.mark.parametrize(
    ("impossible", "fault"),
    [
        (inertia(0.0, 1.0, 1.0, 1.0), "moments without mass"),
        (inertia(1.0, -0.5, 1.0, 1.0), "principal moment -0.5 is negative"),
        (
            inertia(1.0, 1.0, 2.0, 3.5),
            "principal moments 1, 2, 3.5 violate the triangle inequality",
        ),
    ],
)
def test_what_cannot_exist_has_its_reason(impossible: Inertia, fault: str) -> None:
    assert inertia_faults(impossible) == (fault,)


@pytest.mark.parametrize("mass", [1e-7, 1.0, 1e6])
def test_a_point_mass_anywhere_has_no_faults(mass: float) -> None:
    for com in ([0.0, 0.02, 0.1], [0.3, 0.7, 1e3], [1e-6, 3e-6, 7e-6]):
        assert inertia_faults(Inertia.from_com(mass, np.array(com), np.zeros((3, 3)))) == ()


def test_small_moments_without_mass_are_told() -> None:
    assert inertia_faults(inertia(0.0, 1e-12, 1e-12, 1e-12)) == ("moments without mass",)
