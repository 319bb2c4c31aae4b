"""Whether a task's operands are in their declared ranges, found beat by beat as they come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.host.tasks import OperandWord, TaskFormat
from rbdgen_hw.library import Shape

_BOUNDS, _FOUND, _TURNS = 1, 2, 3
"""Where there are registers from so many cycles on: at words and bounds, what was found, and turns."""
RANGE_CYCLES = 3
"""The most."""


class RangeCheck(Shape):
    """One comparison for each place of a beat, with the bounds of the word whose turn it is.

    In the cycle after ``accept``, ``turn`` (one bit for each of a task's beats) and ``beat`` are looked at, with
    ``known``, the bits of the task's function in the order of the functions, from then on. ``outside``: one of the
    operands so far is outside its range. After a task's last beat it stays until the cycle after the next ``accept``.
    ``cycles``: all that comes so many cycles later, as registers are in between: before words are compared with
    bounds, then behind that, then where it is known which word stands at a place. There may be up to ``RANGE_CYCLES``.
    """

    def __init__(self, tasks: TaskFormat, cycles: int = 0) -> None:
        self.tasks, self.cycles = tasks, cycles
        self.shape_name = f"range_check_{cycles}" if cycles else "range_check"
        self.beats = max(tasks.task_beats(name) for name in tasks.functions)
        ports = {"beat": In(tasks.task.beat_bits), "turn": In(self.beats), "accept": In(1)}
        super().__init__({**ports, "known": In(len(tasks.functions)), "outside": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.tasks.task
        beat, turn = Signal(packing.beat_bits, reset_less=True), Signal(self.beats, reset_less=True)
        accepted, before = Signal(), Signal(reset_less=True)
        m.d.sync += [beat.eq(self.beat), turn.eq(self.turn), accepted.eq(self.accept)]
        when = {place: self._turns(place, turn) for place in range(packing.words_per_beat)}
        beat = self._keep(m, beat, "word", _TURNS)
        found = []
        for place, turns in when.items():
            if turns:
                word = beat[place * packing.word_bits : (place + 1) * packing.word_bits]
                name = f"place{place}"
                kept = {w: self._keep(m, now, f"{name}_turn{k}", _TURNS) for k, (w, now) in enumerate(turns.items())}
                found.append(self._keep(m, self._outside(m, word, kept, name), f"{name}_outside", _FOUND))
        looked, first = accepted, turn[0]
        for stage in (_BOUNDS, _FOUND, _TURNS):
            looked = self._keep(m, looked, f"looked{stage}", stage)
            first = self._keep(m, first, f"first{stage}", stage)
        m.d.comb += self.outside.eq(Mux(looked, Cat(*found).any() | (before & ~first), before))
        m.d.sync += before.eq(self.outside)
        return m

    def _turns(self, place: int, turn: Signal) -> dict[OperandWord, Value]:
        """When which operand stands at a place of the beat; words that are checked alike are one."""
        when: dict[OperandWord, list[Value]] = defaultdict(list)
        functions: dict[tuple[int, OperandWord], list[Value]] = defaultdict(list)
        for known, f in zip(self.known, self.tasks.functions.values(), strict=True):
            for k, word in enumerate(f.operands, 1):
                number, position = divmod(k, self.tasks.task.words_per_beat)
                if position == place:
                    functions[number, OperandWord("", word.format, word.codes)].append(known)
        for (number, word), known in functions.items():
            all_of_them = len(known) == len(self.tasks.functions)
            when[word].append(turn[number] if all_of_them else turn[number] & Cat(*known).any())
        return {word: Cat(*turns).any() for word, turns in when.items()}

    def _keep(self, m: Module, value: Value, name: str, stage: int) -> Value:
        """``value``, or what that was in the cycle before where there are registers at this ``stage``."""
        if stage > self.cycles:
            return value
        register = Signal(value.shape(), name=name, reset_less=True)
        m.d.sync += register.eq(value)
        return register

    def _outside(self, m: Module, word: Value, turns: dict[OperandWord, Value], name: str) -> Value:
        """Whether ``word`` is outside the bounds of the operand whose turn it is."""
        width = max(operand.format.width for operand in turns)

        def chosen(values: Iterable[Value], what: str) -> Value:
            """The one of them whose turn it is: the others are 0."""
            signal = Signal(signed(width), name=f"{name}_{what}_now")
            m.d.comb += signal.eq(reduce(or_, values))
            return self._keep(m, signal, f"{name}_{what}", _BOUNDS)

        by_width: dict[int, list[Value]] = defaultdict(list)
        for operand, now in turns.items():
            by_width[operand.format.width].append(now)
        parts = []
        for bits, nows in by_width.items():
            extended = Signal(signed(width), name=f"{name}_of_{bits}")
            m.d.comb += extended.eq(word[:bits].as_signed())
            parts.append(extended if len(by_width) == 1 else Mux(Cat(*nows).any(), extended, 0))
        lowest, highest = (
            chosen((Mux(now, Const(w.codes[end], width), 0) for w, now in turns.items()), what)
            for end, what in enumerate(("lowest", "highest"))
        )
        value = chosen(parts, "value")
        checked = self._keep(m, Cat(*turns.values()).any(), f"{name}_checked", _BOUNDS)
        return checked & ((value < lowest) | (value > highest))
