# amaranth: UnusedElaboratable=no
"""An engine: cores in lockstep behind one sequencer and one program memory, and what is loaded into them.

All cores whose next task is of the function that runs start it together; one of another function waits until the tasks
under way have left. With several cores beats are rows (:mod:`rbdgen_hw.engine.rows`), or tasks go to cores in turn
(:mod:`rbdgen_hw.engine.dealing`).
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.loading import WORD_NUMBER_BITS
from rbdgen.machines.engine.memories import Memories
from rbdgen.protocol.loading import PROGRAM, ROTATING
from rbdgen.protocol.tasks import FUNCTION_BITS, Packing
from rbdgen_hw.engine.core import EngineCore
from rbdgen_hw.engine.dealing import Deal
from rbdgen_hw.engine.loading import LOAD, Routines
from rbdgen_hw.engine.repeater import Repeater
from rbdgen_hw.engine.rows import Rows
from rbdgen_hw.engine.sequencer import ProgramMemory, Sequencer
from rbdgen_hw.engine.streams import CoreStreams
from rbdgen_hw.library import SharedComponent, forward, instantiate
from rbdgen_hw.logic import any_of, registered


class EngineCores(SharedComponent):
    """So many cores. Beats of ``i`` and ``o`` have a lane for each, unless tasks are ``dealt``. ``load`` writes into
    memories (:mod:`rbdgen.machines.engine.loading`) while all is ``idle``. ``image``: what these hold from the
    beginning; nothing without one. ``first``: a header comes next."""

    def __init__(
        self,
        core: Core,
        cores: int = 1,
        name: str = "",
        image: Memories | None = None,
        dealt: bool = False,
    ) -> None:
        self.core = core
        self.count = cores
        self.packing = Packing((core.width,), 1 if dealt else cores)
        self.module_name = name
        self.image = image or Memories(core)
        beats = stream.Signature(self.packing.row_bits)
        super().__init__(
            {
                "i": In(beats),
                "o": Out(beats),
                "first": Out(1),
                "idle": Out(1),
                "load": In(LOAD),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.m = m
        core = self.core
        count = self.count
        # a bundle that goes to several cores has a register at each
        self.cores = [EngineCore(core, self.image, int(count > 1)) for _ in range(count)]
        self.sequencer = Sequencer(core)
        program = ProgramMemory(core, self.image.columns)
        for k, own in enumerate(self.cores):
            instantiate(m, platform, f"core{k}", own)
            m.d.comb += [own.beat.eq(self.sequencer.beat), own.load.eq(self.load)]
        # what streams meet: cores, or what brings tasks that repeat back to them
        self.fronts: Sequence[EngineCore | Repeater] = self.cores
        if core.kept:
            self.fronts = [self._repeater(platform, k) for k in range(count)]
        instantiate(m, platform, "sequencer", self.sequencer)
        instantiate(m, platform, "program", program)
        rotating = Signal(range(core.words + 1), init=self.image.rotating)
        with m.If(self.load.on & (self.load.target == ROTATING)):
            m.d.sync += rotating.eq(self.load.data)
        m.d.comb += [
            program.write.eq(self.load.on & (self.load.target == PROGRAM)),
            program.write_column.eq(self.load.address[WORD_NUMBER_BITS:]),
            program.write_address.eq(self.load.address[:WORD_NUMBER_BITS]),
            program.write_data.eq(self.load.data),
            program.address.eq(self.sequencer.program_address),
            self.sequencer.program_word.eq(program.word),
            self.sequencer.rotating.eq(rotating),
        ]
        self._start(platform)
        self._connect(platform)
        return m

    def _repeater(self, platform: object, number: int) -> Repeater:
        """What brings tasks back to a core."""
        m, own = self.m, self.cores[number]
        repeater = Repeater(self.core, self.image)
        instantiate(m, platform, f"repeater{number}", repeater)
        forward(m, repeater.tasks, own.i)
        forward(m, own.o, repeater.results)
        m.d.comb += [
            repeater.own_between.eq(own.between),
            repeater.own_reading.eq(own.reading),
            repeater.own_last.eq(own.last),
            repeater.load.eq(self.load),
        ]
        return repeater

    def _start(self, platform: object) -> None:
        """Choose the function whose tasks start next, look it up, and start them."""
        m, sequencer = self.m, self.sequencer
        choice = Signal(FUNCTION_BITS)
        others, change = Signal(), Signal()
        differ = [own.offers & (own.code != choice) for own in self.cores]
        ready = any_of(own.ready for own in self.cores)
        m.d.comb += others.eq(any_of(differ))
        # where none waits for it, or when it ran and all of it has left while another one waits
        same = any_of(own.offers & (own.code == choice) for own in self.cores)
        m.d.comb += change.eq(others & (~same | self._drained(change)))
        with m.If(change):
            m.d.sync += choice.eq(_first(differ, [own.code for own in self.cores]))
        parts = []
        for part in (1, 2):
            table = Routines(self.core, part, self.image)
            instantiate(m, platform, f"routines{part}", table)
            m.d.comb += [table.code.eq(choice), table.load.eq(self.load)]
            parts.append(table.entry)
        place, more = parts
        routine: Value = Cat(place.start, place.last, more.relevant)
        needs: Value = more.results
        if not self.core.lean:
            # lean cores' tables have registers of their own
            routine = registered(
                m,
                routine,
                "routine",
                reset_less=True,
            )
            needs = registered(
                m,
                needs,
                "needs",
                reset_less=True,
            )
        # until what is looked up is there, and was compared
        changed = registered(m, change, "changed")
        compared = registered(m, changed, "changed_1")
        settled = ~(change | changed | compared)
        m.d.comb += [
            sequencer.ready.eq(ready & settled),
            sequencer.hold.eq(others),
            sequencer.code.eq(choice),
            sequencer.routine.eq(routine),
        ]
        for own in self.cores:
            m.d.comb += [
                own.choice.eq(choice),
                own.needs.eq(needs),
                own.start.eq(sequencer.start),
            ]
        busy = any_of(~own.idle for own in [*self.cores, *self.fronts])
        m.d.comb += self.idle.eq(sequencer.idle & ~busy)

    def _drained(self, change: Value) -> Value:
        """Whether the function that was chosen ran, and all of its tasks have left; of one core that says nothing, as
        its next task alone decides."""
        if len(self.cores) == 1:
            return Const(0)
        m = self.m
        ran = Signal()
        with m.If(self.sequencer.start):
            m.d.sync += ran.eq(1)
        with m.Elif(change):
            m.d.sync += ran.eq(0)
        return ran & self.sequencer.idle

    def _connect(self, platform: object) -> None:
        """Streams of cores with those of the engine."""
        m = self.m
        m.d.comb += self.first.eq(Cat(*(own.between & ~own.reading for own in self.fronts)).all())
        if len(self.fronts) == 1:
            own = self.fronts[0]
            forward(m, self.i, own.i)
            forward(m, own.o, self.o)
            return
        streams: CoreStreams = Deal(self.core.width, self.count)
        if self.packing.lanes > 1:
            streams = Rows(self.packing)
        instantiate(m, platform, "streams", streams)
        forward(m, self.i, streams.i)
        forward(m, streams.o, self.o)
        for k, own in enumerate(self.fronts):
            forward(m, streams.tasks[k], own.i)
            forward(m, own.o, streams.results[k])
            m.d.comb += [
                streams.last[k].eq(own.last),
                streams.between[k].eq(own.between),
                streams.reading[k].eq(own.reading),
            ]


def _first(strobes: Sequence[Value], words: Sequence[Value]) -> Value:
    """The word of the first strobe that is high; of the last word where none is."""
    found = words[-1]
    for strobe, word in reversed(list(zip(strobes, words, strict=True))[:-1]):
        found = Mux(strobe, word, found)
    return found
