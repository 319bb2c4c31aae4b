"""Measures engines beside a processor: what the shell of registers takes of an ECP5, bytes of the driver for bare
metal, and cycles of a call as firmware on a soft core sees it, in RTL simulation; some minutes."""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
from figures import Part, Targets, arguments, measure, parse, section
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect.csr_bus import CSRBank, Interface
from migen import ClockDomain, Signal

from rbdgen import Design, Options, compile_robot, load_robot
from rbdgen.emulation import bit_true, manifest_of
from rbdgen.host.embedded import embedded_files
from rbdgen.machines.engine.core import Core
from rbdgen.machines.engine.resident import Resident
from rbdgen.model.ranges import declared_ranges, random_states
from rbdgen.protocol.registers import REGISTER_BITS
from rbdgen.protocol.task_registers import REGISTER_BUSES
from rbdgen_boards.ecp5 import SYNTHESIS
from rbdgen_boards.synthesis import cells, synthesise
from rbdgen_hw.emit import black_box, design_verilog, engine_verilog, registers_verilog
from rbdgen_hw.packaging import register_core_of
from rbdgen_hw.packaging.litex import litex_registers, module_name
from rbdgen_hw.primitives import overrides
from rbdgen_hw.shells.registers import register_name
from rbdgen_sim.soft_core import COMPILER, CORES, SoftCore, build_firmware, build_soft_core

MOST = 400
"""Look-up tables that are asked of a shell beside its engine."""
ROBOTS = ("ur5", "iiwa14")
LANES = (1, 4)
CALLS = 20
MEGAHERTZ = 50
"""At which cycles are told as microseconds."""
MAIN = """\
#include "{name}_embedded.h"
#include "rbdgen_registers.h"
#include "soc.h"

int main(void)
{{
    struct rbd_registers registers;
    struct rbd_device device = {{rbd_registers_exchange, &registers, 0}};
    int32_t said = rbd_registers_open(&registers, SOC_ACCELERATOR, &{name}_identity);
    soc_send(&said, sizeof said);
    for (;;) {{
        rbd_number q[{joints}], v[{joints}], a[{joints}], tau[{joints}];
        soc_receive(q, sizeof q);
        soc_receive(v, sizeof v);
        soc_receive(a, sizeof a);
        uint32_t cycles = SOC_CYCLES;
        said = {name}_id(&device, q, v, a, tau);
        cycles = SOC_CYCLES - cycles;
        soc_send(&cycles, sizeof cycles);
        soc_send(&said, sizeof said);
        soc_send(tau, sizeof tau);
    }}
}}
"""


def tables(sources: dict[str, str], top: str) -> tuple[int, int]:
    """Look-up tables with carries, and registers, of an ECP5."""
    verilog = "".join(sources.values())
    with TemporaryDirectory() as name:
        synthesise(Path(name), sources, overrides(verilog, "ecp5"), SYNTHESIS, top)
        found = cells(Path(name))
    return found.get("LUT4", 0) + 2 * found.get("CCU2C", 0), found.get("TRELLIS_FF", 0)


def csr_bank(design: Design, shell: str, name: str) -> str:
    """Verilog of the module ``name``: a bank of LiteX's on its CSR bus, with what LiteX has of the module ``shell``,
    whose ports are those of the ``design``'s."""
    core = replace(register_core_of(design, bytes(range(16)), "csr", "0"), name=shell)
    scope: dict[str, Any] = {"__file__": ""}
    exec(litex_registers(core, "csr"), scope)
    module = scope[module_name(core)](SimpleNamespace(add_source=str))
    bus, irq = Interface(data_width=REGISTER_BITS), Signal(name="irq")
    module.bank = CSRBank(module.get_csrs(sort=True), bus=bus, address=1)
    module.comb += irq.eq(module.ev.irq)
    module.cd_sys = sys_clock = ClockDomain(name="sys")
    pins = {*bus.flatten(), irq, sys_clock.clk, sys_clock.rst}
    return str(convert(module, pins, name))


def logic(targets: Targets, args: argparse.Namespace) -> None:
    """The shell alone, around an engine of which only the ports are there, and what it adds to a whole one. With CSRs
    their bank of LiteX's, which decodes addresses and has interrupts, is counted in."""
    options = Options(functions=("id",), lanes=1, machine="engine", device="ecp5")
    design = compile_robot(load_robot("ur5"), options)
    resident = Resident(Core(1, 1))
    rows = []
    for what, hardware, text in (
        ("of one robot (ur5 id), 1 lane", design, design_verilog(design)),
        ("without a program, 1 lane", resident, engine_verilog(resident)),
    ):
        box = black_box(hardware)
        without, _ = tables({"engine.v": text}, hardware.name)
        for bus in REGISTER_BUSES:
            shell, top = (
                registers_verilog(hardware, bytes(range(16)), bus),
                register_name(hardware.name, bus),
            )
            if bus == "csr":
                bank = f"{top}_bank"
                shell, top = shell + csr_bank(design, top, bank), bank
            alone, registers = tables({"engine.v": box, "shell.v": shell}, top)
            whole, _ = tables({"engine.v": text, "shell.v": shell}, top)
            verdict = targets.at_most(max(alone, whole - without), MOST)
            rows.append([what, bus, alone, registers, without, whole, whole - without, verdict])
    head = ["engine", "bus", "shell alone, LUT4", "registers", "engine, LUT4", "both", "more", ""]
    section("Shells of registers as synthesised for ECP5", head, rows, keys=2)


def code(targets: Targets, args: argparse.Namespace) -> None:
    """Bytes of the driver, compiled for RV32IM."""
    rows = []
    for robot in ROBOTS:
        options = Options(functions=("id",), machine="engine", device="ecp5")
        manifest = manifest_of(compile_robot(load_robot(robot), options))
        sizes = {}
        for number, macro in (("float", ()), ("fixed", ("-DRBD_FIXED=16",))):
            with TemporaryDirectory() as name:
                folder = Path(name)
                files = embedded_files(manifest)
                for file, text in files.items():
                    (folder / file).write_text(text, encoding="utf-8")
                for file in files:
                    if file.endswith(".c"):
                        kind = "tables" if file.startswith("rbd_") else file.split("_")[1]
                        sizes[kind.removesuffix(".c"), number] = _bytes(folder / file, macro)
        row = [sizes[k, n] for n in ("float", "fixed") for k in ("embedded", "registers", "tables")]
        rows.append([robot, *row])
    parts = ("conversion, calls, loading", "registers", "tables")
    head = ["id of", *(f"{part}, {number}" for number in ("float", "fixed") for part in parts)]
    section(f"Bytes of the driver for bare metal, RV32IM, {COMPILER} -Os", head, rows, keys=1)


def _bytes(source: Path, macros: tuple[str, ...]) -> int:
    """Bytes of code and constants of a compiled file."""
    flags = ("-march=rv32im", "-mabi=ilp32", "-std=c99", "-ffreestanding", "-Os")
    made = source.with_suffix(".o")
    subprocess.run([COMPILER, *flags, *macros, "-c", str(source), "-o", str(made)], check=True)
    said = subprocess.run(
        [COMPILER.replace("gcc", "size"), str(made)], check=True, capture_output=True, text=True
    )
    return int(said.stdout.splitlines()[1].split()[0])


def latency(targets: Targets, args: argparse.Namespace) -> None:
    """Cycles of a call of ``id``, with floats, from the call to its return; torques compared bit by bit."""
    rows = []
    for robot in ROBOTS:
        for lanes in LANES:
            options = Options(functions=("id",), lanes=lanes, machine="engine", device="ecp5")
            design = compile_robot(load_robot(robot), options)
            promised = design.machine.latency("id", design.tasks)
            for core, bus in itertools.product(CORES, ("wishbone", "csr")):
                (first, *later), wrong = _called(design, core, bus)
                most = max(later)
                row = [promised, first, most, round(most / MEGAHERTZ, 1), targets.equal(wrong, 0)]
                rows.append([robot, lanes, core, bus, *row])
    head = [
        "id of",
        "lanes",
        "core",
        "bus",
        "cycles of the engine",
        "of the first call",
        "of later ones, at most",
    ]
    head += [f"us at {MEGAHERTZ} MHz", "torques differ in no bit"]
    section("A call as firmware sees it", head, rows, keys=4)


def _called(design: Design, core: str, bus: str) -> tuple[list[int], int]:
    """Cycles of each call, and how many calls gave other torques than the model."""
    manifest = manifest_of(design)
    with TemporaryDirectory() as name:
        folder = Path(name)
        joints = len(design.robot.joint_names)
        files = {
            "engine.v": design_verilog(design),
            "shell.v": registers_verilog(design, manifest.identity, bus),
            **embedded_files(manifest),
            "main.c": MAIN.format(name=manifest.name, joints=joints),
        }
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        rtl = [folder / "engine.v", folder / "shell.v"]
        top = register_name(design.name, bus)
        program = build_soft_core(core, rtl, top, folder / "sim", bus)
        sources = [folder / file for file in files if file.endswith(".c")]
        states = [
            x.astype(np.float32)
            for x in random_states(design.robot, declared_ranges(design.robot), CALLS, 3)
        ]
        expected = bit_true(design).rnea(*states).astype(np.float32)
        taken, wrong = [], 0
        with SoftCore(program, build_firmware(sources, folder)) as running:
            assert running.receive("<i4", 1)[0] == 0
            for k in range(CALLS):
                running.send(np.stack([x[k] for x in states]))
                cycles, said = running.receive("<i4", 2).tolist()
                tau = running.receive("<f4", joints)
                taken.append(cycles)
                wrong += said != 0 or not np.array_equal(tau, expected[k])
    return taken, wrong


PARTS: dict[str, Part] = {"logic": logic, "code": code, "latency": latency}


def main() -> int:
    """Measure what is asked for."""
    return measure(parse(arguments(__doc__, PARTS)), PARTS)


if __name__ == "__main__":
    sys.exit(main())
