"""Whole horizons: what a solver asks a device, and what it makes of the answers."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rbdgen
from rbdgen import Options, Robot, control
from rbdgen.emulation import Float64
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.driver import Driver
from rbdgen.host.transport import ProcessTransport
from rbdgen.model.load import builtin_path
from tests.conftest import design
from tests.host.test_simulated_device import built

crocoddyl = pytest.importorskip("crocoddyl")
pinocchio = pytest.importorskip("pinocchio")

KNOTS, STEP = 20, 0.02
FUNCTIONS = ("fd", "dfd")
GOAL = np.array([0.8, -0.4])


class Counted(Float64):
    """The golden model, which counts calls and their tasks by function, and fails when it is told to."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self.tasks: dict[str, list[int]] = {}
        self.broken = ""

    def call(self, function: str, /, **operands: Any) -> Any:
        if function == self.broken:
            raise LinkError("device: is gone; plug it in")
        self.tasks.setdefault(function, []).append(len(operands["q"]))
        return super().call(function, **operands)


MODEL = pinocchio.buildModelFromUrdf(str(builtin_path("pendulum2")))
STATE = crocoddyl.StateMultibody(MODEL)
ACTUATION = crocoddyl.ActuationModelFull(STATE)


def costs(end: bool) -> Any:
    found = crocoddyl.CostModelSum(STATE)
    goal = crocoddyl.ResidualModelState(STATE, np.concatenate([GOAL, np.zeros(2)]))
    found.addCost("goal", crocoddyl.CostModelResidual(STATE, goal), 300.0 if end else 1.0)
    if not end:
        effort = crocoddyl.ResidualModelControl(STATE)
        found.addCost("effort", crocoddyl.CostModelResidual(STATE, effort), 1e-3)
    return found


def problem(device: Any, rollout: Any = None) -> Any:
    """By a device, or by Crocoddyl's own dynamics where it is None."""

    def knot(end: bool) -> Any:
        if device is None:
            return crocoddyl.DifferentialActionModelFreeFwdDynamics(STATE, ACTUATION, costs(end))
        return control.FreeFwdDynamics(STATE, ACTUATION, costs(end), device, rollout)

    running = crocoddyl.IntegratedActionModelEuler(knot(False), STEP)
    end = crocoddyl.IntegratedActionModelEuler(knot(True), 0.0)
    # one model for all knots, as Crocoddyl's users write it
    return crocoddyl.ShootingProblem(np.zeros(4), [running] * KNOTS, end)


def solved(asked: Any, tolerance: float = 1e-6) -> Any:
    solver = crocoddyl.SolverFDDP(asked)
    solver.th_stop = tolerance
    assert solver.solve([np.zeros(4)] * (KNOTS + 1), [np.zeros(2)] * KNOTS, 50, False)
    return solver


@pytest.fixture(scope="module")
def robot() -> Robot:
    return rbdgen.load_robot("pendulum2")


@pytest.fixture(scope="module")
def exact() -> Any:
    return solved(problem(None))


def test_derivatives_of_a_horizon_are_one_batch(robot: Robot, exact: Any) -> None:
    device = Counted(robot)
    solver = solved(problem(device))
    assert solver.iter == exact.iter
    assert solver.cost == pytest.approx(exact.cost, rel=1e-9)
    assert set(device.tasks["dfd"]) == {KNOTS}
    assert len(device.tasks["dfd"]) <= solver.iter + 1
    assert Counter(device.tasks["fd"])[1] == len(device.tasks["fd"])


def test_known_horizons_are_evaluated_in_one_batch(robot: Robot) -> None:
    device = Counted(robot)
    asked = problem(device)
    xs = [np.full(4, 0.01 * k) for k in range(KNOTS + 1)]
    us = [np.full(2, 0.1 * k) for k in range(KNOTS)]
    control.look_ahead(asked, xs, us)
    assert asked.calc(xs, us) == pytest.approx(problem(None).calc(xs, us), rel=1e-9)
    assert device.tasks == {"fd": [KNOTS]}
    # what is known is not asked again
    asked.calc(xs, us)
    asked.calcDiff(xs, us)
    asked.calcDiff(xs, us)
    assert device.tasks == {"fd": [KNOTS], "dfd": [KNOTS], "minv": [KNOTS]}


def test_a_knot_that_nobody_expects_is_asked_on_its_own(robot: Robot) -> None:
    device = Counted(robot)
    model = control.FreeFwdDynamics(STATE, ACTUATION, costs(False), device)
    data = model.createData()
    model.calc(data, np.zeros(4), np.zeros(2))
    # at another state than before
    data.xout = model.accelerate(data, np.ones(4), np.zeros(2))
    model.calcDiff(data, np.ones(4), np.zeros(2))
    assert device.tasks["dfd"] == [1]


def test_runge_kutta(robot: Robot) -> None:
    device = Counted(robot)
    given = STATE, ACTUATION, costs(False)
    kind = crocoddyl.RKType.four
    own = crocoddyl.IntegratedActionModelRK(control.FreeFwdDynamics(*given, device), kind, STEP)
    theirs = crocoddyl.IntegratedActionModelRK(
        crocoddyl.DifferentialActionModelFreeFwdDynamics(*given), kind, STEP
    )
    x, u = np.array([0.1, -0.2, 0.3, 0.4]), np.array([1.0, -1.0])
    found = []
    for model in (own, theirs):
        data = model.createData()
        model.calc(data, x, u)
        model.calcDiff(data, x, u)
        found.append((np.array(data.xnext), np.array(data.Fx), np.array(data.Fu)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    assert device.tasks["dfd"] == [4]


def test_sequential_quadratic_programming(robot: Robot) -> None:
    mim_solvers = pytest.importorskip("mim_solvers")
    device = Counted(robot)
    found = []
    for asked in (problem(device), problem(None)):
        solver = mim_solvers.SolverSQP(asked)
        solver.termination_tolerance = 1e-6
        assert solver.solve([np.zeros(4)] * (KNOTS + 1), [np.zeros(2)] * KNOTS, 50, False)
        found.append((solver.iter, solver.cost))
    assert found[0] == (found[1][0], pytest.approx(found[1][1], rel=1e-9))
    assert set(device.tasks["dfd"]) == {KNOTS}


def test_devices_are_not_kept(robot: Robot) -> None:
    device = Counted(robot)
    asked = problem(device)
    asked.calc([np.zeros(4)] * (KNOTS + 1), [np.zeros(2)] * KNOTS)
    left = weakref.ref(device)
    del device, asked
    gc.collect()
    assert left() is None


def test_roll_outs_that_diverge_are_the_solvers_business(robot: Robot) -> None:
    device = Counted(robot)
    model = control.FreeFwdDynamics(STATE, ACTUATION, costs(False), device)
    step = control.StepModel(STATE, ACTUATION, costs(False), device, 1e-3)
    for x, u in ((np.full(4, np.nan), np.zeros(2)), (np.full(4, 1e200), np.zeros(2))):
        for asked, result in ((model, "xout"), (step, "xnext")):
            data = asked.createData()
            asked.calc(data, x, u)
            assert np.isnan(getattr(data, result)).all()
            assert np.isnan(data.cost)
    assert device.tasks == {}
    # controls so large that full steps lead nowhere
    solver = crocoddyl.SolverFDDP(problem(device))
    wild = [np.full(2, (-1) ** k * 1e9) for k in range(KNOTS)]
    solver.solve([np.zeros(4)] * (KNOTS + 1), wild, 200, False)
    assert np.isfinite(solver.cost)


@pytest.mark.parametrize("broken", ["fd", "dfd"])
def test_errors_reach_the_caller(robot: Robot, broken: str) -> None:
    device = Counted(robot)
    asked = problem(device)
    device.broken = broken
    solver = crocoddyl.SolverFDDP(asked)
    with pytest.raises(LinkError, match=r"^device: is gone"):
        solver.solve([np.zeros(4)] * (KNOTS + 1), [np.zeros(2)] * KNOTS, 50, False)
    # and it goes on when the device is back
    device.broken = ""
    assert solved(asked).iter > 1


@pytest.fixture(scope="module")
def accelerator() -> Any:
    return design("pendulum2", functions=FUNCTIONS, ii=4, word=18, with_inverse=True)


@pytest.mark.filterwarnings("ignore::rbdgen.errors.RbdgenWarning")
def test_an_accelerator_solves_the_same(accelerator: Any, robot: Robot, exact: Any) -> None:
    with rbdgen.bit_true(accelerator) as device:
        fast = rbdgen.compile(robot, ["fd"])
        solver = solved(problem(device, fast))
        assert abs(solver.iter - exact.iter) <= 1
        assert solver.cost == pytest.approx(exact.cost, rel=1e-4)


@pytest.mark.thorough
def test_rtl_rolls_out_the_same(robot: Robot, tmp_path: Path) -> None:
    forward = design("pendulum2", functions=("fd",), ii=4, word=18)
    known, program = built(forward, tmp_path)
    xs = [np.full(4, 0.02 * k) for k in range(KNOTS + 1)]
    us = [np.full(2, 0.1 * k) for k in range(KNOTS)]
    found = []
    hardware = Driver.open(known, ProcessTransport([str(program)]))
    with hardware, rbdgen.bit_true(forward) as model:
        for device in (hardware, model):
            asked = problem(rbdgen.float64(robot), device)
            control.look_ahead(asked, xs, us)
            asked.calc(xs, us)
            batch = [np.array(d.xnext) for d in asked.runningDatas]
            found.append([*batch, *asked.rollout(us)])
    np.testing.assert_array_equal(found[0], found[1])
    assert np.any(found[0])


def test_flags_warn_once_a_batch(accelerator: Any) -> None:
    with rbdgen.bit_true(accelerator) as device:
        asked = problem(device)
        xs = [np.array([0.0, 0.0, 1e3, 0.0])] * (KNOTS + 1)
        us = [np.zeros(2)] * KNOTS
        control.look_ahead(asked, xs, us)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asked.calc(xs, us)
            asked.calcDiff(xs, us)
    texts = [str(w.message) for w in caught if issubclass(w.category, RbdgenWarning)]
    assert [text.partition(":")[0] for text in texts] == ["fd", "dfd"]
    assert all(f"of {KNOTS} tasks" in text for text in texts)


def test_options_of_forces() -> None:
    with pytest.raises(rbdgen.ConfigError, match=r"^force_limit and forces: force_limit is of"):
        Options(functions=("id",), force_limit=400.0)


@pytest.mark.parametrize("missing", ["crocoddyl", "pinocchio"])
def test_missing_packages_are_named(missing: str) -> None:
    script = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from rbdgen import control\nfrom rbdgen.errors import ToolError\n"
        "try:\n    control.FreeFwdDynamics\nexcept ToolError as error:\n    print(error)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Python package '{missing}' is missing; ")
