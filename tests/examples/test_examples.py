"""The scripts in examples/: they run as their first lines say, and find what they claim."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rbdgen_sim.soft_core import COMPILER

FOLDER = Path(__file__).parents[2] / "examples"


def run(script: str, *arguments: str | Path) -> str:
    """What a script prints."""
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figure(text: str, pattern: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def test_every_script_is_run_here() -> None:
    scripts = {"swap_pinocchio.py", "drop_in_ip.py", "new_algorithm.py", "controller.py"}
    scripts |= {"three_robots.py", "motor_control.py", "microcontroller.py"}
    scripts |= {"task_space.py", "stand.py", "snake.py", "mpc_problems.py"}
    scripts |= {"identify_payload.py", "ik_path.py"}
    scripts |= {"four_bar.py", "parallel_leg.py"}
    # the notebook has a file of its own
    scripts |= {"tutorial_notebook.py"}
    assert {p.name for p in FOLDER.glob("*.py")} == scripts


def test_swap_pinocchio() -> None:
    pytest.importorskip("pinocchio")
    out = run("swap_pinocchio.py", "pendulum2", "--states", "5")
    differences = re.findall(r"^(\w+) .*largest value (\S+)$", out, re.M)
    assert [name for name, _ in differences] == ["id", "fd", "m", "minv", "did", "dfd"]
    assert all(float(d) < 1e-9 for _, d in differences)


@pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="no Icarus Verilog; setup.sh installs it"
)
def test_drop_in_ip(tmp_path: Path) -> None:
    out = run("drop_in_ip.py", "-o", tmp_path)
    assert "tags [0, 1, 2, 3, 4], flags [0, 0, 0, 0, 0]" in out
    assert 0 < figure(out, r"largest error / largest torque: (\S+)") < 2e-4
    assert {p.name for p in tmp_path.iterdir()} >= {
        "my_design.v",
        "testbench.v",
        "tasks.hex",
        "manifest.json",
    }


def test_new_algorithm() -> None:
    out = run("new_algorithm.py", "iiwa14")
    assert figure(out, r"golden model by (\S+)") < 1e-12
    rows = dict(re.findall(r"^(built in|textbook) +(\d+) ", out, re.M))
    assert 0 < int(rows["built in"]) < int(rows["textbook"])


@pytest.mark.slow
def test_three_robots() -> None:
    out = run("three_robots.py", "--calls", "5")
    assert "resident: ur5, iiwa14, hyq\n" in out
    errors = re.findall(r"worst error (\S+),", out)
    assert len(errors) == 5
    assert all(0 < float(error) < 1e-4 for error in errors)


@pytest.mark.slow
def test_identify_payload() -> None:
    out = run("identify_payload.py", "--states", "200")
    assert "torques tell 44 of 70 parameters of all links, and 10 of 10 of link7" in out
    rows = {
        r[0]: np.array(r[1].split(), float)
        for r in re.findall(r"^(true|float64|C|engine) +([-. \d]+)$", out, re.M)
    }
    kg, mm, moment = 5e-3, 1.0, 2.0
    limits = np.array([kg, *[mm] * 3, *[moment] * 6])
    for name in ("float64", "C", "engine"):
        assert np.all(np.abs(rows[name] - rows["true"]) < limits), name
        assert np.any(rows[name] != rows["true"]), name
    # noise is what is off, not words of 32 bits
    assert np.allclose(rows["engine"], rows["float64"], rtol=0, atol=0.02)


@pytest.mark.slow
def test_ik_path() -> None:
    out = run("ik_path.py", "--places", "30", "--steps", "3")
    rows = re.findall(r"^(float64|C|engine): off the path by (\S+) mm and (\S+) mrad", out, re.M)
    assert [name for name, *_ in rows] == ["float64", "C", "engine"]
    assert all(float(x) < 0.05 for _, *off in rows for x in off)
    assert 0.01 < figure(out, r"joints move by (\S+) rad") < 0.2


@pytest.mark.thorough
def test_task_space() -> None:
    out = run("task_space.py", "--seconds", "1.5")
    exact = figure(out, r"float64: off the circle by (\S+) mm")
    assert exact < 2
    assert figure(out, r"bit-true: off the circle by (\S+) mm") < exact + 0.3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("robot", "limit"), [("iiwa14", 2e-3), pytest.param("hyq", 1e-4, marks=pytest.mark.thorough)]
)
def test_controller(tmp_path: Path, robot: str, limit: float) -> None:
    pytest.importorskip("crocoddyl")
    picture = tmp_path / "controller.svg"
    asked = ["--robot", robot, "--words", "18", "--seconds", "0.3", "--plot", picture]
    out = run("controller.py", *asked)
    rows = dict(re.findall(r"^(18 bits|float64) +\S+ +(\S+)", out, re.M))
    assert abs(float(rows["18 bits"])) < limit
    assert float(rows["float64"]) == 0
    links = re.findall(r"^(a serial line of 3 Mbaud|PCI Express 3.0 x16) .* (\S+)$", out, re.M)
    assert float(links[0][1]) > 1000 * float(links[1][1]) > 0
    assert picture.stat().st_size > 1000


def test_controller_names_what_is_missing() -> None:
    script = (
        "import runpy, sys; sys.modules['crocoddyl'] = None\n"
        f"sys.path.insert(0, {str(FOLDER)!r}); runpy.run_path({str(FOLDER / 'controller.py')!r})"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"Python package 'crocoddyl' is missing; .*\n", done.stderr)


@pytest.mark.filterwarnings("ignore::rbdgen.errors.RbdgenWarning")
@pytest.mark.thorough
def test_stand() -> None:
    out = run("stand.py", "--seconds", "0.6")
    strays = [float(x) for x in re.findall(r"strays by (\S+) mm", out)]
    assert len(strays) == 2
    assert max(strays) < 150
    loads = [float(x) for x in re.findall(r"carry (\S+) N", out)]
    assert min(loads) > 100


@pytest.mark.filterwarnings("ignore::rbdgen.errors.RbdgenWarning")
@pytest.mark.slow
def test_four_bar() -> None:
    """The motion with a loop is that of a model of one coordinate, which shares nothing with rbdgen."""
    out = run("four_bar.py", "--seconds", "0.1", "--error", "1e-3")
    assert figure(out, r"at most (\S+) rad apart") < 1e-6
    assert figure(out, r"is open by (\S+) m at the end") < 1e-6
    rates = {r[0]: float(r[1]) for r in re.findall(r"rate (\d+) 1/s: .* at most (\S+) mm", out)}
    assert rates["50"] < 1.0


@pytest.mark.thorough
def test_parallel_leg() -> None:
    out = run("parallel_leg.py", "--seconds", "0.3")
    strays = [float(x) for x in re.findall(r"stray by at most (\S+) mrad, loops open", out)]
    gaps = [float(x) for x in re.findall(r"loops open by at most (\S+) um", out)]
    assert (len(strays), len(gaps)) == (2, 2)
    assert max(strays) < 1.0
    assert max(gaps) < 10.0


@pytest.mark.thorough
def test_snake(tmp_path: Path) -> None:
    out = run("snake.py", "--links", "12", "-o", tmp_path / "snake.urdf")
    rows = {r[0]: r[1:] for r in re.findall(r"^(\w+) +(\d+) +\S+ +(\d+) +(\S+)$", out, re.M)}
    assert int(rows["scan"][0]) < int(rows["recursive"][0])
    assert all(float(row[2]) < 1e-5 for row in rows.values())
    assert (tmp_path / "snake.urdf").is_file()


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no {COMPILER}; setup.sh installs it")
def test_motor_control(tmp_path: Path) -> None:
    """The error dies away as the firmware's gains say, which shows that its torques are those of the model."""
    out = run("motor_control.py", "--seconds", "0.03", "-o", tmp_path)
    assert "300 periods of 100 us on vexriscv at 50 MHz" in out
    assert "calls with flags: 0" in out
    assert figure(out, r"id as firmware sees it: (\d+) cycles") < 5000
    first, last = (figure(out, rf"largest error at {k}: (\S+) rad") for k in ("first", "last"))
    assert first == pytest.approx(0.02, abs=1e-9)
    # critical damping at 40 rad/s
    decay = 40.0 * 0.0299
    assert last == pytest.approx(0.02 * (1.0 + decay) * np.exp(-decay), rel=0.03)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_microcontroller(tmp_path: Path) -> None:
    out = run("microcontroller.py", "--ticks", "20", "-o", tmp_path)
    assert "\n0 torques differ from the emulated engine's" in out
    assert figure(out, r"ur5 loaded: (\d+) bytes") > 10_000
    # a task of 18 numbers, its result of 6, and what is between them
    assert figure(out, r"20 calls: (\d+) bytes") < 220
    if shutil.which("riscv64-unknown-elf-gcc") is not None:
        assert figure(out, r"RV32IM: (\d+) bytes of code") < 5000
