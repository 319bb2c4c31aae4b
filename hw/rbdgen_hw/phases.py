"""The phase of the pipelines, which every part that needs it counts by itself."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Const, Module, Signal, Value

from rbdgen_hw.logic import any_of


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
        return begins & ~self.waits if phase == 1 else begins

    def during(self, phases: Iterable[int]) -> Value:
        """High in ``phases``."""
        m = self.m
        if self.ii == 1:
            return Const(1)
        key = tuple(sorted(set(phases)))
        if key not in self._during:
            name = self._name(key)
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
