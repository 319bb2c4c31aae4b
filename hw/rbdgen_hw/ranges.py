"""Whether a task's operands are in their declared ranges, found beat by beat as they come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.protocol.tasks import OperandWord, TaskFormat
from rbdgen_hw.delays import registered
from rbdgen_hw.library import SharedComponent
from rbdgen_hw.logic import any_of, cut, or_of

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
            if len(known) < len(functions):
                strobe &= any_of(known)
            strobes[word].append(strobe)
        joined: Strobes = {}
        for word, times in strobes.items():
            joined[word] = any_of(times)
        return joined

    def _keep(self, m: Module, value: Value, name: str, stage: int) -> Value:
        """``value``, or what that was in the cycle before where there are registers at this ``stage``."""
        if stage > self.cycles:
            return value
        return registered(m, value, name, reset_less=True)

    def _found(self, m: Module, word: Value, strobes: Strobes, name: str) -> Value:
        """Whether what stands at a position of the beat is outside its range, ``strobes`` saying which word that is."""
        kept = {}
        for operand, strobe in strobes.items():
            strobe_name = f"{name}_turn{len(kept)}"
            kept[operand] = self._keep(m, strobe, strobe_name, _TURNS)
        outside = self._outside(m, word, kept, name)
        return self._keep(m, outside, f"{name}_outside", _FOUND)

    def _outside(self, m: Module, word: Value, strobes: Strobes, name: str) -> Value:
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
        self, m: Module, word: Value, strobes: Strobes, width: int, name: str
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

    def _chosen(self, m: Module, values: Iterable[Value], width: int, name: str) -> Value:
        """The one of the values that is not 0, if any."""
        signal = Signal(signed(width), name=f"{name}_now")
        m.d.comb += signal.eq(or_of(values))
        return self._keep(m, signal, name, _BOUNDS)
