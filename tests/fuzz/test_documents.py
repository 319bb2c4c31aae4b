"""Mutants of robots' and configurations' files: read, or refused in a line."""

from __future__ import annotations

import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from rbdgen import RbdgenWarning, golden
from rbdgen.cli.main import main
from rbdgen.model import builtin_path, parse_urdf
from tests.conftest import BUILTIN
from tests.fuzz.documents import toml_mutant, xml_mutant
from tests.fuzz.effort import examples
from tests.fuzz.refusals import LONGEST, attempt

seeds = st.integers(0, 2**32 - 1)

CONFIG = """robot = "pendulum2"
base = "fixed"
functions = ["id", "m"]
derivative = "composite"
mass_matrix = "ldl"
forces = false
calibratable = false
integrator = "euler"
time_step = 0.001
word = 16
ranges = "both"
rounding = "auto"
overflow = "flag"
seed = 1
ii = 4
fold = true
share = true
device = "generic125"

[joints.joint1]
lower = -2.0
upper = 2.0
velocity = 3.0
acceleration = 10.0
effort = 50.0

[joints.joint2]
lower = -1.0
upper = 1.0
"""


@examples(150)
@given(seeds, st.sampled_from(BUILTIN), st.sampled_from(["fixed", "floating", "planar"]))
def test_robots(seed: int, name: str, base: str) -> None:
    original = builtin_path(name).read_text(encoding="utf-8")
    text = xml_mutant(original, np.random.default_rng(seed))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        robot, _ = attempt(partial(parse_urdf, text, "mutant.urdf", base=base))
    if robot is None:
        event("refused")
        return
    event("read")
    assert all(issubclass(w.category, RbdgenWarning) for w in said)
    ranges = golden.declared_ranges(robot)
    q, v, a = golden.random_states(robot, ranges, 2, 1)
    assert np.isfinite(golden.rnea(robot, q, v, a)).all()


def test_the_configuration_is_whole(tmp_path: Path) -> None:
    """What mutants are made of is taken as it is."""
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    status, complaint = said_by(path)
    assert "error" not in complaint
    assert status == 0


@examples(30)
@given(seeds)
def test_configurations(seed: int) -> None:
    text = toml_mutant(CONFIG, np.random.default_rng(seed))
    with TemporaryDirectory() as work:
        path = Path(work) / "config.toml"
        path.write_text(text, encoding="utf-8")
        status, complaint = said_by(path)
    event("taken" if status == 0 else "refused")
    assert status in (0, 2)
    if status == 2:
        errors = [line for line in complaint.splitlines() if line.startswith("rbdgen: error: ")]
        assert len(errors) == 1
        assert len(errors[0]) < LONGEST


def said_by(config: Path) -> tuple[int, str]:
    """Exit status and complaints of laying out what a configuration says."""
    complaints = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(complaints):
        status = main(["layout", "--config", str(config), "--evidence", "0", "--json"])
    return status, complaints.getvalue()
