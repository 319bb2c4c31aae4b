# amaranth: UnusedElaboratable=no
"""The accelerator: a task stream in, a result stream out, around the round-trip pipelines.

Tasks are collected beat by beat into the task register. Their function code chooses the program that they start and the
exit by which they leave. They start when the pipelines' phase and a credit allow: a credit is a place in the exit's
lane, so that whatever has started can always finish, however long the sink stalls. A task of ``dfd`` passes the first
program, waits in the feedback FIFO, and starts the second one before any new task may. Results of one function keep the
order of their tasks. The layout of both streams is :class:`rbdgen.host.tasks.TaskFormat`.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.host.tasks import CALIBRATE, FLAG_BITS, FUNCTION_BITS, HEADER_BITS, TAG_BITS, Flag
from rbdgen.ir.fixed import Format
from rbdgen.ir.programs import Exit, cone
from rbdgen.layout.functions import ROLL_OUT
from rbdgen.layout.network import DYNAMICS, FEEDBACK, GRADIENT, PREFIX
from rbdgen.layout.rollout import AGAIN, BEGIN, STEPS, SUM, WEIGHTS, weight_table
from rbdgen.schedule.queues import ERROR_PLACES, exit_places, header_places
from rbdgen_hw.fifo import BypassFifo, Credits
from rbdgen_hw.library import Shape, place
from rbdgen_hw.operators import Round, Rounding
from rbdgen_hw.results import Lane, Merge
from rbdgen_hw.roundtrip import RoundTrip


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
        return _AcceleratorBuilder(self, platform).build()


class _AcceleratorBuilder:
    def __init__(self, top: Accelerator, platform: object) -> None:
        self.top, self.platform, self.design = top, platform, top.design
        self.m = Module()
        self.plan, self.tasks, self.network = self.design.plan, self.design.tasks, self.design.network
        self.ii = self.design.options.ii
        self.core = RoundTrip(self.plan)
        self.functions = self.tasks.functions
        self.exits: dict[str, Exit] = {e.name: e for e in self.network.programs.exits}
        self.header = Signal(HEADER_BITS)
        self.words: list[Value] = []
        self.full, self.taken = Signal(), Signal()
        self.phase_zero: Value = Const(1)
        self.program_starts: dict[str, list[Value]] = {p: [] for p in self.network.programs.names}

    def build(self) -> Module:
        m = self.m
        place(m, self.platform, "core", self.core)
        self.task_register()
        self.known = {f.name: Signal(name=f"is_{f.name}") for f in self.functions.values()}
        for f in self.functions.values():
            m.d.comb += self.known[f.name].eq(self.header[:FUNCTION_BITS] == f.code)
        self.phases()
        self.credits = {}
        for name in self.exits:
            self.credits[name] = credits = Credits(exit_places(self.plan, self.tasks, name))
            place(m, self.platform, f"credits_{name}", credits)
        self.admission()
        self.operands()
        self.lanes()
        return m

    def task_register(self) -> None:
        """Collect a task's beats; ``full`` when it is whole."""
        m, layout = self.m, self.tasks.task
        lengths = {f.code: self.tasks.task_beats(f.name) for f in self.functions.values()}
        if self.tasks.parameters:
            lengths[CALIBRATE] = self.tasks.calibration_beats
        most = max(lengths.values())
        register = Signal(layout.beat_bits * most, reset_less=True)
        beat, accept, final = Signal(range(most)), Signal(), Signal()
        first = self.top.i.payload[:FUNCTION_BITS]
        code = Mux(beat == 0, first, register[:FUNCTION_BITS])
        last_beat = Signal(range(most))
        with m.Switch(code):
            for function_code, beats in lengths.items():
                with m.Case(function_code):
                    m.d.comb += last_beat.eq(beats - 1)
        m.d.comb += [
            self.top.i.ready.eq(~self.full | self.taken),
            accept.eq(self.top.i.valid & self.top.i.ready),
            final.eq(accept & (beat == last_beat)),
            self.header.eq(register[:HEADER_BITS]),
        ]
        with m.If(final):
            m.d.sync += self.full.eq(1)
        with m.Elif(self.taken):
            m.d.sync += self.full.eq(0)
        with m.If(accept):
            m.d.sync += beat.eq(Mux(final, 0, beat + 1))
            with m.Switch(beat):
                for k in range(most):
                    with m.Case(k):
                        part = register[k * layout.beat_bits : (k + 1) * layout.beat_bits]
                        m.d.sync += part.eq(self.top.i.payload)
        count = layout.words_per_beat * most
        self.words = [register[k * layout.word_bits : (k + 1) * layout.word_bits] for k in range(count)]

    def phases(self) -> None:
        """The phase counter; an idle pipeline waits in phase 0, so that a lone task need not wait for its phase."""
        self.starts = {p: Signal(name=f"start_{p}") for p in self.network.programs.names}
        for p, start in self.starts.items():
            self.m.d.comb += getattr(self.core, f"start_{p}").eq(start)
        if self.ii == 1:
            return
        phase = Signal(range(self.ii))
        self.phase_zero = phase == 0
        self.m.d.comb += self.core.phase.eq(phase)
        with self.m.If(Cat(*self.starts.values(), self.core.busy).any()):
            self.m.d.sync += phase.eq(Mux(phase == self.ii - 1, 0, phase + 1))
        with self.m.Else():
            self.m.d.sync += phase.eq(0)

    def admission(self) -> None:
        """Which task starts what, and by which exit it will leave."""
        m = self.m
        outside = self.out_of_range()
        entry = Signal(HEADER_BITS)
        tag = self.header[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        m.d.comb += entry.eq(Cat(self.header[:FUNCTION_BITS], tag, Const(0, 1), outside))
        go: dict[str, list[tuple[Value, Value]]] = {name: [] for name in self.exits}
        waiting: Value = Const(0)
        if FEEDBACK in self.exits:
            waiting = self.feedback_fifo()
            resume = Signal(name="resume")
            m.d.comb += resume.eq(waiting & self.phase_zero & self.credits["dfd"].available)
            go["dfd"].append((resume, self.feedback_header))
            self.resume = resume
        busy: dict[str, Value] = {GRADIENT: self.resume} if FEEDBACK in self.exits else {}
        if AGAIN in self.exits:
            waiting = waiting | self.again_fifo()
            go[ROLL_OUT.name].append((self.again_final, self.again_header))
            go[AGAIN].append((self.again_on, self.again_header))
            busy[DYNAMICS] = self.again_start
        direct, rolled = [], []
        for name in self.functions:
            ways = [(FEEDBACK if name == "dfd" else name, Const(1))]
            if name == ROLL_OUT.name:
                ways = [(name, self.new_final & self.orderly), (AGAIN, ~self.new_final & self.orderly)]
            for exit_name, wanted in ways:
                start = Signal(name=f"go_{exit_name}_{name}" if exit_name == AGAIN else f"go_{name}")
                free = ~busy[p] if (p := self.exits[exit_name].program) in busy else Const(1)
                available = self.credits[exit_name].available
                m.d.comb += start.eq(self.full & self.known[name] & wanted & self.phase_zero & available & free)
                go[exit_name].append((start, entry))
                direct.append(start)
                if name == ROLL_OUT.name:
                    rolled.append(start)
        self.headers = {}
        for name, starts in go.items():
            e = self.exits[name]
            started = Cat(*(s for s, _ in starts)).any()
            m.d.comb += [getattr(self.core, f"to_{name}").eq(started), self.credits[name].take.eq(started)]
            header = BypassFifo(
                HEADER_BITS + (len(self.progress) if name == AGAIN else 0), header_places(self.plan, name)
            )
            place(m, self.platform, f"headers_{name}", header)
            data: Value = starts[0][1]
            for s, value in starts[1:]:
                data = Mux(s, value, data)
            m.d.comb += [
                header.w_data.eq(Cat(data, self.progress) if name == AGAIN else data),
                header.w_en.eq(started),
                header.r_en.eq(getattr(self.core, f"done_{name}")),
            ]
            # what saturated on the way joins what the header already knows
            overflow = getattr(self.core, f"overflow_{name}") << (FUNCTION_BITS + TAG_BITS)
            self.headers[name] = (header.r_data[:HEADER_BITS] | overflow)[:HEADER_BITS]
            if name == AGAIN:
                self.passed_progress = header.r_data[HEADER_BITS:]
            self.program_starts[e.program].append(started)
        for program, start in self.starts.items():
            m.d.comb += start.eq(Cat(*self.program_starts[program]).any())
        unknown = Signal(name="unknown")
        self.short_flags, load = Signal(FLAG_BITS, name="short_flags"), Const(0)
        m.d.comb += self.short_flags.eq(Flag.FUNCTION.value)
        if self.tasks.parameters:
            load = Signal(name="load")
            loading = self.header[:FUNCTION_BITS] == CALIBRATE
            m.d.comb += [
                unknown.eq(self.full & ~Cat(*self.known.values(), loading).any()),
                load.eq(self.full & loading & ~self.core.busy & ~waiting),
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
            self.store_feedback()
        if AGAIN in self.exits:
            self.store_again()
            self.keep_order(Cat(*rolled).any())

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

    def out_of_range(self) -> Value:
        """Whether an operand of the task in the register is outside its declared range."""
        checks: dict[tuple[int, Format, tuple[int, int]], Value] = {}
        result = Signal(name="outside")
        for name, f in self.functions.items():
            own = []
            for k, word in enumerate(f.operands, 1):
                key = (k, word.format, word.codes)
                if key not in checks:
                    checks[key] = check = Signal(name=f"outside{len(checks)}")
                    value = self.words[k][: word.format.width].as_signed()
                    self.m.d.comb += check.eq((value < word.codes[0]) | (value > word.codes[1]))
                own.append(checks[key])
            with self.m.If(self.known[name]):
                self.m.d.comb += result.eq(Cat(*own).any())
        return result

    def feedback_fifo(self) -> Value:
        """The FIFO between the programs; whether a task waits in it. Entries: header, then the second program's
        operands in its formats."""
        formats = [self.design.input_format(n) for n in self.design.feedback]
        places = exit_places(self.plan, self.tasks, FEEDBACK)
        self.feedback = BypassFifo(HEADER_BITS + sum(f.width for f in formats), places)
        place(self.m, self.platform, "feedback", self.feedback)
        self.feedback_header = self.feedback.r_data[:HEADER_BITS]
        position, self.feedback_words = HEADER_BITS, {}
        for name, fmt in zip(self.design.feedback, formats, strict=True):
            self.feedback_words[name] = self.feedback.r_data[position : position + fmt.width].as_signed()
            position += fmt.width
        return self.feedback.r_rdy

    def store_feedback(self) -> None:
        """Write what the first program hands over, converted, and read it when the second one takes it."""
        values, lost = [], []
        for name, source in self.design.feedback.items():
            target = self.design.input_format(name)
            if source is None:
                values.append(Const(0, target.width))
                continue
            fmt, value = self.design.output_format(source), getattr(self.core, f"{FEEDBACK}_{source}")
            values.append(self.converted(f"convert_{name}", value, fmt, target, lost))
        header = self.headers[FEEDBACK] | (Cat(*lost).any() << (FUNCTION_BITS + TAG_BITS))
        self.m.d.comb += [
            self.feedback.w_data.eq(Cat(header[:HEADER_BITS], *values)),
            self.feedback.w_en.eq(getattr(self.core, f"done_{FEEDBACK}")),
            self.feedback.r_en.eq(self.resume),
            self.credits[FEEDBACK].give.eq(self.resume),
        ]

    def converted(self, name: str, value: Value, source: Format, target: Format, lost: list[Value]) -> Value:
        """``value`` in another format; what may saturate is added to ``lost``."""
        if source == target:
            return value
        converter = _converter(source, target)
        place(self.m, self.platform, name, converter)
        self.m.d.comb += converter.x.eq(value << max(target.frac - source.frac, 0))
        if hasattr(converter, "overflow"):
            lost.append(converter.overflow)
        return converter.y

    def again_fifo(self) -> Value:
        """The FIFO of roll-outs between two evaluations; whether a task waits in it. Entries: header, steps left,
        number of the evaluation, then the next one's operands."""
        m, options = self.m, self.network.options
        self.weights = weight_table(options.integrator, options.time_step)
        last, bits = len(self.weights) - 1, (len(self.weights) - 1).bit_length()
        self.carried = {name: self.design.input_format(name) for name in self.network.carried}
        width = HEADER_BITS + STEPS.width + bits + sum(f.width for f in self.carried.values())
        self.again = BypassFifo(width, exit_places(self.plan, self.tasks, AGAIN))
        place(m, self.platform, AGAIN, self.again)
        entry, position = self.again.r_data, HEADER_BITS + STEPS.width + bits
        self.again_header, self.again_words = entry[:HEADER_BITS], {}
        for name, fmt in self.carried.items():
            self.again_words[name] = entry[position : position + fmt.width].as_signed()
            position += fmt.width
        # what waits in the FIFO goes before new tasks; whatever goes on keeps its place
        steps = next(k for k, w in enumerate(self.functions[ROLL_OUT.name].operands, 1) if w.name == "steps")
        asked = self.words[steps][: STEPS.width].as_signed()
        left = entry[HEADER_BITS : HEADER_BITS + STEPS.width].as_signed()
        number = entry[HEADER_BITS + STEPS.width : HEADER_BITS + STEPS.width + bits]
        final = Signal(name="again_is_final")
        self.new_final = Signal(name="roll_is_final")
        self.again_final, self.again_on = Signal(name="again_final"), Signal(name="again_on")
        self.again_start = Signal(name="again_start")
        self.number = Signal(max(bits, 1), name="evaluation")
        self.progress = Signal(STEPS.width + bits, name="progress")
        ready = self.again.r_rdy & self.phase_zero
        m.d.comb += [
            final.eq((left <= 1) & (number == last if bits else 1)),
            self.new_final.eq((asked <= 1) & (last == 0)),
            self.again_final.eq(ready & final & self.credits[ROLL_OUT.name].available),
            self.again_on.eq(ready & ~final),
            self.again_start.eq(self.again_final | self.again_on),
            self.number.eq(Mux(self.again_start, number, 0) if bits else 0),
            self.progress.eq(Mux(self.again_start, Cat(left, number), asked.as_unsigned())),
        ]
        self.asked = Signal(signed(STEPS.width), name="asked")
        self.orderly, self.latest = Signal(name="orderly"), Signal(signed(STEPS.width), name="latest")
        self.flying = Signal(STEPS.width, name="flying")
        m.d.comb += [
            self.asked.eq(Mux(asked < 1, 1, asked)),
            self.orderly.eq((self.flying == 0) | (self.asked >= self.latest)),
        ]
        return self.again.r_rdy

    def keep_order(self, started: Value) -> None:
        """Roll-outs end in the order of their tasks: one of fewer steps than the latest waits until all are done."""
        done = getattr(self.core, f"done_{ROLL_OUT.name}")
        self.m.d.sync += self.flying.eq(self.flying + started - done)
        with self.m.If(started):
            self.m.d.sync += self.latest.eq(self.asked)

    def store_again(self) -> None:
        """Write what a roll-out's next evaluation needs."""
        lost: list[Value] = []
        left = self.passed_progress[: STEPS.width].as_signed()
        number = self.passed_progress[STEPS.width :]
        last = number == len(self.weights) - 1 if len(number) else Const(1)
        values = []
        for name, fmt in self.carried.items():
            carried = self.network.carried[name]
            ways: list[Value] = []
            for part, source in (("within", carried.within), ("behind", carried.behind)):
                own: list[Value] = []
                value = getattr(self.core, f"{AGAIN}_{source}")
                ways.append(self.converted(f"{part}_{name}", value, self.design.output_format(source), fmt, own))
                lost += [x & (last if part == "behind" else ~last) for x in own]
            values.append(Mux(last, ways[1], ways[0])[: fmt.width])
        header = self.headers[AGAIN] | (Cat(*lost).any() << (FUNCTION_BITS + TAG_BITS))
        behind = (left - 1)[: STEPS.width]
        self.m.d.comb += [
            self.again.w_data.eq(
                Cat(
                    header[:HEADER_BITS],
                    Mux(last, behind, left)[: STEPS.width],
                    Mux(last, 0, number + 1)[: len(number)],
                    *values,
                )
            ),
            self.again.w_en.eq(getattr(self.core, f"done_{AGAIN}")),
            self.again.r_en.eq(self.again_start),
            self.credits[AGAIN].give.eq(self.again_start),
        ]

    def weight(self, name: str) -> Value:
        """A coefficient of the evaluation that starts."""
        fmt = self.design.input_format(name)
        column = [w.name for w in self.network.operands[WEIGHTS]].index(name)
        value = Signal(signed(fmt.width), name=f"{name}_now")
        with self.m.Switch(self.number):
            for k, weights in enumerate(self.weights):
                with self.m.Case(k):
                    self.m.d.comb += value.eq(int(fmt.quantise(weights[column])))
        return value

    def operands(self) -> None:
        """Each operand of the programs from its word of the task, or from the feedback FIFO."""
        graph = self.plan.schedule.fixed.graph
        for name, program in self.network.programs.operands.items():
            node, plain = graph.inputs[name], name.removeprefix(PREFIX[program])
            fmt = self.design.input_format(name)
            if name in (w.name for w in self.network.operands.get(WEIGHTS, ())):
                self.m.d.comb += getattr(self.core, name).eq(self.weight(name))
                continue
            begun = self.state_word(name)
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
                    exit_name = FEEDBACK if function == "dfd" else function
                    if node in cone(graph, self.exits[exit_name].results):
                        absent.append(function)
            value: Value = Const(0, signed(fmt.width))
            for index, functions in places.items():
                word = self.words[index][: fmt.width].as_signed()
                only = len(places) == 1 and not absent
                value = word if only else Mux(Cat(*(self.known[f] for f in functions)).any(), word, value)
            if program == GRADIENT and FEEDBACK in self.exits:
                value = Mux(self.resume, self.feedback_words[name], value) if places else self.feedback_words[name]
            if program == DYNAMICS and AGAIN in self.exits and name in self.again_words:
                value = Mux(self.again_start, self.again_words[name], value)
            self.m.d.comb += getattr(self.core, name).eq(value)

    def state_word(self, name: str) -> str | None:
        """The word of a new roll-out that an operand of Runge-Kutta begins with, which must have its format."""
        for vector in ("q", "v"):
            for kind in (BEGIN, SUM):
                pairs = zip(self.network.operands.get(vector + kind, ()), self.network.operands[vector], strict=False)
                for word, state in pairs:
                    if word.name == name:
                        if self.design.input_format(name) != self.design.input_format(state.name):
                            raise ValueError(f"operand {name}: must have the format of {state.name}")
                        return state.name
        return None

    def lanes(self) -> None:
        """A lane for each exit and one for errors, and the choice among them."""
        m, packing = self.m, self.tasks.result
        counter = max(max(self.tasks.result_beats(f) for f in self.functions) - 1, 1).bit_length()
        lanes = []
        for name, f in self.functions.items():
            places = exit_places(self.plan, self.tasks, name)
            lane = Lane(name, [w.format.width for w in f.results], packing, places, counter)
            place(m, self.platform, f"lane_{name}", lane)
            m.d.comb += [
                lane.header.eq(self.headers[name]),
                lane.words.eq(Cat(*(getattr(self.core, f"{name}_{w.name}") for w in f.results))),
                lane.w_en.eq(getattr(self.core, f"done_{name}")),
                self.credits[name].give.eq(lane.leave),
            ]
            lanes.append(lane)
        errors = Lane("error", [], packing, ERROR_PLACES, counter)
        place(m, self.platform, "lane_error", errors)
        known = FUNCTION_BITS + TAG_BITS
        m.d.comb += [
            errors.header.eq(Cat(self.header[:known], self.short_flags)),
            errors.w_en.eq(self.error_credits.take),
            self.error_credits.give.eq(errors.leave),
        ]
        lanes.append(errors)
        merge = Merge(len(lanes), packing, counter)
        place(m, self.platform, "merge", merge)
        for k, lane in enumerate(lanes):
            m.d.comb += [
                merge.ready[k].eq(lane.ready),
                merge.last[k].eq(lane.last),
                getattr(merge, f"payload{k}").eq(lane.payload),
                lane.beat.eq(merge.beat),
                lane.leave.eq(merge.leave[k]),
            ]
        m.d.comb += [
            self.top.o.valid.eq(merge.o.valid),
            self.top.o.payload.eq(merge.o.payload),
            merge.o.ready.eq(self.top.o.ready),
        ]


def _converter(source: Format, target: Format) -> Round:
    """A rounding from one format to another; its argument has the finer binary point of the two."""
    places = max(target.frac - source.frac, 0)
    drop = max(source.frac - target.frac, 0)
    half = (1 << drop) >> 1
    saturates = (((source.maximum << places) + half) >> drop) > target.maximum or (
        ((source.minimum << places) + half) >> drop
    ) < target.minimum
    return Round(source.width + places, Rounding(drop, Format(target.width, 0), saturates))
