"""Random trees through the whole compiler: float64 beside Pinocchio, hardware beside float64, RTL beside the model."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from rbdgen import Options, Robot, compile_robot, golden
from rbdgen.compiler import Design
from rbdgen.functions.registry import common
from rbdgen.machines.engine.mapping import Mapped
from rbdgen.trials import make_tasks, relative_errors, task_states
from tests.fuzz.effort import examples
from tests.fuzz.refusals import attempt
from tests.fuzz.trees import driven, robots
from tests.golden.pinocchio import differences, model_of_bodies, ours, reference, states
from tests.hw.test_joint_types import simulated_mismatches
from tests.machines.engine.test_model import differences as different_words

TOLERANCE = 1e-7
"""Of float64 beside Pinocchio, relative to an output's largest: trees may be ill-conditioned."""
ROUNDING = 1e-12
"""What cancels leaves less than this, or nothing, by the order of the sums."""
WELL_CONDITIONED = ("id", "m", "did")
"""Functions that need no inverse."""
ERROR = 1e-2
"""What is asked for; fresh states may find half as much more."""
COARSE = 0.05
"""Of words of 16 bits, where nothing is inverted."""
MOST_FLAGGED = 0.01
"""Share of tasks inside their ranges that may overflow."""
FEW = ("revolute", "continuous", "prismatic", "spherical")
"""Kinds of joints whose RTL has all that any has: an angle, its sine and cosine, a length, a quaternion."""


def rounded(results: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Results with zeros where only rounding is left."""
    return {name: np.where(np.abs(x) < ROUNDING, 0.0, x) for name, x in results.items()}


@examples(16)
@given(robots(most=6, hollow=False))
def test_float64_is_pinocchios(robot: Robot) -> None:
    model = model_of_bodies(robot.bodies)
    model.gravity.linear = np.array(robot.gravity)
    q, v, a, tau, forces = states(robot, 3)
    expected = rounded(reference(robot, model, q, v, a, tau, forces))
    condition = np.max(np.linalg.cond(expected["m"]))
    for method in golden.METHODS:
        found = rounded(ours(robot, method, q, v, a, tau, forces))
        worst = max(differences(found, expected).values())
        assert worst < TOLERANCE * max(1.0, condition * 1e-4), (method, worst, condition)


@st.composite
def wishes(draw: Any) -> dict[str, Any]:
    """Options of a design."""
    functions = draw(st.lists(st.sampled_from(common()), min_size=1, max_size=2, unique=True))
    arithmetic = draw(st.sampled_from([{"word": 16}, {"word": 20}, {"error": ERROR}]))
    return {
        "functions": tuple(f for f in common() if f in functions),
        "ii": draw(st.sampled_from([1, 2, 3, 4, 7, 12])),
        # no force shows in a mass matrix
        "forces": not {"m", "minv"}.issuperset(functions) and draw(st.booleans()),
        "mass_matrix": draw(st.sampled_from(["ldl", "mminvgen"])),
        "device": draw(st.sampled_from(["generic125", "ecp5"])),
        **arithmetic,
    }


def compiled(robot: Robot, options: dict[str, Any]) -> Design | None:
    """The design; None where it is refused in a line."""
    found, refusal = attempt(lambda: compile_robot(robot, Options(**options)))
    event("refused: " + refusal.split(":")[0] if refusal else "compiled")
    return found


@pytest.mark.thorough
@examples(4)
@given(driven(most=4), wishes())
def test_hardware_keeps_its_errors(robot: Robot, options: dict[str, Any]) -> None:
    d = compiled(robot, options)
    if d is None:
        return
    for function in d.network.functions:
        tasks = make_tasks(d, function, task_states(d, 400, seed=5))
        assert np.mean(tasks.flags != 0) < MOST_FLAGGED, function
        if "error" in options:
            assert relative_errors(d, tasks, tasks.expected)[0] < 1.5 * ERROR, function
        elif function in WELL_CONDITIONED:
            assert relative_errors(d, tasks, tasks.expected)[0] < COARSE, function


@st.composite
def engines(draw: Any) -> dict[str, Any]:
    """Options of a design with an engine."""
    functions = draw(st.lists(st.sampled_from(common()), min_size=1, max_size=2, unique=True))
    return {
        "functions": tuple(f for f in common() if f in functions),
        "machine": "engine",
        "lanes": draw(st.sampled_from([1, 2, 4, 8])),
        "word": draw(st.sampled_from([32, 33, 35])),
        "forces": not {"m", "minv"}.issuperset(functions) and draw(st.booleans()),
        "goal": draw(st.sampled_from([None, "latency"])),
        "calibratable": draw(st.booleans()),
    }


@examples(6)
@given(driven(most=4), engines())
@pytest.mark.slow
def test_an_engine_has_the_bits_of_the_model(robot: Robot, options: dict[str, Any]) -> None:
    d = compiled(robot, options)
    if d is None:
        return
    # its program passed its check; here its very words are executed
    own = Mapped(d.network, d.fixed, d.signal_ranges, d.engine.program)
    for function in d.network.functions:
        assert different_words(own, function) == 0


@examples(2)
@given(driven(most=3, kinds=FEW), wishes())
@pytest.mark.slow
def test_rtl_has_the_bits_of_the_model(robot: Robot, options: dict[str, Any]) -> None:
    d = compiled(robot, options)
    if d is None:
        return
    with TemporaryDirectory() as work:
        assert simulated_mismatches(d, 12, Path(work)) == 0
