"""Whether a task's operands are in their declared ranges, found beat by beat as they come."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import In, Out

from rbdgen.host.tasks import OperandWord, TaskFormat
from rbdgen_hw.library import Shape


class RangeCheck(Shape):
    """One comparison for each place of a beat, with the bounds of the word whose turn it is.

    In the cycle after ``accept``, ``turn`` (one bit for each of a task's beats) and ``beat`` are looked at, with
    ``known``, the bits of the task's function in the order of the functions, from then on. ``outside``: one of the
    operands so far is outside its range. After a task's last beat it stays until the cycle after the next ``accept``.
    ``later``: it comes a cycle later, as words and bounds are in registers before they are compared.
    """

    def __init__(self, tasks: TaskFormat, later: bool = False) -> None:
        self.tasks, self.later = tasks, later
        self.shape_name = "range_check_later" if later else "range_check"
        self.beats = max(tasks.task_beats(name) for name in tasks.functions)
        ports = {"beat": In(tasks.task.beat_bits), "turn": In(self.beats), "accept": In(1)}
        super().__init__({**ports, "known": In(len(tasks.functions)), "outside": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packing = self.tasks.task
        beat, turn = Signal(packing.beat_bits, reset_less=True), Signal(self.beats, reset_less=True)
        accepted, before = Signal(), Signal(reset_less=True)
        m.d.sync += [beat.eq(self.beat), turn.eq(self.turn), accepted.eq(self.accept)]
        found = []
        for place in range(packing.words_per_beat):
            word = beat[place * packing.word_bits : (place + 1) * packing.word_bits]
            if turns := self._turns(place, turn):
                found.append(self._outside(m, word, turns, f"place{place}"))
        looked, first = Signal(), Signal(reset_less=True)
        self._keep(m, looked, accepted)
        self._keep(m, first, turn[0])
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

    def _keep(self, m: Module, signal: Signal, value: Value) -> None:
        """``signal`` is ``value``, or what that was in the cycle before where all comes ``later``."""
        when = m.d.sync if self.later else m.d.comb
        when += signal.eq(value)

    def _outside(self, m: Module, word: Value, turns: dict[OperandWord, Value], name: str) -> Value:
        """Whether ``word`` is outside the bounds of the operand whose turn it is."""
        width = max(operand.format.width for operand in turns)

        def bounds(end: int) -> Value:
            chosen = (Mux(now, Const(operand.codes[end], width), 0) for operand, now in turns.items())
            signal = Signal(signed(width), name=f"{name}_{'lowest' if end == 0 else 'highest'}", reset_less=True)
            self._keep(m, signal, reduce(or_, chosen))
            return signal

        by_width: dict[int, list[Value]] = defaultdict(list)
        for operand, now in turns.items():
            by_width[operand.format.width].append(now)
        parts = []
        for bits, nows in by_width.items():
            extended = Signal(signed(width), name=f"{name}_of_{bits}")
            m.d.comb += extended.eq(word[:bits].as_signed())
            parts.append(extended if len(by_width) == 1 else Mux(Cat(*nows).any(), extended, 0))
        value, checked = Signal(signed(width), name=name, reset_less=True), Signal(name=f"{name}_checked")
        self._keep(m, value, reduce(or_, parts))
        self._keep(m, checked, Cat(*turns.values()).any())
        return checked & ((value < bounds(0)) | (value > bounds(1)))
