"""Engines that are on a board once and for all: programs for them, and one that is emulated in this process.

A program is made for an engine's shape and for a place beside what it holds already. The emulated engine keeps what is
written into it, and executes program words on that: nothing of a robot reaches it in any other way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rbdgen.compiler.design import Design
from rbdgen.compiler.engines import placed, prepare, resident_design
from rbdgen.errors import ConfigError
from rbdgen.host.driver import Driver
from rbdgen.host.engine import Engine
from rbdgen.host.manifest import ProgramFacts, program_keys
from rbdgen.host.programs import Program, image_of
from rbdgen.installation import release
from rbdgen.machines.engine.allocation import Place
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import Limits, writes
from rbdgen.machines.engine.memories import Memories
from rbdgen.machines.engine.resident import Resident, read_identity
from rbdgen.model.ranges import declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.processes import without_collections
from rbdgen.protocol.directory import Entry, Extent
from rbdgen.protocol.loading import READ, TOLD_BIT, read_block
from rbdgen.protocol.packets import header, packet_rows
from rbdgen.protocol.tasks import CALIBRATE, LOAD, LOAD_WORDS, Flag, join_header, split_header
from rbdgen.report.design import manifest
from rbdgen.shells.datagram_shell import DatagramShell, UdpServer
from rbdgen.shells.shell import AcceleratorModel, ShellModel

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
    ranges = declared_ranges(robot, options.limits)
    with without_collections():
        design = resident_design(prepare(robot, options, ranges, progress), engine, progress)
    return program_of(design, engine, beside)


def program_of(design: Design, engine: Resident, beside: Sequence[Entry] = ()) -> Program:
    """The program of a design for such an engine (:func:`compile_program`)."""
    extent = _extent(design, engine.core, beside)
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


def _extent(design: Design, core: Core, beside: Sequence[Entry]) -> Extent:
    """Where a program goes: the first room that there is beside others, or the beginning of everything."""
    program = design.engine.program
    functions = len(program.routines)
    limits = len(Limits.of(design.tasks.functions.values(), core).pairs)
    constants = program.constants.words
    values = max(routine.allocation.needed for routine in program.routines.values())
    taken = [entry.extent for entry in beside]
    usual = core.words - max(constants, int(FEWEST_CONSTANTS * core.words))
    rotating = taken[0].rotating if taken else max(usual, values)
    # a task that loads a parameter has a code among those of functions
    codes = [(CALIBRATE, CALIBRATE + 1), *(own.spans[0] for own in taken)]
    rooms = (
        _room(functions, LOAD, codes),
        _room(program.depth, core.depth, [own.spans[1] for own in taken]),
        _room(constants, core.words - rotating, [own.spans[2] for own in taken]),
        _room(limits, core.limits, [own.spans[3] for own in taken]),
    )
    if taken and (None in rooms or values > rotating):
        return _extent(design, core, ())
    if None in rooms:
        # nothing else is there: what was compiled for the engine fits it, but for codes
        raise ConfigError(
            f"functions: {functions} are more than an engine has codes for; ask for fewer"
        )
    code, word, constant, limit = (room or 0 for room in rooms)
    return Extent(
        code, functions, word, program.depth, constant, constants, limit, limits, rotating
    )


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


class _Emulated(AcceleratorModel):
    """Such an ``engine`` behind any shell: what it holds is what was loaded."""

    engine: Resident

    def reset(self) -> None:
        # what was loaded is forgotten, as memories may hold anything then
        self.memories = Memories(self.engine.core)
        super().reset()

    def measure(self) -> None:
        task, result, memories = self.tasks.task, self.tasks.result, self.memories
        known = [code for code in range(LOAD) if memories.knows(code)]
        operands = {code: memories.operands(code) for code in known} | {LOAD: LOAD_WORDS}
        results = {code: memories.results(code) for code in known}
        codes = range(LOAD + 1)
        self.lengths = tuple(task.packet_bytes(operands.get(code, 0)) for code in codes)
        self.answer_lengths = tuple(result.packet_bytes(results.get(code, 0)) for code in codes)

    def keep(self, packet: bytes) -> None:
        if header(packet)[0] != LOAD:
            super().keep(packet)
            return
        self.work()
        self.answers.append(self._load(packet))

    def work(self) -> None:
        for code, packets in self.pending.items():
            known = self.memories.knows(code)
            self.answers += self._results(code, packets) if known else self.errors(packets)
        self.pending = {}

    def _load(self, packet: bytes) -> bytes:
        """Write what a packet says, or read what it asks for; the answer."""
        code, tag, _ = header(packet)
        words = np.frombuffer(packet, "<u4").tolist()[1:]
        found = read_block(words)
        if found is None:
            return self.answer(packet, Flag.RANGE)
        told = 0
        for own in found:
            if own.target == READ:
                told = self.memories.directory[own.address]
            else:
                self.memories.write(own)
        self.measure()
        word = join_header(code, tag) | told << TOLD_BIT
        return word.to_bytes(self.tasks.result.packet_bytes(0), "little")

    def _results(self, code: int, packets: Sequence[bytes]) -> list[bytes]:
        """Result packets of tasks of one function."""
        words = packet_rows(packets).view("<u4")
        raw = words[:, 1:].astype(np.int32).astype(np.int64)
        routine = self.memories.routine(code)
        # each task is one of as many cores in lockstep
        answers = routine.run(raw.T[None])
        flags = np.where(answers.flags[0], Flag.OVERFLOW, 0)
        flags |= np.where(self.memories.outside(code, raw), Flag.RANGE, 0)
        _, tags, _ = split_header(words[:, 0].astype(np.int64))
        heads = join_header(code, tags, flags)
        rows = np.column_stack([heads, answers.values[0].T & 0xFFFFFFFF]).astype("<u4")
        return [row.tobytes() for row in rows]


class EmulatedEngine(_Emulated, ShellModel):
    """Such an engine behind a link of bytes, in this process: a transport."""

    def __init__(self, engine: Resident) -> None:
        self.engine = engine
        super().__init__(engine.identity, engine.tasks, _no_function)


class EmulatedStation(_Emulated, DatagramShell):
    """Such an engine behind a link of datagrams, in this process."""

    def __init__(self, engine: Resident) -> None:
        self.engine = engine
        super().__init__(engine.identity, engine.tasks, _no_function)


def serve_engine(engine: Resident, address: str = "127.0.0.1:0") -> UdpServer:
    """An emulated engine at a UDP ``address`` of this machine, while the context lasts; port 0 is any that is free."""
    return UdpServer(EmulatedStation(engine), address)


def _no_function(
    function: str, raw: Sequence[np.ndarray]
) -> tuple[Sequence[np.ndarray], np.ndarray]:
    raise AssertionError(function)
