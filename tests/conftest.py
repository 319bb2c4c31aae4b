"""Fixtures that tests share: robots, designs of small ones, and where public URDFs may lie."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import Design, Options, Robot, compile_robot, load_robot, load_urdf
from rbdgen.errors import RbdgenWarning
from rbdgen.trials import TaskSet, dense_results
from rbdgen_hw.emit import accelerator
from rbdgen_sim.interface import Rtl


def few(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters of which only the ``kept`` ones are tried by ``make test``; the others are thorough."""
    return [v if v in kept else pytest.param(v, marks=pytest.mark.thorough) for v in values]


SHARED_ROBOTS = Path(__file__).parents[2] / "shared" / "robots"
"""URDFs of other projects, where a checkout has them beside it; they are not part of this one."""

SUPPORTED = (
    "atlas",
    "baxter_simple",
    "hyq_simple",
    "hyq_simple_xyz_prismatic",
    "iiwa",
    "iiwa_rbd_accel",
    "jaco_2_simple",
)
"""Of those, the ones with supported joints only."""

BUILTIN = ("hyq", "iiwa14", "pendulum2", "ur5")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache that nothing but these tests has written; workers share it, and what one compiled none compiles again."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["RBDGEN_CACHE"] = str(folder)


@lru_cache
def shared_robot(name: str) -> Robot:
    """One of the shared URDFs; skips the test where it is not there."""
    path = SHARED_ROBOTS / f"{name}.urdf"
    if not path.exists():
        pytest.skip(f"{name}.urdf is not beside this checkout")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RbdgenWarning)
        return load_urdf(path)


@lru_cache
def design(robot: str, base: str = "fixed", **options: object) -> Design:
    """The design of a built-in robot."""
    return compile_robot(load_robot(robot, base), in_words(**options))


_components: dict[int, tuple[Design, Rtl]] = {}


def component(d: Design) -> Rtl:
    """The design for Amaranth's simulator, the same component for the same design, which is then elaborated once."""
    if id(d) not in _components:
        _components.clear()
        tasks, results = d.tasks.task.row_bits, d.tasks.result.row_bits
        _components[id(d)] = d, Rtl(d.name, (), tasks, results, design=accelerator(d))
    return _components[id(d)][1]


def in_words(**given: Any) -> Options:
    """Options as ``given``, with words of 18 bits where no other arithmetic is asked for."""
    usual = {} if given.keys() & {"error", "formats"} else {"word": 18}
    return Options(**usual | given)


def error_of_largest(d: Design, tasks: TaskSet) -> float:
    """The largest error of the model's answers beside the largest entry of their vector or matrix."""
    found = dense_results(d, tasks.function, tasks.count, tasks.expected)
    errors = []
    for vector, truth in tasks.reference.items():
        errors.append(np.max(np.abs(found[vector] - truth)) / np.max(np.abs(truth)))
    return float(max(errors))
