"""Measures engines that are on a board once: bytes and seconds of programs by link, seconds from a robot's file to its
first torques, what loading takes of an ECP5, and what shells of bytes take; some minutes.

The device is emulated in the process, or its RTL in Verilator, which is compiled before any time is taken.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from figures import ROBOTS as PUBLIC
from figures import Part, Targets, arguments, measure, parse, section

from rbdgen import Options, load_robot
from rbdgen.devices.ecp5 import ECP5
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.functions.registry import common
from rbdgen.host.driver import Driver
from rbdgen.host.programs import Program
from rbdgen.host.spi import DEFAULT_HERTZ as HERTZ
from rbdgen.host.transport import ProcessTransport, Transport
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model import Setup
from rbdgen.model.load import builtin_path
from rbdgen.protocol.links import GIGABIT, SYMBOL_BITS, framed_bytes, wire_bytes
from rbdgen.protocol.loading import BLOCK_BYTES
from rbdgen.resident import compile_program
from rbdgen_boards.ecp5 import SYNTHESIS
from rbdgen_boards.synthesis import Synthesis, cells, synthesise
from rbdgen_hw.emit import black_box, engine_verilog, link_verilog, spi_verilog, uart_verilog
from rbdgen_hw.primitives import overrides
from rbdgen_sim.device import build_device

ENGINE = Resident(Core(words=1024, depth=8192, results=2048))
"""As on the ULX3S."""
ROBOTS = ("pendulum2", "ur5", "iiwa14", "hyq")
MAIN = "iiwa14"
OTHERS = ("iiwa", "hyq_simple")
"""Public robots, where they are beside the project."""
BAUD = 3e6
SMALL_CLOCK = 24e6
"""Of an iCE40, the least at which there is a line of 3 Mbaud."""
FAST = "ECP5, for speed"
FAMILIES = {
    "iCE40": "synth_ice40",
    "ECP5": f"{ECP5.synthesis} -nowidelut",
    FAST: ECP5.synthesis,
}
"""Commands of synthesis. For speed an ECP5 gets tables of five and more inputs, which are two of four and more."""
MOST_TABLES = 400
LOAD_SECONDS, FIRST_SECONDS, PAYLOAD_MS = 0.5, 5.0, 10.0
"""What is asked of a load over the serial line, from a file to torques, and of another payload."""
FIRST = """
import sys
from rbdgen import Options, load_robot
from rbdgen.host.engine import Engine
from rbdgen.host.transport import ProcessTransport
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.emulated_engine import EmulatedEngine
from rbdgen.resident import load_robot_into

shape = Resident(Core(words=1024, depth=8192, results=2048))
transport = ProcessTransport([sys.argv[3]]) if len(sys.argv) > 3 else EmulatedEngine(shape)
robot = load_robot(sys.argv[1])
with Engine.open(transport) as engine:
    arm = load_robot_into(engine, robot, Options(functions=(sys.argv[2],)))
    print(arm.rnea(*(x[0] for x in random_states(robot, declared_ranges(robot), 1, 0))))
"""
"""What a user's script does, in a process of its own."""


def made(name: str) -> Program:
    """All seven functions of a robot."""
    return compile_program(load_robot(name), Options(functions=common(), machine="engine"), ENGINE)


def simulated(folder: Path) -> str:
    """The compiled program of the engine's RTL behind a link of bytes."""
    texts = {"engine.v": engine_verilog(ENGINE), "link.v": link_verilog(ENGINE, ENGINE.identity)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return str(build_device([folder / name for name in texts], f"{ENGINE.name}_link", folder))


def programs(targets: Targets, args: argparse.Namespace) -> None:
    """Bytes of programs, and the seconds that they take: on wires by their bytes, in devices measured."""
    rows = []
    with TemporaryDirectory() as name:
        rtl = simulated(Path(name))
        ways: list[Callable[[], Transport]] = [
            lambda: EmulatedEngine(ENGINE),
            lambda: ProcessTransport([rtl]),
        ]
        for robot in ROBOTS:
            program = made(robot)
            count = len(program.blocks)
            packet = 4 + BLOCK_BYTES
            framed = count * framed_bytes(packet)
            serial = framed * SYMBOL_BITS / BAUD
            spi = framed * 8 / HERTZ
            ethernet = count * wire_bytes(packet) / GIGABIT
            taken = []
            for way in ways:
                begin = time.perf_counter()
                Driver.open(program, way()).close()
                taken.append(round(time.perf_counter() - begin, 2))
            asked = targets.at_most(serial, LOAD_SECONDS) if robot == MAIN else ""
            own = [program.facts.extent.depth, count * BLOCK_BYTES]
            wires = [round(serial, 3), asked, round(spi, 3), round(ethernet, 4)]
            rows.append([robot, *own, *wires, *taken])
    head = [
        "robot",
        "words",
        "bytes",
        "s at 3 Mbaud, by bytes",
        "",
        "s over SPI at 10 MHz, by bytes",
        "s by Gigabit Ethernet, by bytes",
    ]
    head += ["s into the emulated engine", "s into the RTL in Verilator"]
    section("Programs of all seven functions, loaded", head, rows, keys=1)


def first(targets: Targets, args: argparse.Namespace) -> None:
    """Seconds of a process that reads a robot's file, makes a program of the one function that it asks for or of all
    seven, loads it and asks for torques. Modules are compiled before, as those of an installed wheel are."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    compiling = [sys.executable, "-c", FIRST, "pendulum2", "id"]
    subprocess.run(compiling, check=True, capture_output=True, env=environment)
    given = [PUBLIC / f"{name}.urdf" for name in OTHERS]
    files = [*(path for path in given if path.is_file()), builtin_path(MAIN)]
    rows = []
    with TemporaryDirectory() as name:
        rtl = simulated(Path(name))
        for file in files:
            for what, more in (("emulated", []), ("RTL in Verilator", [rtl])):
                seconds = []
                for functions in ("id", "all"):
                    begin = time.perf_counter()
                    command = [sys.executable, "-c", FIRST, str(file), functions, *more]
                    subprocess.run(command, check=True, capture_output=True, env=environment)
                    seconds.append(round(time.perf_counter() - begin, 2))
                verdicts = [targets.at_most(taken, FIRST_SECONDS) for taken in seconds]
                rows.append([file.stem, what, seconds[0], verdicts[0], seconds[1], verdicts[1]])
    head = ["robot", "device", "s, id loaded", "", "s, all seven functions loaded", ""]
    section("From a robot's file to its first torques, in a process of its own", head, rows, keys=2)


def logic(targets: Targets, args: argparse.Namespace) -> None:
    """What an engine whose programs come over the link takes, by synthesis."""
    rows = []
    for what, engine in (("4 lanes", Resident(Core())), ("1 lane", Resident(Core(1, 1)))):
        with TemporaryDirectory() as name:
            text = engine_verilog(engine)
            synthesise(
                Path(name), {"engine.v": text}, overrides(text, "ecp5"), SYNTHESIS, engine.name
            )
            found = cells(Path(name))
        tables = found.get("LUT4", 0) + 2 * found.get("CCU2C", 0)
        rows.append([what, tables, found.get("TRELLIS_FF", 0), found.get("DP16KD", 0)])
    head = ["engine", "LUT4 and carries", "registers", "EBR"]
    section("Engines with what loads programs, as synthesised for ECP5", head, rows, keys=1)


class Counted:
    """A transport whose bytes are counted, and how often it was waited for."""

    in_process = True

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.out = self.back = self.waits = 0

    def write(self, data: bytes) -> None:
        """Send ``data``."""
        self.out += len(data)
        self.transport.write(data)

    def read(self) -> bytes:
        """What came."""
        data = self.transport.read()
        self.back += len(data)
        self.waits += 1
        return data

    def close(self) -> None:
        """Let go of it."""
        self.transport.close()


WRITTEN = ["parameters", "bytes sent", "bytes back", "waits", "ms at 3 Mbaud, by bytes", ""]
"""Columns of what a change of parameters takes."""


def changed(
    targets: Targets, name: str, setup: Setup, options: Options, change: Callable[[Driver], None]
) -> list[Any]:
    """A robot, the parameters of its program, and the bytes, waits and time of a ``change`` of some."""
    program = compile_program(setup.load(name), options, ENGINE)
    counted = Counted(EmulatedEngine(ENGINE))
    device = Driver.open(program, counted)
    counted.out = counted.back = counted.waits = 0
    change(device)
    milliseconds = 1e3 * max(counted.out, counted.back) * SYMBOL_BITS / BAUD
    verdict = targets.at_most(milliseconds, PAYLOAD_MS) if name == MAIN else ""
    counts = [len(program.manifest.tasks.parameters), counted.out, counted.back, counted.waits]
    return [name, *counts, round(milliseconds, 2), verdict]


def payloads(targets: Targets, args: argparse.Namespace) -> None:
    """Bytes and seconds of another payload, of a program of all seven functions; and of another place of a frame."""
    rows, moved = [], []
    for name in ROBOTS:
        link = load_robot(name).bodies[-1].name
        loaded = Setup(payload={link: (1.0, 0.0, 0.0, 0.1)})
        options = Options(functions=common(), machine="engine", calibratable=True)
        carry = partial(Driver.payload, link=link, mass=0.5, com=(0.0, 0.05, 0.05))
        rows.append(changed(targets, name, loaded, options, carry))
        framed = Setup(frame={f"tip={link}": (0.0, 0.0, 0.2)})
        options = Options(functions=("id", "fk", "jac"), machine="engine", movable_frames=True)
        put = partial(Driver.frame, name="tip", position=(0.05, 0.0, 0.1))
        moved.append(changed(targets, name, framed, options, put))
    head = ["robot", *WRITTEN]
    section("Another payload on the last link, of all seven functions", head, rows, keys=1)
    section("Another place of a frame on the last link, of id, fk and jac", head, moved, keys=1)


def shells(targets: Targets, args: argparse.Namespace) -> None:
    """What the shells of bytes take beside an engine of one lane, which is a black box."""
    engine = Resident(Core(1, 1))
    made = {
        "serial line": (uart_verilog(engine, engine.identity, SMALL_CLOCK, BAUD), "uart"),
        "SPI": (spi_verilog(engine, engine.identity), "spi"),
    }
    around = black_box(engine)
    rows = []
    for what, (text, shell) in made.items():
        for family, command in FAMILIES.items():
            with TemporaryDirectory() as name:
                how = Synthesis(command)
                sources = {"engine.v": around, "shell.v": text}
                synthesise(Path(name), sources, "", how, f"{engine.name}_{shell}")
                found = cells(Path(name))
            tables = found.get("LUT4", 0) + 2 * found.get("CCU2C", 0) + found.get("SB_LUT4", 0)
            registers = sum(n for cell, n in found.items() if "FF" in cell)
            memories = found.get("DP16KD", 0) + found.get("SB_RAM40_4K", 0)
            asked = "" if family == FAST else targets.at_most(tables, MOST_TABLES)
            rows.append([what, family, tables, asked, registers, memories])
    head = ["shell", "family", "look-up tables, with those of carries", "", "registers", "memories"]
    section("Shells of bytes beside an engine of one lane, as synthesised", head, rows, keys=2)


PARTS: dict[str, Part] = {
    "programs": programs,
    "payloads": payloads,
    "first": first,
    "logic": logic,
    "shells": shells,
}


def main() -> int:
    """Measure what is asked for."""
    return measure(parse(arguments(__doc__, PARTS)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
