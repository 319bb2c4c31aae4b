"""Random chains are chains, sound, and the same every time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rbdgen import ConfigError
from rbdgen.model import Continuous, Prismatic, Revolute, inertia_faults
from rbdgen.parallel import random_chain


def test_chains_are_serial_sound_and_of_every_joint_type() -> None:
    robot = random_chain(64, seed=7)
    assert [body.parent for body in robot.bodies] == list(range(-1, 63))
    assert not any(inertia_faults(body.inertia) for body in robot.bodies)
    assert all(body.inertia.mass > 0 for body in robot.bodies)
    assert {type(body.joint) for body in robot.bodies} == {Revolute, Continuous, Prismatic}
    lengths = [np.linalg.norm(body.placement.translation) for body in robot.bodies]
    assert 0.15 <= min(lengths) <= max(lengths) <= 0.45


def test_equal_arguments_make_equal_chains() -> None:
    assert random_chain(5, seed=1) == random_chain(5, seed=1)
    assert random_chain(5, seed=1) != random_chain(5, seed=2)
    assert random_chain(5, seed=1).bodies[:3] == random_chain(3, seed=1).bodies


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": 0}, r"^links: must be at least 1, not 0$"),
        ({"links": 2, "length": 0.0}, r"^length: must be positive and finite, not 0\.0$"),
        ({"links": 2, "mass": math.inf}, r"^mass: must be positive and finite, not inf$"),
        ({"links": 2, "mass": math.nan}, r"^mass: must be positive and finite, not nan$"),
    ],
)
def test_complains_about(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        random_chain(**options)  # type: ignore[arg-type]
