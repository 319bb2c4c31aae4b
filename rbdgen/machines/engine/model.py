"""A model of the machine: it executes program words on memories, lanes and accumulators, cycle by cycle.

It knows no graph and no function, only what the hardware is told. Several tasks that begin together, as on cores in
lockstep, are an array in each word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rbdgen.ir.exactness import dropped, product_without
from rbdgen.ir.number_formats import Format
from rbdgen.ir.ops.reciprocals import reciprocal_table
from rbdgen.ir.ops.sines import sine_table
from rbdgen.machines.engine.core import (
    ANGLE_POINT,
    COSINE,
    DISTANCES,
    EXTRACTIONS,
    LEAN_INVERSE,
    LEAN_SINES,
    LIFT,
    MANTISSA,
    POWER,
    RESULT,
    SIGNED,
    SINE,
    STEP,
    WRITTEN,
    Core,
)
from rbdgen.machines.engine.program import HEADER, KINDS, LAST_WORD, WORD, Layout, Program
from rbdgen.machines.engine.special import (
    ADDRESS_BITS,
    EXACT,
    FACTOR,
    LEAN_ADDRESS_BITS,
    MANTISSA_POINT,
    QUARTER,
    RECIPROCAL_POINT,
    SHORT,
    SINE_POINT,
    STEP_POINT,
    TABLE_BITS,
)

Words = np.ndarray
"""A word of each core (n,), int64."""


@dataclass(frozen=True)
class Answers:
    """Results of tasks that ran one behind the other on n cores: ``values`` (tasks, words, n), ``flags`` (tasks, n),
    and the ``cycles`` in which each task's header was sent, from the start of the first."""

    values: np.ndarray
    flags: np.ndarray
    cycles: tuple[int, ...]


def run(
    program: Program,
    function: str,
    operands: np.ndarray,
    parameters: Mapping[str, int] | None = None,
) -> Answers:
    """Run tasks of one function: raw ``operands`` (tasks, words, n), one task every interval. ``parameters``: raw
    values that were loaded, by name. Of a function that repeats the cycles are those of the first step."""
    loaded = replace(program, parameters={**program.parameters, **(parameters or {})})
    routine = program.routines[function]
    own = Loaded(
        program.core,
        program.layout,
        routine.words,
        routine.stages,
        routine.results,
        program.rotating,
        loaded.banks,
    )
    answers = own.run(operands)
    if routine.count_at is None:
        return answers
    values, flags = answers.values, answers.flags
    left = np.maximum(operands[:, routine.count_at], 1) - 1
    while left.any():
        going = left > 0
        again = np.concatenate([values, operands[:, routine.results :]], axis=1)
        step = own.run(again)
        values = np.where(going[:, None], step.values, values)
        flags = flags | (step.flags & going)
        left = left - going
    return Answers(values, flags, answers.cycles)


@dataclass(frozen=True)
class Loaded:
    """A routine as a core has it: its ``words``, whose fields ``layout`` places, the ``stages`` and words of
    ``results`` of a task, how many words rotate, and what ``banks`` (banks, words) hold before."""

    core: Core
    layout: Layout
    words: Sequence[int]
    stages: int
    results: int
    rotating: int
    banks: np.ndarray

    @property
    def interval(self) -> int:
        """Cycles from one task to the next."""
        return len(self.words)

    def run(self, operands: np.ndarray) -> Answers:
        """Run tasks: raw ``operands`` (tasks, words, n), one task every interval."""
        return _Machine(self, operands).run()


class _Machine:
    """A core, or several in lockstep, and one run of it."""

    def __init__(self, routine: Loaded, operands: np.ndarray) -> None:
        self.core = core = routine.core
        self.routine = routine
        self.tasks, _, self.count = operands.shape
        self.operands = operands
        self.banks = np.repeat(routine.banks[:, :, None], self.count, axis=2)
        self.inputs = np.zeros((core.words, self.count), np.int64)
        zero = np.zeros(self.count, np.int64)
        self.sums = [zero] * core.lanes
        self.lane_bus: list[dict[int, Words]] = [{} for _ in range(core.lanes)]
        self.unit_bus: dict[int, Words] = {}
        self.arriving: dict[int, Words] = {}
        self.storing: dict[tuple[int, int], Words] = {}
        self.flags = np.zeros((self.tasks, self.count), bool)
        self.values = np.zeros((self.tasks, self.routine.results, self.count), np.int64)
        self.sent = [0] * self.tasks
        self.taken = [0] * self.tasks
        self.final_flags = np.zeros((self.tasks, self.count), bool)
        self.cycles = [0] * self.tasks

    def run(self) -> Answers:
        """Run all tasks to their ends."""
        fields = [self.routine.layout.unpacked(w) for w in self.routine.words]
        for number in range(self.tasks + self.routine.stages - 1):
            for cycle, own in enumerate(fields):
                now = number * self.routine.interval + cycle
                self._cycle(now, number, own)
        return Answers(self.values, self.final_flags, tuple(self.cycles))

    def _cycle(
        self,
        now: int,
        number: int,
        own: dict[str, int],
    ) -> None:
        """One cycle: what is read is what was written before."""
        self._send(now, number, own)
        for lane in range(self.core.lanes):
            self._slot(now, number, lane, own)
        self._take(now, number, own)
        if own["call"]:
            self._call(now, number, own)
        for place, value in self.storing.items():
            self.banks[place] = value
        self.storing = {}
        for bank in range(self.core.banks):
            name = f"bank{bank}_"
            if own[name + "write"]:
                source = own[name + "source"]
                buses = [*self.lane_bus, self.unit_bus, self.arriving]
                # what no sum ends in is whatever the lane has
                value = buses[source].get(now) if source < len(buses) else None
                if value is None:
                    value = np.zeros(self.count, np.int64)
                self.storing[bank, self._rotated(own[name + "address"], number)] = value
        for bus in (*self.lane_bus, self.unit_bus, self.arriving):
            bus.pop(now, None)

    def _rotated(
        self,
        address: int,
        number: int,
        rotates: int = 1,
    ) -> int:
        """The word of a bank that an address means in this interval."""
        if not rotates:
            return address
        rotating = self.routine.rotating
        return self.core.words - rotating + (address + number) % rotating

    def _task(self, number: int, stage: int) -> int | None:
        """The task that is in a stage, if there is one."""
        task = number - stage
        return task if 0 <= task < self.tasks else None

    def _flag(
        self,
        number: int,
        stage: int,
        flags: np.ndarray,
    ) -> None:
        task = self._task(number, stage)
        if task is not None:
            self.flags[task] |= flags

    def _slot(
        self,
        now: int,
        number: int,
        lane: int,
        own: dict[str, int],
    ) -> None:
        """A lane's slot."""
        core, name = self.core, f"lane{lane}_"
        get = {key: own[name + key] for key in _LANE}
        apart = not core.lean and own[name + "y_operand"]
        x = self.banks[get["x_bank"], self._rotated(get["x_address"], number, get["x_rotates"])]
        address = self._rotated(get["y_address"], number, get["y_rotates"])
        y = self.inputs[address] if apart else self.banks[get["y_bank"], address]
        x = x << get["double"]
        kind = KINDS[get["kind"] % len(KINDS)]
        if kind == "product":
            term = product_without(core.cut, x, y)
        elif kind == "sum":
            term = (x + y) << LIFT
        else:
            term = (x - y) << LIFT
        term = term >> DISTANCES[get["distance"]]
        drop = EXTRACTIONS[get["extraction"]]
        before = np.full(self.count, 1 << drop - 1) if get["first"] else self.sums[lane]
        total = before - term if get["negative"] else before + term
        if get["keep"]:
            self.sums[lane] = total
        fmt = Format(core.width, 0)
        exact = total >> drop
        value = fmt.wrap(exact)
        self.lane_bus[lane][now + RESULT] = value
        if get["last"]:
            self._flag(number, get["stage"], value != exact)

    def _take(
        self,
        now: int,
        number: int,
        own: dict[str, int],
    ) -> None:
        """An operand's word, which the stream gives and a memory takes."""
        task = self._task(number, 0)
        if own["take"]:
            word = np.zeros(self.count, np.int64)
            if task is not None:
                word = self.operands[task, self.taken[task]]
                self.taken[task] += 1
            self.arriving[now + WRITTEN] = word
        if not self.core.lean and own["take_write"]:
            address = self._rotated(own["take_address"], number)
            self.inputs[address] = self.arriving[now]

    def _send(
        self,
        now: int,
        number: int,
        own: dict[str, int],
    ) -> None:
        """A word of a result, or the header before it."""
        sent = self.routine.layout.sent(own)
        task = self._task(number, sent["stage"])
        if task is None:
            return
        if own["send"] == HEADER:
            self.final_flags[task] = self.flags[task]
            self.cycles[task] = now
        if own["send"] in (WORD, LAST_WORD):
            address = self._rotated(sent["address"], number, sent["rotates"])
            self.values[task, self.sent[task]] = self.banks[sent["bank"], address]
            self.sent[task] += 1

    def _call(
        self,
        now: int,
        number: int,
        own: dict[str, int],
    ) -> None:
        """A call of the special unit."""
        argument = self.lane_bus[self.core.calling].get(now, np.zeros(self.count, np.int64))
        if self.core.lean:
            self._look_up(now, number, own, argument)
            return
        if own["call_inverse"] and own["call_shift"]:
            self.unit_bus[now + SIGNED] = sign(argument)
        elif own["call_inverse"]:
            mantissa, power, lost = inverse(argument, self.core)
            self.unit_bus[now + MANTISSA] = mantissa
            self.unit_bus[now + POWER] = power
            self._flag(number, own["call_stage"], lost)
        else:
            sine, cosine = sine_and_cosine(argument << own["call_shift"] * STEP, self.core)
            self.unit_bus[now + SINE] = sine
            self.unit_bus[now + COSINE] = cosine

    def _look_up(self, now: int, number: int, own: dict[str, int], argument: Words) -> None:
        """A call of a lean special unit."""
        if own["call_inverse"] and own["call_shift"]:
            self.unit_bus[now + SIGNED] = sign(argument)
            return
        if own["call_inverse"]:
            *words, lost = looked_up_inverse(argument, self.core)
            times = LEAN_INVERSE
            self._flag(number, own["call_stage"], lost)
        else:
            words, times = list(looked_up_angle(argument)), LEAN_SINES
        for word, delay in zip(words, times, strict=True):
            self.unit_bus[now + delay] = word


_LANE = (
    "x_address",
    "x_bank",
    "x_rotates",
    "y_address",
    "y_bank",
    "y_rotates",
    "kind",
    "double",
    "negative",
    "distance",
    "first",
    "keep",
    "last",
    "extraction",
    "stage",
)


def _rounded(x: Words, drop: int) -> Words:
    """Without so many low bits, rounded half up."""
    return dropped(x, drop, rounds=True)


def _entries(angle: Words, bits: int, fmt: Format) -> tuple[Words, Words, Words]:
    """Sine and cosine of the middle of an angle's interval, whose number has so many bits, and the rest."""
    table = np.array(sine_table(bits, fmt), np.int64)
    below = ANGLE_POINT - bits
    place = angle >> below
    found = []
    for ahead in (0, 1):
        turned = place + (ahead << bits)
        index = turned & (1 << bits) - 1
        index = np.where(turned >> bits & 1, (1 << bits) - 1 - index, index)
        value = table[index]
        found.append(np.where(turned >> bits + 1 & 1, -value, value))
    return found[0], found[1], _rest(angle, below)


def _rest(x: Words, below: int) -> Words:
    """How far a number is from the middle of its interval, of which so many bits are inside."""
    return (x & (1 << below) - 1) - (1 << below - 1)


def looked_up_angle(angle: Words) -> tuple[Words, Words, Words]:
    """What a lean unit gives for an angle in quarter turns."""
    return _entries(angle, LEAN_ADDRESS_BITS, Format(TABLE_BITS, ANGLE_POINT))


def sine_and_cosine(angle: Words, core: Core) -> tuple[Words, Words]:
    """Sine and cosine, as the special unit has them, of an angle in quarter turns."""
    fmt = Format(TABLE_BITS, SINE_POINT)
    sine, cosine, rest = _entries(angle, ADDRESS_BITS, fmt)
    quarter = round(QUARTER * 2**SHORT)
    # u at its own point; half of it is the same bits with a point one further
    step = _rounded(rest * quarter >> ANGLE_POINT + SHORT - EXACT, EXACT - STEP_POINT)
    results = []
    for here, other, sign in ((sine, cosine, -1), (cosine, sine, 1)):
        short = _rounded(here, SINE_POINT - SHORT)
        inner = step * short >> STEP_POINT + 1 + SHORT - SINE_POINT
        slope = _rounded(other + sign * inner, SINE_POINT - SHORT)
        outer = step * slope >> STEP_POINT + SHORT - SINE_POINT
        results.append(_rounded(here - sign * outer, SINE_POINT - ANGLE_POINT))
    return results[0], results[1]


def sign(x: Words) -> Words:
    """The sign of a number, as the special unit has it."""
    one = np.int64(1 << ANGLE_POINT)
    return np.where(x < 0, -one, one)


def _normal(x: Words, core: Core) -> tuple[Words, Words, np.ndarray]:
    """A number's mantissa, the power of two beside that of its reciprocal, and whether it has none."""
    lost = x <= 0
    positive = np.maximum(x, 1)
    place = np.frexp(positive.astype(float))[1].astype(np.int64) - 1
    top = core.width - 2
    # a float has fewer bits than a long word: what rounds up to a power of two is one place too high
    place = np.where(positive >> place == 0, place - 1, place)
    exact = np.left_shift(np.int64(1), core.power_point - place)
    power = Format(core.width, 0).wrap(exact)
    return positive << top - place, power, lost | (power != exact)


def _interval(mantissa: Words, bits: int, core: Core) -> tuple[Words, Words]:
    """The number of a mantissa's interval, of so many bits, and how far it is from its middle."""
    below = core.width - 2 - bits
    return mantissa >> below & (1 << bits) - 1, _rest(mantissa, below)


def looked_up_inverse(x: Words, core: Core) -> tuple[Words, Words, Words, np.ndarray]:
    """What a lean unit gives for a number that is inverted, and whether it is none that can be."""
    mantissa, power, lost = _normal(x, core)
    fmt = Format(TABLE_BITS, ANGLE_POINT)
    table = np.array(reciprocal_table(LEAN_ADDRESS_BITS, fmt), np.int64)
    number, rest = _interval(mantissa, LEAN_ADDRESS_BITS, core)
    return table[number], power, _rounded(rest, core.width - 2 - ANGLE_POINT), lost


def inverse(x: Words, core: Core) -> tuple[Words, Words, np.ndarray]:
    """The mantissa of 1/x and the power of two beside it, as the special unit has them, and whether x has none."""
    mantissa, power, lost = _normal(x, core)
    table = np.array(reciprocal_table(ADDRESS_BITS, Format(TABLE_BITS, RECIPROCAL_POINT)), np.int64)
    number, rest = _interval(mantissa, ADDRESS_BITS, core)
    found = table[number]
    distance = _rounded(rest, core.width - 2 - MANTISSA_POINT)
    short = _rounded(found, RECIPROCAL_POINT - FACTOR + 1)
    step = _rounded(distance * short >> MANTISSA_POINT + FACTOR - 1 - EXACT, EXACT - STEP_POINT)
    moved = step << EXACT - STEP_POINT
    change = _rounded(moved - (step * step >> 2 * STEP_POINT - EXACT), EXACT - STEP_POINT)
    product = short * change >> FACTOR - 1 + STEP_POINT - EXACT
    total = (found << EXACT - RECIPROCAL_POINT) - product
    return _rounded(total, EXACT - ANGLE_POINT), power, lost
