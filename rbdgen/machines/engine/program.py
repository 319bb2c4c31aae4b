"""Programs: a word for each cycle of an interval, that says what every part of a core does in it.

A word's fields are laid out by the core alone. What a task does in its stage s, that many intervals after it began, is
in the same words as what the next tasks do in theirs; fields that act on a task's behalf carry the stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rbdgen.errors import ConfigError
from rbdgen.machines.engine.allocation import (
    ALONE,
    Allocation,
    Constants,
    Place,
    allocate,
    check_constants,
    rotated,
)
from rbdgen.machines.engine.core import (
    DISTANCES,
    EXTRACTIONS,
    RESULT,
    STAGE_BITS,
    STEP,
    WRITTEN,
    Core,
)
from rbdgen.machines.engine.jobs import DIFFERENCE, PRODUCT, SUM, Sum, Value, Work
from rbdgen.machines.engine.placing import Schedule, delays
from rbdgen.machines.engine.sizes import check_sizes, constants_of
from rbdgen.machines.engine.special import SIGN, SINES

KINDS = (PRODUCT, SUM, DIFFERENCE)
"""What lanes make of two values, by code."""
HEADER, WORD, LAST_WORD = 1, 2, 3
"""What the output does, by code; nothing by 0."""
NOTHING_BEHIND = 1
"""The address beside a header that no word follows."""


class Layout:
    """The places of a word's fields: bit and width by name."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.fields: dict[str, tuple[int, int]] = {}
        self.bits = 0
        address, inside = core.address_bits, core.told_bank_bits
        for lane in range(core.lanes):
            name = f"lane{lane}_"
            self._add(name + "x_address", address)
            self._add(name + "x_bank", inside)
            self._add(name + "x_rotates", 1)
            self._add(name + "y_address", address)
            self._add(name + "y_bank", inside)
            self._add(name + "y_rotates", 1)
            if not core.lean:
                self._add(name + "y_operand", 1)
            self._add(name + "kind", 2)
            self._add(name + "double", 1)
            self._add(name + "negative", 1)
            self._add(name + "distance", 2)
            self._add(name + "first", 1)
            self._add(name + "keep", 1)
            self._add(name + "last", 1)
            self._add(name + "extraction", 2)
            self._add(name + "stage", STAGE_BITS)
        for bank in range(core.banks):
            name = f"bank{bank}_"
            self._add(name + "write", 1)
            self._add(name + "source", core.source_bits)
            self._add(name + "address", address)
        self._add("call", 1)
        self._add("call_inverse", 1)
        self._add("call_shift", 2)
        self._add("call_stage", STAGE_BITS)
        self._add("take", 1)
        if not core.lean:
            self._add("take_address", address)
            self._add("take_write", 1)
        self._add("send", 2)
        if not core.lean:
            self._add("send_address", address)
            self._add("send_bank", inside)
            self._add("send_rotates", 1)
            self._add("send_stage", STAGE_BITS)

    def sent(self, values: Mapping[str, int]) -> dict[str, int]:
        """Of all fields' ``values`` those of what is sent: its ``address``, which beside a header says that no word
        follows, its ``bank``, whether it ``rotates``, and the task's ``stage``."""
        return {field: values[name] for field, name in self.sending.items()}

    @cached_property
    def sending(self) -> dict[str, str]:
        """Names of those fields: a lean core sends what its last lane reads as its second value."""
        if not self.core.lean:
            return {field: f"send_{field}" for field in ("address", "bank", "rotates", "stage")}
        lane = f"lane{self.core.lanes - 1}_"
        own = {field: f"{lane}y_{field}" for field in ("address", "bank", "rotates")}
        return own | {"stage": f"{lane}stage"}

    def _add(self, name: str, width: int) -> None:
        self.fields[name] = self.bits, width
        self.bits += width

    def packed(self, values: Mapping[str, int]) -> int:
        """A word with these values, and zeros in all other fields."""
        word = 0
        for name, value in values.items():
            at, width = self.fields[name]
            if not 0 <= value < 1 << width:
                raise ValueError(f"field {name}: {value} does not fit {width} bits")
            word |= value << at
        return word

    def unpacked(self, word: int) -> dict[str, int]:
        """The values of all fields."""
        return {n: word >> at & (1 << width) - 1 for n, (at, width) in self.fields.items()}


@dataclass(frozen=True)
class Routine:
    """The program of one function: a word for each cycle of its ``interval``; ``stages``: so many intervals a task
    takes; ``operands`` and ``results`` are numbers of words of a task and of its results."""

    function: str
    words: tuple[int, ...]
    stages: int
    operands: int
    results: int
    schedule: Schedule
    allocation: Allocation

    @property
    def count_at(self) -> int | None:
        """Which operand is the number of steps, of a function that repeats."""
        return self.schedule.work.composition.count_at

    @property
    def interval(self) -> int:
        """Cycles from one task to the next."""
        return len(self.words)


@dataclass(frozen=True)
class Program:
    """All that is loaded into a ``core``: ``routines`` by function, one behind the other in its program memory, and
    ``constants``. ``rotating``: the words of a memory behind the constants. ``parameters``: raw values by name, until
    others are loaded. ``place``: where it stands in memories."""

    core: Core
    routines: Mapping[str, Routine]
    constants: Constants
    rotating: int
    parameters: Mapping[str, int] = field(default_factory=dict)
    place: Place = ALONE

    @cached_property
    def layout(self) -> Layout:
        """The places of words' fields."""
        return Layout(self.core)

    @property
    def raw_constants(self) -> Iterator[tuple[int, int, int]]:
        """Bank, word and raw value of each constant, before any parameter is loaded."""
        for constant, (bank, word) in self.constants.places.items():
            raw = self.parameters[constant] if isinstance(constant, str) else constant
            yield bank, word, raw

    @property
    def banks(self) -> np.ndarray:
        """What banks hold before a task: (banks, words)."""
        found = np.zeros((self.core.banks, self.core.words), np.int64)
        for bank, word, raw in self.raw_constants:
            found[bank, word] = raw
        return found

    @property
    def depth(self) -> int:
        """Words of program memory."""
        return sum(routine.interval for routine in self.routines.values())

    def start(self, function: str) -> int:
        """The first word of a function's routine."""
        start = 0
        for name, routine in self.routines.items():
            if name == function:
                return start
            start += routine.interval
        raise ConfigError(
            f"function {function!r}: is not in this program; it has {', '.join(self.routines)}"
        )


def make_program(
    core: Core,
    schedules: Mapping[str, Schedule],
    parameters: Mapping[str, int] | None = None,
    place: Place = ALONE,
) -> Program:
    """The program of these schedules, with these raw ``parameters`` by name, in its ``place``. ConfigError where
    something does not fit the core."""
    check_sizes(core, schedules, place.word)
    parameters = parameters or {}
    constants = constants_of(schedules, core, parameters, place.constant)
    rotating = check_constants(constants, core, place.rotating)
    layout = Layout(core)
    routines = {}
    for name, schedule in schedules.items():
        allocation = allocate(schedule, rotating)
        writer = _Writer(schedule, allocation, constants, rotating)
        words = tuple(layout.packed(fields) for fields in writer.write())
        work = schedule.work
        routines[name] = Routine(
            name, words, schedule.stages, len(work.inputs), len(work.results), schedule, allocation
        )
    return Program(core, routines, constants, rotating, parameters, place)


def moved(program: Program, place: Place) -> Program:
    """The same program in another ``place``. ConfigError where something does not fit the core."""
    schedules = {name: routine.schedule for name, routine in program.routines.items()}
    return make_program(program.core, schedules, program.parameters, place)


class _Writer:
    """Writes one routine: fields by cycle of the interval."""

    def __init__(
        self,
        schedule: Schedule,
        allocation: Allocation,
        constants: Constants,
        rotating: int,
    ) -> None:
        self.schedule = schedule
        self.work: Work = schedule.work
        self.allocation = allocation
        self.constants = constants
        self.rotating = rotating
        self.inputs = {i for i in self.work.inputs if i is not None and i not in schedule.banks}
        self.layout = Layout(schedule.core)
        self.fields: list[dict[str, int]] = [{} for _ in range(schedule.interval)]

    def write(self) -> list[dict[str, int]]:
        """All fields."""
        schedule = self.schedule
        for own in self.work.sums:
            self._sum(own)
        for call, begin in zip(self.work.calls, schedule.calls, strict=True):
            self._set(
                begin,
                call=1,
                call_inverse=int(not call.kind.endswith(SINES)),
                # an inverse that is moved is none, but a sign
                call_shift=1 if call.kind.endswith(SIGN) else call.shift // STEP,
                call_stage=self._stage(begin),
            )
            for result, delay in delays(call):
                self._store(result, begin + delay, schedule.core.lanes)
        for k, i in enumerate(self.work.inputs):
            self._set(k, take=1)
            if i is None:
                continue
            # the word that is taken in this cycle is written some cycles later
            written = k + WRITTEN
            if i in self.inputs:
                self._set(written, take_write=1, take_address=self._word(i, written))
            else:
                self._store(i, written, schedule.core.operand_source)
        self._send()
        return self.fields

    def _send(self) -> None:
        """The header of a result, and its words."""
        schedule = self.schedule
        alone = 0 if schedule.read else NOTHING_BEHIND
        self._sent(schedule.header, HEADER, 0, alone, 0)
        for cycle, value in zip(schedule.read, self.work.results, strict=True):
            last = cycle == schedule.read[-1]
            self._sent(cycle, LAST_WORD if last else WORD, *self._place(value, cycle))

    def _sent(self, cycle: int, send: int, *place: int) -> None:
        """What is sent in a cycle: the bank, the address, and whether it rotates, are its ``place``."""
        self._set(cycle, send=send)
        named = dict(zip(("bank", "address", "rotates"), place, strict=True))
        named |= {"stage": self._stage(cycle)}
        sending = self.layout.sending
        self._set(cycle, **{sending[field]: value for field, value in named.items()})

    def _stage(self, cycle: int) -> int:
        return cycle // self.schedule.interval

    def _set(self, cycle: int, **values: int) -> None:
        fields = self.fields[cycle % self.schedule.interval]
        for name, value in values.items():
            if name in fields:
                raise ValueError(f"cycle {cycle}: {name} is used twice")
            fields[name] = value

    def _word(self, node: int, cycle: int) -> int:
        """The word of a node's value as it is named in a cycle."""
        return rotated(self.allocation.words[node], self._stage(cycle), self.rotating)

    def _place(self, value: Value, cycle: int) -> tuple[int, int, int]:
        """Bank, address and whether it rotates, of a value that banks have, in a cycle."""
        if value.node is None:
            bank, word = self.constants.places[value.constant]
            return bank, word, 0
        return self.schedule.banks[value.node], self._word(value.node, cycle), 1

    def _sum(self, own: Sum) -> None:
        """A sum's slots, and where its result goes."""
        schedule = self.schedule
        place = schedule.placed[own.node]
        name = f"lane{place.lane}_"
        several = len(place.cycles) > 1
        for position, (cycle, k) in enumerate(zip(place.cycles, place.order, strict=True)):
            slot = own.slots[k]
            bank, address, rotates = self._place(slot.x, cycle)
            fields = {"x_address": address, "x_bank": bank, "x_rotates": rotates}
            if slot.y.node in self.inputs and slot.y.node is not None:
                fields |= {
                    "y_address": self._word(slot.y.node, cycle),
                    "y_rotates": 1,
                    "y_operand": 1,
                }
            else:
                bank, address, rotates = self._place(slot.y, cycle)
                fields |= {"y_address": address, "y_bank": bank, "y_rotates": rotates}
            fields |= {
                "kind": KINDS.index(slot.kind),
                "double": int(slot.double),
                "negative": int(slot.sign < 0),
                "distance": DISTANCES.index(slot.distance),
                "first": int(position == 0),
                "keep": int(several),
                "last": int(position == len(place.cycles) - 1),
                "extraction": EXTRACTIONS.index(own.extraction),
                "stage": self._stage(cycle),
            }
            self._set(cycle, **{name + field: value for field, value in fields.items()})
        if own.node in schedule.banks:
            self._store(own.node, place.last + RESULT, place.lane)

    def _store(
        self,
        node: int,
        cycle: int,
        source: int,
    ) -> None:
        """A result that a bank takes from a lane, or from the special unit, which has the number behind them."""
        name = f"bank{self.schedule.banks[node]}_"
        self._set(
            cycle,
            **{
                name + "write": 1,
                name + "source": source,
                name + "address": self._word(node, cycle),
            },
        )
