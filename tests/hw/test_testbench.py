"""The testbench that is written beside a design: it passes in both simulators, and finds what is changed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from rbdgen import Design, Options, Target, UnsupportedError, compile_robot, load_robot
from rbdgen.functions.registry import common
from rbdgen.protocol.links import get_link
from rbdgen.protocol.tasks import FUNCTION_BITS, split_header
from rbdgen_hw.emit import axi_verilog, design_verilog
from rbdgen_hw.shells.link import SHELL_CYCLES
from rbdgen_hw.testbench import AXI, BARE
from rbdgen_hw.testbench import testbench_files as bench_files
from rbdgen_sim import verilator
from tests.conftest import design, few

MIXED = 120

DESIGNS = {
    "all": {"functions": common(), "ii": 4},
    "fast": {"functions": ("id", "fd"), "ii": 1, "device": "ecp5", "forces": True},
    "euler": {"functions": ("roll",), "ii": 3, "time_step": 0.005},
    "rk4": {"functions": ("fd", "roll"), "ii": 2, "time_step": 0.005, "integrator": "rk4"},
    "calibratable": {"functions": ("id", "m", "did"), "ii": 4, "calibratable": True},
    "one program": {"functions": ("id", "dfd"), "ii": 2, "programs": "one"},
    "moving base": {"functions": ("id", "dfd"), "ii": 2, "moving_base": True},
    "engine": {"functions": common(), "machine": "engine", "word": 32},
}


def write(kind: str, directory: Path) -> Design:
    d = design("pendulum2", **DESIGNS[kind])
    files = {f"{d.name}.v": design_verilog(d)} | bench_files(d, MIXED, BARE)
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    return d


def run(command: list[str], directory: Path) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def commands(directory: Path, name: str) -> dict[str, list[str]]:
    """The commands in the head of the bench by their first word."""
    text = (directory / f"{name}_tb.sv").read_text(encoding="utf-8")
    lines = re.findall(r"^//   \$ (.*)$", text, re.M)
    return {line.split()[0]: line.split() for line in lines}


def icarus(directory: Path, name: str, *options: str) -> tuple[int, str]:
    told = commands(directory, name)
    status, said = run(told["iverilog"], directory)
    assert status == 0, said
    plain = [word for word in told["vvp"] if not word.startswith("+")]
    return run([*plain, *options], directory)


@pytest.mark.slow
@pytest.mark.parametrize("kind", few(DESIGNS, "all", "calibratable"))
def test_it_passes_in_icarus(kind: str, tmp_path: Path) -> None:
    d = write(kind, tmp_path)
    for options in ((), ("+seed=7",), ("+stalls=0",)):
        status, said = icarus(tmp_path, d.name, *options)
        assert status == 0, said
        assert re.search(r"^PASS \d+ tasks$", said, re.M), said


@pytest.mark.thorough
@pytest.mark.slow
def test_cores_that_get_tasks_in_turn_pass_in_icarus(tmp_path: Path) -> None:
    options = Options(functions=("id", "fd"), machine="engine", cores=3)
    target = Target(link=get_link("serial"))
    d = compile_robot(load_robot("pendulum2"), options, target=target)
    files = {f"{d.name}.v": design_verilog(d)} | bench_files(d, MIXED, BARE)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, said = icarus(tmp_path, d.name)
    assert status == 0, said
    assert re.search(r"^PASS \d+ tasks$", said, re.M), said


def test_the_axi_shell_passes_in_icarus(tmp_path: Path) -> None:
    """Functions whose codes are the headers' bits after a reset, so that some blocks' inputs do not change at first."""
    d = design("pendulum2", functions=("id", "m"), ii=2)
    files = bench_files(d, MIXED, AXI)
    files |= {f"{d.name}.v": design_verilog(d), f"{d.name}_axi.v": axi_verilog(d, bytes(16))}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    status, said = icarus(tmp_path, f"{d.name}_axi")
    assert status == 0, said
    assert re.search(r"^PASS \d+ tasks$", said, re.M), said
    latency = d.promised_latency("id") + SHELL_CYCLES
    assert f"  id       promised {latency:5d}," in said


@pytest.mark.thorough
@pytest.mark.slow
def test_it_passes_in_verilator(tmp_path: Path) -> None:
    d = write("all", tmp_path)
    told = commands(tmp_path, d.name)
    built = verilator.run(told["verilator"][1:], tmp_path)
    assert built.returncode == 0, built.stdout
    program = str(tmp_path / told[f"obj_dir/V{d.name}_tb"][0])
    for options in ((), ("+seed=7",), ("+stalls=0",)):
        status, said = run([program, *options], tmp_path)
        assert status == 0, said
        assert re.search(r"^PASS \d+ tasks$", said, re.M), said
    changed = change(tmp_path, d.name)
    status, said = run([program], tmp_path)
    assert status != 0
    assert changed in said


def change(directory: Path, name: str) -> str:
    """Flip the highest bit of the first beat of a result; what the bench must say of it."""
    path = directory / f"{name}_tb_results.hex"
    lines = path.read_text(encoding="utf-8").splitlines()
    places = [k for k, line in enumerate(lines) if "// m, task" in line]
    place = places[len(places) // 2]
    beat, comment = lines[place].split(" ", 1)
    function, number = re.findall(r"// (\w+), task (\d+)", comment)[0]
    # the lowest digit of the tag
    changed = f"{int(beat, 16) ^ 1 << FUNCTION_BITS:0{len(beat)}x}"
    lines[place] = f"{changed} {comment}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tag = split_header(int(changed, 16))[1]
    return f"MISMATCH {function}, task {number}, tag {tag}, beat 1 of 2: expected {changed}, got {beat}"


@pytest.mark.slow
def test_it_names_what_differs(tmp_path: Path) -> None:
    d = write("calibratable", tmp_path)
    changed = change(tmp_path, d.name)
    status, said = icarus(tmp_path, d.name)
    assert status != 0
    assert changed in said
    assert re.search(r"^FAIL: 1 beats of \d+ tasks differ, 0 figures", said, re.M)


def test_it_says_when_nothing_moves(tmp_path: Path) -> None:
    """A design that never answers."""
    d = write("euler", tmp_path)
    path = tmp_path / f"{d.name}.v"
    text = path.read_text(encoding="utf-8")
    dead = text.replace(f"module {d.name}(", "module unused(", 1)
    bits = d.tasks.task.beat_bits, d.tasks.result.beat_bits
    dead += (
        f"module {d.name}(input clk, input rst, input in_valid, output in_ready, input [{bits[0] - 1}:0] in_payload,\n"
        f"  output out_valid, input out_ready, output [{bits[1] - 1}:0] out_payload);\n"
        "  assign in_ready = 1; assign out_valid = 0; assign out_payload = 0;\nendmodule\n"
    )
    path.write_text(dead, encoding="utf-8")
    status, said = icarus(tmp_path, d.name)
    assert status != 0
    assert re.search(
        r"^FAIL: no beat moved in \d+ cycles; 1 of \d+ tasks were sent, 0 answered$", said, re.M
    )


def test_it_says_when_its_vectors_are_missing(tmp_path: Path) -> None:
    d = write("euler", tmp_path)
    (tmp_path / f"{d.name}_tb_results.hex").unlink()
    status, said = icarus(tmp_path, d.name)
    assert status != 0
    assert f"FAIL: the vectors {d.name}_tb_*.hex are not in this folder" in said


def test_several_accelerators_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="testbench: drives one accelerator, not 2 behind"):
        bench_files(design("pendulum2", replicas=2), MIXED, BARE)


def test_all_kinds_of_tasks_are_there() -> None:
    d = design("pendulum2", **DESIGNS["calibratable"])
    files = bench_files(d, MIXED, BARE)
    assert files == bench_files(d, MIXED, BARE)
    expected = re.findall(r"^(\w+) // (\w+), task", files[f"{d.name}_tb_results.hex"], re.M)
    seen = {(name, d.tasks.header(int(beat, 16))[2]) for beat, name in expected}
    wanted = {("id", 0), ("id", 2), ("m", 0), ("did", 0), ("unknown", 4), ("load", 0), ("load", 2)}
    assert wanted <= seen
