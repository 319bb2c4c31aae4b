"""The machine's model has the bits of the graph's: whatever the robot, the function, the core."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen.functions.registry import common
from rbdgen.machines.engine.check import check_program
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.model import run
from rbdgen.model import Revolute
from rbdgen.model.body import Body, Inertia, Limits, Placement
from rbdgen.model.robot import Robot
from rbdgen.tracing.execute import BitTrueModel
from tests.conftest import few
from tests.machines.engine.mapped import Mapped, mapped, mapped_robot, raw_operands

TASKS, CORES = 4, 32
"""Tasks that follow each other, and cores that run as many in lockstep."""


def differences(own: Mapped, function: str) -> int:
    """Result words, and flags, that differ from those of the graph's model."""
    raw = raw_operands(own, function, TASKS * CORES)
    expected = BitTrueModel(own.network, own.fixed).run(function, raw)
    operands = np.array(raw).reshape(len(raw), TASKS, CORES).swapaxes(0, 1)
    found = run(own.program, function, operands)
    values = found.values.swapaxes(0, 1).reshape(len(expected.values), -1)
    wrong = np.count_nonzero(values != np.array(expected.values))
    return int(wrong) + int(np.count_nonzero(found.flags.ravel() != expected.overflow))


@pytest.mark.parametrize("function", common())
@pytest.mark.parametrize("name", few(["pendulum2", "ur5", "iiwa14", "hyq"], "pendulum2", "iiwa14"))
@pytest.mark.slow
def test_a_core_has_the_bits_of_the_graph(name: str, function: str) -> None:
    assert differences(mapped(name), function) == 0


@pytest.mark.parametrize("name", few(["pendulum2", "ur5", "iiwa14", "hyq"], "pendulum2"))
def test_programs_pass_their_check(name: str) -> None:
    check_program(mapped(name).program)


@pytest.mark.parametrize(
    ("lanes", "banks", "width"),
    [
        (1, 1, 32),
        (8, 4, 32),
        (4, 2, 35),
        *(pytest.param(*more, marks=pytest.mark.thorough) for more in ((2, 1, 32), (2, 2, 35))),
    ],
)
def test_any_core_will_do(lanes: int, banks: int, width: int) -> None:
    core = Core(lanes, banks, width)
    own = mapped("ur5", ("fd", "m"), core)
    check_program(own.program)
    assert [differences(own, function) for function in ("fd", "m")] == [0, 0]


@pytest.mark.parametrize(
    ("lanes", "banks"), [(1, 1), (4, 2), pytest.param(2, 1, marks=pytest.mark.thorough)]
)
def test_a_lean_core_has_them_as_well(lanes: int, banks: int) -> None:
    core = Core(lanes, banks, words=512, depth=8192, limits=128, lean=True)
    functions = ("id", "fd", "minv")
    own = mapped("ur5", functions, core)
    check_program(own.program)
    assert [differences(own, function) for function in functions] == [0, 0, 0]
    # its words go into memories of whole columns
    assert {1: 56, 2: 90, 4: 180}[lanes] == own.program.layout.bits


@pytest.mark.parametrize("function", ["id", pytest.param("fd", marks=pytest.mark.thorough)])
@pytest.mark.slow
def test_a_floating_base(function: str) -> None:
    own = mapped("hyq", ("id", "fd"), base="floating")
    check_program(own.program)
    assert differences(own, function) == 0


def test_a_constant_that_is_handed_on_is_rounded() -> None:
    """The mass of a lone joint is one number, and goes into the second pass in the format of an operand there."""
    inertia = Inertia(
        7.0, (-2.1, -2.1, -2.1), ((0.7, 0.63, 0.63), (0.63, 0.7, 0.63), (0.63, 0.63, 0.7))
    )
    body = Body("body", "joint", Revolute((0.6, 0.0, -0.8)), -1, Placement(), inertia, Limits())
    own = mapped_robot(Robot("lone", "base", (body,)), ("dfd",), Core(1, 1))
    assert differences(own, "dfd") == 0


def test_tasks_follow_each_other_every_interval() -> None:
    own = mapped("pendulum2")
    for function, routine in own.program.routines.items():
        operands = np.array(raw_operands(own, function, TASKS)).reshape(-1, TASKS, 1)
        cycles = run(own.program, function, operands.swapaxes(0, 1)).cycles
        assert set(np.diff(cycles)) == {routine.interval}
        assert cycles[0] == routine.schedule.header
