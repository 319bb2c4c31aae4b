"""Pictures say what the plan says, stand alone, are the same every time, and show units with several submodules."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rbdgen import Options, compile_robot, load_robot
from rbdgen.cli.main import main
from rbdgen.compiler import Design
from rbdgen.functions.registry import common
from rbdgen.machines.pipeline.buffers import UnitPlan
from rbdgen.machines.pipeline.queues import queues
from rbdgen.report.drawings import layout_picture, timing_chart, timing_trace
from rbdgen.report.drawings.chart import WIDTH as CHART_WIDTH
from rbdgen.report.drawings.layout import CARD
from rbdgen.report.drawings.structure import banded_positions, forest_positions
from rbdgen.report.drawings.svg import FONT, HUES, SMALL, Canvas, fitting
from rbdgen.report.drawings.tree import WIDTH
from rbdgen.report.drawings.unit_times import task_time
from rbdgen.report.pipeline import function_passes
from tests.conftest import design

SVG = "{http://www.w3.org/2000/svg}"
ALL = common()
DESIGNS = [("iiwa14", {}), ("pendulum2", {"functions": ALL, "ii": 3}), ("hyq", {"ii": 4})]

every_design = pytest.mark.parametrize(("robot", "options"), DESIGNS)
every_picture = pytest.mark.parametrize("draw", [layout_picture, timing_chart])


def texts(svg: str) -> list[str]:
    """What can be read in a picture."""
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def tips(svg: str) -> str:
    """All tooltips."""
    return "\n".join(t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SVG}title"))


def merged(d: Design) -> Design:
    """The design with the forward submodules of links 2 and 3 on one unit."""
    first, second = (
        next(u for u in d.plan.units if u.name == name) for name in ("Rf_link2", "Rf_link3")
    )
    both = UnitPlan("Rf_link2", first.nodes + second.nodes, first.inputs, first.outputs)
    units = tuple(both if u is first else u for u in d.plan.units if u is not second)
    multipliers = dict(d.plan.schedule.multipliers)
    multipliers["Rf_link2"] += multipliers.pop("Rf_link3")
    schedule = dataclasses.replace(d.plan.schedule, multipliers=multipliers)
    plan = dataclasses.replace(d.plan, units=units, schedule=schedule)
    return dataclasses.replace(d, machine=dataclasses.replace(d.pipeline, plan=plan))


@every_design
@every_picture
def test_pictures_stand_alone_and_fit(draw, robot: str, options: dict) -> None:
    svg = draw(design(robot, **options))
    root = ElementTree.fromstring(svg)
    assert not re.search(r"<script|@import|@font-face|href|url\(", svg)
    assert re.findall(r"https?://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert "@media screen and (prefers-color-scheme: dark)" in svg
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        assert (
            0
            <= float(box.get("x", 0))
            <= float(box.get("x", 0)) + float(box.attrib["width"])
            <= width
        )
        assert (
            0
            <= float(box.get("y", 0))
            <= float(box.get("y", 0)) + float(box.attrib["height"])
            <= height
        )
    known = {
        name for rule in re.findall(r"\.rbdgen [a-z]*\.([a-z0-9]+)", svg) for name in rule.split()
    }
    used = {
        name for e in root.iter() if e.tag != f"{SVG}svg" for name in (e.get("class") or "").split()
    }
    assert used <= known


@every_design
def test_a_layout_can_be_read_at_400_pixels(robot: str, options: dict) -> None:
    """Its letters are then as high as those of a footnote, and chains go on below."""
    root = ElementTree.fromstring(layout_picture(design(robot, **options)))
    width = float(root.attrib["width"])
    assert width <= WIDTH
    assert FONT * 400 / width >= 7
    assert SMALL * 400 / width >= 6.5
    cards = [box for box in root.iter(f"{SVG}rect") if float(box.get("width", 0)) == CARD]
    positions = {(box.get("x"), box.get("y")) for box in cards}
    assert len(positions) == len(cards) == len(design(robot, **options).robot.bodies)


def test_a_chain_goes_on_below_and_says_what_it_follows() -> None:
    seen = texts(layout_picture(design("iiwa14")))
    assert [t for t in seen if t.startswith("after ")] == [
        "after link3",
        *(f"after link{k}" for k in (2, 4, 6)),
    ]


@pytest.mark.thorough
def test_a_chart_of_many_functions_goes_on_below() -> None:
    svg = timing_chart(design("iiwa14", functions=ALL, ii=12))
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= CHART_WIDTH
    titles = {}
    for text in root.iter(f"{SVG}text"):
        if text.text in (*ALL, "steady state") and text.get("class") == "strong":
            titles[text.text] = float(text.attrib["y"])
    assert titles.keys() == {*ALL, "steady state"}
    assert len(set(titles.values())) == 2
    # each band names its rows
    assert texts(svg).count("result out") == 2


def test_bands_are_no_wider_than_they_may_be() -> None:
    parents = [-1, 0, 1, 2, 0, 4, 5]
    positions = banded_positions(parents, 2)
    assert len({(p.column, p.row) for p in positions}) == len(parents)
    assert {p.column for p in positions} == {0, 1}
    assert [p.begins for p in positions] == [False, False, True, False, False, True, False]
    assert all(positions[k].row > positions[1].row for k in (2, 3, 5, 6))
    side_by_side = banded_positions([-1, 0, 0, 0], 1)
    assert [p.row for p in side_by_side] == [0.0, 1.0, 2.0, 3.0]
    leaves = banded_positions([-1, -1, 0, 1, 2, 3], 2)
    assert [(p.column, p.row) for p in leaves[-2:]] == [(0, 2.0), (1, 2.0)]


@pytest.mark.parametrize("draw", [layout_picture, timing_chart, timing_trace])
def test_the_same_design_gives_the_same_bytes(draw) -> None:
    fresh = design.__wrapped__("pendulum2", functions=ALL, ii=3)
    assert draw(design("pendulum2", functions=ALL, ii=3)) == draw(fresh)


@every_design
def test_layout_says_what_the_plan_says(robot: str, options: dict) -> None:
    d = design(robot, **options)
    svg = layout_picture(d)
    seen, tip = texts(svg), tips(svg)
    for body in d.robot.bodies:
        assert f"{body.name}, carried by {body.joint_name} (" in tip
    for name, count in d.plan.schedule.multipliers.items():
        assert f"{name}: {count} multipliers" in tip
    for f in d.plan.fifos:
        assert f"FIFO from {f.source}: {f.depth} entries of {len(f.values)} words" in tip
    for q in queues(d.plan, d.tasks):
        if q.kind in ("lane", "feedback") and q.name != "lane_error.queue":
            assert f"{q.name}: {q.depth} entries" in tip
    ii = d.options.ii
    every = "cycle" if ii == 1 else f"{ii} cycles"
    assert any(f"II {ii}: a task every {every} ·" in t for t in seen)
    assert f"{sum(d.plan.schedule.multipliers.values())} multipliers" in svg


def test_a_unit_with_several_submodules_is_drawn_once_and_referred_to() -> None:
    d = merged(design("iiwa14"))
    svg = layout_picture(d)
    together = d.plan.schedule.multipliers["Rf_link2"]
    assert f"Rf_link2: {together} multipliers" in tips(svg)
    assert "Rf_link3: executed by Rf_link2" in tips(svg)
    assert "on #1" in texts(svg)
    assert "#1 Rf_link2 executes Rf_link2, Rf_link3" in texts(svg)
    assert svg.count('class="guest"') == 1
    spans = [s for s in task_time(d, "id").spans if s.row == "Rf_link2"]
    assert [s.submodule for s in spans] == ["Rf_link2", "Rf_link3"]
    assert "Rf_link2 for Rf_link3: cycles" in tips(timing_chart(d))


def test_a_folded_unit_says_what_it_serves() -> None:
    d = design("hyq", ii=4)
    served = d.plan.schedule.folds.units
    assert served
    tip = tips(layout_picture(d))
    for name, branches in served.items():
        assert re.search(
            rf"^{name}: \d+ multipliers .*; works in {branches} turns, executes \w+, ", tip, re.M
        )


@pytest.mark.parametrize(("ii", "programs"), [(1, "two"), (3, "two"), (3, "one")])
def test_times_are_those_of_the_schedule(ii: int, programs: str) -> None:
    d = design("pendulum2", functions=ALL, ii=ii, programs=programs)
    for function in ALL:
        task = task_time(d, function)
        assert task.first == -d.tasks.task_beats(function)
        assert task.last + 1 == d.promised_latency(function)
        assert all(task.first <= s.first <= s.last <= task.last for s in task.spans)
        for s in task.spans:
            most = d.plan.schedule.multipliers.get(s.row, 0)
            assert all(s.first <= c <= s.last and 0 < n <= most for c, n in s.products)
        expected = sum(
            len(d.fixed.graph.nodes[i].products)
            for nodes in function_passes(d, function)
            for i in nodes
        )
        assert sum(n for s in task.spans for _, n in s.products) == expected


@pytest.mark.parametrize("ii", [1, 3])
def test_trace_is_in_the_trace_event_format(ii: int) -> None:
    d = design("pendulum2", functions=ALL, ii=ii)
    trace = json.loads(timing_trace(d))
    assert trace["displayTimeUnit"] == "ns"
    events = trace["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [names[2 * k + 1] for k in range(len(ALL))] == [f"{f}: one task" for f in ALL]
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    slices = defaultdict(list)
    for e in events:
        if e["ph"] == "M":
            assert e["name"] in (
                "process_name",
                "process_sort_index",
                "thread_name",
                "thread_sort_index",
            )
            continue
        assert e["ph"] == "X"
        assert e["dur"] > 0
        assert (e["pid"], e["tid"]) in threads
        slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for mine in slices.values():
        mine.sort()
        assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(mine))
    period = d.plan.schedule.device.period * 1e-3
    for k, function in enumerate(ALL):
        mine = [e for e in events if e["pid"] == 2 * k + 1 and e["ph"] == "X"]
        last = max(e["ts"] + e["dur"] for e in mine)
        assert last == pytest.approx(
            (d.promised_latency(function) + d.tasks.task_beats(function)) * period
        )
        starts = sorted(
            e["ts"] for e in events if e["pid"] == 2 * k + 2 and e["name"].startswith("task in")
        )
        assert len(starts) >= task_time(d, function).in_flight(ii)
        steps = [b - a for a, b in pairwise(starts)]
        assert steps == pytest.approx([ii * period] * len(steps))


def test_trees_leave_every_body_its_own() -> None:
    robot = design("hyq", ii=4).robot
    positions = forest_positions([body.parent for body in robot.bodies])
    assert len(set(positions)) == len(robot.bodies)
    for body, (column, row) in zip(robot.bodies, positions, strict=True):
        assert column == (0 if body.parent < 0 else positions[body.parent][0] + 1)
        assert 0 <= row <= max(r for _, r in positions)


def test_text_is_escaped_and_shortened() -> None:
    canvas = Canvas()
    canvas.text(0, 10, "<a> & b", "", "<tip>")
    root = ElementTree.fromstring(canvas.document("<t>", "d&d"))
    assert [t.text for t in root.iter(f"{SVG}text")] == ["<a> & b"]
    assert fitting("short", 100) == "short"
    assert len(fitting("a_very_long_name_of_a_link", 80)) < 15
    assert all(f".hue{k}" in canvas.document("t", "d") for k in range(HUES))


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_layout_writes_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = tmp_path / "a/layout.svg", tmp_path / "timing.svg", tmp_path / "timing.json"
    options = [
        part for pair in zip(("--svg", "--chart", "--trace"), files, strict=True) for part in pair
    ]
    status, out, _ = run(capsys, "layout", "pendulum2", *options, "--json")
    assert status == 0
    assert json.loads(out)["files"] == [str(f) for f in files]
    d = compile_robot(load_robot("pendulum2"), Options())
    for path, draw in zip(files, (layout_picture, timing_chart, timing_trace), strict=True):
        assert path.read_text(encoding="utf-8") == draw(d)
    status, out, _ = run(capsys, "layout", "pendulum2", "--svg", files[0])
    assert status == 0
    assert out.endswith(f"wrote {files[0]}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--svg", "layout.png"], r"--svg: must end in \.svg, not 'layout\.png'"),
        (["--trace", "timing.svg"], r"--trace: must end in \.json, not 'timing\.svg'"),
        (
            ["--svg", "a.svg", "--chart", "a.svg"],
            r"--svg and --chart: must be two files, not 'a\.svg' twice$",
        ),
        (
            ["--chart", "file/a.svg"],
            r"file: cannot be written: .*; choose another directory with --chart$",
        ),
    ],
)
def test_bad_files_are_one_line(
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("in the way")
    status, out, err = run(capsys, "layout", "pendulum2", *options)
    assert status == 2
    assert out == ""
    assert re.search(message, err.strip().splitlines()[-1])
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
