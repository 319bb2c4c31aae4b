"""Each operand of the programs from its word of the task, or from a loop."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Module, Mux, Value, signed

from rbdgen.compiler import Design
from rbdgen.ir.number_formats import Format
from rbdgen.ir.programs import cone
from rbdgen.layout.network import PREFIX
from rbdgen_hw.admission import Admission
from rbdgen_hw.conversion import converted
from rbdgen_hw.intake import Intake
from rbdgen_hw.logic import any_of
from rbdgen_hw.loops import Loop, operand_port
from rbdgen_hw.passes import (
    coefficient_operands,
    initial_state,
    repeated_program,
    repeats,
)


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
        self, m: Module, platform: object, design: Design, intake: Intake, admission: Admission
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
                index = names.index(wanted) + 1
                functions.setdefault(index, []).append(function)
                continue
            first_pass = self.network.passes(function)[0]
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

    def _word(self, index: int, name: str, fmt: Format, initial: str | None) -> Value:
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
