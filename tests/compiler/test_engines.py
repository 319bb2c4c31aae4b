"""Designs with an engine: what they promise, what is refused, what is missed of errors, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from rbdgen import Budget, Design, Options, Target, compile_robot, load_robot
from rbdgen.compiler import at_clock
from rbdgen.compiler.design import readable
from rbdgen.compiler.engines import resident_designs
from rbdgen.errors import ConfigError, RbdgenWarning, UnsupportedError
from rbdgen.host.programs import Program
from rbdgen.machines.engine.core import AROUND, Core, dealing_cycles, intake_cycles
from rbdgen.machines.engine.resident import GRAIN, Resident
from rbdgen.model import with_contacts, with_frames
from rbdgen.protocol.directory import Entry
from rbdgen.protocol.links import get_link
from rbdgen.resident import compile_program
from tests.conftest import few


@lru_cache
def engine(robot: str = "pendulum2", **options: Any) -> Design:
    return compile_robot(load_robot(robot), Options(machine="engine", **options))


def test_promises_are_those_of_the_program() -> None:
    d = engine(functions=("id", "fd"))
    for name, routine in d.engine.program.routines.items():
        assert d.interval(name) == len(routine.words)
        assert d.promised_latency(name) == routine.schedule.end + AROUND
        assert d.interval(name) >= intake_cycles(routine.operands)
    assert (d.mixed_interval or 0) > (d.interval("id") + d.interval("fd")) / 2
    assert d.pace == "engine4"
    assert repr(d).startswith("<Design rbd_pendulum2_id_fd: e0.001, engine4, 17 multiplier blocks")


def test_a_word_fills_a_beat() -> None:
    tasks = engine(functions=("id", "fd")).tasks
    assert tasks.task.places == tasks.result.places == (32,)
    assert tasks.task_beats("id") == 1 + 6
    assert tasks.result_beats("id") == 1 + 2


def test_cores_take_so_many_tasks_at_once() -> None:
    one, three = engine(), engine(cores=3)
    assert three.mean_interval("id") == readable(one.interval("id") / 3)
    assert three.tasks.replicas == three.engine.cores == 3
    used, alone = (d.machine.resources(d.tasks) for d in (three, one))
    assert used.multipliers == 3 * alone.multipliers
    assert alone.luts < used.luts < 3 * alone.luts
    assert three.pace == "engine4_x3"


def test_a_link_of_bytes_brings_tasks_to_cores_in_turn() -> None:
    target = Target(link=get_link("serial"))
    options = Options(machine="engine", cores=3)
    d = compile_robot(load_robot("ur5"), options, target=target)
    alone = engine("ur5")
    assert d.tasks.replicas == 1
    assert d.engine.cores == 3
    # a beat every second cycle is what binds
    assert d.mean_interval("id") == dealing_cycles(18)
    assert alone.interval("id") / 3 < dealing_cycles(18) < alone.interval("id")
    assert d.pace == "engine4_x3"


@pytest.mark.parametrize("lanes", few([1, 2, 4, 8], 1, 4))
def test_more_lanes_are_faster_and_larger(lanes: int) -> None:
    d = engine("ur5", lanes=lanes)
    work = d.engine.routine("id").schedule.work
    assert d.engine.program.core.lanes == lanes
    assert work.slots / lanes <= d.interval("id") <= 1.3 * work.slots / lanes + 5


def test_for_latency_a_lone_task_answers_sooner() -> None:
    usual, hurried = engine("iiwa14"), engine("iiwa14", goal="latency")
    assert hurried.promised_latency("id") < usual.promised_latency("id")
    assert usual.interval("id") < hurried.interval("id")


def test_another_clock_is_the_same_program() -> None:
    d = engine()
    other = at_clock(d, 50)
    assert other.machine.device.megahertz == 50
    assert other.engine.program is d.engine.program


WRONG = {
    "three lanes": ({"lanes": 3}, "lanes: must be 1, 2, 4 or 8, not 3"),
    "an interval": ({"ii": 4}, "ii and machine: ii is a pipeline's, .*; use lanes and cores"),
    "replicas": ({"replicas": 2}, "replicas and machine: replicas is a pipeline's"),
    "saturation": ({"overflow": "saturate"}, "overflow and machine"),
    "a short word": ({"word": 18}, "word: an engine's words have 32 to 35 bits, not 18"),
    "another machine": (
        {"machine": "turbine"},
        "machine: must be one of auto, pipeline, engine, not",
    ),
}


@pytest.mark.parametrize(("given", "complaint"), WRONG.values(), ids=WRONG.keys())
def test_what_an_engine_has_not_is_refused(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^{complaint}"):
        Options(**{"machine": "engine", **given})


@pytest.mark.parametrize("name", ["lanes", "cores"])
def test_a_pipeline_has_no_lanes(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} and machine: {name} are an engine's"):
        Options(**{"machine": "pipeline", name: 2})
    with pytest.raises(ConfigError, match=f"^{name} and ii: {name} are an engine's"):
        Options(**{"ii": 4, name: 2})


def test_multipliers_are_a_pipelines() -> None:
    with pytest.raises(
        ConfigError, match=r"^multipliers and machine: multipliers are a pipeline's"
    ):
        compile_robot(load_robot("pendulum2"), Options(lanes=1), budget=Budget(multipliers=5))


def test_what_is_of_one_machine_asks_for_it() -> None:
    assert Options(word=34).kinds == ("engine",)
    assert Options(word=32).kinds == ("pipeline", "engine")
    assert Options().kinds == ("pipeline", "engine")
    assert Options(lanes=2).kinds == ("engine",)
    assert Options(ii=4).kinds == ("pipeline",)
    assert Options(word=18).kinds == ("pipeline",)
    assert compile_robot(load_robot("pendulum2"), Options(lanes=1)).machine.kind == "engine"
    assert compile_robot(load_robot("pendulum2"), Options()).machine.kind == "pipeline"


def test_what_is_of_one_kind_is_refused_of_the_other() -> None:
    with pytest.raises(UnsupportedError, match="machine 'engine': units and slots are those of"):
        _ = engine().plan
    pipeline = compile_robot(load_robot("pendulum2"), Options(word=18))
    with pytest.raises(UnsupportedError, match="machine 'pipeline': programs are those of engines"):
        _ = pipeline.engine


def test_an_error_that_was_asked_for_and_is_missed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"error: words of 32 bits miss it at id tau_.* by .*35"):
        compile_robot(load_robot("pendulum2"), Options(machine="engine", error={"tau": 1e-9}))


def test_the_usual_error_that_is_missed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbdgen.options.options.DEFAULT_ERROR", 1e-9)
    with pytest.warns(RbdgenWarning, match="words of 32 bits miss it"):
        d = compile_robot(load_robot("pendulum2"), Options(machine="engine"))
    assert "miss it" in d.why[0]


def test_what_is_flagged_often_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbdgen.compiler.engines.OFTEN", -1.0)
    with pytest.warns(RbdgenWarning, match=r"word: of tasks at declared states .*% of id are"):
        compile_robot(load_robot("pendulum2"), Options(machine="engine"))


def test_words_may_be_longer() -> None:
    d = engine(word=35)
    assert d.engine.program.core.width == 35
    assert d.why == ("words of 35 bits, as asked for",)


@pytest.mark.parametrize("name", few(["fk", "jac", "acc", "lam", "laminv", "laminvf"], "jac"))
def test_functions_of_frames(name: str) -> None:
    robot = load_robot("ur5")
    robot = with_frames(robot, {robot.bodies[-1].name: ()})
    d = compile_robot(robot, Options(functions=(name,), machine="engine"))
    d.machine.check()


@pytest.mark.parametrize("given", [{"forces": True}, {"moving_base": True}])
def test_more_operands(given: dict[str, bool]) -> None:
    d = engine(functions=("id", "fd"), **given)
    assert d.tasks.task_beats("id") > engine(functions=("id", "fd")).tasks.task_beats("id")


@pytest.mark.thorough
def test_contacts_of_a_floating_robot() -> None:
    robot = load_robot("hyq", base="floating")
    feet = [f"{b.name}:3d" for b in robot.bodies if b.name.endswith("lowerleg")]
    d = compile_robot(with_contacts(robot, feet), Options(functions=("cfd",), machine="engine"))
    assert d.interval("cfd") <= 1000


LEGS = ("hyq", Options(functions=("id", "fd", "m", "minv")))
PENDULUM = ("pendulum2", Options(functions=("id", "m")))


def depths(given: tuple[str, Options], engine: Resident) -> list[int]:
    """Words of the programs of a robot's functions for an engine, one after the other."""
    name, options = given
    found = resident_designs(load_robot(name), options, engine)
    return [design.engine.program.depth for design in found]


def program(given: tuple[str, Options], engine: Resident, beside: Sequence[Entry] = ()) -> Program:
    """The program that is loaded."""
    name, options = given
    return compile_program(load_robot(name), options, engine, beside)


def test_a_program_that_is_loaded_is_found_soon_and_shorter_where_that_does_not_fit() -> None:
    soon, short = depths(LEGS, Resident(Core()))
    assert program(LEGS, Resident(Core())).facts.extent.depth == soon
    fitted = Core(depth=short + -short % GRAIN)
    assert soon > fitted.depth
    assert program(LEGS, Resident(fitted)).facts.extent.depth == short
    small = replace(fitted, depth=fitted.depth - GRAIN)
    with pytest.raises(ConfigError, match=f"^program: {short} words are needed"):
        program(LEGS, Resident(small))


@pytest.mark.slow
def test_a_program_that_has_no_room_beside_another_is_made_shorter() -> None:
    soon, short = depths(LEGS, Resident(Core()))
    taken = program(PENDULUM, Resident(Core())).facts.extent.depth
    for depth, made in ((soon, soon), (short, short), (short - GRAIN, short)):
        room = depth + taken
        engine = Resident(Core(depth=room + -room % GRAIN))
        there = [program(PENDULUM, engine).entry]
        found = program(LEGS, engine, there)
        assert found.facts.extent.depth == made
        assert found.replaces(there) == (depth < short)


def test_what_is_to_answer_soon_has_one_program() -> None:
    name, options = PENDULUM
    hurried = replace(options, goal="latency")
    assert len(depths((name, hurried), Resident(Core()))) == 1


def test_a_design_may_be_changed_by_name() -> None:
    d = engine()
    assert replace(d, why=()).engine is d.engine
