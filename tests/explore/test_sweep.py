"""Sweeps: all combinations, the same rows from every kind of worker, nothing done twice, and the front."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.errors import ConfigError, ToolError
from rbdgen.explore import (
    AXES,
    NAMES,
    Point,
    Store,
    Task,
    combinations,
    make_points,
    mark_front,
    run_on_dask,
    run_on_processes,
)
from rbdgen.explore.sweep import (
    MEASURES,
    beats,
    csv_text,
    figures,
    figures_or_reason,
    make_row,
    plotted,
    text,
)
from rbdgen.machines.pipeline.budget import DEMANDS

TASK = Task(load_robot("pendulum2"), 20, 1)
CHOICES: dict[str, Any] = {"functions": [("id",), ("fd",)], "ii": [1, 3], "word": [16]}


@pytest.fixture(autouse=True)
def current_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources that change while tests run are no concern of theirs."""
    monkeypatch.setattr(sys.modules[__name__], "TASK", Task(load_robot("pendulum2"), 20, 1))


def points() -> tuple[Point, ...]:
    return swept(CHOICES)


def swept(
    values: dict[str, Any], task: Task | None = None, base: Options | None = None
) -> tuple[Point, ...]:
    return make_points(task or TASK, combinations(base or Options(word=18), values))


def collect(work: Any) -> dict[str, dict[str, Any]]:
    return {p.key: f for p, f in work}


def test_every_combination_is_a_point_once() -> None:
    found = swept({"ii": [1, 2, 1], "word": [16, 18], "functions": [("id",), ("m",)]})
    assert len(found) == len({p.key for p in found}) == 8
    assert [p.choice.position["word"] for p in found[:2]] == [16, 18]
    assert set(found[0].choice.position) == set(NAMES)


def test_axes_are_options_of_the_compiler() -> None:
    for axis in AXES:
        assert hasattr(Options(word=18), axis.name) or axis.name in DEMANDS


def test_words_and_errors_are_alternatives() -> None:
    found = combinations(Options(), {"word": [18], "error": [1e-3, 1e-4]})
    places = [(c.position["word"], c.position["error"]) for c in found]
    assert places == [(18, None), (None, 1e-3), (None, 1e-4)]


def test_each_machine_has_what_sets_its_rate() -> None:
    asked = {"machine": ["pipeline", "engine"], "ii": [4, 16], "clock": [50.0, 100.0]}
    found = combinations(Options(), asked)
    places = [(p["machine"], p["ii"], p["clock"]) for p in (c.position for c in found)]
    assert places == [
        ("pipeline", 4, 50.0),
        ("pipeline", 4, 100.0),
        ("pipeline", 16, 50.0),
        ("pipeline", 16, 100.0),
        ("engine", None, 50.0),
        ("engine", None, 100.0),
    ]
    lanes = combinations(Options(), {"machine": ["engine"], "ii": [4], "lanes": [1, 2]})
    assert [c.options.lanes for c in lanes] == [1, 2]


@pytest.mark.slow
def test_clocks_and_goals_are_those_of_designs() -> None:
    asked = {"clock": [80.0, 100.0], "goal": ["latency", "area"], "ii": [4]}
    for point in swept(asked, base=Options(word=18, ii=4)):
        found = figures(TASK, point)
        assert found["clock_mhz"] == point.choice.options.clock
        assert found["latency_us"] == pytest.approx(found["latency_cycles"] / found["clock_mhz"])
        rate = 1e6 * found["clock_mhz"] / found["interval_cycles"]
        assert found["tasks_per_second"] == pytest.approx(rate)
        design = compile_robot(TASK.robot, point.choice.options)
        assert found["luts"] == design.machine.resources(design.tasks).luts


def test_a_board_is_an_axis() -> None:
    """Its interval is kept where one is asked for, and what it has no room for is refused."""
    asked = {"board": ["ulx3s_85f", "icebreaker"], "ii": [8]}
    large, small = swept(asked, base=Options(word=18))
    row = make_row(large, figures(TASK, large))
    assert (row["board"], row["device"], row["interval_cycles"]) == ("ulx3s_85f", "ecp5", 8)
    assert row["luts"] < 83640
    (crowded,) = swept({"board": ["icebreaker"], "ii": [1], "functions": [("id", "dfd")]})
    refused = figures_or_reason(figures, TASK, crowded)
    assert refused["status"] == "refused"
    assert re.search(r"board icebreaker: \d+ \w+ are more than the \d+", refused["reason"])
    assert figures_or_reason(figures, TASK, small)["status"] in ("ok", "refused")
    (fast,) = swept({"board": ["ulx3s_85f"]}, base=Options(word=18))
    assert figures(TASK, fast)["interval_cycles"] == 1
    (unknown,) = swept({"board": ["ulx3s"]})
    assert "did you mean ulx3s_85f" in figures_or_reason(figures, TASK, unknown)["reason"]


def test_intervals_and_budgets_are_alternatives() -> None:
    places = [
        c.position
        for c in combinations(
            Options(word=18), {"ii": [2, 3], "multipliers": [5], "word": [16, 18]}
        )
    ]
    assert [(p["ii"], p["multipliers"], p["word"]) for p in places] == [
        (2, None, 16),
        (2, None, 18),
        (3, None, 16),
        (3, None, 18),
        (None, 5, 16),
        (None, 5, 18),
    ]
    with pytest.raises(ConfigError, match=r"^multipliers: must be at least 1, not 0$"):
        combinations(Options(word=18), {"multipliers": [0]})


def test_lanes_are_an_engines_and_replicas_a_pipelines() -> None:
    asked = {"ii": [2], "lanes": [1, 4], "cores": [1, 2], "replicas": [1, 3]}
    places = [c.position for c in combinations(Options(ii=12), asked)]
    assert [(p["ii"], p["replicas"], p["lanes"], p["cores"]) for p in places] == [
        (2, 1, None, None),
        (2, 3, None, None),
        (None, None, 1, 1),
        (None, None, 1, 2),
        (None, None, 4, 1),
        (None, None, 4, 2),
    ]


def test_a_budget_is_kept() -> None:
    (point,) = swept({"functions": [("id", "m")], "multipliers": [6]})
    found = figures(TASK, point)
    assert found["multipliers_variable"] <= 6
    assert found["interval_cycles"] > 1
    assert found["task_us"] == pytest.approx(found["interval_cycles"] / 125)


def test_a_key_is_of_everything_that_decides() -> None:
    key = swept({})[0].key
    assert key == swept({})[0].key
    others = [
        swept({}, replace(TASK, seed=2)),
        swept({}, replace(TASK, count=21)),
        swept({}, replace(TASK, robot=load_robot("ur5"))),
        swept({}, base=Options(seed=7, word=18)),
        swept({}, base=Options(limits={"joint1": {"velocity": 1.0}}, word=18)),
        swept({"multipliers": [9]}),
    ]
    assert len({key, *(o[0].key for o in others)}) == 1 + len(others)


def test_too_many_points_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^points: 20000 are more than 10000; give fewer values$"
    ):
        combinations(Options(word=18), {"ii": range(1, 201), "word": range(100)})


@pytest.mark.slow
def test_processes_and_dask_give_the_same_rows() -> None:
    distributed = pytest.importorskip("distributed")
    local = collect(run_on_processes(figures, TASK, points(), 2))
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            dashboard_address=None,
            protocol="tcp",
            host="127.0.0.1",
        ) as cluster,
    ):
        remote = collect(run_on_dask(figures, TASK, points(), cluster.scheduler_address))
    assert local == remote == {p.key: figures_or_reason(figures, TASK, p) for p in points()}
    assert all(f["status"] == "ok" for f in local.values())


def test_figures_are_the_designs() -> None:
    point = points()[1]
    design = compile_robot(TASK.robot, point.choice.options)
    found = figures(TASK, point)
    assert found["by_function"]["id"]["latency_cycles"] == design.promised_latency("id")
    assert found["task_us"] == pytest.approx(3 / 125)
    assert 0 < found["max_relative_error"] < 1e-2


def test_what_cannot_be_built_says_why() -> None:
    (point,) = swept(
        {"functions": [("minv",)], "device": ["generic125"]}, base=Options(clock=350.0, word=18)
    )
    found = figures_or_reason(figures, TASK, point)
    assert (found["status"], found["reason"]) == (
        "refused",
        "device generic125: a mul takes 3 ns, more than the period of 2.85714 ns; use a slower clock or a shorter word",
    )


def test_workers_with_other_sources_are_refused() -> None:
    with pytest.raises(ToolError, match=r"another version of rbdgen"):
        figures_or_reason(figures, replace(TASK, code="0" * 64), points()[0])


def die(task: Task, point: Point) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_killed_process_is_told() -> None:
    with pytest.raises(ToolError, match=r"^a process was killed.*the same command goes on"):
        list(run_on_processes(die, TASK, points(), 1))


def test_an_absent_scheduler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("rbdgen.explore.sweep.PATIENCE", 0.5)
    with pytest.raises(
        ToolError, match=r"^dask 'tcp://127\.0\.0\.1:1': does not answer: .*; start one with 'dask"
    ):
        list(run_on_dask(figures, TASK, points(), "tcp://127.0.0.1:1"))


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ToolError,
        match=r"'distributed' is missing; install it with: pip install 'distributed<\d+,>=",
    ):
        list(run_on_dask(figures, TASK, points(), "tcp://127.0.0.1:1"))


def test_finished_points_are_kept(tmp_path: Path) -> None:
    store, (first, second, *_) = Store(tmp_path), points()
    store.save(first, {"status": "ok", "x": 1})
    store.save(second, {"status": "refused"})
    assert store.load(points()) == {
        first.key: {"status": "ok", "x": 1},
        second.key: {"status": "refused"},
    }
    (store.folder / f"{first.key}.json").write_text('{"schema": "rbdgen.point/1", "key":')
    (store.folder / f"{second.key}.json").write_text(
        '{"schema": "rbdgen.point/0", "key": "", "figures": {}}'
    )
    assert store.load(points()) == {}
    assert not list(store.folder.glob("*.part"))


@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "rbdgen",
        "explore",
        "pendulum2",
        "--ii",
        "1,2,3,4,5,6",
        "--word",
        "18",
    ]
    command += [
        "--functions",
        "id,fd",
        "--tasks",
        "20",
        "--jobs",
        "1",
        "-o",
        str(tmp_path),
        "--json",
    ]
    kept = tmp_path / "points"
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as one:
        deadline = time.monotonic() + 60
        while (
            len(list(kept.glob("*.json"))) < 2
            and one.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        os.killpg(one.pid, signal.SIGKILL)
    before = {p.name: p.stat().st_mtime_ns for p in kept.glob("*.json")}
    assert 2 <= len(before) < 6
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert (content["taken"], content["points"], len(content["rows"])) == (len(before), 6, 6)
    after = {p.name: p.stat().st_mtime_ns for p in kept.glob("*.json")}
    assert len(after) == 6
    assert {name: after[name] for name in before} == before


def row(
    blocks: float, time_: float, error: float, luts: float = 100, **more: Any
) -> dict[str, Any]:
    place = {
        "functions": ["id"],
        "root": None,
        "board": None,
        "ii": 1,
        "word": 18,
        "device": "ecp5",
        "derivative": "",
        "mass_matrix": "",
    }
    return (
        place
        | {"status": "ok"}
        | dict(zip(MEASURES, (blocks, luts, time_, error), strict=True))
        | more
    )


def test_the_front_is_what_nothing_beats() -> None:
    rows = [
        row(10, 1.0, 1e-4),
        row(5, 2.0, 1e-4),
        row(10, 2.0, 1e-4),  # beaten by both
        row(10, 1.0, 1e-4),  # as good as the first
        row(20, 9.0, 9.0, device="xcup"),  # another device
        row(20, 9.0, 9.0, board="ulx3s_85f"),  # for a board
        row(20, 9.0, 9.0, functions=["m"]),  # another task
        row(11, 1.5, 1e-4, luts=50),  # fewer look-up tables
        {**row(1, 1, 1), "status": "refused"},
    ]
    on_front = [True, True, False, True, True, True, True, True, False]
    assert [r["pareto"] for r in mark_front(rows)] == on_front
    assert not beats(rows[0], rows[3])


def test_rows_are_told_in_all_forms() -> None:
    good, bad = swept({"device": ["generic250", "generic125"]}, base=Options(clock=350.0, word=18))
    rows = mark_front([make_row(p, figures_or_reason(figures, TASK, p)) for p in (good, bad)])
    shown = text(rows)
    assert "front" in shown
    assert "refused: device generic125: device generic125: a mul takes 3 ns" in shown
    assert "promised by the schedule" in shown
    lines = csv_text(rows).splitlines()
    assert len(lines) == 3
    assert ",refused," in lines[2]
    assert [r["series"] for r in plotted(rows)] == ["device generic250"]
    assert [r["series"] for r in plotted(rows[:1])] == ["all points"]


@pytest.mark.slow
def test_roots_are_an_axis() -> None:
    choices = combinations(Options(word=18), {"ii": [4], "root": ["trunk", "lf_hip"]})
    assert [c.position["root"] for c in choices] == ["trunk", "lf_hip"]
    task = Task(load_robot("hyq", "floating"), 20, 1)
    found = [figures(task, p) for p in make_points(task, choices)]
    assert found[0]["multipliers_variable"] != found[1]["multipliers_variable"]
