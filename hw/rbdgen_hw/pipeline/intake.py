# amaranth: UnusedElaboratable=no
"""The place where tasks come in: they are collected beat by beat into the task register, while their operands are
checked against their declared ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.machines.pipeline.buffers import Plan
from rbdgen.protocol.tasks import FUNCTION_BITS, HEADER_BITS, OperandWord, TaskFormat
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of, cut, or_of, registered

_BOUNDS = 1
_FOUND = 2
_TURNS = 3
"""Where there are registers from so many cycles on: at words and bounds, what was found, and which operands come."""
RANGE_CYCLES = 3
"""The most."""


Strobes = dict[OperandWord, Value]
"""When a word of a beat is which operand."""


class RangeCheck(SharedComponent):
    """One comparison for each word of a beat, with the bounds of the operand that is there now.

    In the cycle after ``accept``, ``turn`` (which of a task's beats it is, a bit for each) and ``beat`` are looked at,
    with ``known``, the bits of the task's function in the order of the functions, from then on. ``outside``: one of the
    operands so far is outside its range. After a task's last beat it stays until the cycle after the next ``accept``.
    ``cycles``: all that comes so many cycles later, as registers are in between: before words are compared with
    bounds, then behind that, then where it is known which operand a word is. There may be up to ``RANGE_CYCLES``.
    """

    def __init__(self, tasks: TaskFormat, cycles: int = 0) -> None:
        self.tasks = tasks
        self.cycles = cycles
        self.module_name = f"range_check_{cycles}" if cycles else "range_check"
        self.beats = max(map(tasks.task_beats, tasks.functions))
        super().__init__(
            {
                "beat": In(tasks.task.beat_bits),
                "turn": In(self.beats),
                "accept": In(1),
                "known": In(len(tasks.functions)),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.tasks.task
        beat, number = (
            Signal(packing.beat_bits, reset_less=True),
            Signal(self.beats, reset_less=True),
        )
        accepted, before = Signal(), Signal(reset_less=True)
        m.d.sync += [
            beat.eq(self.beat),
            number.eq(self.turn),
            accepted.eq(self.accept),
        ]
        positions = range(packing.words_per_beat)
        checked = [self._checked_words(k, number) for k in positions]
        kept = self._keep(m, beat, "word", _TURNS)
        words = cut(kept, packing.places)
        found = []
        for k, strobes in enumerate(checked):
            if strobes:
                outside = self._found(m, words[k], strobes, f"place{k}")
                found.append(outside)
        looked: Value = accepted
        first: Value = number[0]
        for stage in (_BOUNDS, _FOUND, _TURNS):
            looked = self._keep(m, looked, f"looked{stage}", stage)
            first = self._keep(m, first, f"first{stage}", stage)
        # what was found stays, until a task's first beat is looked at
        stays = before & ~first
        outside = any_of(found) | stays
        known = Mux(looked, outside, before)
        m.d.comb += self.outside.eq(known)
        m.d.sync += before.eq(self.outside)
        return m

    def _checked_words(self, position: int, number: Signal) -> Strobes:
        """The words that stand at a position of some beat, each with when it does, by the beat's ``number`` (a bit for
        each); words that are checked alike are one."""
        askers: dict[tuple[int, OperandWord], list[Value]] = defaultdict(list)
        functions = self.tasks.functions.values()
        for known, function in zip(self.known, functions, strict=True):
            for k, word in enumerate(function.operands, 1):
                beat, stands = divmod(k, self.tasks.task.words_per_beat)
                if stands == position:
                    alike = OperandWord("", word.format, word.codes)
                    askers[beat, alike].append(known)
        strobes: dict[OperandWord, list[Value]] = defaultdict(list)
        for (beat, word), known in askers.items():
            strobe = number[beat]
            # where all functions have it there, the task's need not be known
            if len(known) < len(functions):
                strobe &= any_of(known)
            strobes[word].append(strobe)
        joined: Strobes = {}
        for word, times in strobes.items():
            joined[word] = any_of(times)
        return joined

    def _keep(
        self,
        m: Module,
        value: Value,
        name: str,
        stage: int,
    ) -> Value:
        """``value``, or what that was in the cycle before where there are registers at this ``stage``."""
        if stage > self.cycles:
            return value
        return registered(m, value, name, reset_less=True)

    def _found(
        self,
        m: Module,
        word: Value,
        strobes: Strobes,
        name: str,
    ) -> Value:
        """Whether what stands at a position of the beat is outside its range, ``strobes`` saying which word that is."""
        kept = {}
        for operand, strobe in strobes.items():
            strobe_name = f"{name}_turn{len(kept)}"
            kept[operand] = self._keep(m, strobe, strobe_name, _TURNS)
        outside = self._outside(m, word, kept, name)
        return self._keep(m, outside, f"{name}_outside", _FOUND)

    def _outside(
        self,
        m: Module,
        word: Value,
        strobes: Strobes,
        name: str,
    ) -> Value:
        """Whether ``word`` is outside the bounds of the operand that it is now."""
        width = max(operand.format.width for operand in strobes)
        parts = self._extended(m, word, strobes, width, name)
        low_bounds = []
        high_bounds = []
        for operand, strobe in strobes.items():
            low, high = operand.codes
            low_bound = Const(low, width)
            high_bound = Const(high, width)
            low_bounds.append(Mux(strobe, low_bound, 0))
            high_bounds.append(Mux(strobe, high_bound, 0))
        lowest = self._chosen(m, low_bounds, width, f"{name}_lowest")
        highest = self._chosen(m, high_bounds, width, f"{name}_highest")
        value = self._chosen(m, parts, width, f"{name}_value")
        any_now = any_of(strobes.values())
        checked = self._keep(m, any_now, f"{name}_checked", _BOUNDS)
        outside = (value < lowest) | (value > highest)
        return checked & outside

    def _extended(
        self,
        m: Module,
        word: Value,
        strobes: Strobes,
        width: int,
        name: str,
    ) -> list[Value]:
        """The word as a number, for each width that operands here have; only the present operand's is not 0."""
        by_width: dict[int, list[Value]] = defaultdict(list)
        for operand, strobe in strobes.items():
            by_width[operand.format.width].append(strobe)
        parts: list[Value] = []
        for bits, times in by_width.items():
            extended = Signal(signed(width), name=f"{name}_of_{bits}")
            number = word[:bits].as_signed()
            m.d.comb += extended.eq(number)
            part: Value = extended
            if len(by_width) > 1:
                part = Mux(any_of(times), extended, 0)
            parts.append(part)
        return parts

    def _chosen(
        self,
        m: Module,
        values: Iterable[Value],
        width: int,
        name: str,
    ) -> Value:
        """The one of the values that is not 0, if any."""
        signal = Signal(signed(width), name=f"{name}_now")
        m.d.comb += signal.eq(or_of(values))
        return self._keep(m, signal, name, _BOUNDS)


def header_cycles(plan: Plan) -> int:
    """Cycles after a task's entry in which its header is written: its first result can't be taken before."""
    return plan.schedule.device.flag_registers


def checked_cycles(plan: Plan) -> int:
    """Cycles after a task's entry in which it is known whether its operands were in range: the last in which that can
    still join the header, if the check has a use for so many registers."""
    return min(header_cycles(plan), RANGE_CYCLES - plan.schedule.entry_cycles)


class Intake:
    """The task register: ``full`` when a task is whole, until it is ``taken``, which others drive.

    ``header`` and ``words`` are the task's, ``known`` what it asks for (a bit for each function) from its first beat
    on. ``outside``: one of its operands is outside its range, ``checked_cycles`` after its entry into the pipelines.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self.packing = design.tasks.task
        self.header = Signal(HEADER_BITS)
        self.full = Signal()
        self.taken = Signal()
        self.known: dict[str, Signal] = {}
        for name in design.tasks.functions:
            self.known[name] = Signal(name=f"is_{name}", reset_less=True)
        self.lengths: dict[int, int] = {}
        """Beats of a task by its function's code."""
        for code, count in design.tasks.task_words.items():
            self.lengths[code] = self.packing.beats(count)
        self.most = max(self.lengths.values())
        bits = self.packing.beat_bits * self.most
        self.register = Signal(bits, reset_less=True)
        widths = list(self.packing.places) * self.most
        self.words = cut(self.register, widths)
        # what is found is needed when the task enters the pipelines
        cycles = design.plan.schedule.entry_cycles + checked_cycles(design.plan)
        self.ranges = RangeCheck(design.tasks, cycles)
        self.outside: Value = self.ranges.outside

    def write(self, m: Module, platform: object, beats: stream.Interface) -> None:
        """Write the task register into ``m``, where it takes ``beats``."""
        # a bit for each beat, one of them high: no number is compared before the register's strobes
        awaited, last, accept, final = Signal(self.most, init=1), Signal(), Signal(), Signal()
        first = beats.payload[:FUNCTION_BITS]
        held = self.register[:FUNCTION_BITS]
        code = Mux(awaited[0], first, held)
        m.d.comb += last.eq(awaited[0])
        with m.Switch(code):
            for function_code, length in self.lengths.items():
                with m.Case(function_code):
                    m.d.comb += last.eq(awaited[length - 1])
        # where operands are chosen a cycle after the admission, the next task's come after that
        at_once = self.design.plan.schedule.entry_cycles < 2
        taken = self.taken if at_once else 0
        m.d.comb += [
            beats.ready.eq(~self.full | taken),
            accept.eq(beats.valid & beats.ready),
            final.eq(accept & last),
            self.header.eq(self.register[:HEADER_BITS]),
        ]
        with m.If(final):
            m.d.sync += self.full.eq(1)
        with m.Elif(self.taken):
            m.d.sync += self.full.eq(0)
        with m.If(accept):
            following = Mux(final, 1, awaited << 1)
            m.d.sync += awaited.eq(following)
        self._keep(m, awaited, beats)
        known = Cat(*self.known.values())
        instantiate(m, platform, "ranges", self.ranges)
        m.d.comb += [
            self.ranges.beat.eq(beats.payload),
            self.ranges.turn.eq(awaited),
            self.ranges.accept.eq(accept),
            self.ranges.known.eq(known),
        ]

    def _keep(self, m: Module, awaited: Signal, beats: stream.Interface) -> None:
        """Keep what is offered in the part of the register whose beat is ``awaited``, a bit for each.

        A part takes that until its beat is over, valid or not: its strobe has the whole part to reach, and does not
        wait for the stream's; behind the first beat the register cannot be full.
        """
        functions = self.design.tasks.functions
        code = beats.payload[:FUNCTION_BITS]
        widths = [self.packing.beat_bits] * self.most
        parts = cut(self.register, widths)
        for k, part in enumerate(parts):
            free = beats.ready if k == 0 else 1
            with m.If(awaited[k] & free):
                m.d.sync += part.eq(beats.payload)
                if k == 0:
                    for name, function in functions.items():
                        known = self.known[name]
                        m.d.sync += known.eq(code == function.code)
