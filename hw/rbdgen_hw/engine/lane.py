# amaranth: UnusedElaboratable=no
"""A lane: the product, sum or difference of two words, moved to the point of its sum, and added to it."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import DISTANCES, EXTRACTIONS, LIFT, STEP, Core
from rbdgen.machines.engine.jobs import DIFFERENCE, PRODUCT
from rbdgen.machines.engine.program import KINDS
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import delayed, registered
from rbdgen_hw.operators import Accumulate, Multiplier

PRODUCT_CYCLES = 1
"""Registers of a product, which are those behind the device's blocks."""
CONTROL = data.StructLayout(
    {
        "kind": 2,
        "double": 1,
        "negative": 1,
        "distance": 2,
        "first": 1,
        "keep": 1,
        "extraction": 2,
    }
)
"""What a slot's word says to the lane."""


class Lane(SharedComponent):
    """One lane. Words ``x`` and ``y`` come with their ``control`` in one cycle; four cycles later ``result`` is the sum
    so far without its low bits, and ``lost`` says that it does not fit (:class:`rbdgen.machines.engine.jobs.Slot`).
    A sum of a single slot leaves the accumulator alone, so that one of several may wait there."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.module_name = f"{'lean_' if core.lean else ''}lane_{core.width}"
        width = core.width
        super().__init__(
            {
                "x": In(signed(width)),
                "y": In(signed(width)),
                "control": In(CONTROL),
                "result": Out(signed(width)),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        term = self._term(m, platform)
        moving = self._later(m, self.control, PRODUCT_CYCLES + 2, "moving")
        total = self._total(m, platform, term, moving)
        extraction = registered(m, moving.extraction, "extraction")
        self._extract(m, total, extraction)
        return m

    def _later(
        self,
        m: Module,
        control: data.View,
        cycles: int,
        name: str,
    ) -> data.View:
        """The control of so many cycles before."""
        return data.View(
            CONTROL,
            delayed(
                m,
                control.as_value(),
                cycles,
                name,
            ),
        )

    def _term(self, m: Module, platform: object) -> Value:
        """The term, three cycles after its words."""
        core = self.core
        control = self._later(m, self.control, 1, "control")
        # in registers of the fabric: from a memory to a multiplier's block is too far for one cycle
        word = registered(
            m,
            self.x,
            "word_x",
            reset_less=True,
        )
        y = registered(
            m,
            self.y,
            "word_y",
            reset_less=True,
        )
        x = Mux(control.double, word << 1, word)
        # a bit less takes fewer blocks where these are small: there products are doubled
        factor = word if core.lean else x
        multiplier = Multiplier(len(factor), core.width, PRODUCT_CYCLES)
        instantiate(m, platform, "multiplier", multiplier)
        m.d.comb += [multiplier.a.eq(factor), multiplier.b.eq(y)]
        minus = control.kind == KINDS.index(DIFFERENCE)
        other = y ^ minus.replicate(core.width).as_signed()
        # both with a bit more below, where the carry comes in: one adder whatever the sign
        sums = (Cat(minus, x).as_signed() + Cat(minus, other).as_signed())[1:]
        added = registered(
            m,
            sums.as_signed(),
            "added",
            reset_less=True,
        )
        kind = delayed(
            m,
            control.kind,
            PRODUCT_CYCLES,
            "kind",
        )
        exact = multiplier.p
        if core.lean:
            twice = delayed(m, control.double, PRODUCT_CYCLES, "twice")
            exact = Mux(twice, exact << 1, exact)
        product = (exact >> core.cut)[: core.term_bits].as_signed()
        lifted = (added << LIFT)[: core.term_bits].as_signed()
        term = Mux(kind == KINDS.index(PRODUCT), product, lifted)
        return registered(
            m,
            term,
            "term",
            reset_less=True,
        )

    def _total(
        self,
        m: Module,
        platform: object,
        term: Value,
        control: data.View,
    ) -> Value:
        """The sum so far, a cycle later; half of the last place of what is kept is there from the beginning."""
        bits = self.core.sum_bits
        moved = Signal(signed(bits))
        with m.Switch(control.distance):
            for code, distance in enumerate(DISTANCES):
                with m.Case(code):
                    m.d.comb += moved.eq(term >> distance)
        halves = sum(1 << drop - 1 for drop in EXTRACTIONS)
        accumulate = Accumulate(bits, halves, held=True)
        instantiate(m, platform, "accumulate", accumulate)
        for code, drop in enumerate(EXTRACTIONS):
            m.d.comb += accumulate.start[drop - 1].eq(control.extraction == code)
        m.d.comb += [
            accumulate.x.eq(moved),
            accumulate.first.eq(control.first),
            accumulate.minus.eq(control.negative),
            accumulate.keep.eq(control.keep),
        ]
        return registered(
            m,
            accumulate.y,
            "total",
            reset_less=True,
        )

    def _extract(
        self,
        m: Module,
        total: Value,
        extraction: Value,
    ) -> None:
        """The result's bits of a sum, and whether those above are more than its sign."""
        width, bits = self.core.width, self.core.sum_bits
        base = EXTRACTIONS[0]
        assert tuple(base + STEP * k for k in range(len(EXTRACTIONS))) == EXTRACTIONS
        moved = Signal(signed(bits - base))
        with m.Switch(extraction):
            for code, drop in enumerate(EXTRACTIONS):
                with m.Case(code):
                    m.d.comb += moved.eq(total >> drop)
        above = moved[width - 1 :]
        m.d.comb += [self.result.eq(moved[:width]), self.lost.eq(above.any() & ~above.all())]
