"""The phase of the pipelines, and what follows it: the choice of a value by the phase, before shared operators, and the
stages that tasks are in.

Every part that needs the phase counts it by itself. A valid bit per interval moves along with tasks; strobes come from
registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value

from rbdgen_hw.logic import any_of, or_of


class Phases:
    """Phases 0 to ``ii`` − 1 of the module ``m``, in the cycle; at power-up, and as long as ``waits`` in it, phase 0.

    There is no reset: all that count begin in the same phase and see the same ``waits``, and whatever phase an idle
    pipeline is in, it ends up waiting in phase 0. Choices and strobes follow the phase all over the device. So that
    none of them has a long way to go, every unit counts for itself, and what depends on the phase comes from registers
    that are set a cycle ahead. (Counters that only copied another one would become one again in synthesis.)
    """

    def __init__(self, m: Module, ii: int, waits: Value) -> None:
        self.m = m
        self.ii = ii
        self.waits = waits
        self.now = Signal(range(ii), name="phase", reset_less=True)
        self._during: dict[tuple[int, ...], Signal] = {}
        if ii == 1:
            return
        last = self.now == ii - 1
        moves = (self.now != 0) | ~waits
        with m.If(last):
            m.d.sync += self.now.eq(0)
        with m.Elif(moves):
            m.d.sync += self.now.eq(self.now + 1)

    def _next(self, phase: int) -> Value:
        """Whether ``phase`` comes in the next cycle."""
        before = (phase - 1) % self.ii
        begins = self.now == before
        if phase == 0:
            stays = (self.now == 0) & self.waits
            return begins | stays
        # phase 1 comes only where phase 0 is left
        return begins & ~self.waits if phase == 1 else begins

    def during(self, phases: Iterable[int]) -> Value:
        """High in ``phases``."""
        m = self.m
        if self.ii == 1:
            return Const(1)
        key = tuple(sorted(set(phases)))
        if key not in self._during:
            name = self._name(key)
            # at power-up it is phase 0
            begins_in = int(0 in key)
            register = Signal(name=name, init=begins_in, reset_less=True)
            follows = any_of(self._next(phase) for phase in key)
            m.d.sync += register.eq(follows)
            self._during[key] = register
        return self._during[key]

    def _name(self, phases: tuple[int, ...]) -> str:
        """The name of the register that is high in ``phases``; the next one's if they are too many to be listed."""
        if len(phases) < 4:
            listed = "_".join(map(str, phases))
            return f"during{listed}"
        return f"during{len(self._during)}_of_{len(phases)}"

    def at(self, cycle: int) -> Value:
        """High in the phase of ``cycle``."""
        return self.during([cycle % self.ii])


def choose(
    m: Module,
    phases: Phases,
    cases: Iterable[tuple[Iterable[int], Value]],
    shape: ShapeLike,
    name: str,
) -> Value:
    """The value in whose phases (disjoint lists) the pipelines are; any value in phases that are not listed.

    Values that occur more than once are one input of the multiplexer, constants are another together. Each input has a
    register that says when it is chosen.
    """
    values: dict[int, Value] = {}
    phases_of: dict[int, list[int]] = {}
    constants: dict[int, int] = {}
    for wanted, value in cases:
        if isinstance(value, Const):
            constants |= dict.fromkeys(wanted, value.value)
        else:
            # by identity: == of two values is hardware
            key = id(value)
            values.setdefault(key, value)
            phases_of.setdefault(key, []).extend(wanted)
    if not values:
        return _constant(phases, constants, list(constants), shape)
    if not constants and len(values) == 1:
        return next(iter(values.values()))
    chosen = Signal(shape, name=name)
    if not constants and len(values) == 2:
        # one of two needs no choice of its own, which leaves an input of every look-up table free
        by_time = sorted(values, key=lambda key: len(phases_of[key]))
        rare, frequent = by_time
        choice = phases.during(phases_of[rare])
        either = Mux(choice, values[rare], values[frequent])
        m.d.comb += chosen.eq(either)
        return chosen
    terms: list[Value] = []
    for key, value in values.items():
        choice = phases.during(phases_of[key])
        terms.append(Mux(choice, value, 0))
    if constants:
        every = range(phases.ii)
        terms.append(_constant(phases, constants, every, shape))
    m.d.comb += chosen.eq(or_of(terms))
    return chosen


def _constant(
    phases: Phases, constants: Mapping[int, int], within: Iterable[int], shape: ShapeLike
) -> Value:
    """Constants by phase, bit by bit from registers; zero in other phases, as far as they are ``within``."""
    every = set(within)
    different = set(constants.values())
    if every == set(constants) and len(different) == 1:
        return Const(different.pop(), shape)
    cast = Shape.cast(shape)
    bits = []
    for k in range(cast.width):
        ones = {phase for phase, value in constants.items() if value >> k & 1}
        bits.append(_constant_bit(phases, ones, every))
    word = Cat(*bits)
    return word.as_signed() if cast.signed else word


def _constant_bit(phases: Phases, ones: set[int], every: set[int]) -> Value:
    """A bit that is high in the phases ``ones``; a register only where it differs in ``every`` phase."""
    if not ones:
        return Const(0, 1)
    if ones == every:
        return Const(1, 1)
    return phases.during(ones)


class TaskStages:
    """The stages of tasks that come with ``start``, up to their cycle ``last``; ``name`` says which tasks.

    Bit s of ``valid`` is high in the cycles s·ii to s·ii + ii − 1 of a task.
    """

    def __init__(
        self,
        m: Module,
        phases: Phases,
        name: str,
        start: Value,
        last: int,
    ) -> None:
        self.m = m
        self.phases = phases
        self.ii = phases.ii
        self.name = name
        self.start = start
        count = last // self.ii + 1
        self.valid = [Signal(name=f"valid_{name}{s}") for s in range(count)]
        self._strobes: dict[int, Signal] = {}
        moves = [after.eq(before) for before, after in pairwise(self.valid)]
        if self.ii == 1:
            m.d.comb += self.valid[0].eq(start)
            m.d.sync += moves
            return
        started = Signal(name=f"started_{name}")
        first = phases.at(0)
        # a start is there in phase 0 only, and counts in all phases of the stage
        with m.If(first):
            m.d.sync += started.eq(start)
        now = Mux(first, start, started)
        m.d.comb += self.valid[0].eq(now)
        with m.If(phases.at(self.ii - 1)):
            m.d.sync += moves

    def strobe(self, cycle: int) -> Value:
        """High in ``cycle`` of a task."""
        m = self.m
        if cycle == 0:
            return self.start
        if self.ii == 1:
            return self.valid[cycle]
        if cycle not in self._strobes:
            before = cycle - 1
            stage = self.valid[before // self.ii]
            phase = self.phases.at(before)
            strobe = Signal(name=f"strobe_{self.name}{cycle}")
            m.d.sync += strobe.eq(stage & phase)
            self._strobes[cycle] = strobe
        return self._strobes[cycle]
