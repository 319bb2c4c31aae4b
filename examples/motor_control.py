"""Computed torque at 10 kHz beside a motor controller: a soft core with an engine on its bus, in simulation.

    python examples/motor_control.py [--core vexriscv] [--clock 50] [--seconds 0.1] [-o build/motor_control]

Firmware in C (motor_control.c) on a VexRiscv or a PicoRV32 calls the engine's inverse dynamics of a ur5 by the driver
for bare metal, closes the loop, and counts cycles. Core, engine and bus are RTL in Verilator. The robot moves in
float64 in this process: torques act as late as the firmware takes to have them, at the clock that is given in MHz.
It needs gcc-riscv64-unknown-elf.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from rbdgen import Options, Robot, compile_robot, golden, load_robot
from rbdgen.emulation import manifest_of
from rbdgen.errors import ConfigError, ToolError
from rbdgen.host.embedded import embedded_files
from rbdgen_hw.emit import design_verilog, registers_verilog
from rbdgen_sim.soft_core import CORES, SoftCore, build_firmware, build_soft_core

FRACTION = 16
"""Bits behind the point of the firmware's numbers."""
PERIOD = 1e-4
FIRMWARE = Path(__file__).with_name("motor_control.c")
SWING, FREQUENCY = 0.2, 2.0
"""Of each joint, in rad and Hz."""
START = np.array([0.3, -1.2, 1.4, -0.4, 0.5, 0.1])
OFFSET = 0.02
"""By which the robot stands beside its setpoint at first, in rad."""
REPORT = np.dtype(
    [("tau", "<i4", 6), ("said", "<i4"), ("call", "<u4"), ("period", "<u4")],
)
"""``struct report`` of the firmware."""


def build(core: str, folder: Path) -> tuple[Path, Path]:
    """The simulated core with the engine, and the firmware."""
    options = Options(functions=("id",), machine="engine", device="ecp5")
    design = compile_robot(load_robot("ur5"), options)
    manifest = manifest_of(design)
    folder.mkdir(parents=True, exist_ok=True)
    verilog = {
        "engine.v": design_verilog(design),
        "shell.v": registers_verilog(design, manifest.identity, "wishbone"),
    }
    driver = embedded_files(manifest)
    for name, text in (verilog | driver).items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [folder / name for name in driver if name.endswith(".c")]
    firmware = build_firmware(
        [FIRMWARE, *sources], folder, (f"-DRBD_FIXED={FRACTION}", f"-I{folder}")
    )
    rtl = [folder / name for name in verilog]
    return build_soft_core(core, rtl, f"{design.name}_wishbone", folder / core), firmware


def wanted(time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of each joint's setpoint: it swings to one side and back."""
    rate = 2.0 * np.pi * FREQUENCY
    ones = np.ones_like(START)
    half = 0.5 * SWING
    q = START + half * (1.0 - np.cos(rate * time))
    return (
        q,
        half * rate * np.sin(rate * time) * ones,
        half * rate**2 * np.cos(rate * time) * ones,
    )


def moved(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """The robot so much later, under constant torques."""
    a = golden.forward_dynamics(robot, q, v, tau)
    return q + seconds * v + 0.5 * seconds**2 * a, v + seconds * a


def control(core: SoftCore, clock: float, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """The firmware's reports, and the error of each joint over time (ticks, joints) in rad."""
    opened = int(core.receive("<i4", 1)[0])
    if opened:
        raise ToolError(f"firmware: cannot open the engine: {opened}")
    robot = load_robot("ur5")
    q, v = START + OFFSET, np.zeros_like(START)
    tau = np.zeros_like(START)
    reports, errors = [], []
    for tick in range(round(seconds / PERIOD)):
        setpoint = wanted(tick * PERIOD)
        errors.append(q - setpoint[0])
        state = np.stack([q, v, *setpoint])
        core.send(np.round(state * 2.0**FRACTION).astype("<i4"))
        report = core.receive("u1", REPORT.itemsize).view(REPORT)[0]
        reports.append(report)
        late = min(float(report["period"]) / clock, PERIOD)
        q, v = moved(robot, q, v, tau, late)
        tau = report["tau"] / 2.0**FRACTION
        q, v = moved(robot, q, v, tau, PERIOD - late)
    return np.array(reports, REPORT), np.array(errors)


def main() -> int:
    """Build, run, say how well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--core", choices=CORES, default="vexriscv", help="the soft core")
    parser.add_argument("--clock", type=float, default=50.0, metavar="MHZ", help="its clock (50)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of motion (0.1)")
    parser.add_argument("-o", "--output", type=Path, help="where to build (a folder for the run)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            program, firmware = build(args.core, args.output or Path(scratch))
            with SoftCore(program, firmware) as core:
                reports, errors = control(core, 1e6 * args.clock, args.seconds)
        except (ConfigError, ToolError) as error:
            print(error, file=sys.stderr)
            return 2
    said = reports["said"]
    budget = PERIOD * 1e6 * args.clock
    microseconds = 1.0 / args.clock
    # the first one fills the core's caches
    first, later = int(reports["call"][0]), int(reports["call"][1:].max(initial=0))
    period = int(reports["period"].max())
    print(f"{len(reports)} periods of {1e6 * PERIOD:g} us on {args.core} at {args.clock:g} MHz")
    print(
        f"id as firmware sees it: {later} cycles, {later * microseconds:.1f} us; at first {first}"
    )
    print(f"from the state to torques: {period} of {budget:.0f} cycles at most")
    print(f"calls with flags: {np.count_nonzero(said)}")
    print(f"largest error at first: {np.abs(errors[0]).max():.6f} rad")
    print(f"largest error at last: {np.abs(errors[-1]).max():.6f} rad")
    return 0 if period <= budget and not said.any() else 1


if __name__ == "__main__":
    sys.exit(main())
