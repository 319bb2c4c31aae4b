"""An engine whose programs come over its link, in RTL simulation: robots side by side, one after the other, loads that
are damaged, cut off or too late."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from amaranth.sim import Simulator

from rbdgen.compiler.words import function_format
from rbdgen.machines.engine.allocation import ALONE, Place
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import writes
from rbdgen.machines.engine.program import moved
from rbdgen.machines.engine.resident import Resident as Engine
from rbdgen.protocol.loading import (
    DIRECTORY,
    READ,
    ROUTINE,
    TOLD_BIT,
    Write,
    block_words,
    blocks,
)
from rbdgen.protocol.tasks import LOAD, Flag, join_header
from rbdgen_hw.engine.resident import ResidentEngine
from tests.hw.test_engine import Stream, tasks
from tests.machines.engine.mapped import Mapped, mapped

LONGEST = 300_000
"""Cycles after which a run has failed."""
REFUSED = int(Flag.RANGE)


@dataclass(frozen=True)
class Resident:
    """A robot in its place, with the codes of its functions, and all that is ``written`` for it."""

    own: Mapped
    codes: dict[str, int]
    written: list[Write]

    @classmethod
    def of(cls, own: Mapped, first_code: int = 0, place: Place = ALONE) -> Resident:
        """A robot whose functions have codes from this one on."""
        program = moved(own.program, place)
        codes = {name: first_code + k for k, name in enumerate(program.routines)}
        formats = {}
        for name, code in codes.items():
            formats[name] = replace(function_format(name, own.network, own.fixed), code=code)
        return cls(replace(own, program=program), codes, list(writes(program, formats)))

    def tasks(self, count: int, seed: int) -> Stream:
        """Tasks of all of its functions, some of them of none."""
        return tasks(self.own, list(self.codes), count, seed, self.codes)

    def load(self) -> list[Stream]:
        """All of it, functions last."""
        entries = [w for w in self.written if w.target == ROUTINE]
        return [
            packets(w for w in self.written if w.target != ROUTINE),
            packets(entries),
        ]


def packets(written: Iterable[Write], tag: int = 7) -> Stream:
    """Packets that write all of it, and the answers that they must have."""
    stream = Stream([], [])
    for words in blocks(written):
        stream.beats.extend([join_header(LOAD, tag), *words])
        stream.expected.append(join_header(LOAD, tag))
    return stream


def answered(streams: Sequence[Stream]) -> list[int]:
    """All answers."""
    return [beat for stream in streams for beat in stream.expected]


def run(dut: ResidentEngine, streams: Sequence[Stream], stall: float) -> list[int]:
    """What an engine answers to streams that follow each other without a pause."""
    rnd = random.Random(5)
    found: list[int] = []
    beats = [beat for stream in streams for beat in stream.beats]
    wanted = sum(len(stream.expected) for stream in streams)

    async def bench(ctx: Any) -> None:
        waiting = iter(beats)
        beat = next(waiting, None)
        for _ in range(LONGEST):
            offers = beat is not None and rnd.random() >= stall
            ctx.set(dut.i.valid, offers)
            ctx.set(dut.i.payload, beat or 0)
            takes = rnd.random() >= stall
            ctx.set(dut.o.ready, takes)
            if takes and ctx.get(dut.o.valid):
                found.append(ctx.get(dut.o.payload))
            if offers and ctx.get(dut.i.ready):
                beat = next(waiting, None)
            await ctx.tick()
            if len(found) >= wanted:
                return

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


@pytest.mark.parametrize(
    ("robot", "stall"),
    [
        ("pendulum2", 0.3),
        pytest.param("ur5", 0.0, marks=pytest.mark.thorough),
        pytest.param("ur5", 0.3, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_two_robots_are_there_side_by_side(robot: str, stall: float) -> None:
    one = Resident.of(mapped("pendulum2", ("id", "fd")), 0, Place(rotating=400))
    program = one.own.program
    place = Place(program.depth, program.constants.words, 40, 400)
    other = Resident.of(mapped(robot, ("m",)), 20, place)
    streams = [*one.load(), one.tasks(12, 1), *other.load(), one.tasks(8, 2), other.tasks(6, 3)]
    assert run(ResidentEngine(Engine(Core())), streams, stall) == answered(streams)


@pytest.mark.thorough
@pytest.mark.parametrize("robot", ["pendulum2", "ur5"])
def test_another_robot_takes_the_place_of_one(robot: str) -> None:
    streams = []
    for name, functions in (("pendulum2", ("id", "m")), (robot, ("m",)), ("pendulum2", ("id",))):
        own = Resident.of(mapped(name, functions))
        streams += [*own.load(), own.tasks(6, 4)]
    assert run(ResidentEngine(Engine(Core())), streams, 0.2) == answered(streams)


@pytest.mark.slow
def test_several_cores_take_turns() -> None:
    own = Resident.of(mapped("pendulum2", ("id",)))
    streams = [*own.load(), own.tasks(12, 5)]
    assert run(ResidentEngine(Engine(Core(), 2)), streams, 0.0) == answered(streams)


@pytest.mark.slow
def test_what_is_damaged_is_not_written() -> None:
    own = Resident.of(mapped("pendulum2", ("id",)))
    rnd = random.Random(3)
    damaged = Stream([], [])
    for words in blocks(own.written):
        place, bit = rnd.randrange(len(words)), rnd.randrange(32)
        wrong = [x ^ 1 << bit if k == place else x for k, x in enumerate(words)]
        damaged.beats.extend([join_header(LOAD, 9), *wrong])
        damaged.expected.append(join_header(LOAD, 9, REFUSED))
    none = Stream([join_header(0, 1)], [join_header(0, 1, int(Flag.FUNCTION))])
    streams = [damaged, none, *own.load(), own.tasks(5, 6)]
    assert run(ResidentEngine(Engine(Core())), streams, 0.1) == answered(streams)


@pytest.mark.slow
def test_a_load_that_is_cut_off_leaves_the_old_functions_or_none() -> None:
    old = Resident.of(mapped("pendulum2", ("id",)))
    new = Resident.of(mapped("pendulum2", ("fd",)))
    gone = packets([Write(ROUTINE, 0, 0)])
    none = Stream([join_header(0, 1)], [join_header(0, 1, int(Flag.FUNCTION))])
    streams = [*old.load(), old.tasks(4, 7), gone, none, new.load()[0], none, new.load()[1]]
    streams.append(new.tasks(4, 8))
    assert run(ResidentEngine(Engine(Core())), streams, 0.0) == answered(streams)


@pytest.mark.slow
def test_a_directory_keeps_what_is_written_there() -> None:
    words = {0: 0x1234, 1: 0xFFFF, 7: 1, 255: 0xA5A5}
    streams = [packets(Write(DIRECTORY, place, word) for place, word in words.items())]
    for place, word in words.items():
        asked = [join_header(LOAD, place), *block_words(READ, place, [0])]
        streams.append(Stream(asked, [join_header(LOAD, place) | word << TOLD_BIT]))
    assert run(ResidentEngine(Engine(Core())), streams, 0.0) == answered(streams)


LEAN = Core(1, 1, 32, 512, 2048, 256, 64, lean=True)
"""Of the smallest kind."""


@pytest.mark.parametrize(
    ("robot", "functions", "core", "stall"),
    [
        ("pendulum2", ("id", "fd", "m"), LEAN, 0.3),
        pytest.param(
            *("pendulum2", ("id", "fd", "minv"), replace(LEAN, lanes=4, banks=2), 0.0),
            marks=pytest.mark.thorough,
        ),
        pytest.param("ur5", ("id", "m"), LEAN, 0.2, marks=pytest.mark.thorough),
        pytest.param("ur5", ("fd", "id"), replace(LEAN, lanes=2), 0.2, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.slow
def test_a_lean_core_computes_the_same_bits_as_its_graph(
    robot: str, functions: tuple[str, ...], core: Core, stall: float
) -> None:
    own = Resident.of(mapped(robot, functions, core))
    streams = [*own.load(), own.tasks(12, 9), *own.load(), own.tasks(6, 10)]
    assert run(ResidentEngine(Engine(core)), streams, stall) == answered(streams)
