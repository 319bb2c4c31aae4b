"""The LiteX module of the shell of registers in real SoCs: the example of its docstring, on all of its buses and on
LiteX's own, by a host that sends a task through it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.soc.integration.export import get_csr_header

from rbdgen import Design
from rbdgen.emulation import bit_true_shell
from rbdgen.protocol.registers import RegisterEntry, constants
from rbdgen.protocol.task_registers import REGISTER_BUSES, Status, TaskRegister
from rbdgen.report.design import design_identity
from rbdgen_hw.emit import design_verilog
from rbdgen_hw.packaging import register_core_of, register_ip_files
from tests.conftest import design
from tests.hw.test_litex import TOP, hosted, simulate, soc_class

VERSION = "1.2.3"
SOCS = [(bus, standard) for bus in REGISTER_BUSES for standard in ("wishbone", "axi-lite")]
"""Buses of the core, and of the SoC that it is in."""
BENCH = """\
module bench_{number}(input clk, output reg done);
  reg [29:0] adr = 0;
  reg [31:0] dat_w = 0, value = 0;
  reg cyc = 0, we = 0;
  wire [31:0] dat_r;
  wire ack, err, irq;
  soc_{number} dut (
    .sys_clk(clk), .host_adr(adr), .host_dat_w(dat_w), .host_dat_r(dat_r), .host_sel(4'hf), .host_cyc(cyc),
    .host_stb(cyc), .host_ack(ack), .host_we(we), .host_cti(3'd0), .host_bte(2'd0), .host_err(err), .dynamics_irq(irq)
  );
  task transfer(input write, input [31:0] address, input [31:0] given, input told);
    begin
      @(negedge clk);
      adr = address[31:2];
      dat_w = given;
      we = write;
      cyc = 1;
      @(posedge clk);
      while (!ack && !err) @(posedge clk);
      value = dat_r;
      if (told) $display("{number} %0s %h %h", err ? "error" : write ? "wrote" : "read", address, dat_r);
      @(negedge clk) cyc = 0;
      @(negedge clk);
    end
  endtask
  initial begin
    done = 0;
    repeat (10) @(posedge clk);
{script}
    done = 1;
  end
endmodule
"""


@pytest.fixture(scope="module")
def accelerator() -> Design:
    return design("pendulum2", functions=("id", "m"), machine="engine", word=32)


def packets(d: Design) -> tuple[list[int], list[int]]:
    """A task and its answer."""
    f = d.tasks.functions["id"]
    raw = np.random.default_rng(1).integers(*f.limits, len(f.operands)) // 4
    (task,) = d.tasks.pack("id", np.array([5]), [np.array([x]) for x in raw])
    model = bit_true_shell(d)
    model.keep(np.array(task, "<u4").tobytes())
    model.work()
    return task, np.frombuffer(model.answers.pop(), "<u4").tolist()


def script(base: int, entries: tuple[RegisterEntry, ...], task: list[int], answers: int) -> str:
    """What a bench does: read what never changes, ask for an interrupt, send a task, wait, read its answer. It asks for
    room and for words before each access, as not every bus waits for them."""
    lines = [f"transfer(0, {base + e.address}, 0, 1);" for e, _ in constants(entries)]
    lines.append(f"transfer(1, {base + TaskRegister.INTERRUPTS}, {int(Status.RESULT)}, 1);")
    told = f"transfer(0, {base + TaskRegister.STATUS}, 0, 0);"
    for k, word in enumerate(task):
        at = TaskRegister.TASK_LAST if k + 1 == len(task) else TaskRegister.TASK
        lines.append(f"do {told} while (!value[2]);")
        lines.append(f"transfer(1, {base + at}, 32'h{word:x}, 1);")
    lines.append("wait (irq);")
    for k in range(answers):
        at = TaskRegister.RESULT_LAST if k + 1 == answers else TaskRegister.RESULT
        lines.append(f"do {told} while (!value[0]);")
        lines.append(f"transfer(0, {base + at}, 0, 1);")
    lines.append(f"transfer(0, {base + TaskRegister.REFUSED}, 0, 1);")
    return "\n".join(lines)


def soc_verilog(
    made: type, chip: Any, standard: str, name: str, entries: tuple[RegisterEntry, ...]
) -> tuple[str, int]:
    """Verilog of the example's SoC with a host on it; and where the registers begin, by LiteX's header in C where it
    has them among its CSRs."""
    soc = hosted(made, chip, standard)
    soc.comb += chip.request("dynamics_irq").eq(soc.dynamics.irq)
    soc.finalize()
    text = str(chip.get_verilog(soc, name=name))
    if "dynamics" in soc.bus.regions:
        return text, soc.bus.regions["dynamics"].origin
    header = get_csr_header(soc.csr.regions, soc.constants, with_csr_base_define=False)
    found = dict(re.findall(r"#define (CSR_DYNAMICS_\w+) (0x[0-9a-f]+)L", header))
    base = int(found["CSR_DYNAMICS_BASE"], 16)
    for entry in entries:
        assert int(found[f"CSR_DYNAMICS_{entry.name}_ADDR"], 16) == base + entry.address
    return text, base


@pytest.mark.thorough
def test_the_example_answers_on_every_bus(accelerator: Design, tmp_path: Path) -> None:
    d, verilog = accelerator, design_verilog(accelerator)
    task, answer = packets(d)
    texts, instances, bases, maps = [], [], [], []
    sources: set[Path] = set()
    for number, (bus, standard) in enumerate(SOCS):
        folder = tmp_path / bus
        files = register_ip_files(d, verilog, bus, VERSION)
        core = register_core_of(d, design_identity(d, verilog, VERSION), bus, VERSION)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        made = soc_class(folder, f"{core.name}_litex")
        chip = SimPlatform("SIM", [("sys_clk", 0, Pins(1)), ("dynamics_irq", 0, Pins(1))])
        soc, base = soc_verilog(made, chip, standard, f"soc_{number}", core.registers)
        own = {Path(source[0]) for source in chip.sources}
        assert {source.name for source in own} == {*core.files}
        sources |= {s for s in own if s.name not in {t.name for t in sources}}
        calls = script(base, core.registers, task, len(answer))
        texts += [BENCH.format(number=number, script=calls), soc]
        instances.append(f"  bench_{number} b{number}(clk, done[{number}]);")
        bases.append(base)
        maps.append(core.registers)
    top = TOP.format(most=len(SOCS) - 1, instances="\n".join(instances))
    (tmp_path / "bench.sv").write_text("\n".join([top, *texts]), encoding="utf-8")
    said = simulate(tmp_path, sorted(sources))
    for number, base in enumerate(bases):
        lines = [words[1:] for words in said if words[0] == str(number)]
        assert not [words for words in lines if words[0] == "error"]
        reads = [(int(at, 16) - base, int(v, 16)) for kind, at, v in lines if kind == "read"]
        fixed = [(entry.address, value) for entry, value in constants(maps[number])]
        found = [value for _, value in reads[len(fixed) :]]
        assert reads[: len(fixed)] == fixed
        assert found == [*answer, 0]
