"""The host's end of a shell of registers: robots loaded into an engine behind a model of one, under a stand-in for
PYNQ's overlays too."""

from __future__ import annotations

import sys
import types
from collections import deque

import numpy as np
import pytest

from rbdgen import Options, load_robot
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.errors import LinkError, RbdgenWarning
from rbdgen.host.engine import Engine
from rbdgen.host.programs import Program
from rbdgen.host.pynq import open_engine
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.protocol.packets import code_of
from rbdgen.protocol.registers import constants
from rbdgen.protocol.task_registers import (
    Command,
    Status,
    TaskRegister,
    task_register_map,
)
from rbdgen.resident import compile_program

ENGINE = Resident(Core(2, 1, depth=2048, results=512))


class Registers:
    """A shell of registers in front of an emulated engine: words make tasks as long as the engine says. While it is
    ``deaf`` no result comes; ``held`` words of a result behind which none comes."""

    def __init__(self) -> None:
        self.engine = EmulatedEngine(ENGINE)
        entries = task_register_map(ENGINE.tasks, ENGINE.identity, "axi-lite")
        self.values = {entry.address: value for entry, value in constants(entries)}
        self.counted = {TaskRegister.TASKS: 0, TaskRegister.RESULTS: 0}
        self.deaf, self.closed, self.held = False, False, 1 << 20
        self.reset()

    def reset(self) -> None:
        self.engine.reset()
        self.values[TaskRegister.EPOCH] = 0
        self.task = b""
        self.words: deque[int] = deque()
        self.refused = False

    def read_register(self, address: int) -> int:
        if address == TaskRegister.STATUS:
            return Status.ROOM | Status.RESULT * bool(self.words) | Status.REFUSED * self.refused
        if address in (TaskRegister.RESULT, TaskRegister.RESULT_LAST):
            self.counted[TaskRegister.RESULTS] += address == TaskRegister.RESULT_LAST
            if not self.words or not self.held:
                self.refused = True
                return 0
            self.held -= 1
            return self.words.popleft()
        return self.values[address]

    def write_register(self, address: int, value: int) -> None:
        if address == TaskRegister.CONTROL and value & Command.RESET:
            self.reset()
        elif address in (TaskRegister.TASK, TaskRegister.TASK_LAST):
            self.counted[TaskRegister.TASKS] += address == TaskRegister.TASK_LAST
            self.take(value)
        else:
            self.values[address] = value

    def take(self, word: int) -> None:
        self.task += word.to_bytes(4, "little")
        if len(self.task) < self.engine.lengths[code_of(self.task)]:
            return
        self.engine.keep(self.task)
        self.engine.work()
        self.task = b""
        for answer in self.engine.answers:
            self.words.extend([] if self.deaf else np.frombuffer(answer, "<u4").tolist())
        self.engine.answers.clear()

    def close(self) -> None:
        self.closed = True


@pytest.fixture(scope="module")
def program() -> Program:
    options = Options(functions=("id", "m"), machine="engine")
    return compile_program(load_robot("pendulum2"), options, ENGINE)


def states() -> np.ndarray:
    return np.random.default_rng(4).uniform(-1.0, 1.0, (3, 5, 2))


def test_a_robot_is_loaded_and_called(program: Program) -> None:
    """Results have the emulated engine's bits, as over any link, and packets are counted whole."""
    device = Registers()
    other = Engine.open(EmulatedEngine(ENGINE)).load(program)
    with Engine.registers(device) as engine:
        assert engine.identity == ENGINE.identity
        driver = engine.load(program)
        before = dict(device.counted)
        assert np.array_equal(driver.rnea(*states()), other.rnea(*states()))
        assert {k: n - before[k] for k, n in device.counted.items()} == dict.fromkeys(before, 5)
        assert np.array_equal(driver.crba(states()[0]), other.crba(states()[0]))
        assert engine.robots == ("pendulum2",)
        assert not device.refused
    assert device.closed


def test_a_reset_is_seen_and_the_robot_loaded_again(program: Program) -> None:
    device = Registers()
    driver = Engine.registers(device).load(program)
    expected = driver.rnea(*states())
    device.reset()
    with pytest.warns(RbdgenWarning, match=r"was reset in mid-use; its program \(pendulum2\) was"):
        assert np.array_equal(driver.rnea(*states()), expected)


def test_whoever_opens_it_resets_it(program: Program) -> None:
    """What another process left in it, half a task or a program, is gone."""
    device = Registers()
    Engine.registers(device).load(program)
    device.write_register(TaskRegister.TASK, 0x1234_5600)
    assert Engine.registers(device).robots == ()


def test_results_that_do_not_come_are_an_error(program: Program) -> None:
    device = Registers()
    driver = Engine.registers(device, seconds=0.05).load(program)
    device.deaf = True
    with pytest.raises(LinkError, match=r"^device: no result for 0.05 s; it was reset; try again"):
        driver.rnea(*states())
    device.deaf = False
    with pytest.warns(RbdgenWarning, match=r"its program \(pendulum2\) was loaded again"):
        driver.rnea(*states())
    device.held = 1
    with pytest.raises(LinkError, match=r"^device: refused words of a task or of its result"):
        driver.rnea(*states())


def test_other_registers_are_refused() -> None:
    device = Registers()
    device.values[TaskRegister.VERSION] = 7
    with pytest.raises(LinkError, match=r"^device: has registers of version 0x7, this host knows"):
        Engine.registers(device)


def test_pynq_opens_an_engine(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    device, loaded = Registers(), []

    def overlay(path: str) -> types.SimpleNamespace:
        loaded.append(path)
        port = types.SimpleNamespace(read=device.read_register, write=device.write_register)
        return types.SimpleNamespace(accelerator=port)

    monkeypatch.setitem(sys.modules, "pynq", types.SimpleNamespace(Overlay=overlay))
    other = Engine.open(EmulatedEngine(ENGINE)).load(program)
    with open_engine("engine.bit") as engine:
        assert np.array_equal(engine.load(program).rnea(*states()), other.rnea(*states()))
    assert loaded == ["engine.bit"]
