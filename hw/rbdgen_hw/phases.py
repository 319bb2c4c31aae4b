"""The phase of the pipelines, which every part that needs it counts by itself."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Const, Module, Signal, Value


class Phases:
    """Phases 0 to ``ii`` − 1 of the module ``m``, in the cycle; at power-up, and as long as ``waits`` in it, phase 0.

    There is no reset: all that count begin in the same phase and see the same ``waits``, and whatever phase an idle
    pipeline is in, it ends up waiting in phase 0. Choices and strobes follow the phase all over the device. So that
    none of them has a long way to go, every unit counts for itself, and what depends on the phase comes from registers
    that are set a cycle ahead. (Counters that only copied another one would become one again in synthesis.)
    """

    def __init__(self, m: Module, ii: int, waits: Value) -> None:
        self.m, self.ii, self.waits = m, ii, waits
        self.now = Signal(range(ii), name="phase", reset_less=True)
        self._during: dict[tuple[int, ...], Signal] = {}
        if ii > 1:
            with m.If(self.now == ii - 1):
                m.d.sync += self.now.eq(0)
            with m.Elif((self.now != 0) | ~waits):
                m.d.sync += self.now.eq(self.now + 1)

    def _next(self, phase: int) -> Value:
        """Whether ``phase`` comes in the next cycle."""
        begins, leaves = self.now == (phase - 1) % self.ii, self.now == 0
        if phase == 0:
            return begins | (leaves & self.waits)
        return begins & ~self.waits if phase == 1 else begins

    def during(self, phases: Iterable[int]) -> Value:
        """High in ``phases``."""
        if self.ii == 1:
            return Const(1)
        key = tuple(sorted(set(phases)))
        if key not in self._during:
            name = f"during{'_'.join(map(str, key))}" if len(key) < 4 else f"during{len(self._during)}_of_{len(key)}"
            self._during[key] = register = Signal(name=name, init=int(0 in key), reset_less=True)
            self.m.d.sync += register.eq(Cat(*map(self._next, key)).any())
        return self._during[key]

    def at(self, cycle: int) -> Value:
        """High in the phase of ``cycle``."""
        return self.during([cycle % self.ii])
