"""Frames whose places are loaded: the model and the hardware follow, whatever functions look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, Design, Options, UnsupportedError, compile_robot
from rbdgen.functions import registry
from rbdgen.model import Setup
from rbdgen.tracing.loaded_frames import PLACE
from rbdgen.trials import make_tasks, relative_errors, task_states
from rbdgen_sim.scoreboard import run_tasks
from rbdgen_sim.simulators import get_simulator
from tests.conftest import component, few

FRAMES = ("fk", "jac", "acc", "lam", "laminv", "laminvf", "lama", "djac", "dfe")
CONTACTS = ("cfd", "scfd", "dcfd", "dscfd", "impulse")
DAMPED = {"constraint_damping": 0.1}
SETUP = Setup(frame={"tip=link2": (0.0, 0.0, 0.2, 0.3, 0.2, 0.1)}, contact=("tip:xz",))


def movable(functions: tuple[str, ...], **options: Any) -> Design:
    given: dict[str, Any] = {"machine": "engine", "word": 32, "movable_frames": True} | options
    return compile_robot(SETUP.load("pendulum2"), Options(functions, **given))


def worst(d: Design, function: str, seed: int | None) -> float:
    """The largest error of an entry, with frames elsewhere unless ``seed`` is None."""
    assert d.network.calibration is not None
    robot = None
    if seed is not None:
        robot = d.network.calibration.varied(np.random.default_rng(seed))
    tasks = make_tasks(d, function, task_states(d, 100, 3, robot), robot)
    assert not tasks.flags.any(), function
    return relative_errors(d, tasks, tasks.expected)[0]


@pytest.mark.parametrize("calibratable", few([False, True], True))
@pytest.mark.parametrize("functions", [FRAMES, CONTACTS], ids=lambda names: names[0])
def test_the_model_follows_in_every_function_of_frames(
    functions: tuple[str, ...], calibratable: bool
) -> None:
    d = movable(functions, calibratable=calibratable, **DAMPED)
    for function in functions:
        assert max(worst(d, function, seed) for seed in (None, 1, 2)) < 1e-4, function


def test_these_are_all_that_depend_on_frames() -> None:
    uses = [f.name for f in registry.known().values() if {"frames", "contacts"} & set(_sizes(f))]
    assert {*FRAMES, *CONTACTS} >= {*uses} - {"lfd", "ik"}


def _sizes(function: Any) -> list[str]:
    """What the shapes of a function's vectors depend on."""
    vectors = [*function.operands, *function.results]
    parts = [str(size).split("_")[0] for q in vectors for size in q.shape]
    return [{"frame": "frames", "contact": "contacts"}.get(part, part) for part in parts]


@pytest.mark.parametrize(
    "options",
    [
        {"machine": "pipeline", "ii": 2, "word": 18},
        {},
        pytest.param({"machine": "pipeline", "ii": 1, "word": 18}, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_the_hardware_follows(options: dict[str, Any], tmp_path: Path) -> None:
    d = movable(("fk", "jac", "acc"), **options)
    assert d.network.calibration is not None
    other = d.network.calibration.varied(np.random.default_rng(1))
    for robot in (None, other):
        states = task_states(d, 30, 3, robot)
        tasks = [make_tasks(d, f, states, robot) for f in d.network.functions]
        simulator = get_simulator("amaranth")
        order = np.arange(30) % len(tasks)
        run = run_tasks(d, tasks, order, component(d), simulator, tmp_path, stall=0.2, seed=4)
        assert all(o.mismatches == 0 for o in run.outcomes.values())


def test_a_place_is_loaded_by_its_entries() -> None:
    d = movable(("fk", "id"))
    assert [p.entry for p in d.network.parameters] == list(PLACE)
    assert {p.word.name for p in d.network.parameters} == {f"p_frame_tip_{e}" for e in PLACE}
    assert {p.frame for p in d.network.parameters} == {"tip"}
    # what no function looks at is none: of a pendulum's plane two of nine
    assert len(movable(("jac",)).network.parameters) < len(PLACE)


@pytest.mark.parametrize(
    ("setup", "function", "complaint"),
    [
        (SETUP, "id", r"^movable_frames and functions: .* on which none of id depends; .* fk"),
        (Setup(), "fk", r"has no frame"),
        (SETUP, "ik", r"^movable_frames: ik cuts steps .*; leave ik or movable_frames out$"),
        (
            Setup(frame={"tip=link2": ()}, loop=("tip:base:y",)),
            "fk",
            r"^movable_frames: .* no frame that could be put elsewhere; declare one that no loop",
        ),
    ],
)
def test_what_cannot_be_moved_is_refused(setup: Setup, function: str, complaint: str) -> None:
    options = Options((function,), machine="engine", movable_frames=True)
    with pytest.raises((ConfigError, UnsupportedError), match=complaint):
        compile_robot(setup.load("pendulum2"), options)
