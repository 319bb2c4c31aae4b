"""For FPGA engineers: the accelerator as an IP in a Verilog design, with a testbench that proves the hook-up.

    python examples/drop_in_ip.py [ROBOT] [-o DIR]

Writes into DIR: the accelerator with its manifest; `my_design.v`, which instantiates it between two AXI4-Stream ports
and names every port; and `testbench.v`, which sends a few tasks. Runs the testbench with Icarus Verilog if that is
installed, and compares what comes out with the float64 model.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import numpy as np

import rbdgen
from rbdgen import Design, Options, golden
from rbdgen.installation import release
from rbdgen.report.files import write_design
from rbdgen_hw.emit import design_verilog

MY_DESIGN = """\
// The accelerator between two AXI4-Stream ports: tdata is a beat, a beat moves when tvalid and tready are high.
// There is no tlast: a packet's length follows from the function code in its first beat (manifest.json).
module my_design (
    input  wire aclk, input wire aresetn,
    input  wire [{task_bits}:0] s_axis_tdata, input wire s_axis_tvalid, output wire s_axis_tready,
    output wire [{result_bits}:0] m_axis_tdata, output wire m_axis_tvalid, input wire m_axis_tready
);
    {name} accelerator (
        .clk(aclk), .rst(~aresetn),
        .in_payload(s_axis_tdata), .in_valid(s_axis_tvalid), .in_ready(s_axis_tready),
        .out_payload(m_axis_tdata), .out_valid(m_axis_tvalid), .out_ready(m_axis_tready)
    );
endmodule
"""

TESTBENCH = """\
`timescale 1ns / 1ps
module testbench;
    reg clk = 0, resetn = 0, valid = 0;
    reg [{task_bits}:0] beats [0:{last_beat}];
    reg [{task_bits}:0] data = 0;
    wire ready, out_valid;
    wire [{result_bits}:0] out_data;
    integer sent = 0, received = 0, cycles = 0;

    my_design dut (
        .aclk(clk), .aresetn(resetn),
        .s_axis_tdata(data), .s_axis_tvalid(valid), .s_axis_tready(ready),
        .m_axis_tdata(out_data), .m_axis_tvalid(out_valid), .m_axis_tready(1'b1)
    );

    always #4 clk = ~clk;

    initial begin
        $readmemh("tasks.hex", beats);
        repeat (4) @(posedge clk);
        resetn <= 1;
    end

    always @(posedge clk) begin
        cycles <= cycles + 1;
        if (resetn && (ready || !valid)) begin
            valid <= sent <= {last_beat};
            if (sent <= {last_beat}) data <= beats[sent];
            sent <= sent + 1;
        end
        if (out_valid) begin
            $display("beat %h", out_data);
            received <= received + 1;
            if (received == {results} - 1) $finish;
        end
        if (cycles == 10000) begin
            $display("no answer");
            $finish;
        end
    end
endmodule
"""


def write_ip(
    design: Design, robot: str, folder: Path, beats: list[int], results: int
) -> list[Path]:
    """The accelerator's files and the design around it; the Verilog sources among them."""
    files = write_design(design, design_verilog(design), folder, robot, release(), {})
    numbers = {
        "name": design.name,
        "task_bits": design.tasks.task.beat_bits - 1,
        "result_bits": design.tasks.result.beat_bits - 1,
        "last_beat": len(beats) - 1,
        "results": results,
    }
    for name, text in (("my_design.v", MY_DESIGN), ("testbench.v", TESTBENCH)):
        (folder / name).write_text(text.format(**numbers))
    (folder / "tasks.hex").write_text("\n".join(f"{beat:x}" for beat in beats) + "\n")
    return [files[0], folder / "my_design.v", folder / "testbench.v"]


def main() -> None:
    """Write, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "robot", nargs="?", default="pendulum2", help="a built-in robot or a URDF (pendulum2)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/drop_in_ip"), help="where to write"
    )
    args = parser.parse_args()

    robot = rbdgen.load_robot(args.robot)
    design = rbdgen.compile_robot(robot, Options(functions=("id",), ii=4, error={"all": 1e-5}))
    fmt, words = design.tasks.functions["id"], design.network.operand_words("id")

    # a task is its header (function code and tag) and one word per operand, in the manifest's order
    q, v, a = golden.random_states(robot, golden.declared_ranges(robot), 5, seed=1)
    raw = fmt.quantise([{"q": q, "v": v, "a": a}[w.vector][:, w.index[0]] for w in words])
    packets = design.tasks.pack("id", np.arange(5), raw)
    results = 5 * design.tasks.result_beats("id")
    sources = write_ip(
        design, args.robot, args.output, [beat for packet in packets for beat in packet], results
    )
    print("wrote", *sources, sep="\n  ")

    if shutil.which("iverilog") is None:
        print("Icarus Verilog is not installed: the testbench is not run")
        return
    subprocess.run(
        ["iverilog", "-g2005", "-o", "testbench", *(s.name for s in sources)],
        cwd=args.output,
        check=True,
    )
    run = subprocess.run(
        ["vvp", "testbench"], cwd=args.output, check=True, capture_output=True, text=True
    )
    beats = [
        int(line.split()[1], 16) for line in run.stdout.splitlines() if line.startswith("beat ")
    ]
    answer = design.tasks.unpack("id", design.tasks.split(beats))
    tau = np.stack(
        [r.format.real(x) for r, x in zip(fmt.results, answer.values, strict=True)], axis=-1
    )
    exact = golden.rnea(robot, q, v, a)
    print(f"tags {answer.tag.tolist()}, flags {answer.flags.tolist()}")
    print(
        f"largest error / largest torque: {np.max(np.abs(tau - exact)) / np.max(np.abs(exact)):.1e}"
    )


if __name__ == "__main__":
    main()
