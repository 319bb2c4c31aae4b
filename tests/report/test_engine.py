"""Reports, pictures and pages of engines."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.report import design_text
from rbdgen.report.design import design_report
from rbdgen.report.drawings import layout_picture, timing_chart, timing_trace
from rbdgen.report.drawings.lane_times import slots, task_time, words_alive
from rbdgen.report.files import config_text, read_build, read_config, write_design
from rbdgen.report.page import page_html
from rbdgen.schema.json_files import check


@lru_cache
def engine(**options: Any) -> Design:
    given = Options(machine="engine", functions=("id", "fd"), **options)
    return compile_robot(load_robot("pendulum2"), given)


def test_the_report_is_as_its_schema_says() -> None:
    report = json.loads(json.dumps(design_report(engine())))
    check(report, "report")
    assert report["machine"] == "engine"
    assert report["engine"]["lanes"] == 4
    words = sum(f["program"]["words"] for f in report["functions"].values())
    assert words == report["engine"]["program_words"]
    assert report["functions"]["fd"]["program"]["first_word"] == engine().interval("id")


def test_no_lane_is_busier_than_it_can_be() -> None:
    report = design_report(engine())
    for name, promise in report["functions"].items():
        assert 0 < promise["multiplier_utilization"] <= 1
        bound = report["roofline"]["functions"][name]
        binding = max(bound["multiplier_bound"], bound["memory_bound"], bound["stream_bound"])
        assert binding <= promise["ii_cycles"]
    assert [unit["name"] for unit in report["units"]] == [f"lane {k}" for k in range(4)]


def test_the_text_has_programs_and_memories() -> None:
    text = design_text.layout(design_report(engine()))
    assert "engine: 4 lanes of 32 bits, 2 banks of 512 words (17 device blocks)" in text
    assert "words of program" not in text.splitlines()[0]
    assert "words of 32 bits keep every error" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_pictures_are_whole(lanes: int) -> None:
    d = engine(lanes=lanes)
    for picture in (layout_picture(d), timing_chart(d)):
        root = ElementTree.fromstring(picture)
        texts = [e.text for e in root.iter() if e.tag.endswith("text")]
        # a lane is there even if nothing of so small a robot is on it
        assert [text for text in texts if text and text.startswith("lane ")] == [
            f"lane {k}" for _ in d.network.functions for k in range(lanes)
        ][: texts.count("lane 0") * lanes]
    events = json.loads(timing_trace(d))["traceEvents"]
    assert {"lane 0", "special unit"} <= {e["args"].get("name") for e in events}


def test_the_chart_shows_every_slot() -> None:
    d = engine()
    for name, routine in d.engine.program.routines.items():
        drawn = [(lane, cycle) for lane, cycle, _ in slots(routine)]
        assert len(drawn) == len(set(drawn)) == routine.schedule.work.slots
        alive = words_alive(routine)
        assert len(alive) == routine.schedule.end
        assert min(alive) >= 0
        assert max(s.last for s in task_time(d, name).spans) == routine.schedule.end - 1


def test_a_folder_has_a_page(tmp_path: Path) -> None:
    write_design(engine(), "", tmp_path, "pendulum2", "1", {})
    page = page_html(read_build(tmp_path))
    assert "an engine of 4 lanes" in page
    assert "Programs and lanes" in page


def test_the_configuration_asks_for_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config_text(engine(), "pendulum2"))
    _, _, values = read_config(path)
    assert Options(**values).kinds == ("engine",)
    assert values["lanes"] == 4
