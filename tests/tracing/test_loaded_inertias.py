"""Functions of a calibratable design are those of the robot that is loaded, or are refused: none stays as it was."""

from __future__ import annotations

import numpy as np
import pytest

from rbdgen import ConfigError, Options, compile_robot
from rbdgen.functions import registry
from rbdgen.model import Setup
from rbdgen.trials import make_tasks, relative_errors, task_states

WHOLE = ("com", "cmm", "dcmm", "dcent", "energy", "coriolis")
WITHOUT = ("fk", "jac", "acc", "djac", "regressor", "eregressor", "ik", "loop")
"""What does not depend on inertias."""
LOOPED = ("lfd", "loop")
"""Functions of a robot with loops."""
ROBOT = Setup(frame={"tip=link2": (0.0, 0.0, 0.1)}, contact=("tip:xz",)).load("pendulum2")


TIED = Setup(frame={"tip=link2": (0.0, 0.0, 0.1)}, loop=("tip:base:y",)).load("pendulum2")


def options(function: str) -> Options:
    uses = "constraint_damping" in registry.function(function).uses
    return Options(
        (function,),
        machine="engine",
        word=32,
        calibratable=True,
        constraint_damping=0.1 if uses else 0.0,
    )


@pytest.mark.parametrize("function", sorted({*registry.known()} - {*WHOLE, *WITHOUT}))
def test_it_follows(function: str) -> None:
    d = compile_robot(TIED if function in LOOPED else ROBOT, options(function))
    assert d.network.calibration is not None
    other = d.network.calibration.varied(np.random.default_rng(3))
    states = task_states(d, 50, 3, other)
    tasks = make_tasks(d, function, states, other)
    assert not tasks.flags.any()
    assert relative_errors(d, tasks, tasks.expected)[0] < 1e-3


@pytest.mark.parametrize("function", WHOLE)
def test_what_needs_each_links_own_is_refused(function: str) -> None:
    with pytest.raises(ConfigError, match=f"^calibratable and functions: {function} takes what"):
        compile_robot(ROBOT, options(function))


@pytest.mark.parametrize("function", WITHOUT)
def test_what_does_not_depend_on_them_is_refused(function: str) -> None:
    with pytest.raises(ConfigError, match=f"on which none of {function} depends; add a function"):
        compile_robot(TIED if function in LOOPED else ROBOT, options(function))
