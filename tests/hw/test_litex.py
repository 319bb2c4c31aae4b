"""The LiteX module in real SoCs: the example of its docstring on every bus, its registers read and a task answered."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.soc.interconnect import wishbone
from migen.genlib.io import CRG

from rbdgen import Design
from rbdgen.protocol.registers import Register, RegisterEntry, stream_bits
from rbdgen.report.design import design_identity
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import core_of, ip_files
from rbdgen_hw.packaging.litex import litex, module_name
from rbdgen_hw.testbench.vectors import make_vectors
from rbdgen_sim import verilator
from tests.conftest import design

VERSION = "1.2.3"
EPOCH = 0x1234_5678
LATER = (Register.EPOCH, Register.TASKS, Register.RESULTS, Register.ERRORS, Register.IN_WORK)
"""Registers that are read once more when a task has been answered."""
BUSES = ("wishbone", "axi-lite", "axi")
# a host reads and writes words by wishbone, and LiteX adapts it to the SoC's bus
BENCH = """\
module bench_{number}(input clk, output reg done);
  reg [29:0] adr = 0;
  reg [31:0] dat_w = 0;
  reg cyc = 0, we = 0;
  wire [31:0] dat_r;
  wire ack, err;
  reg [{task_bits}-1:0] task_data = 0;
  reg task_valid = 0, task_last = 0;
  wire task_ready, result_valid, result_last;
  wire [{result_bits}-1:0] result_data;

  soc_{number} dut (
    .sys_clk(clk), .host_adr(adr), .host_dat_w(dat_w), .host_dat_r(dat_r), .host_sel(4'hf), .host_cyc(cyc),
    .host_stb(cyc), .host_ack(ack), .host_we(we), .host_cti(3'd0), .host_bte(2'd0), .host_err(err),
    .task_data(task_data), .task_valid(task_valid), .task_last(task_last), .task_ready(task_ready),
    .result_data(result_data), .result_valid(result_valid), .result_last(result_last), .result_ready(1'b1)
  );

  task transfer(input write, input [31:0] address, input [31:0] value);
    begin
      @(negedge clk);
      adr = address[31:2];
      dat_w = value;
      we = write;
      cyc = 1;
      @(posedge clk);
      while (!ack && !err) @(posedge clk);
      $display("{number} %0s %h %h", err ? "error" : write ? "wrote" : "read", address, dat_r);
      @(negedge clk) cyc = 0;
      @(negedge clk);
    end
  endtask

  task send(input [{task_bits}-1:0] beat, input last);
    begin
      @(negedge clk);
      task_data = beat;
      task_last = last;
      task_valid = 1;
      @(posedge clk);
      while (!task_ready) @(posedge clk);
      @(negedge clk) task_valid = 0;
    end
  endtask

  always @(posedge clk) if (result_valid) $display("{number} result %h %0d", result_data, result_last);

  initial begin
    done = 0;
    repeat (10) @(posedge clk);
{script}
    done = 1;
  end
endmodule
"""
TOP = """\
`timescale 1ns / 1ps
module bench;
  reg clk = 0;
  always #5 clk = ~clk;
  wire [{most}:0] done;
{instances}
  always @(posedge clk) if (&done) $finish;
  initial #1000000 $fatal(1, "no end");
endmodule
"""


@dataclass(frozen=True)
class Soc:
    """What a SoC's bench printed: registers that were read, by offset, with their values; how many accesses were
    errors; and beats of results with TLAST."""

    reads: list[tuple[int, int]]
    errors: int
    results: list[tuple[int, int]]


@pytest.fixture(scope="module")
def accelerator() -> Design:
    return design("pendulum2", functions=("id", "m"), ii=2)


@pytest.fixture(scope="module")
def entries(accelerator: Design) -> tuple[RegisterEntry, ...]:
    """The registers as they are packaged."""
    identity = design_identity(accelerator, design_verilog(accelerator), VERSION)
    return core_of(accelerator, identity, VERSION).registers


@pytest.fixture(scope="module")
def folder(accelerator: Design, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The IP core's files."""
    path = tmp_path_factory.mktemp("ip")
    for name, text in ip_files(accelerator, design_verilog(accelerator), VERSION, 1).items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def example(wrapper: str) -> str:
    """The example in the docstring of the wrapper's class."""
    (found,) = (node for node in ast.parse(wrapper).body if isinstance(node, ast.ClassDef))
    documentation = ast.get_docstring(found) or ""
    _, code = documentation.split("::\n", 1)
    return textwrap.dedent(code)


def platform(tasks: int, results: int) -> Any:
    """A chip with a clock, a bus, and both streams among its pins."""
    pins = [("sys_clk", 0, Pins(1))]
    for name, bits in (("task", tasks), ("result", results)):
        pins.append((f"{name}_data", 0, Pins(bits)))
        pins += [(f"{name}_{signal}", 0, Pins(1)) for signal in ("valid", "ready", "last")]
    return SimPlatform("SIM", pins)


def hosted(made: type, chip: Any, bus: str) -> Any:
    """The example's SoC on one of LiteX's buses, with a clock and a host among its pins."""
    soc = made(chip, 1_000_000, bus_standard=bus)
    soc.submodules.crg = CRG(chip.request("sys_clk"))
    host = wishbone.Interface(data_width=32, address_width=32, addressing="word")
    chip.add_extension(host.get_ios("host"))
    soc.comb += host.connect_to_pads(chip.request("host"), mode="slave")
    soc.bus.add_master("host", host)
    return soc


def verilog_of(soc: Any, chip: Any, name: str) -> tuple[str, int]:
    """A SoC's Verilog, and where the registers begin."""
    soc.finalize()
    return str(chip.get_verilog(soc, name=name)), soc.bus.regions["dynamics"].origin


def soc_verilog(made: type, chip: Any, bus: str, name: str) -> tuple[str, int]:
    """Verilog of the example's SoC on one of LiteX's buses, with a host on it; and where the registers begin."""
    soc = hosted(made, chip, bus)
    sink, source = soc.dynamics.sink, soc.dynamics.source
    for signal in ("data", "valid", "last"):
        soc.comb += getattr(sink, signal).eq(chip.request(f"task_{signal}"))
        soc.comb += chip.request(f"result_{signal}").eq(getattr(source, signal))
    soc.comb += [
        chip.request("task_ready").eq(sink.ready),
        source.ready.eq(chip.request("result_ready")),
    ]
    return verilog_of(soc, chip, name)


def soc_class(folder: Path, module: str) -> type:
    """The class of the example in a module's docstring, run as it stands."""
    text = (folder / f"{module}.py").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        exec(compile(example(text), "example.py", "exec"), scope)
    del sys.modules[module]
    return scope["SoC"]


def bench_script(base: int, entries: tuple[RegisterEntry, ...], task: tuple[int, ...]) -> list[str]:
    """What a bench does: read all registers, write one, send a task, read some again."""
    lines = [f"transfer(0, {base + entry.address}, 0);" for entry in entries]
    lines.append(f"transfer(1, {base + Register.EPOCH}, {EPOCH});")
    for place, beat in enumerate(task, 1):
        lines.append(f"send('h{beat:x}, {int(place == len(task))});")
    lines.append("repeat (50) @(posedge clk);")
    return lines + [f"transfer(0, {base + register}, 0);" for register in LATER]


@pytest.fixture(scope="module")
def socs(
    accelerator: Design,
    entries: tuple[RegisterEntry, ...],
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Soc]:
    """All SoCs in one simulation, by bus."""
    d = accelerator
    tasks, results = stream_bits(d.tasks.task), stream_bits(d.tasks.result)
    made = soc_class(folder, f"{d.name}_axi_litex")
    (trial, *_) = make_vectors(d, 0, 3).lone
    sources: set[Path] = set()
    bases = []
    texts = []
    instances = []
    for number, bus in enumerate(BUSES):
        chip = platform(tasks, results)
        soc, base = soc_verilog(made, chip, bus, f"soc_{number}")
        bases.append(base)
        sources |= {Path(source[0]) for source in chip.sources}
        script = "\n".join(bench_script(base, entries, trial.task))
        bench = BENCH.format(number=number, task_bits=tasks, result_bits=results, script=script)
        texts += [bench, soc]
        instances.append(f"  bench_{number} b{number}(clk, done[{number}]);")
    assert {source.name for source in sources} == {f"{d.name}.v", f"{d.name}_axi.v"}
    top = TOP.format(most=len(BUSES) - 1, instances="\n".join(instances))
    work = tmp_path_factory.mktemp("socs")
    (work / "bench.sv").write_text("\n".join([top, *texts]), encoding="utf-8")
    said = simulate(work, sorted(sources))
    found = {}
    for number, bus in enumerate(BUSES):
        lines = [words[1:] for words in said if words[0] == str(number)]
        found[bus] = outcome(lines, bases[number])
    return found


def simulate(work: Path, sources: list[Path]) -> list[list[str]]:
    """What the bench prints, in words. LiteX's combinational blocks assign without blocking, and some read what they
    assign: Icarus never comes to an end with them, so that this needs Verilator as LiteX's own simulations do."""
    options = [
        "--binary",
        "--timing",
        "-Wno-lint",
        "-Wno-style",
        "-Wno-fatal",
        "--top-module",
        "bench",
    ]
    built = verilator.run([*options, "bench.sv", *map(str, sources)], work)
    assert built.returncode == 0, built.stdout
    done = subprocess.run(
        [str(work / "obj_dir/Vbench")], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout
    return [line.split() for line in done.stdout.splitlines() if re.match(r"\d ", line)]


def outcome(lines: list[list[str]], base: int) -> Soc:
    """What a SoC's bench printed."""
    reads = [(int(at, 16) - base, int(value, 16)) for kind, at, value in lines if kind == "read"]
    results = [(int(value, 16), int(last)) for kind, value, last in lines if kind == "result"]
    return Soc(reads, sum(kind == "error" for kind, *_ in lines), results)


@pytest.mark.thorough
@pytest.mark.parametrize("bus", BUSES)
def test_the_example_answers_on_every_bus(
    bus: str, socs: dict[str, Soc], entries: tuple[RegisterEntry, ...], accelerator: Design
) -> None:
    soc = socs[bus]
    assert soc.errors == 0
    first, second = soc.reads[: len(entries)], soc.reads[len(entries) :]
    assert [address for address, _ in first] == [entry.address for entry in entries]
    for entry, (_, value) in zip(entries, first, strict=True):
        if entry.name == Register.CYCLES.name:
            assert value > 0
        else:
            assert value == entry.reset, entry.name
    assert second == [
        (Register.EPOCH, EPOCH),
        (Register.TASKS, 1),
        (Register.RESULTS, 1),
        (Register.ERRORS, 0),
        (Register.IN_WORK, 0),
    ]
    (trial, *_) = make_vectors(accelerator, 0, 3).lone
    assert [beat for beat, _ in soc.results] == list(trial.result)
    assert [last for _, last in soc.results] == [0] * (len(trial.result) - 1) + [1]


def test_every_port_is_connected_once(accelerator: Design) -> None:
    core = core_of(accelerator, bytes(16), VERSION)
    pins = re.findall(r"^ +([io])_(\w+)=", litex(core), re.M)
    expected = [("o" if port.out else "i", port.name) for port in core.ports]
    assert sorted(pins) == sorted(expected)
    assert module_name(core) == "RbdPendulum2IdMAxi"
