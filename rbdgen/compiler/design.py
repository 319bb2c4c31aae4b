"""A design: everything that is known of an accelerator before it is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rbdgen.errors import UnsupportedError, counted
from rbdgen.functions import registry
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.number_formats import Format
from rbdgen.machines.engine.engine import Engine
from rbdgen.machines.machine import Machine
from rbdgen.machines.pipeline.budget import Target
from rbdgen.machines.pipeline.buffers import Plan
from rbdgen.machines.pipeline.pipeline import Pipeline
from rbdgen.model.ranges import InputRanges
from rbdgen.model.robot import Robot
from rbdgen.options import Options
from rbdgen.passes.ranges import FoundRanges
from rbdgen.protocol.identifiers import sanitize
from rbdgen.protocol.tasks import TaskFormat
from rbdgen.tracing.execute import Answer, BitTrueModel, feedback
from rbdgen.tracing.network import Network
from rbdgen.wordlength.targets import finest

TOP_PREFIX = "rbd"
"""The beginning of the names of all designs."""


def readable(cycles: float) -> float:
    """A mean number of cycles as reports have it: a whole number where it is one, else to four decimals."""
    return int(cycles) if cycles == int(cycles) else round(cycles, 4)


# a generated repr would print whole graphs
@dataclass(frozen=True, repr=False)
class Design:
    """Everything that is known of an accelerator before it is built.

    ``whole``: the graph with all of its dots; ``fixed``: the same bits with dots as long as this ``machine`` has them.
    ``word``: the word length by which noise was told from signals, which is that of all formats unless they were found
    for an error target; tables are as good as words of ``table_word`` bits need. ``why``: how the layout was chosen;
    ``target``: what for. ``key``: where it was compiled for the command line, digits that other designs do not have;
    one that was changed has none (:mod:`rbdgen.compiler`)."""

    robot: Robot
    options: Options
    ranges: InputRanges
    network: Network
    whole: FixedGraph
    fixed: FixedGraph
    machine: Machine
    tasks: TaskFormat
    word: int
    table_word: int
    signal_ranges: FoundRanges
    why: tuple[str, ...] = ()
    target: Target = field(default_factory=Target)
    # not an argument, so that a copy by ``replace``, which is another design, has none
    key: str = field(default="", init=False, compare=False, repr=False)

    def __repr__(self) -> str:
        where = self.target.board or self.options.device
        machine = f"{self.precision}, {self.pace}, {self.machine.blocks} multiplier blocks"
        return f"<Design {self.name}: {machine}, for {where}>"

    @property
    def name(self) -> str:
        """Name of the Verilog top: the robot and the functions."""
        # robots' names may hold what Verilog's identifiers may not
        robot = sanitize([self.robot.name])[self.robot.name]
        functions = (
            "all"
            if self.network.functions == registry.common()
            else "_".join(self.network.functions)
        )
        extras = (
            ("f_ext", "forces"),
            ("base", "moving_base"),
            ("inverse", "with_inverse"),
            ("cal", "calibratable"),
            ("frames", "movable_frames"),
        )
        return "_".join(
            [
                TOP_PREFIX,
                robot,
                functions,
                *(name for name, o in extras if getattr(self.options, o)),
            ]
        )

    @property
    def precision(self) -> str:
        """The word length or the smallest error target, in a name."""
        # folders are named by it: 1e-3 becomes e1m3, and the colon of largest:1e-3 an underscore
        options = self.options
        return (
            f"e{finest(options.targets)}".replace("e-", "m").replace(":", "_")
            if options.targets
            else f"w{options.word}"
        )

    @property
    def pace(self) -> str:
        """The interval of a pipeline or the lanes of an engine, and how many accelerators there are if they are
        several, in a name."""
        count = self.tasks.replicas
        pace = f"ii{self.options.ii}"
        if isinstance(self.machine, Engine):
            count = self.machine.cores
            pace = f"engine{self.machine.program.core.lanes}"
        return f"{pace}_x{count}" if count > 1 else pace

    @property
    def multiplied_by(self) -> str:
        """The option that puts several accelerators behind its stream."""
        return "cores" if isinstance(self.machine, Engine) else "replicas"

    @property
    def pace_text(self) -> str:
        """The same in a few words."""
        if isinstance(self.machine, Engine):
            core, cores = self.machine.program.core, self.machine.cores
            engine = f"an engine of {counted(core.lanes, 'lane')}"
            return engine if cores == 1 else f"{engine} in each of {cores} cores"
        replicas = self.tasks.replicas
        tasks = "a task" if replicas == 1 else f"{replicas} tasks"
        return f"{tasks} every {counted(self.options.ii, 'cycle')}"

    @property
    def ii(self) -> int:
        """Cycles in which a pipeline admits a task of a pass, or in which an engine starts one of any function."""
        if isinstance(self.machine, Engine):
            return max(map(self.interval, self.network.functions))
        return self.options.ii

    def input_format(self, name: str) -> Format:
        """Format of an operand of the graph."""
        return self.fixed.formats[self.fixed.graph.inputs[name]]

    def output_format(self, name: str) -> Format:
        """Format of a result of the graph."""
        return self.fixed.formats[self.fixed.graph.outputs[name]]

    @cached_property
    def feedback(self) -> dict[str, str | None]:
        """For each operand of the second pass the result of the first that feeds it (None: it is always zero)."""
        return feedback(self.network)

    @property
    def pipeline(self) -> Pipeline:
        """The machine as a pipeline, for its hardware and for pages that show it. UnsupportedError of another kind."""
        if not isinstance(self.machine, Pipeline):
            raise UnsupportedError(
                f"machine {self.machine.kind!r}: units and slots are those of pipelines; it has none"
            )
        return self.machine

    @property
    def engine(self) -> Engine:
        """The machine as an engine, likewise."""
        if not isinstance(self.machine, Engine):
            raise UnsupportedError(
                f"machine {self.machine.kind!r}: programs are those of engines; it has none"
            )
        return self.machine

    @property
    def plan(self) -> Plan:
        """The inside of a :attr:`pipeline`."""
        return self.pipeline.plan

    def promised_latency(self, function: str) -> int:
        """Cycles from the last beat's acceptance to the last result beat's offer, of a lone task (of a roll-out: of one
        step)."""
        return self.machine.latency(function, self.tasks)

    def steady_latency(self, function: str) -> int | None:
        """The same where tasks of ``function`` alone come without a pause: each is sent as soon as the one before has
        started, and waits for its turn. None where nothing is promised."""
        return self.machine.steady_latency(function, self.tasks)

    @cached_property
    def mixed_interval(self) -> float | None:
        """Cycles per task where all functions' tasks come equally often, in a random order and without a pause. None
        where nothing is promised: of one function only, of roll-outs, whose tasks say how long they take, and of
        several accelerators or cores, of which each takes tasks as others do."""
        network = self.network
        if len(network.functions) == 1 or network.repeated or self.tasks.replicas > 1:
            return None
        promised = self.machine.mixed_interval(self.tasks, len(network.functions))
        return None if promised is None else readable(promised)

    def interval(self, function: str) -> int:
        """Cycles from one task of ``function`` to the next in one accelerator, where nothing else runs."""
        return self.machine.interval(function)

    def bunched_cycles(self, function: str) -> int:
        """Cycles more than their intervals that any number of tasks of ``function`` take at most, where nothing else
        runs."""
        return self.machine.bunched_cycles(function)

    @property
    def running_clock(self) -> float:
        """MHz that what is built of it runs at: the board's clock where that is fixed, else the machine's."""
        own = self.machine.device.megahertz
        return own if self.target.clock is None else self.target.clock

    def mean_interval(self, function: str) -> float:
        """Cycles from task to task of ``function`` on average, in all accelerators behind the stream together: a whole
        number where it is one."""
        return readable(self.machine.mean_interval(function, self.tasks))

    def evaluations(self, function: str) -> int:
        """Evaluations in a step of a function that repeats; 1 of any other."""
        return self.network.evaluations(function)

    def step_cycles(self, function: str) -> int:
        """Cycles that each step after the first adds to the latency of a lone task; 0 of a function that does not
        repeat."""
        return self.machine.step_cycles(function)

    @cached_property
    def model(self) -> BitTrueModel:
        """The bit-true model."""
        return BitTrueModel(self.network, self.fixed)

    def run(
        self,
        function: str,
        raw: Sequence[np.ndarray],
        parameters: Mapping[str, np.ndarray] | None = None,
    ) -> Answer:
        """The bit-true model on raw operands of one function, one (n,) array per operand word; see
        :meth:`rbdgen.tracing.execute.BitTrueModel.run`."""
        return self.model.run(function, raw, parameters)
