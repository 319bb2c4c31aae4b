"""rbdgen's hardware: its bit-true model behind the driver, its RTL in a simulator, and boards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rbdgen.benchmark.adapters.adapter import Adapter, rows, tupled
from rbdgen.benchmark.cells import COUNTED, Calls, Counted, NotThereError, Prepared
from rbdgen.benchmark.task import Task
from rbdgen.compiler import Design, Options, compile_robot, kept_design
from rbdgen.emulation import bit_true
from rbdgen.host.driver import Driver
from rbdgen.host.spi import DEFAULT_HERTZ
from rbdgen.host.transport import DEFAULT_BAUD
from rbdgen.machines.pipeline.budget import Target
from rbdgen.wordlength.targets import DEFAULT_ERROR
from rbdgen.workbench import get_simulator, need_hardware, simulate


@dataclass(frozen=True)
class Hardware:
    """What is asked of hardware: an interval, a simulator with its ``tasks``, where to build, and the board, if there
    is one: the ``built`` folder, and one of its ways (port, address or device's file)."""

    interval: int
    simulator: str
    tasks: int
    folder: Path
    built: Path | None = None
    port: str | None = None
    udp: str | None = None
    spi: str | None = None

    def design(self, task: Task) -> Design:
        """The accelerator of a task's functions."""
        options = Options(functions=task.functions, ii=self.interval)
        target = Target()
        return kept_design(
            task.robot,
            options,
            target,
            partial(compile_robot, task.robot, options, target=target),
            lambda: None,
        )


def _driven(task: Task, device: Driver, function: str, tolerance: float, how: str) -> Calls:
    """The calls of a device."""
    call, operands = partial(device.call, function), task.operands(function)
    states = rows(operands, task.count)

    def everything() -> list[np.ndarray]:
        return list(tupled(call(*operands)))

    def many(n: int) -> Callable[[], object]:
        some = [x[:n] for x in operands]
        return lambda: call(*some)

    batches = {(n, 1): many(n) for n in task.batches}
    return Calls(everything, tolerance, lambda k: call(*states[k]), many=batches, how=how)


def _strictest(design: Design) -> float:
    """The smallest error target of a design's results."""
    known = [x for x in design.options.targets.values() if isinstance(x, float)]
    return min(known, default=DEFAULT_ERROR)


def bit_true_adapter(asked: Hardware) -> Adapter:
    """The bit-true model behind the host's driver: results of the hardware, at Python's speed."""

    def open_(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
        design = asked.design(task)
        device = stack.enter_context(bit_true(design, flags="ignore"))
        how = "the hardware's results by the driver; its time is that of a model"
        return lambda f: _driven(task, device, f, _strictest(design), how)

    name = "rbdgen bit-true model"
    return Adapter("bit_true", name, "from Python", "fixed point", open_, ours=True)


def rtl_adapter(asked: Hardware) -> Adapter:
    """The RTL in a simulator: every bit compared, cycles counted, µs at the device model's clock."""

    def open_(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
        get_simulator(asked.simulator)
        need_hardware()
        design = asked.design(task)
        folder = asked.folder / f"rtl_{task.name.replace('/', '_')}"
        done = simulate(
            design,
            folder,
            tasks=asked.tasks,
            seed=task.seed,
            simulator=asked.simulator,
            robot=task.name,
            check=False,
        )
        clock = done.report["clock_mhz"]

        def prepare(function: str) -> Counted:
            f = done.report["functions"][function]
            return Counted(
                f["latency_cycles"] / clock,
                f["ii_cycles"] / clock,
                f["max_relative_error"],
                {name: own["max"] for name, own in f["errors"].items()},
                f["mismatches"],
                _strictest(design),
                f"{f['latency_cycles']} cycles to the result, {f['ii_cycles']} between tasks, at the device model's "
                f"{clock:g} MHz ({design.options.device}); no link to a host; {f['tasks']} tasks of the simulation",
            )

        return prepare

    name = "rbdgen RTL, simulated"
    return Adapter("rtl", name, COUNTED, "fixed point", open_, ours=True)


def board_adapter(asked: Hardware) -> Adapter:
    """A board that is there, by its link."""

    def open_(task: Task, stack: ExitStack) -> Callable[[str], Prepared]:
        if asked.built is None:
            raise NotThereError("no board was given: --built DIR with --port, --udp or --spi")
        device = stack.enter_context(_device(asked, asked.built))
        own = {body.joint_name for body, _, _ in task.robot.independent}
        if set(device.joint_names) != own:
            raise NotThereError(f"{asked.built} is of another robot")

        def prepare(function: str) -> Calls:
            if function not in device.manifest.methods:
                raise NotThereError(f"the board does not compute {function}")
            # a manifest says nothing of errors: the target that holds where none is asked for
            return _driven(
                task, device, function, DEFAULT_ERROR, "a board by its link and the driver"
            )

        return prepare

    return Adapter("board", "rbdgen on a board", "from Python", "fixed point", open_, ours=True)


def _device(asked: Hardware, built: Path) -> Driver:
    if asked.port is not None:
        return Driver.serial(built, asked.port, DEFAULT_BAUD, flags="ignore")
    if asked.spi is not None:
        return Driver.spi(built, asked.spi, DEFAULT_HERTZ, flags="ignore")
    if asked.udp is not None:
        return Driver.udp(built, asked.udp, flags="ignore")
    raise NotThereError("no way to the board was given: --port, --udp or --spi")
