"""The check of programs: it plays program words with names in place of numbers, and finds that they compute the work.

It shares nothing with what made them but the fields' names and the machine's times. Every word of a memory holds what
was written there, of which task; every sum that a lane ends must be one of the work's, of one task's values; every
result word must be the one that is due. Lifetimes, rotation, ports, banks and stages are right if all of that is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


class _Term(NamedTuple):
    """A term by all that it is: what a lane makes of two words, its sign, whether the first is doubled, and by how much
    it is moved."""

    kind: str
    sign: int
    double: bool
    distance: int
    x: Name
    y: Name

    def plain(self) -> _Term:
        """The term without tasks. Of what may be exchanged the words stand in one order, whatever their ports."""
        x, y = ((what, name, 0) for what, name, _ in (self.x, self.y))
        exchangeable = self.kind == PRODUCT or (self.kind == SUM and not self.double)
        if exchangeable and y < x:
            x, y = y, x
        return self._replace(x=x, y=y)


@dataclass
class _Sum:
    """What a lane's accumulator has: terms with their factors, and bits that are to be dropped."""

    terms: Counter[_Term]
    extraction: int


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
        self.multiplier: set[int] = set()
        self.arriving: dict[int, Name] = {}
        self.storing: dict[tuple[int, int], Name] = {}
        self.tasks = self.routine.stages + EXTRA
        self.taken = Counter[int]()
        self.sent = Counter[int]()
        self.ended = Counter[int]()
        self.headed: set[int] = set()
        self.by_terms: dict[object, int] = {}
        for own in self.work.sums:
            terms = Counter(
                _Term(s.kind, s.sign, s.double, s.distance, _named(s.x), _named(s.y)).plain()
                for s in own.slots
            )
            self.by_terms[_key(terms, own.extraction)] = own.node
        self.calls: Mapping[int | str, Call] = {call.argument: call for call in self.work.calls}

    def run(self) -> None:
        """Play all tasks, and find that each was computed whole."""
        fields = [self.program.layout.unpacked(word) for word in self.routine.words]
        for number in range(self.tasks + self.routine.stages - 1):
            for cycle, own in enumerate(fields):
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

    def _cycle(
        self,
        now: int,
        number: int,
        own: Mapping[str, int],
    ) -> None:
        self._send(now, number, own)
        for lane in range(self.program.core.lanes):
            self._slot(now, number, lane, own)
        if own["call"]:
            self._call(now, number, own)
        self._take(now, number, own)
        for (bank, word), value in self.storing.items():
            self.banks[bank][word] = value
        storing = self.storing = {}
        written = set()
        for bank in range(self.program.core.banks):
            name = f"bank{bank}_"
            if not own[name + "write"]:
                continue
            source = own[name + "source"]
            core = self.program.core
            if source > core.lanes + core.lean:
                raise self._wrong(now, f"bank {bank} takes the result of lane {source}")
            buses = [*self.lane_bus, self.unit_bus, self.arriving]
            value = buses[source].get(now, NOTHING)
            if value in written and value != NOTHING:
                raise self._wrong(now, f"two banks take {value}")
            written.add(value)
            if value != NOTHING and self._real(value[2]) and value[2] != self._of(number, value):
                raise self._wrong(now, f"bank {bank} takes {value} at the word of another task")
            storing[bank, self._rotated(own[name + "address"], number)] = value
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

    def _slot(
        self,
        now: int,
        number: int,
        lane: int,
        own: Mapping[str, int],
    ) -> None:
        name = f"lane{lane}_"

        def get(field: str) -> int:
            return own[name + field]

        if not (get("first") or get("keep")):
            return
        x = self.banks[get("x_bank")][self._rotated(get("x_address"), number, get("x_rotates"))]
        address = self._rotated(get("y_address"), number, get("y_rotates"))
        apart = not self.program.core.lean and get("y_operand")
        y = self.inputs[address] if apart else self.banks[get("y_bank")][address]
        if get("kind") >= len(KINDS):
            raise self._wrong(now, f"lane {lane} has nothing to do by number {get('kind')}")
        sign = -1 if get("negative") else 1
        term = _Term(
            KINDS[get("kind")], sign, bool(get("double")), DISTANCES[get("distance")], x, y
        )
        extraction = EXTRACTIONS[get("extraction")]
        sums = self.sums[lane]
        if get("first"):
            own_sum = _Sum(Counter([term]), extraction)
            if get("keep"):
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
            sums.terms[term] += 1
            own_sum = sums
        if get("last"):
            if get("keep"):
                self.sums[lane] = None
            self._end(now, number, lane, own_sum, get("stage"))

    def _end(
        self,
        now: int,
        number: int,
        lane: int,
        own: _Sum,
        stage: int,
    ) -> None:
        """A sum ends: it is one of the work's, of one task."""
        tasks = {v[2] for term in own.terms for v in (term.x, term.y) if v[0] == "node"}
        task = number - stage
        if not self._real(task):
            return
        if tasks - {task}:
            raise self._wrong(
                now, f"lane {lane} adds values of tasks {sorted(tasks)} for task {task}"
            )
        plain: Counter[_Term] = Counter()
        for term, count in own.terms.items():
            plain[term.plain()] += count
        node = self.by_terms.get(_key(plain, own.extraction))
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
        own: Mapping[str, int],
    ) -> None:
        sent = self.program.layout.sent(own)
        task = number - sent["stage"]
        if not self._real(task):
            return
        if own["send"] == HEADER:
            if self.ended[task] != len(self.work.sums):
                raise self._wrong(now, f"task {task} sends its flags before its last sum ends")
            self.headed.add(task)
            if sent["address"] != (0 if self.routine.results else NOTHING_BEHIND):
                raise self._wrong(now, f"task {task} tells of other words behind its header")
        if own["send"] not in (WORD, LAST_WORD):
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
        if (own["send"] == LAST_WORD) != (self.sent[task] == self.routine.results):
            raise self._wrong(now, f"word {self.sent[task]} of task {task} is told as another one")


def _named(value: Value) -> Name:
    return _constant(value.constant) if value.node is None else ("node", value.node, 0)


def _constant(constant: int | str) -> Name:
    return ("parameter" if isinstance(constant, str) else "constant", constant, 0)


def _key(terms: Counter[_Term], extraction: int) -> object:
    return frozenset(terms.items()), extraction
