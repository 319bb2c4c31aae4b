"""A self-checking testbench in SystemVerilog for a design, which needs nothing but a simulator: a template with the
design's numbers in its places, and vectors in hexadecimal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from rbdgen.compiler import Design
from rbdgen.errors import UnsupportedError
from rbdgen.protocol.registers import ADDRESS_BITS, stream_bits
from rbdgen.protocol.tasks import CALIBRATE, FUNCTION_BITS, TAG_BITS
from rbdgen_hw.shells.link import SHELL_CYCLES
from rbdgen_hw.testbench.vectors import LOAD, RATED, Trial, Vectors, make_vectors

FOLDER = Path(__file__).parent
TEMPLATE = FOLDER / "bench.sv"
"""The bench but for what is this design's."""
BARE, AXI = "", "_axi"
"""Ends of the top module's name, by what the bench is connected to: the accelerator itself, or its AXI shell."""
INSTANCES = {BARE: FOLDER / "bare.svh", AXI: FOLDER / "axi.svh"}
"""Files with the text of the connection."""
PATIENCE = 20_000
"""Cycles without a beat until the bench gives up, beyond ten times what the slowest task takes."""


class _Template(Template):
    """Text with places such as ``@@{name}``: ``$`` and ``@`` are SystemVerilog's."""

    delimiter = "@@"


def hexadecimal(packets: Iterable[tuple[Trial, tuple[int, ...]]], bits: int) -> str:
    """Text for ``$readmemh`` of packets of beats of so many ``bits``. A comment behind a packet's first beat says which
    task it is of."""
    digits = -(-bits // 4)
    lines = []
    for trial, beats in packets:
        numbers = [f"{beat:0{digits}x}" for beat in beats]
        numbers[0] += f" // {trial.name}, task {trial.number}"
        lines += numbers
    return "\n".join(lines) + "\n"


def bench_text(design: Design, vectors: Vectors, shell: str) -> str:
    """The bench's SystemVerilog, whose module is ``<name>_tb``, or ``<name>_axi_tb`` around the AXI shell."""
    template = _Template(TEMPLATE.read_text(encoding="utf-8"))
    tables = _by_code(design, vectors) | _lone(design, vectors, shell) | _rated(design)
    cases = {}
    for function, values in tables.items():
        cases[function] = _cases(function, values)
    top = _top(design, shell)
    return template.substitute(_numbers(design, vectors, shell) | top | cases)


def _top(design: Design, shell: str) -> dict[str, object]:
    """The module that the bench is connected to, and the files that this is in."""
    tasks = design.tasks
    top = f"{design.name}{shell}"
    # once each: without a shell both are the same
    modules = dict.fromkeys((top, design.name))
    ports = {
        "name": design.name,
        "task_stream": stream_bits(tasks.task),
        "result_stream": stream_bits(tasks.result),
        "address_bits": ADDRESS_BITS,
    }
    instance = _Template(INSTANCES[shell].read_text(encoding="utf-8"))
    return {
        "top": top,
        "sources": " ".join(f"{module}.v" for module in modules),
        "instance": instance.substitute(ports).rstrip("\n"),
    }


def _cases(function: str, values: Mapping[int, object]) -> str:
    """The lines of a case statement that assigns to a SystemVerilog ``function``."""
    lines = []
    for key, value in values.items():
        lines.append(f"      {key}: {function} = {value};")
    return "\n".join(lines)


def _numbers(design: Design, vectors: Vectors, shell: str) -> dict[str, object]:
    """Values that stand in the template once."""
    tasks = design.tasks
    trials = vectors.trials
    also = ", then with another robot's parameters" if tasks.parameters else ""
    slowest = max(_latencies(design, vectors, shell).values())
    return {
        "also": also,
        "task_bits": tasks.task.beat_bits,
        "result_bits": tasks.result.beat_bits,
        "function_bits": FUNCTION_BITS,
        "tag_bits": TAG_BITS,
        "sent": sum(len(trial.task) for trial in trials),
        "expected": sum(len(trial.result) for trial in trials),
        "lone": len(vectors.lone),
        "rated": RATED,
        "mixed_from": vectors.mixed_from,
        "tasks": len(trials),
        "patience": PATIENCE + 10 * slowest,
    }


Tables = dict[str, Mapping[int, object]]
"""Values of the bench's functions by their names."""


def _by_code(design: Design, vectors: Vectors) -> Tables:
    """Tables by function code: beats of packets, the place of results, and the function's name."""
    tasks = design.tasks
    task_beats = {}
    result_beats = {}
    names = {}
    for name, function in tasks.functions.items():
        task_beats[function.code] = tasks.task_beats(name)
        result_beats[function.code] = tasks.result_beats(name)
        names[function.code] = f'"{name}"'
    if tasks.parameters:
        task_beats[CALIBRATE] = tasks.task.beats(tasks.task_words[CALIBRATE])
        names[CALIBRATE] = f'"{LOAD}"'
    results_from: dict[int, int] = {}
    place = 0
    for trial in vectors.by_code:
        # sorted by code: where its first result stands, all of that code begin
        results_from.setdefault(trial.code, place)
        place += len(trial.result)
    return {
        "task_beats": task_beats,
        "result_beats": result_beats,
        "results_from": results_from,
        "name_of": names,
    }


def _latencies(design: Design, vectors: Vectors, shell: str) -> dict[int, int]:
    """The promised latency of each lone task."""
    added = 0 if shell == BARE else SHELL_CYCLES
    latencies = {}
    for trial in vectors.lone:
        further = (trial.steps - 1) * design.step_cycles(trial.name)
        latencies[trial.number] = design.promised_latency(trial.name) + further + added
    return latencies


def _lone(design: Design, vectors: Vectors, shell: str) -> Tables:
    """Tables of each lone task."""
    return {
        "lone_code": {trial.number: trial.code for trial in vectors.lone},
        "lone_steps": {trial.number: trial.steps for trial in vectors.lone},
        "promised_latency": _latencies(design, vectors, shell),
    }


def _rated(design: Design) -> Tables:
    """Tables of the functions at full rate, in their order."""
    codes = {}
    intervals = {}
    bunched = {}
    bounds = {}
    for position, (name, function) in enumerate(design.tasks.functions.items()):
        evaluations = design.evaluations(name)
        codes[position] = function.code
        # a task takes as many turns of the pipelines
        intervals[position] = design.interval(name) * evaluations
        bunched[position] = design.bunched_cycles(name)
        bounds[position] = int(evaluations > 1)
    return {
        "rated_code": codes,
        "promised_interval": intervals,
        "bunched": bunched,
        "at_least": bounds,
    }


SEED = 104_729
"""Seed of the vectors, added to the design's own: its formats were found at other states."""


def testbench_files(design: Design, count: int, shell: str) -> dict[str, str]:
    """The files by name: ``<name>_tb.sv``, and its vectors as hexadecimal text, of ``count`` mixed tasks beside those
    that measure latencies and intervals. They are the same bytes for the same design and count.

    With the ``shell`` :data:`AXI` it is ``<name>_axi_tb.sv``, around the AXI shell; :data:`BARE` is none.
    UnsupportedError for several accelerators behind one stream.
    """
    replicas = design.tasks.replicas
    if replicas > 1:
        raise UnsupportedError(
            f"testbench: drives one accelerator, not {replicas} behind one stream; leave it out, or use "
            f"--{design.multiplied_by} 1"
        )
    vectors = make_vectors(design, count, design.options.seed + SEED)
    name = f"{design.name}{shell}_tb"
    tasks = [(trial, trial.task) for trial in vectors.trials]
    results = [(trial, trial.result) for trial in vectors.by_code]
    return {
        f"{name}.sv": bench_text(design, vectors, shell),
        f"{name}_tasks.hex": hexadecimal(tasks, design.tasks.task.beat_bits),
        f"{name}_results.hex": hexadecimal(results, design.tasks.result.beat_bits),
    }


__all__ = ["AXI", "BARE", "testbench_files"]
