"""The check of programs: it plays program words with names in place of numbers, and finds that they compute the work.

It shares nothing with what made them but the fields' names and the machine's times. Every word of a memory holds what
was written there, of which task; every sum that a lane ends must be one of the work's, of one task's values; every
result word must be the one that is due. Lifetimes, rotation, ports, banks and stages are right if all of that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rbdgen.machines.engine.core import (
    DISTANCES,
    EXTRACTIONS,
    RESULT,
    STEP,
    WRITTEN,
)
from rbdgen.machines.engine.jobs import PRODUCT, SUM, Call, Value, Work
from rbdgen.machines.engine.program import HEADER, KINDS, LAST_WORD, NOTHING_BEHIND, WORD, Program
from rbdgen.machines.engine.special import SIGN, SINES, TIMES
from rbdgen.processes import on_all_cores

Name = tuple[str, int | str, int]
"""What a word holds: ``node`` and a number with its task, or ``constant`` or ``parameter`` and which one with
no task."""
NOTHING: Name = ("nothing", 0, 0)
"""What a word holds that nothing was written to."""
EXTRA = 2
"""Tasks that are played beside as many as overlap."""


FEW_CYCLES = 2000
"""A second process is not worth its while for so many."""


class ProgramError(ValueError):
    """A program does not compute what it should."""


def check_program(program: Program, functions: Iterable[str] | None = None) -> None:
    """Check the routines of these functions (default: all). ProgramError naming the function, the cycle and what is
    wrong."""
    chosen = list(program.routines if functions is None else functions)
    cycles = [program.routines[name].interval * program.routines[name].stages for name in chosen]

    def played(function: str) -> None:
        _Play(program, function).run()

    if sum(cycles) > FEW_CYCLES:
        on_all_cores(played, chosen, cycles)
    else:
        for function in chosen:
            played(function)


_Plain = tuple[str, int, bool, int, tuple[str, int | str], tuple[str, int | str]]
"""A term by all that it is, without tasks."""


class _Term(NamedTuple):
    """A term by all that it is: what a lane makes of two words, its sign, whether the first is doubled, and by how much
    it is moved."""

    kind: str
    sign: int
    double: bool
    distance: int
    x: Name
    y: Name

    def plain(self) -> _Plain:
        """The term without tasks. Of what may be exchanged the words stand in one order, whatever their ports."""
        kind, sign, double, distance, x, y = self
        first, second = x[:2], y[:2]
        if (kind == PRODUCT or (kind == SUM and not double)) and second < first:
            first, second = second, first
        return kind, sign, double, distance, first, second


class _Sum(NamedTuple):
    """What a lane's accumulator has: its terms, and bits that are to be dropped."""

    terms: list[_Term]
    extraction: int


class _Slot(NamedTuple):
    """What one lane does in a cycle, by the fields of its word."""

    x_address: int
    x_bank: int
    x_rotates: int
    y_address: int
    y_bank: int
    y_rotates: int
    y_operand: int
    kind: int
    double: int
    negative: int
    distance: int
    first: int
    keep: int
    last: int
    extraction: int
    stage: int


class _Word:
    """A program word by what it says: the ``slots`` of lanes that have any, with their numbers, ``writes`` as bank,
    source and address, what is ``sent``, and all other ``fields``."""

    def __init__(self, program: Program, word: int) -> None:
        layout, core = program.layout, program.core
        self.fields = own = layout.unpacked(word)
        self.slots = []
        for lane in range(core.lanes):
            # lean cores read no operands but from banks
            there = {f"lane{lane}_y_operand": 0} | own
            found = _Slot(*(there[f"lane{lane}_{name}"] for name in _Slot._fields))
            if found.first or found.keep:
                self.slots.append((lane, found))
        self.writes = []
        for bank in range(core.banks):
            name = f"bank{bank}_"
            if own[name + "write"]:
                self.writes.append((bank, own[name + "source"], own[name + "address"]))
        self.sent = layout.sent(own)


class _Play:
    """Plays one routine for several tasks."""

    def __init__(self, program: Program, function: str) -> None:
        self.program = program
        self.routine = program.routines[function]
        self.function = function
        self.work: Work = self.routine.schedule.work
        core = program.core
        self.banks = [[NOTHING] * core.words for _ in range(core.banks)]
        for constant, (bank, word) in program.constants.places.items():
            self.banks[bank][word] = _constant(constant)
        self.inputs = [NOTHING] * core.words
        self.sums: list[_Sum | None] = [None] * core.lanes
        self.lane_bus: list[dict[int, Name]] = [{} for _ in range(core.lanes)]
        self.unit_bus: dict[int, Name] = {}
        self.arriving: dict[int, Name] = {}
        self.buses = [*self.lane_bus, self.unit_bus, self.arriving]
        self.multiplier: set[int] = set()
        self.storing: dict[tuple[int, int], Name] = {}
        self.tasks = self.routine.stages + EXTRA
        self.taken = Counter[int]()
        self.sent = Counter[int]()
        self.ended = Counter[int]()
        self.headed: set[int] = set()
        self.by_terms: dict[object, int] = {}
        for own in self.work.sums:
            terms = [
                _Term(s.kind, s.sign, s.double, s.distance, _named(s.x), _named(s.y))
                for s in own.slots
            ]
            self.by_terms[_key(terms, own.extraction)] = own.node
        self.calls: Mapping[int | str, Call] = {call.argument: call for call in self.work.calls}

    def run(self) -> None:
        """Play all tasks, and find that each was computed whole."""
        words = [_Word(self.program, word) for word in self.routine.words]
        for number in range(self.tasks + self.routine.stages - 1):
            for cycle, own in enumerate(words):
                self._cycle(number * self.routine.interval + cycle, number, own)
        for task in range(self.tasks):
            if self.sent[task] != self.routine.results:
                raise self._wrong(
                    0, f"task {task} sends {self.sent[task]} of {self.routine.results} words"
                )

    def _wrong(self, cycle: int, what: str) -> ProgramError:
        return ProgramError(f"routine {self.function!r}, cycle {cycle}: {what}")

    def _real(self, task: int) -> bool:
        """Whether a task is one of those that are played."""
        return 0 <= task < self.tasks

    def _cycle(self, now: int, number: int, own: _Word) -> None:
        if own.fields["send"]:
            self._send(now, number, own)
        for lane, slot in own.slots:
            self._slot(now, number, lane, slot)
        if own.fields["call"]:
            self._call(now, number, own.fields)
        self._take(now, number, own.fields)
        for (bank, word), value in self.storing.items():
            self.banks[bank][word] = value
        storing = self.storing = {}
        written = set()
        core = self.program.core
        for bank, source, address in own.writes:
            if source > core.lanes + core.lean:
                raise self._wrong(now, f"bank {bank} takes the result of lane {source}")
            value = self.buses[source].get(now, NOTHING)
            if value in written and value != NOTHING:
                raise self._wrong(now, f"two banks take {value}")
            written.add(value)
            if value != NOTHING and self._real(value[2]) and value[2] != self._of(number, value):
                raise self._wrong(now, f"bank {bank} takes {value} at the word of another task")
            storing[bank, self._rotated(address, number)] = value
        lost = self.arriving.pop(now, NOTHING)
        if lost not in {NOTHING, *written}:
            raise self._wrong(now, "an operand is lost")

    def _of(self, number: int, value: Name) -> int:
        """The task on whose behalf a value may be written in this interval: its own, in any stage."""
        return value[2] if number - self.routine.stages < value[2] <= number else -1

    def _rotated(
        self,
        address: int,
        number: int,
        rotates: int = 1,
    ) -> int:
        if not rotates:
            return address
        rotating = self.program.rotating
        return self.program.core.words - rotating + (address + number) % rotating

    def _slot(self, now: int, number: int, lane: int, own: _Slot) -> None:
        x = self.banks[own.x_bank][self._rotated(own.x_address, number, own.x_rotates)]
        address = self._rotated(own.y_address, number, own.y_rotates)
        y = self.inputs[address] if own.y_operand else self.banks[own.y_bank][address]
        if own.kind >= len(KINDS):
            raise self._wrong(now, f"lane {lane} has nothing to do by number {own.kind}")
        sign = -1 if own.negative else 1
        term = _Term(KINDS[own.kind], sign, bool(own.double), DISTANCES[own.distance], x, y)
        extraction = EXTRACTIONS[own.extraction]
        sums = self.sums[lane]
        if own.first:
            own_sum = _Sum([term], extraction)
            if own.keep:
                if sums is not None:
                    raise self._wrong(now, f"lane {lane} begins a sum within another")
                self.sums[lane] = own_sum
        else:
            if sums is None:
                if number < self.routine.stages:
                    return
                raise self._wrong(now, f"lane {lane} goes on with no sum")
            if sums.extraction != extraction:
                raise self._wrong(now, f"lane {lane} changes the bits that it drops within a sum")
            sums.terms.append(term)
            own_sum = sums
        if own.last:
            if own.keep:
                self.sums[lane] = None
            self._end(now, number, lane, own_sum, own.stage)

    def _end(
        self,
        now: int,
        number: int,
        lane: int,
        own: _Sum,
        stage: int,
    ) -> None:
        """A sum ends: it is one of the work's, of one task."""
        task = number - stage
        if not self._real(task):
            return
        tasks = {v[2] for term in own.terms for v in (term.x, term.y) if v[0] == "node"}
        if tasks - {task}:
            raise self._wrong(
                now, f"lane {lane} adds values of tasks {sorted(tasks)} for task {task}"
            )
        node = self.by_terms.get(_key(own.terms, own.extraction))
        if node is None:
            raise self._wrong(now, f"lane {lane} ends a sum that is none of the function's")
        self.ended[task] += 1
        self.lane_bus[lane][now + RESULT] = ("node", node, task)

    def _call(
        self,
        now: int,
        number: int,
        own: Mapping[str, int],
    ) -> None:
        task = number - own["call_stage"]
        argument = self.lane_bus[self.program.core.calling].get(now, NOTHING)
        if not self._real(task):
            return
        call = self.calls.get(argument[1]) if argument[0] == "node" else None
        if call is None or argument[2] != task:
            raise self._wrong(now, f"the special unit is called for {argument}")
        shift = 1 if call.kind.endswith(SIGN) else call.shift // STEP
        if own["call_inverse"] == call.kind.endswith(SINES) or own["call_shift"] != shift:
            raise self._wrong(now, f"the special unit does something else for %{call.argument}")
        steps, delays = TIMES[call.kind]
        for step in steps:
            if now + step in self.multiplier:
                raise self._wrong(now, "the special unit's multiplier is taken twice")
            self.multiplier.add(now + step)
        for node, delay in zip(call.results, delays, strict=True):
            if node is None:
                continue
            if now + delay in self.unit_bus:
                raise self._wrong(now, "the special unit has two results in a cycle")
            self.unit_bus[now + delay] = ("node", node, task)

    def _take(
        self,
        now: int,
        number: int,
        own: Mapping[str, int],
    ) -> None:
        if own["take"]:
            place = self.taken[number]
            self.taken[number] += 1
            if place >= len(self.work.inputs):
                raise self._wrong(now, "more words are taken than a task has")
            node = self.work.inputs[place]
            if node is not None:
                self.arriving[now + WRITTEN] = ("node", node, number)
        if not self.program.core.lean and own["take_write"]:
            value = self.arriving.pop(now, NOTHING)
            self.inputs[self._rotated(own["take_address"], number)] = value

    def _send(
        self,
        now: int,
        number: int,
        own: _Word,
    ) -> None:
        sent, send = own.sent, own.fields["send"]
        task = number - sent["stage"]
        if not self._real(task):
            return
        if send == HEADER:
            if self.ended[task] != len(self.work.sums):
                raise self._wrong(now, f"task {task} sends its flags before its last sum ends")
            self.headed.add(task)
            if sent["address"] != (0 if self.routine.results else NOTHING_BEHIND):
                raise self._wrong(now, f"task {task} tells of other words behind its header")
        if send not in (WORD, LAST_WORD):
            return
        if task not in self.headed:
            raise self._wrong(now, f"task {task} sends a word before its header")
        value = self.work.results[self.sent[task]]
        rotated = self._rotated(sent["address"], number, sent["rotates"])
        found = self.banks[sent["bank"]][rotated]
        kind, name, _ = _named(value)
        if found != (kind, name, task if kind == "node" else 0):
            raise self._wrong(now, f"word {self.sent[task]} of task {task} is {found}")
        self.sent[task] += 1
        if (send == LAST_WORD) != (self.sent[task] == self.routine.results):
            raise self._wrong(now, f"word {self.sent[task]} of task {task} is told as another one")


def _named(value: Value) -> Name:
    return _constant(value.constant) if value.node is None else ("node", value.node, 0)


def _constant(constant: int | str) -> Name:
    return ("parameter" if isinstance(constant, str) else "constant", constant, 0)


def _key(terms: Iterable[_Term], extraction: int) -> object:
    """What makes sums the same: their terms, each as often, in any order."""
    return frozenset(Counter(term.plain() for term in terms).items()), extraction
