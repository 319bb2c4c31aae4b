"""Programs for engines that are on a board once and for all: each is made for an engine's shape, and for a place beside
what it holds already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import placed, resident_designs
from rbdgen.errors import ConfigError
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.manifest import ProgramFacts, program_keys
from rbdgen.host.programs import Program, image_of
from rbdgen.installation import release
from rbdgen.machines.engine.allocation import Place
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import Limits, writes
from rbdgen.machines.engine.resident import Resident, read_identity
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.processes import without_collections
from rbdgen.protocol.directory import Entry, Extent, told_name
from rbdgen.protocol.tasks import CALIBRATE, LOAD
from rbdgen.report.design import manifest

FEWEST_CONSTANTS = 0.25
"""The share of banks that is left to constants, of all programs together, at least."""


def compile_program(
    robot: Robot,
    options: Options,
    engine: Resident,
    beside: Sequence[Entry] = (),
    progress: Callable[[str], None] = lambda stage: None,
) -> Program:
    """The program of a robot's functions for such an ``engine``, ``beside`` the programs that it holds, or in their
    place where there is no room. ConfigError where it does not fit the engine, with what lacks."""
    with without_collections():
        designs = resident_designs(robot, options, engine, progress)
        made = program_of(next(designs), engine, beside)
        # a shorter program may have room beside what is there
        while made.replaces(beside) and (shorter := next(designs, None)):
            made = program_of(shorter, engine, beside)
    return made


def program_of(design: Design, engine: Resident, beside: Sequence[Entry] = ()) -> Program:
    """The program of a design for such an engine (:func:`compile_program`)."""
    core, program = engine.core, design.engine.program
    limits = len(Limits.of(design.tasks.functions.values(), core).pairs)
    takes = len(program.routines), program.depth, program.constants.words, limits
    for entry in beside:
        # it may be there already
        alike = entry.robot == told_name(design.robot.name) and entry.extent.sizes == takes
        if alike and (made := _at(entry.extent, design, engine)).entry.identity == entry.identity:
            return made
    values = max(routine.allocation.needed for routine in program.routines.values())
    taken = [entry.extent for entry in beside]
    return _at(_extent(core, takes, values, taken), design, engine)


def _at(extent: Extent, design: Design, engine: Resident) -> Program:
    """The program at a place of its own."""
    place = Place(extent.word, extent.constant, extent.limit, extent.rotating)
    own = placed(design, place, extent.first_code)
    functions = own.tasks.functions
    image = image_of(writes(own.engine.program, functions))
    # parameters are the first constants, from bank to bank
    core = engine.core
    step = 1 << core.bank_bits if core.banks == 1 else 1
    facts = ProgramFacts(engine.identity, extent, extent.constant << core.bank_bits, step)
    content = manifest(own, hashlib.sha256(image).hexdigest(), release(), program_keys(facts))
    return Program.of(json.dumps(content, indent=2) + "\n", image)


def _extent(
    core: Core, sizes: tuple[int, int, int, int], values: int, taken: Sequence[Extent]
) -> Extent:
    """Where a program goes that takes so much (:attr:`Extent.sizes`), with so many ``values`` that rotate: the first
    room that there is beside what is taken, or the beginning of everything."""
    functions, depth, constants, limits = sizes
    usual = core.words - max(constants, int(FEWEST_CONSTANTS * core.words))
    rotating = taken[0].rotating if taken else max(usual, values)
    # a task that loads a parameter has a code among those of functions
    codes = [(CALIBRATE, CALIBRATE + 1), *(own.spans[0] for own in taken)]
    rooms = (
        _room(functions, LOAD, codes),
        _room(depth, core.depth, [own.spans[1] for own in taken]),
        _room(constants, core.words - rotating, [own.spans[2] for own in taken]),
        _room(limits, core.limits, [own.spans[3] for own in taken]),
    )
    if taken and (None in rooms or values > rotating):
        return _extent(core, sizes, values, ())
    if None in rooms:
        # nothing else is there: what was compiled for the engine fits it, but for codes
        raise ConfigError(
            f"functions: {functions} are more than an engine has codes for; ask for fewer"
        )
    code, word, constant, limit = (room or 0 for room in rooms)
    return Extent(code, functions, word, depth, constant, constants, limit, limits, rotating)


def _room(count: int, end: int, spans: Iterable[tuple[int, int]]) -> int | None:
    """Where so many places begin that none of the spans has, of those before the end; None where they are nowhere."""
    begin = 0
    for first, behind in sorted(spans):
        if begin + count <= first:
            return begin
        begin = max(begin, behind)
    return begin if begin + count <= end else None


def load_robot_into(
    engine: Engine,
    robot: Robot,
    options: Options,
    progress: Callable[[str], None] = lambda stage: None,
    flags: str = "warn",
) -> Driver:
    """A robot's functions in an engine that was opened: compiled for it, loaded beside what it holds, or in the place
    of all of it where there is no room. ConfigError and LinkError are those of :func:`compile_program` and
    :meth:`rbdgen.host.engine.Engine.load`."""
    shape = read_identity(engine.identity)
    program = compile_program(robot, options, shape, engine.entries, progress)
    progress("load")
    return engine.load(program, flags)
