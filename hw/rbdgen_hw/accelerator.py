# amaranth: UnusedElaboratable=no
"""The accelerator: a task stream in, a result stream out, around the round-trip pipelines.

Tasks are collected beat by beat into the task register. Their function code chooses the program that they start and the
exit by which they leave. They start when the pipelines' phase and a credit allow: a credit is a place in the exit's
lane, so that whatever has started can always finish, however long the sink stalls. Functions with the same results
leave by one exit. A task of ``dfd`` passes the first program, waits in the feedback FIFO, and starts the second one, or
the only one again, before any new task may. Results of one function keep the order of their tasks. The layout of both
streams is :class:`rbdgen.host.tasks.TaskFormat`.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.host.tasks import CALIBRATE, FLAG_BITS, FUNCTION_BITS, HEADER_BITS, TAG_BITS, Flag
from rbdgen.ir.programs import Exit, cone
from rbdgen.layout.execute import begin_words
from rbdgen.layout.functions import ROLL_OUT
from rbdgen.layout.network import DYNAMICS, FEEDBACK, PREFIX
from rbdgen.layout.rollout import AGAIN, WEIGHTS
from rbdgen.schedule.queues import (
    ERROR_PLACES,
    LOOPS,
    chosen_ahead,
    exit_places,
    header_places,
    in_block_memory,
    lane_names,
)
from rbdgen_hw.fifo import BypassFifo, Credits
from rbdgen_hw.library import Shape, place
from rbdgen_hw.loops import Again, Feedback, converted
from rbdgen_hw.ranges import RANGE_CYCLES, RangeCheck
from rbdgen_hw.results import Lane, Merge
from rbdgen_hw.roundtrip import RoundTrip, entering


class Accelerator(Shape):
    """Ports ``i`` (stream of task beats) and ``o`` (stream of result beats)."""

    shape_name = ""

    def __init__(self, design: Design) -> None:
        self.design = design
        super().__init__(
            {
                "i": In(stream.Signature(design.tasks.task.beat_bits)),
                "o": Out(stream.Signature(design.tasks.result.beat_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        return AcceleratorBuilder(self, platform).build()


class AcceleratorBuilder:
    """Builds the module of an accelerator; its loops share it."""

    def __init__(self, top: Accelerator, platform: object) -> None:
        self.top, self.platform, self.design = top, platform, top.design
        self.m = Module()
        self.plan, self.tasks, self.network = self.design.plan, self.design.tasks, self.design.network
        # a header is written while its task's first result can't be taken yet; behind one of the registers before that,
        # the last one if the check has a use for so many, joins whether operands were in range
        self.header_cycles = self.plan.schedule.device.flag_cycles
        self.checked_cycles = min(self.header_cycles, RANGE_CYCLES - self.plan.schedule.entry_cycles)
        self.ii = self.design.options.ii
        self.core = RoundTrip(self.plan)
        self.functions = self.tasks.functions
        self.exits: dict[str, Exit] = {e.name: e for e in self.network.programs.exits}
        self.header = Signal(HEADER_BITS)
        self.words: list[Value] = []
        self.full, self.taken = Signal(name="full"), Signal(name="taken")
        self.program_starts: dict[str, list[Value]] = {p: [] for p in self.network.programs.names}

    def build(self) -> Module:
        m = self.m
        place(m, self.platform, "core", self.core)
        self.known = {f.name: Signal(name=f"is_{f.name}", reset_less=True) for f in self.functions.values()}
        self.task_register()
        self.starts = {p: Signal(name=f"start_{p}") for p in self.network.programs.names}
        for p, start in self.starts.items():
            m.d.comb += getattr(self.core, f"start_{p}").eq(start)
        self.credits = {}
        for name in self.exits:
            self.credits[name] = credits = Credits(exit_places(self.plan, self.tasks, name))
            place(m, self.platform, f"credits_{name}", credits)
        self.admission()
        self.operands()
        self.lanes()
        return m

    def task_register(self) -> None:
        """Collect a task's beats; ``full`` when it is whole, ``known`` what it asks for from its first beat on."""
        m, layout = self.m, self.tasks.task
        lengths = {code: layout.beats(words) for code, words in self.tasks.task_words.items()}
        most = max(lengths.values())
        register = Signal(layout.beat_bits * most, reset_less=True)
        turn, last, accept, final = Signal(most, init=1), Signal(), Signal(), Signal()
        first = self.top.i.payload[:FUNCTION_BITS]
        code = Mux(turn[0], first, register[:FUNCTION_BITS])
        m.d.comb += last.eq(turn[0])
        with m.Switch(code):
            for function_code, beats in lengths.items():
                with m.Case(function_code):
                    m.d.comb += last.eq(turn[beats - 1])
        # where operands are chosen a cycle after the admission, the next task's come after that
        taken = self.taken if self.plan.schedule.entry_cycles < 2 else 0
        m.d.comb += [
            self.top.i.ready.eq(~self.full | taken),
            accept.eq(self.top.i.valid & self.top.i.ready),
            final.eq(accept & last),
            self.header.eq(register[:HEADER_BITS]),
        ]
        with m.If(final):
            m.d.sync += self.full.eq(1)
        with m.Elif(self.taken):
            m.d.sync += self.full.eq(0)
        with m.If(accept):
            m.d.sync += turn.eq(Mux(final, 1, turn << 1))
        # a part takes what is offered until its beat is over, valid or not: its strobe has the whole part to reach, and
        # does not wait for the stream's; behind the first beat the register cannot be full
        for k in range(most):
            with m.If(turn[k] & (self.top.i.ready if k == 0 else 1)):
                part = register[k * layout.beat_bits : (k + 1) * layout.beat_bits]
                m.d.sync += part.eq(self.top.i.payload)
                if k == 0:
                    m.d.sync += [self.known[f.name].eq(first == f.code) for f in self.functions.values()]
        # what is found is needed when the task enters the pipelines
        self.ranges = RangeCheck(self.tasks, self.plan.schedule.entry_cycles + self.checked_cycles)
        place(m, self.platform, "ranges", self.ranges)
        m.d.comb += [
            self.ranges.beat.eq(self.top.i.payload),
            self.ranges.turn.eq(turn),
            self.ranges.accept.eq(accept),
            self.ranges.known.eq(Cat(*self.known.values())),
        ]
        count = layout.words_per_beat * most
        self.words = [register[k * layout.word_bits : (k + 1) * layout.word_bits] for k in range(count)]

    def admission(self) -> None:
        """Which task starts what, and by which exit it will leave."""
        m = self.m
        entry = Signal(HEADER_BITS)
        tag = self.header[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        m.d.comb += entry.eq(Cat(self.header[:FUNCTION_BITS], tag))
        go: dict[str, list[tuple[Value, Value, Value]]] = {name: [] for name in self.exits}
        busy: dict[str, Value] = {}
        if FEEDBACK in self.exits:
            self.feedback = feedback = Feedback(self)
            busy[feedback.program] = feedback.start
            go[feedback.leaves].append((feedback.start, feedback.chosen, feedback.header))
        if AGAIN in self.exits:
            blocked = busy.get(DYNAMICS, Const(0))
            self.again = again = Again(self, blocked)
            busy[DYNAMICS] = again.start | blocked
            for exit_name, start in ((ROLL_OUT.name, again.final), (AGAIN, again.on)):
                go[exit_name].append((start, self.chosen(start, f"{start.name}_chosen"), again.header))
        direct, rolled = [], []
        for name in self.functions:
            ways = [(self.network.way(name)[0].name, Const(1))]
            if name == ROLL_OUT.name:
                ways = [(name, self.again.new_final), (AGAIN, self.again.new_on)]
            for exit_name, wanted in ways:
                start = Signal(name=f"go_{exit_name}_{name}" if exit_name == AGAIN else f"go_{name}")
                free = ~busy[p] if (p := self.exits[exit_name].program) in busy else Const(1)
                available = self.credits[exit_name].available
                m.d.comb += start.eq(self.full & self.known[name] & wanted & self.core.begin & available & free)
                go[exit_name].append((start, self.chosen(start, f"{start.name}_chosen"), entry))
                direct.append(start)
                if name == ROLL_OUT.name:
                    rolled.append(start)
        self.headers = {}
        for name, starts in go.items():
            e = self.exits[name]
            started, chosen = (Cat(*(s[k] for s in starts)).any() for k in range(2))
            m.d.comb += [getattr(self.core, f"to_{name}").eq(started), self.credits[name].take.eq(chosen)]
            beside = self.again.progress if name == AGAIN else Const(0, 0)
            header = BypassFifo(HEADER_BITS + len(beside), header_places(self.plan, name))
            place(m, self.platform, f"headers_{name}", header)
            data: Value = starts[0][2]
            for _, s, value in starts[1:]:
                data = Mux(s, value, data)
            fresh = Cat(*(s for _, s, value in starts if value is entry)).any()
            known = self.later(Cat(chosen, fresh, data, beside), f"entering_{name}")
            for k in range(self.header_cycles + 1):
                if k == self.checked_cycles:
                    flagged = Mux(known[1] & self.ranges.outside, Flag.RANGE.value << FUNCTION_BITS + TAG_BITS, 0)
                    known = Cat(known[:2], (known[2:] | flagged)[: len(header.w_data)])
                if k < self.header_cycles:
                    known = self.register(known, f"written_{name}{k or ''}")
            m.d.comb += [
                header.w_data.eq(known[2:]),
                header.w_en.eq(known[0]),
                header.r_en.eq(getattr(self.core, f"done_{name}")),
            ]
            # what saturated on the way joins what the header already knows
            overflow = getattr(self.core, f"overflow_{name}") << (FUNCTION_BITS + TAG_BITS)
            self.headers[name] = (header.r_data[:HEADER_BITS] | overflow)[:HEADER_BITS]
            if name == AGAIN:
                self.again.passed = header.r_data[HEADER_BITS:]
            self.program_starts[e.program].append(started)
        for program, start in self.starts.items():
            m.d.comb += start.eq(Cat(*self.program_starts[program]).any())
        unknown = Signal(name="unknown")
        self.short_flags, load = Signal(FLAG_BITS, name="short_flags"), Const(0)
        m.d.comb += self.short_flags.eq(Flag.FUNCTION.value)
        if self.tasks.parameters:
            load = Signal(name="load")
            loading = self.header[:FUNCTION_BITS] == CALIBRATE
            settled = Cat(*(self.credits[name].whole for name in LOOPS if name in self.credits)).all()
            m.d.comb += [
                unknown.eq(self.full & ~Cat(*self.known.values(), loading).any()),
                load.eq(self.full & loading & ~self.core.busy & settled),
            ]
        else:
            m.d.comb += unknown.eq(self.full & ~Cat(*self.known.values()).any())
        answered = Signal(name="answered")
        m.d.comb += [
            answered.eq((unknown | load) & self.error_room(unknown | load)),
            self.taken.eq(Cat(*direct, answered).any()),
        ]
        if self.tasks.parameters:
            self.load_parameters(load & answered, load)
        if FEEDBACK in self.exits:
            self.feedback.store()
        if AGAIN in self.exits:
            self.again.store()
            self.again.keep_order(Cat(*rolled).any())

    def error_room(self, wanted: Value) -> Value:
        """Whether an answer of a header only finds a place; it is taken where it is ``wanted``."""
        self.error_credits = Credits(ERROR_PLACES)
        place(self.m, self.platform, "credits_error", self.error_credits)
        self.m.d.comb += self.error_credits.take.eq(wanted & self.error_credits.available)
        return self.error_credits.available

    def load_parameters(self, load: Value, asked: Value) -> None:
        """The parameters' registers; ``load`` writes the one that the task in the task register names, unless its value
        is outside the declared range. ``asked``: such a task waits."""
        m, nominal = self.m, self.design.model.nominal
        number, value = self.words[1], self.words[2]
        legal = Signal(name="parameter_legal")
        for k, word in enumerate(self.tasks.parameters):
            register = Signal(signed(word.format.width), init=nominal[word.name], name=f"{word.name}_register")
            m.d.comb += getattr(self.core, word.name).eq(register)
            given = value[: word.format.width].as_signed()
            with m.If(number == k):
                m.d.comb += legal.eq((given >= word.codes[0]) & (given <= word.codes[1]))
                with m.If(load & legal):
                    m.d.sync += register.eq(given)
        with m.If(asked):
            m.d.comb += self.short_flags.eq(Mux(legal, 0, Flag.RANGE.value))

    def chosen(self, value: Value, name: str) -> Value:
        """What ``value`` was when the task whose operands are now chosen was admitted."""
        return entering(self.m, self.plan.schedule, value, name, 1)

    def later(self, value: Value, name: str) -> Value:
        """What ``value`` was when the operands of the task that now enters the pipelines were chosen."""
        return self.register(value, name) if self.plan.schedule.entry_cycles else value

    def register(self, value: Value, name: str) -> Signal:
        """``value`` in the cycle before."""
        register = Signal(value.shape(), name=name)
        self.m.d.sync += register.eq(value)
        return register

    def operands(self) -> None:
        """Each operand of the programs from its word of the task, or from the feedback FIFO."""
        graph = self.plan.schedule.fixed.graph
        for name, program in self.network.programs.operands.items():
            node, plain = graph.inputs[name], name.removeprefix(PREFIX[program])
            fmt = self.design.input_format(name)
            if name in (w.name for w in self.network.operands.get(WEIGHTS, ())):
                self.m.d.comb += getattr(self.core, name).eq(self.again.weight(name))
                continue
            begun = next((state for word, state in begin_words(self.network) if word == name), None)
            places: dict[int, list[str]] = {}
            absent = []
            for function, f in self.functions.items():
                if self.network.entry(function) != program:
                    continue
                index = next((k for k, w in enumerate(f.operands, 1) if w.name == (begun or plain)), None)
                if begun and function != ROLL_OUT.name:
                    continue
                if index is not None:
                    places.setdefault(index, []).append(function)
                else:
                    if node in cone(graph, self.network.way(function)[0].results):
                        absent.append(function)
            value: Value = Const(0, signed(fmt.width))
            for index, functions in places.items():
                word = self.words[index][: fmt.width].as_signed()
                if begun:
                    source = self.design.input_format(begun)
                    word = converted(
                        self, f"begin_{name}", self.words[index][: source.width].as_signed(), source, fmt, []
                    )
                only = len(places) == 1 and not absent
                value = word if only else Mux(Cat(*(self.known[f] for f in functions)).any(), word, value)
            if name in self.design.feedback:
                again = self.feedback.words.get(name, Const(0, signed(fmt.width)))
                value = Mux(self.feedback.chosen, again, value) if places or absent else again
            if program == DYNAMICS and AGAIN in self.exits and (name in self.again.words or ROLL_OUT.name in absent):
                # another task's word may be in the task register meanwhile
                again = self.again.words.get(name, Const(0, signed(fmt.width)))
                value = Mux(self.again.chosen, again, value)
            self.m.d.comb += getattr(self.core, name).eq(value)

    def lanes(self) -> None:
        """A lane for each exit and one for errors, and the choice among them."""
        m, packing, ahead = self.m, self.tasks.result, chosen_ahead(self.plan)
        back = m.d.sync if ahead else m.d.comb
        lanes = []
        for name in lane_names(self.plan, self.tasks):
            f = self.functions[name]
            places = exit_places(self.plan, self.tasks, name)
            block = in_block_memory(self.tasks, name)
            cycles = [beat.cycle for beat in self.plan.beats[name]]
            ends = cycles.index(max(cycles))
            lane = Lane(name, [w.format.width for w in f.results], packing, places, block, ends)
            place(m, self.platform, f"lane_{name}", lane)
            m.d.comb += [
                lane.header.eq(self.headers[name]),
                lane.words.eq(Cat(*(getattr(self.core, f"{name}_{w.name}") for w in f.results))),
                lane.write.eq(getattr(self.core, f"beats_{name}")),
                self.credits[name].give.eq(given := Signal(name=f"given_{name}")),
            ]
            back += given.eq(lane.leave)
            lanes.append(lane)
        errors = Lane("error", [], packing, ERROR_PLACES)
        place(m, self.platform, "lane_error", errors)
        known = FUNCTION_BITS + TAG_BITS
        m.d.comb += [
            errors.header.eq(Cat(self.header[:known], self.short_flags)),
            errors.write.eq(self.error_credits.take),
            self.error_credits.give.eq(given := Signal(name="given_error")),
        ]
        back += given.eq(errors.leave)
        lanes.append(errors)
        merge = Merge(len(lanes), packing, ahead)
        place(m, self.platform, "merge", merge)
        for k, lane in enumerate(lanes):
            m.d.comb += [
                merge.ready[k].eq(lane.ready),
                merge.last[k].eq(lane.last),
                merge.more[k].eq(lane.more),
                getattr(merge, f"payload{k}").eq(lane.payload),
                lane.taken.eq(merge.taken[k]),
            ]
        m.d.comb += [
            self.top.o.valid.eq(merge.o.valid),
            self.top.o.payload.eq(merge.o.payload),
            merge.o.ready.eq(self.top.o.ready),
        ]
