"""The compiler: all stages in order, from a robot and options to a design that can be built and simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rbdgen.host.tasks import TaskFormat, task_format
from rbdgen.ir.fixed import FixedGraph
from rbdgen.ir.interpret import FixedResult, evaluate_fixed
from rbdgen.layout.network import FUNCTIONS, Network, build_network, check_functions
from rbdgen.model.names import sanitize
from rbdgen.model.ranges import InputRanges, declared_ranges
from rbdgen.model.robot import Robot
from rbdgen.passes.formats import check_word
from rbdgen.passes.pipeline import lower
from rbdgen.schedule.buffers import Plan, make_plan
from rbdgen.schedule.check import check_plan
from rbdgen.schedule.device import DEFAULT_DEVICE, get_device
from rbdgen.schedule.scheduler import schedule

RANGE_SAMPLES = 32768
"""States by which ranges are found."""


@dataclass(frozen=True)
class Options:
    """What to build: ``functions`` by code, initiation interval ``ii`` in cycles, ``word`` in bits, ``device`` by name.

    ``limits`` override joints' declared ranges (see :func:`rbdgen.model.ranges.declared_ranges`); ``seed`` chooses
    the states that ranges are sampled at.
    """

    functions: tuple[str, ...] = ("id",)
    ii: int = 1
    word: int = 18
    device: str = DEFAULT_DEVICE
    seed: int = 1
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Design:
    """Everything that is known of an accelerator before it is built."""

    robot: Robot
    options: Options
    ranges: InputRanges
    network: Network
    fixed: FixedGraph
    plan: Plan
    tasks: TaskFormat

    @cached_property
    def name(self) -> str:
        """Name of the Verilog top: the robot and the functions."""
        robot = sanitize([self.robot.name])[self.robot.name]
        return f"rbd_{robot}_{'_'.join(self.network.functions)}"

    @property
    def codes(self) -> tuple[int, ...]:
        """Function codes that the accelerator knows."""
        return tuple(FUNCTIONS[f] for f in self.network.functions)

    @property
    def latency_cycles(self) -> int:
        """Promised latency of a lone task, from its last beat's acceptance to its last result beat's offer.

        One cycle into the operand register, the pipeline, and one through the result FIFO, less the cycle shared.
        """
        return self.plan.length + self.tasks.result.beats

    def run(self, raw: list[np.ndarray]) -> FixedResult:
        """The bit-true model on raw operands, one (n,) array per operand word."""
        return evaluate_fixed(self.fixed, {o.name: x for o, x in zip(self.network.operands, raw, strict=True)})


def compile_robot(robot: Robot, options: Options, progress: Callable[[str], None] = lambda stage: None) -> Design:
    """Run all stages; ``progress`` is told each stage's name. Errors are those of the stages."""
    check_functions(options.functions)
    check_word(options.word)
    device = get_device(options.device)
    progress("trace")
    ranges = declared_ranges(robot, options.limits)
    network = build_network(robot, options.functions, ranges)
    progress("formats")
    fixed = lower(
        network.graph, network.range_samples(ranges, RANGE_SAMPLES, options.seed), network.declared, options.word
    )
    progress("schedule")
    plan = make_plan(schedule(fixed, device, options.ii))
    check_plan(plan)
    graph = fixed.graph
    tasks = task_format(
        [fixed.formats[graph.inputs[o.name]] for o in network.operands],
        [(o.lower, o.upper) for o in network.operands],
        [fixed.formats[graph.outputs[r.name]] for r in network.results],
        options.ii,
    )
    return Design(robot, options, ranges, network, fixed, plan, tasks)
