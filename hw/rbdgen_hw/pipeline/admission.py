# amaranth: UnusedElaboratable=no
"""Admission of tasks: which one starts what and when, by which exit it leaves, and its header there.

Tasks start when the pipelines' phase and a credit allow: a credit is room in the exit's lane or loop. What comes back
by a loop starts before any new task of the same program; a second pass in a program of its own leaves a few intervals
to new tasks, which else would keep those behind them from the other program.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed

from rbdgen.compiler import Design
from rbdgen.functions.quantities import COUNT
from rbdgen.ir.programs import Exit
from rbdgen.machines.pipeline.queues import ERROR_DEPTH, LOOPS, exit_depth, header_depth
from rbdgen.protocol.tasks import CALIBRATE, FLAG_BITS, FUNCTION_BITS, HEADER_BITS, TAG_BITS, Flag
from rbdgen.tracing.network import AGAIN, FEEDBACK
from rbdgen_hw.fifo import BypassFifo, Credits
from rbdgen_hw.library import instantiate
from rbdgen_hw.logic import any_of, delayed, registered
from rbdgen_hw.pipeline.intake import Intake, checked_cycles, header_cycles
from rbdgen_hw.pipeline.loops import (
    FeedbackLoop,
    Loop,
    RollOutLoop,
    count_word,
    has_second_pass,
    repeated_exit,
    repeated_program,
    repeats,
    result_port,
    second_pass_exits,
)
from rbdgen_hw.pipeline.roundtrip import RoundTrip


@dataclass(frozen=True)
class Start:
    """Something that may start and leave by an exit: ``admitted`` strobes when it is, ``chosen`` when its operands are;
    ``header`` is its task's."""

    admitted: Value
    chosen: Value
    header: Value


class Admission:
    """Admits what waits in the task register and in the loops to the pipelines ``core``.

    ``headers``: by exit, the header of the task whose first result is there, with the flags that it has by then.
    ``short_flags``: the flags of an answer that is a header only, which ``error_credits.take`` sends. ``credits``: by
    exit; who frees room there gives them back.
    """

    def __init__(
        self,
        m: Module,
        platform: object,
        design: Design,
        core: RoundTrip,
        intake: Intake,
    ) -> None:
        self.m = m
        self.platform = platform
        self.design = design
        self.core = core
        self.intake = intake
        self.plan = design.plan
        self.tasks = design.tasks
        self.network = design.network
        programs = self.network.programs
        self.exits: dict[str, Exit] = {}
        self.starts: dict[str, list[Start]] = {}
        """Starts of what may leave by each exit, in order of precedence from the last on."""
        for leaving in programs.exits:
            self.exits[leaving.name] = leaving
            self.starts[leaving.name] = []
        self.program_starts: dict[str, Signal] = {}
        for name in programs.names:
            self.program_starts[name] = Signal(name=f"start_{name}")
        self.busy: dict[str, Value] = {}
        """By program: a loop starts it before any new task may."""
        self.headers: dict[str, Value] = {}
        self.credits: dict[str, Credits] = {}
        self.feedback: FeedbackLoop | None = None
        self.roll_out: RollOutLoop | None = None
        self.error_credits = Credits(ERROR_DEPTH)
        self.short_flags = Signal(FLAG_BITS)

    def write(self) -> None:
        """Write all of it."""
        m = self.m
        for name, start in self.program_starts.items():
            port = getattr(self.core, f"start_{name}")
            m.d.comb += port.eq(start)
        for name in self.exits:
            entries = exit_depth(self.plan, self.tasks, name)
            credits = Credits(entries)
            instantiate(m, self.platform, f"credits_{name}", credits)
            self.credits[name] = credits
        # the header of a new task, without flags
        entry = Signal(HEADER_BITS)
        header = self.intake.header
        tag = header[FUNCTION_BITS : FUNCTION_BITS + TAG_BITS]
        code = header[:FUNCTION_BITS]
        m.d.comb += entry.eq(Cat(code, tag))
        self._admit_loops()
        new_tasks = self._admit_tasks(entry)
        for name in self.exits:
            self._pass_header(name, entry)
        self._start_programs()
        self._answer(new_tasks)
        self._store_loops()

    def chosen(self, value: Value, name: str) -> Value:
        """The ``value`` at the time when the task whose operands are now chosen was admitted."""
        cycles = self.plan.schedule.entry_cycles - 1
        return delayed(self.m, value, cycles, name)

    def _bind_start(self, loop: Loop) -> None:
        """Tell a loop when something may start, and when what it starts has its operands chosen."""
        chosen = self.chosen(loop.start, f"chosen_{loop.name}")
        loop.bind(begin=self.core.begin, chosen=chosen)

    def _admit_loops(self) -> None:
        """Admit what waits in the loops."""
        if has_second_pass(self.network):
            self._admit_feedback()
        if repeats(self.network):
            self._admit_roll_out()

    def _admit_feedback(self) -> None:
        exits = second_pass_exits(self.network)
        program = next(iter(exits.values())).program
        self.feedback = loop = FeedbackLoop(self.design)
        self._bind_start(loop)
        room = [self.credits[leaves.name].available for leaves in exits.values()]
        loop.bind(available=Cat(*room), wanted=self._wanted(program))
        loop.admit(self.m, self.platform)
        self.busy[program] = loop.first
        for leaves, mine in zip(exits.values(), loop.meant, strict=True):
            start = Start(loop.start & mine, loop.chosen & mine, loop.waiting_header)
            self.starts[leaves.name].append(start)

    def _wanted(self, program: str) -> Value:
        """Whether a task is there that starts with ``program``, and its exit has room."""
        found = []
        for function in self.tasks.functions:
            first_pass = self.network.passes(function)[0]
            if first_pass.program == program:
                # an interval left to a task whose exit has no room would be lost
                available = self.credits[first_pass.name].available
                found.append(self._asked(function) & available)
        return any_of(found)

    def _asked(self, function: str) -> Value:
        """Whether a task of ``function`` is there."""
        return self.intake.full & self.intake.known[function]

    def _admit_roll_out(self) -> None:
        program, leaves = repeated_program(self.network), repeated_exit(self.network).name
        # where both are of one program, a second pass goes before roll-outs
        blocked = self.busy.get(program, Const(0))
        asked = self.intake.words[count_word(self.network, self.tasks.functions)]
        self.roll_out = loop = RollOutLoop(self.design)
        self._bind_start(loop)
        loop.bind(
            blocked=blocked,
            available=self.credits[leaves].available,
            asked_steps=asked[: COUNT.width].as_signed(),
        )
        loop.admit(self.m, self.platform)
        self.busy[program] = loop.start | blocked
        strobes = {leaves: loop.final, AGAIN: loop.on}
        for name, strobe in strobes.items():
            chosen = self.chosen(strobe, f"{strobe.name}_chosen")
            start = Start(strobe, chosen, loop.waiting_header)
            self.starts[name].append(start)

    def _paths(self, function: str) -> list[tuple[str, Value, str]]:
        """The exits by which a new task of ``function`` may leave, when it does, and the name of its start there."""
        if self.roll_out is not None and repeats(self.network, function):
            return [
                (repeated_exit(self.network).name, self.roll_out.new_final, f"go_{function}"),
                (AGAIN, self.roll_out.new_on, f"go_{AGAIN}_{function}"),
            ]
        first_pass = self.network.passes(function)[0]
        return [(first_pass.name, Const(1), f"go_{function}")]

    def _admit_tasks(self, entry: Value) -> list[Value]:
        """Admit what waits in the task register; the strobes of all that it may start."""
        m = self.m
        admitted: list[Value] = []
        rolled: list[Value] = []
        for function in self.tasks.functions:
            for exit_name, wanted, name in self._paths(function):
                start = Signal(name=name)
                may_start = self._may_start(function, exit_name, wanted)
                m.d.comb += start.eq(may_start)
                chosen = self.chosen(start, f"{name}_chosen")
                new = Start(start, chosen, entry)
                self.starts[exit_name].append(new)
                admitted.append(start)
                if repeats(self.network, function):
                    rolled.append(start)
        if self.roll_out is not None:
            started = any_of(rolled)
            self.roll_out.bind(started=started)
        return admitted

    def _may_start(self, function: str, exit_name: str, wanted: Value) -> Value:
        """Whether a task of ``function`` is there that leaves by this exit, where that is ``wanted``, and may start."""
        program = self.exits[exit_name].program
        free: Value = Const(1)
        if program in self.busy:
            free = ~self.busy[program]
        available = self.credits[exit_name].available
        return self._asked(function) & wanted & self.core.begin & available & free

    def _pass_header(self, name: str, entry: Value) -> None:
        """The header of what starts waits for its results at the exit ``name``."""
        m = self.m
        starts = self.starts[name]
        started = any_of(start.admitted for start in starts)
        chosen = any_of(start.chosen for start in starts)
        to_exit = getattr(self.core, f"to_{name}")
        done = getattr(self.core, f"done_{name}")
        overflow = getattr(self.core, f"overflow_{name}")
        m.d.comb += [
            to_exit.eq(started),
            self.credits[name].take.eq(chosen),
        ]
        beside = Const(0, 0)
        if self.roll_out is not None and name == AGAIN:
            beside = self.roll_out.progress
        entries = header_depth(self.plan, name)
        queue = BypassFifo(HEADER_BITS + len(beside), entries)
        instantiate(m, self.platform, f"headers_{name}", queue)
        data = starts[0].header
        for start in starts[1:]:
            data = Mux(start.chosen, start.header, data)
        # only tasks are checked: what a loop brings is a result of the pipelines
        new = any_of(start.chosen for start in starts if start.header is entry)
        entering = Cat(chosen, new, data, beside)
        written = self._flagged(entering, name)
        m.d.comb += [
            queue.w_data.eq(written[2:]),
            queue.w_en.eq(written[0]),
            queue.r_en.eq(done),
        ]
        # what saturated on the way joins what the header already knows
        flags = overflow << (FUNCTION_BITS + TAG_BITS)
        header = queue.r_data[:HEADER_BITS] | flags
        self.headers[name] = header[:HEADER_BITS]
        if self.roll_out is not None and name == AGAIN:
            self.roll_out.bind(passed=queue.r_data[HEADER_BITS:])

    def _flagged(self, chosen: Value, name: str) -> Value:
        """An entry of a header's FIFO when it is written, from what it is when operands are chosen: whether there is
        one, whether its task is new, and its data, which the flag of a new task outside its ranges joins."""
        bits = len(chosen) - 2
        flag = Flag.RANGE.value << FUNCTION_BITS + TAG_BITS
        passing = chosen
        if self.plan.schedule.entry_cycles:
            passing = registered(self.m, passing, f"entering_{name}")
        for k in range(header_cycles(self.plan) + 1):
            if k == checked_cycles(self.plan):
                outside = passing[1] & self.intake.outside
                flags = Mux(outside, flag, 0)
                data = (passing[2:] | flags)[:bits]
                passing = Cat(passing[:2], data)
            if k < header_cycles(self.plan):
                passing = registered(self.m, passing, f"written_{name}{k or ''}")
        return passing

    def _start_programs(self) -> None:
        """A program starts with whatever starts in it."""
        m = self.m
        started: dict[str, list[Value]] = defaultdict(list)
        for name, leaving in self.exits.items():
            admitted = any_of(start.admitted for start in self.starts[name])
            started[leaving.program].append(admitted)
        for program, start in self.program_starts.items():
            any_started = any_of(started[program])
            m.d.comb += start.eq(any_started)

    def _answer(self, new_tasks: list[Value]) -> None:
        """Take the task in the register when it starts, or is answered by a header: it is unknown, or loads a
        parameter."""
        m = self.m
        intake = self.intake
        unknown = Signal()
        load: Value = Const(0)
        known = list(intake.known.values())
        m.d.comb += self.short_flags.eq(Flag.FUNCTION.value)
        if self.tasks.parameters:
            load = Signal(name="load")
            loading = intake.header[:FUNCTION_BITS] == CALIBRATE
            known.append(loading)
            m.d.comb += [
                unknown.eq(intake.full & ~any_of(known)),
                # tasks before it are to have the parameter as it was
                load.eq(intake.full & loading & ~self.core.busy & self._loops_empty()),
            ]
        else:
            m.d.comb += unknown.eq(intake.full & ~any_of(known))
        answered = Signal()
        wanted = unknown | load
        taken = any_of([*new_tasks, answered])
        m.d.comb += [
            answered.eq(wanted & self._error_room(wanted)),
            intake.taken.eq(taken),
        ]
        if self.tasks.parameters:
            self._load_parameters(load & answered, load)

    def _loops_empty(self) -> Value:
        """Whether no task waits for another pass."""
        loops = [name for name in LOOPS if name in self.credits]
        empty = [self.credits[name].whole for name in loops]
        return Cat(*empty).all()

    def _error_room(self, wanted: Value) -> Value:
        """Whether an answer of a header only finds room; that is taken where it is ``wanted``."""
        m = self.m
        credits = self.error_credits
        instantiate(m, self.platform, "credits_error", credits)
        m.d.comb += credits.take.eq(wanted & credits.available)
        return credits.available

    def _load_parameters(self, load: Value, asked: Value) -> None:
        """The parameters' registers; ``load`` writes the one that the task in the task register names, unless its value
        is outside the declared range. ``asked``: such a task waits."""
        m = self.m
        _, number, value = self.intake.words[:3]
        # low for a number that no parameter has
        legal = Signal(name="parameter_legal")
        for k, word in enumerate(self.tasks.parameters):
            name = word.name
            width = word.format.width
            nominal = self.design.model.nominal[name]
            register = Signal(signed(width), init=nominal, name=f"{name}_register")
            port = getattr(self.core, name)
            m.d.comb += port.eq(register)
            given = value[:width].as_signed()
            lowest, highest = word.codes
            within = (given >= lowest) & (given <= highest)
            with m.If(number == k):
                m.d.comb += legal.eq(within)
                with m.If(load & legal):
                    m.d.sync += register.eq(given)
        with m.If(asked):
            flags = Mux(legal, 0, Flag.RANGE.value)
            m.d.comb += self.short_flags.eq(flags)

    def _store_loops(self) -> None:
        """Store what leaves by the exits of the loops."""
        if self.feedback is not None:
            self._store(self.feedback, FEEDBACK)
        if self.roll_out is not None:
            finished = getattr(self.core, f"done_{repeated_exit(self.network).name}")
            self.roll_out.bind(finished=finished)
            self._store(self.roll_out, AGAIN)
            self.roll_out.keep_order(self.m)

    def _store(self, loop: Loop, name: str) -> None:
        """Bind what leaves by the exit ``name`` to its loop, which writes it into its FIFO."""
        m = self.m
        done = getattr(self.core, f"done_{name}")
        loop.bind(header=self.headers[name], done=done)
        results = {}
        for result in loop.results:
            port = result_port(result)
            results[port] = getattr(self.core, f"{name}_{result}")
        loop.bind(**results)
        loop.store(m, self.platform)
        credits = self.credits[name]
        m.d.comb += credits.give.eq(loop.chosen)
