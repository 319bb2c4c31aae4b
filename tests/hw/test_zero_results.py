"""Functions whose results are zero for a robot: answered by a header, refused where nothing else is asked for."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from rbdgen import ConfigError, Design, Robot, compile_robot, golden
from rbdgen.emulation import bit_true_shell, manifest_of
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver
from rbdgen.model import Cylindrical, Prismatic, Revolute, Spherical, Translation
from rbdgen.model.body import Body, Inertia, Limits, Placement
from rbdgen.report.evidence import evidence, warnings_of
from rbdgen.trials import make_tasks, task_states
from rbdgen_sim.comparison import check_mixed, random_operands
from tests.conftest import in_words
from tests.hw.test_joint_types import simulated_mismatches

BODY = Inertia.from_com(1.5, np.zeros(3), np.diag([0.1, 0.1, 0.2]))


def slider() -> Robot:
    """A body on a rail: no torque depends on its position or velocity."""
    limits = Limits(-1.0, 1.0, 2.0, 30.0)
    return Robot(
        "slider", "base", (Body("b", "j", Prismatic((0, 0, 1)), -1, Placement(), BODY, limits),)
    )


@lru_cache
def design_of(*functions: str) -> Design:
    return compile_robot(slider(), in_words(functions=functions, ii=3))


def test_they_are_answered_by_a_header(tmp_path: Path) -> None:
    d = design_of(*common())
    assert d.tasks.functions["did"].results == ()
    assert simulated_mismatches(d, 2 * len(common()), tmp_path) == 0
    found = evidence(d, 50)
    assert found["functions"]["did"]["outputs"]["dtau_dq"]["max_relative"] == 0.0
    assert warnings_of(d, found) == []


def test_the_host_gives_zeros_in_their_place() -> None:
    d = design_of(*common())
    q, v, a, tau = random_operands(d, 5)
    with Driver.open(manifest_of(d), bit_true_shell(d)) as device:
        for got in device.rnea_derivatives(q, v, a):
            assert np.array_equal(got, np.zeros((5, 1, 1)))
        for got in device.forward_dynamics_derivatives(q, v, tau):
            assert np.array_equal(got, np.zeros((5, 1, 1)))
        assert np.allclose(device.rnea(q, v, a), golden.rnea(d.robot, q, v, a), rtol=1e-2)
        check_mixed(d, device, 30, seed=1)


@pytest.mark.parametrize("arithmetic", [{"word": 18}, {"error": 1e-3}])
def test_nothing_but_zeros_is_refused(arithmetic: dict) -> None:
    options = in_words(functions=("did",), **arithmetic)
    with pytest.raises(ConfigError, match=r"^functions: every result of did is zero at all states"):
        compile_robot(slider(), options)


@pytest.mark.parametrize("functions", [("dfd",), ("fd", "dfd")])
def test_accelerations_that_nothing_needs_overflow_nowhere(functions: tuple[str, ...]) -> None:
    """The derivatives of one ball's torques do not depend on its acceleration, which free torques make large."""
    inertia = Inertia.from_com(7.0, np.array([0.1, -0.3, 0.0]), np.diag([0.35, 0.35, 2.4]))
    ball = Body("b", "j", Spherical(), -1, Placement(), inertia)
    robot = Robot("ball", "base", (ball,), gravity=(3.0, -4.0, 8.0))
    d = compile_robot(robot, in_words(functions=functions, ii=2))
    tasks = make_tasks(d, "dfd", task_states(d, 400, seed=5))
    assert not tasks.flags.any()


def test_what_is_zero_but_for_rounding_has_no_error() -> None:
    """Derivatives that cancel but for the rounding of float64 are right where hardware gives zeros."""
    point = Inertia.from_com(1.0, np.zeros(3), 0.02 * np.eye(3))
    bodies = (
        Body("l0", "j0", Cylindrical((0.0, 0.0, 1.0)), -1, Placement(), point),
        Body("l1", "j1", Translation(), -1, Placement(), point),
        Body("l2", "j2", Revolute((0.0, 0.0, 1.0)), 1, Placement(), point),
    )
    d = compile_robot(Robot("tree", "base", bodies), in_words(functions=("id", "did"), word=16))
    found = evidence(d, 200)["functions"]["did"]["outputs"]
    assert max(row["max_relative"] for row in found.values()) < 1e-2
