"""The benchmark: every cell has a status, whatever an implementation does; files of others are added or refused."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbdgen import ConfigError, Options, compile_robot, golden, load_robot
from rbdgen.benchmark import text
from rbdgen.benchmark.adapters import Hardware, adapters
from rbdgen.benchmark.adapters.adapter import Adapter, Order
from rbdgen.benchmark.cells import (
    ABSENT,
    FAILED,
    INACCURATE,
    STATUSES,
    TOLERANCES,
    VALIDATED,
    Calls,
    Cell,
    NotThereError,
    Prepared,
)
from rbdgen.benchmark.results import add, losses, read_results, results
from rbdgen.benchmark.running import run
from rbdgen.benchmark.task import Task, check_functions
from rbdgen.emulation import DIGEST, serve_bit_true
from rbdgen.model import builtin_path
from rbdgen.report.design import manifest
from tests.cli.test_cli import last_error
from tests.cli.test_cli import run as run_command

RUN = {
    "date": "2026-11-29",
    "command": "rbdgen benchmark",
    "rbdgen": "1",
    "machine": {"processor": "p", "cores": 2, "python": "3"},
}
QUICK = ("pinocchio", "mujoco", "golden", "c", "c_from_c", "bit_true", "board")


def task(name: str = "pendulum2", functions: Sequence[str] = ("id", "minv")) -> Task:
    robot = load_robot(name)
    return Task(name, robot, builtin_path(name), "fixed", tuple(functions), 8, 1, (4,))


def asked(folder: Path, **more: Any) -> Hardware:
    return replace(Hardware(4, "amaranth", 8, folder), **more)


def chosen(folder: Path, *keys: str, **more: Any) -> list[Adapter]:
    return [x for x in adapters(asked(folder, **more)) if x.key in keys]


def measured(adapters_: Sequence[Adapter], own: Task | None = None) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in run(own or task(), adapters_, lambda stage: None):
        found.setdefault(cell.implementation, []).append(cell)
    return found


@lru_cache
def right() -> tuple[Task, list[Cell]]:
    own = task(functions=("id", "m"))
    return own, run(own, chosen(Path("build"), "golden", "c"), lambda stage: None)


def fake(made: Callable[[str], Prepared], name: str = "theirs") -> Adapter:
    return Adapter("fake", name, "from Python", "float64", lambda task, stack: made)


def shifted(own: Task, by: float) -> Callable[[str], Prepared]:
    def prepare(function: str) -> Calls:
        values = [x * (1 + by) for x in own.oracle[function]]
        return Calls(lambda: values, TOLERANCES["float64"], lambda k: None)

    return prepare


@pytest.mark.slow
def test_five_implementations_are_right_and_every_cell_has_a_status(tmp_path: Path) -> None:
    cells = measured(chosen(tmp_path, *QUICK))
    assert len(cells) == len(QUICK)
    assert {cell.status for own in cells.values() for cell in own} <= STATUSES.keys()
    good = [name for name, own in cells.items() if all(c.status == VALIDATED for c in own)]
    assert len(good) >= 5, {name: [(c.status, c.why) for c in own] for name, own in cells.items()}
    for name in good:
        for cell in cells[name]:
            assert cell.single_us is not None
            assert 0 < cell.single_us["best"] <= cell.single_us["median"]
            assert cell.errors.keys() == {"tau" if cell.function == "id" else "minv"}
    assert all("no board was given" in cell.why for cell in cells["rbdgen on a board"])


def test_simulated_rtl_has_its_cycles(tmp_path: Path) -> None:
    (cell,) = measured(chosen(tmp_path, "rtl"), task(functions=("id",)))["rbdgen RTL, simulated"]
    assert cell.status == VALIDATED, cell.why
    report = json.loads((tmp_path / "rtl_pendulum2" / "simulation.json").read_text())
    cycles, clock = report["functions"]["id"]["latency_cycles"], report["clock_mhz"]
    assert cell.latency_us == {"median": cycles / clock, "p99": cycles / clock}


def test_a_board_is_measured_by_its_link(tmp_path: Path) -> None:
    design = compile_robot(load_robot("pendulum2"), Options(("id",), ii=4))
    (tmp_path / "manifest.json").write_text(json.dumps(manifest(design, DIGEST, "0")))
    own = task(functions=("id", "m"))
    with serve_bit_true(design) as server:
        cells = measured(chosen(tmp_path, "board", built=tmp_path, udp=server.name), own)
    first, second = cells["rbdgen on a board"]
    assert (first.status, first.why) == (VALIDATED, "")
    assert (second.status, second.why) == (ABSENT, "the board does not compute m")


def test_a_missing_package_is_a_row_and_the_rest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pinocchio", "mujoco", "casadi", "jax"):
        monkeypatch.setitem(sys.modules, name, None)
    cells = measured(chosen(tmp_path, "pinocchio", "mujoco", "casadi", "casadi_c", "mjx", "golden"))
    for name, own in cells.items():
        for cell in own:
            assert cell.status == (VALIDATED if "golden" in name else ABSENT), (name, cell.why)
            assert ("install" in cell.why) == (cell.status == ABSENT)


def test_what_is_wrong_raises_or_has_another_shape_is_said(tmp_path: Path) -> None:
    own = task()

    def raising(function: str) -> Prepared:
        raise ZeroDivisionError("by nothing")

    def later(function: str) -> Prepared:
        def one(k: int) -> None:
            raise RuntimeError(f"state {k}")

        return Calls(lambda: own.oracle[function], 1e-9, one)

    def shapeless(function: str) -> Prepared:
        return Calls(lambda: [np.zeros(3)], 1e-9)

    def absent(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
        raise NotThereError("nowhere")

    made = [
        fake(shifted(own, 1e-6), "off"),
        fake(shifted(own, 0.0), "on"),
        fake(raising, "raising"),
        fake(later, "later"),
        fake(shapeless, "shapeless"),
        Adapter("none", "none", "from Python", "float64", absent),
    ]
    found = {name: (own[0].status, own[0].why) for name, own in measured(made, own).items()}
    assert found == {
        "off": (INACCURATE, ""),
        "on": (VALIDATED, ""),
        "raising": (FAILED, "ZeroDivisionError: by nothing"),
        "later": (FAILED, "RuntimeError: state 0"),
        "shapeless": (FAILED, "tau has shape (3,), not (8, 2)"),
        "none": (ABSENT, "nowhere"),
    }


def test_results_that_change_while_they_are_timed_are_inaccurate() -> None:
    own = task(functions=("id",))
    values = [x.copy() for x in own.oracle["id"]]

    def one(k: int) -> None:
        values[0][0] += 1.0

    made = fake(lambda function: Calls(lambda: values, 1e-9, one))
    (cell,) = measured([made], own)["theirs"]
    assert cell.error_before == 0.0
    assert (cell.status, cell.error_after is not None and cell.error_after > 1) == (
        INACCURATE,
        True,
    )


def test_joints_in_another_order_are_found(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    own = task("hyq", ("id", "m"))
    for cell in measured(chosen(tmp_path, "mujoco"), own)["MuJoCo"]:
        assert (cell.status, cell.why) == (VALIDATED, "")
    order = Order.by_name(own.robot, [b.joint_name for b in own.robot.bodies][::-1], "theirs")
    matrices = np.arange(2 * 144.0).reshape(2, 12, 12)
    assert np.array_equal(order.taken([matrices])[0], matrices[:, ::-1, ::-1])
    with pytest.raises(NotThereError, match=r"^the joints of theirs are a, b"):
        Order.by_name(own.robot, ["a", "b"], "theirs")


def test_a_run_without_ours_says_so() -> None:
    own, cells = right()
    theirs = [replace(cell, ours=False) for cell in cells]
    assert "Nothing of rbdgen's was timed." in text.plain(results([own], theirs, RUN))


def test_states_are_within_the_declared_effort() -> None:
    own = task("iiwa14")
    limits = golden.declared_ranges(own.robot).tau_max
    assert (np.abs(own.states.tau) <= np.array(limits)).all()
    assert len(own.states.q) == 8


def test_identities_tell_robots_and_states_apart() -> None:
    own = task()
    heavier = replace(own, robot=load_robot("ur5"), name="ur5")
    identities = {own.identity, heavier.identity, replace(own, seed=2).identity}
    assert len(identities) == 3
    assert replace(own).identity == own.identity


def test_files_of_others_are_added(tmp_path: Path) -> None:
    own, cells = right()
    theirs = tmp_path / "theirs.json"
    theirs.write_text(json.dumps(results([own], cells[:1], RUN)))
    content = results([own], cells, RUN)
    add(content, read_results(theirs), theirs)
    assert [cell["run"] for cell in content["cells"]] == [0] * len(cells) + [1]
    page = text.markdown(content)
    assert page.count("## pendulum2, id, run ") == 2
    assert "<table>" in text.html(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "rbdgen.benchmark/2"}, r"of a newer version, 'rbdgen.benchmark/2', where"),
        ({"schema": "rbdgen.report/1"}, r"schema must be 'rbdgen.benchmark/1', not"),
        ({"runs": []}, r"runs must be a list of 1 to 10000, not \[\]"),
        ({"cells": [{}]}, r"lacks cells\[0\].robot; 'rbdgen benchmark' writes"),
    ],
)
def test_other_files_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    own, cells = right()
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(results([own], cells, RUN) | change))
    with pytest.raises(ConfigError, match=rf"theirs\.json: {message}"):
        read_results(path)


def test_files_of_another_robot_are_refused_by_name() -> None:
    own, cells = right()
    content = results([own], cells, RUN)
    other = replace(own, robot=load_robot("ur5"))
    with pytest.raises(
        ConfigError, match=r"^x\.json: its robot 'pendulum2' is another one, or has"
    ):
        add(content, results([other], [], RUN), Path("x.json"))
    renamed = replace(own, name="ur5")
    with pytest.raises(
        ConfigError, match=r"^x\.json: is of robot 'ur5', and this benchmark of pend"
    ):
        add(content, results([renamed], [], RUN), Path("x.json"))


def test_losses_are_printed_as_they_are() -> None:
    own, cells = right()
    quick = {"median": 1e-6, "best": 1e-6}
    theirs = [replace(c, ours=False, implementation="<them>", single_us=quick) for c in cells[:1]]
    content = results([own], [*cells, *theirs], RUN)
    (lost,) = [x for x in losses(content) if x["figure"] == "single_us"]
    assert (lost["implementation"], lost["theirs"]) == ("<them>", 1e-6)
    assert "one call, µs: 1e-06 by <them>" in text.plain(content)
    assert "&lt;them&gt;" in text.html(content)
    assert "<them>" not in text.html(content)


def test_only_functions_that_all_have() -> None:
    with pytest.raises(ConfigError, match=r"^function 'step': not in the benchmark"):
        check_functions(["step"])


def test_the_command_writes_page_and_results(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quick = ("benchmark", "pendulum2", "--functions", "id", "--states", "4", "--batches", "4")
    status, out, err = run_command(capsys, *quick, "--only", "golden,c,board", "-o", tmp_path)
    assert status == 0, err
    assert "rbdgen on a board: no board was given" in " ".join(out.split())
    content = read_results(tmp_path / "benchmark.json")
    assert [cell["status"] for cell in content["cells"]] == [VALIDATED, VALIDATED, ABSENT]
    states = json.loads((tmp_path / "states_pendulum2.json").read_text())
    given = [np.array(states["operands"][name]) for name in states["functions"]["id"]["operands"]]
    tau = golden.rnea(load_robot("pendulum2"), *given)
    assert np.allclose(tau, states["functions"]["id"]["results"]["tau"])
    again = (*quick, "--only", "golden", "-o", tmp_path / "again", "--json")
    status, out, err = run_command(capsys, *again, "--add", tmp_path / "benchmark.json")
    assert status == 0, err
    assert [cell["run"] for cell in json.loads(out)["cells"]] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "lib"], r"only: no implementation 'lib'; there are pinocchio, mujoco, casadi"),
        (["--port", "/dev/null"], r"built: missing; --port, --udp and --spi are ways to the board"),
        (["--functions", "step"], r"function 'step': not in the benchmark"),
        (["--add", "nowhere.json"], r"nowhere.json: no such file; 'rbdgen benchmark' writes such"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = run_command(capsys, "benchmark", "pendulum2", *arguments, "-o", tmp_path)
    assert (status, bool(re.search(message, last_error(err)))) == (2, True), err
