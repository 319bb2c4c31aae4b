# amaranth: UnusedElaboratable=no
"""The accelerator: a task stream in, a result stream out, around the round-trip pipelines.

Tasks are collected beat by beat into the task register (:mod:`rbdgen_hw.pipeline.intake`). Their function code chooses
the program that they start and the exit by which they leave (:mod:`rbdgen_hw.pipeline.admission`), and where their
operands come from: the task's words, or a loop. A credit of the exit's lane is taken with every start, so that whatever
has started can always finish, however long the sink stalls. Functions with the same results leave by one exit. A task
that goes through the pipelines more than once waits in a loop in between (:mod:`rbdgen_hw.pipeline.loops`). Results of
one function keep the order of their tasks. The layout of both streams is :class:`rbdgen.protocol.tasks.TaskFormat`.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from rbdgen.compiler import Design
from rbdgen.ir.fixed import Format
from rbdgen.ir.programs import cone
from rbdgen.machines.pipeline.queues import (
    ERROR_DEPTH,
    chosen_ahead,
    exit_depth,
    in_block_memory,
    lane_names,
)
from rbdgen.protocol.tasks import FUNCTION_BITS, TAG_BITS
from rbdgen.tracing.network import PREFIX
from rbdgen_hw.fifo import Credits
from rbdgen_hw.library import SharedComponent, instantiate
from rbdgen_hw.logic import any_of
from rbdgen_hw.pipeline.admission import Admission
from rbdgen_hw.pipeline.intake import Intake
from rbdgen_hw.pipeline.loops import (
    Loop,
    coefficient_operands,
    converted,
    initial_state,
    operand_port,
    repeated_program,
    repeats,
)
from rbdgen_hw.pipeline.results import Lane, Merge
from rbdgen_hw.pipeline.roundtrip import RoundTrip


@dataclass(frozen=True)
class TaskSources:
    """Where tasks that start a program have one of its operands.

    ``functions`` by the number of the task's word; ``absent``: those whose results depend on the operand though their
    tasks do not have it. ``initial``: the operand of the state that the word is, if not the operand itself.
    """

    functions: dict[int, list[str]]
    absent: list[str]
    initial: str | None

    @property
    def single(self) -> bool:
        """Whether it is the same word in all tasks that have a use for it."""
        return len(self.functions) == 1 and not self.absent

    @property
    def used(self) -> bool:
        """Whether any task has a use for it."""
        return bool(self.functions or self.absent)


class OperandChoice:
    """Drives the operands of the pipelines, those of ``admission``."""

    def __init__(
        self,
        m: Module,
        platform: object,
        design: Design,
        intake: Intake,
        admission: Admission,
    ) -> None:
        self.m = m
        self.platform = platform
        self.design = design
        self.intake = intake
        self.admission = admission
        self.network = design.network

    def write(self) -> None:
        """Write the choice of each operand."""
        m = self.m
        coefficients = coefficient_operands(self.network)
        roll_out = self.admission.roll_out
        for name, program in self.network.programs.operands.items():
            if roll_out is not None and name in coefficients:
                value = roll_out.choose_coefficient(m, name)
            else:
                value = self._operand(name, program)
            port = getattr(self.admission.core, name)
            m.d.comb += port.eq(value)

    def _operand(self, name: str, program: str) -> Value:
        """An operand of the task that starts, wherever it comes from."""
        sources = self._sources(name, program)
        value = self._from_task(name, sources)
        feedback = self.admission.feedback
        roll_out = self.admission.roll_out
        if feedback is not None and name in self.design.feedback:
            word = self._from_loop(feedback, name)
            value = Mux(feedback.chosen, word, value) if sources.used else word
        if roll_out is None or program != repeated_program(self.network):
            return value
        if name in roll_out.operands or self.network.repeated_name in sources.absent:
            # another task's word may be in the task register meanwhile
            word = self._from_loop(roll_out, name)
            value = Mux(roll_out.chosen, word, value)
        return value

    def _sources(self, name: str, program: str) -> TaskSources:
        """Where tasks that start ``program`` have the operand ``name`` of it."""
        graph = self.design.plan.schedule.fixed.graph
        initial = initial_state(self.network, name)
        wanted = initial or name.removeprefix(PREFIX[program])
        functions: dict[int, list[str]] = {}
        absent: list[str] = []
        for function, layout in self.design.tasks.functions.items():
            if self.network.entry(function) != program:
                continue
            if initial and not repeats(self.network, function):
                continue
            names = [word.name for word in layout.operands]
            if wanted in names:
                # word 0 is the header
                index = names.index(wanted) + 1
                functions.setdefault(index, []).append(function)
                continue
            first_pass = self.network.passes(function)[0]
            # an operand that no result depends on may be anything
            if graph.inputs[name] in cone(graph, first_pass.results):
                absent.append(function)
        return TaskSources(functions, absent, initial)

    def _from_task(self, name: str, sources: TaskSources) -> Value:
        """The operand's word of the task in the task register, zero for a task without one."""
        fmt = self.design.input_format(name)
        value: Value = Const(0, signed(fmt.width))
        for index, functions in sources.functions.items():
            word = self._word(index, name, fmt, sources.initial)
            if sources.single:
                value = word
            else:
                asked = any_of(self.intake.known[f] for f in functions)
                value = Mux(asked, word, value)
        return value

    def _word(
        self,
        index: int,
        name: str,
        fmt: Format,
        initial: str | None,
    ) -> Value:
        """A word of the task in the task register, in the format of the operand ``name``."""
        given = self.intake.words[index]
        if initial is None:
            return given[: fmt.width].as_signed()
        source = self.design.input_format(initial)
        state = given[: source.width].as_signed()
        converter = f"begin_{name}"
        word, _ = converted(self.m, self.platform, converter, state, source, fmt)
        return word

    def _from_loop(self, loop: Loop, name: str) -> Value:
        """The operand of what waits in a loop, zero if that has none."""
        if name in loop.operands:
            return getattr(loop, operand_port(name))
        fmt = self.design.input_format(name)
        return Const(0, signed(fmt.width))


class Accelerator(SharedComponent):
    """Ports ``i`` (stream of task beats) and ``o`` (stream of result beats).

    ``module_name``: of its module, where it is not the top level itself.
    """

    def __init__(self, design: Design, module_name: str = "") -> None:
        self.design = design
        self.module_name = module_name
        super().__init__(
            {
                "i": In(stream.Signature(design.tasks.task.beat_bits)),
                "o": Out(stream.Signature(design.tasks.result.beat_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = RoundTrip(self.design.plan)
        instantiate(m, platform, "core", core)
        intake = Intake(self.design)
        intake.write(m, platform, self.i)
        admission = Admission(m, platform, self.design, core, intake)
        admission.write()
        OperandChoice(m, platform, self.design, intake, admission).write()
        ResultSide(m, platform, self.design, intake, admission).write(self.o)
        return m


class ResultSide:
    """A lane for each exit and one for errors, and the choice among them."""

    def __init__(
        self,
        m: Module,
        platform: object,
        design: Design,
        intake: Intake,
        admission: Admission,
    ) -> None:
        self.m = m
        self.platform = platform
        self.design = design
        self.intake = intake
        self.admission = admission
        self.ahead = chosen_ahead(design.plan)

    def write(self, results: stream.Interface) -> None:
        """Write all lanes, and the choice of what ``results`` offers."""
        names = lane_names(self.design.plan, self.design.tasks)
        lanes = [self._result_lane(name) for name in names]
        lanes.append(self._error_lane())
        self._merge(lanes, results)

    def _result_lane(self, name: str) -> Lane:
        """The lane of the results that leave by the exit ``name``."""
        m = self.m
        plan = self.design.plan
        tasks = self.design.tasks
        core = self.admission.core
        words = tasks.functions[name].results
        cycles = [beat.cycle for beat in plan.beats[name]]
        lane = Lane(
            name,
            [word.format.width for word in words],
            tasks.result,
            exit_depth(plan, tasks, name),
            in_block_memory(tasks, name),
            # the last to come, which need not be the last of the packet
            ends=cycles.index(max(cycles)),
        )
        instantiate(m, self.platform, f"lane_{name}", lane)
        values = [getattr(core, f"{name}_{word.name}") for word in words]
        m.d.comb += [
            lane.header.eq(self.admission.headers[name]),
            lane.write.eq(getattr(core, f"beats_{name}")),
        ]
        if values:
            m.d.comb += lane.words.eq(Cat(*values))
        self._give_back(self.admission.credits[name], lane, f"given_{name}")
        return lane

    def _error_lane(self) -> Lane:
        """The lane of answers that are a header only."""
        m = self.m
        credits = self.admission.error_credits
        lane = Lane("error", [], self.design.tasks.result, ERROR_DEPTH)
        instantiate(m, self.platform, "lane_error", lane)
        # bits of a task's header in the place of flags are no flags
        known = self.intake.header[: FUNCTION_BITS + TAG_BITS]
        m.d.comb += [
            lane.header.eq(Cat(known, self.admission.short_flags)),
            lane.write.eq(credits.take),
        ]
        self._give_back(credits, lane, "given_error")
        return lane

    def _give_back(self, credits: Credits, lane: Lane, name: str) -> None:
        """Give a credit back when a result has left its lane; from a register where that has a long way."""
        m = self.m
        given = Signal(name=name)
        m.d.comb += credits.give.eq(given)
        domain = m.d.sync if self.ahead else m.d.comb
        domain += given.eq(lane.leave)

    def _merge(self, lanes: list[Lane], results: stream.Interface) -> None:
        """The choice among ``lanes``."""
        m = self.m
        merge = Merge(len(lanes), self.design.tasks.result, self.ahead)
        instantiate(m, self.platform, "merge", merge)
        for k, lane in enumerate(lanes):
            payload: Value = getattr(merge, f"payload{k}")
            m.d.comb += [
                merge.ready[k].eq(lane.ready),
                merge.last[k].eq(lane.last),
                merge.more[k].eq(lane.more),
                payload.eq(lane.payload),
                lane.taken.eq(merge.taken[k]),
            ]
        m.d.comb += [
            results.valid.eq(merge.o.valid),
            results.payload.eq(merge.o.payload),
            merge.o.ready.eq(results.ready),
        ]
